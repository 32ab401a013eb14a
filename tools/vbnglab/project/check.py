# SPDX-License-Identifier: BSD-3-Clause
"""What two cores of this machine do, against the projection of the same layouts.

The tester of a configuration takes a core, so a layout of two cores has it beside some of the gateway. What is compared is the other core: its
busy cycles for each packet that arrived. A machine is faster or slower than the one that was measured, and from minute to minute, so each
round begins with the whole gateway on one core; what is checked is how it goes on from there: what a task costs elsewhere, and the ring, which
costs by the core-to-core latency of the round. The wires to the tester, which is on the other core, are rings, too.
"""

import os
import tempfile
from dataclasses import replace
from statistics import median

from ..lab import core_latency, graph, run
from ..lab.failure import Failure
from ..sweep import layouts
from .path import loads

ALONE = "one-core"
BAR = 0.10  # of the measured figure
UNDISTURBED = 0.97  # share of a round that the kernel must have given to each core
FEWEST = 3  # rounds
NEEDS = "{}: --check needs two cores, a tester in the configuration, and a graph that two cores can share"


def candidates(config, settings, vbng, folder):
    """[(Layout, number of its core without a task of the tester)], the one with everything on one core first. Raises Failure."""
    options = run.options(settings)
    if len(os.sched_getaffinity(0)) < 2:
        raise Failure(NEEDS.format(config))
    g = graph.load(config, vbng, options)
    cores = [c for c in layouts.cores_of("live") if c.socket == 0][:2]
    found = [x for x in layouts.generate(g, cores, share_tester=True) if not x.refused]
    layouts.write(found, folder)
    usable = []
    for x in layouts.check(found, config, "live", vbng, options):
        if x.plan is None:
            continue
        clean = [n for n, core in enumerate(layouts.tasks_of_cores(x.plan)) if not any(kind in graph.TESTER for kind in core.values())]
        if len(clean) == 1 and len(x.plan["cores"]) == 2:
            usable.append((x, clean[0]))
    usable.sort(key=lambda pair: pair[0].name != ALONE)
    if len(usable) < 2 or usable[0][0].name != ALONE:
        raise Failure(NEEDS.format(config))
    return usable


def cycles(report, core, plan):
    """Busy cycles of a core for each packet that came to the sinks, or None where something else had one of the CPUs."""
    cpu = {c["core"]: c["run_on"] for c in plan["cores"]}
    rows = {c["cpu"]: c for c in report["cores"]}
    if any(rows[n]["cpu_seconds"] < UNDISTURBED * report["seconds"] for n in cpu.values()):
        return None
    arrived = sum(t["in"] for t in run.tasks(report, "sink"))
    return rows[cpu[core]]["busy"] * rows[cpu[core]]["cpu_seconds"] * report["tsc_hz"] / arrived if arrived else None


def judge(rounds, project):
    """Rows of {"layout", "projected", "measured", "off"}. rounds: [(core-to-core latency in ns, {layout: cycles})]; project: a function of the latency:
    {layout: cycles}. Figures are those for the machine as it was: a layout's ratio to one-core, times the median of that."""
    base = median(r[ALONE] for _, r in rounds)
    rows = []
    for name in rounds[0][1]:
        if name != ALONE:
            measured = [r[name] / r[ALONE] for _, r in rounds]
            expected = [project(ns)[name] / project(ns)[ALONE] for ns, _ in rounds]
            rows.append({"layout": name, "projected": base * median(expected), "measured": base * median(measured),
                         "off": median(e / m for e, m in zip(expected, measured)) - 1})
    return base, rows


def _latency(usable, vbng):
    try:
        return core_latency.longest_ns({c["run_on"] for x, _ in usable for c in x.plan["cores"]}, vbng)
    except core_latency.Unknown as e:
        raise Failure(str(e)) from e


def _round(config, seconds, settings, usable, vbng):
    """(core-to-core latency in ns, {layout: cycles}), or None where a CPU was not its own, or the latency changed. Raises Failure where vbng fails."""
    found, before = {}, _latency(usable, vbng)
    for x, core in usable:
        done = run.run(config, seconds, settings, x.file, vbng=vbng)
        if not done.ok:
            raise Failure(f"{x.name}: {done.error}")
        found[x.name] = cycles(done.report, core, x.plan)
    return (before, found) if None not in found.values() and core_latency.alike((before, _latency(usable, vbng))) else None


def check(config, settings, costs, vbng, rounds, seconds):
    """(cycles of one core, rows as of judge(), undisturbed rounds). Raises Failure where vbng fails. Tasks are run one by one, as their costs
    were measured."""
    settings = [*(settings or ()), ("fuse", "false")]
    with tempfile.TemporaryDirectory(prefix="vbng-project-") as folder:
        usable = candidates(os.fspath(config), settings, vbng, folder)

        def project(ns):
            return {x.name: loads(x.plan, replace(costs, core_ns=ns), fused=False, wires=True)[core].cycles for x, core in usable}

        good = [r for r in (_round(config, seconds, settings, usable, vbng) for _ in range(rounds)) if r is not None]
        return (*judge(good, project), good) if len(good) >= FEWEST else (None, [], good)
