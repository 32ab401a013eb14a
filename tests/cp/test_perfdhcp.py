# SPDX-License-Identifier: BSD-3-Clause
"""ISC's perfdhcp, a client of others, gets all of its sessions of vbng and vbng-cp."""

import re
import subprocess
import sys

import pytest

from tests.common import need
from tests.common.limits import limit
from tests.container.namespaces import SKIP
from tests.cp import perfdhcp


@pytest.mark.parametrize("family", [4, 6])
def test_avalanche(family, vbng, build, monkeypatch):
    """Three hundred CPEs that ask at once; of IPv6 for an address and a prefix. None is told what another has."""
    need.program("perfdhcp", "kea-admin")
    path = build / "src/cp/vbng-cp"
    if not path.exists():
        need.skip("vbng-cp is not built here (Debian package libsqlite3-dev)")
    monkeypatch.setenv("VBNG_CP", str(path))
    done = subprocess.run([sys.executable, "-m", "tests.cp.perfdhcp", str(family), "--clients", "300", "--vbng", vbng], capture_output=True, text=True,
                          timeout=limit(60), check=False)
    if done.returncode == SKIP:
        need.skip(done.stdout.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^300 sessions, \d+ a second, all within [\d.]+ s$", done.stdout, re.M), done.stdout
    for exchange in perfdhcp.EXCHANGES[family]:
        assert f"{exchange}: 300 sent, 300 answered" in done.stdout, done.stdout
