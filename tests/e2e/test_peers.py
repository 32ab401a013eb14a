# SPDX-License-Identifier: BSD-3-Clause
"""The real binary and its peers: another process of it, packet sockets, the kernel as a CPE and in the core."""

import pytest

from tests.common import need

need.module("scapy", "python3-scapy")

from tests.common.verdict import judge  # noqa: E402
from tests.e2e import cases, slaac, two_processes, veth  # noqa: E402
from tests.e2e.process import Context  # noqa: E402


@pytest.mark.limit(180)
@pytest.mark.parametrize("name, case", cases.of(two_processes, veth, slaac))
def test_peers(vbng, folder, name, case):
    judge(case(Context(vbng, str(folder))))
