# SPDX-License-Identifier: BSD-3-Clause
"""The calculation: ports and cores from the traffic and what a packet costs, memory from the plan of a configuration of that size."""

import math
import os
import tempfile
from dataclasses import dataclass, replace

from ..describe.source import PlanError, read_plan
from ..lab.failure import Failure
from .gateway import Gateway, configuration

FULL = 0.8  # of a port's rate that is planned for
WIRE = 20  # bytes of a frame's preamble, start and gap; 4 of FCS are in --packet
MOST_ACCESS = 16  # half of the ports of a gateway: DPDK has room for 32
PLENTY = 2**22  # mbufs of a plan that only asks how many are needed
LEAST = 2**16  # mbufs, as by default
MBUF_STEP = 1024


@dataclass(frozen=True)
class Demand:
    """What is wanted. Rates are in bit/s."""

    subscribers: int
    routes: int
    down: float  # mean of a subscriber in the busy hour
    up: float
    packet: float  # bytes of a mean frame at the access side, with FCS
    port_rate: float
    sold: float  # rate of the profile
    shaping: str
    queue: str
    waiting: float  # share of the subscribers whose queues are full at a time
    busy: float  # share of a core's time that is planned for
    hz: float  # of the cores' TSC
    device: float  # cycles of a packet in the drivers of its two ports


def _ceil(x):
    return max(1, math.ceil(x - 1e-9))


def traffic(d):
    """{"down_bps", "up_bps", "down_pps", "up_pps"} of all subscribers in the busy hour."""
    down, up = d.subscribers * d.down, d.subscribers * d.up
    return {"down_bps": down, "up_bps": up, "down_pps": down / (8 * d.packet), "up_pps": up / (8 * d.packet)}


def ports(d, t):
    """Ports of a side: both sides carry the same packets. Raises Failure where they are more than a gateway has."""
    wire = max(t["down_bps"], t["up_bps"]) * (d.packet + WIRE) / d.packet
    n = _ceil(wire / (FULL * d.port_rate))
    if n > MOST_ACCESS:
        raise Failure(f"{n} access ports of {d.port_rate / 1e9:g} Gbit/s are more than the {MOST_ACCESS} of one gateway: share the subscribers among several, "
                      "or take faster ports (--port)")
    return n


def cores(d, t, cost):
    """{"cores", "cycles", "schedulers", "pps_per_core"}: how many cores the packets take, and how many of them a scheduler of its own."""
    cycles = cost.gateway + d.device
    per_core = d.busy * d.hz / cycles
    pps = t["down_pps"] + t["up_pps"]
    one = max(t["down_pps"], t["up_pps"]) * cost.scheduler / (d.busy * d.hz)
    return {"cores": _ceil(pps / per_core), "cycles": cycles, "schedulers": _ceil(one) if cost.scheduler else 0, "pps_per_core": per_core}


def _plan(gateway, vbng):
    with tempfile.TemporaryDirectory(prefix="vbng-size-") as folder:
        path = os.path.join(folder, "sized.cfg")
        with open(path, "w", encoding="utf-8") as f:
            f.write(configuration(gateway))
        try:
            return read_plan(["--share-cpus", path], vbng)[0]
        except PlanError as e:
            raise Failure(f"vbng refuses so much:\n{e}") from e


def size(d, cost, vbng):
    """(what it takes as a dict for JSON, the Gateway whose plan says so). cost: a Cost; vbng: the program. Raises Failure."""
    t = traffic(d)
    n = ports(d, t)
    c = cores(d, t, cost)
    gateway = Gateway(d.subscribers, d.routes, n, n, d.port_rate, d.sold, d.shaping, d.queue, PLENTY, c["cores"])
    pool = _plan(gateway, vbng)["memory"]["pools"][0]
    wanted = pool["mbufs_needed"] + math.ceil(d.waiting * pool["mbufs_queued"])
    gateway = replace(gateway, mbufs=max(LEAST, math.ceil(wanted / MBUF_STEP) * MBUF_STEP))
    memory = _plan(gateway, vbng)["memory"]
    return {"demand": vars(d), "traffic": t, "ports": {"access": n, "core": n}, "cores": {**c, "measured_on": cost.source},
            "memory": {"mbufs": gateway.mbufs, "mbufs_queued": memory["pools"][0]["mbufs_queued"],
                       **{key: memory[key] for key in ("mbufs_bytes", "subscribers_bytes", "routes_bytes", "schedulers_bytes", "rings_bytes", "total_bytes",
                                                       "dpdk_bytes")},
                       "pages_2m": -(-memory["dpdk_bytes"] // 2**21), "pages_1g": -(-memory["dpdk_bytes"] // 2**30)}}, gateway
