# SPDX-License-Identifier: BSD-3-Clause
"""What the kernel says about a machine, read below a root, so that a test can make up one."""

import glob
import os
import re


def parse_list(text):
    """Set of the CPUs of a list such as "0-3,8"; empty for what is no list, such as "(null)"."""
    found = set()
    for part in (text or "").split(","):
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", part.strip())
        if match:
            found |= set(range(int(match[1]), int(match[2] or match[1]) + 1))
    return found


def format_list(numbers):
    """The shortest list for a set of CPUs, such as "0-3,8"."""
    runs = []
    for n in sorted(numbers):
        if runs and runs[-1][1] == n - 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


class Machine:
    def __init__(self, root="/"):
        self.root = root
        self.online = parse_list(self.read("sys/devices/system/cpu/online"))

    def path(self, path):
        return os.path.join(self.root, path)

    def read(self, path):
        """The text of a file without the space around it, or None where it cannot be read."""
        try:
            with open(self.path(path), encoding="utf-8", errors="replace") as f:
                return f.read().strip()
        except OSError:
            return None

    def number(self, path):
        text = self.read(path)
        return int(text) if text and re.fullmatch(r"-?\d+", text) else None

    def glob(self, pattern):
        """Paths below the root, sorted."""
        return sorted(os.path.relpath(p, self.root) for p in glob.glob(self.path(pattern)))

    def link_name(self, path):
        """The last part of what a link points to, or None."""
        try:
            return os.path.basename(os.readlink(self.path(path)))
        except OSError:
            return None

    def cpu(self, cpu, file):
        return self.read(f"sys/devices/system/cpu/cpu{cpu}/{file}")

    def siblings(self, cpu):
        """The other hardware threads of a CPU's physical core."""
        return parse_list(self.cpu(cpu, "topology/thread_siblings_list")) - {cpu}

    def nodes(self):
        """NUMA nodes: {number: CPUs}. A kernel without NUMA has one."""
        found = {}
        for path in self.glob("sys/devices/system/node/node[0-9]*"):
            found[int(re.search(r"\d+$", path)[0])] = parse_list(self.read(f"{path}/cpulist"))
        return found or {0: self.online}

    def node_of(self, cpu):
        return next((n for n, cpus in self.nodes().items() if cpu in cpus), 0)

    def cpuinfo(self):
        """(vendor, flags) of the first CPU."""
        text = self.read("proc/cpuinfo") or ""
        vendor, flags = re.search(r"vendor_id\s*:\s*(\S+)", text), re.search(r"flags\s*:\s*(.*)", text)
        return vendor[1] if vendor else "", set(flags[1].split()) if flags else set()

    def parameter(self, name):
        """A parameter of the kernel's command line, or None."""
        match = re.search(rf"(?:^|\s){name}=(\S+)", self.read("proc/cmdline") or "")
        return match[1] if match else None
