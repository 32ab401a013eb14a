# SPDX-License-Identifier: BSD-3-Clause
"""A sweep: layouts x sizes of mbufs x numbers of mbufs, each several times, in an order in which a machine that
drifts hits all alike. A journal in the folder of the results holds every run that has ended, so the same command
goes on where it was killed.
"""

import hashlib
import json
import os
import random
import time
from dataclasses import dataclass, field

from . import outcome, run

JOURNAL = "journal.jsonl"
SAMPLE = 0.1  # seconds


class SweepError(Exception):
    """The sweep cannot be run as asked."""


@dataclass(frozen=True)
class Point:
    """One combination. None: what the configuration says."""

    layout: str
    data_room: int | None = None
    mbufs: int | None = None

    @property
    def label(self):
        """For people."""
        parts = [self.layout]
        parts += [f"{self.data_room} B"] if self.data_room else []
        parts += [f"{self.mbufs} mbufs"] if self.mbufs else []
        return ", ".join(parts)


@dataclass
class Sweep:
    """What to run, how often, and where the results go."""

    config: str
    layouts: list  # those that can run, checked
    folder: str
    data_rooms: list = field(default_factory=lambda: [None])
    mbufs: list = field(default_factory=lambda: [None])
    rounds: int = 5
    seconds: float = 2.0
    settings: list = field(default_factory=list)  # (key, value) pairs for --set
    pool: str = "default"
    share_cpus: bool = False
    topology: str = "live"
    variant: str | None = None  # name, where an experiment has several sweeps that belong together
    vbng: str | None = None

    def points(self):
        """All combinations."""
        return [Point(x.name, room, n) for x in self.layouts for room in self.data_rooms for n in self.mbufs]

    def order(self, number):
        """The points of a round: each round in another order, the same one in every run of this sweep."""
        points = self.points()
        random.Random(number).shuffle(points)
        return points

    def settings_of(self, point):
        """All --set of a point."""
        sizes = [("data_room", point.data_room), ("mbufs", point.mbufs)]
        return [*self.settings, *((f"pools.{self.pool}.{key}", value) for key, value in sizes if value is not None)]

    def identity(self):
        """What must be the same for results to belong together. More rounds or points may be added."""
        with open(self.config, "rb") as f:
            text = f.read()
        return {"config": os.path.basename(self.config), "sha256": hashlib.sha256(text).hexdigest(), "seconds": self.seconds,
                "settings": [f"{k}={v}" for k, v in self.settings], "variant": self.variant, "pool": self.pool, "share_cpus": self.share_cpus,
                "layouts": {x.name: _layout_text(x.file) for x in self.layouts}}


def _layout_text(path):
    if not path:  # the configuration's own
        return ""
    with open(path, encoding="utf-8") as f:
        return "".join(line for line in f if not line.startswith("#"))


class Journal:
    """The runs that have ended, one JSON object a line; the first line is the sweep's identity."""

    def __init__(self, folder, identity):
        self.path = os.path.join(folder, JOURNAL)
        os.makedirs(folder, exist_ok=True)
        self.rows = self._read(identity)
        if not os.path.exists(self.path) or not os.path.getsize(self.path):
            self._append({"sweep": identity})

    def _read(self, identity):
        try:
            with open(self.path, "r+", encoding="utf-8") as f:
                text = f.read()
                whole = text[:text.rfind("\n") + 1]
                if whole != text:  # killed while writing a line
                    f.truncate(len(whole.encode()))
        except FileNotFoundError:
            return []
        lines = [json.loads(line) for line in whole.splitlines()]
        if not lines:
            return []
        theirs = lines[0].get("sweep", {})
        other = [k for k in identity if theirs.get(k) != identity[k]]
        if other == ["layouts"] and all(theirs["layouts"].get(n, t) == t for n, t in identity["layouts"].items()):
            other = []  # another choice of the same layouts
        if other:
            raise SweepError(f"{self.path}: holds another sweep (different: {', '.join(other)}); "
                             "choose another folder, or remove it")
        return lines[1:]

    def _append(self, record):
        with open(self.path, "a", encoding="utf-8") as f:
            f.write(json.dumps(record, separators=(",", ":")) + "\n")
            f.flush()
            os.fsync(f.fileno())

    def add(self, row):
        """Keep a row for ever."""
        self._append(row)
        self.rows.append(row)

    def has(self, number, point):
        """Has this point been run in this round, undisturbed?"""
        return any(_key(r) == (number, point.layout, point.data_room, point.mbufs) and not r.get("disturbed")
                   for r in self.rows)


def _key(row):
    return row["round"], row["layout"], row["data_room"], row["mbufs"]


def run_point(sweep, point, number):
    """One run of a point: its row, also when it died."""
    layout = next(x for x in sweep.layouts if x.name == point.layout)
    result = run.run(sweep.config, sweep.seconds, settings=sweep.settings_of(point), layout=layout.file or None, vbng=sweep.vbng,
                     share_cpus=sweep.share_cpus, extra=("--topology", sweep.topology), sample=SAMPLE)
    return {"round": number, "variant": sweep.variant, "layout": point.layout, "data_room": point.data_room,
            "mbufs": point.mbufs, **outcome.describe(result, layout.plan), "wall": round(result.wall, 2)}


def _all(sweep):
    return [(n, p) for n in range(1, sweep.rounds + 1) for p in sweep.order(n)]


def todo(sweep, journal=None):
    """[(round, point)] that the journal does not hold yet, in the order to run them. A disturbed run is not done: the same
    command, given again, repeats it."""
    journal = journal or Journal(sweep.folder, sweep.identity())
    return [(n, p) for n, p in _all(sweep) if not journal.has(n, p)]


def run_all(sweep, say=lambda text: None):
    """Run what the journal does not hold yet. Returns all rows of the sweep's points; say: told of each run. What was
    interrupted has the rows of all runs that ended in the journal."""
    journal = Journal(sweep.folder, sweep.identity())
    left_over, began = todo(sweep, journal), time.monotonic()
    for i, (number, point) in enumerate(left_over):
        row = run_point(sweep, point, number)
        journal.add(row)
        left = (time.monotonic() - began) / (i + 1) * (len(left_over) - i - 1)
        name = f"{sweep.variant}, " if sweep.variant else ""
        what = f"{row['pps'] / 1e6:.2f} Mpps" if row["ok"] else f"died: {row['error']}"
        what += " (disturbed)" if row.get("disturbed") else ""
        say(f"[{i + 1}/{len(left_over)}, {left:.0f} s left] {name}{point.label}: {what}")
    return rows_of(sweep, journal.rows)


def rows_of(sweep, rows):
    """The rows that belong to the sweep's points and rounds; of a disturbed run that was repeated, the last one."""
    wanted = {(n, p.layout, p.data_room, p.mbufs) for n, p in _all(sweep)}
    return list({_key(r): r for r in rows if _key(r) in wanted}.values())


def saved(sweep):
    """The rows that the journal holds."""
    return rows_of(sweep, Journal(sweep.folder, sweep.identity()).rows)
