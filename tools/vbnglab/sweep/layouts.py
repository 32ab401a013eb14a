# SPDX-License-Identifier: BSD-3-Clause
"""Layouts of a graph: which tasks share a core, for the cores that a machine has.

The gateway takes physical cores of one socket; core 0 of the socket, where the operating system is busiest, comes
last. The tester's tasks (gen, sink) have cores of their own, on another socket where there is one. A layout that
the machine cannot hold is there, too, with the reason: nothing is left out silently.
"""

import json
import os
from dataclasses import dataclass, field

from ..lab import graph, run, topology

WORKERS_MOST = 8  # more workers than the paper's have no use in a sweep; write a layout file for them

FIG8 = "the paper's Fig. 8"
SMT = "the paper's Fig. 9"
REST = "*"  # in a layout: the tasks that it does not name, the slow path on the first core alone


@dataclass
class Slot:
    """Tasks that run together on one hardware thread, or as workers on each of several."""

    tasks: list
    threads: int = 1  # 0: all cores that are left
    sibling: bool = False  # whether the tasks run on the SMT sibling of the slot before


@dataclass
class Layout:
    """A layout. refused: why it cannot run here; "" if it can."""

    name: str
    what: str
    entries: list = field(default_factory=list)  # (cores as a layout writes them, tasks)
    refused: str = ""
    shared: bool = False  # whether the tester shares a core with the gateway
    file: str = ""
    plan: dict = None  # set by check(): the plan of vbng --plan=json

    def text(self):
        """Text of a file for vbng --layout."""
        rows = ",\n".join(f'    {{ core = "{cores}"; tasks = [{", ".join(f"{chr(34)}{t}{chr(34)}" for t in tasks)}]; }}'
                          for cores, tasks in self.entries)
        return f"# {self.name}: {self.what}\nlayout = (\n{rows}\n);\n"


# --- which tasks go together ---

def _tasks(stages):
    return [t for s in stages for t in s.tasks]


def _linked(g, a, b):
    return any(n in g.tasks[t].to for t in a.tasks for n in b.tasks)


def _neighbours(g, stages, first=None, second=None):
    """{number: number} of neighbouring stages of these kinds, the first of which leads to the second; no stage is in two
    pairs."""
    pairs = {}
    for i, a in enumerate(stages):
        for k, b in enumerate(stages):
            fits = i != k and first in (None, a.kind) and second in (None, b.kind) and "slow" not in (a.kind, b.kind)
            taken = {*pairs, *pairs.values()}
            if fits and not {i, k} & taken and _linked(g, a, b):
                pairs[i] = k
    return pairs


def _pairwise(g, stages, sibling, first=None, second=None):
    """Slots of the pipeline with such neighbours on one core, as SMT siblings or as one thread; None if there are no such neighbours."""
    pairs, slots = _neighbours(g, stages, first, second), []
    for i, s in enumerate(stages):
        if i in pairs.values():
            continue
        slots.append(Slot(list(s.tasks)))
        if i in pairs:
            partner = stages[pairs[i]].tasks
            if sibling:
                slots.append(Slot(list(partner), sibling=True))
            else:
                slots[-1].tasks += partner
    return slots if pairs else None


def directions(g):
    """The tasks that each receiving stage reaches, a list for each, the slow path with the first; None where that does not part
    the graph."""
    parts, seen = [], set(g.slow())
    for stage in (s for s in g.stages() if s.kind == "receive"):
        reach = {n for t in stage.tasks for n in g.reachable(t)} - seen
        parts.append([n for n in g.gateway if n in reach])
        seen |= reach
    if len(parts) < 2:
        return None
    parts[0] += g.slow()
    return [p for p in parts if p]


def _recipes(g):
    """(name, what, slots or None) of all layouts that this graph has."""
    stages = g.stages()
    everything = _tasks(stages)
    parallel = {t for s in stages if s.parallel for t in s.tasks}
    scheduled = [s for s in stages if s.kind == "qos"]
    rest = [s for s in stages if s.kind != "qos"]
    pipeline = [Slot(list(s.tasks)) for s in stages]
    yield "one-core", "everything on one core, run to completion", [Slot(everything)]
    yield "by-direction", "each direction on a core of its own", [Slot(p) for p in directions(g) or ()]
    if scheduled:
        yield "rx-qos", "reception and scheduler together, no ring between them", _pairwise(g, stages, False, "receive", "qos")
        yield "qos-tx", f"scheduler and transmission together ({FIG8})", _pairwise(g, stages, False, "qos", "transmit")
        yield ("qos-alone", "each scheduler on a core of its own, all the rest on one",
               [Slot(_tasks(rest))] + [Slot(list(s.tasks)) for s in scheduled] if rest else None)
    yield "pipeline", "each stage on a core of its own (the paper's Fig. 7)", pipeline
    if parallel:
        yield "workers", "the pipeline with workers on all cores that are left", [
            Slot(s.tasks, threads=0 if parallel & set(s.tasks) else 1) for s in pipeline]
    if scheduled:
        yield "smt-rx-qos", f"reception and scheduler on SMT siblings ({SMT})", _pairwise(g, stages, True, "receive", "qos")
        yield "smt-qos-tx", f"scheduler and transmission on SMT siblings ({SMT})", _pairwise(g, stages, True, "qos", "transmit")
    yield "smt", f"neighbours of the pipeline on SMT siblings ({SMT})", _pairwise(g, stages, True)
    yield "rtc", "everything on each of all cores, run to completion with a receive queue for each", [Slot([REST], 0)]


# --- on which cores ---

def _order(cores, socket):
    return sorted((c for c in cores if c.socket == socket), key=lambda c: (c.number == 0, c.number))


def _place(slots, cores):
    """Return (entries, number of cores used) of slots on physical cores. Raises ValueError with the reason if they do not fit."""
    fixed = sum(1 for s in slots if not s.sibling and s.threads == 1)
    spread = sum(1 for s in slots if s.threads == 0)
    workers = min(WORKERS_MOST, (len(cores) - fixed) // spread) if spread else 0
    need = fixed + 2 * spread if spread else fixed
    if need > len(cores):
        raise ValueError(f"needs {need} cores for the gateway, and {len(cores)} {'is' if len(cores) == 1 else 'are'} left")
    entries, at = [], 0
    for s in slots:
        if s.sibling:
            if cores[at - 1].threads < 2:
                raise ValueError("needs SMT siblings, and the cores of this machine have one thread each")
            entries.append((cores[at - 1].name(1), s.tasks))
            continue
        take = workers if s.threads == 0 else 1
        entries.append((",".join(c.name() for c in cores[at:at + take]), s.tasks))
        at += take
    return entries, at


def tester_entries(g, cores):
    """Entries of the tester: sinks on one core, generators on the others; all on one core if there is one only."""
    if not g.generators + g.sinks:
        return []
    if len(cores) == 1 or not g.sinks or not g.generators:
        return [(cores[0].name(), g.generators + g.sinks)]
    places = min(len(cores) - 1, len(g.generators))
    return [(cores[i].name(), g.generators[i::places]) for i in range(places)] + [(cores[places].name(), g.sinks)]


def _apart(g, slots, cores, socket):
    """Entries with the tester on cores of another socket, else on those that the gateway leaves of this one."""
    here, tester = _order(cores, socket), bool(g.generators + g.sinks)
    elsewhere = [c for s in sorted({c.socket for c in cores} - {socket}) for c in _order(cores, s)]
    usable = here if elsewhere or not tester else here[:-1]
    try:
        entries, used = _place(slots, usable)
    except ValueError as e:
        kept = ": one of this machine's is the tester's" if len(usable) < len(here) else ""
        raise ValueError(f"{e}{kept}") from None
    return entries + tester_entries(g, elsewhere or here[used:])


def _together(g, slots, cores, socket):
    """Entries with the tester on the core of the first tasks of the gateway without a scheduler."""
    qos = {n for n in g.gateway if g.tasks[n].type == "qos"}
    host = next((s for s in slots if not qos & set(s.tasks) and s.threads == 1 and len(slots) > 1), None)
    if host is None:
        raise ValueError("leaves no core that the tester may share: none is without a scheduler and without workers")
    tester = [Slot(s.tasks + g.generators + g.sinks, s.threads, s.sibling) if s is host else s for s in slots]
    return _place(tester, _order(cores, socket))[0]


def _assign(g, slots, cores, socket, share_tester):
    """(entries, does the tester share a core) of slots; raises ValueError with the reason if the machine cannot hold them."""
    try:
        return _apart(g, slots, cores, socket), False
    except ValueError:
        if not share_tester:
            raise
        return _together(g, slots, cores, socket), True


def generate(g, cores, socket=0, share_tester=False):
    """All layouts of a graph on these cores. share_tester: where no core is left for the tester, it may share one with tasks of
    the gateway, but never with a scheduler."""
    found, seen = [], set()
    for name, what, slots in _recipes(g):
        if not slots:
            continue
        try:
            entries, shared = _assign(g, slots, cores, socket, share_tester)
        except ValueError as e:
            found.append(Layout(name, what, refused=str(e)))
            continue
        key = tuple(sorted((c, tuple(sorted(t))) for c, t in entries))
        if key not in seen:
            found.append(Layout(name, what, entries, shared=shared))
        seen.add(key)
    return found


# --- files and checks ---

def from_files(paths):
    """Layouts from files; the first comment line of a file says what the layout is."""
    found = []
    for path in paths:
        with open(path, encoding="utf-8") as f:
            comments = [line[1:].strip() for line in f if line.startswith("#") and "SPDX" not in line]
        found.append(Layout(os.path.splitext(os.path.basename(path))[0], comments[0] if comments else "", file=path))
    return found


def write(layouts, folder):
    """Write each generated layout into a file in the folder."""
    os.makedirs(folder, exist_ok=True)
    for layout in layouts:
        if layout.entries and not layout.file:
            layout.file = os.path.join(folder, f"{layout.name}.cfg")
            with open(layout.file, "w", encoding="utf-8") as f:
                f.write(layout.text())


def check(layouts, config, spec="live", vbng=None, options=()):
    """Ask vbng for the plan of each layout; one that vbng refuses is refused with its words."""
    for layout in (x for x in layouts if x.file and not x.refused):
        asked = ["--plan=json", "--topology", spec, *options, "--layout", layout.file, config]
        status, out, err = run.query(asked, vbng=vbng)
        if status == 0:
            layout.plan = json.loads(out)
            layout.shared = any(shares(core) for core in tasks_of_cores(layout.plan))
            continue
        lines = [line for line in err.splitlines() if "error:" in line] or err.splitlines() or ["no answer"]
        layout.refused = lines[0].split("error:", 1)[-1].strip()
    return layouts


def tasks_of_cores(plan):
    """[{task: type}] of the cores of a plan, in the order of the layout."""
    instance = {i["instance"]: i for i in plan["instances"]}
    return [{instance[n]["task"]: instance[n]["type"] for n in c["instances"]} for c in plan["cores"]]


def shares(core):
    """Tell whether a core ({task: type}) has tasks of both tester and gateway."""
    tester = [kind in graph.TESTER for kind in core.values()]
    return any(tester) and not all(tester)


def own(config, vbng=None, options=()):
    """The layout that the configuration has itself."""
    status, out, err = run.query(["--plan=json", "--topology", "live", *options, config], vbng=vbng)
    plan = json.loads(out) if status == 0 else None
    return Layout("as-configured", "the configuration's own", refused="" if plan else err.strip(), plan=plan)


def cores_of(spec):
    """Physical cores of "live" or of a described machine."""
    return topology.live() if spec == "live" else topology.parse(spec)
