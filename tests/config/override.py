#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What --set and --layout do where they are right; bad/set-*.cfg and bad/layout-file-*.cfg have the
errors.

usage: override.py VBNG
"""

import json
import pathlib
import subprocess
import sys
import tempfile

CFG = pathlib.Path(__file__).resolve().parent.parent.parent / "cfg"
GATEWAY = CFG / "bng-4port.cfg"
QOS = CFG / "qos-minimal-fig7.cfg"  # has a section and a task "qos"
PIPELINE = CFG / "bng-4port-pipeline.cfg"
TIME_LIMIT = 60  # seconds for one program


def vbng(*args):
    return subprocess.run([VBNG, *map(str, args)], capture_output=True, text=True,
                          timeout=TIME_LIMIT, check=True).stdout


def plan(*args):
    return json.loads(vbng("--plan=json", *args))


def sets(*settings):
    return [word for s in settings for word in ("--set", s)]


def values():
    """A value that the file has, one that it has not, a pool that no file names, the whole file's."""
    p = plan(*sets("ports.cpe0.rx_desc=512", "ports.cpe1.on_full=wait", "pools.default.mbufs=32K",
                   "name=other"), GATEWAY)
    ports = {port["port"]: port for port in p["ports"]}
    assert ports["cpe0"]["rx_desc"] == 512 and ports["cpe1"]["rx_desc"] == 1024, ports
    assert ports["cpe1"]["on_full"] == "wait" and ports["cpe0"]["on_full"] == "drop", ports
    assert p["memory"]["pools"][0]["mbufs"] == 32768, p["memory"]["pools"]
    assert p["name"] == "other", p["name"]


def links():
    """Where a task leads to."""
    p = plan(*sets("gen_cpe0.to=t_cpe1"), GATEWAY)
    gen = next(i for i in p["instances"] if i["task"] == "gen_cpe0")
    assert [d["port"] for o in gen["outputs"] for d in o["destinations"]] == ["t_cpe1"], gen


def last_wins():
    p = plan(*sets("pools.default.mbufs=32K", "pools.default.mbufs=48K"), GATEWAY)
    assert p["memory"]["pools"][0]["mbufs"] == 49152, p["memory"]["pools"]


def sections():
    """A way through several sections, also where a task has the name of one: tasks come first."""
    p = plan(*sets("qos.ring=1024", "qos.schedulers.access.overhead=64"), QOS)
    assert any(r["consumer"] == "qos" and r["size"] == 1024 for r in p["rings"]), p["rings"]


def layout():
    """Any configuration of the same graph can be FILE; only its layout counts."""
    with tempfile.TemporaryDirectory() as folder:
        one = pathlib.Path(folder) / "one.cfg"
        tasks = '", "'.join(i["task"] for i in plan(GATEWAY)["instances"])
        one.write_text(f'name = "no"; tasks = 5;\nlayout = ( {{ core = "3"; tasks = ["{tasks}"]; }} );\n')
        p = plan("--topology", "1x4x1", "--layout", one, GATEWAY)
    assert [c["cpu"] for c in p["cores"]] == [3] and p["name"] == "bng-4port", p["cores"]
    assert plan("--layout", PIPELINE, PIPELINE)["cores"] == plan(PIPELINE)["cores"]


def many():
    """As many as there is room for, and one more."""
    command = [VBNG, "--check", *sets(*["name=x"] * 64)]
    assert subprocess.run([*command, GATEWAY], capture_output=True, timeout=TIME_LIMIT).returncode == 0
    r = subprocess.run([*command, "--set", "name=x", GATEWAY], capture_output=True, text=True, timeout=TIME_LIMIT)
    assert r.returncode == 2 and "--set name=x: there are too many" in r.stderr, r


def run():
    """A run takes both, and a template named on the command line is looked for from here."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        template = CFG.parent / "pkt_templates/cpe1.tmpl"
        vbng("--quiet", "--share-cpus", "--duration", "1s", "--report", report, "--layout", GATEWAY,
             *sets("gen_cpe0.rate=1kpps", "gen_cpe1.count=10", "drain=2s",
                   f"gen_cpe0.template={template}"), GATEWAY)
        tasks = {t["name"]: t for t in json.loads(report.read_text())["tasks"]}
    assert tasks["gen_cpe1"]["created"] == 10, tasks["gen_cpe1"]
    assert 10 < tasks["gen_cpe0"]["created"] < 1500, tasks["gen_cpe0"]


def main():
    cases = [values, links, last_wins, sections, layout, many, run]
    failed = 0
    for case in cases:
        try:
            case()
        except (AssertionError, subprocess.SubprocessError) as e:
            failed += 1
            print(f"FAIL {case.__name__}: {e} {getattr(e, 'stderr', '') or ''}")
    print(f"{len(cases) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    VBNG = sys.argv[1]
    sys.exit(main())
