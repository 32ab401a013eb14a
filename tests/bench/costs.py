#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What it costs the packets that somebody reads, changes and captures while they flow: all of it in one run.

usage: costs.py [--rounds N] [--seconds S] [--only WORD] VBNG

A saturated gateway of 65536 subscribers with QoS in both directions and its generators are one core's, on CPU 0; the reader and
vbng's own threads have CPU 1. Spans in which something is done take turns with spans in which nothing is. What counts is the
ratio of packets for each second of CPU time of that core, so that what else takes the CPU does not; and what was lost. For
figures it needs two quiet CPUs. Exit status: 0, or 1 when packets were lost that should not be, or something was not done.
"""

import argparse
import os
import sys
import tempfile
import time
from dataclasses import dataclass, field

from tests.common.limits import limit
from tests.control import load
from vbnglab.lab import run, stats, telemetry

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))

CONFIG = os.path.join(TOP, "cfg", "bng-qos-4port.cfg")
SATURATING = ("gen_cpe0", "gen_cpe1", "gen_core0", "gen_core1")
GENERATORS = (*SATURATING, "heavy_cpe0", "heavy_core0")  # the latter send more than their subscribers may have
PORTS = ["cpe0", "cpe1", "core0", "core1"]
TASKS = ["classify", "qos_up", "decap", "route", "gre_up", "mpls_up", "mpls_down", "gre_down", "encap", "qos_down"]
LAYOUT = """layout = ( { core = "0"; tasks = ["classify", "qos_up", "decap", "route", "fragment", "gre_up", "mpls_up", "mpls_down",
    "gre_down", "encap", "fragment_down", "qos_down", "arp", "own_route", "heavy_cpe0", "heavy_core0", "gen_cpe0",
    "gen_cpe1", "gen_core0", "gen_core1", "sink"]; } );
"""
GROUPS = ("port", "link", "pool", "core", "ledger", "qos", "subscriber")  # in pages; tasks have keys of their own
PATIENCE, SHORTLY = 20, 0.02  # seconds until there must be some of what a span is for; between two looks
SUBSCRIBER = {"port": "cpe0", "svlan": 300, "cvlan": 256, "ipv4": "10.9.0.1", "gre_key": 70000, "mac": "02:c9:00:00:00:00", "profile": "home-10M"}
ROUTE = {"prefix": "198.51.100.0/24", "port": "core0", "mac": "02:dd:00:00:00:00", "gre": "203.0.113.1", "mpls": 16}


class Gateway:
    """One that runs, its control socket and its telemetry."""

    def __init__(self, vbng, folder):
        layout = os.path.join(folder, "layout.cfg")
        self.there = set()  # of what the changes add and remove
        with open(layout, "w", encoding="ascii") as f:
            f.write(LAYOUT)
        control = os.path.join(folder, "control")
        settings = {"max_subscribers": "65600", "max_routes": "8200", "classify.shed": "0", "mpls_down.shed": "0"} | {f"{gen}.rate": "100%" for gen in SATURATING}
        self.running = run.start(CONFIG, settings=settings, layout=layout, share_cpus=True, vbng=vbng, extra=["--control", control, "--capture-dir", folder])
        while not os.path.exists(control):
            if not self.running.alive():
                sys.exit(f"costs: vbng did not start: {self.running.output()}")
            time.sleep(0.1)
        self.client = load.Client(control)
        self.must(cmd="show-ledger")
        self.telemetry = telemetry.Telemetry(f"/var/run/dpdk/vbng-{self.running.pid}/{telemetry.SOCKET}")
        self.tasks = self.telemetry.names("task")
        self.counts = {group: self.telemetry.count(group) for group in GROUPS}

    def must(self, **request):
        answer = self.client.ask(**request)
        if not answer.get("ok"):
            sys.exit(f"costs: {request}: {answer}")
        return answer

    def progress(self):
        """Packets sunk, and seconds of CPU time of the core that does it all."""
        return self.telemetry.ask("/vbng/task/get,sink")["in"], self.telemetry.ask("/vbng/core/get,0")["cpu_ns"] / 1e9

    def lost(self):
        """Packets that the gateway lost anywhere but in a shaper's full queue. What it does not take the generators drop."""
        tasks, ports = (self.telemetry.objects(group) for group in ("task", "port"))
        rows = [row for name, row in tasks.items() if name not in GENERATORS]
        dropped = sum(n for row in rows for key, n in row.items() if (key.startswith("drop_") or key == "link_full") and key != "drop_queue_full")
        return dropped + sum(p["rx_missed"] + p["rx_no_mbuf"] + p["tx_errors"] for p in ports.values())


def read_all(gateway, _):
    """Every figure of every object, as it comes."""
    for name in gateway.tasks:
        gateway.telemetry.ask(f"/vbng/task/get,{name}")
    for group, count in gateway.counts.items():
        first = 0
        while first < count:
            first += gateway.telemetry.ask(f"/vbng/{group}/page,{first}").count("\n")


def change_one(gateway, n):
    """A profile; a subscriber who comes or goes; a route that comes or goes."""
    what = ("profile", "subscriber", "route")[n % 3]
    if what == "profile":
        gateway.must(cmd="set-profile", subscriber=1 + n * 7919 % 65536, profile="home-10M")
        return
    gateway.there ^= {what}
    if what == "subscriber":
        gateway.must(cmd="add-subscriber", **SUBSCRIBER) if what in gateway.there else gateway.must(cmd="remove-subscriber", subscriber="cpe0 300.256")
    else:
        gateway.must(cmd="add-route", **ROUTE) if what in gateway.there else gateway.must(cmd="remove-route", prefix=ROUTE["prefix"])


@dataclass
class Way:
    """Something that is done, so many times a second, or a capture that runs; and what came of it, round by round."""

    name: str
    do: object = None
    rate: float = 0
    capture: dict = None
    done: int = 0
    speeds: list = field(default_factory=list)
    ratios: list = field(default_factory=list)
    rates: list = field(default_factory=list)
    lost: int = 0

    def _some(self, gateway, cpu):
        """Has the core had its CPU since then, and the capture a packet? A slow machine may need longer than a span, as one subscriber of 65536 sends seldom."""
        return gateway.progress()[1] > cpu and (self.capture is None or gateway.must(cmd="show-capture")["capture"]["packets"] > 0)

    def span(self, gateway, seconds):
        """Packets sunk per second of CPU time, in so many seconds or more."""
        if self.capture is not None:
            gateway.must(cmd="start-capture", file="costs.pcapng", force=True, seconds=600, packets=10**9, bytes=1 << 33, **self.capture)
        lost, done = gateway.lost(), 0
        start, (sunk, cpu) = time.monotonic(), gateway.progress()
        while (now := time.monotonic() - start) < seconds or (now < limit(PATIENCE) and not self._some(gateway, cpu)):
            if self.do is None:
                time.sleep(max(seconds - now, SHORTLY))
                continue
            self.do(gateway, self.done)
            self.done, done = self.done + 1, done + 1
            time.sleep(max(0.0, min(seconds, done / self.rate) - (time.monotonic() - start)))
        took, (sunk_now, cpu_now) = time.monotonic() - start, gateway.progress()
        self.lost += gateway.lost() - lost
        self.rates.append(done / took)
        if self.capture is not None:
            gateway.must(cmd="stop-capture")
            while (state := gateway.must(cmd="show-capture")["capture"])["running"]:
                time.sleep(0.02)
            self.done += state["packets"]
        self.speeds.append((sunk_now - sunk) / (cpu_now - cpu))
        return self.speeds[-1]


def ways():
    return [
        Way("everything is read", read_all, 10),
        Way("changes, few", change_one, 100),
        Way("changes, many", change_one, 1000),
        Way("capture: drops of all tasks", capture={"tasks": [f"{t}:drops" for t in TASKS]}),
        Way("capture: one subscriber, all ports", capture={"ports": PORTS, "subscriber": 7}),
        Way("capture: 1 packet of 1000, all ports", capture={"ports": PORTS, "every": 1000}),
        Way("capture: all packets, all ports", capture={"ports": PORTS, "snaplen": 64}),
        Way("capture: all, before and after all tasks", capture={"tasks": TASKS, "snaplen": 64}),
    ]


def measure(gateway, all_ways, rounds, seconds):
    """All ways, each between two spans of nothing, which are returned."""
    nothing = Way("nothing")
    for i in range(rounds):
        before = nothing.span(gateway, seconds)
        for way in all_ways:
            rate = way.span(gateway, seconds)
            after = nothing.span(gateway, seconds)
            way.ratios.append(2 * rate / (before + after))
            nothing.ratios.append(after / before)
            before = after
        if sys.stderr.isatty():
            print(f"\rround {i + 1} of {rounds}", end="", file=sys.stderr, flush=True)
    return nothing


def table(all_ways, nothing):
    lines = [f"{'':42} {'a second':>8} {'lost':>6}  packets/s of CPU time, median; ratio to nothing"]
    for way in (nothing, *all_ways):
        s, pace = stats.summary(way.ratios), f"{stats.median(way.rates):.0f}" if way.do else ""
        told = f"{s.median:.3f} ({s.interval.confidence:.0%}: {s.interval.low:.3f}-{s.interval.high:.3f}; all: {s.min:.3f}-{s.max:.3f})"
        lines.append(f"{way.name:42} {pace:>8} {way.lost:>6}  {stats.median(way.speeds) / 1e6:5.2f} M  {told}")
    return lines


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    p.add_argument("vbng")
    p.add_argument("--rounds", type=int, default=30, help="default: %(default)s, which take five minutes")
    p.add_argument("--seconds", type=float, default=0.5, help="of a span (default: %(default)s)")
    p.add_argument("--only", metavar="WORD", default="", help="what has this in its name")
    args = p.parse_args()
    all_ways = [way for way in ways() if args.only in way.name]
    if not all_ways or args.rounds < 1:
        p.error("nothing to measure")
    with tempfile.TemporaryDirectory(prefix="vbng-costs-") as folder:
        gateway = Gateway(os.path.abspath(args.vbng), folder)
        try:
            os.sched_setaffinity(0, {1} if os.cpu_count() > 1 else {0})
            time.sleep(2 * args.seconds)
            nothing = measure(gateway, all_ways, args.rounds, args.seconds)
        finally:
            result = gateway.running.stop()
    print("\n".join(table(all_ways, nothing)))
    wrong = [] if result.ok else [result.error]
    wrong += [f"{way.name}: {way.lost} packets lost" for way in (nothing, *all_ways) if way.lost]
    wrong += [f"{way.name}: not done" for way in all_ways if way.done == 0]
    for line in wrong:
        print(f"costs: {line}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
