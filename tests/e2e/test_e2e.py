# SPDX-License-Identifier: BSD-3-Clause
"""The real binary from start to end: whole configurations, several processes, signals, bad starts."""

import pytest

from tests.common import need

need.module("scapy", "python3-scapy")

from tests.common.verdict import judge, params  # noqa: E402
from tests.e2e import bad_starts, families, instrument, layouts, plans, replay, signals, slaac, two_processes, veth  # noqa: E402
from tests.e2e.process import Context  # noqa: E402

PARTS = (plans, bad_starts, replay, instrument, layouts, families, signals, two_processes, veth, slaac)


@pytest.mark.limit(180)
@pytest.mark.parametrize("name, case", params([case for part in PARTS for case in part.tests()]))
def test_e2e(vbng, folder, name, case):
    judge(case(Context(vbng, str(folder))))
