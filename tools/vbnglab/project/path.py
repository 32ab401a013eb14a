# SPDX-License-Identifier: BSD-3-Clause
"""What each core of a layout has to do for a packet: the ways through a plan, and what the tasks on them cost."""

from dataclasses import dataclass, field, replace

from ..lab.failure import Failure
from ..lab.graph import TESTER
from .arrange import whole

MOST_TASKS = 64  # on a way: more is a circle, which a plan has none of


@dataclass
class Load:
    """Cycles of a core for a packet through the gateway, those of rings among them; tasks: {name: cycles}; schedulers: {task of type qos: share of
    the packets}."""

    cycles: float = 0.0
    rings: float = 0.0
    tasks: dict = field(default_factory=dict)
    schedulers: dict = field(default_factory=dict)

    def add(self, task, cycles, rings=0.0):
        """Count a task's."""
        self.cycles += cycles + rings
        self.rings += rings
        self.tasks[task] = self.tasks.get(task, 0.0) + cycles + rings

    def scale(self, part):
        """Have all tasks take that part of their cycles."""
        self.cycles *= part
        self.tasks = {name: cycles * part for name, cycles in self.tasks.items()}


def _outputs(instance):
    """Destinations of the packets that are neither punted nor fragmented."""
    return instance["outputs"][0]["destinations"] if instance["outputs"] else []


def gateway(plan):
    """{name: instance} of the gateway, without its tester."""
    return {i["instance"]: i for i in plan["instances"] if i["type"] not in TESTER}


def receivers(plan):
    """[(instance, share of the packets that it receives)], where each port that the gateway reads has as many. Raises Failure."""
    reads = [(i, r["port"]) for i in gateway(plan).values() for r in i["receives"]]
    if not reads:
        raise Failure(f"{plan['configuration']}: no task of a gateway reads a port")
    queues = {}
    for _, port in reads:
        queues[port] = queues.get(port, 0) + 1
    return [(i, 1 / len(queues) / queues[port]) for i, port in reads]


def loads(plan, costs, fused=True, wires=False):
    """{core of the layout: its Load} of a plan, whose tasks on a single core are fused unless told otherwise. wires: its ports are wires to a
    tester on another core, and cost as rings do. Raises Failure where nothing was measured of a task."""
    of, found = gateway(plan), {}
    producers = {}
    for i in of.values():
        for d in _outputs(i):
            if d["kind"] == "ring":
                producers.setdefault(d["ring"], set()).add(i["core"])

    def walk(instance, share, cold, depth=0):
        if depth > MOST_TASKS:
            raise Failure(f"{plan['configuration']}: a way of more than {MOST_TASKS} tasks")
        load = found.setdefault(instance["core"], Load())
        load.add(instance["task"], share * costs.of(instance["type"], cold))
        if instance["type"] == "qos":
            load.schedulers[instance["task"]] = load.schedulers.get(instance["task"], 0.0) + share
        to = _outputs(instance)
        if wires:
            load.add(instance["task"], 0.0, share * sum(costs.put() for d in to if d["kind"] == "port") / max(1, len(to)))
        to = [d for d in to if d["kind"] != "port"]
        for d in to:
            after, part = of[d["instance"]], share / len(to)
            if d["kind"] == "ring":
                load.add(instance["task"], 0.0, part * costs.put(len(producers[d["ring"]])))
                found.setdefault(after["core"], Load()).add(after["task"], 0.0, part * costs.take())
            walk(after, part, instance["type"] == "qos", depth + 1)

    for instance, share in receivers(plan):
        walk(instance, share, True)
        if wires:
            found[instance["core"]].add(instance["task"], 0.0, share * costs.take())
    for load in found.values():
        if len(load.schedulers) > 1:
            load.cycles += costs.both * sum(load.schedulers.values())
    if fused and len(found) == 1:
        for load in found.values():
            load.scale(whole(ways(plan), costs) / whole(ways(plan), replace(costs, fused={})))
    return found


def ways(plan):
    """[(types of the tasks of a way in their order, share of the packets, name of its task qos or None)], without load balancers: one way for
    each set of tasks."""
    of, found = gateway(plan), {}
    for instance, share in receivers(plan):
        kinds, names, scheduler = [], [], None
        while instance is not None and len(names) <= MOST_TASKS:
            names.append(instance["task"])
            if instance["type"] != "lb":
                kinds.append(instance["type"])
            if instance["type"] == "qos":
                scheduler = instance["task"]
            instance = next((of[d["instance"]] for d in _outputs(instance) if d["kind"] != "port"), None)
        before = found.get(tuple(names), (kinds, 0.0, scheduler))[1]
        found[tuple(names)] = (kinds, before + share, scheduler)
    return list(found.values())


def busiest(plan, found, hz):
    """What limits a layout: {"pps", "core", "limit", "cores": [...]}. SMT siblings are cores here."""
    cores = {c["core"]: c for c in plan["cores"]}
    core, load = max(found.items(), key=lambda item: item[1].cycles)
    rows = [{"core": n, "socket": cores[n]["socket"], "physical_core": cores[n]["physical_core"], "cycles": load.cycles, "rings": load.rings, "tasks": load.tasks}
            for n, load in sorted(found.items())]
    limit = "rings" if load.rings > load.cycles / 2 else "scheduler" if load.schedulers and len(found) > 1 else "core"
    return {"pps": hz / load.cycles, "core": core, "limit": limit, "cores": rows}
