# SPDX-License-Identifier: BSD-3-Clause
"""A made-up gateway with a buffer of so many frames at each port, and a report of it."""

import io

from tests.measure.fake import SIZE, FakeRig
from vbnglab.benchmark import burst, cases, outcome
from vbnglab.lab import journal, progress

LINE = 10e9 / 8 / 84
OPTIONS = burst.Options(seconds=1.0, short=0.2, bursts=3)


class BufferedRig(FakeRig):
    """buffer: frames of a burst that come through. gaps: numbers of bursts (from 0) in which the generator's core was away."""

    def __init__(self, buffer=1000, gaps=(), **how):
        super().__init__(**how)
        self.buffer, self.gaps, self.bursts = buffer, gaps, []
        self.plans["gateway"].update({
            "ports": [{"port": "t0", "line_rate": 10_000_000_000}], "cores": [{"core": 0, "run_on": 0, "instances": ["qos"]}],
            "instances": [{"task": g, "outputs": [{"destinations": [{"kind": "port", "port": "t0"}]}]} for g in self.generators["both"]]})

    def report(self, request, number):
        if request.count is None:
            return super().report(request, number)
        slow = 10 if len(self.bursts) in self.gaps else 1
        self.bursts.append(request.count)
        out = super().report(request, number)
        names = self.generators[request.direction]
        for t in out["tasks"]:
            if t["name"] in names:
                t.update(created=request.count, sent=request.count)
                t["stats"]["missed"] = 0
                t["measured"]["seconds"] = slow * (request.count - burst.STEP) / 10e6
            elif t["type"] != "gen":
                t.update({"in": min(request.count, self.buffer), "drops": {}})
        return out


def measure(rig, options=OPTIONS, told=None):
    """A measurement of a rig, done. told: file for its progress; None: nobody sees it."""
    m = burst.Measurement(rig, options, [SIZE], ["both"], journal.Journal(None, {}), progress.Progress(told or io.StringIO()))
    m.run()
    return m


def report(rig=None, options=OPTIONS, date="2026-01-02T00:00:00+00:00", commit="0123456789abcdef", **machine):
    """A whole report: a measured case, and one for which there are no CPUs."""
    rig = rig or BufferedRig()
    m, case = measure(rig, options), cases.CASES[0]
    rows = [outcome.judge(outcome.measured(case, 1, f["size"], rig, m, f), options.parts) for f in m.figures]
    rows.append(outcome.impossible(case, 4, rows[0]["size"], "needs 5 CPUs"))
    out = outcome.build(rows, options, ["vbng-lab", "benchmark"], "/nowhere/vbng", None)
    out.update(date=date, source={"commit": commit, "date": date, "changed": False})
    out["machine"].update(machine)
    return out
