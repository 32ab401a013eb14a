# SPDX-License-Identifier: BSD-3-Clause
"""Back-to-back frames as RFC 9004 has them: the longest burst at the rate of the line of which nothing is lost.

The burst enters by one port. Each of several searches doubles a burst until frames are lost, and then halves the interval; a burst
that lost frames is sent again, and is too long only if it loses again (binary search with loss verification, ETSI GS NFV-TST 009).
What the gateway forwards while the burst enters needs no buffer: the corrected buffer time leaves it out, by the throughput of the
same port alone.
"""

from dataclasses import dataclass
from statistics import mean, median, pstdev

from ..measure import procedure, trial
from ..measure.rig import Request

FIRST = 256  # frames of the first burst
STEP = 32  # frames: bursts that differ by less are not told apart
MOST = 1 << 22  # frames of the longest burst that is tried
VERIFY = 1  # so many times a burst that lost frames is sent again
AS_FAST = 0.95  # share of the burst's rate: a gateway that forwards so much needs no buffer that could be measured
DIRECTIONS = ("up", "down")


@dataclass(frozen=True)
class Options(procedure.Options):
    """How thorough a report is."""

    latency_of: str = "pdr"
    latency_loads: tuple = (0.10, 0.50, 0.90)
    bursts: int = 50  # searches for the longest burst
    burst_seconds: float = 0.2  # of a trial with a burst, which is over long before


QUICK = Options(**{**vars(procedure.QUICK), "latency_of": "pdr", "latency_loads": (0.10, 0.50, 0.90)}, bursts=2)


def longest(keeps, first=FIRST, step=STEP, most=MOST):
    """(frames of the longest burst that was kept, frames of the shortest that was not; None: all were kept). keeps: function of a number
    of frames."""
    low, high = 0, min(first, most)
    while keeps(high):
        low = high
        if high == most:
            return low, None
        high = min(2 * high, most)
    while high - low > max(step, low >> 6):
        middle = (low + high) // 2
        low, high = (middle, high) if keeps(middle) else (low, middle)
    return low, high


def corrected(frames, line, throughput):
    """(implied, corrected) buffer time in seconds of a burst of so many frames at line frames per second, where the gateway forwards
    throughput frames per second meanwhile (RFC 9004, section 6)."""
    implied = frames / line
    return implied, implied * (1 - throughput / line)


class Measurement(procedure.Measurement):
    """A measurement with back-to-back frames behind the figures of each size."""

    def run(self):
        """Measure all sizes and directions."""
        for direction in DIRECTIONS:
            if direction in self.rig.generators:
                self.rig.lone(direction, _alone(direction))
        super().run()

    def _more(self, figure, size, direction):
        figure["bursts"] = {}
        for one in DIRECTIONS:
            if self.options.bursts and _alone(one) in self.rig.generators:
                self._bursts(figure["bursts"].setdefault(one, {"complete": False}), size, one)

    def _bursts(self, out, size, direction):
        alone = _alone(direction)
        out["generator"] = self.rig.generators[alone][0]
        out["line_pps"] = self._line(out["generator"], size.core if direction == "down" else size.access)
        self._rplus(out, size, alone)
        if out["rplus"].get("pps") is None:
            out["note"] = "no throughput: the runs die"
            return
        self._search(out, size, alone, ("ndr",))
        throughput, made = out["ndr"]["lower"], out["rplus"]["generator"]["made_pps"]
        if throughput is not None and throughput >= AS_FAST * made:
            out["note"] = "the gateway forwards what the generator can make: there is no burst that it could not keep (RFC 9004, section 4)"
        else:
            self._search_bursts(out, size, alone, throughput, made)
        out["complete"] = True
        for part in ("R+", "search", "burst"):
            self.progress.close(f"{alone} {size} B {part}")

    def _line(self, generator, size):
        plan = self.rig.plans.get("tester") or self.rig.plans["gateway"]
        port = next(d["port"] for i in plan["instances"] if i["task"] == generator for o in i["outputs"]
                    for d in o["destinations"] if d["kind"] == "port")
        rate = next(p["line_rate"] for p in plan["ports"] if p["port"] == port)
        return rate / 8 / (size + 20)  # preamble and gap

    def _search_bursts(self, out, size, alone, throughput, made):
        out["frames"], rows = [], []

        def keeps(frames):
            return self._kept(Request(trial.BURST, alone, size, None, self.options.burst_seconds, count=frames), made, rows)

        for left in range(self.options.bursts, 0, -1):
            self.progress.expect(f"{alone} {size} B burst", left * 10, self.options.burst_seconds)
            low, high = longest(keeps)
            out["frames"].append(low)
            out.update(figures(out["frames"], rows, out["line_pps"], throughput))
            if high is None:
                out["note"] = "the longest burst that is tried was kept: a lower bound"
                return
            if len(rows) >= procedure.DEAD and not any(r["ok"] for r in rows[-procedure.DEAD:]):
                out["note"] = "the runs die"
                return

    def _kept(self, request, made, rows):
        """Tell whether a burst came through. A loss is believed when it happens again. Disturbed trials are repeated, whatever they
        said; one that stays disturbed counts, and is marked."""
        losses = 0
        for tries in range(1 + VERIFY + self.options.again):
            row = self._one(request, "burst")
            if row["ok"] and "disturbed" not in row["marks"] and gap(row, made):
                row["marks"].append("disturbed")
            kept = row["ok"] and row["lost"] == 0
            if row["ok"] and "disturbed" in row["marks"] and tries < VERIFY + self.options.again:
                continue
            losses += not kept
            if kept or losses > VERIFY:
                break
        rows.append(row)
        return kept


def _alone(direction):
    return f"{direction}, one port"


def rate(row):
    """Frames per second of a burst: from the moment of its first train to that of its last, which is not in it. None: there is one
    train only."""
    g = row["generator"]
    return (g["made"] - STEP) / g["seconds"] if g["seconds"] > 0 and g["made"] > STEP else None


def gap(row, made):
    """Tell whether a burst was none, because the generator's core was away in it: it took twice as long as at made frames per second, what the
    generator can."""
    return rate(row) is not None and rate(row) < made / 2


def figures(frames, rows, line, throughput):
    """Figures of the bursts that searches found, as a dict of the result. rows: the trials that decided."""
    alive = [r for r in rows if r["ok"]]
    rates = [x for r in alive if (x := rate(r)) is not None]
    made = min(line, median(rates)) if rates else None
    out = {"searches": len(frames), "average": mean(frames), "min": min(frames), "max": max(frames), "deviation": pstdev(frames),
           "burst_pps": made, "throughput_pps": throughput, "trials": len(rows), "dead": len(rows) - len(alive),
           "disturbed": sum("disturbed" in r["marks"] for r in alive)}
    if made:
        out["implied_s"], of_buffer = corrected(mean(frames), made, min(throughput or 0, made))
        if throughput is not None:
            out["corrected_s"] = of_buffer
    return out
