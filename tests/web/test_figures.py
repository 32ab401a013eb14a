# SPDX-License-Identifier: BSD-3-Clause
"""What the live page says of figures: reasons of drops, rates from counters, a gateway that is not there."""

import json
import threading

import pytest

from tests.common.limits import limit
from vbnglab.lab import reading
from vbnglab.lab.schema import Schema
from vbnglab.lab.telemetry import Unreachable
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
