# SPDX-License-Identifier: BSD-3-Clause
"""Tests that end in each way, for test_runner.py; no run of all tests takes them."""

import subprocess
import time

import pytest

from tests.common import limits, need
from tests.common.verdict import nothing


@pytest.fixture
def ended():
    yield
    print("the fixture has ended")


@pytest.mark.long
def test_takes_long():
    pass


def test_passes():
    nothing([])


def test_finds_faults():
    nothing(["first fault", "second fault"])


def test_lacks_a_program():
    need.program("no-such-program", "no-such-package")


@pytest.mark.limit(1)
def test_hangs(ended):
    subprocess.run(["sleep", "600"], check=True)


@pytest.mark.limit(1)
def test_is_slowed_down_later(monkeypatch):
    monkeypatch.setattr(limits, "measure", lambda: 10.0)
    time.sleep(2)


class Slow(Exception):
    def __str__(self):
        time.sleep(2)
        return "said slowly"


@pytest.mark.limit(1)
def test_has_a_slow_report(monkeypatch):
    monkeypatch.setattr(limits, "measure", lambda: 1.0)
    raise Slow
