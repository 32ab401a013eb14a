# SPDX-License-Identifier: BSD-3-Clause
"""A task is added by one file and one word in a list: example-task.diff, applied to a copy of the sources, which is built. CONTRIBUTING.md
quotes it."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading
import time

import pytest

from tests.common import need
from tests.common.limits import limit
from vbnglab.lab.telemetry import RUN_DIRS, SOCKET, Telemetry, Unreachable
from vbnglab.web import state as web_state

DIFF = pathlib.Path(__file__).with_name("example-task.diff")
PARTS = ("meson.build", "meson_options.txt", "src", "tools", "cfg", "pkt_templates", "doc", "README.md")  # what is built, and tools/manual
CONFIG = """name = "example"; idle = "sleep";
tasks = ( { name = "gen"; type = "gen"; template = "cpe0.tmpl"; rate = "10kpps"; to = "ex"; },
          { name = "ex"; type = "example"; every = 10; to = "sink"; },
          { name = "sink"; type = "sink"; } );
layout = ( { core = "0"; tasks = ["gen", "ex", "sink"]; } );
"""
MEANING, REMEDY = "It was one of so many as the parameter every says", "Raise every, or take the task out of the graph."


def quietly(*command, **environment):
    """Run a command to its end; it must succeed."""
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, errors="replace", timeout=limit(240), check=False,
                          env={**os.environ, **environment})
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def settings(build):
    """The options of a build that its compiler sees."""
    seen = ("buildtype", "optimization", "debug", "werror", "b_sanitize", "b_lundef", "b_pch", "c_args", "cpu")
    options = {o["name"]: o["value"] for o in json.loads(quietly("meson", "introspect", "--buildoptions", build)) if o["name"] in seen}
    texts = {name: ",".join(value) if isinstance(value, list) else str(value) for name, value in options.items()}
    return [f"-D{name}={text.lower() if isinstance(options[name], bool) else text}" for name, text in texts.items()]


def compiler(build):
    targets = json.loads(quietly("meson", "introspect", "--targets", build))
    return " ".join(next(target["target_sources"][0]["compiler"] for target in targets if target["name"] == "vbng"))


def take_objects(build, into):
    """What a build has compiled of src, with what Ninja remembers of it, goes into a folder that will be configured in the same way: all of it
    that the task does not change is up to date there, as Ninja finds by commands and times."""
    into.mkdir(exist_ok=True)
    for part in ("src", "vbng.p"):
        shutil.copytree(build / part, into / part)
    shutil.copy2(build / ".ninja_deps", into)
    log = (build / ".ninja_log").read_text().splitlines(keepends=True)
    (into / ".ninja_log").write_text("".join(line for line in log if not line.split("\t")[3:4] == ["build.ninja"]))


@pytest.fixture(scope="module")
def tree(top, build):
    """The sources with the task, built. They stay in the build folder: a second run builds what has changed."""
    tree = build / "tests/schema/tree"
    for part in PARTS:
        shutil.rmtree(tree / part, ignore_errors=True)
        if (top / part).is_dir():
            shutil.copytree(top / part, tree / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            tree.mkdir(parents=True, exist_ok=True)
            shutil.copy2(top / part, tree / part)
    quietly(need.program("patch"), "-p1", "-d", tree, "-i", DIFF)
    if not (tree / "build/build.ninja").exists():
        take_objects(build, tree / "build")
        quietly(need.program("meson"), "setup", "-Dtests=false", "-Dlab=false", *settings(build), tree / "build", tree, CC=compiler(build))
    quietly(need.program("ninja", "ninja-build"), "-C", tree / "build", "vbng")
    return tree


@pytest.mark.limit(300)
def test_the_help_has_it(tree):
    vbng = tree / "build/vbng"
    assert "example" in quietly(vbng, "--help", "tasks")
    text = " ".join(quietly(vbng, "--help", "example").split())
    assert "every count, 1 to 1000000; default 1K One of so many packets is dropped" in text
    assert f"nth {MEANING} Remedy: {REMEDY}" in text
    for word in ("drops", "nth"):
        assert f"nth (example) {MEANING} Remedy: {REMEDY}" in " ".join(quietly(vbng, "--help", word).split())


@pytest.mark.limit(300)
def test_a_configuration_is_checked_by_its_schema(tree, folder):
    config = folder / "example.cfg"
    config.write_text(CONFIG.replace("every = 10", "evry = 10").replace("cpe0.tmpl", str(tree / "pkt_templates/cpe0.tmpl")))
    checked = subprocess.run([tree / "build/vbng", "--check", config], capture_output=True, text=True, timeout=limit(60), check=False)
    assert checked.returncode == 1
    assert "key 'evry'" in checked.stderr and "'every'" in checked.stderr


@pytest.mark.limit(300)
def test_the_documents_want_to_be_made_again_and_then_have_it(tree):
    manual = [tree / "tools/manual", "--vbng", tree / "build/vbng"]
    stale = subprocess.run([*manual, "--check"], capture_output=True, text=True, timeout=limit(60), check=False)
    assert stale.returncode == 1
    assert "doc/vbng.cfg.5 is not what vbng says of its tasks: run tools/manual" in stale.stdout
    quietly(*manual)
    page, drops = ((tree / path).read_text() for path in ("doc/vbng.cfg.5", "doc/drops.md"))
    assert all(line in page for line in (".Ss example\n", ".It Cm every Pq count\n", ".It Cm nth Pq example\n", MEANING))
    assert f"| `nth` | example | {MEANING}. | {REMEDY} |" in drops
    quietly(*manual, "--check")


@pytest.fixture
def socket_path(tree, folder):
    """The telemetry socket of a gateway in which the task drops packets. It must end with status 0."""
    config = folder / "example.cfg"
    config.write_text(CONFIG.replace("cpe0.tmpl", str(tree / "pkt_templates/cpe0.tmpl")))
    with open(folder / "log", "w+", encoding="utf-8") as log:
        gateway = subprocess.Popen([tree / "build/vbng", "--quiet", "--share-cpus", config], stdout=log, stderr=log)
        try:
            yield wait_for(gateway, log)
            gateway.terminate()
            assert gateway.wait(limit(30)) == 0
        finally:
            gateway.kill()
            gateway.wait()


def wait_for(gateway, log):
    """The path of its socket, once packets were dropped."""
    end = time.monotonic() + limit(30)
    while time.monotonic() < end and gateway.poll() is None:
        for path in (f"{run_dir}/vbng-{gateway.pid}/{SOCKET}" for run_dir in RUN_DIRS):
            try:
                with Telemetry(path) as telemetry:
                    if telemetry.must("/vbng/task/get,ex")["drop_nth"] > 0:
                        return path
            except Unreachable:
                pass
        time.sleep(0.05)
    log.seek(0)
    raise AssertionError(f"nothing was dropped, or nobody answers: {log.read()}")


def figures_of_the_page(path):
    """What the live page shows of a gateway, once it has read it twice."""
    state = web_state.State(path, 0.2)
    thread = threading.Thread(target=state.run)
    thread.start()
    end = time.monotonic() + limit(30)
    while state.snapshot()["figures"] is None and time.monotonic() < end:
        time.sleep(0.05)
    state.stop.set()
    thread.join()
    return state.snapshot()["figures"]


@pytest.mark.limit(300)
def test_telemetry_top_and_the_page_have_it(socket_path):
    with Telemetry(socket_path) as telemetry:
        assert telemetry.schema().drop("example", "nth") == (MEANING, REMEDY)
    exported = quietly(sys.executable, "-m", "vbnglab", "exporter", "--telemetry", socket_path, "--once")
    assert f'vbng_task_drop_info{{meaning="{MEANING}",reason="nth",remedy="{REMEDY}",task="ex"}} 1' in exported
    shown = quietly(sys.executable, "-m", "vbnglab", "top", "--telemetry", socket_path, "--once", "--interval", "0.3")
    assert any(line.split()[:1] == ["ex"] and " nth " in line for line in shown.splitlines()), shown
    drops = figures_of_the_page(socket_path)["drops"]
    assert [(d["task"], d["reason"], d["means"], d["remedy"]) for d in drops] == [("ex", "nth", MEANING, REMEDY)]
