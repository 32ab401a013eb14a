# SPDX-License-Identifier: BSD-3-Clause
"""Lines of text about a running vbng-cp, made of readings of its metrics."""

import time

from ..lab.controlplane import Absent, metrics
from .view import bar, duration, si

NONE = "there is no vbng-cp here: --control-plane PATH, or $VBNG_CP_SOCKET, of its control socket"
FAILURES_SHOWN = 6


class Sample:
    """All metrics of a moment: {name: {labels: value}}."""

    def __init__(self, told, at):
        self.at = at
        self.of = {m["name"]: {tuple(s["labels"]): s["value"] for s in m["series"]} for m in told}

    def series(self, name):
        """(labels, value) of a metric, which an older vbng-cp may not have."""
        return self.of.get(name, {}).items()


def percentile(before, now, p):
    """The bound below which the share p of what a histogram has counted between two readings lies; None: nothing was counted, inf: beyond its bounds."""
    was = dict(map(tuple, before["buckets"])) if before else {}
    count = now["count"] - (before["count"] if before else 0)
    if count <= 0:
        return None
    return next((bound for bound, n in now["buckets"] if n - was.get(bound, 0) >= p * count), float("inf"))


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

    def _rate(self, name, labels):
        """Of a counter, per second; one that was started again counts from 0."""
        was, now = self.before.of.get(name, {}).get(labels, 0), self.now.of[name][labels]
        return (now - was if now >= was else now) / max(1e-9, self.now.at - self.before.at)

    def _sum(self, name):
        return sum(self._rate(name, labels) for labels, _ in self.now.series(name))

    def lines(self):
        """About sessions, failures, pools, RADIUS and the store."""
        if self.path is None:
            return [NONE]
        if self.error is not None:
            return [f"vbng-cp does not answer: {self.error}"]
        if self.before is None:
            return ["waiting for a second reading ..."]
        return [*self._sessions(), "", *self._failures(), "", *self._pools(), *self._radius(), *self._store()]

    def _sessions(self):
        kinds = ", ".join(f"{n} {kind}" for (kind,), n in self.now.series("vbng_cp_sessions"))
        yield (f"sessions: {kinds}   up {si(self._sum('vbng_cp_sessions_begun_total'))}/s   ended {si(self._sum('vbng_cp_sessions_ended_total'))}/s")
        yield "lines: " + "  ".join(f"{state} {n}" for (state,), n in self.now.series("vbng_cp_lines"))

    def _failures(self):
        words = {labels: value["meaning"] for labels, value in self.now.series("vbng_cp_failure")}
        found = sorted(((self._rate("vbng_cp_failures_total", labels), n, labels) for labels, n in self.now.series("vbng_cp_failures_total") if n),
                       key=lambda f: (-f[0], -f[1]))
        yield f"{'failures':<18} {'per s':>7} {'all':>8}  meaning" if found else "failures: none since its start"
        for rate, n, labels in found[:FAILURES_SHOWN]:
            yield f"{labels[0]:<18} {si(rate):>7} {n:>8}  {words.get(labels, '')}".rstrip()

    def _pools(self):
        yield f"{'pool':<28} {'used':<20} {'of':>18}"
        for labels, size in self.now.series("vbng_cp_pool_size"):
            used = size - self.now.of["vbng_cp_pool_free"][labels]
            yield f"{' '.join(labels):<28} {bar(used / size if size else 1)} {f'{used} of {size}':>18}"

    def _histogram(self, name, labels):
        """Texts of the percentiles of the interval."""
        before = self.before.of.get(name, {}).get(labels)
        now = self.now.of[name][labels]
        if before and now["count"] < before["count"]:
            before = None  # it was started again
        return [time_text(percentile(before, now, p)) for p in (0.5, 0.99)]

    def _radius(self):
        if not self.now.of.get("vbng_cp_radius_seconds"):
            return
        yield ""
        yield f"{'RADIUS':<34} {'asked/s':>7} {'p50':>9} {'p99':>9} {'pending':>7} {'timeouts':>8}"
        for labels, _ in self.now.series("vbng_cp_radius_seconds"):
            p50, p99 = self._histogram("vbng_cp_radius_seconds", labels)
            dead = "" if self.now.of["vbng_cp_radius_alive"][labels] else "  DEAD"
            yield (f"{' '.join(labels):<34} {si(self._rate('vbng_cp_radius_requests_total', labels)):>7} {p50:>9} {p99:>9} "
                   f"{self.now.of['vbng_cp_radius_pending_requests'][labels]:>7} {self.now.of['vbng_cp_radius_timeouts_total'][labels]:>8}{dead}")

    def _store(self):
        for labels, now in self.now.series("vbng_cp_store_commit_seconds"):
            p50, p99 = self._histogram("vbng_cp_store_commit_seconds", labels)
            yield ""
            yield f"store: {now['count']} commits, in this interval p50 {p50}, p99 {p99}"
