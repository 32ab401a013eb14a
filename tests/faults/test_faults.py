# SPDX-License-Identifier: BSD-3-Clause
"""Faults, caused for real: what the operator sees, that what is lost is counted, and the recovery.

`meson test` runs test_short() alone; the cases of test_long() take longer, or need root. FAULTS_TABLE=FILE in the environment
writes the fault table there, as Markdown; doc/faults.md has it as it was measured.
"""

import os

import pytest

from tests.common import need

need.module("scapy", "python3-scapy")

from tests.common.verdict import judge, params  # noqa: E402
from tests.e2e.process import Context  # noqa: E402
from tests.faults import clients, interfaces, memory, peers, pipeline, restart  # noqa: E402

CASES = [case for part in (pipeline, interfaces, peers, memory, clients, restart) for case in part.TESTS]
COLUMNS = ("fault", "what the operator sees", "packets lost", "recovery")


def markdown(rows):
    """The fault table."""
    lines = [COLUMNS, ("---",) * len(COLUMNS)]
    lines += [(r.fault, r.saw, r.lost, r.recovery) for r in rows]
    return "".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |\n" for line in lines)


@pytest.fixture(scope="module")
def table():
    """Rows of the fault table, to which each case adds its own."""
    rows = []
    yield rows
    if path := os.environ.get("FAULTS_TABLE"):
        with open(path, "w", encoding="utf-8") as f:
            f.write(markdown(rows))


def run(case, vbng, folder, table):
    rows = case(Context(vbng, str(folder)))
    if not isinstance(rows, str):
        table += rows
        rows = [w for r in rows for w in r.wrong]
    judge(rows)


@pytest.mark.parametrize("name, case", params([(name, case) for name, short, case in CASES if short]))
def test_short(vbng, folder, table, name, case):
    run(case, vbng, folder, table)


@pytest.mark.parametrize("name, case", params([(name, case) for name, short, case in CASES if not short]))
def test_long(vbng, folder, table, name, case):
    run(case, vbng, folder, table)
