# SPDX-License-Identifier: BSD-3-Clause
"""What the machine is, as far as it matters to a measurement, without naming it: no host name, no address."""

import glob
import os
import platform
import re


def _read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read().strip()
    except OSError:
        return None


def _number(path):
    text = _read(path)
    return int(text) if text and text.lstrip("-").isdigit() else None


def _cpuinfo(text):
    """(model, sorted flags) of the first CPU."""
    fields = dict(re.findall(r"^([^\t:]+?)\s*:\s*(.*)$", text.split("\n\n")[0], re.M))
    return fields.get("model name", platform.machine()), sorted(fields.get("flags", "").split())


def _topology(root):
    """(CPUs, cores, sockets) that are online."""
    cores, sockets, cpus = set(), set(), 0
    for d in glob.glob(f"{root}/sys/devices/system/cpu/cpu[0-9]*"):
        package, core = _read(f"{d}/topology/physical_package_id"), _read(f"{d}/topology/core_id")
        if package is None:
            continue
        cpus += 1
        sockets.add(package)
        cores.add((package, core))
    return cpus or os.cpu_count(), len(cores) or None, len(sockets) or None


def _caches(root):
    """{"L2": "2048K", ...} of the first CPU; data and unified caches."""
    out = {}
    for d in sorted(glob.glob(f"{root}/sys/devices/system/cpu/cpu0/cache/index*")):
        if _read(f"{d}/type") != "Instruction":
            out[f"L{_read(f'{d}/level')}"] = _read(f"{d}/size")
    return out


def _hugepages(root):
    """[{"size_kib": 2048, "total": 0, "free": 0}, ...]"""
    out = []
    for d in glob.glob(f"{root}/sys/kernel/mm/hugepages/hugepages-*kB"):
        out.append({"size_kib": int(re.search(r"(\d+)kB$", d).group(1)), "total": _number(f"{d}/nr_hugepages"),
                    "free": _number(f"{d}/free_hugepages")})
    return sorted(out, key=lambda h: h["size_kib"])


def _governors(root):
    found = {_read(p) for p in glob.glob(f"{root}/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor")}
    return ", ".join(sorted(g for g in found if g)) or None


def _turbo(root):
    """True, False, or None where the kernel does not say."""
    no_turbo = _number(f"{root}/sys/devices/system/cpu/intel_pstate/no_turbo")
    if no_turbo is not None:
        return no_turbo == 0
    boost = _number(f"{root}/sys/devices/system/cpu/cpufreq/boost")
    return None if boost is None else boost == 1


def _chosen(text):
    """The value in brackets: "always [madvise] never" -> "madvise"."""
    match = re.search(r"\[(\S+)\]", text or "")
    return match.group(1) if match else text


def describe(root=""):
    """The machine as a dict for a result; None stands for what the kernel does not tell. root: where /proc and /sys are, for tests."""
    model, flags = _cpuinfo(_read(f"{root}/proc/cpuinfo") or "")
    cpus, cores, sockets = _topology(root)
    memory = re.search(r"MemTotal:\s*(\d+)", _read(f"{root}/proc/meminfo") or "")
    release = re.match(r"[\d.]*\d", platform.release())  # what follows the numbers may name the owner of the kernel
    return {
        "cpu": model,
        "cpus": cpus,
        "cores": cores,
        "sockets": sockets,
        "numa_nodes": len(glob.glob(f"{root}/sys/devices/system/node/node[0-9]*")) or None,
        "smt": None if not cores else cpus > cores,
        "usable_cpus": len(os.sched_getaffinity(0)),
        "isolated_cpus": _read(f"{root}/sys/devices/system/cpu/isolated") or "",
        "caches": _caches(root),
        "memory_mib": int(memory.group(1)) // 1024 if memory else None,
        "hugepages": _hugepages(root),
        "transparent_hugepages": _chosen(_read(f"{root}/sys/kernel/mm/transparent_hugepage/enabled")),
        "governor": _governors(root),
        "turbo": _turbo(root),
        "virtual": "hypervisor" in flags,
        "kernel": f"{platform.system()} {release.group(0) if release else ''}".strip(),
        "load": round(os.getloadavg()[0], 2),  # runnable threads over the last minute: how busy the machine was
        "flags": flags,
    }


def sentence(m):
    """The machine as a line of text."""
    pages = [f"{h['total']} × {h['size_kib'] // 1024} MiB" for h in m["hugepages"] if h["total"]]
    kind = "virtual machine" if m["virtual"] else "machine"
    return ", ".join([f"{m['cpus']}-CPU {kind}", m["cpu"], f"{(m['memory_mib'] or 0) / 1024:.0f} GiB",
                      "huge pages " + (" + ".join(pages) if pages else "none"),
                      f"governor {m['governor'] or 'not visible'}", m["kernel"]])
