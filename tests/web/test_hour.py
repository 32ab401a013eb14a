# SPDX-License-Identifier: BSD-3-Clause
"""Curves of an hour and of single subscribers, and how these are distributed: without a gateway."""

import tracemalloc

import pytest

from vbnglab.lab.telemetry import Unreachable
from vbnglab.web import distribution, history, watch

KEYS = [f"{way}_{key}" for way in ("up", "down") for key in ("bytes", "packets", "bps", "sojourn_ns", "rate", "shaped_ppm", "drops", "drop_pps")] + ["error_ppm"]


def row(**more):
    return [more.get(key, 0) for key in KEYS]


def test_a_step_is_the_mean_or_the_greatest():
    mean, greatest = history.Curve(10), history.Curve(10, history.greatest)
    for at, value in ((100, 1), (103, 2), (109.9, 6), (110, 7), (135, 5), (136, 4)):
        mean.add(at, value)
        greatest.add(at, value)
    assert mean.values(139)[-5:] == [None, 3, 7, None, 4.5]
    assert greatest.values(139)[-5:] == [None, 6, 7, None, 5]
    assert len(mean.values(139)) == 360


def test_an_hour_is_kept_and_no_more():
    curve = history.Curve(10)
    for step in range(1000):
        curve.add(10 * step, step)
    assert curve.values(9999) == list(range(640, 1000))
    assert curve.values(9999 + 1800)[:181] == [*range(820, 1000), None]
    assert not curve.over(9999 + 3590) and curve.over(9999 + 3600)
    curve.add(90000, 5)  # nothing of what the ring held before shows
    assert curve.values(90000) == [None] * 359 + [5]


def test_a_history_has_bounds(monkeypatch):
    monkeypatch.setattr(history, "MOST", 100)
    kept = history.History(1)
    for n in range(150):
        kept.add(0, "drops", "task", f"reason{n}", n)
    assert len(kept.of(0, "drops")["task"]) == 100
    kept.add(1800, "drops", "task", "reason0", 1)
    kept.add(4000, "port", "cpe0", "rx_bps", 1)  # those that are over make room
    assert (len(kept.curves), list(kept.of(4000, "drops")["task"]), list(kept.of(4000, "port"))) == (2, ["reason0"], ["cpe0"])
    assert history.History(60).step == 90


@pytest.mark.long
def test_memory_is_what_the_document_says():
    """With all curves that there may be: 4 MiB for the gateway, 6 MiB for subscribers."""
    tracemalloc.start()
    try:
        kept = history.History(1)
        for n in range(2 * history.MOST):
            kept.add(0.5, "drops", f"task{n}", "reason", n)
        gateway = tracemalloc.get_traced_memory()[0]
        watched = [watch.Watched(f"cpe0 1.{n}") for n in range(watch.MOST)]
        for entry in watched:
            entry.add(1, dict.fromkeys(entry.hour, 1))
        subscribers = tracemalloc.get_traced_memory()[0] - gateway
    finally:
        tracemalloc.stop()
    assert gateway < 4 * 2**20 and subscribers < 6 * 2**20, (gateway, subscribers)


def test_who_is_at_the_limit():
    assert distribution.at_limit(10, 100, 1000000, 0)  # of a class, or of the subport
    assert distribution.at_limit(10, 100, 0, 1)
    assert distribution.at_limit(99, 100, 0, 0)
    assert not distribution.at_limit(98, 100, 0, 0)
    assert not distribution.at_limit(98, 0, 0, 0)


def test_a_distribution():
    rows = [("cpe0 1.1", row(up_bps=0, up_rate=100, down_rate=200)), ("", row()), ("cpe0 1.2", row(up_bps=100, up_rate=100, up_shaped_ppm=1000100,
            up_sojourn_ns=7e6, up_drop_pps=3, down_bps=50, down_rate=200, down_sojourn_ns=2e6)),
            ("cpe0 1.3", row(up_bps=5, up_rate=100, down_bps=200, down_rate=200, down_shaped_ppm=999000, down_sojourn_ns=9e6))]
    found = distribution.distribute(KEYS, rows)
    assert found["total"] == 3 and found["drops"]
    assert found["ways"]["up"] == {"shares": [1, 0, 1, 0, 0, 0, 0, 0, 1], "delays": [2, 0, 0, 1, 0, 0, 0, 0], "limited": 1, "dropping": 1}
    assert found["ways"]["down"] == {"shares": [1, 0, 0, 1, 0, 0, 0, 0, 1], "delays": [1, 0, 1, 1, 0, 0, 0, 0], "limited": 1, "dropping": 0}
    assert [(s["id"], s["name"], s["way"]) for s in found["limited"]] == [(4, "cpe0 1.3", "down"), (3, "cpe0 1.2", "up")]
    assert distribution.distribute(KEYS, [("x", row(up_bps=9, up_rate=9, up_shaped_ppm=1))] * 200)["limited"][99]["id"] == 100
    assert len(distribution.distribute(KEYS, [("x", row(up_bps=9, up_rate=9, up_shaped_ppm=1))] * 200)["limited"]) == 100


class FakeTelemetry:
    """A gateway of 1000 subscribers, whose rate the test sets."""

    there, names, bps = True, {}, 80

    def __init__(self, path):
        if not self.there:
            raise Unreachable("no vbng runs here")

    def close(self):
        pass

    def keys(self, group):
        return KEYS

    def ask(self, command):
        number = int(command.rsplit(",", 1)[1])
        return dict(zip(KEYS, self.row(number))) if self.names.get(number, "x") else None

    def must(self, command):
        number = int(command.rsplit(",", 1)[1])
        return [self.names.get(number, f"cpe0 1.{number}")]

    def labels(self, group, numbers):
        return [f"label {n}" for n in numbers]

    def top(self, group, keys, key):
        first = {"bps": 0, "drop_pps": 25, "sojourn_ns": 50, "error_ppm": 75}[key]
        return 1000, [(n, self.names.get(n, f"cpe0 1.{n}"), self.row(n)) for n in range(first, first + 25)]

    def row(self, number):
        return row(up_bps=self.bps, up_sojourn_ns=number, up_rate=1000, down_rate=1000, up_drop_pps=1)


@pytest.fixture
def clock(monkeypatch):
    """The time, which a test sets as at[0]."""
    at = [1000.0]
    monkeypatch.setattr(watch.time, "monotonic", lambda: at[0])
    monkeypatch.setattr(watch, "Telemetry", FakeTelemetry)
    monkeypatch.setattr(FakeTelemetry, "names", {})
    monkeypatch.setattr(FakeTelemetry, "bps", 80)
    monkeypatch.setattr(FakeTelemetry, "there", True)
    return at


def known(curve):
    return [v for v in curve if v is not None]


def test_who_stands_out_has_an_hour_before_anybody_asks(clock):
    w = watch.Watch("socket", 1)
    for _ in range(30):
        w.look()
        clock[0] += 10
    assert len(w.watched) == 100
    FakeTelemetry.bps = 90
    found = w.subscriber(60)
    assert known(found["hour"]["up_bps"]) == [80] * 30 + [90]
    assert known(found["hour"]["up_sojourn_ns"]) == [60] * 31
    assert (found["id"], found["name"], found["label"], found["figures"]["up_rate"], found["drops"]) == (61, "cpe0 1.60", "label 60", 1000, True)
    assert found["limited"] == {"up": True, "down": False}
    assert known(w.subscriber(500)["hour"]["up_bps"]) == [90]


def test_who_is_looked_at(clock):
    w = watch.Watch("socket", 1)
    for _ in range(150):
        found = w.subscriber(500)
        again = w.subscriber(500)  # another browser
        assert again["recent"] == found["recent"]
        clock[0] += 1
    assert len(found["recent"]["seconds"]) == len(found["recent"]["up_bps"]) == 121
    assert (found["recent"]["seconds"][0], found["recent"]["seconds"][-1]) == (-120, 0)
    clock[0] += 10
    w.look()  # it goes on when nobody looks
    assert len(w.watched) == 101 and w.watched[500].at == clock[0]
    clock[0] += 3600
    w.look()
    assert w.watched[500].at == clock[0] - 3600 and not w.watched[500].recent


def test_what_is_kept_has_bounds(clock):
    w = watch.Watch("socket", 1)
    for number in range(1000):
        w.subscriber(number)
    assert len(w.watched) == watch.MOST and 999 in w.watched and 0 not in w.watched
    clock[0] += 10
    w.look()
    assert sum(entry.at == clock[0] for entry in w.watched.values()) == 100 + watch.MOST_ASKED


def test_a_number_that_becomes_anothers(clock):
    w = watch.Watch("socket", 1)
    w.subscriber(7)
    clock[0] += 10
    FakeTelemetry.names = {7: "cpe1 2.2"}
    found = w.subscriber(7)
    assert found["name"] == "cpe1 2.2" and len(known(found["hour"]["up_bps"])) == 1
    FakeTelemetry.names = {7: ""}
    clock[0] += 10
    assert w.subscriber(7) is None and not w.watched


def test_a_gateway_that_goes_and_comes_back(clock):
    w = watch.Watch("socket", 1)
    w.subscriber(7)
    FakeTelemetry.there, w.telemetry = False, None
    clock[0] += 10
    with pytest.raises(Unreachable):
        w.subscriber(7)
    FakeTelemetry.there = True
    clock[0] += 10
    assert w.subscriber(7)["hour"]["up_bps"][-3:] == [80, None, 80]
