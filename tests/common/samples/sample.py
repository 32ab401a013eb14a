# SPDX-License-Identifier: BSD-3-Clause
"""Tests that end in each way, for test_runner.py; no run of all tests takes them."""

import subprocess

import pytest

from tests.common import need
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
