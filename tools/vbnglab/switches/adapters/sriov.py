# SPDX-License-Identifier: BSD-3-Clause
"""SR-IOV: the switch is in the NIC, by MAC address and VLAN; a port is a virtual function for vfio-pci.

The gateway sends and takes frames of many VLANs and with MAC addresses of others, so the function must be trusted, and
the checks of MAC and VLAN off. A function has the MAC address to which is sent what comes to it, and may get nothing else:
promiscuous mode of a trusted function is not to be had on all NICs. So all subscribers of a port have one address.
"""

import json
import os
from dataclasses import replace

from .base import Port, Switch, SwitchError

CLASS_NET = "/sys/class/net"
DEVICES = "/sys/bus/pci/devices"
NO_MAC = "00:00:00:00:00:00"


class Sriov(Switch):
    name, title = "sriov", "SR-IOV VF"
    needs = "a NIC with virtual functions: $SRIOV_PF is its interface, or several with commas, which take turns: a connection is within one"
    kinds = ("vf",)
    modes = ("learn",)
    chains = False
    one_mac = True
    own_cpu = False

    def __init__(self, folder, cpus=(0,), memory_mib=1024, interface=None, functions=None):
        super().__init__(folder, cpus, memory_mib)
        self.interfaces = (interface or os.environ.get("SRIOV_PF", "PF")).split(",")
        self._functions = functions  # PCI addresses of the functions of each interface; None: those that the kernel lists
        self._at = {}  # port -> (interface, number) of its function
        self._macs = {}  # port -> MAC address of its function
        self._found = []  # [(port, settings of its function, its driver)] as they were at the start

    @classmethod
    def probe(cls):
        interfaces, said = os.environ.get("SRIOV_PF"), []
        if not interfaces:
            return None, f"no NIC was named ({cls.needs})"
        for interface in interfaces.split(","):
            try:
                with open(f"{CLASS_NET}/{interface}/device/sriov_totalvfs", encoding="ascii") as f:
                    said.append(f"{interface}, {f.read().strip()} functions")
            except OSError as e:
                return None, str(e)
        return "; ".join(said), ""

    def _function(self, interface, number):
        if self._functions:
            return self._functions[interface][number]
        device = f"{CLASS_NET}/{interface}/device"
        if not os.path.exists(f"{device}/virtfn{number}"):
            raise SwitchError(f"{interface} has no virtual function {number}: echo N >{device}/sriov_numvfs, or name another NIC in $SRIOV_PF, too")
        return os.path.basename(os.path.realpath(f"{device}/virtfn{number}"))

    def attach(self, name, kind, number, device):
        return Port(name, kind, number, "")

    def connect(self, a, b, mode="patch"):
        super().connect(a, b, mode)
        interface = self.interfaces[(len(self.connections) - 1) % len(self.interfaces)]
        for name in (a, b):
            number = sum(1 for other, _ in self._at.values() if other == interface)
            address = self._function(interface, number)
            self._at[name] = interface, number
            self.ports[name] = replace(self.ports[name], device=address, at=address)

    def behind(self, name, macs):
        """Say which destination MAC address is behind a port: that of its function. Raises SwitchError where there are several."""
        if len(macs) > 1:
            raise SwitchError(f"{self.title}: a function takes what is sent to its own MAC address, and behind port {name} are {len(macs)}")
        self._macs[name] = macs[0]

    def _set(self, port, mac, spoofchk, trust):
        interface, number = self._at[port.name]
        return [["ip", "link", "set", interface, "vf", str(number), *words]
                for words in (("mac", mac), ("spoofchk", spoofchk), ("trust", trust), ("vlan", "0"))]

    def before(self):
        out = []
        for p in self.ports.values():
            out += self._set(p, self._macs.get(p.name, f"02:b2:00:00:00:{p.number:02x}"), "off", "on")
        return [*out, ["dpdk-devbind.py", "--bind=vfio-pci", *(p.at for p in self.ports.values())]]

    def _start(self):
        settings = {}
        for interface in self.interfaces:
            (link,) = json.loads(self.run(["ip", "-j", "link", "show", "dev", interface]))
            settings.update({(interface, vf["vf"]): vf for vf in link.get("vfinfo_list", [])})
        self._found = [(p, settings.get(self._at[p.name], {}), driver(p.at)) for p in self.ports.values()]
        super()._start()

    def undo(self):
        """Commands that give the functions their settings and drivers of before the start back."""
        found, self._found = self._found, []
        out = []
        for p, vf, name in found:
            out.append(["dpdk-devbind.py", f"--bind={name}", p.at] if name else ["dpdk-devbind.py", "--unbind", p.at])
            out += self._set(p, vf.get("mac") or vf.get("address") or NO_MAC, "on" if vf.get("spoofchk", True) else "off",
                             "on" if vf.get("trust", False) else "off")
        return out


def driver(address):
    """Name of the kernel's driver of a PCI device; None where it has none."""
    link = f"{DEVICES}/{address}/driver"
    return os.path.basename(os.path.realpath(link)) if os.path.islink(link) else None
