# SPDX-License-Identifier: BSD-3-Clause
"""What the guest of vbng-lab vm is made of, and the QEMU command for it."""

import os
import re
import shlex
from dataclasses import dataclass, field

from ..describe.description import describe
from ..describe.source import PlanError, read_plan
from ..lab import run
from ..lab.failure import Failure
from .topology import Topology

QEMU = "qemu-system-x86_64"
MIB = 1024 * 1024
FIRST_SLOT = 0x10  # slot of the first port on PCI bus 0
MAX_PORTS = 15
KERNEL_MIB = 160  # memory of the kernel and of the files of the image, which stay in memory
BRIDGE_SLOT = 0xF  # slot of the bridge to the first NUMA node's bus; those of the next are before it
NODE_BUS = 0x18  # a bus for the devices of the first NUMA node; that of the next is as far behind
NICS = {"virtio": "virtio-net-pci", "e1000e": "e1000e", "vmxnet3": "vmxnet3", "igb": "igb"}  # igb: from QEMU 8 on
DRIVERS = ("uio_pci_generic", "vfio-pci")
PEER = ".peer"  # behind the path of QEMU's datagram socket: the path of the other end's
CPU = "max,vendor=GenuineIntel"  # emulated CPU; one of AMD would have no threads


class SpecError(Failure):
    """The guest is impossible; the text says why and what to do."""

    status = 2


@dataclass(frozen=True)
class Port:
    """A port of the guest, and what is behind it."""

    kind: str  # "vhost", "tap" or "dgram"
    name: str  # path of the vhost-user socket, name of the tap interface, or path of QEMU's datagram socket
    server: bool = False  # vhost: QEMU makes the socket and waits for the switch; else the switch does
    nic: str = "virtio"  # of NICS: what the guest sees
    queues: int = 1  # pairs, of virtio only: the other models have what they have
    node: int | None = None  # NUMA node of its slot; None: on the first bus, of no node
    legacy: bool = False  # virtio: as before VIRTIO_F_VERSION_1, for a peer that does not offer that


def parse_port(text):
    """"vhost:PATH", "vhost:PATH,server", "tap:NAME" or "dgram:PATH", then ",nic=MODEL", ",queues=N", ",node=N"."""
    match = re.fullmatch(r"(vhost|tap|dgram):([^,]+)((?:,[a-z0-9=]+)*)", text)
    words = match[3].split(",")[1:] if match else []
    values = dict(w.split("=", 1) for w in words if "=" in w)
    roles = [w for w in words if "=" not in w]
    nic, queues, node = values.pop("nic", "virtio"), values.pop("queues", "1"), values.pop("node", None)
    if (not match or values or len(roles) > 1 or (roles and (match[1] != "vhost" or roles[0] not in ("server", "client")))
            or nic not in NICS or (match[1] == "vhost" and nic != "virtio")
            or not re.fullmatch("[1-8]", queues) or (queues != "1" and (nic != "virtio" or match[1] == "dgram"))
            or not re.fullmatch("[0-7]", node or "0")):  # fmt: skip
        raise SpecError(f"'{text}' is no port; say vhost:PATH (the peer makes the socket), vhost:PATH,server (QEMU does), tap:NAME or dgram:PATH; "
                        f"tap and dgram take nic= {', '.join(NICS)}, virtio but for dgram queues=1 to 8, all of them node=0 to 7")
    name = match[2] if match[1] == "tap" else os.path.abspath(match[2])
    if match[1] != "tap" and len(name) > 107 - (len(PEER) if match[1] == "dgram" else 0):
        raise SpecError(f"'{name}': a socket's path has at most 107 bytes")
    return Port(match[1], name, roles == ["server"], nic, int(queues), int(node) if node is not None else None)


def _bridged(port):
    """Tell whether a port is behind a bridge of its own on the first bus."""
    return port.node is None and port.nic == "igb"


def pci_address(index, ports=()):
    """PCI address of a port in the guest: what its configuration says as device. ports: those of the guest; one with a node is behind a bridge of
    its own, whose bus the firmware numbers after that of the node, and so is an igb, whose virtual functions have no room on the first bus."""
    if ports and ports[index].node is not None:
        before = sum(1 for p in ports[:index] if p.node == ports[index].node)
        return f"0000:{NODE_BUS * (ports[index].node + 1) + 1 + before:02x}:00.0"
    if ports and ports[index].nic == "igb":
        return f"0000:{1 + sum(1 for p in ports[:index] if _bridged(p)):02x}:00.0"
    return f"0000:00:{FIRST_SLOT + index:02x}.0"


@dataclass(frozen=True)
class Spec:
    """What a guest is to be."""

    config: str
    ports: list = field(default_factory=list)
    topology: Topology = Topology(1, 2, 1)
    cpus: list = field(default_factory=list)  # CPU of the host for each vCPU; (): wherever the kernel runs them
    memory_mib: int | None = None  # None: what the configuration needs
    hugepage_mib: int | None = None  # 2 or 1024, in the guest; None: as the configuration would have them
    backing: str = "memfd"  # of the guest's memory: memfd, hugepages, or the path of a hugetlbfs
    arguments: tuple = ()  # more options for the guest's vbng
    seconds: float | None = None  # duration of vbng; None: until it is stopped
    driver: str = DRIVERS[0]  # of the guest's kernel for the ports; vfio-pci: with an emulated IOMMU
    inventory: bool = False  # whether the guest copies what its kernel says of the machine to machine/ of its results

    def check(self):
        """Raise SpecError for what can be seen before QEMU starts."""
        if not os.path.isfile(self.config):
            raise SpecError(f"{self.config}: there is no such configuration")
        if len(self.ports) > MAX_PORTS:
            raise SpecError(f"{len(self.ports)} ports, and a guest has at most {MAX_PORTS}")
        if len({p.name for p in self.ports}) < len(self.ports):
            raise SpecError("two ports have the same socket or interface")
        lost = [p.node for p in self.ports if p.node is not None and p.node >= self.topology.sockets]
        if lost:
            raise SpecError(f"a port at node {lost[0]}, and a guest of {self.topology} has {self.topology.sockets}")
        if self.cpus and len(self.cpus) != self.topology.vcpus:
            raise SpecError(f"{len(self.cpus)} CPUs to pin to, and {self.topology.vcpus} vCPUs ({self.topology}); say one for each")


@dataclass(frozen=True)
class Sizes:
    """Memory of a guest."""

    memory_mib: int
    hugepage_mib: int
    hugepages: int


def _up(value, unit):
    return -(-value // unit) * unit


def _check_ports(spec, interfaces):
    there = [pci_address(i, spec.ports) for i in range(len(spec.ports))]
    for port in interfaces:
        if port["kind"] == "pci" and port["device"] not in there:
            raise SpecError(f"port {port['name']} of the configuration is {port['device']}, and the guest has "
                            f"{', '.join(there) or 'none'}: one for each --port")


def sizes(spec, vbng):
    """Sizes of a guest: what the configuration needs, or what was asked for if that is enough. This is also the first
    check of the configuration, in the guest's topology. Raises SpecError."""
    try:
        plan, _ = read_plan(["--topology", str(spec.topology), *spec.arguments, spec.config], run.binary(vbng))
    except PlanError as e:
        raise SpecError(f"{str(e).strip()}\nthe guest's topology is {spec.topology} (--topology)") from e
    described = describe(plan)
    _check_ports(spec, described["interfaces"])
    need = described["memory"]
    huge = need["hugepages"] or {"page_bytes": 2 * MIB, "pages": 0}
    page = spec.hugepage_mib or huge["page_bytes"] // MIB
    # the kernel spreads huge pages evenly over the sockets, and the configuration may want them all on one
    pages = -(-huge["pages"] * huge["page_bytes"] // (page * MIB)) * spec.topology.sockets
    gap = 2 * page if page > 2 else 0  # MiB lost in each socket to alignment, and to what is there already when pages are reserved
    least = _up(KERNEL_MIB + need["ordinary_bytes"] // MIB + pages * page + gap * spec.topology.sockets, 64 * spec.topology.sockets)
    if spec.memory_mib is not None and spec.memory_mib < least:
        raise SpecError(f"{spec.memory_mib} MiB are too little: this configuration needs {least} MiB, of which "
                        f"{pages} huge pages of {page} MiB; say --memory {least} or less of pools, or leave --memory out")
    return Sizes(spec.memory_mib or least, page, pages)


def guest_script(spec, size):
    """/run.sh of the guest: what init.sh reads."""
    # whatever machine the configuration says: QEMU numbers sibling threads one after the other
    vbng = ["/bin/vbng", "--quiet", "--topology", "live", "--report", "/out/report.json", "--sample", "/out/sample.csv", "--sample-period", "1s"]
    if spec.seconds is not None:
        vbng += ["--duration", f"{round(spec.seconds * 1000)}ms"]
    vbng += [*spec.arguments, f"/config/cfg/{os.path.basename(spec.config)}"]
    ports = " ".join(pci_address(i, spec.ports) for i in range(len(spec.ports)))
    return (f"driver={spec.driver}\ninventory={'yes' if spec.inventory else ''}\nhugepage_kib={size.hugepage_mib * 1024}\nhugepages={size.hugepages}\nports='{ports}'\n"
            f"vbng() {{ exec {shlex.join(vbng)}; }}\n")


def _memory(spec, size):
    """Options for the memory: a NUMA node for each socket, shared with other processes, as vhost-user needs."""
    nodes, out = spec.topology.sockets, []
    for n in range(nodes):
        share = size.memory_mib // nodes
        if spec.backing in ("memfd", "hugepages"):
            huge = ",hugetlb=on" if spec.backing == "hugepages" else ""
            back = f"memory-backend-memfd,id=mem{n},size={share}M,share=on{huge}"
        else:
            back = f"memory-backend-file,id=mem{n},size={share}M,share=on,mem-path={spec.backing}"
        out += ["-object", back]
        if nodes > 1:
            out += ["-numa", f"node,nodeid={n},memdev=mem{n}", "-numa", f"cpu,node-id={n},socket-id={n}"]
    return out


def _backend(index, port):
    """Options for what is behind a port."""
    queues = f",queues={port.queues}" if port.queues > 1 else ""
    if port.kind == "vhost":
        role = "server=on,wait=off" if port.server else "reconnect=1"
        return ["-chardev", f"socket,id=c{index},path={port.name},{role}", "-netdev", f"vhost-user,id=n{index},chardev=c{index}{queues}"]
    if port.kind == "dgram":
        ends = f"local.type=unix,local.path={port.name},remote.type=unix,remote.path={port.name}{PEER}"
        return ["-netdev", f"dgram,id=n{index},{ends}"]
    return ["-netdev", f"tap,id=n{index},ifname={port.name},script=no,downscript=no{queues}"]


def _port(index, port):
    bus, slot = f"bus=pcie.0,addr={FIRST_SLOT + index:#x}", []
    if port.node is not None or _bridged(port):
        upper = bus if _bridged(port) else f"bus=node{port.node}"
        bus, slot = f"bus=slot{index}", ["-device", f"pcie-root-port,id=slot{index},{upper},chassis={index + 1},slot={index}"]
    device = f"{NICS[port.nic]},netdev=n{index},mac=52:54:00:00:00:{index + 1:02x},{bus}"
    if port.nic == "virtio":
        # without MSI-X vectors: under TCG, QEMU 7.2 dies on vhost-user with them, and a polling driver needs none
        device += ",disable-legacy=off,disable-modern=on" if port.legacy else ",disable-legacy=on"
        device += ",vectors=0,rx_queue_size=1024" + (",tx_queue_size=1024" if port.kind == "vhost" else "") + (",mq=on" if port.queues > 1 else "")
    return [*_backend(index, port), *slot, "-device", device]


def _buses(spec):
    """A bus for each NUMA node that a port is at, and the IOMMU, which must come before the devices behind it."""
    out = ["-device", "intel-iommu"] if spec.driver == "vfio-pci" else []
    for node in sorted({p.node for p in spec.ports} - {None}):
        out += ["-device", f"pxb-pcie,id=node{node},bus=pcie.0,bus_nr={NODE_BUS * (node + 1)},numa_node={node},addr={BRIDGE_SLOT - node:#x}"]
    return out


def _shares(folders):
    out = []
    for tag, path in folders.items():
        readonly = ",readonly=on" if tag != "out" else ""
        out += ["-virtfs", f"local,path={path.replace(',', ',,')},mount_tag={tag},security_model=none{readonly}"]
    return out


def command(spec, size, image, initrd, accel, folders, console, qmp):
    """The QEMU command. folders: {"out": ..., "config": ..., "templates": ...} of the host; accel: "kvm" or "tcg"."""
    t = spec.topology
    numa = t.sockets > 1
    return [
        QEMU, "-no-user-config", "-nodefaults", "-display", "none", "-no-reboot",
        "-machine", "q35" + ("" if numa else ",memory-backend=mem0"),
        "-accel", "kvm" if accel == "kvm" else "tcg,thread=multi", "-cpu", "host" if accel == "kvm" else CPU,
        "-smp", f"{t.vcpus},sockets={t.sockets},cores={t.cores},threads={t.threads}", "-m", f"{size.memory_mib}M",
        *_memory(spec, size),
        "-kernel", image.kernel, "-initrd", initrd,
        "-append", "console=ttyS0 panic=-1 quiet mitigations=off no_timer_check"
                   + (" intel_iommu=on" if spec.driver == "vfio-pci" else "")
                   + (f" hugepagesz=1G hugepages={size.hugepages}" if size.hugepage_mib == 1024 else ""),
        "-serial", f"file:{console}", "-qmp", f"unix:{qmp},server=on,wait=off",
        *_shares(folders), *_buses(spec),
        *(word for i, p in enumerate(spec.ports) for word in _port(i, p)),
    ]  # fmt: skip


def choose_accelerator(wanted="auto", cpuinfo="/proc/cpuinfo", device="/dev/kvm"):
    """("kvm" or "tcg", why). A machine that is itself a paravirtual guest may have a /dev/kvm that opens and then hangs:
    so the CPU must have vmx or svm, too."""
    with open(cpuinfo, encoding="ascii", errors="replace") as f:
        flags = set(re.findall(r"\b(?:vmx|svm)\b", f.read()))
    try:
        os.close(os.open(device, os.O_RDWR))
        opens = ""
    except OSError as e:
        opens = f"{device}: {e.strerror}"
    if wanted == "tcg":
        return "tcg", "as asked"
    if flags and not opens:
        return "kvm", f"the CPU has {flags.pop()} and {device} opens"
    why = opens if flags else "the CPU shows neither vmx nor svm"
    if wanted == "kvm":
        raise SpecError(f"KVM cannot be used: {why}")
    return "tcg", why
