# SPDX-License-Identifier: BSD-3-Clause
"""The description as a domain of libvirt: a guest whose memory is huge pages that vhost-user shares, whose vCPUs are pinned one by one and
lie in NUMA cells as in the plan's topology, and whose ports are at the PCI addresses that the configuration names, with as many queues as it
uses."""

import re
from xml.etree import ElementTree

from ..lab.failure import Failure
from .ports import PCI
from .yaml_text import MIB, mebibytes

KERNEL_MIB = 256  # for the guest's kernel and services
RING = 1024  # descriptors of a queue
ADDRESS = re.compile(r"([0-9a-f]{4}):([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])$", re.I)


class NoDomain(Failure):
    """The configuration is none for a guest; the text says why."""


def _add(parent, tag, text=None, **attributes):
    child = ElementTree.SubElement(parent, tag, {k.rstrip("_"): str(v) for k, v in attributes.items()})
    child.text = text
    return child


def _cells(d, topology):
    """Return (MiB of each NUMA cell, bytes of a huge page of the host)."""
    memory, sockets = d["memory"], topology["sockets"]
    huge = memory["hugepages"]
    page = huge["page_bytes"] // MIB if huge else 2
    # the guest's kernel spreads huge pages evenly over its sockets, and the configuration may want them all on one
    inner = huge["pages"] * page + (2 * page if page > 2 else 0) if huge else 0
    cell = inner + -(-(KERNEL_MIB + mebibytes(memory["ordinary_bytes"])) // sockets)
    return -(-cell // page) * page, page * MIB


def _cpus(domain, d, topology, cpus, nodes):
    """vCPUs, pinned to CPUs of the host, in the sockets, cores and threads of the plan's topology."""
    count, sockets, threads = topology["cpus"], topology["sockets"], topology["threads_per_core"]
    if cpus and len(cpus) != count:
        raise NoDomain(f"{len(cpus)} CPUs to pin to, and {count} vCPUs of the plan's topology; say one for each")
    if nodes and len(nodes) != sockets:
        raise NoDomain(f"{len(nodes)} NUMA nodes, and {sockets} sockets of the plan's topology; say one for each")
    cell, page = _cells(d, topology)
    _add(domain, "memory", str(cell * sockets), unit="MiB")
    backing = _add(domain, "memoryBacking")
    _add(_add(backing, "hugepages"), "page", size=page // 1024, unit="KiB")
    _add(backing, "source", type="memfd")
    _add(backing, "access", mode="shared")
    _add(domain, "vcpu", str(count), placement="static")
    tune = _add(domain, "cputune")
    pins = list(cpus) or list(range(count))
    for n, cpu in enumerate(pins):
        _add(tune, "vcpupin", vcpu=n, cpuset=cpu)
    _add(tune, "emulatorpin", cpuset=pins[0])
    if nodes:
        numa = _add(domain, "numatune")
        _add(numa, "memory", mode="strict", nodeset=",".join(map(str, sorted(set(nodes)))))
        for n, node in enumerate(nodes):
            _add(numa, "memnode", cellid=n, mode="strict", nodeset=node)
    system = _add(domain, "os")
    _add(system, "type", "hvm", arch="x86_64", machine="q35")
    _add(system, "boot", dev="hd")
    features = _add(domain, "features")
    _add(features, "acpi")
    _add(features, "apic")
    cpu = _add(domain, "cpu", mode="host-passthrough", check="none")
    _add(cpu, "topology", sockets=sockets, cores=count // sockets // threads, threads=threads)
    numa, each = _add(cpu, "numa"), count // sockets
    for n in range(sockets):
        _add(numa, "cell", id=n, cpus=f"{n * each}-{(n + 1) * each - 1}", memory=cell, unit="MiB", memAccess="shared")


def _interface(devices, port, number, sockets):
    """A port by vhost-user; the guest is the server, so that the switch may restart."""
    found = ADDRESS.match(port["device"])
    if not found:
        raise NoDomain(f"port {port['name']}: {port['device']} is no PCI address of a guest")
    domain, bus, slot, function = found.groups()
    interface = _add(devices, "interface", type="vhostuser")
    _add(interface, "mac", address=f"52:54:00:00:00:{number + 1:02x}")
    _add(interface, "source", type="unix", path=f"{sockets}/{port['name']}.sock", mode="server")
    _add(interface, "model", type="virtio")
    _add(interface, "driver", queues=max(1, port["rx_queues"], port["tx_queues"]), rx_queue_size=RING, tx_queue_size=RING)
    _add(interface, "address", type="pci", domain=f"0x{domain}", bus=f"0x{bus}", slot=f"0x{slot}", function=f"0x{function}")


def write(d, topology, image="/var/lib/libvirt/images/vbng.qcow2", seed=None, sockets="/run/vbng", cpus=(), nodes=()):
    """XML text of a description. topology: of the plan, which is the guest's. image: its disk; seed: the disk of `vbng-lab vm seed`.
    sockets: folder in which the ports' sockets are, by their names. cpus: CPU of the host for each vCPU; nodes: NUMA node of the host for the
    memory of each socket, (): wherever the host takes it. Raises NoDomain."""
    ports = [i for i in d["interfaces"] if i["kind"] == PCI]
    if not ports:
        raise NoDomain("no port is a PCI device, so a guest would have no network (see cfg/bng-vm.cfg)")
    domain = ElementTree.Element("domain", type="kvm")
    _add(domain, "name", d["name"])
    _cpus(domain, d, topology, cpus, nodes)
    _add(domain, "clock", offset="utc")
    devices = _add(domain, "devices")
    for kind, path, form, target, bus in (("disk", image, "qcow2", "vda", "virtio"), ("cdrom", seed, "raw", "sda", "sata")):
        if path:
            disk = _add(devices, "disk", type="file", device=kind)
            _add(disk, "driver", name="qemu", type=form)
            _add(disk, "source", file=path)
            _add(disk, "target", dev=target, bus=bus)
            if kind == "cdrom":
                _add(disk, "readonly")
    for number, port in enumerate(ports):
        _interface(devices, port, number, sockets)
    _add(devices, "console", type="pty")
    _add(devices, "memballoon", model="none")
    ElementTree.indent(domain)
    return ElementTree.tostring(domain, encoding="unicode") + "\n"
