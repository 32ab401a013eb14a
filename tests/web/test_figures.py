# SPDX-License-Identifier: BSD-3-Clause
"""What the live page says of figures: reasons of drops, rates from counters, a gateway that is not there."""

import json
import threading

import pytest

from tests.common.limits import limit
from tests.telemetry.controlplane import told
from vbnglab.lab import controlplane, reading
from vbnglab.lab.schema import Schema
from vbnglab.lab.sessions import Sample, Sessions
from vbnglab.lab.telemetry import Unreachable
from vbnglab.web import sessions as web_sessions
from vbnglab.web import state as web_state
from vbnglab.web import subscribers as web_subscribers


def test_a_reason_has_the_words_of_the_task_that_counts_it(vbng, run):
    document = json.loads(run(vbng, "--help", "json").stdout)
    known = Schema(document)
    for task in document["tasks"]:
        for d in task["drops"]:
            assert known.drop(task["type"], d["name"]) == (d["meaning"], d["remedy"])
        assert known.drop(task["type"], "link_full")[0] == known.common["link_full"]["meaning"]
    assert known.drop("qos", "too_big") != known.drop("route", "too_big")
    assert known.drop("qos", "spoofed") == ("", "")
    assert all(known.port("rx_missed"))


def made_up(at, **groups):
    r = reading.Reading.__new__(reading.Reading)
    r.at, r.groups = at, groups
    return r


def test_counters_by_time():
    before = made_up(10, core={"0": {"busy_cycles": 100, "idle_cycles": 300}})
    now = made_up(12, core={"0": {"busy_cycles": 200, "idle_cycles": 600}})
    r = reading.Rates(before, now)
    assert r.of("core", "0", "busy_cycles") == 50
    assert r.busy("0") == 0.25


def test_sessions_of_a_control_plane():
    """Rates and latencies of the interval; JSON has no infinity."""
    peer = "192.0.2.10 authentication"
    before, now = (Sample(told(*sample), at) for at, sample in ((10, (100, 5, 20, (10, 10, 10))), (12, (140, 7, 50, (12, 29, 30)))))
    found = json.loads(json.dumps(web_sessions.figures(Sessions(before, now)), allow_nan=False))
    assert found["kinds"][0] == {"kind": "ipoe", "up": 40, "begun_ps": 20, "ended_ps": 0}
    assert found["failures"] == [{"reason": "rejected", "ps": 1, "total": 7, "means": "is not let in", "remedy": "-"}]
    assert found["pools"] == [{"pool": "homes ipv4", "used": 50, "size": 100}]
    assert found["radius"] == [{"server": peer, "asked_ps": 21, "p50": 0.01, "p99": None, "beyond": ["p99"], "pending": 7, "timeouts": 3, "alive": False}]
    assert found["relays"][0] == {"server": "kea 192.0.2.67", "sent_ps": 20, "answers_ps": 20, "p50": 0.01, "p99": None, "beyond": ["p99"], "unanswered": 2,
                                  "deaths": 0, "alive": True}
    assert not found["relays"][1]["alive"] and found["relays"][1]["p50"] is None and found["relays"][1]["beyond"] == []
    assert found["store"] == [{"commits": 30, "p50": 0.01, "p99": None, "beyond": ["p99"]}]


def test_no_control_plane(folder, monkeypatch):
    """None is known, one does not answer; each is said."""
    monkeypatch.delenv("VBNG_CP_SOCKET", raising=False)
    monkeypatch.setattr(controlplane, "SERVICE", str(folder / "service"))
    assert web_sessions.ControlPlane(None, 1).get() == {"known": False, "error": None, "figures": None}
    away = web_sessions.ControlPlane(str(folder / "away"), 1).get()
    assert away["known"] and "away" in away["error"] and away["figures"] is None


def test_a_state_without_a_gateway():
    state = web_state.State("/nowhere", 0.1)
    thread = threading.Thread(target=state.run)
    thread.start()
    while state.snapshot()["error"] == "not read yet":
        pass
    state.stop.set()
    thread.join(limit(10))
    assert "/nowhere" in state.snapshot()["error"]
    assert state.snapshot()["age"] is None
    with pytest.raises(Unreachable):
        web_subscribers.Subscribers("/nowhere").page("id", 0, "")
