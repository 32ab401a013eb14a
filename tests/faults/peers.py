# SPDX-License-Identifier: BSD-3-Clause
"""Peers that go and come back: a generator over memif that is killed while it sends."""

import os

from tests.e2e import two_processes
from tests.faults import lab
from tests.faults.lab import Row, Vbng


def peer_gone(ctx):
    """kill -9 of the generator in the midst of it, another in its place, and a last kill as the gateway stops."""
    row = Row("peer gone: kill -9 of the generator behind memif, and a new one")
    socket = f"vbng-faults-{os.getpid()}"
    cfg = two_processes.private_copy(ctx, socket)
    generator = ("--share-cpus", os.path.join(cfg, two_processes.GENERATOR))
    with Vbng(ctx, "--share-cpus", os.path.join(cfg, two_processes.GATEWAY)) as v:
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


TESTS = [("peer gone", True, peer_gone)]
