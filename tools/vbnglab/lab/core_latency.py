# SPDX-License-Identifier: BSD-3-Clause
"""Core-to-core latency, as vbng --core-latency measures it: how long a word takes from one CPU to another and back. Where it changes while the machine
runs, because nobody has pinned its virtual CPUs, figures of programs on two of them are of two kinds."""

import json
import shlex

from . import run

ALIKE = 1.5  # times; from one part of a last-level cache to another it is three to five
TRIES = 3  # of vbng, which gives up where a CPU is away for a second


class Unknown(Exception):
    """Why it could not be measured."""


def longest_ns(cpus, vbng=None):
    """The longest of the medians between each two of these CPUs; None for a single one. Raises Unknown."""
    if len(set(cpus)) < 2:
        return None
    for _ in range(TRIES):
        status, out, said = run.query(["--core-latency=json"], vbng, cpus=set(cpus))
        if status == 0:
            return max(p["round_trip_ns"]["median"] for p in json.loads(out)["pairs"])
    raise Unknown(f"{shlex.join([run.binary(vbng), '--core-latency=json'])}: {said.strip()}")


def alike(values):
    """Whether these are of one kind."""
    return max(values) < ALIKE * min(values)


def kinds(values):
    """Their places in the list, by kind: those of the shortest first."""
    out = []
    for i in sorted(range(len(values)), key=values.__getitem__):
        if out and alike((values[out[-1][-1]], values[i])):
            out[-1].append(i)
        else:
            out.append([i])
    return [sorted(kind) for kind in out]
