# SPDX-License-Identifier: BSD-3-Clause
"""vbng-lab switch compare: vbng and testpmd by turns at a switch."""

import json
import os
import signal
import time

import pytest

from tests.common import need
from tests.common.limits import limit
from tests.switch.bed import cpus, installed
from vbnglab.lab import core_latency
from vbnglab.measure import rig
from vbnglab.switches import adapters, bench, circle, compare, pmd
from vbnglab.switches.adapters.base import SwitchError

SIZES = [rig.Size(64, 64)]
SECONDS = 0.3  # of a trial
WHOLE = 3  # trials of a circle before one that loses packets
NONE_LOST = {"offered": 1000, "lost_at": {}}


def run(folder, vbng, name, scenario, directions, pairs=2):
    """The result of one switch."""
    options = compare.Options(SIZES, directions, pairs, limit(SECONDS), cpus(), vbng)
    return compare.measure([name], lambda adapter: bench.Setup(scenario, 1, adapter.modes[0]), options, str(folder), ["x"])


LONG = pytest.mark.long  # each takes a quarter of a minute, in which nothing else may flood a switch


@pytest.mark.parametrize("name, scenario", [
    ("linux-bridge", "loopback"), ("testpmd", "circle"), ("t4p4s", "v2v"), pytest.param("testpmd", "v2v", marks=LONG), pytest.param("linux-bridge", "circle", marks=LONG),
])  # fmt: skip
def test_both_take_turns(own_network, vbng, folder, name, scenario):
    """Each has a figure for each pair; the ratios are those of neighbours, and the table says what limits them."""
    need.program("dpdk-testpmd", "dpdk-dev")
    installed(adapters.ALL[name])
    result = run(folder, vbng, name, scenario, ["both"])
    (point,) = result["switches"][name]["points"]
    if point["moved"] == 2 * compare.AT_MOST:
        need.skip(point["error"])  # the machine's CPUs were moved in each pair
    pairs = len(point["ratios"])
    assert point["error"] == "" and len(point["vbng"]) == len(point["testpmd"]) == pairs and (pairs == 2 or point["moved"] > 2 * compare.AT_MOST - 2), point
    assert min(*point["vbng"], *point["testpmd"]) > 0 and point["ratios"] == [a / b for a, b in zip(point["vbng"], point["testpmd"])]
    assert point["remark"].startswith("limit: ") or compare.SHARED in point["remark"], point
    judged = {who: 0 if scenario == "circle" or (scenario, who) == ("v2v", "testpmd") else pairs for who in compare.PROGRAMS}
    assert {who: len(trials) for who, trials in point["lost_at"].items()} == judged, point["lost_at"]
    with open(os.path.join(folder, "result.json"), encoding="utf-8") as f:
        assert json.load(f) == json.loads(json.dumps(result))


@pytest.mark.parametrize("by_switch, in_ring, said", [(32, 0, "32 by the switch, to v1a"), (0, 7, "7 in the ring of v1b")])
def test_a_circle_that_loses_packets(folder, monkeypatch, vbng, by_switch, in_ring, said):
    """Each time the ports get longer to come up; what then goes round still is no figure, and where the others were lost is said."""
    need.program("dpdk-testpmd", "dpdk-dev")
    waits, stops = [], []

    class Vnf:
        running = property(lambda self: self)

        def ready(self):
            return True

        def fill(self):
            pass

        def received(self):
            return 0

        def inside(self):
            return circle.PACKETS

        def ports_report(self):
            return [{"name": name, "rx_missed": in_ring if name == "v1b" and len(waits) > WHOLE else 0, "rx_errors": 0} for name in ("v1a", "v1b")]

        def stop(self):
            stops.append(self)

    monkeypatch.setattr(circle.Circle, "_start", lambda *_: Vnf())
    monkeypatch.setattr(circle.Circle, "_join", lambda _, lead: waits.append(lead))
    monkeypatch.setattr(pmd, "steady", lambda *_: 5.0)
    for name in ("start", "check"):
        monkeypatch.setattr(adapters.ALL["testpmd"], name, lambda _: None)
    counters = [{"v1a": {"rx_drop": 0, "tx_drop": drop}, "v1b": {"rx_drop": 0, "tx_drop": 0}} for drop in (*[0] * WHOLE, *[by_switch] * len(bench.PATIENCE))]
    monkeypatch.setattr(adapters.ALL["testpmd"], "stats", lambda _: counters.pop(0))
    (point,) = run(folder, vbng, "testpmd", "circle", ["both"], pairs=2)["switches"]["testpmd"]["points"]
    assert point["vbng"] == point["testpmd"] == [5.0] and point["error"].endswith(f"lost were {said}"), point
    assert waits[-len(bench.PATIENCE):] == [n * circle.LEAD for n in bench.PATIENCE] and len(stops) == len(waits) and not counters


def test_a_table_that_knows_neither(vbng, folder, monkeypatch):
    """A switch that is told the addresses is told none here, as flowgen has one for both ends: the frames of both take the same way through it."""
    need.program("dpdk-testpmd", "dpdk-dev")
    tables = []

    def taken(switch, figure):
        tables.append(switch.files()["l2fwd.txt"])
        return figure

    monkeypatch.setattr(adapters.ALL["t4p4s"], "probe", lambda: ("x", ""))
    monkeypatch.setattr(bench, "take", lambda one, _: taken(one.switch, {"ok": True, "pps": 1.0, "marks": [], **NONE_LOST}))
    monkeypatch.setattr(pmd, "flowgen", lambda switch, *_: taken(switch, 1.0))
    (point,) = run(folder, vbng, "t4p4s", "v2v", ["both"])["switches"]["t4p4s"]["points"]
    assert point["error"] == "" and len(tables) == 4 and not any("MAC-FWD" in t for t in tables), (point, tables)


@pytest.mark.parametrize("came, vbng_has, testpmd_has, error", [
    ([0, 5, 0, 0, 7], [5], [7], ""),
    ([5, *[0] * compare.TRIES], [], [], f"nothing came back to vbng in {compare.TRIES} trials"),
], ids=["in the end", "never"])  # fmt: skip
def test_trials_of_which_nothing_came_back(vbng, folder, monkeypatch, came, vbng_has, testpmd_has, error):
    """As on a machine whose CPUs others have: each is taken again, and a figure is never 0."""
    need.program("dpdk-testpmd", "dpdk-dev")
    rows = iter(came)
    monkeypatch.setattr(bench, "take", lambda *_: {"ok": True, "pps": next(rows), "marks": [], **NONE_LOST})
    (point,) = run(folder, vbng, "testpmd", "loopback", ["up"], pairs=1)["switches"]["testpmd"]["points"]
    assert (point["vbng"], point["testpmd"]) == (vbng_has, testpmd_has) and error in point["error"] and bool(error) == bool(point["error"]), point
    assert next(rows, None) is None


NEAR, FAR, MOVED = (95.0, 100.0, 110.0, 105.0), (400.0, 420.0, 500.0, 410.0), (100.0, 100.0, 100.0, 400.0)  # ns at both ends of both trials


@pytest.mark.parametrize("trials, kept, error", [
    ([NEAR, NEAR], [102.5, 102.5], ""),
    ([MOVED, NEAR, MOVED, FAR], [102.5, 415.0], ""),
    ([MOVED, MOVED, NEAR, *[MOVED] * 3], [102.5], ""),
    ([MOVED] * 2 * compare.AT_MOST, [], f"changed in each of {2 * compare.AT_MOST} pairs"),
])  # fmt: skip
def test_pairs_of_which_core_to_core_latency_is_of_one_kind(vbng, folder, monkeypatch, trials, kept, error):
    """Only these count; others are taken again, for a time."""
    need.program("dpdk-testpmd", "dpdk-dev")
    if len(cpus()) < 2:
        need.skip("one CPU")
    seen = iter([ns for pair in trials for ns in pair])
    monkeypatch.setattr(core_latency, "longest_ns", lambda *_: next(seen))
    monkeypatch.setattr(circle.Circle, "pps", lambda self, *_: self.look() or self.look() or 5.0)
    (point,) = run(folder, vbng, "testpmd", "circle", ["both"])["switches"]["testpmd"]["points"]
    assert point["core_ns"] == kept and point["vbng"] == point["testpmd"] == [5.0] * len(kept) and next(seen, None) is None
    assert point["moved"] == trials.count(MOVED) and error in point["error"] and bool(error) == bool(point["error"]), point


@pytest.mark.parametrize("counts, patience, received", [([0, 0, 10, 10, 10, 10, 18], 30.0, 8), ([0, 10, 10], 0.0, None)], ids=["late", "never"])
def test_flowgen_waits_until_something_comes_back(folder, monkeypatch, counts, patience, received):
    """Its first packet begins the time that counts, and one more ends it."""
    seen, looks = iter(counts), []

    def look():
        looks.append(1)

    class Flowgen:
        def __init__(self, *_):
            self.ready = self.stop = lambda: True

        def received(self):
            return next(seen)

    monkeypatch.setattr(pmd, "Testpmd", Flowgen)
    monkeypatch.setattr(pmd, "START_SECONDS", patience)
    switch = adapters.ALL["direct"](str(folder))
    monkeypatch.setattr(switch, "start", lambda: None)
    began = time.monotonic()
    if received is None:
        with pytest.raises(SwitchError, match="nothing came back to flowgen"):
            pmd.flowgen(switch, [], 0, 64, 0.05, look)
    else:
        pps = pmd.flowgen(switch, [], 0, 64, 0.05, look)
        assert len(looks) == 2
        assert received / (time.monotonic() - began) < pps < received / 0.04
    assert next(seen, None) is None


@pytest.mark.parametrize("scenario, directions, word", [("bng", ["both"], "testpmd has no part in scenario bng"), ("v2v", ["up"], compare.NO_ONE_WAY[False]),
                                                        ("circle", ["up"], compare.NO_ONE_WAY[True])])
def test_no_figures(vbng, folder, scenario, directions, word):
    """The table says why."""
    need.program("dpdk-testpmd", "dpdk-dev")
    text = compare.text(run(folder, vbng, "testpmd", scenario, directions))
    assert word in text, text


def test_the_table():
    """Medians with their ranges; the range of the ratio is that of pairs, not of quotients of others."""
    point = compare.Point("64", "both", [1e6, 4e6, 2e6], [1e6, 2e6, 4e6], {"vbng": {"generator", "extra"}, "testpmd": {"disturbed"}}, core_ns=[None] * 3)
    assert point.remark(True, False) == "limit: generator; disturbed" and point.remark(True, True) == compare.SHARED
    assert compare.Point("64", "both").remark(False, False) == "limit: switch"
    point.lost_at = {"vbng": [NONE_LOST], "testpmd": [NONE_LOST, {"offered": 1000, "lost_at": {"in the ring of v1a": 80}}]}
    assert point.remark(True, False) == "limit: generator; disturbed; testpmd lost: 4 % in the ring of v1a"
    assert point.remark(True, True) == f"{compare.SHARED}; testpmd lost: 4 % in the ring of v1a"
    entry = {"mode": "patch", "role": "VNF", "points": [{**vars(point), "ratios": point.ratios, "remark": ""}], "why": ""}
    result = {"scenario": "loopback1", "switches": {"x": entry, "y": {**entry, "points": [], "why": "not here"}}}
    text = compare.text(result)
    assert "1.00 (0.50–2.00)" in text and "2 (1–4)" in text.replace(".000", "") and "not here" in text, text
    entry["points"][0]["core_ns"] = [410.0, 90.0, 100.0]
    (far,), (near,) = ([row for row in compare.rows(result) if ns in row] for ns in ("410 (410–410) ns", "95 (90–100) ns"))
    assert far[-2] == "1.00 (1.00–1.00)" and near[-2] == "1.25 (0.50–2.00)"


def test_a_testpmd_that_dies(folder):
    """One that lacks a port is not ready, though it runs; the Result of a dead one says how it ended."""
    need.program("dpdk-testpmd", "dpdk-dev")
    switch = adapters.ALL["testpmd"](str(folder))
    made = pmd.Testpmd("vnf1", [switch.add_port("a")], cpus()[0], str(folder))
    try:
        assert not made.ready() and made.alive(), made.output()
    finally:
        os.kill(made.pid, signal.SIGKILL)
        os.waitid(os.P_PID, made.pid, os.WEXITED | os.WNOWAIT)
        result = made.stop()
    assert not result.ok and "ended with status -9" in result.error and "net_virtio_user0" in result.error, result.error


def test_what_testpmd_has_lost(folder, monkeypatch):
    """It prints that when it forwards no more, with a line more where a port has received with errors; before, nothing is known."""
    switch = adapters.ALL["testpmd"](str(folder))
    made = object.__new__(pmd.Testpmd)
    made.ports, said = [switch.add_port("a"), switch.add_port("b")], []
    monkeypatch.setattr(made, "output", lambda: "".join(said))
    assert made.ports_report() == []
    said.append("""
  ---------------------- Forward statistics for port 0  ----------------------
  RX-packets: 52             RX-dropped: 3             RX-total: 55
  TX-packets: 50             TX-dropped: 2             TX-total: 52
  ----------------------------------------------------------------------------

  ---------------------- Forward statistics for port 1  ----------------------
  RX-packets: 9              RX-dropped: 0             RX-total: 9
  RX-error: 4
  RX-nombufs: 0
  TX-packets: 9              TX-dropped: 0             TX-total: 9
  ----------------------------------------------------------------------------

  +++++++++++++++ Accumulated forward statistics for all ports+++++++++++++++
  RX-packets: 61             RX-dropped: 3             RX-total: 64
""")
    assert made.lost() == [("a", 3, 0, 2), ("b", 0, 4, 0)]
    assert made.ports_report() == [{"name": "a", "rx_missed": 3, "rx_errors": 0}, {"name": "b", "rx_missed": 0, "rx_errors": 4}]
