# SPDX-License-Identifier: BSD-3-Clause
"""What a task costs a packet, by where the packet comes from, in TSC cycles. Made of build/tests/bench/bench --json and bench-qos --json.

A packet is cold where it comes from a port, or out of a scheduler, in which it has waited; it is warm where the task before it has called, and
behind a ring: what its lines cost on their way from core to core is the ring's. The cases of one task alone are cold; what is warm is the
difference between two cases of a path. Of each case it is the median: repetitions of all cases take turns, and where memory is fast and slow by
turns the fewest cycles of two cases are not of the same minutes.
"""

import os
from dataclasses import dataclass, field

from ..lab.failure import Failure
from ..size.costs import read_cases

SHIPPED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "costs.json")
SHAPING = {"wheel": "qos", "librte_sched": "lib"}
SHARDS = {"wheel": 16, "librte_sched": 1}  # of a task qos, at most
# type of task: (case of the path up to it, case of the path up to the one before)
PATH = {"qinq_decap": ("up: decap", "up: classify"), "route": ("up: route", "up: decap"), "gre_encap": ("up: gre", "up: route"), "mpls_push": ("upstream", "up: gre"),
        "gre_decap": ("down: gre", "down: pop"), "qinq_encap": ("downstream", "down: gre")}  # fmt: skip
ALONE = ("classify", "qinq_decap", "route", "gre_encap", "mpls_push", "mpls_pop", "gre_decap", "qinq_encap")

UP, DOWN = {"classify", "qinq_decap", "route", "gre_encap", "mpls_push"}, {"mpls_pop", "gre_decap", "qinq_encap"}  # all of a direction, but qos
# {has schedulers: (case of a gateway that fuses its tasks, of one that does not)}; with librte_sched none was measured
FUSED = {False: ("both ways, fused", "both ways"), True: ("qos: BNG, fused", "qos: BNG")}

# Of rings, in cycles of a packet, between two cores whose core-to-core latency is so many ns (bench-rings, doc/project.md): what is put at once, 32
# packets for each consumer or a burst for the only one, costs no more by being less, and of the lines of mbufs each has a part.
RING_NS = (72.0, 417.0)
RING_PUT = (6.8, 17.3)
RING_TAKE = (7.2, 21.0)
RING_MORE = 7.3  # more in, where several cores put packets in
SHARE = 6.0  # of a scheduler between cores: two shards on two cores beside two schedulers that share nothing (bench-shards, doc/qos.md)


@dataclass(frozen=True)
class Costs:
    """cold, warm: {type of task: cycles}; both: cycles more of a packet on a core that has schedulers of both directions; hz: clock;
    source: which machine; shards: cores that a task qos may have; fused: {has a scheduler: part of its cycles that a direction takes whose
    tasks are fused}; core_ns: core-to-core latency."""

    cold: dict
    warm: dict
    both: float
    hz: float
    source: str
    shards: int = 1
    fused: dict = field(default_factory=dict)
    core_ns: float = RING_NS[0]

    def of(self, kind, cold):
        """Cycles of a task. Raises Failure for a type that nothing was measured of."""
        known = self.cold if cold else self.warm
        if kind not in known:
            raise Failure(f"no cost of a task of type {kind} was measured: known are {', '.join(sorted(self.cold))}")
        return known[kind]

    def _ring(self, cycles):
        near, far = RING_NS
        return cycles[0] + (cycles[1] - cycles[0]) * max(0.0, self.core_ns - near) / (far - near)

    def put(self, producers=1):
        """Cycles of a packet that one of so many producers puts into a ring."""
        return self._ring(RING_PUT) + (RING_MORE if producers > 1 else 0)

    def take(self):
        """Cycles of a packet that a consumer takes out of a ring."""
        return self._ring(RING_TAKE)

    def fused_part(self, kinds):
        """Part of their cycles that tasks of these types on a core take: less than 1 where they are all of a direction."""
        return self.fused.get("qos" in kinds, 1.0) if {*kinds} - {"qos"} in (UP, DOWN) else 1.0

    def sum(self, kinds, cold):
        """Cycles of tasks of these types one behind the other on a core, the first cold or not. All of a direction are fused, as in a gateway
        that is not told otherwise."""
        total = 0.0
        for k in kinds:
            total += self.of(k, cold)
            cold = k == "qos"
        return total * self.fused_part(kinds)


def read(shaping, paths=()):
    """The Costs with a kind of shaping, "wheel" or "librte_sched". paths: as for size.costs. Raises Failure."""
    c, hz, source = read_cases(paths or [SHIPPED])

    def of(name):
        if name not in c:
            program = "bench-qos" if name[:4] in ("qos:", "lib:") else "bench"
            raise Failure(f"--costs: no case '{name}': build/tests/bench/{program} --json FILE measures it")
        return c[name]

    cold = {kind: of(kind) for kind in ALONE} | {"forward": of("null path"), "lb": (of("lb qinq") + of("lb gre")) / 2}
    warm = {kind: max(1.0, of(to) - of(before)) for kind, (to, before) in PATH.items()}
    warm |= {"forward": of("forward"), "lb": max(1.0, cold["lb"] - cold["forward"]), "classify": cold["classify"], "mpls_pop": cold["mpls_pop"]}
    qos = SHAPING[shaping]
    cold["qos"] = of(f"{qos}: task")
    warm["qos"] = max(1.0, of(f"{qos}: minimal") - cold["classify"] - cold["forward"])
    up = cold["classify"] + warm["qos"] + cold["qinq_decap"] + warm["route"] + warm["gre_encap"] + warm["mpls_push"]
    down = cold["mpls_pop"] + warm["gre_decap"] + warm["qinq_encap"] + warm["qos"]
    both = max(0.0, of(f"{qos}: BNG") - (up + down) / 2)
    fused = {with_qos: of(one) / of(other) for with_qos, (one, other) in FUSED.items() if shaping == "wheel" or not with_qos}
    return Costs(cold, warm, both, hz, source, SHARDS[shaping], fused)
