# SPDX-License-Identifier: BSD-3-Clause
"""vbng-lab sweep with real runs: killed and gone on with, a run that crashes, one that cannot start, Ctrl-C, shared CPUs."""

import csv
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

import pytest

from tests.common.limits import limit

CONFIG = """
name = "sweep"; memory = "no-huge"; pools = { default = { mbufs = "8K"; }; };
ports = ( { name = "in"; device = "wire:in"; mac = "02:b0:00:00:00:00"; }, { name = "out"; device = "wire:out"; },
          { name = "t_in"; device = "wire:in"; }, { name = "t_out"; device = "wire:out"; } );
tasks = (
    { name = "f"; type = "forward"; from = "in"; to = "out"; },
    { name = "gen"; type = "gen"; template = "t.tmpl"; rate = "100kpps"; to = "t_in"; },
    { name = "sink"; type = "sink"; from = "t_out"; }
);
layout = ( { core = "0"; tasks = ["f", "gen", "sink"]; } );
"""
TEMPLATE = "size 64\nether src 02:c0:00:00:00:00 dst 02:b0:00:00:00:00\nipv4 src 10.0.0.1 dst 198.18.0.1\nudp src 1 dst 2\npayload 00\n"
LAYOUT = '# {name}: all on one core\nlayout = ( {{ core = "0"; tasks = ["f", "gen", "sink"]; }} );\n'
# crashes in each run of the layout "crash"
WRAPPER = '#!/bin/sh\ncase "$*" in *--duration*crash.cfg*) kill -SEGV $$ ;; esac\nexec "{vbng}" "$@"\n'
PATIENCE = 60  # seconds
INCOMPLETE = 4  # exit status: nothing has a figure
pytestmark = pytest.mark.limit(300)


class Place:
    """A folder with a configuration, two layouts and a vbng that crashes in one of them."""

    def __init__(self, vbng):
        self.vbng = vbng

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="vbng-sweep-")
        for name, text in (("sweep.cfg", CONFIG), ("t.tmpl", TEMPLATE), ("good.cfg", LAYOUT.format(name="good")),
                           ("crash.cfg", LAYOUT.format(name="crash")), ("vbng", WRAPPER.format(vbng=self.vbng))):
            with open(self.path(name), "w", encoding="ascii") as f:
                f.write(text)
        os.chmod(self.path("vbng"), 0o755)
        return self

    def __exit__(self, *_):
        self.folder.cleanup()

    def path(self, *names):
        return os.path.join(self.folder.name, *names)

    def command(self, *more, layouts=("good", "crash"), seconds="0.2"):
        chosen = [a for name in layouts for a in ("--layout", self.path(f"{name}.cfg"))]
        return [sys.executable, "-m", "vbnglab", "sweep", "--vbng", self.path("vbng"), "--out", self.path("out"), "--seconds", seconds,
                "--rounds", "2", *chosen, *more, self.path("sweep.cfg")]

    def sweep(self, *more, **how):
        return subprocess.run(self.command(*more, **how), capture_output=True, text=True, timeout=limit(300))

    def journal(self):
        with open(self.path("out", "journal.jsonl"), encoding="utf-8") as f:
            return [json.loads(line) for line in f.read().splitlines()][1:]

    def wait_for(self, rows, process):
        end = time.monotonic() + limit(PATIENCE)
        while time.monotonic() < end and process.poll() is None:
            try:
                with open(self.path("out", "journal.jsonl"), encoding="utf-8") as f:
                    if f.read().count("\n") > rows:
                        return
            except FileNotFoundError:
                pass
            time.sleep(0.01)
        raise AssertionError(f"no {rows} rows: {process.communicate()}")


def test_kill_and_go_on(vbng):
    """Killed after two runs, with a line cut off: the same command does the rest and nothing twice; dead runs say why."""
    with Place(vbng) as p:
        sizes = ["--data-room", "2176", "--data-room", "256"]  # 256 cannot hold a frame: that run does not start
        process = subprocess.Popen(p.command(*sizes), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        p.wait_for(2, process)
        process.kill()
        process.communicate()
        before = p.journal()
        with open(p.path("out", "journal.jsonl"), "a", encoding="utf-8") as f:
            f.write('{"round":1,"layout":"go')
        done = p.sweep(*sizes)
        rows = p.journal()
        figures = any(r["ok"] and not r["disturbed"] for r in rows)
        assert done.returncode == (0 if figures else INCOMPLETE), done.stdout + done.stderr
        assert "no figure: crash, 2176 bytes: died" in done.stdout, done.stdout
        assert rows[:len(before)] == before, "what was done before is no longer there"
        keys = [(r["round"], r["layout"], r["data_room"]) for r in rows if not r.get("disturbed")]
        assert len(keys) == len(set(keys)), keys  # on a busy machine disturbed runs are there, and are repeated
        keys = {(r["round"], r["layout"], r["data_room"]) for r in rows}
        assert keys == {(n, x, d) for n in (1, 2) for x in ("good", "crash") for d in (256, 2176)}, keys
        for r in rows:
            alive = r["layout"] == "good" and r["data_room"] == 2176
            assert r["ok"] == alive, r
            assert alive or ("signal 11" in r["error"] if r["data_room"] == 2176 or r["layout"] == "crash" else
                             "data_room" in r["error"]), r
            assert not alive or r["disturbed"] or 50e3 < r["pps"] < 110e3, r
        assert done.stdout.count("died: ") >= 3 and "6 of 8 runs died" in done.stdout, done.stdout
        with open(p.path("out", "sweep.csv"), encoding="utf-8", newline="") as f:
            assert len(list(csv.DictReader(f))) == 8
        with open(p.path("out", "sweep.json"), encoding="utf-8") as f:
            whole = json.load(f)
        assert len(whole["rows"]) == 8 and whole["machine"]["cpus"] > 0 and whole["advice"], whole
        again = p.sweep(*sizes)
        assert again.returncode in ((0,) if figures else (0, INCOMPLETE)), again.stdout
        disturbed = {(r["round"], r["data_room"]) for r in rows if r.get("disturbed")}
        repeated = {(r["round"], r["data_room"]) for r in p.journal()[len(rows):]}
        assert repeated <= disturbed, (repeated, disturbed)
        other = p.sweep(*sizes, seconds="0.3")
        assert other.returncode != 0 and "holds another sweep (different: seconds)" in other.stderr, other.stderr


def test_interrupt(vbng):
    """Ctrl-C: what is done is shown and kept, exit status 130, and no vbng is left."""
    with Place(vbng) as p:
        process = subprocess.Popen(p.command("--rounds", "50", layouts=["good"]), stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True)
        p.wait_for(1, process)
        process.send_signal(signal.SIGINT)
        output = process.communicate(timeout=limit(PATIENCE))[0]
        assert process.returncode == 130, (process.returncode, output)
        assert "interrupted" in output and len(p.journal()) >= 1, output
        assert os.path.exists(p.path("out", "sweep.json"))


def test_shared_cpus(vbng):
    """--share-cpus: a layout for a larger machine runs, is marked, and is not ranked."""
    with Place(vbng) as p:
        done = p.sweep("--generate", "--only", "one-core", "--share-cpus", "--topology", "1x8x2", layouts=["good"])
        assert done.returncode == 0, done.stdout + done.stderr
        assert "works; function only, CPUs were shared" in done.stdout and "nothing is ranked" in done.stdout, done.stdout
        assert all(r["ok"] and r["shared_cpus"] for r in p.journal()), p.journal()
        assert not os.path.exists(p.path("out", "sweep.png")), "a picture of figures that mean nothing"


def test_usage(vbng):
    """What cannot be is said."""
    with Place(vbng) as p:
        for more, said in ((["--only", "nothing"], "no layout nothing; there are good, crash"),
                           (["--set", "x"], "expected TASK.PARAM=VALUE"),
                           (["--topology", "2x10x2"], "--dry-run"),
                           (["--set", "f.nothing=1"], "nothing")):
            done = p.sweep(*more)
            assert done.returncode != 0 and said in done.stdout + done.stderr, (more, done.stdout, done.stderr)
