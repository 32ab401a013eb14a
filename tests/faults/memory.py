# SPDX-License-Identifier: BSD-3-Clause
"""Huge pages: too few at the start, and taken away while it runs. Borrows some and gives them back."""

import contextlib
import os
import time

import load
from lab import Row, Vbng

COUNT = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"
FEW, ENOUGH = 8, 400


def read():
    with open(COUNT) as f:
        return int(f.read())


def write(n):
    with open(COUNT, "w") as f:
        f.write(str(n))


@contextlib.contextmanager
def pages(n):
    """So many huge pages of 2 MiB for a while. Yields how many there are."""
    before = read()
    try:
        write(n)
        yield read()
    finally:
        write(before)


def missing():
    """Why huge pages cannot be tried here, or None."""
    if os.geteuid() != 0 or not os.access(COUNT, os.W_OK):
        return "needs root, to reserve huge pages"
    return "somebody else has reserved huge pages" if read() else None


def too_few(ctx):
    """memory = "hugepages": refused with the remedy. "auto": goes on without."""
    row = Row(f"huge pages: {FEW} of 2 MiB at the start")
    if missing():
        return missing()
    config = load.write(ctx.folder, "20kpps")
    with pages(FEW):
        with Vbng(ctx, "--share-cpus", "--set", "memory=hugepages", config, report=False) as v:
            v.end()
            row.saw = v.line("free huge pages")
            row.expect(v.status == 3 and "nr_hugepages" in row.saw, f"exit status {v.status}: {v.err}")
        with Vbng(ctx, "--share-cpus", "--set", "memory=auto", config) as v:
            row.expect(v.wait_for_packets("sink", 1000), "memory = \"auto\" does not forward")
            report = v.stop(row)
    if report is not None:
        row.expect(report["memory"] == "no-huge", f"memory: {report['memory']}")
    row.lost, row.recovery = "0: it does not start", 'reserve as many as it says; or memory = "auto", which took pages of 4 KiB here'
    return [row]


def taken_away(ctx):
    """nr_hugepages = 0 under a gateway that uses them."""
    row = Row("huge pages taken away while it runs (nr_hugepages = 0)")
    if missing():
        return missing()
    with pages(ENOUGH) as got:
        if got < ENOUGH:
            return f"only {got} huge pages of 2 MiB can be reserved"
        with Vbng(ctx, "--share-cpus", "--set", "memory=hugepages", load.write(ctx.folder, "20kpps")) as v:
            row.expect(v.wait_for_packets("sink", 1000), "does not forward")
            write(0)
            time.sleep(0.5)
            left = read()
            row.expect(v.wait_for_packets("sink", 5000), "does not forward any more")
            report = v.stop(row)
        row.expect(read() == 0, f"{read()} pages did not come back")
    if report is not None:
        row.saw = f"nothing: those in use stay ({left} of {got}); it forwards on"
        row.lost = "0"
        row.recovery = "reserve them again before the next start"
    return [row]


TESTS = [("too few huge pages", True, too_few), ("huge pages taken away", False, taken_away)]
