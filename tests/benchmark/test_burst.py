# SPDX-License-Identifier: BSD-3-Clause
"""Back-to-back frames (RFC 9004) on a gateway whose buffer is known."""

import io

import pytest

from tests.benchmark.fake import LINE, OPTIONS, BufferedRig, measure
from tests.measure.fake import SIZE
from vbnglab.benchmark import burst


@pytest.mark.parametrize("buffer", [0, 1, 31, 255, 256, 257, 1000, 4096, 70_001])
def test_longest(buffer):
    """The bounds hold the buffer, and are as near to each other as is told apart."""
    low, high = burst.longest(lambda frames: frames <= buffer)
    assert low <= buffer < high and high - low <= max(burst.STEP, low >> 6)


def test_longest_that_is_tried():
    sent = []
    assert burst.longest(lambda frames: sent.append(frames) or True) == (burst.MOST, None)
    assert sent[-1] == burst.MOST and len(sent) == len(set(sent))


def test_corrected():
    """26,000 frames at 14.88 Mpps imply 1.747 ms; of these a gateway of 11 Mpps needs 0.4556 ms, as it forwards 74 % meanwhile."""
    implied, corrected = burst.corrected(26_000, 14_880_952, 11e6)
    assert implied == pytest.approx(1.7472e-3, rel=1e-4) and corrected == pytest.approx(4.5565e-4, rel=1e-4)
    assert burst.corrected(26_000, 14_880_952, 0) == (implied, implied)


def test_of_a_gateway():
    """Each direction has a burst into its first port, as long as the buffer; its rate is the generator's, and not the line's."""
    rig = BufferedRig(buffer=1000)
    figure = measure(rig).figures[0]
    for direction, generator in (("up", "gen_cpe0"), ("down", "gen_core0")):
        b = figure["bursts"][direction]
        assert b["complete"] and b["generator"] == generator and b["searches"] == OPTIONS.bursts and b["disturbed"] == 0
        assert 1000 - burst.STEP <= b["min"] == b["max"] == b["average"] <= 1000 and b["deviation"] == 0
        assert b["burst_pps"] == pytest.approx(10e6) and b["implied_s"] == pytest.approx(b["average"] / 10e6)
        assert b["corrected_s"] == pytest.approx(b["implied_s"] * (1 - b["ndr"]["lower"] / 10e6))
    assert figure["bursts"]["up"]["line_pps"] == pytest.approx(LINE)
    requests = [r for r in rig.requests if r.count]
    assert {rig.tester_settings(r).get("gen_cpe0.count") for r in requests if r.direction.startswith("up")} > {256, 512}
    assert not any("gen_cpe1.count" in rig.tester_settings(r) for r in requests)


def test_its_progress():
    """A burst has so many frames, of which so many came back, and no rate; other trials have one."""
    told = io.StringIO()
    measure(BufferedRig(buffer=1000), told=told)
    lines = told.getvalue().splitlines()
    bursts = [line for line in lines if " B burst: " in line]
    assert any(f"up, one port {SIZE} B burst: 512 frames, 512 came back, loss 0" in line for line in bursts), lines
    assert any(line.endswith(f"down, one port {SIZE} B burst: 1024 frames, 1000 came back, loss 2.34 %") for line in bursts), lines
    assert not any("Mpps" in line or "saturation" in line for line in bursts)
    assert any(f"up, one port {SIZE} B R+: saturation, " in line and " Mpps came back, " in line for line in lines)


def test_a_loss_is_verified():
    """A burst that lost once and then came through is no limit."""
    lost = iter([True])

    class Flaky(BufferedRig):
        def report(self, request, number):
            whole = self.buffer
            self.buffer = 10 if request.count == 512 and next(lost, False) else whole
            out = super().report(request, number)
            self.buffer = whole
            return out

    rig = Flaky(buffer=1000)
    assert measure(rig).figures[0]["bursts"]["up"]["min"] >= 1000 - burst.STEP
    assert rig.bursts[:3] == [256, 512, 512]


def test_a_burst_with_a_gap_is_none():
    """Where the generator's core was away in a burst, it is sent again; where it always is, the figure says that it is disturbed."""
    rig = BufferedRig(gaps=(0, 1))
    assert measure(rig).figures[0]["bursts"]["up"]["disturbed"] == 0 and rig.bursts[:4] == [256, 256, 256, 512]
    b = measure(BufferedRig(gaps=range(100_000))).figures[0]["bursts"]["up"]
    assert b["disturbed"] == b["trials"] > 0


def test_no_burst_where_all_is_forwarded():
    """A gateway that forwards what the generator can make has no burst that it could not keep."""
    rig = BufferedRig(capacity=20e6, ceiling=5e6)
    b = measure(rig).figures[0]["bursts"]["up"]
    assert "frames" not in b and "RFC 9004" in b["note"] and not rig.bursts


def test_dead_runs_end_it():
    class Dying(BufferedRig):
        def trial(self, request, sample):
            self.dies = range(self.count + 1) if request.count else ()
            return super().trial(request, sample)

    b = measure(Dying()).figures[0]["bursts"]["up"]
    assert b["note"] == "the runs die" and b["max"] == 0 and "implied_s" not in b
