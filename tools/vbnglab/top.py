# SPDX-License-Identifier: BSD-3-Clause
"""The terminal view of a running vbng: what tools/vbng-top shows, made of two readings of its counters."""

import time

BARS = "▁▂▃▄▅▆▇█"
GROUPS = ("core", "port", "link", "task", "qos", "ledger")
RING = 1  # kind of a link
HISTORY = 24  # readings in a sparkline


def si(value):
    """Four characters and a unit: 999, 1.23k, 45.6M."""
    for unit in ("", "k", "M", "G", "T"):
        if abs(value) < 999.5 or unit == "T":
            return f"{value:.0f}" if not unit else f"{value:.3g}{unit}"
        value /= 1000
    raise AssertionError


def duration(ns):
    """1.2us, 34ms."""
    value = ns / 1000
    for unit in ("us", "ms"):
        if value < 999.5:
            return f"{value:.3g}{unit}"
        value /= 1000
    return f"{value:.3g}s"


def spark(values):
    """A curve of one line, from 0 to the greatest."""
    top = max(values, default=0)
    return "".join(BARS[min(len(BARS) - 1, int(v / top * len(BARS)))] if top else BARS[0] for v in values)


def bar(share, width=20):
    full = round(max(0.0, min(1.0, share)) * width)
    return "█" * full + "·" * (width - full)


class Reading:
    """All counters at a moment."""

    def __init__(self, telemetry):
        self.at = time.monotonic()
        self.groups = {group: telemetry.objects(group) if telemetry.count(group) else {} for group in GROUPS}


class View:
    """Lines for a terminal from the readings so far."""

    def __init__(self):
        self.before = self.now = None
        self.history = {}  # port: packets/s of both directions

    def add(self, reading):
        self.before, self.now = self.now, reading
        if self.before is None:
            return
        for port in reading.groups["port"]:
            past = self.history.setdefault(port, [])
            past.append(self.rate("port", port, "rx_packets") + self.rate("port", port, "tx_packets"))
            del past[:-HISTORY]

    def rate(self, group, name, key):
        """Of a counter, per second."""
        before = self.before.groups[group].get(name, {}).get(key, 0)
        return (self.now.groups[group][name][key] - before) / max(1e-9, self.now.at - self.before.at)

    def lines(self):
        """The whole view. Nothing to show before the second reading."""
        if self.before is None:
            return ["waiting for a second reading ..."]
        return [*self._head(), "", *self._cores(), "", *self._ports(), "", *self._tasks(), *self._links(), *self._qos()]

    def _head(self):
        name = next(iter(self.now.groups["ledger"]))
        received, dropped = self.rate("ledger", name, "received"), self.rate("ledger", name, "dropped")
        held = self.now.groups["ledger"][name]["held"]
        return [f"{name}   received {si(received)}pps   dropped {si(dropped)}pps   held {si(held)}"]

    def _cores(self):
        yield f"{'core':<10} {'busy':<27} rounds/s"
        for name in self.now.groups["core"]:
            busy, idle = self.rate("core", name, "busy_cycles"), self.rate("core", name, "idle_cycles")
            share = busy / (busy + idle) if busy + idle > 0 else 0.0
            yield f"{name:<10} {bar(share)} {share:6.1%} {si(self.rate('core', name, 'rounds')):>8}"

    def _ports(self):
        yield f"{'port':<10} {'rx pps':>8} {'rx bit/s':>8} {'tx pps':>8} {'tx bit/s':>8} {'missed':>8}  rx + tx"
        for name, figures in self.now.groups["port"].items():
            cells = [self.rate("port", name, "rx_packets"), 8 * self.rate("port", name, "rx_bytes"),
                     self.rate("port", name, "tx_packets"), 8 * self.rate("port", name, "tx_bytes"),
                     self.rate("port", name, "rx_missed")]
            down = "" if figures["up"] else " DOWN"
            yield f"{name:<10} {' '.join(f'{si(c):>8}' for c in cells)}  {spark(self.history[name])}{down}"

    def _tasks(self):
        yield f"{'task':<14} {'in pps':>8} {'out pps':>8} {'held':>7}  drops per second by reason"
        for name, figures in self.now.groups["task"].items():
            drops = {key[5:]: self.rate("task", name, key) for key in figures if key.startswith("drop_")}
            drops["link_full"] = self.rate("task", name, "link_full")
            told = "  ".join(f"{reason} {si(n)}" for reason, n in sorted(drops.items(), key=lambda d: -d[1]) if n > 0)
            taken = self.rate("task", name, "in") + self.rate("task", name, "created")
            yield f"{name:<14} {si(taken):>8} {si(self.rate('task', name, 'sent')):>8} {si(figures['held']):>7}  {told}"

    def _links(self):
        rings = {name: figures for name, figures in self.now.groups["link"].items() if figures["kind"] == RING}
        if not rings:
            return
        yield ""
        yield f"{'ring':<24} {'packets':<28} {'most ever':>9}"
        for name, figures in rings.items():
            share = figures["depth"] / figures["size"]
            yield f"{name:<24} {bar(share)} {figures['depth']:>7} {figures['high_water']:>9} of {figures['size']}"

    def _qos(self):
        if not self.now.groups["qos"]:
            return
        yield ""
        yield f"{'scheduler':<14} {'held':>7} {'lag p50':>9} {'p99':>9} {'limited':>8} {'slow':>6} {'fast':>6} {'worst error':>12}"
        for name, q in self.now.groups["qos"].items():
            yield (f"{name:<14} {si(q['held']):>7} {duration(q['lag_p50_ns']):>9} {duration(q['lag_p99_ns']):>9} {q['limited']:>8} "
                   f"{q['under']:>6} {q['over']:>6} {q['error_ppm'] / 1e4:>11.2f}%")


class Subscribers:
    """The busiest of all subscribers, from two readings of all of them."""

    def __init__(self, telemetry):
        self.telemetry, self.names = telemetry, telemetry.names("subscriber")
        self.before = None

    def lines(self, most):
        """The most that were sent the most bytes since the last call."""
        at, (keys, rows) = time.monotonic(), self.telemetry.rows("subscriber")
        before, self.before = self.before, (at, rows)
        if before is None:
            return ["waiting for a second reading ..."]
        seconds = at - before[0]
        columns = {key: i for i, key in enumerate(keys)}

        def sent(i, way):
            column = columns[f"{way}_bytes"]
            return 8 * (rows[i][column] - before[1][i][column]) / seconds

        total = sorted(((sent(i, "up") + sent(i, "down"), i) for i in range(len(rows))), reverse=True)[:most]
        found = [f"{'subscriber':<18} {'up bit/s':>9} {'of':>7} {'waits':>8} {'down bit/s':>11} {'of':>7} {'waits':>8}   of {len(rows)}"]
        for _, i in total:
            row = rows[i]
            found.append(f"{self.names[i]:<18} {si(sent(i, 'up')):>9} {si(row[columns['up_rate']]):>7} "
                         f"{duration(row[columns['up_sojourn_ns']]):>8} {si(sent(i, 'down')):>11} {si(row[columns['down_rate']]):>7} "
                         f"{duration(row[columns['down_sojourn_ns']]):>8}")
        return found
