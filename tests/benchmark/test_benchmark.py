# SPDX-License-Identifier: BSD-3-Clause
"""vbng-lab benchmark with the real vbng, for seconds: what it measures on this machine, and what it says of cores that are not there."""

import json
import os
import subprocess
import sys

import pytest

from tests.common.limits import limit
from vbnglab.lab import topology

pytestmark = pytest.mark.limit(400)
TOO_MANY = len(topology.live()) < 5


def benchmark(vbng, folder, *arguments):
    command = ["/usr/bin/python3" if os.access("/usr/bin/python3", os.X_OK) else sys.executable, "-m", "vbnglab", "benchmark", "--vbng", vbng, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=limit(350), cwd=folder)


@pytest.mark.long
def test_quick(vbng, tmp_path):
    """A case on one core has its figures, or says that it was disturbed; four cores are said not to be there. It is written again from its
    JSON, and a further one has the first as its history."""
    pytest.importorskip("matplotlib")
    if len(topology.live()) < 2:
        pytest.skip("needs two CPUs")
    arguments = ["--quick", "--case", "bng-ipv4", "--cores", "1,4" if TOO_MANY else "1", "--seconds", "0.2", "--bursts", "1", "--out", "out"]
    done = benchmark(vbng, tmp_path, *arguments)
    assert done.returncode in (0, 4), done.stderr
    report = json.loads((tmp_path / "out/benchmark.json").read_text())
    row = report["rows"][0]
    assert (done.returncode == 4) == bool(row["disturbed"] or row["missing"]), done.stdout
    assert row["figure"]["complete"] and row["figure"]["rplus"]["pps"]["median"] > 0
    b = row["figure"]["bursts"]["up"]
    assert b["generator"] == "gen_cpe0" and (b.get("note") or b["searches"] == 1 and b["max"] > 0)
    if TOO_MANY:
        assert "needs 5 CPUs" in report["rows"][1]["why"] and "not possible here: needs 5 CPUs" in done.stdout
    assert (tmp_path / "out/bng-ipv4-1/result.json").exists()
    again = benchmark(vbng, tmp_path, "--render", "out/benchmark.json", "--out", "again", "--history", "out")
    assert again.returncode == done.returncode and (tmp_path / "again/benchmark.md").read_text() == (tmp_path / "out/benchmark.md").read_text()


@pytest.mark.parametrize("arguments, words", [
    (["--cores", "3"], "--cores 3: expected some of 1,2,4"),
    (["--cores", "x"], "--cores x: expected"),
    (["--case", "other"], "invalid choice"),
    (["--bursts", "-1"], "expected 0 to 1000"),
    (["--seconds", "0"], "expected 0.2 to 3600"),
])
def test_usage(vbng, tmp_path, arguments, words):
    done = benchmark(vbng, tmp_path, *arguments)
    assert done.returncode == 2 and words in done.stderr and not list(tmp_path.iterdir())


@pytest.mark.parametrize("arguments, words", [
    (["--case", "hqos-ipv6", "--cores", "1", "--sizes", "64"], "the layers need 74 bytes"),
    (["--cores", "1", "--sizes", "x"], "'x' is no size"),
    (["--render", "none.json"], "none.json"),
])
def test_refused(vbng, tmp_path, arguments, words):
    if len(topology.live()) < 2:
        pytest.skip("needs two CPUs")
    done = benchmark(vbng, tmp_path, *arguments)
    assert done.returncode == 1 and words in done.stderr and "Traceback" not in done.stderr, done.stderr
