# SPDX-License-Identifier: BSD-3-Clause
"""Which cores may be SMT siblings.

From section III.C of "the limits of abstraction" (Fig. 8 to 10): every layout with siblings was slower than the same one
on cores of their own, most of all where the core that receives shared with the scheduler (8.65 Mpps); the scheduler with
the core that it sends to was better (9.50), separate cores did line rate (14.88). So whoever sets the pace, because
nobody else can do its part (reception, scheduling, generation), stays alone; what is fed by rings may share, and that
raises the throughput of a physical core.
"""

import itertools
from dataclasses import dataclass, field


@dataclass
class Core:
    """A core of the plan and what decides about its siblings."""

    plan: dict  # the entry of cores[]
    receives: bool = False
    schedules: bool = False
    generates: bool = False
    feeds: set = field(default_factory=set)  # numbers of the cores that take packets from it over a ring

    @property
    def wants_alone(self):
        """Does the core set the pace of the whole, so that it wants a physical core alone?"""
        return self.receives or self.schedules or self.generates

    @property
    def why_alone(self):
        return "schedules" if self.schedules else "receives" if self.receives else "generates"

    def may_share(self, other):
        """Can both be siblings at no cost to the throughput of the whole?"""
        return self is not other and self._same_socket(other) and not self.wants_alone and not other.wants_alone

    def last_resort(self, other):
        """Is the other the least harmful sibling of this core, which schedules and wants to be alone?"""
        return self.schedules and other.plan["core"] in self.feeds and not other.wants_alone and self._same_socket(other)

    def is_sibling(self, other):
        """Does the layout put both on one physical core?"""
        place = self.plan.get("physical_core")
        return place is not None and place == other.plan.get("physical_core") and self._same_socket(other)

    def _same_socket(self, other):
        return self.plan["socket"] == other.plan["socket"]


def cores(plan):
    """A Core for each of the plan, in its order."""
    by_number = {core["core"]: Core(core) for core in plan["cores"]}
    core_of = {instance["instance"]: instance["core"] for instance in plan["instances"]}
    schedulers = {s["task"] for s in plan["memory"]["schedulers"]}
    for instance in plan["instances"]:
        core = by_number[instance["core"]]
        core.receives |= bool(instance["receives"])
        core.schedules |= instance["task"] in schedulers
        core.generates |= instance["kind"] == "source"
        core.feeds |= {core_of[to["instance"]] for output in instance["outputs"] for to in output["destinations"]
                       if to["kind"] == "ring"}  # fmt: skip
    return list(by_number.values())


def notes(all_cores):
    """Siblings of the layout that go against the rule, in words."""
    found = []
    for a, b in itertools.combinations(all_cores, 2):
        alone = a if a.wants_alone else b
        if a.is_sibling(b) and alone.wants_alone:
            found.append(f"cores {a.plan['core']} and {b.plan['core']} are SMT siblings, but core {alone.plan['core']} "
                         f"{alone.why_alone}: give it a physical core alone")
    return found
