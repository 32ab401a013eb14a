#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What bench-growth measures, as a table and a picture.

usage: python3 -m tests.growth.cycles [--cpu N] [--rounds N] [--before PROGRAM] [--out FILE.png] BENCH_GROWTH

--before is an older bench-growth, which is run first and after each part of the rounds, and drawn beside.
"""

import argparse
import re
import statistics
import subprocess
import sys

PARTS = 3
ROW = re.compile(r"^(\S.*?) {2,}(\d+) +(\d+) +(\d+) \((\d+)-(\d+)\) +([\d.]+) \(([\d.]+)-([\d.]+)\) +(\d+) MiB", re.M)


def run(program, args):
    """{(row, subports, pipes): (cycles, ratio)}, medians, by a program."""
    command = [program, "--rounds", str(args.rounds)] + (["--cpu", str(args.cpu)] if args.cpu is not None else [])
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"cycles: {program} ended with status {done.returncode}")
    return {(m[1], int(m[2]), int(m[3])): (float(m[4]), float(m[7])) for m in ROW.finditer(done.stdout)}


def draw(found, path):
    """The ratios of each row over its size."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rows = sorted({key[0] for key in found["now"][0]})
    fig, axes = plt.subplots(1, len(rows), figsize=(9, 3.4), sharey=True)
    for axis, row in zip(axes, rows):
        for name, parts in found.items():
            keys = sorted(k for k in parts[0] if k[0] == row)
            x = [k[1] if row.startswith("subports") else k[2] for k in keys]
            y = [[part[k][1] for part in parts] for k in keys]
            mid = [statistics.median(v) for v in y]
            spread = [[m - min(v) for m, v in zip(mid, y)], [max(v) - m for m, v in zip(mid, y)]]
            axis.errorbar(x, mid, yerr=spread, marker="o", capsize=3, label=name)
        axis.axhline(1.15, color="gray", linestyle="--", linewidth=1, label="bar")
        axis.set(xscale="log", title=row, xlabel="subports" if row.startswith("subports") else "pipes")
    axes[0].set_ylabel("cycles a packet, to the first")
    axes[-1].legend()
    fig.tight_layout()
    fig.savefig(path, dpi=100)


def main():
    """Measure by turns, print, draw."""
    p = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    p.add_argument("--cpu", type=int, metavar="N", help="the CPU of the measurement")
    p.add_argument("--rounds", type=int, default=21, metavar="N", help=f"of each of {PARTS} parts (default: 21)")
    p.add_argument("--before", metavar="PROGRAM", help="an older bench-growth, by turns with it")
    p.add_argument("--out", metavar="FILE", help="a picture")
    p.add_argument("program", metavar="BENCH_GROWTH")
    args = p.parse_args()
    programs = {**({"before": args.before} if args.before else {}), "now": args.program}
    found = {name: [] for name in programs}
    for _ in range(PARTS):
        for name, program in programs.items():
            found[name].append(run(program, args))
    for key in found["now"][0]:
        cells = [f"{name} " + " ".join(f"{part[key][0]:.0f} ({part[key][1]:.2f})" for part in parts) for name, parts in found.items()]
        print(f"{key[0]:24} {key[1]:4} {key[2]:8}  {'  '.join(cells)}")
    if args.out:
        draw(found, args.out)


if __name__ == "__main__":
    main()
