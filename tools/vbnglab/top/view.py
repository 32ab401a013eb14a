# SPDX-License-Identifier: BSD-3-Clause
"""Lines of text about a running vbng, made of readings of its counters."""

import textwrap

from ..lab.reading import Rates, dropped_keys

BARS = "▁▂▃▄▅▆▇█"
RING = 1  # kind of a link
HISTORY = 24  # readings in a sparkline
DROPS_SHOWN = 5  # number of drop reasons in the view gateway
WIDTH = 80  # columns of a terminal
PORT_LOSSES = ("rx_missed", "rx_errors", "rx_no_mbuf", "tx_errors")


def si(value):
    """A number in four characters: 999, 1.23k, 45.6M."""
    for unit in ("", "k", "M", "G", "T"):
        if abs(value) < 999.5 or unit == "T":
            return f"{value:.0f}" if not unit else f"{value:.3g}{unit}"
        value /= 1000
    raise AssertionError


def duration(ns):
    """Nanoseconds as 1.2us or 34ms."""
    value = ns / 1000
    for unit in ("us", "ms"):
        if value < 999.5:
            return f"{value:.3g}{unit}"
        value /= 1000
    return f"{value:.3g}s"


def spark(values):
    """A curve in one line of characters, from 0 to the greatest value."""
    top = max(values, default=0)
    return "".join(BARS[min(len(BARS) - 1, int(v / top * len(BARS)))] if top else BARS[0] for v in values)


def bar(share, width=20):
    full = round(max(0.0, min(1.0, share)) * width)
    return "█" * full + "·" * (width - full)


class View:
    """Lines for a terminal from the readings so far."""

    def __init__(self, schema=None, types=None):
        """schema: what the gateway says of drop reasons; types: {task: its type}. Without them reasons have names only."""
        self.schema, self.types = schema, types or {}
        self.last = self.rates = None
        self.history = {}  # port: packets/s of both directions

    def add(self, reading):
        self.last, before = reading, self.last
        if before is None:
            return
        self.rates = Rates(before, reading)
        for port in reading.groups["port"]:
            past = self.history.setdefault(port, [])
            past.append(self.rates.of("port", port, "rx_packets", "tx_packets"))
            del past[:-HISTORY]

    def lines(self):
        """Lines of all views; none before the second reading."""
        return self._when_read(lambda: [*self._head(), *self._families(), "", *self._cores(), "", *self._ports(), *self._qos(), "", *self._tasks(), *self._rings()])

    def gateway(self):
        """Lines about cores, ports, schedulers and greatest drops: 24 for two cores and eight ports."""
        return self._when_read(lambda: [*self._head(), *self._families(), "", *self._cores(), "", *self._ports(), *self._qos(), *self._worst_drops()])

    def pipeline(self):
        """Lines about tasks and rings."""
        return self._when_read(lambda: [*self._head(), "", *self._tasks(), *self._rings()])

    def losses(self):
        """Every reason for which packets were lost, with its meaning and what to do about it."""
        return self._when_read(lambda: [*self._head(), "", *self._losses()])

    def _when_read(self, lines):
        return ["waiting for a second reading ..."] if self.rates is None else lines()

    def _group(self, group):
        return self.last.groups[group].items()

    def _head(self):
        name, figures = next(iter(self._group("ledger")))
        came, went, lost = (self.rates.of("ledger", name, *keys) for keys in (("received", "created"), ("sent", "consumed"), ("dropped",)))
        return [f"{name}   in {si(came)}pps   out {si(went)}pps   dropped {si(lost)}pps   held {si(figures['held'])}"]

    def _families(self):
        """A line of both directions, where there is IPv6."""
        if any(figures["ipv6_packets"] for _, figures in self._group("direction")):
            yield "   ".join(f"{name}: IPv4 {si(self.rates.of('direction', name, 'ipv4_packets'))}pps, IPv6 {si(self.rates.of('direction', name, 'ipv6_packets'))}pps"
                             for name, _ in self._group("direction"))

    def _cores(self):
        yield f"{'core':<10} {'busy':<27} rounds/s"
        for name, _ in self._group("core"):
            share = self.rates.busy(name)
            yield f"{name:<10} {bar(share)} {share:6.1%} {si(self.rates.of('core', name, 'rounds')):>8}"

    def _ports(self):
        yield f"{'port':<9} {'rx pps':>7} {'rx bit/s':>8} {'tx pps':>7} {'tx bit/s':>8} {'missed':>7}  rx + tx"
        for name, figures in self._group("port"):
            cells = [self.rates.of("port", name, "rx_packets"), 8 * self.rates.of("port", name, "rx_bytes"),
                     self.rates.of("port", name, "tx_packets"), 8 * self.rates.of("port", name, "tx_bytes"),
                     self.rates.of("port", name, "rx_missed")]
            widths = (7, 8, 7, 8, 7)
            down = "" if figures["up"] else " DOWN"
            yield f"{name:<9} {' '.join(f'{si(c):>{w}}' for c, w in zip(cells, widths))}  {spark(self.history[name])}{down}"

    def _drops(self, name, figures):
        """[(per second, reason)] of a task, the most first."""
        rates = [(self.rates.of("task", name, key), key.removeprefix("drop_")) for key in dropped_keys(figures)]
        return sorted((r for r in rates if r[0] > 0), key=lambda r: -r[0])

    def _tasks(self):
        yield f"{'task':<14} {'in pps':>8} {'out pps':>8} {'held':>7}  drops per second by reason"
        for name, figures in self._group("task"):
            told = "  ".join(f"{reason} {si(n)}" for n, reason in self._drops(name, figures))
            taken = self.rates.of("task", name, "in", "created")
            yield f"{name:<14} {si(taken):>8} {si(self.rates.of('task', name, 'sent')):>8} {si(figures['held']):>7}  {told}".rstrip()

    def _worst_drops(self):
        found = [(n, name, reason) for name, figures in self._group("task") for n, reason in self._drops(name, figures)]
        yield ""
        yield f"{'drops':<14} {'reason':<18} {'pps':>8}  meaning" if found else "drops: none in this interval"
        for n, name, reason in sorted(found, key=lambda d: -d[0])[:DROPS_SHOWN - len(list(self._families()))]:
            yield f"{name:<14} {reason:<18} {si(n):>8}  {self._words(name, reason)[0]}".rstrip()[:WIDTH]

    def _words(self, name, reason):
        """(meaning, remedy) of a reason of a task or of a port."""
        if self.schema is None:
            return "", ""
        if name in self.last.groups["port"]:
            return self.schema.port(reason)
        return self.schema.drop(self.types.get(name, ""), reason)

    def _losses(self):
        """Since the start, the most per second first; ports as tasks."""
        found = []
        for name, figures in self._group("port"):
            found += [(self.rates.of("port", name, key), figures[key], name, key) for key in PORT_LOSSES if figures.get(key)]
        for name, figures in self._group("task"):
            found += [(self.rates.of("task", name, key), figures[key], name, key.removeprefix("drop_"))
                      for key in dropped_keys(figures) if figures[key]]
        yield f"{'task or port':<14} {'reason':<18} {'pps':>8} {'packets':>12}" if found else "nothing was lost since the start"
        for rate, total, name, reason in sorted(found, key=lambda d: (-d[0], -d[1])):
            yield f"{name:<14} {reason:<18} {si(rate):>8} {total:>12}"
            for words in filter(None, self._words(name, reason)):
                yield from textwrap.wrap(words, WIDTH, initial_indent="    ", subsequent_indent="    ")

    def _rings(self):
        rings = {name: figures for name, figures in self._group("link") if figures["kind"] == RING}
        if not rings:
            return
        yield ""
        yield f"{'ring':<24} {'packets':<28} {'most ever':>9}"
        for name, figures in rings.items():
            share = figures["depth"] / figures["size"]
            yield f"{name:<24} {bar(share)} {figures['depth']:>7} {figures['high_water']:>9} of {figures['size']}"

    def _qos(self):
        if not self.last.groups["qos"]:
            return
        yield ""
        yield f"{'scheduler':<12} {'held':>7} {'lag p50':>8} {'p99':>8} {'limited':>8} {'slow':>6} {'fast':>6} {'worst error':>12}"
        for name, q in self._group("qos"):
            yield (f"{name:<12} {si(q['held']):>7} {duration(q['lag_p50_ns']):>8} {duration(q['lag_p99_ns']):>8} {q['limited']:>8} "
                   f"{q['under']:>6} {q['over']:>6} {q['error_ppm'] / 1e4:>11.2f}%")


MOST_SORTED = 500  # found ones that are sorted by a figure
SORTS = {"rate": "bps", "drops": "drop_pps", "delay": "sojourn_ns", "error": "error_ppm"}


class Subscribers:
    """The subscribers with most of something; as the gateway ranks them, a few answers do for any number."""

    def __init__(self, telemetry):
        self.telemetry = telemetry
        self.keys = telemetry.keys("subscriber")
        self.drops = "up_drops" in self.keys  # some schedulers do not count these

    def _found(self, search, sort, first, most):
        """(how many a text may mean, those from rank first on); more than MOST_SORTED are in the order of their ids."""
        numbers = self.telemetry.find("subscriber", search)
        some = numbers if len(numbers) <= MOST_SORTED else numbers[first : first + most]
        rows = [(n, self.telemetry.must(f"/vbng/subscriber/list,{n}")[0], self.telemetry.ask(f"/vbng/subscriber/get,{n}")) for n in some]
        rows = [(n, name, [figures[key] for key in self.keys]) for n, name, figures in rows if figures is not None]
        if len(numbers) <= MOST_SORTED:
            rank = [i for i, key in enumerate(self.keys) if key == SORTS[sort] or key.endswith("_" + SORTS[sort])]
            rows.sort(key=lambda row: -sum(row[2][i] for i in rank))
            rows = rows[first : first + most]
        return len(numbers), rows

    def lines(self, sort, first, most, search=""):
        """Lines about so many subscribers from rank first on, of those that a text may mean."""
        found, total = [], first + 1
        if search:
            total, found = self._found(search, sort, first, most)
        while not search and len(found) < most and first + len(found) < total:
            total, rows = self.telemetry.top("subscriber", self.keys, SORTS[sort] if sort != "drops" or self.drops else "bps", first + len(found))
            if not rows:
                break
            found += rows
        head = "".join(f" {way + ' b/s':>8} {'of':>5} {'delay':>7} {'drop/s':>6}" for way in ("up", "down"))
        found = found[:most]
        labels = self.telemetry.labels("subscriber", [number for number, _, _ in found])
        yield f"{'subscriber':<18}{head}" + ("  name" if any(labels) else "")
        for (_, name, row), label in zip(found, labels):
            yield f"{self._line(name, dict(zip(self.keys, row)))}  {label}".rstrip()
        if search and not found:
            yield f"'{search}': nobody is found"
            return
        yield f"{first + 1} to {first + len(found)} of {total} by {sort}; {SORTS[sort]} of up and down together" if found else "there are none"

    def _line(self, name, s):
        cells = "".join(f" {si(s[way + '_bps']):>8} {si(s[way + '_rate']):>5} {duration(s[way + '_sojourn_ns']):>7} "
                        f"{si(s[way + '_drop_pps']) if self.drops else '-':>6}" for way in ("up", "down"))
        return f"{name:<18}{cells}"
