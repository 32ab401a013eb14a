# SPDX-License-Identifier: BSD-3-Clause
"""Too few huge pages at the start. Borrows some and gives them back."""

import contextlib
import os

import load
from lab import Row, Vbng

COUNT = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"
FEW = 8


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


TESTS = [("too few huge pages", True, too_few)]
