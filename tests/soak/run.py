#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A gateway with QoS under load and change, for a given time, looked at every second: doc/soak.md.

Exit status: 0 nothing was wrong, 1 something was (the report says what), 2 usage.
"""

import argparse
import os
import random
import socket
import sys
import tempfile
import time

from tests.soak import checks
from tests.soak import report
from tests.soak.bed import Bed, Broken
from tests.soak.churn import Churn, Schedule
from vbnglab.lab import telemetry

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))

GONE = (Broken, telemetry.Unreachable, OSError)  # a process has ended, or does not answer
LATENCY = {"p50": 0.5, "p99": 0.99}
REST_EVERY = 30.0  # seconds between two looks at a gateway at rest; a short run has six of them
WINDOW = 60.0  # seconds whose latency is compared


class Machine:
    """How much of the machine's CPU time was idle since the last look."""

    def __init__(self):
        self.before = self._read()

    def _read(self):
        with open("/proc/stat", encoding="ascii") as f:
            times = [int(n) for n in f.readline().split()[1:]]
        return times[3], sum(times)

    def idle(self):
        before, self.before = self.before, self._read()
        return (self.before[0] - before[0]) / max(1, self.before[1] - before[1])


def percentile(histogram, share):
    """In ns; None: there were no packets."""
    rank, below = share * histogram.total(), 0
    for ns, n in sorted(histogram.items()):
        below += n
        if below >= rank and n:
            return ns
    return None


class Soak:
    """One run, and what was seen."""

    def __init__(self, bed, seconds, rng, say):
        self.bed, self.seconds, self.say = bed, seconds, say
        self.schedule = Schedule(Churn(bed, rng), seconds)
        self.rows, self.rests, self.said, self.faults = [], [], [], []
        self.machine, self.latency = Machine(), bed.histogram()
        self.began = time.monotonic()

    def now(self):
        return time.monotonic() - self.began

    def look(self):
        """One row: the gateway's figures, and the latency of what has arrived since the last one."""
        row = {"at": self.now(), **self.bed.row()}
        latency = self.bed.histogram()
        new, self.latency = latency - self.latency, latency
        row |= {"arrived": new.total(), "idle": self.machine.idle(), **{key: percentile(new, share) for key, share in LATENCY.items()}}
        self.rows.append(row)
        self.said += [(row["at"], line) for line in self.bed.new_lines()]

    def rest(self):
        """When the other tester is there: what it holds of the gateway belongs to the figures."""
        if self.bed.guest is None or self.bed.leaving is not None or not self.bed.guest.ready():
            return False
        at = self.now()
        self.rests.append({"at": at, "changed": all(self.schedule.done.values()), **self.bed.rest()})
        self.machine.idle()
        self.latency = self.bed.histogram()
        return True

    def run(self):
        every = min(REST_EVERY, self.seconds / 6)
        rest_due, look_due = every / 2, 0.0
        while self.now() < self.seconds:
            time.sleep(max(0.0, look_due - self.now()))
            look_due = max(look_due + 1.0, self.now())
            self.bed.guest_gone()
            self.look()
            self.faults += self.schedule.step(self.now(), self.rows[-1]["idle"])
            if self.now() >= rest_due and self.rest():
                rest_due = self.now() + every
            self.say(self.rows, self.rests)
        while not self.rest():  # a last time
            if self.bed.guest_gone():
                self.bed.start_guest()
            time.sleep(0.1)


def judge(soak, steady, gateway, window):
    """All faults, and what was compared of the latency."""
    late, judged, parts = checks.drift(soak.rows, window)
    faults = soak.faults + checks.ledger(soak.rows) + checks.rests(soak.rests) + checks.errors(soak.rows)
    faults += checks.lines(soak.said) + checks.flow(soak.rows) + late + checks.ends(gateway, steady, soak.bed.guests)
    if not soak.rests:
        faults.append("the gateway was never seen at rest")
    return faults, f"{judged} of {parts} windows of {window:.0f} s"


def leak(bed):
    """A fault that the soak must find: connections to the control socket that nobody closes, one for each look."""
    kept = []

    def one_more(*_):
        client = socket.socket(socket.AF_UNIX)
        client.connect(os.path.join(bed.folder, "gateway.control"))
        kept.append(client)

    return one_more


def progress(rows, rests):
    row = rows[-1]
    if sys.stdout.isatty():
        print(f"\r{row['at']:6.0f} s  {row['ledger']['received']:10} received  {row['mbufs']:5} mbufs  {len(rests)} rests", end="", flush=True)


def options():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("binary", nargs="?", default=os.path.join(TOP, "build", "vbng"), help="vbng (default: build/vbng)")
    p.add_argument("--seconds", type=float, default=60, help="how long (default: %(default)s)")
    p.add_argument("--seed", type=int, default=1, help="of the changes (default: %(default)s)")
    p.add_argument("--output", metavar="FOLDER", help="for soak.json and soak.png (default: none are written)")
    p.add_argument("--leak", action="store_true", help="leave connections open: it must end with status 1")
    return p.parse_args()


def main():
    args = options()
    # no freed memory in quarantine, or it would count as a leak; only AddressSanitizer reads this
    os.environ.setdefault("ASAN_OPTIONS", "quarantine_size_mb=0:thread_local_quarantine_size_kb=0")
    os.environ.setdefault("LSAN_OPTIONS", f"suppressions={TOP}/tests/leaks/others.supp:print_suppressions=0")  # of DPDK's drivers
    window = min(WINDOW, args.seconds / 3)
    with tempfile.TemporaryDirectory(prefix="vbng-soak-") as folder, Bed(folder, os.path.abspath(args.binary)) as bed:
        soak = Soak(bed, args.seconds, random.Random(args.seed), leak(bed) if args.leak else progress)
        try:
            soak.run()
        except GONE as e:
            soak.faults.append(f"{soak.now():.0f} s: {e}")
        took = soak.now()
        steady, gateway = bed.end()
        soak.said += [(took, line) for line in bed.new_lines()]
        faults, compared = judge(soak, steady, gateway, window)
    summary = report.summary(soak, took, gateway, faults, compared)
    print("\n".join(report.table(summary)))
    if args.output:
        report.write(args.output, summary, soak)
    return 1 if faults else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except GONE as e:
        sys.exit(f"soak: {e}")
