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
        ran = one.last["reports"]["tester"]["seconds"]
        assert row["intended"] <= LOAD * (ran - Late.lead) + 1, "the time before was measured, too"
        assert ran - one.settle - SECONDS > 0.9 * Late.lead, ran
        for up in (lambda self: one.patience > 1, lambda self: one.patience > 1 or time.sleep(2 * Late.lead) is None):  # not up; says so too late
            one.patience = 1
            monkeypatch.setattr(Late, "up", up)
            row = bench.take(one, request)
            assert row["ok"] and one.lead == bench.PATIENCE[1] * Late.lead, row
        monkeypatch.setattr(Late, "up", lambda self: False)
        row = bench.take(one, request)
        assert not row["ok"] and "a port is not up 4.8 s after the start of its peer" in row["error"], row
    finally:
        shutil.rmtree(one.switch.folder, ignore_errors=True)


def once(one):
    """A trial whose counters must have been read, and that is judged where the generator had its CPU."""
    one.settle = limit(SETTLE)
    try:
        row = bench.take(one, rig.Request("rplus", "both", rig.Size(64, 64), LOAD, SECONDS))
    finally:
        shutil.rmtree(one.switch.folder, ignore_errors=True)
    assert row["ok"] and one.last["counters"] is not None, row
    if not disturbed(row):
        nothing(judge(one, row))


class Slow(adapters.ALL["testpmd"]):
    """A switch whose counters take longer to be read than the tester sends and is silent."""

    def counters(self):
        time.sleep(SECONDS + limit(SETTLE) + 1)
        return super().counters()


def test_counters_that_take_long(own_network, vbng, folder):
    """The counters of a port are gone with the tester, which therefore stays until they have been read."""
    installed(adapters.ALL["testpmd"])
    once(bench.make(Slow, bench.Setup("v2v"), str(folder), cpus(), vbng))


@pytest.mark.parametrize("name, mode", [("testpmd", "patch"), ("linux-bridge", "learn")])
def test_a_tester_that_begins_late(own_network, vbng, folder, monkeypatch, name, mode):
    """Its counters are read when it has sent all, and not before; those of the kernel's interfaces outlive it, and are read when it has left."""
    installed(adapters.ALL[name])
    late = folder / "late"  # waits at its start, and its ports are taken for open meanwhile
    late.write_text(f'''#!/bin/sh
case " $* " in *" --sample "*) sleep {SECONDS + limit(SETTLE)} ;; esac
exec {vbng} "$@"
''', encoding="utf-8")
    late.chmod(0o755)
    one = bench.make(adapters.ALL[name], bench.Setup("v2v", 1, mode), str(folder), cpus(), str(late))
    monkeypatch.setattr("vbnglab.lab.run.Running.sampling", lambda self: True)
    once(one)


class Scripted:
    """A tester whose generator sends until it is told to end."""

    def __init__(self):
        self.on, self.seconds, self.created = True, 0.0, 0

    def ask(self, request):
        if request["cmd"] == "show-streams":
            return {"tasks": [{"name": "gen", "measured": {"seconds": self.seconds, "streams": [{"on": self.on}]}}]}
        return {"ledger": self.ledger()}

    def ledger(self):
        return {"created": self.created, "sent": self.created, "received": 0}


def test_what_silence_is():
    """Not before the first packet, nor while a stream is on, nor just after something has moved; and it has not lasted where something moved later."""
    tester = Scripted()
    silence = bench.Silence(tester, ["gen"], 0.01)

    def reached():
        time.sleep(0.02)
        return silence.reached()

    for tester.on, tester.seconds in ((False, 0.0), (True, 0.5)):
        assert [reached(), reached()] == [False, False], tester.on
    tester.on, tester.created = False, 1
    assert [reached(), reached()] == [False, True]
    assert silence.lasted({"ledger": tester.ledger()}) and not silence.lasted(None)
    tester.created += 1
    assert not silence.lasted({"ledger": tester.ledger()})


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
