# SPDX-License-Identifier: BSD-3-Clause
"""vbng-lab doctor on made-up machines: one in good health, and the same with one illness each."""

import contextlib
import io
import json
import pathlib
import re
import subprocess
import sys

import pytest

from tests.doctor import tree
from vbnglab import cli
from vbnglab.describe.description import describe
from vbnglab.describe.source import read_plan

TOP = pathlib.Path(__file__).resolve().parent.parent.parent

NIC = TOP / "cfg/bng-qos-4port-nic.cfg"
LIBRARY = ("--set", "qos.schedulers.access.backend=librte_sched")  # so that pages of 1 GiB are wanted
CPU = "sys/devices/system/cpu"
NODE = "sys/devices/system/node"
FEW = {f"{NODE}/node0/{tree.PAGES.format(1048576, 'free')}": "1"}
SMALL = {f"{NODE}/node0/{tree.PAGES.format(1048576, n)}": "0" for n in ("nr", "free")} | {
    f"{NODE}/node0/{tree.PAGES.format(2048, n)}": "1024" for n in ("nr", "free")}
ELSEWHERE = {f"{NODE}/node{node}/{tree.PAGES.format(1048576, n)}": str(2 * node)
             for node in (0, 1) for n in ("nr", "free")}
SPREAD = {f"{NODE}/node0/cpulist": "0-4,6-9,20-24,26-29", f"{NODE}/node1/cpulist": "5,10-19,25,30-39"}  # of the cores that look routes up, two are elsewhere
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
    ("quota", "bad", {"proc/self/cgroup": "0::/a/b", "sys/fs/cgroup/a/b/cpu.max": "max 100000", "sys/fs/cgroup/a/cpu.max": "900000 100000"},
     "^/sys/fs/cgroup/a/cpu.max: 9 CPUs for 10 cores .* 10 ms of 100 ms, 0% of .* 5% without", "echo max > /sys/fs/cgroup/a/cpu.max"),
    ("quota", "bad", {"proc/self/cgroup": "1:cpu,cpuacct:/", "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "9000000",
                      "sys/fs/cgroup/cpu/cpu.cfs_period_us": "1000000"},
     "100 ms of 1000 ms, 8% of .* 10% without", "echo -1 > /sys/fs/cgroup/cpu/cpu.cfs_quota_us"),
    ("quota", "bad", {"sys/fs/cgroup/system.slice/vbng.service/cpu.max": "350000 50000", "sys/fs/cgroup/cpu.max": "300000 100000",
                      "proc/self/cgroup": "0::/"},
     "^/sys/fs/cgroup/cpu.max: 3 CPUs", "echo max > /sys/fs/cgroup/cpu.max"),
    ("kvm", "note", {"proc/cpuinfo": "vendor_id : x\nflags : fpu\n"}, "no vmx or svm", "firmware"),
    ("kvm", "note", {"dev/kvm": None}, "no /dev/kvm", "modprobe kvm_intel"),
    ("hugepages", "bad", FEW, "1 of 2 pages of 1 GiB free on node 0", "echo 3 > .*node0.*1048576kB/nr_hugepages"),
    ("hugepages", "bad", ELSEWHERE, "none reserved", "echo 2 > .*node0.*1048576kB/nr_hugepages"),
    ("hugepages", "note", SMALL, "1024 of 1024 pages of 2 MiB", "echo 2 > .*1048576kB/nr_hugepages"),
    ("routes", "note", SPREAD, "^cores of nodes 0-1 look routes up in one copy of them, on socket 0$", 'say routes_per = "socket" .*, which takes 65.25 MiB more'),
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


class Machine:
    """A made-up machine below a folder, in good health; what one configuration needs of it; and the doctor."""

    def __init__(self, folder, vbng):
        self.vbng, self.folder, self.needs = vbng, folder / "machine", folder / "needs.json"
        plan, _ = read_plan([*LIBRARY, NIC], vbng)
        self.needs.write_text(json.dumps(describe(plan)))
        tree.plant(str(self.folder))

    def doctor(self, *args):
        """(exit status, output), within this process: a hundred starts of Python take their time."""
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            status = cli.main(["doctor", "--vbng", self.vbng, "--root", str(self.folder), *map(str, args)])
        return status, out.getvalue()

    def findings(self, *args):
        status, out = self.doctor("--json", *args)
        found = json.loads(out)["findings"]
        bad = any(f["level"] == "bad" for f in found)
        assert status == (1 if bad else 0), f"exit status {status}"
        return found


@pytest.fixture(scope="module")
def machine(vbng, module_folder):
    return Machine(module_folder, vbng)


@pytest.fixture
def program(run):
    """A function: the doctor as a program of its own."""
    return lambda *args: run(sys.executable, "-m", "vbnglab", "doctor", *args)


def test_healthy(machine, program):
    """Every check has an opinion, and it is good."""
    found = machine.findings(machine.needs)
    worse = [f for f in found if f["level"] != "ok"]
    assert not worse, worse
    missing = {case[0] for case in ILL} - {f["check"] for f in found}
    assert not missing, f"no finding of {missing}"
    assert all(f["mend"] == "" for f in found)
    r = program("--root", machine.folder, machine.needs)
    assert r.returncode == 0 and f"{len(found)} ok, 0 note, 0 bad" in r.stdout, r.stdout


@pytest.mark.parametrize("case", ILL, ids=lambda case: f"{case[0]}-{case[1]}")
def test_sick(machine, case):
    """The finding is there with its level, what should be, why and mend, and nothing worse beside it."""
    check, level, change, says, mend, driver = (*case, "vfio-pci")[:6]
    with tree.changed(machine.folder, change, driver):
        worse = [f for f in machine.findings(machine.needs) if f["level"] != "ok"]
        text = machine.doctor(machine.needs)[1]
    match = [f for f in worse if f["check"] == check and f["level"] == level and re.search(says, f["found"])]
    assert match, f"expected {level} {check} that says {says!r}: {worse}"
    assert re.search(mend, match[0]["mend"]), f"mend: {match[0]['mend']!r}"
    assert match[0]["wanted"] and match[0]["why"], match[0]
    assert re.search(rf"^{level} +{check} +", text, re.M) and f"mend: {match[0]['mend']}" in text, text


def test_mended(machine):
    """The commands that write to files do what they promise."""
    change = {"sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never",
              "proc/irq/31/smp_affinity_list": "3",
              f"{CPU}/intel_pstate/no_turbo": "0"}
    enabled = machine.folder / "sys/kernel/mm/transparent_hugepage/enabled"
    with tree.changed(machine.folder, change):
        ill = [f for f in machine.findings(machine.needs) if f["level"] != "ok"]
        assert {f["check"] for f in ill} == {"thp", "interrupts", "turbo"}, ill
        for f in ill:
            subprocess.run(["sh", "-ec", re.sub(r" /(sys|proc)/", rf" {machine.folder}/\1/", f["mend"])], check=True)
        assert all(f["level"] == "ok" for f in machine.findings(machine.needs) if f["check"] != "thp")
        assert enabled.read_text() == "madvise\n"  # the kernel would put the brackets


def test_alone(machine):
    """Without a configuration: about the machine."""
    found = machine.findings()
    assert {f["check"] for f in found} >= {"isolated", "governor", "hugepages", "iommu", "dpdk"}, found
    assert not [f for f in found if f["level"] != "ok"], found


@pytest.mark.parametrize("per, level", [("gateway", "note"), ("socket", "ok")])
def test_copies_of_the_routes(machine, per, level):
    """One copy for cores of two nodes is worth a note; a copy on each is well."""
    layout = machine.folder / "spread.cfg"
    layout.write_text("layout" + NIC.read_text(encoding="utf-8").partition("\n\nlayout")[2].replace("4s0h-5s0h", "4s1-5s1"), encoding="utf-8")
    plan, _ = read_plan([*LIBRARY, "--set", f"routes_per={per}", "--layout", layout, NIC], machine.vbng)
    needs = machine.folder / "spread.json"
    needs.write_text(json.dumps(describe(plan)))
    found = [f for f in machine.findings(needs) if f["check"] == "routes"]
    assert [f["level"] for f in found] == [level] and "0-1" in found[0]["found"], found


def test_configurations(machine, program):
    """A configuration itself, which may be for another machine; a broken one; a file that is no description."""
    assert machine.findings(NIC)[0]["check"] in ("cpus", "config")
    found = machine.findings("--set", "tasks=x", NIC)
    assert found[0]["check"] == "config" and "--set tasks=x" in found[0]["found"], found[0]
    bad = machine.folder / "bad.json"
    bad.write_text("{}")
    assert machine.findings(bad)[0]["level"] == "bad"
    assert program("--nonsense").returncode == 2


def test_healthy_again(machine, program):
    """All is undone, so each was ill of its own illness only."""
    test_healthy(machine, program)
