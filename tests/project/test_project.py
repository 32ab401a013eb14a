# SPDX-License-Identifier: BSD-3-Clause
"""What vbng-lab project calculates: by hand, for costs and plans that are made up; and what it says and refuses."""

import json
import math
import pathlib
from dataclasses import replace

import pytest

from vbnglab.project import arrange, check, costs, machine, path, projection

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
MINIMAL, ROUTER, GATEWAY = TOP / "cfg/qos-minimal-fig8.cfg", TOP / "cfg/bng-4port.cfg", TOP / "cfg/bng-qos-4port.cfg"
# Cycles of a packet, so chosen that each task's are a round number: classify 50; then 10, 20, 10, 20; mpls_pop 40; then 30, 10
CASES = {"null path": 15, "forward": 5, "lb qinq": 35, "lb gre": 35, "classify": 50, "qinq_decap": 30, "route": 45, "gre_encap": 40, "mpls_push": 35,
         "mpls_pop": 40, "gre_decap": 60, "qinq_encap": 45, "up: classify": 50, "up: decap": 60, "up: route": 80, "up: gre": 90, "upstream": 110,
         "down: pop": 40, "down: gre": 70, "downstream": 80, "both ways": 95, "both ways, fused": 85.5}  # fmt: skip
QOS = {"qos: task": 200, "qos: minimal": 265, "qos: BNG": 320, "qos: BNG, fused": 288, "lib: task": 400, "lib: minimal": 465, "lib: BNG": 520}
UP = 50 + 200 + 30 + 20 + 10 + 20  # classify, qos, and cold behind it decap; route, gre, mpls
DOWN = 40 + 30 + 10 + 200
BOTH = 320 - (UP + DOWN) / 2  # more, where one core has both schedulers
FUSED = 0.9  # of what the tasks of a direction take, with a scheduler and without


def write(path, cycles, hz=2e9):
    rows = [{"name": n, "cycles": {"median": c, "min": c - 7, "max": c + 9}} for n, c in cycles.items()]
    path.write_text(json.dumps({"machine": "mine", "tsc_hz": hz, "cases": rows}))
    return str(path)


@pytest.fixture
def files(folder):
    """Words that give the made-up costs."""
    return ["--costs", write(folder / "bench.json", CASES), "--costs", write(folder / "qos.json", QOS)]


@pytest.fixture
def cost(files):
    return costs.read("wheel", files[1::2])


@pytest.fixture
def project(vbng, run, files):
    """A function: the projection with the made-up costs, as a dict."""

    def figures(*words):
        done = run(TOP / "tools/vbng-lab", "project", "--vbng", vbng, "--json", *files, *words)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return figures


@pytest.fixture
def plan(vbng, run):
    """A function: the plan of a configuration."""
    return lambda *words: json.loads(run(vbng, "--plan=json", "--share-cpus", *words).stdout)


def row(found, cores):
    return next(r for r in found["rows"] if r["cores"] == cores)


def test_costs_by_hand(cost):
    assert (cost.of("qinq_decap", False), cost.of("route", False), cost.of("gre_encap", False), cost.of("mpls_push", False)) == (10, 20, 10, 20)
    assert (cost.of("gre_decap", False), cost.of("qinq_encap", False), cost.of("qos", False), cost.of("qos", True)) == (30, 10, 200, 200)
    assert (cost.hz, cost.source) == (2e9, "mine") and cost.both == pytest.approx(BOTH)
    assert cost.fused == pytest.approx({False: FUSED, True: FUSED})
    up = ["classify", "qos", "qinq_decap", "route", "gre_encap", "mpls_push"]
    assert cost.sum(up, True) == pytest.approx(UP * FUSED) and cost.sum(up[:-1], True) == UP - 20 and cost.sum(up[1:], False) == UP - 50


def test_what_was_measured_comes_out(project, cost):
    """A layout of one core is the path that the costs are of, fused where that is a gateway's: nothing is lost between tasks, and no ring is there."""
    assert project(GATEWAY)["one_core_cycles"] == pytest.approx(288)
    assert project(MINIMAL)["one_core_cycles"] == pytest.approx(265)
    assert project(ROUTER)["one_core_cycles"] == pytest.approx((110 + 80) / 2 * FUSED)
    assert project(GATEWAY, "--shaping", "librte_sched")["one_core_cycles"] == pytest.approx(520)
    own = project(GATEWAY)["layout"]
    assert sum(own["cores"][0]["tasks"].values()) + BOTH * FUSED == pytest.approx(288)
    assert own["pps"] == pytest.approx(2e9 / 288) and own["core"] == 0 and len(own["cores"]) == 1


def test_run_to_completion_scales_until_something_else_limits(project):
    found = project(ROUTER, "--cpu", "64x2@60", "--ports", "4x10G", "--cores", "1,2,3,64")
    ports = 4 * 10e9 / 8 / (78 + 20)
    memory = 0.6 * 60e9 / (6 * 64 * 1.5 + 64 + 78)
    assert found["limits"] == pytest.approx({"port rate": ports, "memory bandwidth": memory})
    assert [r["pps"] for r in found["rows"]] == pytest.approx([2e9 / 85.5, 4e9 / 85.5, memory, memory])
    assert [r["limit"] for r in found["rows"]] == ["cores", "cores", "memory bandwidth", "memory bandwidth"]
    wide = project(ROUTER, "--cpu", "64x2@400", "--ports", "4x10G", "--cores", "64")
    assert (row(wide, 64)["limit"], row(wide, 64)["pps"]) == ("port rate", pytest.approx(ports))
    assert row(wide, 64)["bps"] == pytest.approx(ports * 64 * 8)


def test_one_scheduler_has_one_core(project, cost):
    """Of the minimal pipeline the scheduler's 200 cycles stay, with its part of two rings, or of one and the transmission."""
    found = project(MINIMAL, "--cores", "1,2,3,4,64")
    qos, others = 200 + cost.take() + cost.put(), 50 + cost.put() + cost.take() + 15
    assert qos > others and row(found, 2)["pps"] == pytest.approx(2e9 / min(qos, 200 + cost.take() + 15))
    assert found["schedulers"] == 1 and row(found, 64)["unsharded_pps"] == row(found, 2)["pps"]
    library = project(MINIMAL, "--shaping", "librte_sched", "--cores", "2,64")
    assert row(library, 64)["limit"] == "one scheduler per core" and row(library, 64)["pps"] == row(library, 2)["pps"] == row(library, 64)["unsharded_pps"]


def test_shards_by_hand(project, cost):
    """Of the minimal pipeline's 265 cycles each shard has all, with its part of the ring and what sharing costs; an lb is before them."""
    found = project(MINIMAL, "--cores", "1,2,3,5,64")
    shard = cost.take() + 265 + costs.SHARE

    assert [(row(found, n)["spreading_cores"], row(found, n)["scheduler_cores"]) for n in (1, 2, 3, 5)] == [(0, 1), (0, 1), (1, 2), (1, 4)]
    for n in (3, 5):
        assert row(found, n)["pps"] == pytest.approx(2e9 / max(35 + cost.put(), shard / (n - 1))) and row(found, n)["limit"] == "cores"
    wide = row(found, 64)
    assert wide["limit"] == "shards" and wide["scheduler_cores"] == 16 and wide["pps"] == pytest.approx(16 * 2e9 / shard)
    assert wide["spreading_cores"] == math.ceil((35 + cost.put(2)) / (shard / 16))


def test_far_cores_do_less(project):
    near, far = (row(project(MINIMAL, "--cores", "2", "--core-latency", ns), 2)["pps"] for ns in ("72", "417"))
    assert near > 1.05 * far


def test_more_cores_never_do_less(project):
    for words in ([GATEWAY], [ROUTER], [MINIMAL], [GATEWAY, "--shaping", "librte_sched"], [TOP / "cfg/bng-qos-4port-pipeline.cfg"]):
        pps = [r["pps"] for r in project(*words)["rows"]]
        assert pps == sorted(pps) and pps[0] > 0, words


def test_two_schedulers_share_two_cores(project):
    """A core for each direction: the work of both, without what they cost each other; the slower one decides."""
    found = project(GATEWAY, "--cores", "1,2")
    assert row(found, 1)["pps"] == pytest.approx(2e9 / 288)
    assert row(found, 2)["pps"] == pytest.approx(2e9 / (UP * FUSED / 2))


def test_loads_of_a_pipeline(plan, cost):
    """Fig. 7: classify and a ring, the scheduler between two rings, transmission behind one."""
    found = path.loads(plan(TOP / "cfg/qos-minimal-fig7.cfg"), cost)
    put, take = cost.put(), cost.take()
    assert [load.cycles for _, load in sorted(found.items())] == pytest.approx([50 + put, 200 + put + take, 15 + take])
    assert [load.rings for _, load in sorted(found.items())] == pytest.approx([put, put + take, take])


def test_rings_cost_by_core_to_core_latency(cost, plan):
    """As measured where it is near and where it is far, and in between in proportion; nearer than near is near. Wires to a tester are rings."""

    def at(ns):
        c = replace(cost, core_ns=ns)
        return c.put(), c.take()

    near, far = costs.RING_NS
    assert at(near) == at(near / 2) == (costs.RING_PUT[0], costs.RING_TAKE[0]) and at(far) == pytest.approx((costs.RING_PUT[1], costs.RING_TAKE[1]))
    assert at((near + far) / 2) == pytest.approx([sum(c) / 2 for c in (costs.RING_PUT, costs.RING_TAKE)])
    assert cost.put(2) == cost.put() + costs.RING_MORE
    found = {wires: path.loads(plan(TOP / "cfg/qos-minimal-fig7.cfg"), cost, wires=wires) for wires in (False, True)}
    assert [found[True][core].cycles - found[False][core].cycles for core in sorted(found[True])] == pytest.approx([cost.take(), 0, cost.put()])


def test_ring_is_named():
    """Where rings are most of what a packet costs, and where it would cost more to take it to another core than to work on it."""

    def limit(kinds, cycles):
        return arrange.arrange([(kinds, 1.0, "q")], costs.Costs(cycles, cycles, 0.0, 2e9, "made up"), 2e9, 8, 1).limit

    assert limit(["classify", "qos", "forward"], {"classify": 1, "qos": 1, "forward": 1, "lb": 1}) == "ring"
    assert limit(["classify", "qos"], {"classify": 5, "qos": 1, "lb": 1}) == "ring"
    assert limit(["classify", "qos"], {"classify": 100, "qos": 100, "lb": 1}) == "one scheduler per core"


def test_paper(project, cost):
    found = project(GATEWAY, "--cpu", "10x2.8", "--paper")
    by = {r["layout"]: r for r in found["fig10"]}
    assert {name: by[name]["paper"] for name in ("pipeline", "smt-rx-qos", "smt-qos-tx")} == {"pipeline": 14.88, "smt-rx-qos": 8.65, "smt-qos-tx": 9.5}
    assert by["one-core"]["pps"] == pytest.approx(2.8e9 / 265) and by["one-core"]["line"] == pytest.approx(14.88e6, rel=1e-3)
    put, take = cost.put(), cost.take()
    assert by["qos-tx"]["pps"] == pytest.approx(2.8e9 / (200 + take + 15))
    assert by["smt-qos-tx"]["pps"] == pytest.approx(2.8e9 / max(200 + take + put, (200 + take + put + 15 + take) / 1.25))
    rows = {r["access"]: r for r in found["table2"]}
    assert rows[64]["line"] == pytest.approx(51.02e6, rel=1e-3) and rows[64]["paper"] == [42.80, 44.02]
    assert rows[1494]["pps"]["4"] == pytest.approx(rows[1494]["line"])


def test_judgement():
    """The machine's own speed cancels; what is left is what the projection says of two cores."""
    rounds = [(80, {"one-core": 300 * s, "qos-tx": 200 * s}) for s in (1.0, 1.6, 1.1)]
    base, rows = check.judge(rounds, lambda _: {"one-core": 150, "qos-tx": 105})
    assert base == pytest.approx(330)
    assert rows == [{"layout": "qos-tx", "projected": pytest.approx(231), "measured": pytest.approx(220), "off": pytest.approx(0.05)}]
    assert check.judge([(400, rounds[0][1]), *rounds[1:]], lambda ns: {"one-core": 150, "qos-tx": 105 * (1 + (ns == 400))})[1][0]["off"] == pytest.approx(0.05)


def test_disturbed_rounds_do_not_count():
    plan = {"cores": [{"core": 0, "run_on": 3}, {"core": 1, "run_on": 5}]}
    cores = [{"cpu": 3, "busy": 0.5, "cpu_seconds": 1.99}, {"cpu": 5, "busy": 0.8, "cpu_seconds": 1.99}]
    report = {"seconds": 2.0, "tsc_hz": 2e9, "cores": cores, "tasks": [{"name": "s", "type": "sink", "in": 10_000_000}]}
    assert check.cycles(report, 1, plan) == pytest.approx(0.8 * 1.99 * 2e9 / 1e7)
    cores[0]["cpu_seconds"] = 1.9
    assert check.cycles(report, 1, plan) is None


@pytest.mark.long
@pytest.mark.limit(240)
def test_check_runs(vbng, run, files):
    """That it runs, and says what it found: how far off is for a quiet machine to say, so all that may differ is its status."""
    done = run(TOP / "tools/vbng-lab", "project", "--vbng", vbng, *files, MINIMAL, "--set", "classify.shed=0", "--check", "--rounds", "3", "--seconds", "0.2")
    if done.returncode == 1 and "--check needs two cores" in done.stderr:
        pytest.skip("fewer than two cores")
    assert done.returncode in (0, 1, 3) and not done.stderr, done.stderr
    assert ("\nnot judged: " in done.stdout) == (done.returncode == 3)
    if done.returncode != 3:
        assert "qos-tx" in done.stdout and ("MISSED" in done.stdout) == (done.returncode == 1)


def test_text_says_what_is_assumed(vbng, run, files, folder):
    done = run(TOP / "tools/vbng-lab", "project", "--vbng", vbng, *files, GATEWAY, "--cpu", "epyc-9554", "--ports", "4x100G", "--picture", folder / "p", "--paper")
    assert done.returncode == 0, done.stderr
    for words in ("64 cores of 3.1 GHz, 460.8 GB/s", "one core takes 288 cycles", "unsharded", "16 shards, lb on", "assumed:", "drivers of NICs cost nothing", "up to 16 shards",
                  "Fig. 10", "Table II", "14.88"):
        assert words in done.stdout, words
    assert {p.name for p in (folder / "p").iterdir()} == {"projection.svg", "projection.png"}


def test_the_document_shows_what_it_prints(vbng, run):
    done = run(TOP / "tools/vbng-lab", "project", "--vbng", vbng, "cfg/bng-qos-4port.cfg", "--cpu", "epyc-9554", "--ports", "4x100G", "--paper", cwd=TOP)
    assert done.returncode == 0, done.stderr
    assert f"--paper\n{done.stdout}```" in (TOP / "doc/project.md").read_text()


def test_shipped_costs_have_all_cases():
    for shaping in costs.SHAPING:
        found = costs.read(shaping)
        assert all(c > 0 for c in (*found.cold.values(), *found.warm.values())) and found.hz > 1e9
    assert set(machine.MODELS) >= {"epyc-9554"} and projection.core_size(64) == 78 and projection.core_size(1494) == 1518


@pytest.mark.parametrize("words, status, says", [
    (["--ports", "3x10G"], 2, "expected an even number of ports"), (["--cpu", "fast"], 2, "expected one of"), (["--cpu", "64x99"], 2, "expected one of"),
    (["--cores", "0"], 2, "expected numbers of cores"), (["--packet", "63"], 2, "expected 64 to 9000"), (["--costs", "none.json"], 1, "none.json: No such file"),
    (["--costs", "few.json"], 1, "build/tests/bench/bench --json FILE measures it"), (["--vbng", "none"], 3, "build vbng"),
])  # fmt: skip
def test_what_it_refuses(vbng, run, folder, words, status, says):
    write(folder / "few.json", QOS)
    done = run(TOP / "tools/vbng-lab", "project", *([] if "--vbng" in words else ["--vbng", vbng]), MINIMAL, *words, cwd=folder)
    assert done.returncode == status and says in done.stderr, done.stderr
    assert "Traceback" not in done.stderr


def test_a_task_that_nothing_was_measured_of(vbng, run, folder):
    """A gateway that is not one: its tester's own ports."""
    config = folder / "bare.cfg"
    config.write_text('memory = "no-huge";\nports = ( { name = "a"; device = "wire:a"; }, { name = "b"; device = "wire:a"; } );\n'
                      'tasks = ( { name = "s"; type = "sink"; from = ["a", "b"]; } );\nlayout = ( { core = "0"; tasks = ["s"]; } );\n')
    done = run(TOP / "tools/vbng-lab", "project", "--vbng", vbng, config)
    assert done.returncode == 1 and "no task of a gateway reads a port" in done.stderr, done.stderr
