# SPDX-License-Identifier: BSD-3-Clause
"""Tester, switch and one VNF, which tests stop and start; and what all tests of switches ask of the machine."""

import os
import shutil
import time

from tests.common import need
from tests.common.limits import limit
from tests.common.verdict import nothing
from vbnglab.lab import chain
from vbnglab.measure import rig
from vbnglab.switches import bench, scenarios
from vbnglab.switches.adapters.base import SwitchError

RATE, LIMIT = "2kpps", 20.0  # seconds for anything to happen
LOAD, SECONDS, SETTLE = 2000.0, 0.4, 0.6  # packets per second: everything shares two CPUs
TRIALS, ENOUGH = 3, 100  # of which the first undisturbed one is judged; packets
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


def disturbed(row):
    """Does the generator say that it lacked the CPU to send enough?"""
    return row["ok"] and row["generator"]["sent"] < ENOUGH <= row["generator"]["sent"] + row["generator"]["missed"]


def judge(one, row):
    """What is wrong with a trial."""
    if not row["ok"]:
        return [row["error"]]
    inside = sum(row["lost_inside"].values())
    sent, dropped = row["generator"]["sent"], sum(row["drops"].values())  # some are too early for a memif, which connects when it likes
    lost = sent - row["received"]
    wrong = [f"lost {lost} of {sent}, {dropped} dropped by VNFs {row['drops']}, {inside} by the switch"] if lost != inside + dropped else []
    if sent < ENOUGH:
        wrong.append(f"only {sent} packets were sent")
    wrong += [f"{n} {kind}" for kind, n in row["errors"].items()]
    if one.switch.name == "direct":
        return wrong  # no switch, no counters
    return wrong + scenarios.account(one.topology, one.last["reports"], one.last["counters"], inside)


def all_found_again(one, settle=SETTLE):
    """Both ways, or all ways, through the scenario of a SwitchRig: each packet is found again. Ends its folder; skips where the generator lacks the CPU."""
    __tracebackhide__ = True
    one.settle = limit(settle)
    direction = "both" if "both" in one.generators else "all"
    size = rig.Size(64, 64) if all(v.joined for v in one.topology.vnfs) else rig.Size(128, 152)
    try:
        for _ in range(TRIALS):
            row = bench.take(one, rig.Request("rplus", direction, size, LOAD, SECONDS))
            if not disturbed(row) and one.last["counters"] is not None:
                nothing(judge(one, row))
                return
    finally:
        shutil.rmtree(one.switch.folder, ignore_errors=True)
    need.skip(f"in each of {TRIALS} trials the CPU was lacking to send {ENOUGH} packets, or to read the counters between the tester's last packet and its end")


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
