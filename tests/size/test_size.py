# SPDX-License-Identifier: BSD-3-Clause
"""What vbng-lab size calculates: its memory is that of a plan, by the rules of doc/plan.md; its cores are what was measured."""

import json
import math
import pathlib
import re

import pytest

from vbnglab.size import costs

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
KIB, MIB = 1024, 1024**2


@pytest.fixture
def size(vbng, run):
    """A function: the figures for some words, as a dict."""

    def figures(*words):
        done = run(TOP / "tools/vbng-lab", "size", "--vbng", vbng, "--json", *words)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return figures


SIZES = (["1"], ["100", "--routes", "1"], ["4001", "--queue", "5ms", "--sold", "1G"], ["20000"], ["65536", "--routes", "8192", "--down", "1M", "--shaping", "librte_sched"],
         ["500000", "--down", "100k", "--up", "100k", "--shaping", "none"], ["1000000", "--down", "500k", "--port", "100G", "--routes", "500000"])


@pytest.mark.parametrize("words", SIZES, ids=lambda w: "-".join(w).replace("--", ""))
def test_memory_is_that_of_the_plan(size, vbng, run, folder, words):
    """vbng accepts the configuration as it is, without a warning, and its plan has the numbers that were asked for."""
    found = size(*words, "--write", folder / "sized.cfg")
    check = run(vbng, "--check", "--share-cpus", folder / "sized.cfg")
    assert check.returncode == 0 and "error" not in check.stderr and "pool" not in check.stderr, check.stderr
    plan = json.loads(run(vbng, "--plan=json", "--share-cpus", folder / "sized.cfg").stdout)
    assert (plan["subscribers"], plan["routes"]) == (int(words[0]), found["demand"]["routes"])
    assert len(plan["ports"]) == found["ports"]["access"] + found["ports"]["core"]
    memory = found["memory"]
    for key in ("mbufs_bytes", "subscribers_bytes", "routes_bytes", "schedulers_bytes", "rings_bytes", "total_bytes", "dpdk_bytes"):
        assert memory[key] == plan["memory"][key], key
    pool = plan["memory"]["pools"][0]
    assert memory["mbufs"] == pool["mbufs"] >= pool["mbufs_needed"] + 0.05 * pool["mbufs_queued"]
    assert 2 * MIB * (memory["pages_2m"] - 1) < memory["dpdk_bytes"] <= 2 * MIB * memory["pages_2m"]


def test_memory_by_the_rules(size):
    """The table in doc/plan.md, calculated by hand for 20000 subscribers behind eight ports and 1000 routes to eight next hops."""
    found = size("20000")
    assert found["ports"] == {"access": 8, "core": 8}
    memory = found["memory"]
    room = 20000 + 20000 // 8  # an eighth may be added
    pages = 8 + 1 + 1 + 3  # VLAN pairs: one page for each port, for it has 2500 of one S-VLAN; keys and addresses: one; those to come: one each
    assert memory["subscribers_bytes"] == 68 * (room + 1) + 3 * 768 * KIB + pages * 256 * KIB
    pipes = 22500  # of eight subports: 2500 each, and an eighth more
    states = min(4096, 4 * pipes) * 1408  # of FQ-CoDel
    assert memory["schedulers_bytes"] >= 2 * (pipes * (64 + 64 * 5 + 20 * 2 + 64) + states)
    assert memory["schedulers_bytes"] < 1.1 * 2 * (pipes * (64 + 64 * 5 + 20 * 2 + 64) + states)
    assert memory["mbufs_queued"] == 2 * (16 + 4 * 64) * 20000
    assert memory["mbufs_bytes"] == memory["mbufs"] * (64 + 128 + 2176)
    assert 0 < memory["routes_bytes"] - 64 * MIB < 2 * MIB
    assert memory["dpdk_bytes"] == memory["total_bytes"] + memory["total_bytes"] // 8 + 64 * MIB


def test_cores_and_ports_by_hand(size):
    """3 Mbit/s and 300 kbit/s in frames of 500 bytes; a port takes 8 of its 10 Gbit/s, with 20 bytes between frames."""
    found = size("20000")
    pps = 20000 * (3e6 + 300e3) / (8 * 500)
    assert found["traffic"]["down_pps"] + found["traffic"]["up_pps"] == pytest.approx(pps)
    assert found["ports"]["access"] == math.ceil(20000 * 3e6 * 520 / 500 / 8e9)
    assert found["cores"]["cores"] == math.ceil(pps * 147 / (0.7 * 2.6e9))
    assert found["cores"]["schedulers"] == math.ceil(20000 * 3e6 / 4000 * 100 / (0.7 * 2.6e9))
    slower = size("20000", "--ghz", "1.3", "--device", "48")
    assert slower["cores"]["cores"] == math.ceil(pps * 195 / (0.7 * 1.3e9))
    assert size("100")["cores"]["cores"] == 1


def test_more_takes_no_less(size):
    ladder = [size(str(n), "--down", "1M") for n in (1000, 10000, 100000)]
    for key in ("total_bytes", "mbufs", "subscribers_bytes", "schedulers_bytes"):
        values = [s["memory"][key] for s in ladder]
        assert values == sorted(values), key
    assert [s["cores"]["cores"] for s in ladder] == sorted(s["cores"]["cores"] for s in ladder)


def test_what_is_shipped_is_what_the_documents_say():
    """And the programs that measure have cases of these names."""
    documents = {"both ways, fused": ("bench.md", r"^\| both ways, fused \| ([\d.]+) "), "qos: task": ("qos.md", r"^\| task qos: handle \+ poll \| (\d+) "),
                 "qos: BNG, fused": ("qos.md", r"^\| the same as a gateway runs it, fused \| (\d+) "), "lib: task": ("qos.md", r"^\| task qos: handle \+ poll \|.*?\| (\d+) \([\d-]+\) \| [^|]*\|$"),
                 "lib: BNG": ("qos.md", r"^\| gateway with qos both ways \|.*?\| (\d+) \([\d-]+\) \| [^|]*\|$")}
    shipped = {c["name"]: c["cycles"]["median"] for c in json.loads(pathlib.Path(costs.SHIPPED).read_text())["cases"]}
    measured = (TOP / "tests/bench/cases.c").read_text() + (TOP / "tests/bench/qos_cases.c").read_text()
    for name, (document, pattern) in documents.items():
        row = re.search(pattern, (TOP / "doc" / document).read_text(), re.M)
        assert row and float(row[1]) == shipped[name], f"doc/{document} has another figure: bring '{name}' of {costs.SHIPPED} to it"
        assert f'"{name}"' in measured, name
    assert {name for names in costs.CASES.values() for name in names if name} == set(shipped)


def bench(path, cycles, hz=2.6e9):
    path.write_text(json.dumps({"machine": "mine", "tsc_hz": hz, "cases": [{"name": n, "cycles": {"median": c}} for n, c in cycles.items()]}))
    return path


def test_costs_of_ones_own(size, folder):
    one = bench(folder / "bench.json", {"both ways, fused": 100})
    two = bench(folder / "qos.json", {"qos: task": 400, "qos: BNG, fused": 1000})
    own = size("20000", "--costs", one, "--costs", two)
    assert (own["cores"]["cycles"], own["cores"]["measured_on"], own["cores"]["schedulers"]) == (1000, "mine", 4)
    assert size("20000", "--costs", one, "--shaping", "none")["cores"]["cycles"] == 100


def test_text(vbng, run):
    """The document shows what the command prints."""
    done = run(TOP / "tools/vbng-lab", "size", "--vbng", vbng, "20000")
    assert done.returncode == 0, done.stderr
    assert f"$ vbng-lab size 20000\n{done.stdout}```" in (TOP / "doc/sizing.md").read_text()


def test_only_the_wheel_has_shards(vbng, run):
    """Where a direction needs several cores, they are one scheduler's, or as many schedulers."""

    def text(*words):
        done = run(TOP / "tools/vbng-lab", "size", "--vbng", vbng, "20000", *words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "its shards, behind an lb" in text("--packet", "200") and "share the access ports" not in text("--packet", "200")
    assert "as many schedulers, which share the access ports" in text("--shaping", "librte_sched")
    assert "as many schedulers, which share the access ports" in text("--ghz", "0.1")  # more than 16
    assert "scheduler of each" not in text("--down", "100k", "--up", "100k")


@pytest.mark.parametrize("words, status, says", [
    (["0"], 2, "expected 1 to"), (["10", "--down", "3X"], 2, "expected a rate"), (["10", "--queue", "0"], 2, "expected packets or a time"),
    (["4194304"], 1, "are more than the 16 of one gateway"), (["10", "--costs", "none.json"], 1, "none.json: No such file"),
    (["10", "--costs", "wrong.json"], 1, "expected what bench --json writes"), (["10", "--costs", "bench.json"], 1, "no case 'qos: BNG, fused'"),
    (["10", "--costs", "bench.json", "--costs", "other.json"], 1, "different clocks"),
    (["20000", "--queue", "60000"], 1, "vbng refuses so much"), (["10", "--vbng", "none"], 1, "No such file"),
])  # fmt: skip
def test_what_it_does_not_calculate(vbng, run, folder, words, status, says):
    (folder / "wrong.json").write_text("[]")
    bench(folder / "bench.json", {"both ways, fused": 100})
    bench(folder / "other.json", {"qos: BNG, fused": 100}, 4e9)
    done = run(TOP / "tools/vbng-lab", "size", *([] if "--vbng" in words else ["--vbng", vbng]), *words, cwd=folder)
    assert done.returncode == status and says in done.stderr, done.stderr
    assert "Traceback" not in done.stderr
