# SPDX-License-Identifier: BSD-3-Clause
"""SR-IOV: the switch is in the NIC, by MAC address and VLAN; a port is a virtual function for vfio-pci.

The gateway sends and takes frames of many VLANs and with MAC addresses of others, so the function must be trusted, and
the checks of MAC and VLAN off. What the NIC hands to a function then depends on the NIC: promiscuous mode of a
trusted function is not to be had on all.
"""

import os

from .base import Port, Switch, SwitchError

CLASS_NET = "/sys/class/net"


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

    def before(self):
        out = []
        for p in self.ports.values():
            out += [["ip", "link", "set", self.interface, "vf", str(p.number), *words.split()]
                    for words in (f"mac 02:b2:00:00:00:{p.number:02x}", "spoofchk off", "trust on", "vlan 0")]
        return [*out, ["dpdk-devbind.py", "--bind=vfio-pci", *(p.at for p in self.ports.values())]]
