# SPDX-License-Identifier: BSD-3-Clause
"""t4p4s: a P4 program compiled to DPDK. Its program l2fwd sends by a table of destination MAC addresses, which its
controller is given; so it is told which of them are behind which port, and a chain of VNFs that leave addresses alone
cannot go through it.

Its script looks for all in the folder in which it is, and runs what it has made by sudo, also as root. The controller says dmac and smac; the
compiler names tables and actions of the top level with a dot before. The lines that translate are part of the configuration of l2fwd, which the
adapter's replaces.
"""

import os

from .base import SwitchError, installed
from .dpdk_app import DpdkSwitch


NAMES = ("smac", "dmac", "forward", "bcast", "mac_learn", "_nop")  # of tables and actions


class T4p4s(DpdkSwitch):
    name, title = "t4p4s", "t4p4s"
    needs = "t4p4s (github.com/P4ELTE/t4p4s), $T4P4S its folder, with p4c"
    modes = ("learn",)
    chains = False
    most_macs = 512  # size of the tables of l2fwd

    @classmethod
    def probe(cls):
        folder = os.environ.get("T4P4S")
        if not folder or not os.path.exists(os.path.join(folder, "t4p4s.sh")):
            return None, f"$T4P4S is no folder with t4p4s.sh ({cls.needs})"
        path, why = installed("sudo", "Debian package sudo, which t4p4s.sh calls")
        return ("unknown", "") if path else (None, why)

    def __init__(self, folder, cpus=(0,), memory_mib=1024, vnf_server=False):
        super().__init__(folder, cpus, memory_mib, vnf_server)
        self.macs = {}  # port -> MAC addresses behind it

    def behind(self, name, macs):
        """Say which destination MAC addresses are behind a port."""
        self.macs[name] = tuple(macs)

    def files(self):
        numbers = {p.name: i for i, p in enumerate(self.ordered())}
        unknown = set(numbers) - set(self.macs)
        if unknown:
            raise SwitchError(f"t4p4s must be told the MAC addresses behind {', '.join(sorted(unknown))}")
        table = [f"TRANSLATION {name} .{name}" for name in NAMES] + ["SET-DEFAULT smac mac_learn", "SET-DEFAULT dmac bcast"]
        table += [f"MAC-FWD {mac} {numbers[name]}" for name, macs in self.macs.items() for mac in macs]
        return {"l2fwd.txt": "\n".join(table) + "\n"}

    def daemon(self):
        queues = ",".join(f"({i},0,{self.cpus[0]})" for i in range(len(self.ports)))
        return ["env", "-C", os.environ.get("T4P4S", "t4p4s"), "./t4p4s.sh", ":l2fwd", f"ctrcfg={self.folder}/l2fwd.txt",
                "ealopts=" + " ".join(self.eal(["-l", str(self.cpus[0])])),
                f'cmdopts=-p {hex((1 << len(self.ports)) - 1)} --config "{queues}"']
