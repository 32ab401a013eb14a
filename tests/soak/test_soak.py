# SPDX-License-Identifier: BSD-3-Clause
"""A short soak; and the soak must find what is wrong: a leak in a gateway that runs, and lies in figures that were right."""

import copy
import json
import os
import subprocess
import sys

import pytest

from tests.common.limits import limit
from tests.common.verdict import nothing
from tests.soak import checks

HERE = os.path.dirname(os.path.abspath(__file__))


pytestmark = pytest.mark.limit(300)


def soak(*arguments):
    done = subprocess.run([sys.executable, os.path.join(HERE, "run.py"), *arguments], capture_output=True, text=True, timeout=limit(240))
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def seen(vbng, module_folder):
    """What five seconds of all changes have left."""
    status, said = soak(vbng, "--seconds", "5", "--output", str(module_folder))
    assert status == 0, said
    with open(module_folder / "soak.json", encoding="utf-8") as f:
        return json.load(f)


def test_five_seconds(seen, module_folder):
    nothing([f"{what}: never done" for what, n in seen["done"].items() if n == 0])
    assert (module_folder / "soak.png").stat().st_size > 0


def test_a_leak_is_found(vbng):
    """Connections that are left open."""
    status, said = soak(vbng, "--seconds", "4", "--leak")
    assert status == 1 and "files has grown" in said, said


def long_run(seen):
    """Figures of five minutes, all of them like the last of a short run: calm, and packets arrive."""
    row, rest = seen["rows"][-1] | {"idle": 0.9, "arrived": 1000, "p50": 3e5, "p99": 9e5}, seen["at_rest"][-1]
    rows = [copy.deepcopy(row) | {"at": float(i)} for i in range(300)]
    for one in rows:
        one["ledger"]["under_way"] = 0
    return rows, [copy.deepcopy(rest) | {"at": 30.0 * i} for i in range(10)]


def told(rows, rests, said=()):
    return (checks.ledger(rows) + checks.rests(rests) + checks.errors(rows) + checks.flow(rows) + checks.drift(rows, 60)[0]
            + checks.lines(said))  # fmt: skip


def each(rows, key, value):
    for i, row in enumerate(rows):
        row[key] = value(i, row[key])


def open_packets(rows, rests):
    for row in rows[100:]:
        row["ledger"]["under_way"] = -65


def test_nothing_is_told_of_what_is_right(seen):
    nothing(told(*long_run(seen)))


LIES = {  # what is told: the lie
    "65 packets unexplained": open_packets,
    "at rest, 120 s: 1 packets unexplained": lambda rows, rests: rests[4]["ledger"].update(under_way=1),
    "at rest, 120 s: 3 packets still held": lambda rows, rests: rests[4]["ledger"].update(held=3),
    "at rest, 270 s: 1 mbufs in use": lambda rows, rests: rests[9].update(mbufs=1),
    "heap has grown": lambda rows, rests: each(rests, "heap", lambda i, was: was + 128 * i),
    "anon_kib has grown": lambda rows, rests: each(rests, "anon_kib", lambda i, was: was + 120 * i),
    "threads has grown": lambda rows, rests: each(rests, "threads", lambda i, was: was + i // 9),
    "rx_errors: 1": lambda rows, rests: rows[-1].update(rx_errors=1),
    "no packet has arrived": lambda rows, rests: each(rows, "arrived", lambda i, was: was if i < 60 else 0),
    "p50 of latency is": lambda rows, rests: each(rows, "p50", lambda i, was: was * (1 + i / 60)),
    "p99 of latency is": lambda rows, rests: each(rows, "p99", lambda i, was: was * (1 + i / 100)),
}


@pytest.mark.parametrize("what", LIES)
def test_a_lie_is_found(seen, what):
    rows, rests = long_run(seen)
    LIES[what](rows, rests)
    found = told(rows, rests)
    assert any(what in fault for fault in found), found


def test_a_line_of_the_watchdog_is_found(seen):
    stalled = "vbng: warning: core 1 (CPU 3: classify) has stalled: no round for 2.0 s; it runs, and does not come back from a task"
    assert told(*long_run(seen), [(1.0, stalled)])
