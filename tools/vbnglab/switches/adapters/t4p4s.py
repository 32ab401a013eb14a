# SPDX-License-Identifier: BSD-3-Clause
"""t4p4s: a P4 program compiled to DPDK. Its program l2fwd sends by a table of destination MAC addresses, which its
controller is given. So the adapter tells the MAC addresses behind each port, and a chain of VNFs that leave addresses alone
cannot go through it.

The adapter starts program and controller itself: t4p4s.sh builds anew at each start, ends any controller by name, and mounts a hugetlbfs that
stays. The program connects to its controller by TCP, at a port that was compiled in, and goes on without tables where nobody
listens yet: so the controller is first. Both are in a network namespace of their own, and the controller ends with the program.
The controller says dmac and smac; the compiler names tables and actions of the top level with a dot before.
"""

import os
import re

from ...lab import run
from .base import SwitchError
from .dpdk_app import DpdkSwitch

PROGRAM = "build/l2fwd@std-v1model/build/l2fwd"
DEFINITIONS = "build/l2fwd@std-v1model/srcgen/gen_include.h"
CONTROLLER = "src/hardware_dep/shared/ctrl_plane/dpdk_l2fwd_controller"
CONTROL_PORT = 50123  # where $T4P4S is not there to tell, for render()
NAMES = ("smac", "dmac", "forward", "bcast", "_nop")  # of tables and actions
FORWARDS = "entering main loop"
# The first socket that listens here is the controller's.
RUN = 'ip link set lo up; setpriv --pdeathsig KILL stdbuf -oL "$1" "$2" "$3" & until grep -q " 0A " /proc/net/tcp; do sleep 0.05; done; shift 3; exec "$@"'


def _folder():
    return os.environ.get("T4P4S", "t4p4s")


def _control_port():
    """TCP port that the program was compiled with; None where it has none."""
    found = re.search(r"#define T4P4S_CTL_PORT (\d+)", run.text_of(os.path.join(_folder(), DEFINITIONS)))
    return int(found[1]) or None if found else None


class T4p4s(DpdkSwitch):
    name, title = "t4p4s", "t4p4s"
    needs = "t4p4s (github.com/P4ELTE/t4p4s), $T4P4S its folder, in which its l2fwd and its controller are built: doc/switches.md"
    modes = ("learn",)
    chains = False
    one_mac = True  # the tables of l2fwd have room for 512
    lead = 2.0

    @classmethod
    def probe(cls):
        if not os.environ.get("T4P4S"):
            return None, f"$T4P4S is not set ({cls.needs})"
        missing = [name for name in (PROGRAM, CONTROLLER) if not os.access(os.path.join(_folder(), name), os.X_OK)]
        if missing:
            return None, f"$T4P4S has no {missing[0]} ({cls.needs})"
        if _control_port() is None:
            return None, f"$T4P4S/{DEFINITIONS} has no T4P4S_CTL_PORT ({cls.needs})"
        if os.geteuid() != 0:
            return None, "t4p4s is in a network namespace of its own, which needs root"
        return "unknown", ""

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
        table = [f"TRANSLATION {name} .{name}" for name in NAMES] + ["SET-DEFAULT smac _nop", "SET-DEFAULT dmac bcast"]
        table += [f"MAC-FWD {mac} {numbers[name]}" for name, macs in self.macs.items() for mac in macs]
        return {"l2fwd.txt": "\n".join(table) + "\n"}

    def daemon(self):
        folder, port = _folder(), _control_port() or CONTROL_PORT
        queues = ",".join(f"({i},0,0)" for i in range(len(self.ports)))
        # lcore 0 on the given CPU: the program sets up transmit queues for lcores from 0 on
        return ["unshare", "-n", "sh", "-c", RUN, "sh", f"{folder}/{CONTROLLER}", str(port), f"{self.folder}/l2fwd.txt",
                f"{folder}/{PROGRAM}", *self.eal(["--lcores", f"0@{self.cpus[0]}"]), "--", "-p", hex((1 << len(self.ports)) - 1), "--config", queues]

    _before = 0  # length of the output of earlier starts

    def _start(self):
        self._before = len(run.text_of(self._output))
        super()._start()

    def up(self):
        """Tell whether the program forwards: some time after its ports have their peers."""
        return FORWARDS in run.text_of(self._output)[self._before:]
