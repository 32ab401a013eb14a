#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""All bars of line rate and of both families as one table, by the programs of this folder in one run; PROX's cycles beside.

usage: bars.py [--passes N] [--rounds N] [--no-huge] [--quick] BUILD

For figures: a quiet machine, and `echo 1024 > /proc/sys/vm/nr_hugepages` before. A pass takes some minutes. A bar is judged by medians, in
each pass; NONE is one without a figure, for other work had the CPUs, and is not met. Exit status: 0 when all bars are met in all passes,
1 when one is not, 3 when a program does not work.
"""

import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass

PROX = "PROX's cycles: medians of 6 to 9 runs on another machine, TSC 2.3 GHz, 32768 users, 8192 routes"


@dataclass
class Bar:
    """A figure of a program that has to be at most, or at least, so much."""

    what: str
    program: str
    row: str
    figure: str  # cycles: median of cycles per packet; ratio: to what the row is compared with; another row's name: ratio of the cycles to that row's
    most: float = None
    least: float = None
    prox: float = None

    def meets(self, value):
        """Is the bar met?"""
        return (self.most is None or value <= self.most) and (self.least is None or value >= self.least)

    def bound(self):
        """The bar, for people."""
        return f"<= {self.most:g}" if self.least is None else f">= {self.least:g}"


BARS = (
    Bar("upstream, to the floor", "bench", "upstream, fused", "ratio", 1.4),
    Bar("downstream, to the floor", "bench", "downstream, fused", "ratio", 1.4),
    Bar("both ways, cycles", "bench", "both ways, fused", "cycles", 65, prox=273),
    Bar("generator, cycles", "bench", "gen", "cycles", 35, prox=54),
    Bar("IPv6 up, to IPv4", "bench", "upstream, IPv6", "ratio", 1.2),
    Bar("IPv6 down, to IPv4", "bench", "downstream, IPv6", "ratio", 1.2),
    Bar("IPv6 both ways, to IPv4", "bench", "both ways, IPv6", "ratio", 1.2),
    Bar("half IPv6, both ways", "bench", "both ways, half IPv6", "ratio", 1.05),
    Bar("IPv4 where IPv6 is configured", "bench", "both ways, IPv4", "ratio", 1.02),
    Bar("1 M dual-stack lookups, to 64 k", "bench-subscriber6", "ids in order", "ratio", 1.5),
    Bar("... of ids in no order, to 64 k", "bench-subscriber6", "ids in no order", "ratio", 1.5),
    Bar("qos task, cycles", "bench-qos", "qos: task", "cycles", 130),
    Bar("qos task, to librte_sched", "bench-qos", "qos: task", "ratio", 0.40),
    Bar("classify > qos > tx, cycles", "bench-qos", "qos: minimal", "cycles", 190, prox=601),
    Bar("BNG and QoS both ways, cycles", "bench-qos", "qos: BNG, fused", "cycles", 220, prox=1170),
    Bar("four best-effort queues, to one", "bench-qos", "be: task", "one: task", 1.0),
    Bar("shaping bites at 2 x, to unshaped", "bench-qos", "shaped 2x: task", "qos: task", 1.0),
    Bar("shaping bites at 10 x, to unshaped", "bench-qos", "shaped 10x:task", "qos: task", 1.0),
    Bar("20 Mpps offered, of saturation", "bench-overload", "20 Mpps", "ratio", least=0.90),
    Bar("high class lost at 1.5 x, %", "bench-overload", "1.5 x", "high", 0.01),
    Bar("two cores, of one", "bench-shards", "2 cores, 2 shards", "ratio", least=1.85),
)


def run(build, program, options, env=None):
    """What a program of the bench prints. A status of 1 says that one of its own bars is missed."""
    path = os.path.join(build, "tests", "bench", program)
    done = subprocess.run([path, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, env={**os.environ, **(env or {})})
    if done.returncode not in (0, 1):
        print(f"bars: {program} ended with status {done.returncode}: {done.stderr.strip()}", file=sys.stderr)
        sys.exit(3)
    return done.stdout


def cases(build, program, options, folder):
    """{row: {cycles, ratio}} of bench and bench-qos, and what they say of the machine."""
    path = os.path.join(folder, "cases.json")
    run(build, program, [*options, "--json", path])
    with open(path, encoding="utf-8") as f:
        found = json.load(f)
    rows = {c["name"]: {"cycles": c["cycles"]["median"], **({"ratio": c["ratio"]["median"]} if "ratio" in c else {})} for c in found["cases"]}
    return rows, f"{found['machine']}, TSC {found['tsc_hz'] / 1e9:.2f} GHz, {found['dpdk']}, {found['memory']}"


def overload(text):
    """The same of bench-overload: ratio of what comes out, and the part of the high class that is lost, in %."""
    rows = {}
    for line in text.splitlines():
        m = re.match(r"(\S.*?)  +[\d.]+  ([\d.]+) \(.*?\)  +([\d.]+)\+([\d.]+)", line)
        if m:
            rows[m[1]] = {"ratio": float(m[2]), "high": float(m[3]) + float(m[4])}
    return rows


TWO_CORES = 1.8  # of one, by two schedulers that share nothing; less do two threads of one core, or CPUs that something else has


def shards(text):
    """The same of bench-shards, of its first table in which the CPUs were two cores; not a number where there is none, or in no round they had the CPUs."""
    for table in text.split("\n\n"):
        rows = re.finditer(r"^(\S.*?)  +(?:[\d.]+|none) +([\d.]+|none) +\d+ of \d+$", table, re.M)
        found = {m[1]: {"ratio": math.nan if m[2] == "none" else float(m[2])} for m in rows}
        if found.get("2 cores, 2 schedulers that share nothing", {"ratio": 0})["ratio"] >= TWO_CORES:
            return found
    return {"2 cores, 2 shards": {"ratio": math.nan}}


def measure(build, args, folder):
    """({program: {row: figures}}, the machine)."""
    quick = ["--quick"] if args.quick else []
    pages = ["--no-huge"] if args.no_huge else []
    rounds = quick or ["--rounds", str(args.rounds)]
    out = {}
    for program in ("bench", "bench-qos"):
        print(f"bars: {program}", file=sys.stderr)
        out[program], machine = cases(build, program, [*rounds, *pages], folder)
    print("bars: bench-overload, bench-shards, bench-subscriber6", file=sys.stderr)
    out["bench-overload"] = overload(run(build, "bench-overload", [*quick, *pages]))
    out["bench-shards"] = shards(run(build, "bench-shards", [*quick, *pages]))
    text = run(build, "bench-subscriber6", ["1048576", "3" if args.quick else "40"], None if args.no_huge else {"BENCH_HUGE": "1"})
    out["bench-subscriber6"] = {what: {"ratio": float(ratio)} for what, ratio in re.findall(r"^(ids .*?):.* ratio ([\d.]+)", text, re.M)}
    return out, machine


def value(bar, results):
    """The figure of a bar."""
    row = results[bar.program][bar.row]
    if bar.figure in row:
        return row[bar.figure]
    return row["cycles"] / results[bar.program][bar.figure]["cycles"]


def main():
    """Measure, print, judge."""
    p = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    p.add_argument("--passes", type=int, default=2, metavar="N", help="how often all is measured (default: 2)")
    p.add_argument("--rounds", type=int, default=9, metavar="N", help="repetitions of bench and bench-qos in a pass (default: 9)")
    p.add_argument("--no-huge", action="store_true", help="use ordinary pages (default: huge pages if enough are free)")
    p.add_argument("--quick", action="store_true", help="few repetitions: that all of it works; no bar is judged by the exit status")
    p.add_argument("build", metavar="BUILD", help="the folder of the build")
    args = p.parse_args()
    with tempfile.TemporaryDirectory(prefix="vbng-bars-") as folder:
        passes = [measure(args.build, args, folder) for _ in range(args.passes)]
    print(f"machine  {passes[0][1]}\n{PROX}\n\n{'':34} {'bar':>8}" + "".join(f"{f'pass {n + 1}':>9}" for n in range(args.passes)) + f" {'':7}{'PROX':>6}")
    missed = 0
    for bar in BARS:
        values = [value(bar, results) for results, _ in passes]
        good = sum(bar.meets(v) for v in values)
        missed += good < len(values)
        verdict = "OK" if good == len(values) else "MISSED" if good == 0 else f"{good} of {len(values)}"
        verdict = "NONE" if all(math.isnan(v) for v in values) else verdict
        print(f"{bar.what:34} {bar.bound():>8}" + "".join(f"{v:9.3g}" for v in values) + f" {verdict:7}" + (f"{bar.prox:6g}" if bar.prox else ""))
    print(f"\n{len(BARS) - missed} of {len(BARS)} bars are met" + (" in all passes" if args.passes > 1 else ""))
    return 1 if missed and not args.quick else 0


if __name__ == "__main__":
    sys.exit(main())
