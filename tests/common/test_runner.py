# SPDX-License-Identifier: BSD-3-Clause
"""What all suites share can tell a failure from a success: run.py, conftest.py, limits.py, summary.py, common.sh, and main() of programs in C."""

import json
import os
import pathlib
import sys

import pytest

from tests.common import limits

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
QUIET = {key: value for key, value in os.environ.items() if key != "VBNG_TEST_LONG"} | {limits.VARIABLE: "1"}


@pytest.fixture
def suite(vbng, build, run):
    """A function: run.py on one of the samples."""

    def sample(*more, env=None):
        return run(sys.executable, HERE.parent / "run.py", vbng, build, HERE / "samples/sample.py", *more, env=QUIET | (env or {}))

    return sample


@pytest.mark.parametrize("what, status, says", [
    ("passes", 0, "1 passed"),
    ("finds_faults", 1, "first fault\nE   second fault"),
    ("lacks_a_program", 77, ": no-such-program is not installed (Debian package no-such-package)"),
    ("passes or lacks", 0, "1 passed, 1 skipped"),
    ("hangs", 1, "took longer than its limit of "),
    ("is_slowed_down_later", 0, "1 passed"),
    ("has_a_slow_report", 1, "said slowly"),
    ("takes_long", 77, "long: tools/test --long"),
    ("no_such_test", 5, "7 deselected"),
])
def test_exit_status(suite, what, status, says):
    done = suite("-k", what)
    assert (done.returncode, says in done.stdout) == (status, True), done.stdout


def test_long_ones_run_for_who_asks(suite):
    done = suite("-k", "takes_long", env={"VBNG_TEST_LONG": "1"})
    assert done.returncode == 0 and "1 passed" in done.stdout


def test_fixtures_end_where_a_test_hangs(suite):
    assert "the fixture has ended" in suite("-k", "hangs").stdout


def test_a_program_that_is_not_there(run):
    done = run(sys.executable, HERE.parent / "run.py", "/no/vbng", "/no", HERE.parent / "config/test_check.py", env=QUIET)
    assert done.returncode == 3 and "/no/vbng is no program: build it" in done.stdout + done.stderr


def test_limits_follow_the_machine(monkeypatch):
    monkeypatch.setenv(limits.VARIABLE, "2.5")
    assert limits.limit(10) == 25
    monkeypatch.delenv(limits.VARIABLE)
    monkeypatch.setattr(limits, "measure", lambda: 3.0)
    assert limits.limit(10) == 30
    monkeypatch.setattr(limits, "measure", lambda: 7.0)
    assert limits.limit(10) == 30, "it is measured once"


def test_the_factor_has_bounds(monkeypatch):
    for rounds, factor in ((1, 1.0), (limits.ROUNDS, limits.GREATEST)):
        monkeypatch.setattr(limits, "ROUNDS", rounds)
        monkeypatch.setattr(limits, "QUIET_SECONDS", 1e-6 if rounds > 1 else 1.0)
        assert limits.measure() == factor


def test_summary(run, folder):
    tests = [("OK", "== 3 passed, 1 skipped in 0.10s ==\nSKIPPED [1] a.py:1: no tmux"), ("FAIL", "FAILED a.py::b - assert (1 == 2)\n== 1 failed, 2 passed in 1s =="),
             ("SKIP", "SKIP all: no pytest"), ("OK", "Run Summary\n\nSKIP it: disturbed\n7 passed, 0 failed\n"),
             ("TIMEOUT", " SEED=20130 passed\n  Test: it comes and goes ...\n    1 == 2: SEED=39FAILED\n")]
    lines = [json.dumps({"name": f"vbng:x / t{i}", "result": result, "stdout": out}) + "\n" for i, (result, out) in enumerate(tests)]
    (folder / "one.json").write_text("".join(lines[:2]))
    (folder / "other.json").write_text("".join(lines[2:]))
    done = run(sys.executable, HERE / "summary.py", folder / "one.json", folder / "other.json")
    assert done.stdout.splitlines() == [
        "skipped in t0: [1] a.py:1: no tmux", "skipped in t2: all: no pytest", "skipped in t3: it: disturbed",
        "failed: t1 (FAIL); a.py::b - assert (1 == 2)", "failed: t4 (TIMEOUT); 1 == 2: SEED=39",
        "checks within the tests: 12 passed, 1 failed, 3 skipped", "2 passed, 2 failed, 1 skipped"]


@pytest.mark.parametrize("args, status, says", [
    ([], 0, "3 passed, 0 failed"),
    (["-l"], 0, "sorted by file and line\nthousands\nnearest names\n"),
    (["-t", "nearest"], 0, "1 passed, 0 failed"),
    (["-t", "nothing like it"], 2, "no test has 'nothing like it' in its name"),
    (["one", "two"], 2, "usage: "),
    (["-x"], 2, "usage: "),
])
def test_programs_in_c(run, build, args, status, says):
    done = run(build / "tests/unit/test_diag", *args)
    assert (done.returncode, says in done.stdout + done.stderr) == (status, True), done


def test_a_suite_that_does_not_exist(run):
    """Before anything is installed or built: a traceback of the summary came minutes later."""
    done = run(HERE.parent.parent / "tools/test", "unit", "cp_radius")
    assert done.returncode == 2 and done.stderr.startswith("test: no suite cp_radius; the suites: unit task ") and not done.stdout, done
    assert done.stderr.endswith("One test of a suite: meson test -C build cp_radius\n")


def test_warnings_of_a_compiler_are_told_from_those_of_a_build(run, tmp_path):
    """tests/distro ends with a failure for the former only: tools/demo installs no pip, and a build without it says what it could not fetch."""
    (tmp_path / "a.c").write_text("void f(void) { int unused; }\n")
    (tmp_path / "names.txt").write_text("no-such-package==1\n")
    compiled = run("cc", "-Wall", "-c", "a.c", cwd=tmp_path, env={**os.environ, "LC_ALL": "C"}).stderr
    fetched = run(sys.executable, TOP / "tools/fetch-python", tmp_path / "names.txt", tmp_path / "names", env={**os.environ, "PIP_NO_INDEX": "1"}).stderr
    assert fetched.startswith("warning: "), fetched
    (tmp_path / "log").write_text(compiled + fetched)
    found = run("bash", "-c", ". tools/common.sh; compiler_warnings \"$0\"", tmp_path / "log", cwd=TOP).stdout
    assert found.splitlines() == [line for line in compiled.splitlines() if "Wunused-variable" in line] != [], found
