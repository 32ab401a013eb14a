# SPDX-License-Identifier: BSD-3-Clause
"""vbnglab.measure.search on made-up devices with a known knee."""

import random
import unittest

from vbnglab.measure import search
from vbnglab.measure.search import Goal, Outcome

CAPACITY = 3.0e6
LOW, HIGH = 3e4, 14e6


def device(capacity=CAPACITY, noise=0.0, mishaps=0.0, seed=1, base=0.0):
    """Forwards up to its capacity. noise: of the capacity; mishaps: share of trials in which 1 % is lost at any load;
    base: loss ratio at any load."""
    rng = random.Random(seed)

    def measure(load, seconds):
        sent = round(load * seconds)
        lost = max(0, round(sent - capacity * (1 + rng.gauss(0, noise)) * seconds), round(sent * base))
        if rng.random() < mishaps:
            lost = max(lost, sent // 100)
        return Outcome(sent, lost)

    return measure


class Search(unittest.TestCase):
    def find(self, measure, *goals, low=LOW, high=HIGH):
        return search.search(measure, goals or (Goal(),), low, high)

    def assert_brackets(self, found, knee, width):
        self.assertTrue(found.complete)
        self.assertLessEqual(found.lower, knee * 1.0001)
        self.assertGreaterEqual(found.upper, knee * 0.9999)
        self.assertLessEqual((found.upper - found.lower) / found.upper, width * 1.01)

    def test_knee_within_width(self):
        for width in (0.05, 0.01, 0.002):
            for capacity in (1.0e5, CAPACITY, 13.9e6):
                found, = self.find(device(capacity), Goal(0.0, width))
                self.assert_brackets(found, capacity * (1 + 1e-5), width)

    def test_pdr_is_above_ndr(self):
        ndr, pdr = self.find(device(), Goal(0.0, 0.002), Goal(0.01, 0.002))
        self.assert_brackets(ndr, CAPACITY * (1 + 1e-6), 0.002)
        self.assert_brackets(pdr, CAPACITY / 0.99, 0.002)
        self.assertLessEqual(pdr.loss_ratio, 0.01)

    def test_noise(self):
        """A capacity that varies by 0.3 %: found within that and the width."""
        for seed in range(20):
            found, = self.find(device(noise=0.003, seed=seed), Goal(0.0, 0.01))
            self.assertAlmostEqual(found.lower / CAPACITY, 1, delta=0.02)

    def test_one_trial_in_ten_has_a_mishap(self):
        """The majority decides, so a bad moment does not. Not each of 40 searches is spared, but nearly."""
        good = sum(abs(self.find(device(mishaps=0.1, seed=s), Goal(0.0, 0.01, trials=5))[0].lower / CAPACITY - 1) < 0.02
                   for s in range(40))
        self.assertGreaterEqual(good, 34)

    def test_not_monotone(self):
        """A device that loses between 1.0 and 1.2 Mpps, and above 3: whichever knee, nothing known below it is bad."""
        def measure(load, seconds):
            sent = round(load * seconds)
            return Outcome(sent, sent // 50 if 1.0e6 < load < 1.2e6 or load > 3.0e6 else 0)

        for high in (HIGH, 1.15e6, 2.0e6, 3.1e6):
            loads = {}

            def told(load, seconds):
                loads.setdefault(load, []).append(measure(load, seconds).lost == 0)
                return measure(load, seconds)

            found, = self.find(told, Goal(0.0, 0.01), high=high)
            self.assertTrue(found.complete)
            self.assertTrue(any(abs(found.lower / knee - 1) < 0.015 for knee in (1.0e6, 2.0e6, 3.0e6)), found.lower)
            self.assertFalse([load for load, kept in loads.items() if load < found.lower and not any(kept)])

    def test_one_in_a_million_is_a_loss(self):
        """1 in 10^6 at any load: no NDR, and a PDR that does not mind."""
        ndr, pdr = self.find(device(base=1e-6), Goal(0.0, 0.01, seconds=1.0), Goal(0.005, 0.01), low=1.5e6)
        self.assertIsNone(ndr.lower)
        self.assert_brackets(pdr, CAPACITY / 0.995, 0.01)

    def test_device_is_not_the_limit(self):
        found, = self.find(device(1e9), Goal(0.0, 0.01))
        self.assertEqual((found.lower, found.upper), (HIGH, None))
        self.assertIn("not the limit", found.note)

    def test_dead_device(self):
        found, = self.find(lambda load, seconds: Outcome(1, 1), Goal(0.0, 0.01))
        self.assertIsNone(found.lower)

    def test_known_after_an_exception(self):
        trials, founds = [], []

        def measure(load, seconds):
            if len(trials) == 5:
                raise KeyboardInterrupt
            trials.append(load)
            return device()(load, seconds)

        with self.assertRaises(KeyboardInterrupt):
            search.search(measure, (Goal(0.0, 1e-3, seconds=1.0, short=1.0),), LOW, HIGH, founds)
        self.assertFalse(founds[0].complete)
        self.assertEqual(founds[0].trials, 5)
        self.assertLess(founds[0].lower, CAPACITY)
        self.assertGreater(founds[0].upper, CAPACITY)

    def test_coin_toss_ends(self):
        rng = random.Random(2)
        found, = search.search(lambda load, s: Outcome(100, rng.randrange(2)), (Goal(0.0, 1e-6),), LOW, HIGH)
        self.assertLess(found.trials, 600)

    def test_second_goal_is_cheap(self):
        """PDR beside NDR costs fewer trials than a search of its own."""
        alone, = self.find(device(), Goal(0.0, 0.01))
        both = self.find(device(), Goal(0.0, 0.01), Goal(0.005, 0.01))
        self.assertLess(both[1].trials, 2 * alone.trials)

    def test_nothing_sent_is_lost(self):
        self.assertEqual(Outcome(0, 0).ratio, 1.0)

    def test_limits(self):
        self.assertRaises(ValueError, search.search, device(), (Goal(),), 5.0, 5.0)
