# SPDX-License-Identifier: BSD-3-Clause
"""Tester, switch and one VNF, which tests stop and start; and what all tests of switches ask of the machine."""

import os
import shutil
import time

from tests.common import need
from tests.common.limits import limit
from vbnglab.lab import chain
from vbnglab.switches import bench
from vbnglab.switches.adapters.base import SwitchError

RATE, LIMIT = "2kpps", 20.0  # seconds for anything to happen
FLOWING = 200  # packets after which the way is taken for whole


def cpus():
    """Two CPUs where there are; a switch and the tester each have one then."""
    return sorted(os.sched_getaffinity(0))[:2]


def installed(adapter):
    """Skips the test, with the adapter's reason, where its switch is not here."""
    __tracebackhide__ = True
    version, why = adapter.probe()
    if version is None:
        need.skip(why)


class Bed:
    """Tester, switch and one VNF, all running, packets going one way."""

    def __init__(self, folder, binary, adapter, kind, stack):
        self.binary, self.folder = binary, folder
        self.lab = bench.make(adapter, bench.Setup("loopback", phy_kind=kind), folder, cpus(), binary)
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
        start, end = self.received(), time.monotonic() + limit(LIMIT)
        while time.monotonic() < end:
            if self.received() >= start + FLOWING:
                return []
            time.sleep(0.05)
        return [f"{what}: only {self.received() - start} packets came back within {limit(LIMIT):.0f} s"]

    def ends(self, told):
        """Both processes end well: the ledgers balance. told: warnings of the VNF that must have been there."""
        said = self.vnf.running.output()
        results = {"tester": self.tester.running.stop(), "VNF": self.vnf.running.stop()}
        return [f"{n}: {r.error}" for n, r in results.items() if not r.ok] + [f"the VNF does not say '{w}':\n{said}" for w in told if w not in said]
