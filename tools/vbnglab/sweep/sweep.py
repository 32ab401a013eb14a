# SPDX-License-Identifier: BSD-3-Clause
"""A sweep: layouts x sizes of mbufs x numbers of mbufs, each several times, in an order in which a machine that
drifts hits all alike. A journal in the folder of the results holds every run that has ended, so the same command
goes on where it was killed.
"""

import hashlib
import os
import random
from dataclasses import dataclass, field

from ..lab import journal, run
from ..lab.failure import Failure
from . import outcome

JOURNAL = "journal.jsonl"
SAMPLE = 0.1  # seconds


class SweepError(Failure):
    """The sweep cannot be run as asked."""


@dataclass(frozen=True)
class Point:
    """A combination of levels; None stands for what the configuration says."""

    layout: str
    data_room: int | None = None
    mbufs: int | None = None

    @property
    def label(self):
        """The point in words."""
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

    @property
    def section(self):
        """Name in the progress."""
        return self.variant or "sweep"

    def points(self):
        """All combinations."""
        return [Point(x.name, room, n) for x in self.layouts for room in self.data_rooms for n in self.mbufs]

    def order(self, number):
        """The points of a round, in an order that differs between rounds and is the same whenever the sweep is run."""
        points = self.points()
        random.Random(number).shuffle(points)
        return points

    def settings_of(self, point):
        """Pairs for --set that make a point."""
        sizes = [("data_room", point.data_room), ("mbufs", point.mbufs)]
        return [*self.settings, *((f"pools.{self.pool}.{key}", value) for key, value in sizes if value is not None)]

    def identity(self):
        """What must be the same for results to belong together; rounds and points may be added."""
        with open(self.config, "rb") as f:
            text = f.read()
        return {"config": os.path.basename(self.config), "sha256": hashlib.sha256(text).hexdigest(), "seconds": self.seconds,
                "settings": [f"{k}={v}" for k, v in self.settings], "variant": self.variant, "pool": self.pool, "share_cpus": self.share_cpus,
                "layouts": {x.name: _layout_text(x.file) for x in self.layouts}}


def _layout_text(path):
    if not path:  # the layout is the configuration's own
        return ""
    with open(path, encoding="utf-8") as f:
        return "".join(line for line in f if not line.startswith("#"))


class Journal:
    """The runs that have ended. The first line of the file is the identity of the sweep."""

    def __init__(self, folder, identity):
        os.makedirs(folder, exist_ok=True)
        self._lines = journal.Lines(os.path.join(folder, JOURNAL))
        if not self._lines.entries:
            self._lines.add({"sweep": identity})
        self._check(identity)
        self.rows = self._lines.entries[1:]

    def _check(self, identity):
        """Raises SweepError where the file holds another sweep. Another choice of the same layouts is none."""
        if not self._lines.entries:
            return
        theirs = self._lines.entries[0].get("sweep", {})
        other = [k for k in identity if theirs.get(k) != identity[k]]
        if other == ["layouts"] and all(theirs["layouts"].get(n, t) == t for n, t in identity["layouts"].items()):
            return
        if other:
            raise SweepError(f"{self._lines.path}: holds another sweep (different: {', '.join(other)}); "
                             "choose another folder, or remove it")

    def add(self, row):
        """Record a run that has ended."""
        self._lines.add(row)
        self.rows.append(row)

    def has(self, number, point):
        """Tell whether a point was run in a round, undisturbed."""
        return any(_key(r) == (number, point.layout, point.data_room, point.mbufs) and not r.get("disturbed")
                   for r in self.rows)


def _key(row):
    return row["round"], row["layout"], row["data_room"], row["mbufs"]


def run_point(sweep, point, number):
    """Run a point. Returns its row, also of a run that died."""
    layout = next(x for x in sweep.layouts if x.name == point.layout)
    result = run.run(sweep.config, sweep.seconds, settings=sweep.settings_of(point), layout=layout.file or None, vbng=sweep.vbng,
                     share_cpus=sweep.share_cpus, extra=("--topology", sweep.topology), sample=SAMPLE)
    return {"round": number, "variant": sweep.variant, "layout": point.layout, "data_room": point.data_room,
            "mbufs": point.mbufs, **outcome.describe(result, layout.plan), "wall": round(result.wall, 2)}


def _all(sweep):
    return [(n, p) for n in range(1, sweep.rounds + 1) for p in sweep.order(n)]


def todo(sweep, done=None):
    """[(round, point)] that the journal does not hold yet, in the order to run them. A disturbed run is not done: the same
    command, given again, repeats it. done: the journal, if it was read before."""
    done = done or Journal(sweep.folder, sweep.identity())
    return [(n, p) for n, p in _all(sweep) if not done.has(n, p)]


def expect(sweep, progress):
    """Tell the progress how many runs there will be."""
    progress.expect(sweep.section, len(todo(sweep)), sweep.seconds)


def run_all(sweep, progress):
    """Run what the journal does not hold yet; the journal gets the row of each run when it ends. Returns the rows of the sweep's points."""
    done = Journal(sweep.folder, sweep.identity())
    for number, point in todo(sweep, done):
        row = run_point(sweep, point, number)
        done.add(row)
        what = f"{row['pps'] / 1e6:.2f} Mpps" if row["ok"] else f"died: {row['error']}"
        what += " (disturbed)" if row.get("disturbed") else ""
        progress.trial(sweep.section, sweep.seconds, row["wall"], f"{point.label}, round {number}: {what}")
    return rows_of(sweep, done.rows)


def rows_of(sweep, rows):
    """The rows of the sweep's points and rounds; of a run that was repeated because it was disturbed, the last."""
    wanted = {(n, p.layout, p.data_room, p.mbufs) for n, p in _all(sweep)}
    return list({_key(r): r for r in rows if _key(r) in wanted}.values())


def saved(sweep):
    """The rows that the journal holds."""
    return rows_of(sweep, Journal(sweep.folder, sweep.identity()).rows)
