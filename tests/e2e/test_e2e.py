# SPDX-License-Identifier: BSD-3-Clause
"""The real binary from start to end: whole configurations, signals, bad starts."""

import pytest

from tests.common import need

need.module("scapy", "python3-scapy")

from tests.common.verdict import judge  # noqa: E402
from tests.e2e import bad_starts, cases, families, instrument, layouts, plans, replay, sessions_made, signals  # noqa: E402
from tests.e2e.process import Context  # noqa: E402


@pytest.mark.limit(180)
@pytest.mark.parametrize("name, case", cases.of(plans, bad_starts, replay, instrument, layouts, families, sessions_made, signals))
def test_e2e(vbng, folder, name, case):
    judge(case(Context(vbng, str(folder))))
