# SPDX-License-Identifier: BSD-3-Clause
"""The cases of a benchmark, and their layouts on machines of so many CPUs."""

import json

import pytest

from vbnglab.benchmark import cases
from vbnglab.lab import run, topology
from vbnglab.measure.rig import parse_sizes

ALL = [(c, n) for c in cases.CASES for n in cases.CORES]
TESTER = ("gen", "sink")


@pytest.mark.parametrize("case, n", ALL, ids=lambda x: getattr(x, "name", x))
def test_layout(case, n, vbng, tmp_path):
    """vbng takes each layout without a warning, on a machine that just suffices; the gateway has n cores, and the tester none of them."""
    cores = topology.parse(f"1x{n + 1}x1")
    layout = cases.prepare(case, n, tmp_path, vbng, cores)
    asked = ["--topology", f"1x{n + 1}x1", *run.options(cases.settings(case, n), layout), case.config]
    status, _, err = run.query(["--check", *asked], vbng)
    assert status == 0 and not err.strip(), err
    plan = json.loads(run.query(["--plan=json", *asked], vbng)[1])
    kinds = {}
    for i in plan["instances"]:
        kinds.setdefault(i["core"], set()).add(i["type"] in TESTER)
    assert sorted(map(sorted, kinds.values())) == [[False]] * n + [[True]]


@pytest.mark.parametrize("n", cases.CORES)
def test_too_few_cpus(n, vbng, tmp_path):
    with pytest.raises(ValueError, match=f"needs {n + 1} CPUs, .*this machine has {n}"):
        cases.prepare(cases.CASES[0], n, tmp_path, vbng, topology.parse(f"1x{n}x1"))
    assert not list(tmp_path.iterdir())


def test_names():
    """Both gateways in IPv4, IPv6 and both; 32,768 subscribers behind each access port."""
    assert [c.name for c in cases.CASES] == [f"{kind}-{family}" for kind in ("bng", "hqos") for family in ("ipv4", "ipv6", "dual")]
    assert [c.name for c in cases.named(["hqos-dual"])] == ["hqos-dual"] and len(cases.named(None)) == 6


@pytest.mark.parametrize("case", cases.CASES, ids=lambda c: c.name)
def test_smallest_size(case, vbng):
    """The size of a case is one that its templates have, and a smaller one they have not."""
    def check(size):
        access, = parse_sizes(size)
        settings = {g: access.core if "core" in g else access.access for g in ("gen_cpe0", "gen_core0")}
        return run.query(["--check", *run.options({f"{g}.size": s for g, s in settings.items()}), case.config], vbng)[0]

    assert check(case.size) == 0
    assert case.size == "64" or check("73-97") != 0


def test_subscribers(vbng):
    for case in cases.CASES:
        plan = json.loads(run.query(["--plan=json", case.config], vbng)[1])
        assert {p["subscribers"] for p in plan["ports"] if p["port"].startswith("cpe")} == {32768}, case.name
