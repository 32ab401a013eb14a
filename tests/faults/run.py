#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Faults, caused for real: what the operator sees, that what is lost is counted, and the recovery.

usage: run.py BINARY [--all] [--filter NAME] [--table FILE]

Without --all only the short ones: the others take longer, or need root. Prints the fault table; doc/faults.md has it
as it was measured.
"""

import argparse
import os
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import lab  # noqa: E402

try:
    import scapy  # noqa: F401
except ImportError:
    print("SKIP all: Scapy is not installed (Debian package python3-scapy)\n0 passed, 0 failed, 1 skipped")
    sys.exit(77)

import clients  # noqa: E402
import interfaces  # noqa: E402
import memory  # noqa: E402
import peers  # noqa: E402
import pipeline  # noqa: E402
import restart  # noqa: E402
from process import Context  # noqa: E402
from tally import Tally  # noqa: E402

PARTS = (pipeline, interfaces, peers, memory, clients, restart)
COLUMNS = ("fault", "what the operator sees", "packets lost", "recovery")


def run(test, args):
    """Rows of a test, or why it is skipped."""
    folder = tempfile.mkdtemp(prefix="vbng-faults-")
    try:
        return test(Context(args.binary, folder))
    except (RuntimeError, OSError, KeyError) as e:
        return [lab.Row("", wrong=[f"{type(e).__name__}: {e}"])]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def markdown(rows):
    """The fault table."""
    lines = [COLUMNS, ("---",) * len(COLUMNS)]
    lines += [(r.fault, r.saw, r.lost, r.recovery) for r in rows]
    return "".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |\n" for line in lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("binary")
    parser.add_argument("--all", action="store_true", help="also those that take long or need root")
    parser.add_argument("--filter", default="", help="run only tests whose name contains this")
    parser.add_argument("--table", help="write the fault table there, as Markdown")
    args = parser.parse_args()
    tally, table = Tally(), []
    for part in PARTS:
        for name, short, test in part.TESTS:
            if args.filter not in name or not (short or args.all):
                continue
            rows = run(test, args)
            if isinstance(rows, str):
                tally.skip(name, rows)
                continue
            tally.result(name, [w for r in rows for w in r.wrong])
            table += rows
    print("\n" + markdown(table), flush=True)
    if args.table:
        with open(args.table, "w") as f:
            f.write(markdown(table))
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())
