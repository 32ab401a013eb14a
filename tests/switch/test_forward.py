# SPDX-License-Identifier: BSD-3-Clause
"""vbng behind the switches that are installed here: each packet is found again on its way through all processes."""

import os
import shutil
import signal
import time

import pytest

from tests.common import need
from tests.common.limits import limit
from tests.common.verdict import nothing, unless
from tests.switch import bed
from tests.switch.bed import ENOUGH, LOAD, SECONDS, SETTLE, TRIALS, cpus, disturbed, installed, judge
from vbnglab.measure import rig
from vbnglab.switches import adapters, bench, scenarios
from vbnglab.switches.adapters.base import SwitchError
from vbnglab.vm import image, qemu

# switch, scenario, number, mode, kind of the ports that stand for NICs
FORWARD = (
    ("direct", "loopback", 2, "patch", None),
    ("testpmd", "v2v", 1, "patch", None),
    ("testpmd", "loopback", 1, "patch", "vhost"),
    ("testpmd", "bng", 1, "patch", None),
    ("testpmd", "chain", 1, "patch", None),  # with the gateway
    ("testpmd", "pairs", 4, "patch", None),
    ("basicfwd", "v2v", 1, "patch", None),
    ("basicfwd", "loopback", 2, "patch", None),
    ("basicfwd", "bng", 1, "patch", None),
    ("ovs-dpdk", "v2v", 1, "learn", None),
    ("ovs-dpdk", "loopback", 1, "patch", None),
    ("ovs-dpdk", "bng", 1, "patch", None),
    ("linux-bridge", "v2v", 1, "learn", None),
    ("linux-bridge", "loopback", 1, "patch", None),
    ("linux-bridge", "bng", 1, "learn", None),
    ("ip-forward", "v2v", 1, "learn", None),
    ("ip-forward", "loopback", 2, "learn", None),
    ("snabb", "v2v", 1, "patch", None),  # these where someone has brought them
    ("snabb", "loopback", 1, "patch", None),
    ("snabb", "bng", 1, "patch", None),
    ("fastclick", "v2v", 1, "patch", None),
    ("fastclick", "loopback", 1, "patch", "vhost"),
    ("fastclick", "loopback", 1, "patch", "memif"),
    ("fastclick", "bng", 1, "patch", None),
    ("bess", "p2p", 1, "patch", None),
    ("bess", "p2v", 1, "patch", None),
    ("bess", "v2v", 1, "patch", None),
    ("bess", "loopback", 1, "patch", None),
    ("bess", "loopback", 2, "patch", None),
    ("bess", "bng", 1, "patch", None),
    ("vpp", "v2v", 1, "learn", None),
    ("vpp", "v2v", 1, "patch", None),
    ("vpp", "loopback", 1, "patch", "vhost"),
    ("vpp", "loopback", 1, "patch", "memif"),
    ("vpp", "bng", 1, "patch", None),
    ("t4p4s", "v2v", 1, "learn", None),
    ("t4p4s", "bng", 1, "learn", None),
    ("vale", "v2v", 1, "learn", None),
    ("vale", "loopback", 2, "learn", None),
    ("vale", "bng", 1, "learn", None),
    ("ovs-kernel", "v2v", 1, "learn", None),
    ("ovs-kernel", "loopback", 1, "patch", None),
    ("ovs-kernel", "loopback", 2, "patch", None),
    ("ovs-kernel", "bng", 1, "learn", None),
)

SHORT = ("direct", "loopback"), ("testpmd", "loopback"), ("ovs-dpdk", "loopback"), ("linux-bridge", "bng")


def title(name, scenario, number, mode, kind):
    """The name of a test."""
    return f"{name}: {scenario}{f' of {number}' if scenario in scenarios.COUNTED else ''}, {mode}{f', {kind}' if kind else ''}"


class Late(adapters.ALL["testpmd"]):
    """A switch whose ports come up late, or never."""

    lead = 0.3


def test_nothing_is_sent_before_all_ports_are_up(own_network, vbng, folder, monkeypatch):
    """The tester waits for the ports, which is no part of what is measured, longer once they were late; a port that stays down is an
    error, not a loss."""
    installed(adapters.ALL["testpmd"])
    one = bench.make(Late, bench.Setup("v2v", 1), str(folder), cpus(), vbng)
    one.settle = limit(SETTLE)
    request = rig.Request("rplus", "both", rig.Size(64, 64), LOAD, SECONDS)
    try:
        for _ in range(TRIALS):
            row = bench.take(one, request)
            if not disturbed(row):
                break
        else:
            need.skip(f"the generator lacked the CPU to send {ENOUGH} packets in each of {TRIALS} trials")
        nothing(judge(one, row))
        assert row["unsent"] < LOAD * (SECONDS + one.settle + Late.lead / 2) - row["offered"], "the time before was measured, too"
        late = one.last["reports"]["tester"]["seconds"] - one.settle - SECONDS
        assert late > 0.9 * Late.lead, one.last["reports"]["tester"]["seconds"]
        monkeypatch.setattr(Late, "up", lambda self: one.patience > 1)
        row = bench.take(one, request)
        assert row["ok"] and one.lead == bench.PATIENCE * Late.lead, row
        monkeypatch.setattr(Late, "up", lambda self: False)
        row = bench.take(one, request)
        assert not row["ok"] and "a port is not up 1.2 s after the start of its peer" in row["error"], row
    finally:
        shutil.rmtree(one.switch.folder, ignore_errors=True)


class Stalled(adapters.ALL["testpmd"]):
    """A switch of whose first trial nothing is seen between its beginning and its end, as on a machine whose CPUs others have. Its ports have forgotten then."""

    looks = 2  # until then; the first one is at its start

    def check(self):
        super().check()
        self.looks -= 1
        if self.looks == 0:
            time.sleep(SECONDS + limit(SETTLE) + 1)

    def counters(self):
        return {port: dict.fromkeys(own, 0) if self.looks >= -1 else own for port, own in super().counters().items()}


def test_counters_that_were_missed(own_network, vbng, folder):
    """The counters of a port are gone with the tester. Those that were not read before are no account: the trial is taken again."""
    installed(adapters.ALL["testpmd"])
    one = bench.make(Stalled, bench.Setup("v2v"), str(folder), cpus(), vbng)
    bed.all_found_again(one)
    assert one.switch.looks < 0 and one.last["counters"]


@pytest.mark.parametrize("name, mode", [("testpmd", "patch"), ("linux-bridge", "learn")])
def test_a_tester_that_begins_late(own_network, vbng, folder, monkeypatch, name, mode):
    """Counters that were read before it has sent all are no account. Those of the kernel's interfaces outlive it, and are read when it has left."""
    installed(adapters.ALL[name])
    late = folder / "late"  # waits at its first start, and its ports are taken for open meanwhile
    late.write_text(f'''#!/bin/sh
case " $* " in *" --sample "*) [ -e "{folder}/begun" ] || {{ : >"{folder}/begun"; sleep {SECONDS + limit(SETTLE)}; }} ;; esac
exec {vbng} "$@"
''', encoding="utf-8")
    late.chmod(0o755)
    one = bench.make(adapters.ALL[name], bench.Setup("v2v", 1, mode), str(folder), cpus(), str(late))
    one.settle = limit(SETTLE)
    with monkeypatch.context() as at_once:
        at_once.setattr("vbnglab.lab.run.Running.sampling", lambda self: True)
        row = bench.take(one, rig.Request("rplus", "both", rig.Size(64, 64), LOAD, SECONDS))
    assert (one.last["counters"] is None) == one.switch.forgets, one.last
    if not one.switch.forgets and not disturbed(row):
        nothing(judge(one, row))
    bed.all_found_again(one)


@pytest.mark.long
def test_a_gateway_for_half_a_minute(own_network, vbng, folder):
    """As in a slow guest: nothing leaves it but what came, though a gateway announces itself to subscribers from 16 s after its start on, where it can."""
    installed(adapters.ALL["linux-bridge"])
    bed.all_found_again(bench.make(adapters.ALL["linux-bridge"], bench.Setup("bng", 1, "learn"), str(folder), cpus(), vbng), 24.0 / limit(1))


class Dying(adapters.ALL["testpmd"]):
    """A switch that is killed while the tester sends."""

    looks = 10  # before it is killed

    def check(self):
        self.looks -= 1
        if self.looks == 0:
            os.kill(self.pids[0], signal.SIGKILL)
            end = time.monotonic() + limit(10)
            while self.alive() and time.monotonic() < end:
                time.sleep(0.01)
        super().check()


def test_a_switch_that_dies_in_a_trial(own_network, vbng, folder):
    """The error has what became of both, the switch and the tester, whose report is kept."""
    installed(adapters.ALL["testpmd"])
    one = bench.make(Dying, bench.Setup("v2v", 1), str(folder), cpus(), vbng)
    try:
        row = bench.take(one, rig.Request("rplus", "both", rig.Size(64, 64), LOAD, SECONDS))
    finally:
        shutil.rmtree(one.switch.folder, ignore_errors=True)
    assert not row["ok"] and "testpmd has ended" in row["error"] and "SIGKILL" in row["error"], row
    report = one.last["reports"][scenarios.TESTER]
    assert report is not None, row
    made = sum(t["created"] for t in report["tasks"] if t["type"] == "gen")
    came = sum(t["in"] for t in report["tasks"] if t["type"] == "sink")
    assert made > 0 and f"the tester: made {made} packets, {came} came back; exit status 0" in row["error"], row


def test_what_guests_boot_is_made_before_the_switch_starts(vbng, folder, monkeypatch):
    """A build beside a switch that polls takes its CPU for minutes. One that fails is an error, and no trial."""
    installed(adapters.ALL["testpmd"])
    done = []

    class Started(adapters.ALL["testpmd"]):
        def start(self):
            done.append("switch")
            raise SwitchError("enough")

    monkeypatch.setattr(qemu, "choose_accelerator", lambda: ("tcg", ""))
    monkeypatch.setattr(image, "portable_vbng", lambda: done.append("program") or vbng)
    monkeypatch.setattr(image, "prepare", lambda _: done.append("image"))
    setup = bench.Setup("loopback", vnf_in="guest")
    one = bench.make(Started, setup, str(folder), cpus(), vbng)
    try:
        row = bench.take(one, rig.Request("rplus", "up", rig.Size(64, 64), LOAD, SECONDS))
    finally:
        shutil.rmtree(one.switch.folder, ignore_errors=True)
    assert row["error"] == "enough" and done == ["program", "image", "switch"], (row, done)

    def broken():
        raise image.ImageError("ninja failed")

    monkeypatch.setattr(image, "portable_vbng", broken)
    with pytest.raises(SwitchError, match="ninja failed"):
        bench.make(Started, setup, str(folder), cpus(), vbng)


@pytest.mark.parametrize("name, scenario, number, mode, kind", [
    pytest.param(*case, id=title(*case), marks=unless(case[:2] in SHORT)) for case in FORWARD
])
def test_forward(own_network, vbng, folder, name, scenario, number, mode, kind):
    """Both ways, or all ways, through a scenario."""
    installed(adapters.ALL[name])
    one = bench.make(adapters.ALL[name], bench.Setup(scenario, number, mode, phy_kind=kind), str(folder), cpus(), vbng)
    bed.all_found_again(one)
