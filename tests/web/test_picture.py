# SPDX-License-Identifier: BSD-3-Clause
"""The picture of the pipeline, as the live page lays it out, of every configuration in cfg/."""

import json
import pathlib

import pytest

from vbnglab.web import graph as web_graph

CONFIGURATIONS = sorted((pathlib.Path(__file__).resolve().parent.parent.parent / "cfg").glob("*.cfg"))


@pytest.mark.parametrize("config", CONFIGURATIONS, ids=lambda path: path.stem)
def test_of_every_configuration(vbng, run, config):
    """Nothing stands on something else or outside, every link of the plan is drawn once, and what is not slow runs to the right."""
    printed = run(vbng, "--plan=json", config)
    assert printed.returncode == 0, printed.stderr
    plan = json.loads(printed.stdout)
    p = web_graph.layout(plan)
    nodes = {n["id"]: n for n in p["nodes"]}
    assert len(nodes) == len(p["nodes"])
    assert {n["name"] for n in p["nodes"] if n["kind"] == "task"} == {i["task"] for i in plan["instances"]}
    for n in p["nodes"]:
        band = p["bands"][n["band"]]
        assert 0 <= n["x"] and n["x"] + n["w"] <= p["width"] and band["y"] <= n["y"] and n["y"] + n["h"] <= band["y"] + band["h"], n
        for m in p["nodes"]:
            apart = n["x"] + n["w"] <= m["x"] or m["x"] + m["w"] <= n["x"] or n["y"] + n["h"] <= m["y"] or m["y"] + m["h"] <= n["y"]
            assert m is n or apart, (n["id"], m["id"])
    links = [number for e in p["edges"] for number in e["links"]]
    assert sorted(links) == list(range(sum(len(o["destinations"]) for i in plan["instances"] for o in i["outputs"])))
    for e in p["edges"]:
        if not e["side"]:
            assert nodes[e["from"]]["x"] < nodes[e["to"]]["x"], e


def test_a_circle_ends():
    def instance(name, to):
        return {"instance": name, "task": name, "type": "t", "receives": [],
                "outputs": [{"name": "to", "destinations": [{"kind": "call", "instance": to}]}]}

    plan = {"cores": [{"core": 1, "cpu": 0, "instances": ["a", "b"]}], "instances": [instance("a", "b"), instance("b", "a")]}
    assert len(web_graph.layout(plan)["nodes"]) == 2
