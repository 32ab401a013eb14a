# SPDX-License-Identifier: BSD-3-Clause
"""The real binary from start to end: whole configurations, several processes, signals, bad starts."""

import re

import pytest

from tests.common import need

need.module("scapy", "python3-scapy")

from tests.common.verdict import judge, params  # noqa: E402
from tests.e2e import bad_starts, families, instrument, layouts, plans, replay, sessions_made, signals, slaac, two_processes, veth  # noqa: E402
from tests.e2e.process import Context  # noqa: E402

# Of cases that differ in a delay or a configuration alone, the short run has a few; of those that fill a rate for seconds, none.
SAME = re.compile("SIG(INT|TERM) after|both directions forward|TCP of both families")
SOME = re.compile(r"SIGINT after (0\.0|1\.)|SIGTERM after 0\.[59]|: bng-(qos-4port-shards|4port-pipeline|dual-4port)\.cfg$")
PARTS = (plans, bad_starts, replay, instrument, layouts, families, sessions_made, signals, two_processes, veth, slaac)


def in_short_run(title):
    return not SAME.match(title) or SOME.search(title) is not None


@pytest.mark.limit(180)
@pytest.mark.parametrize("name, case", params([case for part in PARTS for case in part.tests()], short=in_short_run))
def test_e2e(vbng, folder, name, case):
    judge(case(Context(vbng, str(folder))))
