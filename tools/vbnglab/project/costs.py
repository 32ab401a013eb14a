# SPDX-License-Identifier: BSD-3-Clause
"""What a task costs a packet, by where the packet comes from, in TSC cycles. Made of build/tests/bench/bench --json and bench-qos --json.

A packet is cold where it comes from a port, from a ring, or out of a scheduler, in which it has waited; it is warm where the task before it
has called. The cases of one task alone are cold; what is warm is the difference between two cases of a path. Of each case it is the
repetition with the fewest cycles: what else a machine does only adds.
"""

import os
from dataclasses import dataclass

from ..lab.failure import Failure
from ..size.costs import read_cases

SHIPPED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "costs.json")
SHAPING = {"wheel": "qos", "librte_sched": "lib"}
SHARDS = {"wheel": 16, "librte_sched": 1}  # of a task qos, at most
# type of task: (case of the path up to it, case of the path up to the one before)
PATH = {"qinq_decap": ("up: decap", "up: classify"), "route": ("up: route", "up: decap"), "gre_encap": ("up: gre", "up: route"), "mpls_push": ("upstream", "up: gre"),
        "gre_decap": ("down: gre", "down: pop"), "qinq_encap": ("downstream", "down: gre")}  # fmt: skip
ALONE = ("classify", "qinq_decap", "route", "gre_encap", "mpls_push", "mpls_pop", "gre_decap", "qinq_encap")

# Of rings, in cycles of a packet but for the operation; measured with two cores, and an lb to 1 and to 16 workers (doc/project.md).
BURST = 32  # packets
RING_PACKET = 0.9  # in and out
RING_MORE = 7.3  # more in, where several cores put packets in
RING_OPERATION = 217.0  # cycles of putting any number in: lines that the other core has written
RING_LINE = 30.0  # the line of the mbuf that goes to the other core, and comes back when it is used again
PRODUCER = 0.4  # whose share of that line it is
SHARE = 13.0  # of a scheduler between cores: two shards on two cores beside two schedulers that share nothing (doc/qos.md)


@dataclass(frozen=True)
class Costs:
    """cold, warm: {type of task: cycles}; both: cycles more of a packet on a core that has schedulers of both directions; hz: clock;
    source: which machine; shards: cores that a task qos may have."""

    cold: dict
    warm: dict
    both: float
    hz: float
    source: str
    shards: int = 1

    def of(self, kind, cold):
        """Cycles of a task. Raises Failure for a type that nothing was measured of."""
        known = self.cold if cold else self.warm
        if kind not in known:
            raise Failure(f"no cost of a task of type {kind} was measured: known are {', '.join(sorted(self.cold))}")
        return known[kind]


def put(consumers, producers):
    """Cycles of a packet that one of so many producers puts into a ring to one of so many consumers, over which a burst is split."""
    return RING_PACKET / 2 + RING_OPERATION * min(consumers / BURST, 1) + (RING_MORE if producers > 1 else 0) + PRODUCER * RING_LINE


def take():
    """Cycles of a packet that a consumer takes out."""
    return RING_PACKET / 2 + (1 - PRODUCER) * RING_LINE


def read(shaping, paths=()):
    """The Costs with a kind of shaping, "wheel" or "librte_sched". paths: as for size.costs. Raises Failure."""
    c, hz, source = read_cases(paths or [SHIPPED], "min")

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
    return Costs(cold, warm, max(0.0, of(f"{qos}: BNG") - (up + down) / 2), hz, source, SHARDS[shaping])
