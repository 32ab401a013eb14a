# SPDX-License-Identifier: BSD-3-Clause
"""Peers that go and come back: a generator over memif that is killed while it sends."""

import os
import platform
import time

from tests.e2e import two_processes
from tests.faults import lab
from tests.faults.lab import Row, StoppedThread, Vbng

DRIVER = "librte_net_memif"
TIMES = 5  # that a peer goes: a core that stands in the driver is not always in the midst of a ring
STOPS = 2000  # until a core was found there

PAIR = GATEWAY, GENERATOR = two_processes.PAIRS[0]


def peer_gone(ctx):
    """kill -9 of the generator in the midst of it, another in its place, and a last kill as the gateway stops."""
    row = Row("peer gone: kill -9 of the generator behind memif, and a new one")
    socket = f"vbng-faults-{os.getpid()}"
    cfg = two_processes.private_copy(ctx, PAIR, socket)
    generator = ("--share-cpus", os.path.join(cfg, GENERATOR))
    with Vbng(ctx, "--share-cpus", os.path.join(cfg, GATEWAY)) as v:
        two_processes.wait_for_socket(socket, v)
        for n in (1, 2):
            with Vbng(ctx, *generator, report=False) as g:
                row.expect(v.wait_for_packets("classify", 10000), f"generator {n}: no packets")
                g.process.kill()
                g.end()
            # once more than generators: before the first there is none
            row.expect(v.says("port cpe0: its peer has gone", n + 1), f"generator {n} went, and it is not said: {v.log()}")
        row.saw, row.recovery = v.line("port cpe0: its peer has gone"), v.line("port cpe0: its peer is back")
        row.expect(row.recovery, f"that it is back is not said: {v.log()}")
        with Vbng(ctx, *generator, report=False) as g:
            v.wait_for_packets("classify", 1000)
            g.process.kill()  # its memory goes first, its sockets later: perhaps while the gateway counts
            report = v.stop(row)
    if report is not None:
        full = {k: n for k, n in lab.dropped(report).items() if k.endswith("link_full")}
        others = {k: n for k, n in lab.dropped(report).items() if not k.endswith("link_full")}
        row.expect(not others, f"lost for other reasons: {others}")
        row.expect(report["ledger"]["unaudited_ports"] > 0, "no device is said to have forgotten its counters")
        row.lost = f"{sum(full.values())} (link_full); what was in the shared rings is the peer's"
    return [row]


def kill_in_a_burst(v, g):
    """kill -9 of a generator while a core of the gateway stands in the driver, as one does that loses its CPU there. Returns
    whether it was found there."""
    core = v.thread(0)
    for _ in range(STOPS):
        with StoppedThread(core) as thread:
            if thread.is_in(DRIVER):
                g.process.kill()
                time.sleep(0.2)  # for the interrupt thread to hear of it
                return True
        time.sleep(0.0005)
    return False


def peer_gone_in_a_burst(ctx):
    """net_memif unmaps the rings of a peer that goes, on another thread than the one which reads them."""
    if platform.machine() != "x86_64":
        return "the registers of a stopped thread are known of x86-64 only"
    row = Row("peer gone: kill -9 of the generator behind memif, while a core stands in the midst of its rings")
    socket = f"vbng-burst-{os.getpid()}"
    cfg = two_processes.private_copy(ctx, PAIR, socket)
    with Vbng(ctx, "--share-cpus", os.path.join(cfg, GATEWAY)) as v:
        two_processes.wait_for_socket(socket, v)
        for n in range(1, TIMES + 1):
            with Vbng(ctx, "--share-cpus", os.path.join(cfg, GENERATOR), report=False) as g:
                row.expect(v.wait_for_packets("classify", 10000), f"generator {n}: no packets")
                row.expect(kill_in_a_burst(v, g), f"generator {n}: the core was never found in the driver")
                g.end()
            if not row.expect(v.says("port cpe0: its peer has gone", n + 1), f"generator {n} went, and it is not said: {v.log()}"):
                break
        row.saw, row.recovery = v.line("port cpe0: its peer has gone"), v.line("port cpe0: its peer is back")
        report = v.stop(row)
    if report is not None:
        row.lost = f"{sum(n for k, n in lab.dropped(report).items() if k.endswith('link_full'))} (link_full)"
    return [row]


TESTS = [("peer gone", True, peer_gone), ("peer gone in a burst", True, peer_gone_in_a_burst)]
