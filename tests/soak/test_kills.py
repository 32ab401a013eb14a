# SPDX-License-Identifier: BSD-3-Clause
"""Programs are killed while sessions come and go: each once, in seconds; and it must be found that a store is forgotten."""

import os
import re
import subprocess
import sys

import pytest

from tests.common import need
from tests.common.limits import limit

KILLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kills.py")

pytestmark = pytest.mark.limit(120)


@pytest.fixture
def kills(build):
    """A function: the exit status, and what it has printed."""
    need.program("freeradius")
    for name in ("kea-dhcp4", "kea-dhcp6"):
        need.program(name, f"{name}-server")
    if not (build / "src/cp/vbng-cp").exists():
        need.skip("vbng-cp is not built here (Debian package libsqlite3-dev)")

    def call(*words, seconds=100):
        done = subprocess.run([sys.executable, KILLS, "--build", str(build), *words], capture_output=True, text=True, timeout=limit(seconds),
                              env={**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin"}, check=False)
        said = done.stdout + done.stderr
        if "no network namespace" in said:
            need.skip(said.strip())
        return done.returncode, said

    return call


def test_each_once(kills):
    status, said = kills("--kills", "1", "--lines", "5", "--pause", "0.3")
    assert status == 0 and "nothing is wrong" in said, said


def test_a_forgotten_store_is_found(kills):
    """Sessions that were acknowledged are lost then, with their packets, and their addresses are given to others."""
    status, said = kills("--kills", "1", "--lines", "3", "--pause", "0.3", "--victims", "vbng-cp", "--forget")
    assert status == 1 and re.search(r"^wrong:\n(lost: |.* was told to |.* a ping was lost )", said, re.M), said


@pytest.mark.long
@pytest.mark.limit(1200)
@pytest.mark.parametrize("victims", [("vbng-cp", "store", "RADIUS", "DHCP"), ("vbng-cp", "store", "vbng", "both", "RADIUS", "DHCP")])
def test_a_hundred(kills, victims):
    """As long as vbng itself lives, what RADIUS was told of is what its ledger has."""
    status, said = kills("--kills", str(100 // len(victims) + 1), "--victims", *victims, seconds=900)
    assert status == 0, said
