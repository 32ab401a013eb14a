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
    """(tasks of type qos, rates that their shards would share: each scheduler's own, and one for each port behind it)."""
    tasks = {i["task"] for i in plan["instances"] if i["type"] == "qos"}
    access = sum(1 for p in plan["ports"] if p["subscribers"])
    return len(tasks), (1 + access) * len(tasks)


def core_size(packet):
    """Bytes with FCS of a frame at the core side."""
    return packet + (TUNNEL - 10 if packet == 64 else TUNNEL)


def bytes_of_memory(packet, scheduled):
    """Bytes that a packet moves between caches and memory: the lines that miss, and the frame in and out."""
    lines = LINES + (SCHEDULER_LINES if scheduled else 0)
    return lines * LINE * (1 + WRITTEN) + packet + core_size(packet)


def project(q):
    """Rows for the numbers of cores, as dicts for JSON, with "limit" one of "cores", "ring", "one scheduler per core", "memory bandwidth",
    "port rate". Raises Failure where nothing was measured of a task."""
    found = ways(q.plan)
    number, rates = schedulers(q.plan)
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
        shards = sharded(found, q.costs, hz, n, rates) if number else None
        name, least = min(limits.items(), key=lambda item: item[1], default=("", float("inf")))
        pps = min(a.pps, least)
        rows.append({"cores": n, "pps": pps, "bps": pps * q.packet * 8, "limit": name if least < a.pps else a.limit, "cycles": a.cycles, "rings": a.rings,
                     "used": a.used, "scheduler_cores": a.schedulers, "beside": [list(b) for b in a.beside], "memory": pps * moved,
                     "sharded_pps": None if shards is None else min(shards, least)})
    return {"rows": rows, "limits": limits, "one_core_cycles": whole(found, q.costs), "schedulers": number, "rates": rates, "bytes_of_memory": moved}
