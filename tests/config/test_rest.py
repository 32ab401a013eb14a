# SPDX-License-Identifier: BSD-3-Clause
"""Tasks that the layout does not name, tasks = "*", or no layout at all: what is planned, and what runs on several cores.
bad/layout.suite and bad/qos-shards.suite have the errors."""

import json
import pathlib

import pytest

from tests.common.verdict import nothing
from tests.e2e import process

CFG = pathlib.Path(__file__).resolve().parents[2] / "cfg"
GATEWAY = CFG / "bng-2port.cfg"  # has no layout
RTC = CFG / "bng-4port-rtc.cfg"
TASKS = ["classify", "shape_up", "untag", "route", "tunnel", "untunnel", "tag", "shape_down", "arp", "own_route"]
ONCE = {"arp", "own_route"}  # the slow path, and what only it leads to

# What leaves by a net_ring comes back to it, queue by queue: so cpe brings each core what its generator has sent there.
LOOP = """name = "loop"; memory = "no-huge"; idle = "sleep"; topology = "1x4x1"; drain = "5s";
pools = {{ default = {{ mbufs = "32K"; overcommit = true; }}; }};
ports = (
    {{ name = "cpe"; device = "net_ring0"; mac = "02:b0:00:00:00:00"; addresses = "100.64.0.1"; on_full = "wait"; }},
    {{ name = "core"; device = "net_ring1"; mac = "02:b0:00:00:01:00"; addresses = "192.0.2.1"; on_full = "wait"; }}
);
qos = {{ profiles = {{ home = {{ rate = "100M"; }}; }}; schedulers = {{ s = {{ ports = "cpe"; }}; }}; }};
subscribers = ( {{ port = "cpe"; svlan = "128-131"; cvlan = "256-511"; ipv4 = "10.0.0.0/22"; gre_key = "0-1023"; mac = "02:c0:00:00:00:00";
                  profile = "home"; }} );
routes = ( {{ prefix = "198.18.0.0/15"; port = "core"; mac = "02:dd:00:00:00:00"; gre = "203.0.113.1"; }} );
tasks = (
    {{ name = "gen"; type = "gen"; rate = "20kpps"; count = {count}; to = "cpe"; template = "users.tmpl"; }},
    {{ name = "asks"; type = "gen"; rate = "1kpps"; count = 100; to = "cpe"; template = "unknown.tmpl"; }},
{tasks}
    {{ name = "decap"; type = "qinq_decap"; to = "route"; }},
    {{ name = "route"; type = "route"; to = "gre"; punt = "arp"; }},
    {{ name = "gre"; type = "gre_encap"; to = "core"; }},
    {{ name = "sink"; type = "sink"; from = "core"; }},
    {{ name = "arp"; type = "arp"; to = ["cpe", "core"]; route = "own_route"; }},
    {{ name = "own_route"; type = "route"; to = "gre"; }}
);
{layout}
"""
PLAIN = '    { name = "classify"; type = "classify"; from = "cpe"; to = "decap"; punt = "arp"; },'
SHARDS = """    { name = "lb"; type = "lb"; by = "qinq"; from = "cpe"; to = "classify"; },
    { name = "classify"; type = "classify"; scheduler = "s"; to = "qos"; punt = "arp"; on_full = "wait"; },
    { name = "qos"; type = "qos"; scheduler = "s"; direction = "up"; to = "decap"; },"""
USERS = """size 128
var user 0-1023 step 1
ether src 02:c0:00:00:00:00 + user dst 02:b0:00:00:00:00
vlan tpid 0x88a8 id 128 + user[9:8]
vlan id 256 + user[7:0]
ipv4 src 10.0.0.0 + user dst 198.18.0.1
udp src 1024 dst 2048
payload 00
"""
UNKNOWN = USERS.replace("dst 198.18.0.1", "dst 203.0.113.9")  # no route: the slow path tells the sender
COUNT = 4000


@pytest.fixture
def plan(vbng, run):
    """A function: the plan for options and a configuration, parsed."""

    def parsed(*args):
        answer = run(vbng, "--plan=json", *args)
        assert answer.returncode == 0, answer.stderr
        return json.loads(answer.stdout)

    return parsed


def test_no_layout(plan):
    """One core, the first that the process was given, with the tasks in the order of the configuration."""
    p = plan("--topology", "1x4x1", GATEWAY)
    assert [(c["cpu"], c["instances"]) for c in p["cores"]] == [(0, TASKS)] and p["rings"] == []


PICTURE = """
core 0 (CPU 0)
  access rx 0 ──▶ classify ─┬──▶ shape_up ──▶ untag ──▶ route ─┬──▶ tunnel ──▶ core tx 0
                            │                                  └─punt─▶ arp …
                            └─punt─▶ arp …
  core rx 0 ──▶ untunnel ─┬──▶ tag ─┬──▶ shape_down ──▶ access tx 0
                          │         └─punt─▶ arp …
                          └─punt─▶ arp …
  … ─▶ arp ─┬──▶ access tx 0
            ├──▶ core tx 0
            └─route─▶ own_route …
  … ─▶ own_route ──▶ tunnel …
"""


def test_no_layout_golden(vbng, run):
    answer = run(vbng, "--plan", "--topology", "1x4x1", GATEWAY)
    assert answer.stdout.split("\ncores\n")[0].split("\n", 1)[1] == PICTURE, answer.stdout


def test_layout_of_another_file(plan, folder):
    """--layout gives a layout to what has none."""
    path = folder / "two.cfg"
    path.write_text('layout = ( { core = "1"; tasks = "untag"; }, { core = "0"; tasks = ["shape_down", "*"]; } );\n')
    p = plan("--topology", "1x4x1", "--layout", path, GATEWAY)
    others = [t for t in TASKS if t not in ("untag", "shape_down")]
    assert [(c["cpu"], c["instances"]) for c in p["cores"]] == [(1, ["untag"]), (0, ["shape_down", *others])]


def test_several_cores(plan):
    """Each core has a queue of each port and an instance of each task, but for what runs once."""
    p = plan(RTC)
    cores = [{name.rsplit(".", 1)[0] for name in c["instances"]} for c in p["cores"]]
    assert len(cores) == 4 and cores[0] - cores[1] == ONCE and cores[1] == cores[2] == cores[3] < cores[0]
    assert [port["rx_queues"] for port in p["ports"]] == [4, 4, 4, 4]
    assert [r["consumer"] for r in p["rings"]] == ["arp"], "what the other cores punt crosses"
    own = next(i for i in p["instances"] if i["task"] == "own_route")
    assert own["core"] == 0 and [d["instance"] for o in own["outputs"] for d in o["destinations"]] == ["gre_up.0"]


def loop(folder, tasks, layout):
    for name, text in (("users", USERS), ("unknown", UNKNOWN)):
        (folder / f"{name}.tmpl").write_text(text)
    path = folder / "loop.cfg"
    path.write_text(LOOP.format(tasks=tasks, layout=layout, count=COUNT))
    return path


def on(worker, *tasks):
    return [f"{t}.{worker}" for t in tasks]


def test_beside_names(plan, folder):
    """Tasks and instances that the layout names keep their places, beside it and in other entries."""
    layout = 'layout = ( { core = "1-2"; tasks = ["sink.0-1", "*"]; }, { core = "3"; tasks = "sink.2"; }, { core = "0"; tasks = ["gen", "asks"]; } );'
    answer = plan(loop(folder, PLAIN, layout))
    assert [c["instances"] for c in answer["cores"]] == [
        [*on(0, "sink", "classify", "decap", "route", "gre"), "arp", "own_route"], on(1, "sink", "classify", "decap", "route", "gre"), ["sink.2"],
        ["gen", "asks"]]


@pytest.mark.parametrize("tasks, rings", [(PLAIN, {"arp": 1}), (SHARDS, {"arp": 1, "classify": 4})], ids=["spread by the device", "shards behind lb"])
def test_traffic(vbng, run, plan, folder, tasks, rings):
    """Four cores run all of it: each packet leaves once, what the cores punt reaches the one slow path, and the account balances."""
    path = loop(folder, tasks, 'layout = ( { core = "c0-c3"; tasks = "*"; } );')
    consumers = [r["consumer"].split(".")[0] for r in plan(path)["rings"]]
    assert {c: consumers.count(c) for c in consumers} == rings
    report = folder / "report.json"
    done = run(vbng, "-q", "--share-cpus", "--duration", "3s", "--report", report, path)
    assert done.returncode == 0, done.stderr
    found = json.loads(report.read_text())
    counts = {t["name"]: t for t in found["tasks"]}
    wrong = process.ledger_faults(found)
    if counts["sink"]["consumed"] != COUNT:
        wrong.append(f"{counts['sink']['consumed']} of {COUNT} packets came: {counts}")
    if counts["arp"]["in"] < 100:
        wrong.append(f"{counts['arp']['in']} packets at the slow path, expected 100")
    nothing(wrong)
