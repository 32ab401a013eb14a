# SPDX-License-Identifier: BSD-3-Clause
"""A made-up machine: /proc and /sys of 2 sockets x 10 cores x 2 threads with two dual-port cards, in good health for
cfg/bng-qos-4port-nic.cfg."""

import contextlib
import pathlib

CPUS = range(40)
USED = "1-7,24-25,27"
ISOLATED = "1-9,21-29"
NICS = ("0000:05:00.0", "0000:05:00.1", "0000:08:00.0", "0000:08:00.1")
PAGES = "hugepages/hugepages-{}kB/{}_hugepages"


def cpus():
    files = {"sys/devices/system/cpu/online": "0-39", "sys/devices/system/cpu/isolated": ISOLATED,
             "sys/devices/system/cpu/nohz_full": ISOLATED, "sys/devices/system/cpu/intel_pstate/no_turbo": "1"}
    for c in CPUS:
        cpu = f"sys/devices/system/cpu/cpu{c}"
        files |= {f"{cpu}/topology/thread_siblings_list": f"{c % 20},{c % 20 + 20}",
                  f"{cpu}/cpufreq/scaling_governor": "performance",
                  f"{cpu}/cpuidle/state1/name": "C6", f"{cpu}/cpuidle/state1/latency": "133",
                  f"{cpu}/cpuidle/state1/disable": "1"}
    return files


def memory():
    files = {"sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
             "proc/swaps": "Filename Type Size Used Priority\n"}
    for node, cpus_of in ((0, "0-9,20-29"), (1, "10-19,30-39")):
        folder = f"sys/devices/system/node/node{node}"
        files |= {f"{folder}/cpulist": cpus_of,
                  f"{folder}/{PAGES.format(1048576, 'nr')}": "2" if node == 0 else "0",
                  f"{folder}/{PAGES.format(1048576, 'free')}": "2" if node == 0 else "0",
                  f"{folder}/{PAGES.format(2048, 'nr')}": "0", f"{folder}/{PAGES.format(2048, 'free')}": "0"}
    return files


def processes():
    return {"proc/cmdline": f"BOOT_IMAGE=/vmlinuz quiet isolcpus={ISOLATED} rcu_nocbs={ISOLATED}",
            "proc/cpuinfo": "processor : 0\nvendor_id : GenuineIntel\nflags : fpu vmx sse4_2\n\n",
            "proc/mounts": "proc /proc proc rw 0 0\nhugetlbfs /dev/hugepages hugetlbfs rw 0 0\n",
            "proc/stat": "cpu 0 0 0 0 0 0 0 0 0 0\n" + "".join(f"cpu{c} 100 0 100 99800 0 0 0 0 0 0\n" for c in CPUS),
            "proc/self/limits": "Max locked memory         unlimited            unlimited            bytes\n",
            "proc/self/status": "CapEff:\t0000000000000000\nCpus_allowed_list:\t0-39\n",
            "proc/1/comm": "systemd", "proc/irq/30/smp_affinity_list": "0-39",
            "proc/irq/30/effective_affinity_list": "10", "dev/kvm": "",
            "usr/lib/x86_64-linux-gnu/pkgconfig/libdpdk.pc": "Name: DPDK\nVersion: 22.11.11\n",
            "sys/class/iommu/dmar0": ""}


def devices():
    files = {}
    for address in NICS:
        files |= {f"sys/bus/pci/devices/{address}/numa_node": "0",
                  f"sys/bus/pci/devices/{address}/current_link_speed": "8.0 GT/s PCIe",
                  f"sys/bus/pci/devices/{address}/current_link_width": "8"}
    return files


def plant(root):
    """Write the machine below a folder."""
    for path, text in {**cpus(), **memory(), **processes(), **devices()}.items():
        write(pathlib.Path(root) / path, text)
    drive(root, "vfio-pci")


def write(file, text):
    if text is None:
        file.unlink(missing_ok=True)
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def drive(root, driver):
    """The driver of all NICs that are there; None: none."""
    for address in NICS:
        link = pathlib.Path(root) / "sys/bus/pci/devices" / address / "driver"
        link.unlink(missing_ok=True)
        if driver and link.parent.exists():
            link.symlink_to(f"../../../bus/pci/drivers/{driver}")


@contextlib.contextmanager
def changed(root, change, driver="vfio-pci"):
    """The machine with other files for a while: {path: text, or None for no such file}. A PCI device that loses a
    file is gone."""
    root = pathlib.Path(root)
    gone = {(root / p).parent for p, text in change.items() if text is None and p.startswith("sys/bus/pci")}
    files = [(root / p, text) for p, text in change.items() if (root / p).parent not in gone]
    before = [(file, file.read_text() if file.exists() else None) for file, _ in files]
    drive(root, driver)
    for file, text in files:
        write(file, text)
    for folder in gone:
        folder.rename(root / folder.name)
    try:
        yield
    finally:
        for folder in gone:
            (root / folder.name).rename(folder)
        for file, text in before:
            write(file, text)
        drive(root, "vfio-pci")
