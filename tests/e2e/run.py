#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The real binary from start to end: whole configurations, several processes, signals, bad starts.

usage: run.py BINARY [--filter NAME]
"""

import argparse
import os
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "pcap")]

try:
    import scapy  # noqa: F401
except ImportError:
    print("SKIP all: Scapy is not installed (Debian package python3-scapy)\n0 passed, 0 failed, 1 skipped")
    sys.exit(77)

import bad_starts  # noqa: E402
import instrument  # noqa: E402
import layouts  # noqa: E402
import plans  # noqa: E402
import replay  # noqa: E402
import signals  # noqa: E402
import two_processes  # noqa: E402
import veth  # noqa: E402
from process import Context  # noqa: E402
from tally import Tally  # noqa: E402

PARTS = (plans, bad_starts, replay, instrument, layouts, signals, two_processes, veth)


def main():
    parser = argparse.ArgumentParser(description="the real binary from start to end")
    parser.add_argument("binary")
    parser.add_argument("--filter", default="", help="run only tests whose name contains this")
    args = parser.parse_args()

    folder = tempfile.mkdtemp(prefix="vbng-e2e-")
    ctx = Context(args.binary, folder)
    tally = Tally()
    try:
        for part in PARTS:
            for name, test in part.tests(ctx):
                if args.filter not in name:
                    continue
                wrong = test()
                if isinstance(wrong, str):
                    tally.skip(name, wrong)
                else:
                    tally.result(name, wrong)
    finally:
        shutil.rmtree(folder)
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())
