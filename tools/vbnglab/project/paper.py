# SPDX-License-Identifier: BSD-3-Clause
"""The paper's Fig. 10 and Table II beside what is projected for its pipeline, its layouts and its ports."""

import os
import tempfile

from ..experiments import paper
from ..lab import graph
from ..lab.places import CONFIGURATIONS
from ..sweep import layouts
from .machine import Ports
from .path import busiest, loads
from .projection import Question, project

MACHINE = "2x10x2"  # that of the paper's layouts: sockets x cores x threads
MINIMAL = "qos-minimal-fig8.cfg"
CORES = (1, 2, 4)  # of Table II's columns


def _busiest(rows, smt):
    """Cycles of the busiest physical core of a layout: two threads of one do smt times as much together as one alone, and none more than alone."""
    cores = {}
    for r in rows:
        cores.setdefault((r["socket"], r["physical_core"]), []).append(r["cycles"])
    return max(max(max(c), sum(c) / smt) if len(c) > 1 else c[0] for c in cores.values())


def fig10(costs, hz, smt, vbng):
    """Rows of {"layout", "what", "pps", "line", "paper"} of the layouts of the minimal pipeline; "pps" without the line's limit, "paper" in
    Mpps or None. hz: clock; smt: what two siblings do together, as a multiple of one alone."""
    config = os.path.join(CONFIGURATIONS, MINIMAL)
    rows = []
    with tempfile.TemporaryDirectory(prefix="vbng-project-") as folder:
        found = [x for x in layouts.generate(graph.load(config, vbng), layouts.cores_of(MACHINE)) if not x.refused and x.name != "rtc"]
        layouts.write(found, folder)
        for x in layouts.check(found, config, MACHINE, vbng, ["--share-cpus"]):
            if x.plan is not None:
                cores = busiest(x.plan, loads(x.plan, costs), hz)["cores"]
                rows.append({"layout": x.name, "what": x.what, "pps": hz / _busiest(cores, smt), "line": paper.line_pps(64), "paper": paper.FIG10.get(x.name)})
    return rows


def table2(plan, costs, cpu):
    """Rows of {"access", "core", "line", "pps", "paper"} for the paper's sizes between 4 ports of 10 Gbit/s; "pps": {cores: packets per
    second}, "line": what the ports carry, "paper": (configuration 1, configuration 2), Mpps."""
    ports = Ports(paper.PORTS, paper.LINE_RATE)
    rows = []
    for (access, core), (_, one, two) in paper.TABLE2.items():
        found = project(Question(plan, costs, cpu, ports, access, [n for n in CORES if n <= cpu.cores]))["rows"]
        rows.append({"access": access, "core": core, "line": ports.pps(access, core), "pps": {r["cores"]: r["pps"] for r in found}, "paper": (one, two)})
    return rows
