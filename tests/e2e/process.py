# SPDX-License-Identifier: BSD-3-Clause
"""Starting the binary, waiting for it, and reading what it reports."""

import ctypes
import json
import os
import re
import signal
import subprocess
import tempfile

from tests.common.limits import limit
from tests.pcap.sanitizer import address_sanitizer

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CFG_DIR = os.path.join(TOP, "cfg")


PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)


def end_with_parent():
    """In a child: whoever is left behind would take a CPU for ever."""
    _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Context:
    """What every test needs: the binary and a folder for what it writes."""

    def __init__(self, binary, folder):
        self.binary = os.path.abspath(binary)
        self.folder = folder
        self.sanitized = address_sanitizer(binary)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w") as f:
            f.write(text)
        return self.path(name)


class Run:
    """One process, started at once; end() waits for it."""

    def __init__(self, ctx, *args, report=False, preexec=None):
        self.report_path = tempfile.mktemp(suffix=".json", dir=ctx.folder) if report else None
        command = [ctx.binary, *args] + (["--report", self.report_path] if report else [])
        self.out = tempfile.TemporaryFile("w+")
        self.err = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(command, cwd=TOP, stdout=self.out, stderr=self.err,
                                        preexec_fn=preexec or end_with_parent)  # fmt: skip
        self.pid = self.process.pid

    def end(self, timeout=60):
        """Exit status; a process that does not end is killed and counts as -9. timeout: seconds on a quiet machine."""
        try:
            self.status = self.process.wait(limit(timeout))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.status = self.process.wait()
        for name in ("out", "err"):
            f = getattr(self, name)
            f.seek(0)
            setattr(self, name, f.read())
            f.close()
        return self.status

    def report(self):
        with open(self.report_path) as f:
            return json.load(f)


def run(ctx, *args, timeout=60, **options):
    r = Run(ctx, *args, **options)
    r.end(timeout)
    return r


def configurations():
    return sorted(f for f in os.listdir(CFG_DIR) if f.endswith(".cfg")) if os.path.isdir(CFG_DIR) else []


def text_of(name):
    """A configuration with what it includes, without comments."""
    with open(os.path.join(CFG_DIR, name)) as f:
        text = f.read()
    text = re.sub(r"^\s*@include\s+\"([^\"]+)\"", lambda m: text_of(m.group(1)), text, flags=re.M)
    return re.sub(r"(#|//).*|/\*(.|\n)*?\*/", "", text)


def devices(name):
    """Devices of the ports of a configuration by port name, in order. Empty where there are no ports."""
    ports = re.search(r"\bports\s*[=:]\s*\((.*?)\)\s*;", text_of(name), re.S)
    found = {}
    for group in re.findall(r"\{(.*?)\}", ports.group(1), re.S) if ports else []:
        keys = dict(re.findall(r"(\w+)\s*[=:]\s*\"([^\"]*)\"", group))
        if "name" in keys and "device" in keys:
            found[keys["name"]] = keys["device"]
    return found


def ledger_faults(report):
    """What is wrong with the account of a run."""
    wrong = []
    ledger = report["ledger"]
    if ledger["balances"] is not True or ledger["unexplained"] != 0 or ledger["faults"] != 0:
        wrong.append(f"the ledger does not balance: {ledger}")
    left = ledger["received"] + ledger["created"]
    right = ledger["sent"] + ledger["consumed"] + ledger["dropped"] + ledger["held"]
    if left != right:
        wrong.append(f"received + created is {left}, sent + consumed + dropped + held is {right}")
    drops = sum(sum(t["drops"].values()) for t in report["tasks"]) + sum(p["tx_lost"] for p in report["ports"])
    if drops != ledger["dropped"]:
        wrong.append(f"the reasons add up to {drops} drops, the ledger has {ledger['dropped']}")
    return wrong


def runtime_folders():
    """Run-time folders of DPDK with our prefix, whoever made them."""
    found = set()
    for root in ("/var/run/dpdk", "/tmp/dpdk", os.path.join(os.environ.get("XDG_RUNTIME_DIR", "/nonexistent"), "dpdk")):
        if os.path.isdir(root):
            found |= {os.path.join(root, f) for f in os.listdir(root) if f.startswith("vbng")}
    return found


def runtime_folder_left(pid):
    return [f for f in runtime_folders() if f.endswith(f"vbng-{pid}")]
