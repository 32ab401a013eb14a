# SPDX-License-Identifier: BSD-3-Clause
"""vbng-lab switch compare: vbng and testpmd take turns in the same place at the same switch, and the ratio is that of neighbours in time.

The place is that of the VNFs where the scenario has some, which a vbng sends to and receives from; else that of generator and sink, where testpmd
is flowgen. All poll, none sleeps. The generator of vbng makes what it can, not what a line would take. In a circle no tester is.

A pair counts only where core-to-core latency was of one kind at both ends of both trials: where it changes, so do the figures of both programs.
"""

import datetime
import json
import os
import shutil
from dataclasses import dataclass, field
from statistics import median

from ..lab import core_latency, machine, owned
from ..measure import rig, table, trial
from . import adapters, bench, circle, losses, pmd, scenarios
from .adapters.base import SwitchError

FORMAT = "vbng-switch-compare/1"
RATE = "100Mpps"  # more than a generator makes
PROGRAMS = ("vbng", "testpmd")
ROLES = {True: "VNF", False: "generator"}
WAYS = {"up": "one way", "both": "both ways"}
SHARED = "processes that poll share a CPU: no figure of either"
TRIES = 3  # trials of vbng, or with its generator, until something comes back
AT_MOST = 3  # times as many pairs as are wanted, until so many count
NO_ONE_WAY = {True: "testpmd fills a circle both ways", False: "flowgen sends both ways"}  # is it a circle?
HEADER = ("switch", "scenario", "mode", "as", "size", "direction", "core to core", "vbng Mpps", "testpmd Mpps", "vbng/testpmd", "remark")


@dataclass
class Trial:
    """A trial of one program."""

    pps: float  # packets per second
    marks: tuple = ()
    lost: dict | None = None  # {"offered", "lost_at"}, where it is known
    core_ns: tuple = ()  # core-to-core latency at its two ends; () where all is on one CPU


@dataclass
class Point:
    """Throughputs of both at one size and direction, in pairs."""

    size: str
    direction: str
    vbng: list = field(default_factory=list)  # packets per second
    testpmd: list = field(default_factory=list)
    marks: dict = field(default_factory=lambda: {who: set() for who in PROGRAMS})  # of the trials of each; flowgen has none
    lost_at: dict = field(default_factory=lambda: {who: [] for who in PROGRAMS})  # {"offered", "lost_at"} of each trial; of flowgen and in a circle none
    core_ns: list = field(default_factory=list)  # of each pair the median of four; None where all is on one CPU
    moved: int = 0  # pairs that do not count, as it changed
    error: str = ""

    def add(self, pair):
        """Take a pair, {program: Trial}, if it counts."""
        seen = [ns for t in pair.values() for ns in t.core_ns]
        if seen and not core_latency.alike(seen):
            self.moved += 1
            return
        self.core_ns.append(median(seen) if seen else None)
        self.vbng.append(pair["vbng"].pps)
        self.testpmd.append(pair["testpmd"].pps)
        for who, t in pair.items():
            self.marks[who] |= set(t.marks)
            self.lost_at[who] += [t.lost] if t.lost else []

    @property
    def ratios(self):
        """Quotients of neighbours in time."""
        return [a / b for a, b in zip(self.vbng, self.testpmd) if b]

    def remark(self, as_vnf, shared):
        """What limits the figures, and where packets were lost beside each program, or why there are none."""
        if self.error:
            return self.error.splitlines()[0]
        marks = set().union(*self.marks.values())
        limits = sorted(marks & set(trial.LIMITS)) or ["switch or VNF" if as_vnf else "switch"]
        said = [SHARED] if shared else [f"limit: {', '.join(limits)}", *(["disturbed"] if "disturbed" in marks else [])]
        said += [f"{who} {words}" for who, trials in self.lost_at.items() if (words := losses.words(trials))]
        return "; ".join(said + ([f"{self.moved} pairs do not count: core-to-core latency changed"] if self.moved else []))


def _places(one, options, direction, size):
    """What takes a trial of vbng, and what one of testpmd, at a switch with a tester."""
    request = rig.Request("rplus", direction, size, None, options.seconds)

    def taken(peer):
        one.peer = peer
        for _ in range(TRIES):
            row = bench.take(one, request)
            if not row["ok"]:
                raise SwitchError(row["error"])
            if row["pps"] > 0:
                return Trial(row["pps"], row["marks"], {k: row[k] for k in ("offered", "lost_at")})
        raise SwitchError(f"nothing came back to vbng in {TRIES} trials of {options.seconds:g} s")

    def testpmd():
        if one.topology.vnfs:
            return taken(pmd.Testpmd)
        ports = [one.switch.ports[p] for p in one.topology.tester_ports]
        return Trial(pmd.flowgen(one.switch, ports, one.where[scenarios.TESTER], size.access, options.seconds, one.look))

    return {"vbng": lambda: taken(None), "testpmd": testpmd}


def _circles(one, options, size):
    """The same in a circle."""
    return {who: lambda who=who: Trial(one.pps(who, size.access, options.seconds)) for who in PROGRAMS}


def _turns(one, options, point, size):
    """Fill a Point. Raises SwitchError with the reason of the first trial that fails, or where no pair counts."""
    takes = _circles(one, options, size) if isinstance(one, circle.Circle) else _places(one, options, point.direction, size)
    cpus, seen = bench.polled(one.switch, one.where), []
    if len(cpus) > 1:
        one.look = lambda: seen.append(core_latency.longest_ns(cpus, options.vbng))

    def taken(who):
        done = takes[who]()
        done.core_ns = tuple(seen[-2:])
        return done

    for i in range(options.pairs * AT_MOST):
        if len(point.ratios) == options.pairs:
            break
        point.add({who: taken(who) for who in PROGRAMS[:: 1 if i % 2 == 0 else -1]})
    if not point.ratios:
        raise SwitchError(f"core-to-core latency changed in each of {point.moved} pairs: pin the virtual CPUs on the host (virsh vcpupin)")


def _made(adapter, setup, options, folder):
    """What takes trials, and whether vbng and testpmd are VNFs in it. Raises SwitchError or rig.Unusable."""
    if setup.scenario in scenarios.CLOSED:
        return circle.Circle(adapter, setup, folder, options.cpus, options.vbng), True
    one = bench.make(adapter, setup, folder, options.cpus, options.vbng, RATE, idle="pause")
    as_vnf = bool(one.topology.vnfs)
    if "both" not in one.generators or any(not v.joined for v in one.topology.vnfs):
        shutil.rmtree(one.switch.folder, ignore_errors=True)
        raise SwitchError(f"testpmd has no part in scenario {setup.name}: choose p2p, p2v, v2v, loopback or circle")
    if not as_vnf and hasattr(one.switch, "behind"):  # flowgen has one address behind all ports, so both are unknown to a table, and go to the other port
        for port in one.switch.ports:
            one.switch.behind(port, ())
    return one, as_vnf


def switch(name, setup, options, folder, told):
    """The entry of a switch in the result. told: called with each Point that is done."""
    adapter = adapters.ALL[name]
    version, why = adapter.probe()
    closed = setup.scenario in scenarios.CLOSED
    entry = {"title": adapter.title, "version": version, "mode": setup.mode, "why": why, "points": []}
    if version is None:
        return entry
    one = None
    try:
        one, as_vnf = _made(adapter, setup, options, folder)
        entry.update(role=ROLES[as_vnf], shared=one.shared)
        for size in options.sizes:
            for direction in options.directions:
                point = Point(str(size), direction)
                try:
                    if direction != "both" and (closed or not as_vnf):
                        raise SwitchError(NO_ONE_WAY[closed])
                    _turns(one, options, point, size)
                except (SwitchError, core_latency.Unknown) as e:
                    point.error = str(e)
                entry["points"].append({**vars(point), "marks": {who: sorted(m) for who, m in point.marks.items()}, "ratios": point.ratios,
                                        "remark": point.remark(as_vnf, one.shared)})
                told(name, point)
    except (SwitchError, rig.Unusable) as e:
        return {**entry, "why": str(e)}
    finally:
        if one is not None:
            shutil.rmtree(one.switch.folder, ignore_errors=True)
    return entry


@dataclass(frozen=True)
class Options:
    """How often and how long. seconds: of a trial; sizes: rig.Size; cpus: of switch, VNFs and tester."""

    sizes: list
    directions: list
    pairs: int
    seconds: float
    cpus: list
    vbng: str | None = None


def _spread(values, text):
    return f"{text(median(values))} ({text(min(values))}–{text(max(values))})" if values else "-"


def _core_to_core(ns):
    return _spread(ns, "{:.0f}".format) + " ns" if None not in ns else "-"


def _by_kind(point):
    """Figures of a point's pairs, those of one kind of core-to-core latency together: (cell of that, vbng's, testpmd's, ratios)."""
    ns = point["core_ns"]
    for kind in core_latency.kinds(ns) if None not in ns else [range(len(ns))]:
        yield _core_to_core([ns[i] for i in kind]), *([point[k][i] for i in kind] for k in ("vbng", "testpmd", "ratios"))


def rows(result):
    """Cells of the table."""
    for name, e in result["switches"].items():
        if not e["points"]:
            yield (name, result["scenario"], e["mode"], *["-"] * 7, e["why"].splitlines()[0])
        for p in e["points"]:
            for core_to_core, vbng, testpmd, ratios in _by_kind(p) if p["ratios"] else [("-", [], [], [])]:
                yield (name, result["scenario"], e["mode"], e["role"], p["size"], WAYS[p["direction"]], core_to_core, _spread(vbng, table.mpps),
                       _spread(testpmd, table.mpps), _spread(ratios, "{:.2f}".format), p["remark"])


def text(result):
    """The result as text for a terminal."""
    cells = [HEADER, *rows(result)]
    widths = [max(len(str(row[i])) for row in cells) for i in range(len(HEADER))]
    return "\n".join("  ".join(str(c).ljust(w) for c, w in zip(row, widths)).rstrip() for row in cells)


def measure(names, setup_of, options, folder, command, told=lambda *_: None):
    """Measure switches of these names. setup_of: from an adapter to its bench.Setup. Writes result.json. Returns the result. Raises SwitchError."""
    version, why = pmd.probe()
    if version is None:
        raise SwitchError(why)
    owned.folder(folder)
    out = {"format": FORMAT, "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"), "command": command,
           "scenario": setup_of(adapters.ALL[names[0]]).name, "machine": machine.describe(), "cpus": options.cpus, "testpmd": version,
           "pairs": options.pairs, "seconds": options.seconds, "switches": {}}  # fmt: skip
    for name in names:
        home = os.path.join(folder, name)
        os.makedirs(home, exist_ok=True)
        out["switches"][name] = switch(name, setup_of(adapters.ALL[name]), options, home, told)
        path = os.path.join(folder, "result.json")
        with open(f"{path}.part", "w", encoding="utf-8") as f:
            json.dump(out, f, indent=1)
            f.write("\n")
        os.replace(f"{path}.part", path)
    return out
