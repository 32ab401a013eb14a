# SPDX-License-Identifier: BSD-3-Clause
"""What the telemetry socket tells of a gateway, in the text formats of Prometheus and OpenMetrics."""

OPENMETRICS = "application/openmetrics-text"
INFO = "vbng_task_drop_info"
CONTENT_TYPE = {True: f"{OPENMETRICS}; version=1.0.0; charset=utf-8", False: "text/plain; version=0.0.4; charset=utf-8"}


class Metric:
    """A metric, from the row of /vbng/OBJECT that describes it."""

    def __init__(self, key, text):
        self.key = key
        self.type, self.unit, name, self.help = text.split(" ", 3)
        self.name, _, label = name.partition("{")
        self.label = label.rstrip("}")  # "": the metric has no label but that of its object

    def head(self, openmetrics):
        """The lines before the values. In OpenMetrics the family of a counter has no _total."""
        family = self.name.removesuffix("_total") if openmetrics and self.type == "counter" else self.name
        unit = "seconds" if self.unit == "ns" else self.unit
        return f"# HELP {family} {escape(self.help)} ({unit}).\n# TYPE {family} {self.type}\n"

    def line(self, labels, value):
        """The line of a series; values are in base units, as the names say."""
        inner = ",".join(f'{k}="{escape(v)}"' for k, v in labels.items())
        return f"{self.name}{{{inner}}} {value / 1e9 if self.unit == 'ns' else value}\n"


def escape(text):
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def describe(telemetry, name):
    """The metrics of a group."""
    rows = telemetry.ask(f"/vbng/{name}")
    rows.pop("count")
    return [Metric(key, text) for key, text in rows.items()]


def by_object(telemetry, name, openmetrics):
    """Yield the lines of a group whose objects are asked for one by one, as each has keys of its own."""
    objects = telemetry.objects(name)
    for metric in describe(telemetry, name):
        yield metric.head(openmetrics)
        for which, values in objects.items():
            labels = {name: which}
            if not metric.label:
                yield metric.line(labels, values[metric.key])
                continue
            for key, value in values.items():
                if key.startswith(metric.key):
                    yield metric.line({**labels, metric.label: key.removeprefix(metric.key)}, value)


def by_page(telemetry, name, openmetrics):
    """Yield the lines of a large group, of which an answer has many rows of numbers."""
    _, rows = telemetry.rows(name)
    for column, metric in enumerate(describe(telemetry, name)):
        yield metric.head(openmetrics)
        for which, row in rows:
            if which:  # the number is not free
                yield metric.line({name: which}, row[column])


def drop_words(telemetry):
    """vbng_task_drop_info: what each series of vbng_task_dropped_packets_total means, to be joined by task and reason."""
    schema = telemetry.schema()
    types = {i["task"]: i["type"] for i in telemetry.plan()["instances"]}
    info = Metric("info", f"gauge 1 {INFO} What a drop reason of the task means, and what to do about it")
    yield info.head(openmetrics=False)
    for task, kind in types.items():
        for reason in [*schema.tasks[kind]["drops"], *schema.common.values()]:
            yield info.line({"task": task, "reason": reason["name"], "meaning": reason["meaning"], "remedy": reason["remedy"]}, 1)


def collect(telemetry, subscribers, openmetrics):
    """Text of all metrics, in the form of OpenMetrics or of Prometheus."""
    commands = telemetry.ask("/")
    groups = sorted(c.split("/")[2] for c in commands if c.startswith("/vbng/") and c.count("/") == 2)
    parts = []
    for name in groups:
        if name != "subscriber":
            parts += by_object(telemetry, name, openmetrics)
        elif subscribers:
            parts += by_page(telemetry, name, openmetrics)
    parts += drop_words(telemetry)
    return "".join(parts) + ("# EOF\n" if openmetrics else "")
