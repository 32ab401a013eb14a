# SPDX-License-Identifier: BSD-3-Clause
"""What is shipped for Prometheus and Grafana, as expressions."""

import json
import pathlib
import re

FOLDER = pathlib.Path(__file__).resolve().parent.parent.parent / "tools/deploy/monitoring"


def panels():
    """All panels of the dashboard that show something."""
    return [p for p in json.loads((FOLDER / "grafana-vbng.json").read_text())["panels"] if p["type"] != "row"]


def expressions():
    """[(where, expression, labels that its texts name)] of the dashboard's panels and of the alerts."""
    found = [(panel["title"], t["expr"], re.findall(r"{{(\w+)}}", t["legendFormat"])) for panel in panels() for t in panel["targets"]]
    for rule in re.split(r"^ {6}- alert: ", (FOLDER / "vbng.rules.yml").read_text(), flags=re.M)[1:]:
        expression = re.search(r"expr: (?:>-\n)?(.*?)^ {8}\w", rule, re.M | re.S)[1]
        found.append((rule.split("\n", 1)[0], " ".join(expression.split()), re.findall(r"\$labels\.(\w+)", rule)))
    return found


def metrics(expression):
    """Names of vbng's metrics in an expression."""
    return set(re.findall(r"\bvbng_\w+", expression))
