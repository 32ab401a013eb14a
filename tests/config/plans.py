#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The plans of all configurations in cfg/: JSON that parses and agrees with itself, graphs that
Graphviz takes (where it is installed), and the pictures of doc/plan.md as they really look.

usage: plans.py VBNG            check
       plans.py --update VBNG   write the pictures of doc/plan.md anew
"""

import json
import pathlib
import shutil
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE = TOP / "doc/plan.md"
FENCE = "```\n"
TIME_LIMIT = 30  # seconds for one program


def plan(vbng, path, form):
    return subprocess.run([vbng, f"--plan={form}", str(path)], capture_output=True, text=True,
                          timeout=TIME_LIMIT, check=True).stdout


def json_agrees(vbng, path):
    """Everything that is named must be there, and every core's instances must say so themselves."""
    p = json.loads(plan(vbng, path, "json"))
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
            if d["kind"] == "port":
                assert d["queue"] < ports[d["port"]]["tx_queues"], f"transmit queue of {i}"
            elif d["kind"] == "call":
                assert instances[d["instance"]]["core"] == i["core"], f"call from {i}"
            else:
                ring = p["rings"][d["ring"]]
                assert ring["consumer"] == d["instance"], f"ring from {i}"
                assert instances[d["instance"]]["ring"] == d["ring"], f"ring from {i}"
                assert instances[d["instance"]]["core"] != i["core"], f"ring from {i}"
    m = p["memory"]
    assert m["total_bytes"] == sum(m[k + "_bytes"] for k in
                                   ("mbufs", "subscribers", "routes", "rings", "schedulers")), "total"
    assert all(x["mbufs"] >= x["mbufs_needed"] for x in m["pools"]), "pools"


def dot_draws(vbng, path):
    graph = plan(vbng, path, "dot")
    subprocess.run(["dot", "-Tsvg"], input=graph, capture_output=True, text=True,
                   timeout=TIME_LIMIT, check=True)


def picture(vbng, path):
    """The plan without its tables."""
    return plan(vbng, path, "text").split("\ncores\n")[0]


def pictures(blocks):
    """(index, configuration) of each plan among the parts of a page between its fences."""
    for i in range(1, len(blocks), 2):
        path = TOP / f"cfg/{blocks[i].split(':')[0]}.cfg"
        if path.exists():
            yield i, path


def picture_is_true(vbng, path, shown):
    for want, got in zip(shown.splitlines(), picture(vbng, path).splitlines()):
        assert want == got, f"doc/plan.md shows\n{want}\nbut it is\n{got}"
    assert shown == picture(vbng, path), "doc/plan.md shows less or more than there is"


def update(vbng):
    blocks = PAGE.read_text().split(FENCE)
    for i, path in pictures(blocks):
        blocks[i] = picture(vbng, path)
    PAGE.write_text(FENCE.join(blocks))


def main():
    vbng = sys.argv[-1]
    if sys.argv[1:] == ["--update", vbng]:
        return update(vbng)
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    configurations = sorted((TOP / "cfg").glob("*.cfg"))
    cases = [(json_agrees, path) for path in configurations]
    if shutil.which("dot"):
        cases += [(dot_draws, path) for path in configurations]
    else:
        print("SKIP dot is not installed")
    blocks = PAGE.read_text().split(FENCE)
    shown = [(picture_is_true, path, blocks[i]) for i, path in pictures(blocks)]
    if not shown:
        sys.exit("doc/plan.md shows no plan of a configuration in cfg/")
    failed = 0
    for judge, path, *more in cases + shown:
        try:
            judge(vbng, path, *more)
        except (AssertionError, KeyError, ValueError, subprocess.SubprocessError) as e:
            failed += 1
            print(f"FAIL {judge.__name__} {path.name}: {e}")
    print(f"{len(cases) + len(shown) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
