# SPDX-License-Identifier: BSD-3-Clause
"""The projection of a gateway onto a machine: packets and bits per second for numbers of cores, and the first thing that limits them."""

from dataclasses import dataclass

from .arrange import arrange, sharded, whole
from .path import ways

LINE = 64  # bytes of a cache line
LINES = 6  # from memory for a packet: mbuf, frame, the line before it, slot of the VLAN pair, subscriber, LPM group (doc/bench.md)
SCHEDULER_LINES = 4  # more with a scheduler: pipe, queue, and mbuf and frame again after the wait
WRITTEN = 0.5  # share of the lines that go back
USABLE = 0.6  # of a memory's rate, where lines are read at random
TUNNEL = 24  # bytes that a frame grows by upstream, but for the shortest, whose padding goes


@dataclass(frozen=True)
class Question:
    """What is asked: a plan, costs, a Cpu, Ports or None for ports that never limit, bytes of a frame with FCS at the access side, numbers of cores."""

    plan: dict
    costs: object
    cpu: object
    ports: object
    packet: int
    cores: list


def schedulers(plan):
    """The number of tasks of type qos."""
    return len({i["task"] for i in plan["instances"] if i["type"] == "qos"})


def core_size(packet):
    """Bytes with FCS of a frame at the core side."""
    return packet + (TUNNEL - 10 if packet == 64 else TUNNEL)


def bytes_of_memory(packet, scheduled):
    """Bytes that a packet moves between caches and memory: the lines that miss, and the frame in and out."""
    lines = LINES + (SCHEDULER_LINES if scheduled else 0)
    return lines * LINE * (1 + WRITTEN) + packet + core_size(packet)


def project(q):
    """Rows for the numbers of cores, as dicts for JSON, with "limit" one of "cores", "ring", "one scheduler per core", "shards", "memory bandwidth",
    "port rate". Raises Failure where nothing was measured of a task."""
    found = ways(q.plan)
    number = schedulers(q.plan)
    hz = q.cpu.hz
    limits = {}
    if q.ports is not None:
        limits["port rate"] = q.ports.pps(q.packet, core_size(q.packet))
    moved = bytes_of_memory(q.packet, number > 0)
    if q.cpu.bandwidth:
        limits["memory bandwidth"] = USABLE * q.cpu.bandwidth / moved
    rows = []
    for n in (n for n in q.cores if n <= q.cpu.cores):
        a = arrange(found, q.costs, hz, n, number)
        one_core = a.pps
        shards = sharded(found, q.costs, hz, n) if number else None
        if shards is not None and shards.pps > a.pps * (1 + 1e-9):
            a = shards
        name, least = min(limits.items(), key=lambda item: item[1], default=("", float("inf")))
        pps = min(a.pps, least)
        rows.append({"cores": n, "pps": pps, "bps": pps * q.packet * 8, "limit": name if least < a.pps else a.limit, "cycles": a.cycles, "rings": a.rings,
                     "used": a.used, "scheduler_cores": a.schedulers, "beside": [list(b) for b in a.beside], "memory": pps * moved,
                     "unsharded_pps": min(one_core, least) if number else None, "spreading_cores": a.spreading})
    return {"rows": rows, "limits": limits, "one_core_cycles": whole(found, q.costs), "schedulers": number, "bytes_of_memory": moved}
