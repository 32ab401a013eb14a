# SPDX-License-Identifier: BSD-3-Clause
"""The rules for Prometheus, its example configuration and the dashboard for Grafana; test_telemetry.py holds them to the metrics."""

import json
import pathlib
import re
import shutil

from tests.common import need
from tests.telemetry import monitoring

HERE = pathlib.Path(__file__).resolve().parent


def promtool(run, *words):
    done = run(need.program("promtool", "prometheus"), *words)
    assert done.returncode == 0, done.stdout + done.stderr


def test_rules(run):
    """An ill gateway has each alert, and one that is well has none."""
    promtool(run, "check", "rules", monitoring.FOLDER / "vbng.rules.yml")
    promtool(run, "test", "rules", HERE / "alerts.yml")
    rules = re.findall(r"- alert: (\w+)", (monitoring.FOLDER / "vbng.rules.yml").read_text())
    assert sorted(rules) == sorted(re.findall(r'alertname="(\w+)"', (HERE / "alerts.yml").read_text()))


def test_rules_are_whole():
    """Without promtool, too: each alert has its words."""
    yaml = need.module("yaml", "python3-yaml")
    for rule in yaml.safe_load((monitoring.FOLDER / "vbng.rules.yml").read_text())["groups"][0]["rules"]:
        assert rule["labels"]["severity"] in ("warning", "critical"), rule
        assert all(rule["annotations"][key] for key in ("summary", "description")), rule


def test_what_is_normal_is_no_alert(vbng, run):
    """The alert about drops leaves out just the reasons of who sends more than it may."""
    schema = json.loads(run(vbng, "--help", "json").stdout)
    normal = {d["name"] for t in schema["tasks"] for d in t["drops"] if d["remedy"].startswith("Normal for who sends more than its profile")}
    assert set(re.search(r'reason!~"(.*?)"', (monitoring.FOLDER / "vbng.rules.yml").read_text())[1].split("|")) == normal


def test_configuration(run, folder):
    shutil.copytree(monitoring.FOLDER, folder / "monitoring")
    promtool(run, "check", "config", folder / "monitoring/prometheus.yml")


def test_dashboard():
    """Panels have a number and a place of their own, and ask the source that the reader has chosen."""
    dashboard = json.loads((monitoring.FOLDER / "grafana-vbng.json").read_text())
    assert len({p["id"] for p in dashboard["panels"]}) == len(dashboard["panels"])
    taken = set()
    for p in dashboard["panels"]:
        at = p["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken and at["x"] + at["w"] <= 24, p["title"]
        taken |= cells
    for p in monitoring.panels():
        assert p["description"] and p["targets"], p["title"]
        assert {t["datasource"]["uid"] for t in p["targets"]} == {"${datasource}"}, p["title"]
        assert all('instance=~"$instance"' in t["expr"] for t in p["targets"]), p["title"]


def test_expressions(run, folder):
    """promtool takes each of the dashboard's as a rule."""
    rules = [{"record": "x", "expr": e.replace("$__rate_interval", "1m")} for _, e, _ in monitoring.expressions()]
    (folder / "rules.yml").write_text(json.dumps({"groups": [{"name": f"g{i}", "rules": [r]} for i, r in enumerate(rules)]}))
    promtool(run, "check", "rules", "--lint=none", folder / "rules.yml")
