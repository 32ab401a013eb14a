#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What captures cost: throughput of a saturated gateway with and without one, in turns, in one run.

usage: cost.py [--config FILE] [--layout FILE] [--rounds N] [--against BINARY] BINARY
Prints, for each kind of capture, the median ratio to the throughput right before it, with the least and the most, and
what a packet takes more on the core that is saturated; with --against, the ratio of both binaries without a capture. To
be run on a machine that does nothing else.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE] + [os.path.join(os.path.dirname(HERE), other) for other in ("pcap", "control")]

import bed  # noqa: E402

SECONDS = 0.5
PORTS = ["cpe0", "cpe1", "core0", "core1"]
TASKS = ["classify", "decap", "route", "gre_up", "mpls_up", "mpls_down", "gre_down", "encap"]
KINDS = {
    "drops only": {"tasks": [f"{t}:drops" for t in TASKS]},
    "one subscriber of 65536, at all ports": {"ports": PORTS, "subscriber": 7},
    "1 packet of 1000, at all ports": {"ports": PORTS, "every": 1000},
    "all, at all ports": {"ports": PORTS, "snaplen": 64},
    "all, before and after 8 tasks": {"tasks": TASKS, "snaplen": 64},
}


class Saturated(bed.Bed):
    """A gateway whose generators send what they can."""

    def __init__(self, binary, folder, args, captures):
        options = [word for p in PORTS for word in ("--set", f"gen_{p}.rate=100%")]
        options += ["--layout", args.layout] if args.layout else []
        super().__init__(binary, folder, args.config, options, captures)
        time.sleep(1)

    def rate(self):
        """Packets/s that arrive at the sink."""
        counts = []
        for _ in range(2):
            counts.append((time.monotonic(), self.ask("show-ledger")["ledger"]["consumed"]))
            time.sleep(SECONDS)
        (t0, n0), (t1, n1) = counts
        return (n1 - n0) / (t1 - t0)


def captures(binary, args):
    """Ratios by kind."""
    ratios, more, states, off = {k: [] for k in KINDS}, {k: [] for k in KINDS}, {}, []
    with tempfile.TemporaryDirectory(prefix="vbng-cost-") as folder:
        b = Saturated(binary, folder, args, True)
        try:
            for _ in range(args.rounds):
                for kind, keys in KINDS.items():
                    off.append(b.rate())
                    b.start("cost.pcapng", force=True, seconds=60, packets=10**9, bytes=1 << 33, **keys)
                    rate = b.rate()
                    ratios[kind].append(rate / off[-1])
                    more[kind].append(1 / rate - 1 / off[-1])
                    states[kind] = b.stop_capture()
            hz = b.end()["tsc_hz"]
        finally:
            b.kill()
    print(f"without: {statistics.median(off) / 1e6:.2f} Mpps ({min(off) / 1e6:.2f}-{max(off) / 1e6:.2f})")
    for kind, r in ratios.items():
        s = states[kind]
        print(f"{kind:40} {statistics.median(r):.3f} ({min(r):.3f}-{max(r):.3f})"
              f" {statistics.median(more[kind]) * hz:+5.0f} cycles/packet; in the last one "
              f"{s['packets'] / s['seconds'] / 1e6:.3f} M/s written, {s['lost'] / max(s['taken'], 1):.0%} lost")


def compare(args):
    """The binary without a capture against another one, in turns."""
    ratios = []
    for k in range(args.rounds):
        rates = {}
        for binary in (args.binary, args.against)[:: 1 if k % 2 else -1]:
            with tempfile.TemporaryDirectory(prefix="vbng-cost-") as folder:
                b = Saturated(binary, folder, args, False)
                try:
                    rates[binary] = b.rate()
                finally:
                    b.kill()
        ratios.append(rates[args.binary] / rates[args.against])
    print(f"against {args.against}: {statistics.median(ratios):.3f} ({min(ratios):.3f}-{max(ratios):.3f})")


def main():
    parser = argparse.ArgumentParser(description="what captures cost")
    parser.add_argument("binary")
    parser.add_argument("--config", default=os.path.join(HERE, "../../cfg/bng-4port.cfg"))
    parser.add_argument("--layout", metavar="FILE", help="instead of the configuration's")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--against", metavar="BINARY", help="only compare both, without a capture")
    args = parser.parse_args()
    if args.against:
        compare(args)
    else:
        captures(args.binary, args)
    return 0


if __name__ == "__main__":
    sys.exit(main())
