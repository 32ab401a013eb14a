#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Cycles of a whole gateway as its subscribers grow (doc/scale.md): bench-gateway of each size by turns, ratios to the smallest of the same turn.

usage: python3 -m tests.growth.gateway [--cpu N] [--rounds N] [--turns N] BUILD_FOLDER

5 GiB of free huge pages are needed: of ordinary ones, those of a million subscribers' schedulers are touched for the first time while it measures.
"""

import argparse
import json
import statistics
import subprocess
import sys

SIZES = {"1k": 1024, "64k": 65536, "1m": 1048576}


def measure(args, size):
    """{name of a case: median of its cycles} of one program."""
    command = [f"{args.build}/tests/bench/bench-gateway-{size}", "--huge", "--rounds", str(args.rounds), "--json", "-"]
    command += ["--cpu", str(args.cpu)] if args.cpu is not None else []
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{done.stderr}gateway: {command[0]} ended with status {done.returncode}")
    return {case["name"]: case["cycles"]["median"] for case in json.loads(done.stdout[done.stdout.index("{\""):])["cases"]}


def spread(values, digits):
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f}-{max(values):.{digits}f})"


def main():
    """Measure by turns, and print a table."""
    p = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    p.add_argument("--cpu", type=int, metavar="N", help="the CPU of the measurement")
    p.add_argument("--rounds", type=int, default=7, metavar="N", help="of each program in a turn (default: 7)")
    p.add_argument("--turns", type=int, default=3, metavar="N", help="of all programs (default: 3)")
    p.add_argument("build", metavar="BUILD_FOLDER")
    args = p.parse_args()
    turns = [{size: measure(args, size) for size in SIZES} for _ in range(args.turns)]
    print(f"{'':<16} {'subscribers':>11}  {'cycles, medians of turns':<24} ratio")
    for case in turns[0]["1k"]:
        for size, subscribers in SIZES.items():
            cycles = [turn[size][case] for turn in turns]
            print(f"{case:<16} {subscribers:>11}  {spread(cycles, 1):<24} {spread([turn[size][case] / turn['1k'][case] for turn in turns], 2)}")


if __name__ == "__main__":
    main()
