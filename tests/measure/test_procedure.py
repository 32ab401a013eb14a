# SPDX-License-Identifier: BSD-3-Clause
"""A whole measurement of a made-up gateway: figures, stop, resume, dead runs."""

import io
import json
import os
import tempfile
import unittest

from tests.measure.fake import SIZE, FakeRig
from vbnglab.lab import journal, progress
from vbnglab.measure import procedure, trial

OPTIONS = procedure.Options(seconds=1.0, short=0.2)
CAPACITY = 3e6


class Killed(BaseException):
    """As good as SIGKILL: nobody catches it."""


def measurement(rig, path=None, options=OPTIONS, directions=("both",), stop_after=None, how=KeyboardInterrupt):
    def take(rig, request):
        if stop_after is not None and rig.count == stop_after:
            raise how
        return trial.take(rig, request)

    book = journal.Journal(path, {"what": "fake"})
    return procedure.Measurement(rig, options, [SIZE], directions, book, progress.Progress(io.StringIO()), take)


class Whole(unittest.TestCase):
    def test_figures(self):
        m = measurement(FakeRig(noise=0.002), directions=("up", "down", "both"))
        m.run()
        self.assertEqual([f["direction"] for f in m.figures], ["up", "down", "both"])
        for f in m.figures:
            self.assertTrue(f["complete"])
            self.assertAlmostEqual(f["rplus"]["pps"]["median"] / CAPACITY, 1, delta=0.005)
            self.assertEqual((f["rplus"]["outcome"], f["rplus"]["limit"]), ("known", "gateway"))
            self.assertGreaterEqual(f["rplus"]["trials"], 6)
            self.assertAlmostEqual(f["ndr"]["lower"] / CAPACITY, 1, delta=0.025)
            self.assertGreaterEqual(f["pdr"]["lower"], f["ndr"]["lower"])
            self.assertEqual([load["share"] for load in f["latency"]], [0.10, 0.50, 0.99])
            p50 = [load["streams"][next(iter(load["streams"]))]["p50"]["median"] for load in f["latency"]]
            self.assertEqual(p50, sorted(p50))

    def test_repeats_until_known_or_gives_up(self):
        calm = measurement(FakeRig(noise=0.001), options=procedure.Options(parts=("rplus",)))
        calm.run()
        self.assertEqual(calm.figures[0]["rplus"]["trials"], 6)
        wild = measurement(FakeRig(noise=0.3), options=procedure.Options(parts=("rplus",)))
        wild.run()
        self.assertEqual(wild.figures[0]["rplus"]["trials"], 15)
        self.assertIn("not known", wild.figures[0]["rplus"]["outcome"])

    def test_generator_limit_is_not_the_gateways_figure(self):
        m = measurement(FakeRig(ceiling=2e6))
        m.run()
        f = m.figures[0]
        self.assertEqual(f["rplus"]["limit"], trial.GENERATOR)
        self.assertEqual(f["ndr"]["limit"], trial.GENERATOR)

    def test_disturbed_trials_are_left_out_and_repeated(self):
        m = measurement(FakeRig(disturbed=(0, 2, 9)), options=procedure.Options(parts=("rplus", "search")))
        m.run()
        r = m.figures[0]["rplus"]
        self.assertEqual((r["trials"], r["used"]), (8, 6))
        self.assertAlmostEqual(m.figures[0]["ndr"]["lower"] / CAPACITY, 1, delta=0.025)

    def test_a_load_that_was_not_there_is_tried_again(self):
        """In every other trial the generator was away for a while: the knee is found all the same."""
        m = measurement(FakeRig(late=range(0, 1000, 2)), options=procedure.Options(parts=("rplus", "search")))
        m.run()
        for goal in ("ndr", "pdr"):
            self.assertAlmostEqual(m.figures[0][goal]["lower"] / CAPACITY, 1, delta=0.025)
        late = sum(t["unsent"] > 0.01 * t["intended"] and t["purpose"] == "search" for t in m.trials)
        self.assertGreater(late, 3)

    def test_all_disturbed_is_said(self):
        m = measurement(FakeRig(disturbed=range(1000)), options=procedure.Options(parts=("rplus",)))
        m.run()
        r = m.figures[0]["rplus"]
        self.assertEqual((r["used"], r["marks"]["disturbed"]), (30, 30))
        self.assertIn("disturbed", r["outcome"])

    def test_dead_runs_are_rows(self):
        m = measurement(FakeRig(dies=(1, 8)), options=procedure.Options(parts=("rplus", "search")))
        m.run()
        self.assertEqual([i for i, t in enumerate(m.trials) if not t["ok"]], [1, 8])
        self.assertEqual(m.figures[0]["rplus"]["dead"], 1)
        self.assertAlmostEqual(m.figures[0]["ndr"]["lower"] / CAPACITY, 1, delta=0.025)

    def test_all_runs_die(self):
        m = measurement(FakeRig(dies=range(1000)), directions=("up", "both"))
        m.run()
        self.assertEqual(len(m.trials), 2 * procedure.DEAD)
        self.assertEqual(m.figures[1]["rplus"]["outcome"], "the runs die")
        self.assertIn("exit status 3", m.figures[1]["rplus"]["errors"])


class Stop(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "journal.jsonl")

    def tearDown(self):
        self.folder.cleanup()

    def recorded(self, *arguments, **options):
        book = journal.Journal(self.path, *arguments, **options)
        return book.recorded

    def whole(self):
        m = measurement(FakeRig(noise=0.01), directions=("up", "both"))
        m.run()
        return m

    def test_what_is_done_is_kept(self):
        """Stopped anywhere, the figures hold what was known."""
        for after in (0, 1, 4, 7, 11, 20):
            m = measurement(FakeRig(), stop_after=after)
            self.assertRaises(KeyboardInterrupt, m.run)
            self.assertEqual(len(m.trials), after)
            self.assertFalse(m.figures[0]["complete"])
            if 0 < after < 6:
                self.assertEqual(m.figures[0]["rplus"]["trials"], after)
                self.assertIn("stopped", m.figures[0]["rplus"]["outcome"])
            if after == 11:
                self.assertFalse(m.figures[0]["ndr"]["complete"])

    def test_resumes_after_a_kill(self):
        """Killed again and again, it comes to the same figures, and runs no trial twice."""
        rig, runs = FakeRig(noise=0.01), 0
        while True:
            m = measurement(rig, self.path, directions=("up", "both"), stop_after=rig.count + 5, how=Killed)
            runs += 1
            try:
                m.run()
                break
            except Killed:
                pass
        self.assertGreater(runs, 5)
        whole = self.whole()
        self.assertEqual(rig.count, len(whole.trials))
        self.assertEqual(json.dumps(m.figures), json.dumps(whole.figures))

    def test_a_torn_line_is_a_trial_that_was_not(self):
        m = measurement(FakeRig(noise=0.01), self.path, directions=("up", "both"), stop_after=8, how=Killed)
        self.assertRaises(Killed, m.run)
        with open(self.path, "rb+") as f:
            f.truncate(os.path.getsize(self.path) - 17)
        self.assertEqual(self.recorded({"what": "fake"}), 7)
        rig = FakeRig(noise=0.01)
        again = measurement(rig, self.path, directions=("up", "both"))
        again.run()
        self.assertEqual(rig.count, len(again.trials) - 7)
        self.assertEqual(self.recorded({"what": "fake"}), len(again.trials))

    def test_another_measurement_is_refused(self):
        journal.Journal(self.path, {"what": "this"})
        with self.assertRaisesRegex(journal.Mismatch, "different: what"):
            journal.Journal(self.path, {"what": "that"})
        self.assertEqual(self.recorded({"what": "that"}, fresh=True), 0)


class Bar(unittest.TestCase):
    def test_time_left(self):
        out = io.StringIO()
        p = progress.Progress(out)
        p.expect("a", 10, 1.0)
        p.trial("a", 1.0, 1.5, "x")
        self.assertAlmostEqual(p.left(), 9 * 1.5)
        self.assertIn("0:14 left  a: x", out.getvalue())
        p.trial("a", 1.0, 0, "y")
        self.assertIn(" 20 %  0:12 left  a: y (known)", out.getvalue())
        p.close("a")
        self.assertEqual(p.left(), 0)
        self.assertEqual(progress.duration(3725), "1:02:05")
