# SPDX-License-Identifier: BSD-3-Clause
"""The layouts that vbng-lab sweep makes, on several machines that are only described: vbng --plan takes each, or it is
refused with a reason that fits."""

import os

import pytest

from tests.common.verdict import nothing
from vbnglab.lab import graph, topology
from vbnglab.sweep import layouts

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

NO_SMT, CORES, ONE_QUEUE = "needs SMT siblings", "cores for the gateway", "a wire has one receive queue"
MINIMAL, PIPELINE = "qos-minimal-fig8", "bng-qos-4port-pipeline"
# (configuration, machine, tester may share): {layout: part of the reason why it is refused, None: it runs}
EXPECTED = {
    (MINIMAL, "1x2x1", False): {"one-core": None, "rx-qos": CORES, "qos-tx": CORES, "qos-alone": CORES, "pipeline": CORES,
                                "smt-rx-qos": CORES, "smt-qos-tx": CORES, "smt": CORES, "rtc": CORES},
    (MINIMAL, "1x2x1", True): {"one-core": None, "rx-qos": None, "qos-tx": None, "qos-alone": None, "pipeline": CORES,
                               "smt-rx-qos": NO_SMT, "smt-qos-tx": NO_SMT, "smt": NO_SMT, "rtc": "no core that the tester may share"},
    (MINIMAL, "2x10x2", False): {"one-core": None, "rx-qos": None, "qos-tx": None, "qos-alone": None, "pipeline": None,
                                 "smt-rx-qos": None, "smt-qos-tx": None, "rtc": ONE_QUEUE},
    (MINIMAL, "1x8x2", False): {"one-core": None, "rx-qos": None, "qos-tx": None, "qos-alone": None, "pipeline": None,
                                "smt-rx-qos": None, "smt-qos-tx": None, "rtc": ONE_QUEUE},
    ("bng-4port", "1x8x2", False): {"one-core": None, "by-direction": None, "pipeline": None, "smt": None, "rtc": ONE_QUEUE},
    ("bng-4port-rtc", "1x4x1", False): {"one-core": None, "by-direction": None, "pipeline": CORES, "smt": NO_SMT, "rtc": None},
    (PIPELINE, "2x10x2", False): {"one-core": None, "by-direction": None, "rx-qos": None, "qos-tx": None, "qos-alone": None,
                                  "pipeline": None, "workers": None, "smt-rx-qos": None, "smt-qos-tx": None, "smt": None,
                                  "rtc": ONE_QUEUE},
    (PIPELINE, "1x8x2", False): {"one-core": None, "by-direction": None, "rx-qos": None, "qos-tx": None, "qos-alone": None,
                                 "pipeline": CORES, "workers": CORES, "smt-rx-qos": None, "smt-qos-tx": None, "smt": None,
                                 "rtc": ONE_QUEUE},
}
# what the paper's layouts are: for each core the tasks of the minimal pipeline
PAPER = {
    "pipeline": [{"classify"}, {"qos"}, {"tx"}],
    "qos-tx": [{"classify"}, {"qos", "tx"}],
    "smt-rx-qos": [{"classify"}, {"qos"}, {"tx"}],
    "smt-qos-tx": [{"classify"}, {"qos"}, {"tx"}],
}
SIBLINGS = {"smt-rx-qos": {"classify", "qos"}, "smt-qos-tx": {"qos", "tx"}}


def wrong_with(g, found, expected, share):
    """Sentences about what is not as it should be."""
    wrong = []
    names = [x.name for x in found]
    if names != list(expected):
        wrong.append(f"layouts {names}, expected {list(expected)}")
    for x in found:
        reason = expected.get(x.name)
        if (reason is None) != (x.refused == "") or reason and reason not in x.refused:
            wrong.append(f"{x.name}: refused: {x.refused or 'no'}; expected: {reason or 'no'}")
        if x.refused:
            continue
        placed = [t for _, tasks in x.entries for t in tasks]
        if layouts.REST in placed:
            placed = {t for core in layouts.tasks_of_cores(x.plan) for t in core}
        if sorted(placed) != sorted(g.tasks):
            wrong.append(f"{x.name}: tasks {placed}")
        for core in layouts.tasks_of_cores(x.plan):
            if layouts.shares(core) and (not share or "qos" in core.values()):
                wrong.append(f"{x.name}: the tester shares a core: {list(core)}")
    return wrong


def paper_layouts(found):
    """The minimal pipeline's layouts are those of the paper."""
    wrong = []
    for x in (x for x in found if x.name in PAPER and not x.refused):
        cores = [set(core) - {"gen", "sink"} for core in layouts.tasks_of_cores(x.plan)]
        if any(tasks not in cores for tasks in PAPER[x.name]):
            wrong.append(f"{x.name}: {cores}")
        halves = [set(tasks) for cpus, tasks in x.entries if cpus.endswith("h")]
        if x.name in SIBLINGS:
            first = next(c for c, t in x.entries if set(t) & SIBLINGS[x.name] and not c.endswith("h")
                         and f"{c}h" in [other for other, _ in x.entries])
            pair = {t for c, tasks in x.entries if c in (first, f"{first}h") for t in tasks}
            if pair != SIBLINGS[x.name]:
                wrong.append(f"{x.name}: {pair} are siblings")
        elif halves:
            wrong.append(f"{x.name}: uses SMT siblings")
    return wrong


def test_described_machines():
    assert len(topology.parse("2x10x2")) == 20 and topology.parse("1x2x1")[1].name() == "1s0"


@pytest.mark.parametrize("bad", ["2x10", "0x1x1", "axbxc"])
def test_what_describes_no_machine(bad):
    with pytest.raises(ValueError):
        topology.parse(bad)


def test_a_machine_whose_core_numbers_have_gaps_and_repeat(folder):
    """Two packages; core_id 8 appears in two dies of package 1; CPU 7 is offline."""
    for cpu, (package, core, first) in enumerate([(0, 0, 0), (0, 4, 1), (1, 8, 2), (1, 8, 3), (0, 0, 0), (0, 4, 1), (1, 8, 2)]):
        made = folder / f"cpu{cpu}" / "topology"
        made.mkdir(parents=True)
        for name, value in (("physical_package_id", package), ("core_id", core), ("thread_siblings_list", f"{first},{first + 4}")):
            (made / name).write_text(f"{value}\n", encoding="ascii")
    (folder / "cpu7").mkdir()
    cores = [(c.socket, c.number, c.threads) for c in topology.live(str(folder))]
    assert cores == [(0, 0, 2), (0, 1, 2), (1, 0, 2), (1, 1, 1)]


@pytest.mark.parametrize("name, spec, share", EXPECTED)
def test_layouts(vbng, folder, name, spec, share):
    config = os.path.join(TOP, "cfg", f"{name}.cfg")
    g = graph.load(config, vbng)
    found = layouts.generate(g, layouts.cores_of(spec), share_tester=share)
    layouts.write(found, str(folder))
    layouts.check(found, config, spec, vbng)
    nothing(wrong_with(g, found, EXPECTED[name, spec, share], share) + (paper_layouts(found) if name == MINIMAL else []))
