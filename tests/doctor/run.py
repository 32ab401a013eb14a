#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/doctor on made-up machines: one in good health, and the same with one illness each.

usage: run.py VBNG
"""

import contextlib
import io
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import tree

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "tools"))

from vbnglab.doctor import report  # noqa: E402

NIC = TOP / "cfg/bng-qos-4port-nic.cfg"
LIBRARY = ("--set", "qos.schedulers.access.engine=librte_sched")  # so that pages of 1 GiB are wanted
TIME_LIMIT = 60  # seconds for one program
CPU = "sys/devices/system/cpu"
NODE = "sys/devices/system/node"
FEW = {f"{NODE}/node0/{tree.PAGES.format(1048576, 'free')}": "1"}
SMALL = {f"{NODE}/node0/{tree.PAGES.format(1048576, n)}": "0" for n in ("nr", "free")} | {
    f"{NODE}/node0/{tree.PAGES.format(2048, n)}": "1024" for n in ("nr", "free")}
ELSEWHERE = {f"{NODE}/node{node}/{tree.PAGES.format(1048576, n)}": str(2 * node)
             for node in (0, 1) for n in ("nr", "free")}
NO_DEVICE = {p: None for p in tree.devices() if "05:00.1" in p}
STEAL = "".join(f"cpu{c} 0 0 0 9500 0 0 0 {500 if c == 3 else 0} 0 0\n" for c in tree.CPUS)

# check, level, what is changed, what the finding must say, what its mend must say; driver of the NICs
ILL = [
    ("cpus", "bad", {f"{CPU}/online": "0-6,8-39"}, "CPU 7 .*offline", "vbng --layout"),
    ("cpus", "bad", {"proc/self/status": "CapEff:\t0\nCpus_allowed_list:\t0-3\n"}, "not allowed", "taskset -c 1-7"),
    ("isolated", "bad", {f"{CPU}/isolated": "1-5"}, "CPU 1-5$", f"isolcpus=managed_irq,domain,{tree.USED} "),
    ("nohz_full", "note", {f"{CPU}/nohz_full": "(null)"}, "CPU none", "nohz_full="),
    ("rcu_nocbs", "note", {"proc/cmdline": "quiet", f"{CPU}/nohz_full": ""}, "CPU none", "the same command"),
    ("irqbalance", "bad", {"proc/77/comm": "irqbalance", f"{CPU}/isolated": ""}, "running", "systemctl disable"),
    ("interrupts", "bad", {"proc/irq/31/smp_affinity_list": "0-9"}, "interrupt 31 ",
     "for i in 31; do echo 0,8-23,26,28-39 > /proc/irq"),
    ("governor", "bad", {f"{CPU}/cpu4/cpufreq/scaling_governor": "powersave"}, "powersave", "cpupower"),
    ("turbo", "note", {f"{CPU}/intel_pstate/no_turbo": "0"}, "on", "echo 1 > "),
    ("turbo", "note", {f"{CPU}/intel_pstate/no_turbo": None, f"{CPU}/cpufreq/boost": "1"}, "on", "echo 0 > "),
    ("c-states", "note", {f"{CPU}/cpu2/cpuidle/state1/disable": "0"}, "C6", "idle-set -D 10"),
    ("smt", "note", {f"{CPU}/isolated": tree.USED}, "CPU 21-23,26 of|CPU 21-23,26,", "for c in 21 22 23 26;"),
    ("smt", "bad", {f"{CPU}/cpu1/topology/thread_siblings_list": "1,2"},
     r"CPU 2 \(qos_up, lb_up\) .* CPU 1 \(classify\)",
     "vbng --layout"),
    ("steal", "bad", {"proc/stat": STEAL}, r"5\.00%.*CPU 3", "vcpupin"),
    ("kvm", "note", {"proc/cpuinfo": "vendor_id : x\nflags : fpu\n"}, "no vmx or svm", "firmware"),
    ("kvm", "note", {"dev/kvm": None}, "no /dev/kvm", "modprobe kvm_intel"),
    ("hugepages", "bad", FEW, "1 of 2 pages of 1 GiB free on node 0", "echo 3 > .*node0.*1048576kB/nr_hugepages"),
    ("hugepages", "bad", ELSEWHERE, "none reserved", "echo 2 > .*node0.*1048576kB/nr_hugepages"),
    ("hugepages", "note", SMALL, "1024 of 1024 pages of 2 MiB", "echo 2 > .*1048576kB/nr_hugepages"),
    ("hugetlbfs", "note", {"proc/mounts": "proc /proc proc rw 0 0\n"}, "not mounted", "mount -t hugetlbfs"),
    ("thp", "note", {"sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never"}, "always",
     "echo madvise > "),
    ("swap", "note", {"proc/swaps": "Filename Type\n/dev/sda2 partition 8 0 -2\n"}, "/dev/sda2", "swapoff -a"),
    ("memlock", "bad", {"proc/self/limits": "Max locked memory         8388608   8388608   bytes\n"}, "8 MiB",
     "ulimit -l"),
    ("numa", "bad", {"sys/bus/pci/devices/0000:08:00.0/numa_node": "1"}, r"cpe1 .* node 1, used by cores of node 0",
     "CPUs of 10-19,30-39"),
    ("numa", "note", {"sys/bus/pci/devices/0000:08:00.0/numa_node": "-1"}, "does not say", "firmware"),
    ("driver", "bad", NO_DEVICE, "core0: there is no device 0000:05:00.1", "lspci", None),
    ("driver", "bad", {}, "cpe0 .*: ixgbe", "dpdk-devbind.py --bind=vfio-pci 0000:05:00.0", "ixgbe"),
    ("driver", "bad", {}, "cpe0 .*: none", "modprobe vfio-pci", None),
    ("driver", "note", {}, "uio_pci_generic", "vfio-pci", "uio_pci_generic"),
    ("iommu", "bad", {"sys/class/iommu/dmar0": None}, "off", "intel_iommu=on iommu=pt"),
    ("iommu", "note", {"sys/class/iommu/dmar0": None, "sys/module/vfio/parameters/enable_unsafe_noiommu_mode": "Y",
                       "proc/cpuinfo": "vendor_id : AuthenticAMD\nflags : svm\n"}, "without it", "amd_iommu=on"),
    ("pcie", "bad", {f"sys/bus/pci/devices/{a}/current_link_speed": "5.0 GT/s PCIe" for a in tree.NICS},
     "generation 2 x8", "wider slot"),
    ("dpdk", "bad", {"usr/lib/x86_64-linux-gnu/pkgconfig/libdpdk.pc": "Version: 20.11.1\n"}, "20.11", "apt install"),
    ("dpdk", "bad", {"usr/lib/x86_64-linux-gnu/pkgconfig/libdpdk.pc": None}, "not found", "apt install"),
]


def doctor(*args):
    """(exit status, output), within this process: a hundred starts of Python take their time."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        status = report.main(["--vbng", VBNG, *map(str, args)])
    return status, out.getvalue()


def program(*args):
    return subprocess.run([str(TOP / "tools/doctor"), *map(str, args)], capture_output=True, text=True,
                          timeout=TIME_LIMIT)


def findings(root, *args):
    status, out = doctor("--json", "--root", root, *args)
    found = json.loads(out)["findings"]
    bad = any(f["level"] == "bad" for f in found)
    assert status == (1 if bad else 0), f"exit status {status}"
    return found


def healthy(folder, needs):
    """Every check has an opinion, and it is good."""
    found = findings(folder, needs)
    worse = [f for f in found if f["level"] != "ok"]
    assert not worse, worse
    missing = {case[0] for case in ILL} - {f["check"] for f in found}
    assert not missing, f"no finding of {missing}"
    assert all(f["mend"] == "" for f in found)
    r = program("--root", folder, needs)
    assert r.returncode == 0 and f"{len(found)} ok, 0 note, 0 bad" in r.stdout, r.stdout


def sick(folder, needs, check, level, change, says, mend, driver="vfio-pci"):
    """The finding is there with its level, what should be, why and mend, and nothing worse beside it."""
    with tree.changed(folder, change, driver):
        worse = [f for f in findings(folder, needs) if f["level"] != "ok"]
        text = doctor("--root", folder, needs)[1]
    match = [f for f in worse if f["check"] == check and f["level"] == level and re.search(says, f["found"])]
    assert match, f"expected {level} {check} that says {says!r}: {worse}"
    assert re.search(mend, match[0]["mend"]), f"mend: {match[0]['mend']!r}"
    assert match[0]["wanted"] and match[0]["why"], match[0]
    assert re.search(rf"^{level} +{check} +", text, re.M) and f"mend: {match[0]['mend']}" in text, text


def mended(folder, needs):
    """The commands that write to files do what they promise."""
    change = {"sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never",
              "proc/irq/31/smp_affinity_list": "3",
              f"{CPU}/intel_pstate/no_turbo": "0"}
    enabled = pathlib.Path(folder) / "sys/kernel/mm/transparent_hugepage/enabled"
    with tree.changed(folder, change):
        ill = [f for f in findings(folder, needs) if f["level"] != "ok"]
        assert {f["check"] for f in ill} == {"thp", "interrupts", "turbo"}, ill
        for f in ill:
            subprocess.run(["sh", "-ec", re.sub(r" /(sys|proc)/", rf" {folder}/\1/", f["mend"])], check=True)
        assert all(f["level"] == "ok" for f in findings(folder, needs) if f["check"] != "thp")
        assert enabled.read_text() == "madvise\n"  # the kernel would put the brackets


def alone(folder, needs):
    """Without a configuration: about the machine."""
    found = findings(folder)
    assert {f["check"] for f in found} >= {"isolated", "governor", "hugepages", "iommu", "dpdk"}, found
    assert not [f for f in found if f["level"] != "ok"], found


def configurations(folder, needs):
    """A configuration itself, which may be for another machine; a broken one; a file that is no description."""
    assert findings(folder, NIC)[0]["check"] in ("cpus", "config")
    found = findings(folder, "--set", "tasks=x", NIC)
    assert found[0]["check"] == "config" and "--set tasks=x" in found[0]["found"], found[0]
    bad = pathlib.Path(folder) / "bad.json"
    bad.write_text("{}")
    assert findings(folder, bad)[0]["level"] == "bad"
    assert program("--nonsense").returncode == 2


def main():
    cases = [(healthy,), (mended,), (alone,), (configurations,)] + [(sick, *case) for case in ILL]
    cases.append((healthy,))  # all is undone, so each was ill of its own illness only
    failed = 0
    with tempfile.TemporaryDirectory() as top:
        needs = pathlib.Path(top) / "needs.json"
        needs.write_text(subprocess.run([VBNG, "--describe", *LIBRARY, NIC], capture_output=True, text=True, check=True,
                                        timeout=TIME_LIMIT).stdout)
        folder = f"{top}/machine"
        tree.plant(folder)
        for case, *args in cases:
            try:
                case(folder, needs, *args)
            except Exception as e:  # a case that breaks is a failed case, too
                failed += 1
                print(f"FAIL {case.__name__} {' '.join(map(str, args[:2]))}: {type(e).__name__}: {e}")
    print(f"{len(cases) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    VBNG = sys.argv[1]
    sys.exit(main())
