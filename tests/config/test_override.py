# SPDX-License-Identifier: BSD-3-Clause
"""What --set and --layout do where they are right; bad/override.suite and bad/layout.suite have the errors."""

import json
import pathlib

import pytest

CFG = pathlib.Path(__file__).resolve().parent.parent.parent / "cfg"
GATEWAY = CFG / "bng-4port.cfg"
QOS = CFG / "qos-minimal-fig7.cfg"  # has a section and a task "qos"
PIPELINE = CFG / "bng-4port-pipeline.cfg"


def sets(*settings):
    return [word for s in settings for word in ("--set", s)]


@pytest.fixture
def plan(vbng, run):
    """A function: the plan for options and a configuration, parsed."""

    def parsed(*args):
        answer = run(vbng, "--plan=json", *args)
        assert answer.returncode == 0, answer.stderr
        return json.loads(answer.stdout)

    return parsed


def test_values(plan):
    """A value that the file has, one that it has not, a pool that no file names, the whole file's."""
    p = plan(*sets("ports.cpe0.rx_desc=512", "ports.cpe1.on_full=wait", "pools.default.mbufs=32K", "name=other"), GATEWAY)
    ports = {port["port"]: port for port in p["ports"]}
    assert ports["cpe0"]["rx_desc"] == 512 and ports["cpe1"]["rx_desc"] == 1024
    assert ports["cpe1"]["on_full"] == "wait" and ports["cpe0"]["on_full"] == "drop"
    assert p["memory"]["pools"][0]["mbufs"] == 32768
    assert p["name"] == "other"


def test_links(plan):
    """Where a task leads to."""
    p = plan(*sets("gen_cpe0.to=t_cpe1"), GATEWAY)
    gen = next(i for i in p["instances"] if i["task"] == "gen_cpe0")
    assert [d["port"] for o in gen["outputs"] for d in o["destinations"]] == ["t_cpe1"]


def test_last_wins(plan):
    p = plan(*sets("pools.default.mbufs=32K", "pools.default.mbufs=48K"), GATEWAY)
    assert p["memory"]["pools"][0]["mbufs"] == 49152


def test_sections(plan):
    """A way through several sections, also where a task has the name of one: tasks come first."""
    p = plan(*sets("qos.ring=1024", "qos.schedulers.access.overhead=64"), QOS)
    assert any(r["consumer"] == "qos" and r["size"] == 1024 for r in p["rings"]), p["rings"]


def test_layout(plan, folder):
    """Any configuration of the same graph can be FILE; only its layout counts."""
    one = folder / "one.cfg"
    tasks = '", "'.join(i["task"] for i in plan(GATEWAY)["instances"])
    one.write_text(f'name = "no"; tasks = 5;\nlayout = ( {{ core = "3"; tasks = ["{tasks}"]; }} );\n')
    p = plan("--topology", "1x4x1", "--layout", one, GATEWAY)
    assert [c["cpu"] for c in p["cores"]] == [3] and p["name"] == "bng-4port"
    assert plan("--layout", PIPELINE, PIPELINE)["cores"] == plan(PIPELINE)["cores"]


def test_instances(plan, vbng, run):
    """A layout that names instances: each is on the core that it says, and what does so leads to a call there, to a ring elsewhere."""
    shared = CFG / "layouts/bng-4port-pipeline-shared.cfg"
    p = plan("--layout", shared, PIPELINE)
    assert [next(n for n in c["instances"] if n.startswith("decap.")) for c in p["cores"][:3]] == ["decap.0", "decap.1", "decap.2"]
    instances = {i["instance"]: i for i in p["instances"]}
    assert [instances[f"route.{w}"]["worker"] for w in range(3)] == [0, 1, 2]
    for lb, own in (("lb_up", "decap.0"), ("lb_down", "gre_down.1")):
        kinds = {d["instance"]: d["kind"] for d in instances[lb]["outputs"][0]["destinations"]}
        assert len(kinds) == 3 and [name for name, kind in kinds.items() if kind == "call"] == [own], kinds
    text = run(vbng, "--plan", "--layout", shared, PIPELINE).stdout
    assert "lb_up ─┬──▶ decap.0 ──▶ route.0 ─┬──▶ gre_up.0 ──▶ mpls_up.0 ══[ring 512 MP]═▶ tx_core (core 2)" in text, text
    assert "└══[ring 512 SP]═▶ decap.1-2 (cores 1-2)" in text, text


LINE = """ports = ( { name = "in"; device = "net_null0"; }, { name = "out"; device = "net_null1"; } );
tasks = ( { name = "pass"; type = "forward"; from = "in"; to = "pass.9"; }, { name = "pass.9"; type = "forward"; to = "out"; } );
topology = "1x4x1";
"""


@pytest.mark.parametrize("layout, cpus", [
    ('{ core = "0-2"; tasks = "pass"; }, { core = "3"; tasks = "pass.9"; }', {"pass.0": 0, "pass.1": 1, "pass.2": 2, "pass.9": 3}),
    ('{ core = "0,3"; tasks = ["pass.0-1", "pass.9.0-1"]; }', {"pass.0": 0, "pass.9.0": 0, "pass.9.1": 3}),
    ('{ core = "2"; tasks = ["pass.9", "pass.0"]; }', {"pass": 2, "pass.9": 2}),
    ('{ core = "2,1"; tasks = ["pass.2-3", "pass.9.0-1"]; }, { core = "0,3"; tasks = ["pass.0-1", "pass.9.2-3"]; }',
     {"pass.0": 0, "pass.2": 2, "pass.3": 1, "pass.9.0": 2, "pass.9.1": 1, "pass.9.2": 0, "pass.9.3": 3}),
], ids=["of that name", "in a row", "the only one", "last ones first"])  # fmt: skip
def test_names_of_instances(plan, folder, layout, cpus):
    """Names of tasks may have points, too."""
    path = folder / "line.cfg"
    path.write_text(f"{LINE}layout = ( {layout} );\n")
    p = plan(path)
    of = {i["instance"]: p["cores"][i["core"]]["cpu"] for i in p["instances"]}
    assert {name: of.get(name) for name in cpus} == cpus, of


def test_many(vbng, run):
    """As many as there is room for, and one more."""
    command = [vbng, "--check", *sets(*["name=x"] * 64)]
    assert run(*command, GATEWAY).returncode == 0
    r = run(*command, "--set", "name=x", GATEWAY)
    assert r.returncode == 2 and "--set name=x: there are too many" in r.stderr


def test_run(vbng, run, folder):
    """A run takes both, and a template named on the command line is looked for from here."""
    report = folder / "report.json"
    template = CFG.parent / "pkt_templates/cpe1.tmpl"
    r = run(vbng, "--quiet", "--share-cpus", "--duration", "1s", "--report", report, "--layout", GATEWAY,
            *sets("gen_cpe0.rate=1kpps", "gen_cpe1.count=10", "drain=2s", f"gen_cpe0.template={template}"), GATEWAY)
    assert r.returncode == 0, r.stderr
    tasks = {t["name"]: t for t in json.loads(report.read_text())["tasks"]}
    assert tasks["gen_cpe1"]["created"] == 10
    assert 10 < tasks["gen_cpe0"]["created"] < 1500
