# SPDX-License-Identifier: BSD-3-Clause
"""Devices: NICs on the right socket, behind an IOMMU, with a driver that DPDK can use, in a wide slot; DPDK itself."""

import re

from .finding import BAD, NOTE, Finding, ok
from .machine import format_list

BIFURCATED = {"mlx4_core", "mlx5_core", "mana"}  # DPDK works beside the kernel's driver
UIO = {"uio_pci_generic", "igb_uio"}
DPDK_OLDEST = (22, 11)
PKGCONFIG = ("usr/lib", "usr/lib64", "usr/lib/*", "usr/local/lib", "usr/local/lib64", "usr/local/lib/*")
GENERATION = {"2.5": 1, "5": 2, "5.0": 2, "8": 3, "8.0": 3, "16": 4, "16.0": 4, "32": 5, "32.0": 5}


def device(address):
    return f"sys/bus/pci/devices/{address}"


def placement(machine, needs):
    for address, (name, cpus) in sorted(needs.ports.items()):
        node = machine.number(f"{device(address)}/numa_node")
        used = {machine.node_of(c) for c in cpus}
        if node is None:
            continue  # an absent card is in the finding about drivers
        if node < 0:
            if len(machine.nodes()) > 1:
                yield Finding("numa", NOTE, f"{name} ({address}): the firmware does not say its node", "known",
                              "a NIC on another socket costs throughput (the paper's Fig. 6)",
                              "look into the board's manual, or update its firmware")
            else:
                yield ok("numa", f"{name} ({address}): one node")
        elif used == {node}:
            yield ok("numa", f"{name} ({address}): node {node}, and so are its cores")
        else:
            yield Finding("numa", BAD,
                          f"{name} ({address}) is on node {node}, used by cores of node {format_list(used)}",
                          f"cores of node {node}", "packets cross the link between the sockets (the paper's Fig. 6)",
                          f"change the layout (vbng --layout) to CPUs of {format_list(machine.nodes().get(node, ()))}")


def drivers(machine, needs):
    for address, (name, _) in sorted(needs.ports.items()):
        driver = machine.link_name(f"{device(address)}/driver")
        if not machine.glob(device(address)):
            yield Finding("driver", BAD, f"{name}: there is no device {address}", "a NIC of this machine",
                          "the port cannot be opened",
                          "lspci -D | grep -i ethernet, then ports.NAME.device of the configuration")
        elif driver == "vfio-pci" or driver in BIFURCATED:
            yield ok("driver", f"{name} ({address}): {driver}")
        elif driver in UIO:
            yield Finding("driver", NOTE, f"{name} ({address}): {driver}", "vfio-pci",
                          "without an IOMMU between, the NIC can write to any memory", bind(address))
        else:
            yield Finding("driver", BAD, f"{name} ({address}): {driver or 'none'}", "vfio-pci",
                          "DPDK cannot take the device from the kernel", bind(address))


def bind(address):
    return f"modprobe vfio-pci && dpdk-devbind.py --bind=vfio-pci {address}"


def iommu(machine, needs):
    if machine.glob("sys/class/iommu/*") or machine.glob("sys/kernel/iommu_groups/*"):
        yield ok("iommu", "on")
        return
    unsafe = machine.read("sys/module/vfio/parameters/enable_unsafe_noiommu_mode") in ("Y", "1")
    vendor = "amd_iommu=on" if machine.cpuinfo()[0] == "AuthenticAMD" else "intel_iommu=on"
    yield Finding("iommu", BAD if needs.ports and not unsafe else NOTE,
                  "off; vfio without it" if unsafe else "off", "on",
                  "vfio-pci needs it, for PCI devices only",
                  f"sed -i 's/^GRUB_CMDLINE_LINUX=\"/&{vendor} iommu=pt /' /etc/default/grub && update-grub && reboot")


def slots(machine, needs):
    """Compare lanes and generation of each card's slot with what its ports need."""
    for address, bits, lanes in needs.cards:
        speed = re.match(r"[\d.]+", machine.read(f"{device(address)}/current_link_speed") or "")
        width = machine.number(f"{device(address)}/current_link_width")
        generation = GENERATION.get(speed[0]) if speed else None
        if generation is None or not width:
            continue
        need = lanes.get(f"gen{generation}")
        text = f"card of {address}: generation {generation} x{width}"
        if need is not None and width >= need:
            yield ok("pcie", text)
        else:
            fits = [f"generation {g[3:]} x{n}" for g, n in sorted(lanes.items()) if n]
            yield Finding("pcie", BAD, text,
                          f"{bits / 1e9:.3g} Gbit/s: {' or '.join(fits) or 'fewer ports on the card'}",
                          "at the smallest frames the slot is full before the ports are (the paper's Table II)",
                          "put the card into a wider slot, or use fewer of its ports")


def dpdk(machine, needs):
    versions = []
    for path in (p for folder in PKGCONFIG for p in machine.glob(f"{folder}/pkgconfig/libdpdk.pc")):
        match = re.search(r"^Version:\s*(\d+)\.(\d+)", machine.read(path) or "", re.M)
        versions += [(int(match[1]), int(match[2]))] if match else []
    # ABI 23 is 22.11, 24 is 23.11: the library says it where no headers are installed
    for path in machine.glob("usr/lib/*/librte_eal.so.[0-9][0-9]"):
        versions.append((int(path[-2:]) - 1, 11))
    if not versions:
        yield Finding("dpdk", BAD, "not found", "22.11 or newer", "vbng is linked with it", "apt install libdpdk-dev")
    elif max(versions) < DPDK_OLDEST:
        yield Finding("dpdk", BAD, "{}.{:02}".format(*max(versions)), "22.11 or newer",
                      "vbng does not build with older ones",
                      "apt install libdpdk-dev   (Debian 12 or newer)")
    else:
        yield ok("dpdk", "{}.{:02}".format(*max(versions)))


CHECKS = (placement, drivers, iommu, slots, dpdk)
