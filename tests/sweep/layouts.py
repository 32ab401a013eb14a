#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The layouts that tools/sweep makes, on several machines that are only described: vbng --plan takes each, or it is
refused with a reason that fits.

usage: layouts.py VBNG
"""

import os
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tools"))
from vbnglab import graph, layouts, topology  # noqa: E402

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


def topologies():
    """Machines: described, and a made-up sysfs whose core numbers have gaps and repeat."""
    wrong = []
    if len(topology.parse("2x10x2")) != 20 or topology.parse("1x2x1")[1].name() != "1s0":
        wrong.append("topology.parse")
    for bad in ("2x10", "0x1x1", "axbxc"):
        try:
            topology.parse(bad)
            wrong.append(f"topology {bad} was taken")
        except ValueError:
            pass
    with tempfile.TemporaryDirectory(prefix="vbng-sysfs-") as root:
        # two packages; core_id 8 appears in two dies of package 1; CPU 7 is offline
        for cpu, (package, core, first) in enumerate([(0, 0, 0), (0, 4, 1), (1, 8, 2), (1, 8, 3), (0, 0, 0), (0, 4, 1), (1, 8, 2)]):
            folder = os.path.join(root, f"cpu{cpu}", "topology")
            os.makedirs(folder)
            for name, value in (("physical_package_id", package), ("core_id", core), ("thread_siblings_list", f"{first},{first + 4}")):
                with open(os.path.join(folder, name), "w", encoding="ascii") as f:
                    f.write(f"{value}\n")
        os.makedirs(os.path.join(root, "cpu7"))
        cores = [(c.socket, c.number, c.threads) for c in topology.live(root)]
        if cores != [(0, 0, 2), (0, 1, 2), (1, 0, 2), (1, 1, 1)]:
            wrong.append(f"topology.live: {cores}")
    return wrong


def main():
    vbng, failed = sys.argv[1], 0
    wrong = topologies()
    print(*(f"FAIL {w}" for w in wrong) if wrong else ["ok   topologies"], sep="\n")
    failed += len(wrong)
    for (name, spec, share), expected in EXPECTED.items():
        config = os.path.join(TOP, "cfg", f"{name}.cfg")
        g = graph.load(config, vbng)
        found = layouts.generate(g, layouts.cores_of(spec), share_tester=share)
        with tempfile.TemporaryDirectory(prefix="vbng-layouts-") as folder:
            layouts.write(found, folder)
            layouts.check(found, config, spec, vbng)
        wrong = wrong_with(g, found, expected, share) + (paper_layouts(found) if name == MINIMAL else [])
        failed += bool(wrong)
        runs = sum(not x.refused for x in found)
        print(f"{'FAIL' if wrong else 'ok  '} {name} on {spec}: {runs} layouts, {len(found) - runs} refused", *wrong, sep="\n     ")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
