# SPDX-License-Identifier: BSD-3-Clause
"""Lines of text about a running vbng-cp, made of readings of its metrics."""

import time

from ..lab.controlplane import Absent, metrics
from ..lab.sessions import Sample, Sessions
from .view import bar, duration, si

NONE = "there is no vbng-cp here: --control-plane PATH, or $VBNG_CP_SOCKET, of its control socket"
FAILURES_SHOWN = 6


def time_text(seconds):
    """A bound in text."""
    return "-" if seconds is None else "> 5s" if seconds == float("inf") else f"< {duration(seconds * 1e9)}"


class ControlPlane:
    """The lines from the readings so far. path: of the control socket; None: there is none."""

    def __init__(self, path):
        self.path, self.before, self.now, self.error = path, None, None, None

    def read(self):
        """Take a reading."""
        if self.path is None:
            return
        try:
            self.add(Sample(metrics(self.path), time.monotonic()))
        except Absent as e:
            self.before = self.now = None
            self.error = str(e)

    def add(self, sample):
        """The newest reading."""
        self.before, self.now, self.error = self.now, sample, None

    def lines(self):
        """About sessions, failures, pools, servers of RADIUS and DHCP, and the store."""
        if self.path is None:
            return [NONE]
        if self.error is not None:
            return [f"vbng-cp does not answer: {self.error}"]
        if self.before is None:
            return ["waiting for a second reading ..."]
        s = Sessions(self.before, self.now)
        return [*_sessions(s), "", *_failures(s), "", *_pools(s), *_radius(s), *_relays(s), *_store(s)]


def _sessions(s):
    kinds = s.kinds()
    up, ended = (si(sum(kind[key] for kind in kinds)) for key in ("begun_ps", "ended_ps"))
    yield "sessions: " + ", ".join(f"{kind['up']} {kind['kind']}" for kind in kinds) + f"   up {up}/s   ended {ended}/s"
    yield "lines: " + "  ".join(f"{line['state']} {line['lines']}" for line in s.lines())


def _failures(s):
    found = s.failures()
    yield f"{'failures':<18} {'per s':>7} {'all':>8}  meaning" if found else "failures: none since its start"
    for f in found[:FAILURES_SHOWN]:
        yield f"{f['reason']:<18} {si(f['ps']):>7} {f['total']:>8}  {f['means']}".rstrip()


def _pools(s):
    yield f"{'pool':<28} {'used':<20} {'of':>18}"
    for p in s.pools():
        used = f"{p['used']} of {p['size']}"
        yield f"{p['pool']:<28} {bar(p['used'] / p['size'] if p['size'] else 1)} {used:>18}"


def _server(server, width, figures):
    """A server's line; a name that is longer, as an address of IPv6 is, has one of its own, so that all fits into 80 columns."""
    name = server["server"]
    if len(name) > width:
        yield name
        name = ""
    yield f"{name:<{width}} {figures}{'' if server['alive'] else ' DEAD'}"


def _radius(s):
    found = s.radius()
    if not found:
        return
    yield ""
    yield f"{'RADIUS':<28} {'asked/s':>7} {'p50':>8} {'p99':>8} {'pending':>7} {'timeouts':>8}"
    for r in found:
        yield from _server(r, 28, f"{si(r['asked_ps']):>7} {time_text(r['p50']):>8} {time_text(r['p99']):>8} {r['pending']:>7} {r['timeouts']:>8}")


def _relays(s):
    found = s.relays()
    if not found:
        return
    yield ""
    yield f"{'relay':<24} {'sent/s':>6} {'heard/s':>7} {'p50':>8} {'p99':>8} {'unanswered':>10} {'deaths':>6}"
    for r in found:
        yield from _server(r, 24, f"{si(r['sent_ps']):>6} {si(r['answers_ps']):>7} {time_text(r['p50']):>8} {time_text(r['p99']):>8} "
                                  f"{r['unanswered']:>10} {r['deaths']:>6}")


def _store(s):
    for n in s.store():
        yield ""
        yield f"store: {n['commits']} commits, in this interval p50 {time_text(n['p50'])}, p99 {time_text(n['p99'])}"
