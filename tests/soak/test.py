#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A short soak; and the soak must find what is wrong: a leak in a gateway that runs, and lies in figures that were right.

usage: test.py VBNG
"""

import copy
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(TOP, "tools"), os.path.join(TOP, "tests", "pcap")]

import checks  # noqa: E402
from tally import Tally  # noqa: E402


def soak(*arguments):
    done = subprocess.run([sys.executable, os.path.join(HERE, "run.py"), *arguments], capture_output=True, text=True, timeout=240)
    return done.returncode, done.stdout + done.stderr


def short(binary, folder):
    """Five seconds of all changes."""
    status, said = soak(binary, "--seconds", "5", "--output", folder)
    if status != 0:
        return [f"exit status {status}: {said}"]
    with open(os.path.join(folder, "soak.json"), encoding="utf-8") as f:
        seen = json.load(f)
    faults = [f"{what}: never done" for what, n in seen["done"].items() if n == 0]
    return faults + [f"no {name}" for name in ("soak.png",) if not os.path.getsize(os.path.join(folder, name))]


def leaks(binary):
    """Connections that are left open."""
    status, said = soak(binary, "--seconds", "4", "--leak")
    return [] if status == 1 and "files has grown" in said else [f"exit status {status}: {said}"]


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


def lies(seen):
    """Each lie must be told apart from what was right; where nothing is a lie nothing is told."""
    def each(rows, key, value):
        for i, row in enumerate(rows):
            row[key] = value(i, row[key])

    def open_packets(rows, rests):
        for row in rows[100:]:
            row["ledger"]["under_way"] = -65

    cases = {  # what is told: the lie
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
    rows, rests = long_run(seen)
    wrong = [f"told of what is right: {fault}" for fault in told(rows, rests)]
    for what, lie in cases.items():
        rows, rests = long_run(seen)
        lie(rows, rests)
        found = told(rows, rests)
        if not any(what in fault for fault in found):
            wrong.append(f"not told: {what}; but {found}")
    stalled = "vbng: warning: core 1 (CPU 3: classify) has stalled: no round for 2.0 s; it runs, and does not come back from a task"
    return wrong + ([] if told(*long_run(seen), [(1.0, stalled)]) else ["a line of the watchdog is not told"])


def main():
    binary, tally = os.path.abspath(sys.argv[1]), Tally()
    with tempfile.TemporaryDirectory(prefix="vbng-soak-") as folder:
        tally.result("five seconds", short(binary, folder))
        tally.result("a leak is found", leaks(binary))
        try:
            with open(os.path.join(folder, "soak.json"), encoding="utf-8") as f:
                tally.result("lies are found", lies(json.load(f)))
        except OSError as e:
            tally.fail("lies are found", [str(e)])
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())
