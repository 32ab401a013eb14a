# SPDX-License-Identifier: BSD-3-Clause
"""Faults of cores, links, pools and of the process: a generator, two stages on two cores, a sink; wires between them."""

import os
import signal
import subprocess
import sys
import time

from tests.common.limits import limit
from tests.e2e import process
from tests.faults import lab
from tests.faults.lab import Row, StoppedThread, Vbng

RING = 1  # kind of a link
TEMPLATE = """
size 64
ether src 02:00:00:00:00:01 dst 02:00:00:00:00:02
ipv4 src 10.0.0.1 dst 10.0.0.2
udp src 1 dst 2
payload 00
"""
# Cores: 0 generator and sink, 1 the first stage, 2 the second; a ring between the stages.
STAGES = """
name = "stages"; memory = "no-huge"; idle = "sleep";
pools = {{ default = {{ mbufs = "{mbufs}"; data_room = "384"; }}; }};
ports = ( {{ name = "a"; device = "wire:1"; mtu = 200; }}, {{ name = "b"; device = "wire:1"; mtu = 200; }},
          {{ name = "c"; device = "wire:2"; mtu = 200; }}, {{ name = "d"; device = "wire:2"; mtu = 200; }} );
tasks = (
  {{ name = "gen"; type = "gen"; to = "a"; rate = "{rate}"; template = "frame.tmpl"; }},
  {{ name = "first"; type = "forward"; from = "b"; to = "second"; }},
  {{ name = "second"; type = "{second}"; to = "c"; {more} }},
  {{ name = "sink"; type = "sink"; from = "d"; }}
);
layout = ( {{ core = "0"; tasks = ["gen", "sink"]; }}, {{ core = "1"; tasks = ["first"]; }},
           {{ core = "2"; tasks = ["second"]; }} );
"""


def stages(ctx, rate="50kpps", second="forward", more="", mbufs="16K",):
    ctx.write("frame.tmpl", TEMPLATE.lstrip())
    return ctx.write("stages.cfg", STAGES.format(rate=rate, second=second, more=more, mbufs=mbufs))


def core_stalled(ctx):
    """A thread stands still; the ring that leads to it fills; the others go on."""
    row, full = Row("core stalled: its thread is stopped (ptrace) for 1.3 s"), Row("ring full: its consumer stands still")
    with Vbng(ctx, "--share-cpus", stages(ctx)) as v:
        v.wait_for_packets("sink", 1000)
        with StoppedThread(v.thread(2)):
            row.saw = v.line(r"core 2 \(.*second\) has stalled: no round for 0\.[5-9] s; its thread is stopped")
            row.expect(row.saw, f"the watchdog is silent: {v.log()}")
            before = v.ask("/vbng/core/get,2")
            row.expect(v.wait_for_packets("first", 10000), "the other cores do not go on")
            link = next(link for link in v.objects("link").values() if link["kind"] == RING)
            time.sleep(0.4)
            during = v.ask("/vbng/core/get,2")
            row.expect(during["stalls"] == 1 and during["stalled_ns"] >= before["stalled_ns"] + 3e8 and before["stalled_ns"] >= 5e8,
                       f"telemetry does not count the stall: {before} {during}")  # fmt: skip
            row.expect(v.line(r"no round for 1\.\d s"), "it is not said again")
        row.recovery = v.line(r"core 2 \(.*\) goes on after")
        row.expect(row.recovery, "its end is not said")
        row.expect(v.wait_for_packets("sink", 1000), "packets do not flow again")
        report = v.stop(row)
    if report is not None:
        lost = lab.dropped(report).get("first link_full", 0)
        row.expect(report["cores"][2]["stalls"] >= 1 and report["cores"][2]["stalled_seconds"] >= 1.0, f"{report['cores']}")
        row.lost = f"what was in its hands waits; {lost} before its ring, below"
        full.saw = f"telemetry: the link from first to second: depth {link['depth']} of {link['size']}; first: link_full"
        full.expect(link["depth"] == link["size"], f"the ring is not full: {link}")
        full.expect(lost > 0 and set(lab.dropped(report)) <= {"first link_full", "gen link_full"}, f"{lab.dropped(report)}")
        full.lost = f"{lost} (first link_full)"
        full.recovery = "by itself, as soon as it is emptied"
    return [row, full]


def process_stopped(ctx):
    """SIGSTOP, as a machine that is suspended or moved."""
    row = Row("the whole process stopped (SIGSTOP, a suspended machine) for 1 s")
    with Vbng(ctx, "--share-cpus", stages(ctx)) as v:
        v.wait_for_packets("sink", 1000)
        os.kill(v.pid, signal.SIGSTOP)
        time.sleep(1)
        os.kill(v.pid, signal.SIGCONT)
        row.saw = v.line("nothing ran for")
        row.expect(row.saw, f"it is not said: {v.log()}")
        row.expect(v.wait_for_packets("sink", 1000), "packets do not flow again")
        report = v.stop(row)
    if report is not None:
        row.expect("has stalled" not in v.log(), f"single cores are said to have stalled: {v.log()}")
        row.lost = "0 inside; a peer's queues overflow meanwhile, which it counts"
        row.recovery = "by itself"
    return [row]


def pool_exhausted(ctx):
    """A line of 0.4 s holds all mbufs of a small pool."""
    row = Row("pool exhausted: all 4K mbufs wait in a slow line")
    config = stages(ctx, rate="20kpps", second="impair", more='delay = "400ms";', mbufs="4K")
    one = ctx.write("one.cfg", 'layout = ( { core = "0"; tasks = ["gen", "first", "second", "sink"]; } );')
    with Vbng(ctx, "--share-cpus", "--layout", one, config, control=True) as v:
        client = v.client()
        row.saw = v.line("pool default is nearly empty")
        row.expect(row.saw, f"it is not said: {v.log()}")
        free = v.ask("/vbng/pool/get,default")["free"]
        row.expect(free < 4096 // 4, f"telemetry: {free} free")
        client.ask(cmd="stop-stream", task="gen")
        row.recovery = v.line("pool default has enough mbufs again")
        row.expect(row.recovery, "its end is not said")
        report = v.stop(row)
    if report is not None:
        no_mbuf = lab.task(report, "gen")["stats"]["no_mbuf"]
        row.expect(no_mbuf > 0, "the generator found mbufs all the time")
        row.lost = f"{sum(lab.dropped(report).values())} of those that there were; {no_mbuf} were not made (gen no_mbuf)"
    return [row]


def sigterm_under_load(ctx):
    """More than it can send waits in rings, wires and the line."""
    row = Row("SIGTERM under load: packets in wires, rings and a line of 2 s")
    config = stages(ctx, rate="200kpps", second="impair", more='delay = "2s";', mbufs="64K")
    with Vbng(ctx, "--share-cpus", config) as v:
        v.wait_for_packets("second", 1000)
        start = time.monotonic()
        report = v.stop(row)
        took = time.monotonic() - start
    if report is not None:
        held = report["ledger"]["held"]
        row.expect(held > 0, "nothing was held: there was no load")
        row.expect(took < 10, f"it took {took:.1f} s")
        row.saw = f"exit status 0 after {took:.1f} s; report: {held} packets held"
        row.lost = f"{held} (held)"
        row.recovery = "start it again"
    return [row]


TOOL = """
import sys, time
from vbnglab.lab import run
print(run.start(sys.argv[2], vbng=sys.argv[1], share_cpus=True).pid, flush=True)
time.sleep(60)
"""


def tool_killed(ctx):
    """kill -9 of a tool that runs a vbng: that does not stay behind."""
    row = Row("kill -9 of the tool that runs it (tools/vbnglab)")
    tool = subprocess.Popen([sys.executable, "-c", TOOL, ctx.binary, stages(ctx)], stdout=subprocess.PIPE, text=True)
    pid = int(tool.stdout.readline())
    end = time.monotonic() + limit(lab.START_LIMIT)
    while not process.runtime_folder_left(pid) and time.monotonic() < end:
        time.sleep(0.02)
    tool.kill()
    tool.wait()
    tool.stdout.close()
    start = time.monotonic()
    while os.path.exists(f"/proc/{pid}") and time.monotonic() < start + 10:
        time.sleep(0.02)
    if not row.expect(not os.path.exists(f"/proc/{pid}"), "it runs on"):
        os.kill(pid, signal.SIGKILL)
    row.expect(not process.runtime_folder_left(pid), "it left its run-time folder")
    row.saw = f"it stops cleanly, {time.monotonic() - start:.1f} s later"
    row.lost, row.recovery = "as with SIGTERM", "run the tool again"
    return [row]


TESTS = [
    ("tool killed", False, tool_killed),
    ("core stalled, ring full", True, core_stalled),
    ("process stopped", False, process_stopped),
    ("pool exhausted", True, pool_exhausted),
    ("SIGTERM under load", False, sigterm_under_load),
]
