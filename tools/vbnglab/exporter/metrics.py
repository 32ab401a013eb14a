# SPDX-License-Identifier: BSD-3-Clause
"""What the telemetry socket tells of a gateway, as metrics of Prometheus' own library (Debian package python3-prometheus-client)."""

from ..lab.failure import Failure, not_installed
from ..lab.telemetry import Unreachable

try:
    from prometheus_client import core, exposition
except ImportError:  # encoder() says so; --help and completion work without
    core = exposition = None

INFO = "vbng_task_drop"  # the library adds _info
BUILD = "vbng_build"  # here, too


def encoder(accept):
    """(function that makes bytes of a registry, media type) of the text form that an Accept header asks for; "": Prometheus' own. Raises
    Failure where the library is missing."""
    if exposition is None:
        raise Failure(not_installed("prometheus_client", "python3-prometheus-client"))
    return exposition.choose_encoder(accept)


class Row:
    """A metric, from the row of /vbng/OBJECT that describes it."""

    def __init__(self, group, key, text):
        self.key = key
        kind, unit, name, words = text.split(" ", 3)
        name, _, label = name.partition("{")
        self.label = label.rstrip("}")  # "": the metric has no label but that of its object
        self.scale = 1e9 if unit == "ns" else 1
        family = core.CounterMetricFamily if kind == "counter" else core.GaugeMetricFamily
        self.family = family(name, f"{words} ({'seconds' if unit == 'ns' else unit}).", labels=[group] + ([self.label] if self.label else []))

    def add(self, value, *labels):
        """Add a series; values are in base units, as the names say."""
        self.family.add_metric(labels, value / self.scale)


def describe(telemetry, name):
    """The metrics of a group."""
    rows = telemetry.must(f"/vbng/{name}")
    return [Row(name, key, text) for key, text in rows.items() if key != "count"]


def by_object(telemetry, name):
    """Yield the families of a group whose objects are asked for one by one, as each has keys of its own."""
    objects = telemetry.objects(name)
    for row in describe(telemetry, name):
        for which, values in objects.items():
            if not row.label:
                row.add(values[row.key], which)
                continue
            for key, value in values.items():
                if key.startswith(row.key):
                    row.add(value, which, key.removeprefix(row.key))
        yield row.family


def by_page(telemetry, name):
    """Yield the families of a large group, of which an answer has many rows of numbers, and what people call its objects, to be joined."""
    _, rows = telemetry.rows(name)
    info = core.InfoMetricFamily(f"vbng_{name}", "What people call it", labels=[name])
    for number, label in telemetry.labelled(name):
        if number < len(rows) and rows[number][0]:
            info.add_metric([rows[number][0]], {"name": label})
    yield info
    for column, row in enumerate(describe(telemetry, name)):
        for which, figures in rows:
            if which:  # the number is not free
                row.add(figures[column], which)
        yield row.family


def build(telemetry, plan):
    """vbng_build_info: which vbng runs, with which DPDK and which configuration."""
    info = core.InfoMetricFamily(BUILD, "The program that runs, the DPDK that it runs with, and the name of its configuration")
    info.add_metric([], {"version": plan["version"], "dpdk": telemetry.dpdk, "configuration": plan["name"]})
    return info


def drop_words(telemetry, plan):
    """vbng_task_drop_info: what each series of vbng_task_dropped_packets_total means, to be joined by task and reason."""
    schema = telemetry.schema()
    types = {i["task"]: i["type"] for i in plan["instances"]}
    info = core.InfoMetricFamily(INFO, "What a drop reason of the task means, and what to do about it", labels=["task", "reason"])
    for task, kind in types.items():
        for reason in [*schema.tasks[kind]["drops"], *schema.common.values()]:
            info.add_metric([task, reason["name"]], {"meaning": reason["meaning"], "remedy": reason["remedy"]})
    return info


class Gateway:
    """A collector, as the library calls what has the metrics."""

    def __init__(self, telemetry, subscribers, more):
        self.telemetry, self.subscribers, self.more = telemetry, subscribers, more

    def collect(self):
        """Yield all families."""
        commands = self.telemetry.must("/")
        groups = sorted(c.split("/")[2] for c in commands if c.startswith("/vbng/") and c.count("/") == 2)
        for name in groups:
            if name != "subscriber":
                yield from by_object(self.telemetry, name)
            elif self.subscribers:
                yield from by_page(self.telemetry, name)
        plan = self.telemetry.plan()
        yield build(self.telemetry, plan)
        yield drop_words(self.telemetry, plan)
        yield from self.more


def collect(telemetry, subscribers, encode, more=()):
    """Bytes of all metrics. encode: of encoder(); more: further families. Raises Unreachable, also where a gateway that is ending answers with a part."""
    registry = core.CollectorRegistry()
    registry.register(Gateway(telemetry, subscribers, more))
    try:
        return encode(registry)
    except (LookupError, TypeError, ValueError) as e:
        raise Unreachable("the gateway ended while it was read") from e
