# SPDX-License-Identifier: BSD-3-Clause
"""SR-IOV: the switch is in the NIC, by MAC address and VLAN; a port is a virtual function for vfio-pci.

The gateway sends and takes frames of many VLANs and with MAC addresses of others, so the function must be trusted, and
the checks of MAC and VLAN off. A function has the MAC address to which is sent what comes to it; what else the NIC hands
to it depends on the NIC: promiscuous mode of a trusted function, which the subscribers' addresses need, is not to be had on all.
"""

import json
import os

from .base import Port, Switch, SwitchError

CLASS_NET = "/sys/class/net"
DEVICES = "/sys/bus/pci/devices"
NO_MAC = "00:00:00:00:00:00"


class Sriov(Switch):
    name, title = "sriov", "SR-IOV VF"
    needs = "a NIC with virtual functions: $SRIOV_PF is its interface"
    kinds = ("vf",)
    modes = ("learn",)
    chains = False
    own_cpu = False

    def __init__(self, folder, cpus=(0,), memory_mib=1024, interface=None, functions=None):
        super().__init__(folder, cpus, memory_mib)
        self.interface = interface or os.environ.get("SRIOV_PF", "PF")
        self._functions = functions  # PCI addresses of the functions; None: those that the kernel lists
        self._macs = {}  # port -> MAC address of its function
        self._found = []  # [(port, settings of its function, its driver)] as they were at the start

    @classmethod
    def probe(cls):
        interface = os.environ.get("SRIOV_PF")
        if not interface:
            return None, f"no NIC was named ({cls.needs})"
        try:
            with open(f"{CLASS_NET}/{interface}/device/sriov_totalvfs", encoding="ascii") as f:
                return f"{interface}, {f.read().strip()} functions", ""
        except OSError as e:
            return None, str(e)

    def _function(self, number):
        if self._functions:
            return self._functions[number]
        link = f"{CLASS_NET}/{self.interface}/device/virtfn{number}"
        if not os.path.exists(link):
            raise SwitchError(f"{self.interface} has no virtual function {number}: echo N >{CLASS_NET}/{self.interface}/device/sriov_numvfs")
        return os.path.basename(os.path.realpath(link))

    def attach(self, name, kind, number, device):
        address = self._function(number)
        return Port(name, kind, number, address, address)

    def behind(self, name, macs):
        """Say which destination MAC addresses are behind a port: its function has the first one."""
        self._macs[name] = macs[0]

    def _set(self, port, mac, spoofchk, trust):
        return [["ip", "link", "set", self.interface, "vf", str(port.number), *words]
                for words in (("mac", mac), ("spoofchk", spoofchk), ("trust", trust), ("vlan", "0"))]

    def before(self):
        out = []
        for p in self.ports.values():
            out += self._set(p, self._macs.get(p.name, f"02:b2:00:00:00:{p.number:02x}"), "off", "on")
        return [*out, ["dpdk-devbind.py", "--bind=vfio-pci", *(p.at for p in self.ports.values())]]

    def _start(self):
        (link,) = json.loads(self.run(["ip", "-j", "link", "show", "dev", self.interface]))
        settings = {vf["vf"]: vf for vf in link.get("vfinfo_list", [])}
        self._found = [(p, settings.get(p.number, {}), driver(p.at)) for p in self.ports.values()]
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
