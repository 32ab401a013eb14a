# SPDX-License-Identifier: BSD-3-Clause
"""vbng-lab experiment fig5 reaches the ten phases of the paper's Fig. 5, and its curves are those of a token bucket.

A busy machine may keep the generator from its CPU for a while: then what came in is not what the tool wanted to send, and
another try is made. The first one in which the input was as wanted is judged; without such a try the test is skipped."""

import pytest

from tests.common.verdict import nothing
from vbnglab.experiments import fig5

TRIES = 6


def faults(tool, found):
    if found.lacking:
        return [f"{what} was not reached" for what in found.lacking]
    wrong, rows, when = [], found.rows, {number: at for number, at, _ in found.moments}
    for first, then in ((1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 7), (7, 8), (8, 9), (9, 10)):
        if not when[first] < when[then]:
            wrong.append(f"phase ({then}) at {when[then]:.3f} s, but ({first}) at {when[first]:.3f} s")

    def mean(column, begin, end):
        values = [r[column] for r in rows if begin <= r["seconds"] <= end]
        return sum(values) / len(values) if values else 0

    def expect(what, value, want, within):
        if abs(value - want) > within * want:
            wrong.append(f"{what}: {value / 1e6:.2f} instead of {want / 1e6:.2f} Mbit/s")

    over = tool.PHASES[3][0]
    expect("output under the rate", mean("output", when[2] + 0.02, 0.48), 0.5 * tool.RATE, 0.05)
    expect("output at the rate", mean("output", 0.52, over - 0.02), tool.RATE, 0.05)
    expect("output while there are tokens", mean("output", over + 0.02, when[6] - 0.02), 1.8 * tool.RATE, 0.1)
    expect("output while the queue is full", mean("output", when[8] + 0.02, 1.28), tool.RATE, 0.05)
    expect("output while the queue drains", mean("output", 1.32, when[10] - 0.02), tool.RATE, 0.05)
    if max(r["queue"] for r in rows) > tool.QUEUE:
        wrong.append(f"{max(r['queue'] for r in rows)} packets in a queue of {tool.QUEUE}")
    if any(r["dropped"] > 0 for r in rows if r["seconds"] < when[8] - 0.001):
        wrong.append("drops before the queue was full")
    return wrong


@pytest.mark.limit(180)
def test_ten_phases_in_order(vbng):
    for attempt in range(TRIES):
        found = fig5.judge(fig5.measure(vbng))
        wrong = faults(fig5, found)
        if not wrong or all(p.reached for p in found.phases):
            return nothing(wrong)
        print(f"try {attempt + 1} (disturbed):", *wrong, sep="\n     ")
    pytest.skip(f"in each of {TRIES} tries something else came in than was to be sent: the machine is too busy")
