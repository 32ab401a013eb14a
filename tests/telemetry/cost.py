#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What it costs the packets that everything is read ten times a second. By hand: it needs two quiet CPUs.

usage: cost.py VBNG [ROUNDS]

Gateway and generators, saturated, all run on CPU 0; the reader and vbng's own threads on CPU 1. Seconds with and without a reader
take turns in one run, so that only their ratio counts: packets sunk per second with, by packets sunk without.
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
PERIOD, SECONDS = 0.1, 2.0
GROUPS = ("task", "port", "link", "pool", "core", "ledger", "qos", "subscriber")


def read_all(client, counts):
    """Every figure of every object. Returns how many answers that took."""
    asked = 0
    for group, (count, columns) in counts.items():
        if group == "task":  # these have keys of their own
            for i in range(count):
                client.ask(f"/vbng/task/get,{i}")
            asked += count
            continue
        first = 0
        while first < count:
            first += len(client.ask(f"/vbng/{group}/page,{first}")) // columns
            asked += 1
    return asked


def packets_per_second(client, counts, reading):
    """Of the sink, over SECONDS; and how often all was read."""
    start, reads = time.monotonic(), 0
    before = client.ask("/vbng/task/get,sink")["in"]
    while time.monotonic() - start < SECONDS:
        if reading:
            read_all(client, counts)
            reads += 1
        time.sleep(max(0.0, start + (reads if reading else 1e9) * PERIOD - time.monotonic()) if reading else SECONDS)
    took = time.monotonic() - start
    return (client.ask("/vbng/task/get,sink")["in"] - before) / took, reads / took


def main(vbng, rounds):
    with tempfile.NamedTemporaryFile("w", suffix=".cfg") as layout:
        layout.write(LAYOUT)
        layout.flush()
        command = ["taskset", "-c", "0,1", vbng, "--quiet", "--layout", layout.name, CONFIG]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            os.sched_setaffinity(0, {1})
            path = f"/var/run/dpdk/vbng-{process.pid}/dpdk_telemetry.v2"
            while not os.path.exists(path):
                time.sleep(0.1)
            time.sleep(2)
            client = Client(path)
            counts = {}
            for group in GROUPS:
                rows = client.ask(f"/vbng/{group}")
                counts[group] = (rows.pop("count"), sum(not key.endswith("_") for key in rows))
            ratios, paces = [], []
            for _ in range(rounds):
                without, _ = packets_per_second(client, counts, False)
                with_reader, pace = packets_per_second(client, counts, True)
                ratios.append(with_reader / without)
                paces.append(pace)
            client.close()
        finally:
            process.terminate()
            status = process.wait(30)
    print(f"{read_all.__doc__.split('.')[0].lower()}, {statistics.median(paces):.1f} times a second: packets with / without "
          f"{statistics.median(ratios):.3f} ({min(ratios):.3f}-{max(ratios):.3f}), {rounds} rounds; exit status {status}")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) == 3 else 9)
