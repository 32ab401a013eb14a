# SPDX-License-Identifier: BSD-3-Clause
"""What vbng-cp tells of itself, as metrics of Prometheus' own library: each comes with its name, type, labels and meaning."""

from ..lab.controlplane import Absent, metrics
from .metrics import core


def family(metric):
    """The family of a metric."""
    labels, words = metric["labels"], f"{metric['help']} ({metric['unit']})."
    if metric["type"] == "info":
        found = core.InfoMetricFamily(metric["name"], metric["help"], labels=labels)
    elif metric["type"] == "histogram":
        found = core.HistogramMetricFamily(metric["name"], words, labels=labels)
    else:
        kind = core.CounterMetricFamily if metric["type"] == "counter" else core.GaugeMetricFamily
        found = kind(metric["name"], words, labels=labels)
    for series in metric["series"]:
        value = series["value"]
        if metric["type"] == "histogram":
            buckets = [(f"{bound:g}", n) for bound, n in value["buckets"]] + [("+Inf", value["count"])]
            found.add_metric(series["labels"], buckets, value["sum"])
        else:
            found.add_metric(series["labels"], value)
    return found


def families(path):
    """All families of the vbng-cp behind a socket, and whether it answers."""
    try:
        found = [family(m) for m in metrics(path)]
    except Absent:
        found = []
    return [core.GaugeMetricFamily("vbng_cp_up", "1 while vbng-cp answers (1).", value=int(bool(found))), *found]
