# SPDX-License-Identifier: BSD-3-Clause
"""All frames of tests/pcap, and some more, for the program truth: explain against the data path, frame by frame."""

import sys

import pytest

from tests.common import need

need.module("scapy", "python3-scapy")

pytestmark = pytest.mark.long
# The same addressing plan, whole: schedulers in both directions on one core; rings, and workers behind load balancers.
WHOLE = ("tests/fuzz/gateway.cfg", "cfg/bng-qos-4port-pipeline.cfg")


@pytest.fixture(scope="module")
def frames(module_folder, run):
    """The folder with what truth_frames.py writes."""
    made = run(sys.executable, "-m", "tests.explain.truth_frames", module_folder, timeout=100)
    assert made.returncode == 0, made.stderr
    return module_folder


@pytest.fixture
def truth(build, run):
    """A function: the program truth finds no difference in configurations with their frames."""

    def holds(*pairs):
        answer = run(build / "tests/explain/truth", *pairs, timeout=280)
        print(answer.stdout)
        assert answer.returncode == 0, answer.stdout[-4000:] + answer.stderr[-4000:]

    return holds


@pytest.mark.limit(300)
def test_gateways_of_the_cases(frames, truth):
    configurations = sorted(frames.glob("*.cfg"))
    assert len(configurations) > 1
    truth(*[path for config in configurations for path in (config, config.with_suffix(".frames"))])


@pytest.mark.limit(300)
@pytest.mark.parametrize("config", WHOLE)
def test_whole_gateways(frames, truth, top, config):
    truth(top / config, frames / "some.frames")
