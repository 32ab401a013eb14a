# SPDX-License-Identifier: BSD-3-Clause
"""What the experiments share: options, folders, sweeps in several variants, huge pages."""

import argparse
import csv
import json
import os
import sys
from contextlib import nullcontext
from dataclasses import dataclass, field

from . import advise, graph, hugepages, layouts, machine, run, sweep, sweep_output
from .experiments import Refused

CONFIG = os.path.join(run.TOP, "cfg")


@dataclass
class Variant:
    """One of the things that an experiment compares, beside layouts and mbufs."""

    name: str
    settings: list = field(default_factory=list)
    pages: str | None = None  # "2M", "1G"; None: 4 KiB


@dataclass
class Lab:
    """One experiment under way."""

    name: str
    args: object
    folder: str
    vbng: str
    interrupted: bool = False
    refused: dict = field(default_factory=dict)  # {variant: why it could not run}

    @property
    def quick(self):
        """Only to see that it works: few points, short runs."""
        return self.args.quick

    @property
    def rounds(self):
        """Runs of each point."""
        return self.args.rounds or (1 if self.quick else 6)

    @property
    def seconds(self):
        """Length of a run."""
        return self.args.seconds or (0.25 if self.quick else 2.0)

    def say(self, text):
        """Progress, for people."""
        print(text, file=sys.stderr, flush=True)

    def pages(self):
        """The kinds of pages to run with: always 4 KiB, and those asked for."""
        wanted = (self.args.hugepages or "").split(",") if self.args.hugepages else []
        unknown = set(wanted) - set(hugepages.SIZES)
        if unknown:
            raise Refused(f"--hugepages {self.args.hugepages}: there are {' and '.join(hugepages.SIZES)}")
        if wanted and os.geteuid() != 0:
            raise Refused("--hugepages reserves huge pages, which needs root")
        return [None, *wanted]

    def layouts(self, config, names=None, settings=(), files=()):
        """The layouts of a configuration for this machine, checked; files: more of them. names: only these."""
        options = [o for key, value in [*settings, *self.args.set] for o in ("--set", f"{key}={value}")]
        made = layouts.generate(graph.load(config, self.vbng, options), layouts.cores_of("live"), share_tester=True)
        found = [x for x in made + layouts.from_files(files) if names is None or x.name in names]
        layouts.write(found, os.path.join(self.folder, "layouts"))
        return layouts.check(found, config, "live", self.vbng, options)

    def sweep(self, config, found, variants, data_rooms=(None,), mbufs=(None,), settings=()):
        """Run all points in all variants, round by round. Returns the rows of all."""
        ready = [x for x in found if not x.refused]
        if not ready:
            raise Refused("none of its layouts can run here: " + "; ".join(f"{x.name} {x.refused}" for x in found))
        sweeps = [sweep.Sweep(config, ready, os.path.join(self.folder, v.name), list(data_rooms), list(mbufs), 0, self.seconds,
                              [("memory", "hugepages" if v.pages else "no-huge"), *settings, *v.settings, *self.args.set],
                              variant=v.name, vbng=self.vbng) for v in variants]
        try:
            for number in range(1, self.rounds + 1):
                for v, s in zip(variants, sweeps):
                    s.rounds = number
                    self._round(v, s)
        except KeyboardInterrupt:
            self.interrupted = True
            self.say("interrupted: the same command goes on from here")
        except sweep.SweepError as e:
            raise Refused(str(e)) from None
        rows = [r for s in sweeps for r in sweep.saved(s)]
        if not rows and self.refused:
            raise Refused("; ".join(f"{name}: {why}" for name, why in self.refused.items()))
        return rows

    def _round(self, variant, s):
        """One round of a variant; without its pages the others go on."""
        if variant.name in self.refused:
            return
        try:
            with self._reserve(variant, s):
                sweep.run_all(s, self.say)
        except hugepages.NoPages as e:
            self.refused[variant.name] = str(e)

    def _reserve(self, variant, s):
        """Huge pages for the largest point of a variant."""
        if not variant.pages or not sweep.todo(s):
            return nullcontext()
        plan = s.layouts[0].plan
        largest = max(sweep_output.mbuf_mib(plan, s.pool, p.data_room, p.mbufs) for p in s.points()) * sweep_output.MIB
        total = int(plan["memory"]["total_bytes"] - plan["memory"]["mbufs_bytes"] + largest)
        return hugepages.Reserved(variant.pages, hugepages.needed(total, variant.pages))

    def save(self, rows, **more):
        """Rows as CSV, and all as JSON, into the folder."""
        sweep_output.write_csv(os.path.join(self.folder, f"{self.name}.csv"), rows)
        with open(os.path.join(self.folder, f"{self.name}.json"), "w", encoding="utf-8") as f:
            json.dump({"kind": f"vbng experiment {self.name}", "command": ["tools/experiment", *sys.argv[1:]],
                       "machine": machine.describe(), "rows": rows, "advice": advise.advice(rows) if rows else [], **more},
                      f, indent=1)
            f.write("\n")


def setting(text):
    """KEY=VALUE of the command line as a pair."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise argparse.ArgumentTypeError(f"{text!r}: expected TASK.PARAM=VALUE")
    return key, value


def write_table(path, header, rows):
    """A small table as CSV."""
    with open(path, "w", newline="", encoding="utf-8") as f:
        writer = csv.writer(f)
        writer.writerow(header)
        writer.writerows(rows)


def table_lines(header, rows):
    """The same for the terminal."""
    cells = [[str(c) for c in row] for row in [header, *rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    return ["  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths))) for row in cells]
