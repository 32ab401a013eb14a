# SPDX-License-Identifier: BSD-3-Clause
"""vbnglab.trial and vbnglab.rig: what a run says, and when it is not the gateway's figure."""

import unittest

from tests.measure.fake import SIZE, FakeRig
from vbnglab.measure import rig, trial
from vbnglab.measure.rig import Request, Size, parse_sizes


def take(load, seconds=1.0, direction="both", probes=False, **options):
    return trial.take(FakeRig(**options), Request("rplus", direction, SIZE, load, seconds, probes))


class Judge(unittest.TestCase):
    def test_counts(self):
        row = take(4e6)
        self.assertTrue(row["ok"])
        self.assertEqual((row["offered"], row["received"], row["lost"]), (4_000_000, 3_000_000, 1_000_000))
        self.assertAlmostEqual(row["pps"], 3e6, delta=1)
        self.assertEqual(row["frame"], 71)
        self.assertEqual(row["marks"], [])

    def test_one_lost_in_a_million(self):
        row = take(1e6, loss=1e-6)
        self.assertEqual(row["lost"], 1)
        self.assertEqual(trial.outcome(row).ratio, 1e-6)
        self.assertEqual(trial.outcome(take(1e6)).ratio, 0.0)

    def test_generator_was_the_limit(self):
        row = take(None, ceiling=2e6)
        self.assertEqual(row["marks"], [trial.GENERATOR])
        self.assertEqual(take(None, ceiling=5e6)["marks"], [])  # it could not do all, but more than the gateway
        short = take(2.5e6, ceiling=2e6)
        self.assertEqual(short["marks"], [trial.GENERATOR])
        self.assertAlmostEqual(trial.outcome(short).ratio, 0.2)  # a load that was never there is not kept

    def test_line_was_the_limit(self):
        self.assertEqual(take(None, capacity=9e7, ceiling=9e7)["marks"], [trial.LINE])

    def test_sink_and_egress(self):
        self.assertEqual(take(1e6, rx_missed=5000)["marks"], [trial.SINK])
        self.assertEqual(take(1e6, egress=5000)["marks"], [trial.EGRESS])

    def test_disturbed(self):
        self.assertEqual(take(1e6, disturbed=(0,))["marks"], ["disturbed"])
        self.assertEqual(take(None, ceiling=2e6, disturbed=(0,))["marks"], ["disturbed"])  # not the generator's fault

    def test_wrong_packets(self):
        row = take(1e6, probes=True, wrong=3, duplicates=1)
        self.assertEqual(row["marks"], ["wrong", "duplicates"])
        self.assertEqual(row["errors"], {"wrong": 6, "duplicates": 2})
        self.assertEqual(take(1e6, extra=7)["marks"], ["extra"])

    def test_dead_run_is_a_row(self):
        row = take(1e6, dies=(0,))
        self.assertFalse(row["ok"])
        self.assertIn("no memory", row["error"])
        self.assertEqual(trial.outcome(row).ratio, 1.0)

    def test_window_leaves_start_and_end_out(self):
        rows = [{"seconds": t / 50, "task": "sink", "in": max(0, t - 5) * 1000 if t <= 50 else 10**6} for t in range(56)]
        pps, slices = trial.window(rows, ["sink"], 1.0)
        self.assertAlmostEqual(pps, 50000)
        self.assertTrue(all(abs(s - 50000) < 1 for s in slices))
        self.assertEqual(trial.window(rows[:2], ["sink"], 1.0), (None, []))


class Settings(unittest.TestCase):
    def test_direction(self):
        s = FakeRig().tester_settings(Request("rplus", "up", SIZE, 1e6, 1.0))
        self.assertEqual((s["gen_cpe0.rate"], s["gen_cpe0.size"]), ("500000.000pps", 64))
        s = FakeRig().tester_settings(Request("rplus", "up", SIZE, 31234567.8, 1.0))
        self.assertEqual(s["gen_cpe0.rate"], "15617283.900pps")  # vbng knows no exponents
        self.assertEqual({k for k in s if k.endswith(".start")}, {f"{g}.start" for g in (
            "gen_core0", "gen_core1", "probe_cpe0", "probe_core0")})
        s = FakeRig().tester_settings(Request("latency", "both", SIZE, None, 1.0, True))
        self.assertEqual((s["gen_core0.rate"], s["gen_core0.size"], s["sink.stamps"]), ("100%", 78, "true"))
        self.assertFalse([k for k in s if k.endswith(".start")])

    def test_ceiling_of_generators_that_share_a_core(self):
        r = FakeRig()
        self.assertAlmostEqual(r.ceiling({"gen_cpe0": 20e6, "gen_cpe1": 20e6}), 20e6)
        r.cores["gen_cpe1"] = (3,)
        self.assertAlmostEqual(r.ceiling({"gen_cpe0": 20e6, "gen_cpe1": 20e6}), 40e6)
        self.assertIsNone(r.ceiling({"gen_cpe0": None}))

    def test_sizes(self):
        self.assertEqual(parse_sizes("64,256, 100-124"), [Size(64, 78), Size(256, 280), Size(100, 124)])
        self.assertEqual(parse_sizes("64", two_sides=False), [Size(64, 64)])
        self.assertEqual(parse_sizes("table2")[-1], Size(1494, 1518))
        self.assertEqual(parse_sizes("table2-ipv6"), [Size(74, 98), *parse_sizes("table2")[1:]])
        self.assertEqual(parse_sizes("74"), [Size(74, 98)])
        self.assertRaises(ValueError, parse_sizes, "64,small")

    def test_nic(self):
        for device, is_nic in (("0000:05:00.1", True), ("05:00.0,queues=2", True), ("wire:cpe0", False), ("net_memif0,id=0", False)):
            self.assertEqual(bool(rig.PCI.match(device)), is_nic, device)
