# SPDX-License-Identifier: BSD-3-Clause
"""Readings of all counters of a running vbng, except those of subscribers, and the rates between two of them."""

import time

from .telemetry import Unreachable

GROUPS = ("core", "port", "link", "pool", "qos", "ledger", "direction")  # tasks have keys of their own


class Reading:
    """All counters at a moment, as groups[GROUP][NAME][KEY]."""

    def __init__(self, telemetry, tasks):
        """tasks: names of all tasks, which do not change while a gateway runs."""
        self.at, self.clock = time.monotonic(), time.time()
        self.groups = {}
        for group in GROUPS:
            keys, rows = telemetry.rows(group)
            self.groups[group] = {name: dict(zip(keys, row)) for name, row in rows}
        self.groups["task"] = {name: telemetry.must(f"/vbng/task/get,{i}") for i, name in enumerate(tasks)}
        if not self.groups["ledger"]:
            raise Unreachable("the gateway is ending")


class Rates:
    """Rates between two readings."""

    def __init__(self, before, now):
        self.before, self.now = before, now
        self.seconds = max(1e-9, now.at - before.at)

    def of(self, group, name, *keys):
        """Sum of counters of an object, per second."""
        was, now = self.before.groups[group].get(name, {}), self.now.groups[group][name]
        return sum(now[key] - was.get(key, 0) for key in keys) / self.seconds

    def busy(self, core):
        """Share of the time in which a core moved packets, 0 to 1."""
        busy, idle = self.of("core", core, "busy_cycles"), self.of("core", core, "idle_cycles")
        return busy / (busy + idle) if busy + idle > 0 else 0.0


def dropped_keys(figures):
    """The keys of a task that count drops."""
    return [key for key in figures if key.startswith("drop_") or key == "link_full"]
