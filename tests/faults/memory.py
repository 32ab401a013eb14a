# SPDX-License-Identifier: BSD-3-Clause
"""Too few huge pages at the start, and huge pages that go while vbng runs on them. Borrows some and gives them back."""

import contextlib
import json
import os
import subprocess

from tests.control import load
from tests.faults.lab import Row, Vbng, dropped

COUNT = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"
SURPLUS = "/sys/kernel/mm/hugepages/hugepages-2048kB/surplus_hugepages"
FEW = 8
SPARE = 64  # subscribers for whom there is room


def read(path=COUNT):
    with open(path) as f:
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
        row.expect(report["prefetch"] in (4, 32), f"prefetch: {report['prefetch']}")
        row.expect(report["memory"] == "no-huge", f"memory: {report['memory']}")
    row.lost, row.recovery = "0: it does not start", 'reserve as many as it says; or memory = "auto", which took pages of 4 KiB here'
    return [row]


def far_away(i):
    """A subscriber whose address and key are near nobody's: his indices need memory."""
    return {"cmd": "add-subscriber", "port": "cpe0", "svlan": 300, "cvlan": 5 + i, "ipv4": f"10.{i + 1}.0.1",
            "gre_key": (i + 1) << 16, "mac": "02:c0:00:01:00:00", "profile": "home-10M"}  # fmt: skip


def add_until_refused(client):
    """Subscribers far away, while there is memory. Returns how many were added, and the refusal."""
    for i in range(SPARE):
        answer = client.ask(**far_away(i))
        if "error" in answer:
            return i, answer["error"]
    return SPARE, ""


def change_all(client, row):
    """What an operator does, and needs no memory that must be huge."""
    for request in ({"cmd": "set-profile", "subscriber": "cpe0 128.256", "profile": "home-50M"},
                    {"cmd": "set-dscp", "scheduler": "acc", "direction": "up", "dscp": 46, "class": "be", "queue": 2},
                    {"cmd": "add-route", "prefix": "203.0.113.0/24", "port": "core0", "mac": "02:dd:00:00:00:00",
                     "gre": "203.0.113.9"},
                    {"cmd": "start-capture", "file": "all.pcapng", "tasks": ["*"], "packets": 1000},
                    {"cmd": "reload"}):  # fmt: skip
        answer = client.ask(**request)
        row.expect("ok" in answer, f"{request}: {answer}")


def start_without(ctx, config):
    """New starts when all pages have gone."""
    row = Row("the same, and a new start")
    for mode, status, words in (("hugepages", 3, "free huge pages and there are 0 MiB"), ("auto", 0, "ordinary pages, for 0 MiB")):
        with Vbng(ctx, "--share-cpus", "--duration", "20ms", "--set", f"memory={mode}", config, report=False) as v:
            v.end()
            said = next((line for line in v.err.splitlines() if words in line), "").removeprefix("vbng: ")
            row.expect(said and v.status == status, f"{mode}: exit status {v.status}: {v.err}")
            row.saw += said.replace(config, "load.cfg") + "; " * (not row.saw)
    row.lost, row.recovery = "0", 'reserve as many as it says; memory = "auto" goes on with pages of 4 KiB'
    return row


def gone(ctx):
    """All huge pages are taken away under load. Those in use stay; what needs more is refused, and nothing else changes."""
    row = Row("huge pages: nr_hugepages set to 0 while it runs on them")
    if missing():
        return missing()
    config = load.write(ctx.folder, "20kpps")
    options = ["--set", "memory=hugepages", "--set", f"max_subscribers={load.SUBSCRIBERS + SPARE}"]
    plan = subprocess.run([ctx.binary, "--plan=json", *options, config], stdout=subprocess.PIPE, check=True)
    wanted = -(-json.loads(plan.stdout)["memory"]["dpdk_bytes"] // (2 << 20))
    with pages(wanted) as have:
        if have < wanted:
            return f"the kernel gives {have} of {wanted} huge pages"
        with Vbng(ctx, "--share-cpus", "--capture-dir", ctx.folder, *options, config, control=True) as v:
            client = v.client()
            row.expect(v.wait_for_packets("sink", 1000), "packets do not flow")
            write(0)
            row.expect(read() == read(SURPLUS) > 0, f"{read()} pages, {read(SURPLUS)} of them surplus")
            change_all(client, row)
            n, refusal = add_until_refused(client)
            row.expect("no memory for its indices" in refusal, f"after {n} subscribers: {refusal}")
            row.expect("error" in client.ask(cmd="show-subscriber", subscriber=f"cpe0 300.{5 + n}"), "he is half added")
            row.expect(v.wait_for_packets("sink", 1000), "packets do not flow any more")
            write(wanted)
            answer = client.ask(**far_away(n))
            row.expect("ok" in answer, f"with its pages back: {answer}")
            row.expect(v.wait_for_packets("sink", 1000), "packets do not flow in the end")
            report = v.stop(row)
        write(0)
        again = start_without(ctx, config)
    row.saw = f"nothing; vbngctl add-subscriber, of the {n + 1}th whose address and key are far from the others': {refusal}"
    if report is not None:
        row.expect(report["memory"] == "hugepages", f"memory: {report['memory']}")
        lost = {reason: k for reason, k in dropped(report).items() if not reason.endswith(" queue_full")}
        row.expect(not lost, f"lost: {lost}")
    row.lost, row.recovery = "0", "the pages in use stay; the same request is taken when there are pages again"
    return [row, again]


TESTS = [("too few huge pages", True, too_few), ("huge pages go", True, gone)]
