# SPDX-License-Identifier: BSD-3-Clause
"""What the live page shows of a running vbng: read once in an interval, with what has changed since the reading before."""

import threading
import time

from ..lab.reading import Rates, Reading, dropped_keys
from ..lab.telemetry import Telemetry, Unreachable, find_socket
from .graph import layout
from .history import History, greatest

HISTORY = 120  # readings in a curve
KINDS = ("gateway", "port", "core", "qos", "drops")  # of what there is a history


def _ports(r):
    for name, figures in r.now.groups["port"].items():
        yield {"name": name, "up": bool(figures["up"]), "rx_pps": r.of("port", name, "rx_packets"), "tx_pps": r.of("port", name, "tx_packets"),
               "rx_bps": 8 * r.of("port", name, "rx_bytes"), "tx_bps": 8 * r.of("port", name, "tx_bytes"),
               "lost_pps": r.of("port", name, "rx_missed", "rx_errors", "rx_no_mbuf", "tx_errors"),
               "lost": figures["rx_missed"] + figures["rx_errors"] + figures["tx_errors"]}


def _tasks(r):
    for name, figures in r.now.groups["task"].items():
        yield {"name": name, "pps": r.of("task", name, "in", "created"), "out_pps": r.of("task", name, "sent"), "held": figures["held"],
               "drop_pps": r.of("task", name, *dropped_keys(figures)), "stalled_ps": r.of("task", name, "stalled")}


def _drops(r, types, schema):
    """The reasons for which packets were dropped, the most per second first."""
    found = []
    for name, figures in r.now.groups["task"].items():
        for key in dropped_keys(figures):
            if figures[key] > 0:
                reason = key.removeprefix("drop_")
                means, remedy = schema.drop(types.get(name, ""), reason)
                found.append({"task": name, "type": types.get(name, ""), "reason": reason, "total": figures[key], "pps": r.of("task", name, key),
                              "means": means, "remedy": remedy})
    return sorted(found, key=lambda d: (-d["pps"], -d["total"]))


def _ledger(r):
    name, figures = next(iter(r.now.groups["ledger"].items()))
    away = figures["sent"] + figures["consumed"] + figures["dropped"] + figures["held"]
    return {**figures, "name": name, "under_way": figures["received"] + figures["created"] - away,
            "rates": {key: r.of("ledger", name, key) for key in figures if key != "held"}}


def _directions(r):
    """What subscribers sent and are sent, by family."""
    for name, figures in r.now.groups["direction"].items():
        for family, text in (("ipv4", "IPv4"), ("ipv6", "IPv6")):
            packets, octets = f"{family}_packets", f"{family}_bytes"
            yield {"direction": name, "family": text, "packets": figures[packets], "bytes": figures[octets],
                   "pps": r.of("direction", name, packets), "bps": 8 * r.of("direction", name, octets)}


class State:
    """The newest state, in types of JSON; one thread makes it, others read it."""

    def __init__(self, path, interval):
        self.path, self.interval = path, interval
        self.lock = threading.Lock()
        self.stop = threading.Event()
        self.curves = {}  # (group, name, key): [value or None]
        self.hour = History(interval)
        self.plan, self.plan_number, self.types, self.schema = None, 0, {}, None
        self.newest, self.error, self.at = None, "not read yet", None

    def run(self):
        """Read once in an interval until stop is set, and wait for a gateway that has gone."""
        while not self.stop.is_set():
            try:
                self._watch()
            except (Unreachable, LookupError, TypeError, ValueError) as e:  # a gateway that is ending may answer with a part
                with self.lock:
                    self.error = str(e) if isinstance(e, Unreachable) else "the gateway ended while it was read"
            self.stop.wait(self.interval)

    def _watch(self):
        with Telemetry(self.path or find_socket()) as telemetry:
            plan, schema = telemetry.plan(), telemetry.schema()
            names = telemetry.names("task")
            before = Reading(telemetry, names)
            self._new_gateway(plan, schema)
            while not self.stop.wait(max(0.0, before.at + self.interval - time.monotonic())):
                now = Reading(telemetry, names)
                self._publish(Rates(before, now))
                before = now

    def _new_gateway(self, plan, schema):
        """Begin with a gateway; curves go on, with a gap, where it has the configuration of the one before."""
        with self.lock:
            self.plan_number += 1
            self.schema = schema
            self.types = {i["task"]: i["type"] for i in plan["instances"]}
            if self.plan is None or plan != self.plan["plan"]:
                self.curves = {}
            for curve in self.curves.values():
                curve.append(None)
            self.plan = {"number": self.plan_number, "plan": plan, "layout": layout(plan)}
            self.newest = self.at = self.error = None

    def _remember(self, group, name, key, value):
        curve = self.curves.setdefault((group, name, key), [])
        curve.append(round(value, 4))
        del curve[:-HISTORY]
        return list(curve)

    def _publish(self, r):
        now = r.now.groups
        ports, tasks = list(_ports(r)), list(_tasks(r))
        with self.lock:
            for port in ports:
                port["curves"] = {key: self._remember("port", port["name"], key, port[key]) for key in ("rx_pps", "tx_pps")}
            cores = [{"name": name, "busy": r.busy(name), "rounds_ps": r.of("core", name, "rounds"),
                      "curve": self._remember("core", name, "busy", r.busy(name))} for name in now["core"]]
            links = [{"name": name, "kind": figures["kind"], "pps": r.of("link", name, "sent"), "full_pps": r.of("link", name, "full"),
                      "full": figures["full"], "depth": figures["depth"], "size": figures["size"], "high_water": figures["high_water"]}
                     for name, figures in now["link"].items()]
            qos = [{"name": name, **figures, "lost_cps": r.of("qos", name, "lost_cycles"),
                    "curves": {key: self._remember("qos", name, key, figures[key]) for key in ("lag_p99_ns", "error_ppm")}}
                   for name, figures in now["qos"].items()]
            self.newest = {"at": r.now.clock, "interval": r.seconds, "ledger": _ledger(r), "directions": list(_directions(r)), "ports": ports, "cores": cores, "tasks": tasks,
                           "links": links, "qos": qos, "drops": _drops(r, self.types, self.schema),
                           "pools": [{"name": name, **figures} for name, figures in now["pool"].items()]}
            self.at, self.error = r.now.at, None
            self._keep(r.now.at, self.newest)

    def _keep(self, at, figures):
        """Add the newest figures to the hour."""
        rates = figures["ledger"]["rates"]
        for key, value in (("received", rates["received"] + rates["created"]), ("sent", rates["sent"] + rates["consumed"]), ("dropped", rates["dropped"])):
            self.hour.add(at, "gateway", "packets", key, value)
        for port in figures["ports"]:
            for key in ("rx_bps", "tx_bps"):
                self.hour.add(at, "port", port["name"], key, port[key])
        for core in figures["cores"]:
            self.hour.add(at, "core", core["name"], "busy", core["busy"])
        for qos in figures["qos"]:
            for key in ("lag_p99_ns", "limited"):
                self.hour.add(at, "qos", qos["name"], key, qos[key], greatest)
        for drop in figures["drops"]:
            self.hour.add(at, "drops", drop["task"], drop["reason"], drop["pps"])

    def history(self, kind):
        """The answer of /api/history: curves of the last hour."""
        return {"kind": kind, "step": self.hour.step, "of": self.hour.of(time.monotonic(), kind)}

    def snapshot(self):
        """The answer of /api/state: the newest figures, their age, and why there are no newer ones."""
        with self.lock:
            return {"error": self.error, "age": None if self.at is None else time.monotonic() - self.at, "period": self.interval,
                    "plan": self.plan_number, "figures": self.newest}

    def planned(self):
        """The answer of /api/plan; None before the first gateway."""
        with self.lock:
            return self.plan
