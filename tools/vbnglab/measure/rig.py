# SPDX-License-Identifier: BSD-3-Clause
"""What is measured: a gateway and its tester, in one configuration or in two, and how a trial loads it.

The tester is told from the gateway by the plan: tasks of type gen and sink, the ports that they use and the cores
that they run on are the tester's, all else is the gateway's.
"""

import fnmatch
import json
import os
import re
import tempfile
import time
from dataclasses import dataclass, field

from ..lab import run
from ..lab.failure import Failure

OFF = "86400s"  # start of a generator that has nothing to do in a trial
START_S = 60.0  # time limit for the start of a gateway in a process of its own
SATURATION = "100%"  # share of the line rate of the ports
PCI = re.compile(r"([0-9a-f]{4,}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7](,|$)", re.I)


class Unusable(Failure):
    """The configuration cannot be measured; the text says why and what to do."""


@dataclass(frozen=True)
class Size:
    """Frame sizes in bytes with FCS: access upstream, core downstream."""

    access: int
    core: int

    def __str__(self):
        return str(self.access) if self.access == self.core else f"{self.access}-{self.core}"


TABLE2 = (Size(64, 78), Size(128, 152), Size(256, 280), Size(512, 536), Size(1024, 1048), Size(1494, 1518))
TABLES = {"table2": TABLE2, "table2-ipv6": (Size(74, 98), *TABLE2[1:])}  # with tags, IPv6 and UDP a frame has 74 bytes


def parse_sizes(text, two_sides=True):
    """The sizes that a text such as "64,256", "64-78,1494-1518" or "table2" (the paper's; "table2-ipv6" is the same from the smallest
    frame of IPv6 on) names. A single number is the size on the access side; that on the core side is 24 bytes more, as in the
    paper, and 78 for 64, which is padded. two_sides False: both are the same. Raises ValueError."""
    sizes = []
    for word in text.split(","):
        word = word.strip()
        if word in TABLES:
            sizes += TABLES[word]
            continue
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", word)
        if match is None:
            raise ValueError(f"{word!r} is no size: expected bytes with FCS such as 64, access-core such as 64-78, or "
                             f"{' or '.join(TABLES)}")
        access = int(match.group(1))
        core = int(match.group(2) or (access if not two_sides else 78 if access == 64 else access + 24))
        sizes.append(Size(access, core))
    return sizes


@dataclass(frozen=True)
class Request:
    """A trial that is asked for: its purpose, and which generators send how much for how long."""

    purpose: str  # "rplus", "search", "latency", "burst"
    direction: str  # "up", "down", "both", or "all" where the generators have no direction
    size: Size
    load: float | None  # packets per second of all generators together; None: saturation
    seconds: float
    probes: bool = False  # whether stamped streams run beside the load
    count: int | None = None  # packets of each generator; None: no end

    def key(self):
        """Name of the trial in a journal."""
        load = "saturation" if self.load is None else repr(self.load)
        return f"{self.purpose} {self.direction} {self.size} {load} {self.seconds!r}" + (f" {self.count} frames" if self.count else "")


@dataclass
class Rig:
    """A gateway with its tester."""

    config: str
    tester: str | None = None  # configuration of a tester in a process of its own
    up: str = "gen_cpe*"  # patterns of the names of generator tasks
    down: str = "gen_core*"
    probe: str = "probe_*"  # generators of stamped streams; with up and down by "cpe" and "core" in their names
    settings: dict = field(default_factory=dict)  # of the gateway, in all trials
    layout: str | None = None  # file, for the gateway
    vbng: str | None = None
    saturation: str = SATURATION
    # found by discover()
    plans: dict = field(default_factory=dict)  # "gateway" (and "tester") -> plan
    generators: dict = field(default_factory=dict)  # direction -> names
    probes: dict = field(default_factory=dict)  # direction -> names
    idle: list = field(default_factory=list)  # generators that never send while measuring
    ports: set = field(default_factory=set)  # names of the tester's ports
    nics: set = field(default_factory=set)  # generators that send into hardware
    sinks: list = field(default_factory=list)
    cores: dict = field(default_factory=dict)  # generator -> the cores that it runs on
    cpus: set = field(default_factory=set)  # numbers of the tester's CPUs

    def _plan(self, config, layout):
        settings = self.settings if self.tester is None else {}
        status, out, err = run.query(["--plan=json", *run.options(settings, layout), config], self.vbng)
        if status != 0:
            raise Unusable(err.strip() or f"{run.binary(self.vbng)}: no plan of {config} (status {status})")
        return json.loads(out)

    def discover(self):
        """Find generators, sinks, ports and cores. Returns self. Raises Unusable."""
        self.plans = {"gateway": self._plan(self.config, self.layout)}
        if self.tester is not None:
            self.plans["tester"] = self._plan(self.tester, None)
        plan = self.plans.get("tester") or self.plans["gateway"]
        device = {p["port"]: p["device"] for p in plan["ports"]}
        names, cores = {}, set()
        for i in plan["instances"]:
            if i["type"] not in ("gen", "sink"):
                continue
            cores.add(i["core"])
            used = [r["port"] for r in i["receives"] if "port" in r]
            used += [d["port"] for o in i["outputs"] for d in o["destinations"] if d["kind"] == "port"]
            self.ports.update(used)
            if i["type"] == "gen":
                names.setdefault(i["task"], []).extend(used)
                self.cores[i["task"]] = (*self.cores.get(i["task"], ()), i["core"])
            elif i["task"] not in self.sinks:
                self.sinks.append(i["task"])
        if not names:
            raise Unusable(f"{self.tester or self.config}: no task of type gen, so nothing to measure with")
        if not self.sinks:
            raise Unusable(f"{self.tester or self.config}: no task of type sink, so nothing that counts what comes back")
        self.cpus = {c["run_on"] for c in plan["cores"] if c["core"] in cores}
        self.nics = {n for n, used in names.items() if any(PCI.match(device.get(p, "")) for p in used)}
        self._sort(sorted(names))
        return self

    def _sort(self, names):
        probes = [n for n in names if fnmatch.fnmatch(n, self.probe)]
        rest = [n for n in names if n not in probes]
        up = [n for n in rest if fnmatch.fnmatch(n, self.up)]
        down = [n for n in rest if fnmatch.fnmatch(n, self.down)]
        if up and down:
            self.generators = {"up": up, "down": down, "both": up + down}
            self.probes = {"up": [p for p in probes if "core" not in p], "down": [p for p in probes if "cpe" not in p],
                           "both": probes}
        else:
            self.generators = {"all": up or down or rest}
            self.probes = {"all": probes}
        self.idle = [n for n in rest if n not in next(reversed(self.generators.values()))]

    def tester_settings(self, request):
        """Settings ({"TASK.PARAM": value}) of the tester by which its generators do what a trial asks for."""
        sending = self.generators[request.direction]
        out = {}
        for g in sending:
            out[f"{g}.rate"] = self.saturation if request.load is None else f"{request.load / len(sending):.3f}pps"
            out[f"{g}.size"] = request.size.core if g in self.generators.get("down", ()) else request.size.access
            if request.count is not None:
                out[f"{g}.count"] = request.count
        active = set(sending)
        if request.probes and self.probes[request.direction]:
            active |= set(self.probes[request.direction])
            out.update({f"{s}.stamps": "true" for s in self.sinks})
        everyone = {g for names in (*self.generators.values(), *self.probes.values(), self.idle) for g in names}
        out.update({f"{g}.start": OFF for g in sorted(everyone - active)})
        return out

    def lone(self, direction, name):
        """Add a direction of a name in which the first generator of another sends alone. Returns that generator."""
        self.generators[name], self.probes[name] = self.generators[direction][:1], []
        return self.generators[name][0]

    def check(self, size):
        """Have vbng check the tester's configuration with frames of a size. Raises Unusable with what it says: a template may need
        larger ones."""
        most = max(self.generators, key=lambda direction: len(self.generators[direction]))
        request = Request("rplus", most, size, None, 1.0)
        alone = self.tester is not None
        settings = run.options({**({} if alone else self.settings), **self.tester_settings(request)}, None if alone else self.layout)
        status, _, err = run.query(["--check", *settings, self.tester or self.config], self.vbng)
        if status != 0:
            raise Unusable(f"frames of {size} bytes: {err.strip()}")

    def ceiling(self, stated):
        """Packets per second that all generators can make together if all make the same. stated: {name: packets per second
        that it could make alone on its core}. None: unknown."""
        by_core = {}
        for name, pps in stated.items():
            by_core.setdefault(self.cores.get(name), []).append(pps)
        if not by_core or not all(p for pps in by_core.values() for p in pps):
            return None
        return sum(len(pps) / sum(1 / p for p in pps) for pps in by_core.values())

    def trial(self, request, sample):
        """Run a trial. Returns (Result of the tester, Result of the gateway; the same where they are one)."""
        settings = self.tester_settings(request)
        if self.tester is None:
            done = run.run(self.config, request.seconds, {**self.settings, **settings}, self.layout, vbng=self.vbng,
                           sample=sample)
            return done, done
        with tempfile.TemporaryDirectory(prefix="vbng-measure-") as folder:
            ready = os.path.join(folder, "samples.csv")  # the gateway makes it when its ports are open
            with run.start(self.config, None, self.settings, self.layout, vbng=self.vbng,
                           extra=("--sample", ready, "--sample-period", "1s")) as gateway:
                until = time.monotonic() + START_S
                while gateway.alive() and not os.path.exists(ready) and time.monotonic() < until:
                    time.sleep(0.02)
                if not os.path.exists(ready):
                    dead = gateway.stop()
                    return dead, dead
                tester = run.run(self.tester, request.seconds, settings, vbng=self.vbng, sample=sample)
                return tester, gateway.stop()
