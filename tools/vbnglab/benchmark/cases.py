# SPDX-License-Identifier: BSD-3-Clause
"""What a report measures: gateways, and on how many cores each."""

import os
from dataclasses import dataclass

from ..lab import graph, places, topology
from ..sweep import layouts

CORES = (1, 2, 4)
WAYS = {1: "everything on one core, run to completion", 2: "a core for each direction", 4: "two cores for each direction"}


@dataclass(frozen=True)
class Case:
    """A gateway and what is sent through it."""

    name: str
    what: str
    file: str  # in cfg
    size: str  # the smallest frames that its templates have

    @property
    def config(self):
        """Path of the configuration."""
        return os.path.join(places.CONFIGURATIONS, self.file)


SUBSCRIBERS = "32,768 subscribers on each of two access ports"
FAMILIES = (("ipv4", "IPv4", "", "64"), ("ipv6", "IPv6", "ipv6-", "74-98"), ("dual", "30 % IPv4, 70 % IPv6", "dual-", "74-98"))
CASES = tuple(Case(f"{kind}-{family}", f"{name}, {words}; {SUBSCRIBERS}", f"measure-{prefix}{part}4port.cfg", size)
              for kind, name, prefixes in (("bng", "BNG without QoS", {f[0]: "bng-" for f in FAMILIES}),
                                           ("hqos", "BNG with hierarchical QoS both ways", {"ipv4": "qos-", "ipv6": "", "dual": ""}))
              for family, words, part, size in FAMILIES for prefix in (prefixes[family],))
# Tasks that a ring leads to where an HQoS gateway has four cores: what a scheduler has let pass must not be dropped in it.
BEHIND_RINGS = ("decap", "gre_up", "qos_down")


def settings(case, n):
    """Settings of a case on n cores."""
    return {f"{task}.on_full": "wait" for task in BEHIND_RINGS} if n == 4 and case.name.startswith("hqos") else {}


def named(names):
    """The cases of these names; all of them where there are none."""
    return [c for c in CASES if not names or c.name in names]


def _halves(g, part):
    """A direction's tasks in two, the second from behind its scheduler on, or from its middle."""
    order = [n for n in g.order() if n in part]
    at = next((i for i, n in enumerate(order) if g.tasks[n].type == "qos"), len(order) // 2)
    at = at + 1 if at + 1 < len(order) else at  # a scheduler goes with what stands before it
    first = set(order[:at])
    return [n for n in part if n in first or n not in order], [n for n in part if n not in first and n in order]


def parts(g, n):
    """The gateway's tasks on n cores: a list of task names for each. Raises ValueError where the graph cannot be parted so."""
    if n not in WAYS:
        raise ValueError(f"no layout for {n} cores: expected {', '.join(map(str, WAYS))}")
    if n == 1:
        return [g.gateway]
    directions = layouts.directions(g)
    if directions is None or len(directions) != 2:
        raise ValueError("its directions cannot be parted")
    return directions if n == 2 else [half for d in directions for half in _halves(g, d)]


def lay_out(g, n, cores):
    """Text of a layout file: the gateway on n cores, the tester on what is left. Raises ValueError with the reason where these
    cores do not suffice."""
    if len(cores) < n + 1:
        raise ValueError(f"needs {n + 1} CPUs, {n} for the gateway and 1 for the tester: this machine has {len(cores)}")
    ordered = sorted(cores, key=lambda c: (c.socket, c.number == 0, c.number))  # the operating system is busiest on core 0
    entries = [(core.name(), tasks) for core, tasks in zip(ordered, parts(g, n))]
    entries += layouts.tester_entries(g, ordered[n:])
    return layouts.Layout(f"{n}-core", WAYS[n], entries).text()


def prepare(case, n, folder, vbng=None, cores=None):
    """Write the layout of a case on n cores into a folder, and return the file's path. Raises ValueError with the reason where it
    cannot be run on this machine."""
    cores = topology.live() if cores is None else cores
    path = os.path.join(folder, "layout.cfg")
    text = lay_out(graph.load(case.config, vbng), n, cores)
    os.makedirs(folder, exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path
