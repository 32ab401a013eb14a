# SPDX-License-Identifier: BSD-3-Clause
"""Who goes and comes back: the switch, its sockets with it, and the VNF. vbng runs on, counts, and is joined again."""

import contextlib
import os
import shutil
import signal
import tempfile
import time

from vbnglab import chain, run, switches, switchlab
from vbnglab.switches.base import SwitchError

RATE, LIMIT = "2kpps", 20.0  # seconds for anything to happen
FLOWING = 200  # packets after which the way is taken for whole


def cpus():
    """Two CPUs where there are; a switch and the tester each have one then."""
    return sorted(os.sched_getaffinity(0))[:2]


class Bed:
    """Tester, switch and one VNF, all running, packets going one way."""

    def __init__(self, folder, binary, adapter, kind, stack):
        self.binary, self.folder = binary, folder
        self.lab = switchlab.make(adapter, switchlab.Setup("loopback", phy_kind=kind), folder, cpus(), binary)
        stack.callback(shutil.rmtree, self.lab.switch.folder, ignore_errors=True)
        self.switch = self.lab.switch
        self.switch.clean()
        self.switch.start()
        stack.callback(self.switch.stop)
        self.vnf = self.start_vnf()
        stack.callback(lambda: self.vnf.running.stop())
        off = {f"{g}.start": "24h" for g in ("gen_core0", "probe_core0", "probe_cpe0")}
        self.tester = chain.Controlled("tester", self.lab.config, self.lab.folder, {**off, "gen_cpe0.rate": RATE}, binary)
        stack.callback(self.tester.running.stop)

    def start_vnf(self):
        vnf = chain.Controlled("vnf1", self.lab.vnfs["vnf1"], self.lab.folder, vbng=self.binary)
        if not vnf.ready():
            raise SwitchError(f"the VNF did not start: {vnf.running.output()}")
        return vnf

    def received(self):
        """Packets that have come back to the tester."""
        return self.tester.ask({"cmd": "show-ledger"})["ledger"]["consumed"]

    def flows(self, what):
        """Do packets come back, in the end? What is wrong."""
        start, end = self.received(), time.monotonic() + LIMIT
        while time.monotonic() < end:
            if self.received() >= start + FLOWING:
                return []
            time.sleep(0.05)
        return [f"{what}: only {self.received() - start} packets came back within {LIMIT:.0f} s"]

    def ends(self, told):
        """Both processes end well: the ledgers balance. told: warnings of the VNF that must have been there."""
        said = self.vnf.running.output()
        results = {"tester": self.tester.running.stop(), "VNF": self.vnf.running.stop()}
        return [f"{n}: {r.error}" for n, r in results.items() if not r.ok] + [f"the VNF does not say '{w}':\n{said}" for w in told if w not in said]


TOLD = [f"port v1{x}: its peer {what}" for x in "ab" for what in ("has gone", "is back")]


def switch_restarts(bed):
    """Stopped, away for a while, started again."""
    wrong = bed.flows("at first")
    bed.switch.stop()
    time.sleep(0.4)
    if not bed.vnf.running.alive() or not bed.tester.running.alive():
        return [*wrong, "vbng ended with the switch", bed.vnf.running.output(), bed.tester.running.output()]
    bed.switch.start()
    return wrong + bed.flows("after the switch came back") + bed.ends(TOLD)


def switch_crashes(bed):
    """Killed; its adapter says how it ended, and it is started again."""
    wrong = bed.flows("at first")
    os.kill(bed.switch.pids[0], signal.SIGSEGV)
    end = time.monotonic() + LIMIT
    while bed.switch.alive() and time.monotonic() < end:
        time.sleep(0.02)
    try:
        bed.switch.stats()
        wrong.append("a dead switch gives counters")
    except SwitchError as e:
        if "SIGSEGV" not in str(e) or "last lines" not in str(e):
            wrong.append(f"a dead switch is told as: {e}")
    bed.switch.stop()
    bed.switch.start()
    return wrong + bed.flows("after the switch came back") + bed.ends(TOLD)


def vnf_crashes(bed):
    """The VNF is killed, and another one comes; the tester and the switch run on."""
    wrong = bed.flows("before the VNF was killed")
    os.kill(bed.vnf.running.pid, signal.SIGKILL)
    bed.vnf.running.finish()
    bed.vnf = bed.start_vnf()
    return wrong + bed.flows("after a killed VNF came back") + bed.ends([])


def vnf_restarts(bed):
    """The VNF is stopped, then another one is killed."""
    wrong = bed.flows("at first")
    first = bed.vnf.running.stop()
    bed.vnf = bed.start_vnf()
    return [first.error] * (not first.ok) + wrong + vnf_crashes(bed)


def server(name):
    """An adapter whose VNFs make the sockets."""
    class Client(switches.ALL[name]):
        def __init__(self, folder, cpu, memory_mib=1024):
            super().__init__(folder, cpu, memory_mib, vnf_server=True)

    return Client


def run_case(binary, what, adapter, kind):
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="vbng-switch-"))
        try:
            return what(Bed(folder, binary, adapter, kind, stack))
        except (SwitchError, OSError) as e:
            return [str(e)]


def cases(binary):
    """(switch, title, test)."""
    testpmd, ovs = switches.ALL["testpmd"], switches.ALL["ovs-dpdk"]
    for name, title, what, adapter, kind in (
            ("testpmd", "switch restarts, VNF is server", switch_restarts, server("testpmd"), None),
            ("testpmd", "switch crashes, VNF is client", switch_crashes, testpmd, None),
            ("testpmd", "switch restarts, tester by memif", switch_restarts, testpmd, "memif"),
            ("ovs-dpdk", "switch restarts", switch_restarts, ovs, None),
            ("testpmd", "VNF restarts as client", vnf_restarts, testpmd, None),
            ("testpmd", "VNF crashes as server, tester by memif", vnf_crashes, server("testpmd"), "memif")):
        yield name, f"{name}: {title}", lambda a=(what, adapter, kind): run_case(binary, *a)
