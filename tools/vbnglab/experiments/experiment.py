# SPDX-License-Identifier: BSD-3-Clause
"""What the experiments share: options, folders, sweeps in several variants, huge pages."""

import csv
import json
import os
import sys
from contextlib import nullcontext
from dataclasses import dataclass, field

from ..lab import graph, hugepages, machine
from ..lab.progress import Progress
from ..sweep import advise, layouts, output, sweep
from . import Refused


@dataclass
class Variant:
    """A kind of run that an experiment compares with others, beside layouts and mbufs."""

    name: str
    settings: list = field(default_factory=list)
    pages: str | None = None  # "2M", "1G"; None: 4 KiB


@dataclass
class Experiment:
    """An experiment under way."""

    name: str
    args: object
    folder: str
    vbng: str
    interrupted: bool = False
    refused: dict = field(default_factory=dict)  # {variant: why it could not run}
    missing: list = field(default_factory=list)  # phrases on what should be in the picture and has no figure

    @property
    def quick(self):
        """Whether it only has to work: with few points and short runs."""
        return self.args.quick

    @property
    def rounds(self):
        """Number of runs of each point."""
        return self.args.rounds or (1 if self.quick else 6)

    @property
    def seconds(self):
        """Length of a run in seconds."""
        return self.args.seconds or (0.25 if self.quick else 2.0)

    def pages(self):
        """The sizes of pages to run with: None for 4 KiB, and those that were asked for. Raises Refused."""
        wanted = (self.args.hugepages or "").split(",") if self.args.hugepages else []
        unknown = set(wanted) - set(hugepages.SIZES)
        if unknown:
            raise Refused(f"--hugepages {self.args.hugepages}: there are {' and '.join(hugepages.SIZES)}")
        if wanted and os.geteuid() != 0:
            raise Refused("--hugepages reserves huge pages, which needs root")
        return [None, *wanted]

    def layouts(self, config, names=None, settings=(), files=()):
        """The layouts of a configuration for this machine, checked. files: more layouts. names: those to keep; None: all."""
        options = [o for key, value in [*settings, *self.args.set] for o in ("--set", f"{key}={value}")]
        made = layouts.generate(graph.load(config, self.vbng, options), layouts.cores_of("live"), share_tester=True)
        found = [x for x in made + layouts.from_files(files) if names is None or x.name in names]
        layouts.write(found, os.path.join(self.folder, "layouts"))
        return layouts.check(found, config, "live", self.vbng, options)

    def sweep(self, config, found, variants, data_rooms=(None,), mbufs=(None,), settings=()):
        """Run all points in all variants, round by round. Returns all rows. Raises Refused where none can run."""
        ready = [x for x in found if not x.refused]
        if not ready:
            raise Refused("none of its layouts can run here: " + "; ".join(f"{x.name} {x.refused}" for x in found))
        sweeps = [sweep.Sweep(config, ready, os.path.join(self.folder, v.name), list(data_rooms), list(mbufs), 0, self.seconds,
                              [("memory", "hugepages" if v.pages else "no-huge"), *settings, *v.settings, *self.args.set],
                              variant=v.name, vbng=self.vbng) for v in variants]
        progress = Progress()
        try:
            for s in sweeps:
                s.rounds = self.rounds
                sweep.expect(s, progress)
            for number in range(1, self.rounds + 1):
                for v, s in zip(variants, sweeps):
                    s.rounds = number
                    self._round(v, s, progress)
        except KeyboardInterrupt:
            self.interrupted = True
            print("interrupted: the same command goes on from here", file=sys.stderr, flush=True)
        except sweep.SweepError as e:
            raise Refused(str(e)) from None
        finally:
            progress.end()
        rows = [r for s in sweeps for r in sweep.saved(s)]
        if not rows and self.refused:
            raise Refused("; ".join(f"{name}: {why}" for name, why in self.refused.items()))
        self.missing += advise.missing(rows)
        return rows

    def _round(self, variant, s, progress):
        """Run a round of a variant, unless its huge pages cannot be reserved."""
        if variant.name in self.refused:
            return
        try:
            with self._reserve(variant, s):
                sweep.run_all(s, progress)
        except hugepages.NoPages as e:
            self.refused[variant.name] = str(e)
            progress.close(s.section)

    def _reserve(self, variant, s):
        """A context with the huge pages that the largest point of a variant needs."""
        if not variant.pages or not sweep.todo(s):
            return nullcontext()
        plan = s.layouts[0].plan
        largest = max(output.mbuf_mib(plan, s.pool, p.data_room, p.mbufs) for p in s.points()) * output.MIB
        total = int(plan["memory"]["total_bytes"] - plan["memory"]["mbufs_bytes"] + largest)
        return hugepages.Reserved(variant.pages, hugepages.needed(total, variant.pages))

    def save(self, rows, **more):
        """Write the rows as CSV, and all as JSON, into the folder."""
        output.write_csv(os.path.join(self.folder, f"{self.name}.csv"), rows)
        with open(os.path.join(self.folder, f"{self.name}.json"), "w", encoding="utf-8") as f:
            json.dump({"kind": f"vbng experiment {self.name}", "command": self.args.command_line,
                       "machine": machine.describe(), "rows": rows, "advice": advise.advice(rows) if rows else [], **more},
                      f, indent=1)
            f.write("\n")


def write_table(path, header, rows):
    """Write a table as CSV."""
    with open(path, "w", newline="", encoding="utf-8") as f:
        writer = csv.writer(f)
        writer.writerow(header)
        writer.writerows(rows)


def table_lines(header, rows):
    """Lines of a table for a terminal."""
    cells = [[str(c) for c in row] for row in [header, *rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    return ["  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths))) for row in cells]
