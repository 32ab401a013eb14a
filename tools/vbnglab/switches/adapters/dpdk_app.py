# SPDX-License-Identifier: BSD-3-Clause
"""What the switches have in common that are DPDK applications of one process with ports that are given at start."""

import json
import os
import socket
import subprocess

from ...lab import owned
from .base import Port, Switch, SwitchError

QUEUE = 1024  # descriptors of a queue, at the VNF's end too
MAX_REPLY = 1 << 20


def dpdk_version():
    """Version of DPDK that programs here are linked with; None where it is not known."""
    try:
        done = subprocess.run(["pkg-config", "--modversion", "libdpdk"], capture_output=True, text=True)
    except OSError:
        return None
    return done.stdout.strip() or None


def vhost_port(folder, name, number, vnf_server=False):
    """A vhost-user port whose VNF is vbng with net_virtio_user. vnf_server: the VNF makes the socket, so that the switch may
    restart."""
    path = os.path.join(folder, f"{name}.sock")
    device = f"net_virtio_user{number},path={path},queue_size={QUEUE}" + (",server=1" if vnf_server else "")
    return Port(name, "vhost", number, device, path, "server" if vnf_server else "client")


def memif_port(folder, name, number):
    """A memif port. The switch is the server, so that VNFs may restart."""
    path = os.path.join(folder, "memif.sock")
    return Port(name, "memif", number, f"net_memif{number},role=client,id={number},socket={path},socket-abstract=no", path, "client")


def nic_port(name, number, device):
    """A port that is hardware; device: "SWITCH,VNF"."""
    at, comma, far = device.partition(",")
    if not comma:
        raise SwitchError(f"port {name}: '{device}': expected two PCI addresses, the switch's and the tester's, with a comma")
    return Port(name, "nic", number, far, at)


def runtime_folder(prefix):
    """Folder of a DPDK process for sockets and locks, which it leaves behind."""
    base = os.environ.get("RUNTIME_DIRECTORY") or ("/run" if os.geteuid() == 0 else os.environ.get("XDG_RUNTIME_DIR", "/tmp"))
    return f"{base}/dpdk/{prefix}"


def telemetry(prefix, request):
    """Answer of a DPDK process at its telemetry socket; None where nobody answers."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            s.settimeout(5)
            s.connect(f"{runtime_folder(prefix)}/dpdk_telemetry.v2")
            s.recv(MAX_REPLY)
            s.send(request.encode())
            return json.loads(s.recv(MAX_REPLY))
    except (OSError, ValueError):
        return None


class DpdkSwitch(Switch):
    """A DPDK application whose ports are virtual devices on its command line, in the order of the pairs. vnf_server: the VNFs make the sockets."""

    kinds = ("vhost", "memif", "nic")
    needs = ""

    def __init__(self, folder, cpus=(0,), memory_mib=1024, vnf_server=False):
        super().__init__(folder, cpus, memory_mib)
        self.vnf_server = vnf_server
        self.prefix = f"vb{self.tag}"

    def attach(self, name, kind, number, device):
        if kind == "nic":
            return nic_port(name, number, device)
        if kind == "memif":
            return memif_port(self.folder, name, number)
        return vhost_port(self.folder, name, number, self.vnf_server)

    def ordered(self):
        """Ports in the order in which the application numbers them: peers are neighbours."""
        return [p for pair in self.pairs() for p in pair]

    def eal(self, lcores):
        """Options of EAL."""
        words, pci = [*lcores, f"--file-prefix={self.prefix}"], False
        for port in self.ordered():
            if port.kind == "vhost":
                words += ["--vdev", f"net_vhost{port.number},iface={port.at}" + (",client=1" if self.vnf_server else "")]
            elif port.kind == "memif":
                words += ["--vdev", f"net_memif{port.number},role=server,id={port.number},socket={port.at},socket-abstract=no"]
            elif port.at.startswith("net_"):
                words += ["--vdev", port.at]
            else:
                words += ["-a", port.at]
                pci = True
        # NICs need huge pages
        return [*words, "--socket-mem", str(self.memory_mib)] if pci else [*words, "--no-pci", "--no-huge", "-m", str(self.memory_mib)]

    def _start(self):
        try:
            owned.runtime(os.path.dirname(runtime_folder(self.prefix)))
        except owned.Unsafe as e:
            raise SwitchError(str(e)) from e
        super()._start()

    def counters(self):
        """Counters from the telemetry of DPDK's library ethdev."""
        out = {}
        for number, port in enumerate(self.ordered()):
            answer = (telemetry(self.prefix, f"/ethdev/stats,{number}") or {}).get("/ethdev/stats")
            if answer:
                out[port.name] = {"rx_packets": answer["ipackets"], "rx_drop": answer["imissed"] + answer["ierrors"],
                                  "tx_packets": answer["opackets"], "tx_drop": answer["oerrors"]}
        return out

    def ready_paths(self):
        return [p.at for p in self.ordered() if p.role == "client"]

    def undo(self):
        sockets = (p.at for p in self.ports.values() if p.kind in ("vhost", "memif") and p.role == "client")
        return [["rm", "-rf", runtime_folder(self.prefix), *sockets]]
