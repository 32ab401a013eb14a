#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What it costs the packets that everything is read ten times a second. By hand: it needs two quiet CPUs.

usage: cost.py VBNG [ROUNDS]

Gateway and generators run on CPU 0 and sleep when there is nothing to do; the reader and vbng's own threads run on CPU 1. Spans with (A)
and without (B) a reader take turns in one run, A B B A, so that drift cancels. What counts is the ratio of packets sunk per second of CPU
time of the gateway's thread, so that what else takes the CPU does not; and the packets that were lost anywhere but in the queues of those
who send too much.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time

from run import CONFIG, Client

LAYOUT = """layout = ( { core = "0"; tasks = ["classify", "qos_up", "decap", "route", "fragment", "gre_up", "mpls_up", "mpls_down",
    "gre_down", "encap", "fragment_down", "qos_down", "arp", "own_route", "gen_cpe0", "gen_cpe1", "gen_core0", "gen_core1",
    "heavy_cpe0", "heavy_core0", "sink"]; } );
"""
GENERATORS = ("gen_cpe0", "gen_cpe1", "gen_core0", "gen_core1")
RATE = "200kpps"  # of each
PERIOD, SECONDS = 0.1, 1.0
GROUPS = ("task", "port", "link", "pool", "core", "ledger", "qos", "subscriber")


def read_all(client, counts):
    """Every figure of every object."""
    for group, count in counts.items():
        if group == "task":  # these have keys of their own
            for i in range(count):
                client.ask(f"/vbng/task/get,{i}")
            continue
        first = 0
        while first < count:
            first += client.ask(f"/vbng/{group}/page,{first}").count("\n")


class Run:
    """A gateway, all of it on CPU 0."""

    def __init__(self, vbng, layout, settings):
        command = ["taskset", "-c", "0,1", vbng, "--quiet", "--layout", layout, *settings, CONFIG]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        path = f"/var/run/dpdk/vbng-{self.process.pid}/dpdk_telemetry.v2"
        while not os.path.exists(path):
            time.sleep(0.1)
        time.sleep(2)
        self.client = Client(path)
        self.counts = {}
        for group in GROUPS:
            self.counts[group] = self.client.ask(f"/vbng/{group}")["count"]

    def end(self):
        self.client.close()
        self.process.terminate()
        return self.process.wait(30)

    def lost(self):
        """Packets that were dropped, but not by a scheduler whose queue was full."""
        tasks = [self.client.ask(f"/vbng/task/get,{i}") for i in range(self.counts["task"])]
        ports = [self.client.ask(f"/vbng/port/get,{i}") for i in range(self.counts["port"])]
        dropped = sum(n for t in tasks for key, n in t.items() if (key.startswith("drop_") or key == "link_full") and key != "drop_queue_full")
        return dropped + sum(p["rx_missed"] + p["rx_no_mbuf"] + p["tx_errors"] for p in ports)

    def span(self, reading):
        """(packets sunk per second of CPU time, how often all was read per second, packets lost) of SECONDS."""
        reads, lost = 0, self.lost()
        start, sunk, cpu = time.monotonic(), *self.progress()
        while time.monotonic() - start < SECONDS:
            if reading:
                read_all(self.client, self.counts)
                reads += 1
            time.sleep(max(0.0, start + (reads * PERIOD if reading else SECONDS) - time.monotonic()))
        took, sunk_now, cpu_now = time.monotonic() - start, *self.progress()
        return (sunk_now - sunk) / (cpu_now - cpu), reads / took, self.lost() - lost

    def progress(self):
        """Packets sunk, and seconds of CPU time of the thread that does it all."""
        return self.client.ask("/vbng/task/get,sink")["in"], self.client.ask("/vbng/core/get,0")["cpu_ns"] / 1e9

    def rounds(self, n):
        """For each of n rounds A B B A: (ratio with / without, reads per second, lost with, lost without)."""
        for _ in range(n):
            a, b, c, d = (self.span(reading) for reading in (True, False, False, True))
            yield (a[0] + d[0]) / (b[0] + c[0]), (a[1] + d[1]) / 2, a[2] + d[2], b[2] + c[2]


def main(vbng, n):
    os.sched_setaffinity(0, {1})
    with tempfile.NamedTemporaryFile("w", suffix=".cfg") as layout:
        layout.write(LAYOUT)
        layout.flush()
        run = Run(vbng, layout.name, ["--set", "idle=sleep", *(word for gen in GENERATORS for word in ("--set", f"{gen}.rate={RATE}"))])
        try:
            rounds = list(run.rounds(n))
        finally:
            status = run.end()
    ratios, paces, lost, lost_without = zip(*rounds)
    print(f"every figure of every object, {statistics.median(paces):.1f} times a second: packets with / without, by CPU time, "
          f"{statistics.median(ratios):.4f} ({min(ratios):.4f}-{max(ratios):.4f}), {n} rounds; lost with {sum(lost)}, without {sum(lost_without)}; "
          f"exit status {status}")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) == 3 else 9)
