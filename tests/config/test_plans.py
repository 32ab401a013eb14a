# SPDX-License-Identifier: BSD-3-Clause
"""The plans of all configurations in cfg/: JSON that agrees with itself and with its schema, and the pictures of doc/plan.md as
they really look."""

import json
import re

import pytest

from tests.common import need
from tests.config.pictures import FENCE, PAGE, TOP, picture, pictures

SCHEMA = TOP / "doc/schemas/plan.json"
OPTIONAL = ("physical_core", "thread", "routes_of", "ring", "keeps_frames", "peer")  # keys that some places lack
CONFIGURATIONS = sorted((TOP / "cfg").glob("*.cfg"))
BLOCKS = PAGE.read_text().split(FENCE)
SHOWN = list(pictures(BLOCKS))


@pytest.fixture
def plan(vbng, run):
    """A function: the text of a plan in one of its forms."""

    def text(path, form):
        answer = run(vbng, f"--plan={form}", path)
        assert answer.returncode == 0, answer.stderr
        return answer.stdout

    return text


@pytest.mark.parametrize("path", CONFIGURATIONS, ids=lambda path: path.stem)
def test_json_agrees(plan, path):
    """All that is named is there, and every core's instances say so themselves."""
    p = json.loads(plan(path, "json"))
    instances = {i["instance"]: i for i in p["instances"]}
    ports = {port["port"]: port for port in p["ports"]}
    assert len(instances) == len(p["instances"]) > 0, "names of instances"
    for core in p["cores"]:
        for name in core["instances"]:
            assert instances[name]["core"] == core["core"], f"core of {name}"
    for i in p["instances"]:
        for rx in i["receives"]:
            assert rx["queue"] < ports[rx["port"]]["rx_queues"], f"receive queue of {i}"
        for d in (d for o in i["outputs"] for d in o["destinations"]):
            destination_agrees(p, ports, instances, i, d)
    m = p["memory"]
    parts = ("mbufs", "subscribers", "routes", "rings", "schedulers")
    assert m["total_bytes"] == sum(m[k + "_bytes"] for k in parts), "total"
    assert all(x["mbufs"] >= x["mbufs_needed"] for x in m["pools"]), "pools"


def destination_agrees(p, ports, instances, i, d):
    """One destination of an output of instance i."""
    if d["kind"] == "port":
        assert d["queue"] < ports[d["port"]]["tx_queues"], f"transmit queue of {i}"
    elif d["kind"] == "call":
        assert instances[d["instance"]]["core"] == i["core"], f"call from {i}"
    else:
        ring = p["rings"][d["ring"]]
        assert ring["consumer"] == d["instance"], f"ring from {i}"
        assert instances[d["instance"]]["ring"] == d["ring"], f"ring from {i}"
        assert instances[d["instance"]]["core"] != i["core"], f"ring from {i}"


def closed(schema):
    """A schema that allows no other keys than it names. The published one does, so that a program which checks a plan by it
    also takes the plan of a later vbng."""
    if isinstance(schema, list):
        return [closed(s) for s in schema]
    if not isinstance(schema, dict):
        return schema
    shut = {"additionalProperties": False} if "properties" in schema and "additionalProperties" not in schema else {}
    return {key: closed(value) for key, value in schema.items()} | shut


@pytest.fixture(scope="module")
def checker():
    jsonschema = need.module("jsonschema", "python3-jsonschema")
    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(closed(schema))


@pytest.mark.parametrize("path", CONFIGURATIONS, ids=lambda path: path.stem)
def test_json_is_as_published(plan, checker, path):
    checker.validate(json.loads(plan(path, "json")))


def test_schema_sees_faults(plan, checker):
    """Each key of a plan, of another type or left out, and a key that nobody knows, are seen; keys of OPTIONAL may be left out."""
    p = json.loads(plan(TOP / "cfg/bng-qos-4port.cfg", "json"))
    sender = next(i for i in p["instances"] if i["outputs"])
    for place in (p, p["topology"], p["cores"][0], sender, sender["outputs"][0], sender["outputs"][0]["destinations"][0], p["ports"][0],
                  p["memory"], p["memory"]["pools"][0], p["memory"]["schedulers"][0]):
        for key, value in list(place.items()):
            place[key] = {"a": "value"}
            assert not checker.is_valid(p), f"{key} of another type"
            del place[key]
            assert key in OPTIONAL or not checker.is_valid(p), f"without {key}"
            place[key] = value
        place["unknown"] = 1
        assert not checker.is_valid(p), f"an unknown key beside {', '.join(place)}"
        del place["unknown"]
    checker.validate(p)


SENDERS = """memory = "no-huge"; topology = "1x2x1";
pools = {{ default = {{ mbufs = "8K"; }}; made = {{ per = "{per}"; mbufs = "4K"; }}; }};
ports = ( {{ name = "a"; device = "net_null0"; }}, {{ name = "b"; device = "net_null1"; }} );
tasks = ( {{ name = "one"; type = "gen"; template = "one.tmpl"; pool = "made"; to = "a"; }},
          {{ name = "two"; type = "gen"; template = "one.tmpl"; pool = "{second}"; to = "b"; }},
          {{ name = "sink"; type = "sink"; from = ["a", "b"]; }} );
layout = ( {{ core = "0"; tasks = ["one", "two", "sink"]; }} );
"""


@pytest.mark.parametrize("per, second, kept", [("queue", "made", ["one", "two"]), ("queue", "default", ["one"]), ("gateway", "made", [])])
def test_frames_that_stay(plan, checker, folder, per, second, kept):
    """Which generators have mbufs that nobody else writes into: in JSON, and in the text beside the mbufs."""
    path = folder / "senders.cfg"
    path.write_text(SENDERS.format(per=per, second=second))
    (folder / "one.tmpl").write_text("size 64\nether src 02:00:00:00:00:01 dst 02:00:00:00:00:02 type 0x88b5\npayload 00\n")
    p = json.loads(plan(path, "json"))
    checker.validate(p)
    assert {i["instance"]: i.get("keeps_frames") for i in p["instances"]} == {"one": "one" in kept, "two": "two" in kept, "sink": None}
    assert re.findall(r"^  pool .*; the frames of (\w+) stay in them$", plan(path, "text"), re.MULTILINE) == kept


def test_pictures_are_shown():
    assert SHOWN, "doc/plan.md shows no plan of a configuration in cfg/"


@pytest.mark.parametrize("index, path", SHOWN, ids=[f"{path.stem}-{index}" for index, path in SHOWN])
def test_picture_is_true(plan, index, path):
    shown, true = (re.sub(r"[0-9.]+ MiB", "... MiB", text) for text in (BLOCKS[index], picture(plan(path, "text"))))  # it is DPDK's, too
    assert shown == true, "doc/plan.md differs: tests/config/pictures.py writes its pictures anew"
