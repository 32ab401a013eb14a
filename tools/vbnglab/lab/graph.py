# SPDX-License-Identifier: BSD-3-Clause
"""The graph of a configuration, read from `vbng --plan=json`: tasks, links, and the stages that a pipeline has."""

import json
from dataclasses import dataclass, field

from . import run
from .failure import Failure

TESTER = ("gen", "sink")


@dataclass
class Task:
    """A task with the names of the tasks that it leads to."""

    name: str
    type: str
    ports: list  # names of the ports that it reads
    to: list = field(default_factory=list)


@dataclass
class Stage:
    """Tasks that stay together in every layout, in the order of the graph."""

    kind: str  # receive, qos, work, transmit or slow
    tasks: list
    parallel: bool = False  # fed by a load balancer: it may have several workers


class GraphError(Failure):
    """The configuration has no plan."""


class Graph:
    """Tasks by name, in the order of the configuration."""

    def __init__(self, plan):
        self.plan = plan
        self.tasks = {}
        by_instance = {i["instance"]: i["task"] for i in plan["instances"]}
        for i in plan["instances"]:
            t = self.tasks.setdefault(i["task"], Task(i["task"], i["type"], [r["port"] for r in i["receives"]]))
            for d in (d for o in i["outputs"] for d in o["destinations"] if d["kind"] != "port"):
                name = by_instance[d["instance"]]
                if name not in t.to:
                    t.to.append(name)

    @property
    def generators(self):
        """Names of the tasks that make traffic."""
        return [t.name for t in self.tasks.values() if t.type == "gen"]

    @property
    def sinks(self):
        """Names of the tasks that take it back."""
        return [t.name for t in self.tasks.values() if t.type == "sink"]

    @property
    def gateway(self):
        """Names of all other tasks."""
        return [t.name for t in self.tasks.values() if t.type not in TESTER]

    def reachable(self, name, without=()):
        """The task and all that its packets can reach, except through the tasks in without."""
        seen, todo = [], [name]
        while todo:
            n = todo.pop()
            if n not in seen and n not in without:
                seen.append(n)
                todo += self.tasks[n].to
        return seen

    def slow(self):
        """The slow path: tasks of type arp, and those that packets reach only from there."""
        arps = [n for n in self.gateway if self.tasks[n].type == "arp"]
        fast = {n for r in self.receivers() for n in self.reachable(r, without=arps)}
        return [n for n in self.gateway if n not in fast]

    def receivers(self):
        """Tasks of the gateway that read ports."""
        return [n for n in self.gateway if self.tasks[n].ports]

    def order(self):
        """The gateway's tasks without the slow path, each behind all that lead to it."""
        slow, done = set(self.slow()), []
        left = [n for n in self.gateway if n not in slow]
        while left:
            ready = next((n for n in left if not any(n in self.tasks[m].to for m in left)), left[0])
            left.remove(ready)
            done.append(ready)
        return done

    def _kind(self, name):
        t = self.tasks[name]
        if t.ports:
            return "receive"
        return {"qos": "qos", "forward": "transmit"}.get(t.type, "work")

    def stages(self):
        """The stages of a pipeline. A load balancer belongs to the stage that feeds it. Header work is one stage in each direction;
        where load balancers feed it, one for both, because a worker serves both."""
        stages, home = [], {}
        for name in self.order():
            before = [n for n in home if name in self.tasks[n].to]
            kind = self._kind(name)
            spread = any(self.tasks[n].type == "lb" for n in before)
            stage = None
            if self.tasks[name].type == "lb" and before:
                stage = home[before[0]]
            elif kind == "work" and spread:
                stage = next((s for s in stages if s.parallel), None)
            elif kind == "work":
                stage = next((home[n] for n in before if home[n].kind == "work"), None)
            if stage is None:
                stage = Stage(kind, [], spread)
                stages.append(stage)
            stage.tasks.append(name)
            home[name] = stage
        if self.slow():
            stages.append(Stage("slow", self.slow()))
        return stages


def load(config, vbng=None, options=()):
    """Read the graph of a configuration file. options: more options of vbng (--set ...). Raises GraphError."""
    status, out, err = run.query(["--plan=json", *options, config], vbng=vbng)
    if status != 0:
        raise GraphError(err.strip() or f"vbng --plan ended with status {status}")
    return Graph(json.loads(out))
