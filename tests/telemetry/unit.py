#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The terminal view of made-up readings."""

import contextlib
import os
import socket
import sys
import tempfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "tools"))

from vbnglab import telemetry, top  # noqa: E402
from vbnglab.reading import Reading  # noqa: E402


def reading(at, packets, dropped=0, busy=0, up=1):
    """One port, one task, one core, one ring, one scheduler, after so many packets of 100 bytes."""
    r = Reading.__new__(Reading)
    r.at = at
    r.groups = {
        "ledger": {"gw": {"received": packets, "created": 0, "sent": packets - dropped, "consumed": 0, "dropped": dropped, "held": 3}},
        "core": {"0.cpu5": {"busy_cycles": busy, "idle_cycles": 1000 * at - busy, "rounds": 10 * at}},
        "port": {"cpe0": {"rx_packets": packets, "rx_bytes": 100 * packets, "tx_packets": 0, "tx_bytes": 0, "rx_missed": 0,
                          "up": up}},
        "link": {"decap>tx": {"kind": 1, "depth": 256, "size": 1024, "high_water": 700}},
        "task": {"classify": {"in": packets, "created": 0, "sent": packets - dropped, "held": 3, "link_full": 0,
                              "drop_spoofed": dropped, "drop_short": 0}},
        "qos": {"up.0": {"held": 3, "lag_p50_ns": 1200, "lag_p99_ns": 34e6, "limited": 7, "under": 1, "over": 0,
                         "error_ppm": 12345}},
    }
    return r


class Figures(unittest.TestCase):
    def test_si(self):
        for value, text in ((0, "0"), (999, "999"), (999.6, "1k"), (1234, "1.23k"), (45.6e6, "45.6M"), (1e9, "1G")):
            self.assertEqual(top.si(value), text)

    def test_duration(self):
        for ns, text in ((0, "0us"), (1200, "1.2us"), (34e6, "34ms"), (2.5e9, "2.5s")):
            self.assertEqual(top.duration(ns), text)

    def test_spark(self):
        self.assertEqual(top.spark([]), "")
        self.assertEqual(top.spark([0, 0]), "▁▁")
        self.assertEqual(top.spark([0, 4, 8]), "▁▅█")

    def test_bar(self):
        self.assertEqual(top.bar(0.5, 4), "██··")
        self.assertEqual(top.bar(7, 4), "████")


class Views(unittest.TestCase):
    def view(self, *readings):
        v = self.after(*readings)
        return v.lines()

    def after(self, *readings):
        v = top.View()
        for r in readings:
            v.add(r)
        return v

    def line(self, lines, begin):
        return next(line for line in lines if line.startswith(begin))

    def test_one_reading_has_no_rates(self):
        self.assertEqual(self.view(reading(1, 0)), ["waiting for a second reading ..."])

    def test_rates(self):
        lines = self.view(reading(10, 1000), reading(12, 5000, dropped=500, busy=500))
        self.assertEqual(lines[0], "gw   in 2kpps   out 1.75kpps   dropped 250pps   held 3")
        self.assertIn("25.0%", self.line(lines, "0.cpu5"))
        self.assertEqual(self.line(lines, "cpe0").split()[1:6], ["2k", "1.6M", "0", "0", "0"])
        self.assertEqual(self.line(lines, "classify").split()[1:], ["2k", "1.75k", "3", "spoofed", "250"])
        self.assertIn("256       700 of 1024", self.line(lines, "decap>tx"))
        self.assertEqual(self.line(lines, "up.0").split()[1:], ["3", "1.2us", "34ms", "7", "1", "0", "1.23%"])

    def test_a_port_that_is_down_says_so(self):
        self.assertTrue(self.line(self.view(reading(1, 0), reading(2, 0, up=0)), "cpe0").endswith(" DOWN"))

    def test_two_cores_and_eight_ports_fit_into_80_columns_and_24_lines(self):
        first, last = reading(1, 0), reading(2, 123_456_789, dropped=12_345_678, busy=900)
        for r in (first, last):
            for group, copies in (("core", 2), ("port", 8), ("qos", 2)):
                for name, figures in list(r.groups[group].items()):
                    r.groups[group] = {f"{name[:5]}_{i}": figures for i in range(copies)}
        v = self.after(*[first] * top.HISTORY, last)
        self.assertLessEqual(len(v.gateway()), 23)
        self.assertTrue(any(line.startswith("classify       spoofed") for line in v.gateway()))
        self.assertLessEqual(max(map(len, v.gateway() + v.pipeline())), 80)
        self.assertIn("decap>tx", "".join(v.pipeline()))

    def test_the_curve_has_an_end(self):
        lines = self.view(*(reading(at, at * at) for at in range(1, 100)))
        self.assertEqual(len(self.line(lines, "cpe0").split()[-1]), top.HISTORY)


class FakeTelemetry:
    """30 subscribers, ranked as they are asked for, 25 in an answer."""

    def __init__(self, drops=True):
        self.asked = []
        self.columns = [f"{way}_{key}" for way in ("up", "down") for key in ("bps", "rate", "sojourn_ns", *(["drop_pps", "drops"] if drops else []))]

    def keys(self, _):
        return self.columns

    def top(self, _, keys, key, first):
        self.asked.append((key, first))
        return 30, [(i, f"cpe10 4094.{4000 + i}", [10**7 - i] * len(keys)) for i in range(first, min(30, first + 25))]


class Connection(unittest.TestCase):
    def test_many_at_once_wait_for_their_turn(self):
        """DPDK has room for one client that waits, and may take its time."""
        clients = 5
        with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server, ThreadPoolExecutor() as pool:
            path = os.path.join(folder, "socket")
            server.bind(path)
            server.listen(1)
            server.settimeout(1)

            def serve():
                with contextlib.suppress(TimeoutError):
                    for _ in range(clients):
                        time.sleep(0.05)
                        with server.accept()[0] as s:
                            s.send(b'{"max_output_len": 100}')

            served = pool.submit(serve)
            self.assertEqual([*pool.map(telemetry.answers, [path] * clients)], [True] * clients)
            served.result()


class Busiest(unittest.TestCase):
    def test_as_many_as_there_is_room_for(self):
        telemetry = FakeTelemetry()
        lines = list(top.Subscribers(telemetry).lines("drops", 2, 27))
        self.assertEqual(telemetry.asked, [("drop_pps", 2), ("drop_pps", 27)])
        self.assertEqual(len(lines), 1 + 27 + 1)
        self.assertTrue(lines[1].startswith("cpe10 4094.4002 "))
        self.assertTrue(lines[-1].startswith("3 to 29 of 30 by drops"))
        self.assertLessEqual(max(map(len, lines)), 80)

    def test_beyond_the_last(self):
        self.assertEqual(list(top.Subscribers(FakeTelemetry()).lines("rate", 40, 20))[1:], ["there are none"])

    def test_a_scheduler_that_does_not_count_drops(self):
        telemetry = FakeTelemetry(drops=False)
        lines = list(top.Subscribers(telemetry).lines("drops", 0, 5))
        self.assertEqual(telemetry.asked, [("bps", 0)])
        self.assertIn(" - ", lines[1])


if __name__ == "__main__":
    unittest.main()
