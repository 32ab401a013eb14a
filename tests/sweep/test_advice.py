# SPDX-License-Identifier: BSD-3-Clause
"""What vbng-lab sweep says of made-up results whose answer is known: the best layout, how sure that is, and the limit."""

import random

from vbnglab.lab import run
from vbnglab.sweep import advise, outcome, output


def row(number, layout, pps, room=2176, **more):
    return {"round": number, "variant": None, "layout": layout, "data_room": room, "mbufs": None, "ok": True, "error": "",
            "pps": pps, "cycles": 500.0, "held": 0.0, "limit": "core", "why": "limited by core 1 (qos, 99 % busy)",
            "shared_cpus": False, "disturbed": False, **more}


def drifting(rounds, speeds, rooms=(2176,), noise=0.01):
    """Rows of layouts of these speeds on a machine that gets 40 % slower meanwhile: more than the layouts differ."""
    dice, rows = random.Random(4), []
    for n in range(1, rounds + 1):
        for room in rooms:
            machine = (1 - 0.4 * n / rounds) * (1 - 0.05 * rooms.index(room))
            rows += [row(n, name, pps * machine * dice.gauss(1, noise), room) for name, pps in speeds.items()]
    return rows


def test_difference():
    """6 % between two layouts is found although the machine drifts by 40 %; ranks over all runs would not see it."""
    rows = drifting(8, {"a": 5.00e6, "b": 4.70e6, "c": 3e6})
    c = advise.choose(rows, "layout")
    assert c.best == "a" and c.second.other == "b" and c.second.differs, c
    assert c.second.low > 1.02 and c.second.high < 1.11 and abs(c.second.ratio - 1.064) < 0.02, c.second
    assert c.equals == [], c
    said = advise.advice(rows)
    assert said[0].startswith("Layout: use a. It is 6") and "the next one" in said[0], said
    assert "limited by core 1 (qos, 99 % busy)" in said[1], said


def test_no_difference():
    """Layouts that are equally fast: none is named the better one."""
    rows = drifting(10, {"a": 5e6, "b": 5e6, "c": 3e6}, noise=0.02)
    c = advise.choose(rows, "layout")
    assert not c.second.differs and c.second.other in ("a", "b") and c.equals == [c.second.other], c
    assert "no difference found between" in advise.advice(rows)[0], advise.advice(rows)


def test_too_few():
    """Five rounds can prove nothing at 95 %, however large the difference."""
    rows = drifting(5, {"a": 5e6, "b": 2e6})
    assert not advise.choose(rows, "layout").second.differs
    assert "cannot prove it" in advise.advice(rows)[0]


def test_sizes():
    """Each factor by itself, over all levels of the other one."""
    rows = drifting(4, {"a": 5e6, "b": 4.5e6}, rooms=(2176, 8192))
    assert advise.choose(rows, "data_room").best == 2176
    assert advise.choose(rows, "layout").second.blocks == 8
    assert advise.choose(rows, "mbufs") is None
    chosen = advise.best_rows(rows, [advise.choose(rows, f) for f in ("layout", "data_room")])
    assert {(r["layout"], r["data_room"]) for r in chosen} == {("a", 2176)}


def test_dead_and_shared():
    """A dead run counts nowhere and is said; shared CPUs are never ranked; a layout only seen once is no reason to fail."""
    dead = {"round": 1, "variant": None, "layout": "x", "data_room": None, "mbufs": None, "ok": False,
            "error": "exit status 3: no memory"}
    rows = drifting(6, {"a": 5e6, "b": 4e6}) + [dead]
    assert advise.advice(rows)[-1] == "1 of 13 runs died and count nowhere."
    table = output.table(rows, [])
    assert any("died: exit status 3: no memory" in line for line in table), table
    assert advise.advice([dead]) == ["No run came through: see the reasons above."]
    shared = [row(1, "a", 5e6, shared_cpus=True), row(1, "b", 1e6, shared_cpus=True)]
    assert advise.usable(shared) == [] and "nothing is ranked" in advise.advice(shared)[0]
    assert not any("5.00" in line for line in output.table(shared, []))


def test_disturbed():
    """A run in which a core lost its CPU counts nowhere, and is said."""
    assert not limit(ring_full=3_000_000)["disturbed"] and limit(ring_full=3_000_000, cpu_seconds=1.9)["disturbed"]
    rows = drifting(6, {"a": 5e6, "b": 4e6}) + [row(7, "a", 1e6, disturbed=True), row(7, "b", 4e6)]
    assert advise.choose(rows, "layout").second.blocks == 6
    assert "1 of 14 runs were disturbed" in advise.advice(rows)[-1], advise.advice(rows)
    alone = [row(1, "a", 1e6, disturbed=True)]
    assert advise.advice(alone) == [advise.ALL_DISTURBED] and "disturbed" in output.table(alone, [])[1]
    dead = row(2, "a", 0, ok=False)
    assert advise.advice([*alone, dead]) == [advise.ALL_DISTURBED, "1 of 2 runs died and count nowhere."]


def test_tester_limits():
    """Where the tester was the limit the figure is called a lower bound."""
    rows = [{**r, "limit": "generator", "why": "limited by the generator gen"} for r in drifting(6, {"a": 5e6, "b": 4e6})]
    assert "lower bound" in advise.advice(rows)[-1]
    rows = [{**r, "limit": "offered"} for r in rows]
    assert "Offer more" in advise.advice(rows)[-1]


# --- what limits a run ---

def report(qos_busy=0.98, tester_busy=0.5, wire_full=0, ring_full=0, missed=0, queue_full=0, no_mbuf=0, in_sink=5_000_000, cpu_seconds=2.05):
    made = in_sink + ring_full + queue_full

    def task(name, kind, drops=None, stats=None, **more):
        return {"name": name, "type": kind, "in": 0, "created": 0, "sent": 0, "consumed": 0, "held": 0, "stalled": 0,
                "drops": drops or {}, "stats": stats or {}, **more}

    return {"seconds": 2.0, "tsc_hz": 2.6e9, "shared_cpus": False, "memory": "no-huge",
            "ports": [{"name": "cpe0", "rx_packets": made, "tx_packets": 0, "rx_missed": 0, "rx_no_mbuf": 0}],
            "cores": [{"cpu": 0, "busy": tester_busy, "cpu_seconds": 2.05}, {"cpu": 1, "busy": qos_busy, "cpu_seconds": cpu_seconds}],
            "tasks": [task("gen", "gen", {"link_full": wire_full}, {"missed": missed, "no_mbuf": no_mbuf}, created=made + wire_full),
                      task("classify", "classify", {"link_full": ring_full}),
                      task("qos", "qos", {"queue_full": queue_full}), task("sink", "sink", **{"in": in_sink})]}


PLAN_CORES = (["gen", "classify", "sink"], ["qos"])


def plan(cores):
    kinds = {"gen": "gen", "sink": "sink", "classify": "classify", "qos": "qos"}
    return {"cores": [{"instances": c} for c in cores],
            "instances": [{"instance": n, "task": n, "type": kinds[n]} for c in cores for n in c]}


def limit(cores=PLAN_CORES, **what):
    r = report(**what)
    return outcome.describe(run.Result(True, 0, "", r), plan(cores))


def test_limits():
    """Each kind of limit from the counters that tell of it."""
    got = limit(ring_full=3_000_000)
    assert got["limit"] == "core" and got["why"].startswith("limited by core 2 (qos, 100 % busy)"), got
    assert abs(got["cycles"] - 1.0 * 2 * 2.6e9 / 5e6) < 20 and abs(got["pps"] - 2.5e6) < 1, got
    # the generator's core is always busy when it offers too much: still the scheduler is the limit
    assert limit(ring_full=3_000_000, tester_busy=0.99)["limit"] == "core"
    assert limit(missed=4_000_000)["limit"] == "generator"
    assert limit()["limit"] == "offered"
    assert limit(queue_full=2_000_000)["limit"] == "shaping"
    assert limit(no_mbuf=2_000_000, queue_full=2_000_000)["limit"] == "mbufs"
    assert limit(in_sink=0, ring_full=1000)["limit"] == "nothing"
    # the scheduler beside the generator on the core that is full
    assert limit((["classify", "sink"], ["gen", "qos"]), ring_full=3_000_000)["limit"] == "tester"
    # all cores of the gateway have time left, the sink's has not
    assert limit((["sink"], ["gen", "classify", "qos"]), ring_full=3_000_000, qos_busy=0.5, tester_busy=0.99)["limit"] == "sink"
    assert limit(ring_full=3_000_000, qos_busy=0.5)["limit"] == "unclear"
    assert limit(wire_full=20_000, qos_busy=0.3)["limit"] == "offered"


def test_reason():
    """The words of a dead run that help."""
    text = "exit status 1\nx.cfg:3: error: no port 'y'\n1 error"
    assert outcome.reason(text) == "exit status 1: x.cfg:3: error: no port 'y'"
    assert outcome.reason("signal 9") == "signal 9"
