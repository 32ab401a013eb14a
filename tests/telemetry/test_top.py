# SPDX-License-Identifier: BSD-3-Clause
"""The terminal view of made-up readings."""

import contextlib
import os
import socket
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from tests.common.limits import limit
from tests.telemetry.controlplane import told
from vbnglab.lab import telemetry
from vbnglab.lab.reading import Reading
from vbnglab.lab.schema import Schema
from vbnglab.lab.sessions import Sample
from vbnglab.top import controlplane
from vbnglab.top import view as top


def reading(at, packets, dropped=0, busy=0, up=1, ipv6=0):
    """One port, one task, one core, one ring, one scheduler, after so many packets of 100 bytes."""
    r = Reading.__new__(Reading)
    r.at = at
    r.groups = {
        "ledger": {"gw": {"received": packets, "created": 0, "sent": packets - dropped, "consumed": 0, "dropped": dropped, "held": 3}},
        "direction": {way: {"ipv4_packets": packets, "ipv4_bytes": 100 * packets, "ipv6_packets": ipv6, "ipv6_bytes": 100 * ipv6}
                      for way in ("up", "down")},
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


def test_si():
    for value, text in ((0, "0"), (999, "999"), (999.6, "1k"), (1234, "1.23k"), (45.6e6, "45.6M"), (1e9, "1G")):
        assert top.si(value) == text


def test_duration():
    for ns, text in ((0, "0us"), (1200, "1.2us"), (34e6, "34ms"), (2.5e9, "2.5s")):
        assert top.duration(ns) == text


def test_spark():
    assert top.spark([]) == ""
    assert top.spark([0, 0]) == "▁▁"
    assert top.spark([0, 4, 8]) == "▁▅█"


def test_bar():
    assert top.bar(0.5, 4) == "██··"
    assert top.bar(7, 4) == "████"


def view(*readings):
    return after(*readings).lines()


def after(*readings):
    v = top.View()
    for r in readings:
        v.add(r)
    return v


def line(lines, begin):
    return next(line for line in lines if line.startswith(begin))


def test_one_reading_has_no_rates():
    assert view(reading(1, 0)) == ["waiting for a second reading ..."]


def test_rates():
    lines = view(reading(10, 1000), reading(12, 5000, dropped=500, busy=500))
    assert lines[0] == "gw   in 2kpps   out 1.75kpps   dropped 250pps   held 3"
    assert "25.0%" in line(lines, "0.cpu5")
    assert line(lines, "cpe0").split()[1:6] == ["2k", "1.6M", "0", "0", "0"]
    assert line(lines, "classify").split()[1:] == ["2k", "1.75k", "3", "spoofed", "250"]
    assert "256       700 of 1024" in line(lines, "decap>tx")
    assert line(lines, "up.0").split()[1:] == ["3", "1.2us", "34ms", "7", "1", "0", "1.23%"]


def test_families_where_there_is_ipv6():
    lines = view(reading(10, 1000, ipv6=100), reading(12, 5000, ipv6=8100))
    assert lines[1] == "up: IPv4 2kpps, IPv6 4kpps   down: IPv4 2kpps, IPv6 4kpps"
    assert view(reading(10, 1000), reading(12, 5000))[1] == ""


def test_a_port_that_is_down_says_so():
    assert line(view(reading(1, 0), reading(2, 0, up=0)), "cpe0").endswith(" DOWN")


def test_two_cores_and_eight_ports_fit_into_80_columns_and_24_lines():
    first, last = reading(1, 0), reading(2, 123_456_789, dropped=12_345_678, busy=900, ipv6=123_456_789)
    for r in (first, last):
        for group, copies in (("core", 2), ("port", 8), ("qos", 2)):
            for name, figures in list(r.groups[group].items()):
                r.groups[group] = {f"{name[:5]}_{i}": figures for i in range(copies)}
    v = after(*[first] * top.HISTORY, last)
    assert len(v.gateway()) <= 23
    assert any(line.startswith("classify       spoofed") for line in v.gateway())
    assert max(map(len, v.gateway() + v.pipeline())) <= 80
    assert "decap>tx" in "".join(v.pipeline())


def test_losses_say_what_they_mean_and_what_to_do():
    words = {"name": "spoofed", "meaning": "Not its own source", "remedy": "Stop it."}
    missed = {"name": "rx_missed", "meaning": "No descriptor", "remedy": "More of them."}
    v = top.View(Schema({"tasks": [{"type": "c", "drops": [words]}], "drops": [], "ports": [missed]}), {"classify": "c"})
    for r in (reading(10, 1000), reading(12, 5000, dropped=500)):
        r.groups["port"]["cpe0"]["rx_missed"] = 7
        v.add(r)
    assert [line.split() for line in v.losses()[2:]] == [
        ["task", "or", "port", "reason", "pps", "packets"], ["classify", "spoofed", "250", "500"], ["Not", "its", "own", "source"], ["Stop", "it."],
        ["cpe0", "rx_missed", "0", "7"], ["No", "descriptor"], ["More", "of", "them."]]
    assert any(line.endswith("250  Not its own source") for line in v.gateway())
    assert "nothing was lost" in after(reading(1, 0), reading(2, 9)).losses()[-1]


def test_the_curve_has_an_end():
    lines = view(*(reading(at, at * at) for at in range(1, 100)))
    assert len(line(lines, "cpe0").split()[-1]) == top.HISTORY


class FakeTelemetry:
    """30 subscribers, ranked as they are asked for, 25 in an answer."""

    def __init__(self, drops=True):
        self.asked = []
        self.columns = [f"{way}_{key}" for way in ("up", "down") for key in ("bps", "rate", "sojourn_ns", *(["drop_pps", "drops"] if drops else []))]

    def keys(self, _):
        return self.columns

    def labels(self, _, numbers):
        return [""] * len(numbers)

    def top(self, _, keys, key, first):
        self.asked.append((key, first))
        return 30, [(i, f"cpe10 4094.{4000 + i}", [10**7 - i] * len(keys)) for i in range(first, min(30, first + 25))]


def test_many_at_once_wait_for_their_turn():
    """DPDK has room for one client that waits, and may take its time."""
    clients = 5
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server, ThreadPoolExecutor() as pool:
        path = os.path.join(folder, "socket")
        server.bind(path)
        server.listen(1)
        server.settimeout(limit(10))

        def serve():
            with contextlib.suppress(TimeoutError):
                for _ in range(clients):
                    time.sleep(0.05)
                    with server.accept()[0] as s:
                        s.send(b'{"max_output_len": 100}')

        served = pool.submit(serve)
        assert [*pool.map(telemetry.answers, [path] * clients)] == [True] * clients
        served.result()


def test_as_many_as_there_is_room_for():
    telemetry = FakeTelemetry()
    lines = list(top.Subscribers(telemetry).lines("drops", 2, 27))
    assert telemetry.asked == [("drop_pps", 2), ("drop_pps", 27)]
    assert len(lines) == 1 + 27 + 1
    assert lines[1].startswith("cpe10 4094.4002 ")
    assert lines[-1].startswith("3 to 29 of 30 by drops")
    assert max(map(len, lines)) <= 80


def test_beyond_the_last():
    assert list(top.Subscribers(FakeTelemetry()).lines("rate", 40, 20))[1:] == ["there are none"]


def test_a_scheduler_that_does_not_count_drops():
    telemetry = FakeTelemetry(drops=False)
    lines = list(top.Subscribers(telemetry).lines("drops", 0, 5))
    assert telemetry.asked == [("bps", 0)]
    assert " - " in lines[1]


def sessions(*samples):
    found = controlplane.ControlPlane("somewhere")
    for at, sample in samples:
        found.add(Sample(told(*sample), at))
    return found.lines()


def test_sessions():
    """Rates and percentiles are those of the interval."""
    lines = sessions((10, (100, 5, 20, (10, 10, 10))), (12, (140, 7, 50, (12, 29, 30))))
    assert lines[0] == "sessions: 40 ipoe, 2 pppoe   up 20/s   ended 0/s" and lines[1] == "lines: none 1  up 40"
    assert line(lines, "rejected").split() == ["rejected", "1", "7", "is", "not", "let", "in"]
    assert not [n for n in lines if n.startswith("nak")]
    assert "50 of 100" in line(lines, "homes ipv4")
    assert line(lines, "192.0.2.10 auth").split() == ["192.0.2.10", "authentication", "21", "<", "10ms", ">", "5s", "7", "3", "DEAD"]
    assert line(lines, "kea 192.0.2.67").split() == ["kea", "192.0.2.67", "20", "20", "<", "10ms", ">", "5s", "2", "0"]
    behind = lines.index("kea6 2001:db8:100:200:300:400:500:547")
    assert lines[behind + 1].split() == ["0", "0", "-", "-", "40", "1", "DEAD"] and max(map(len, lines)) <= 80
    assert line(lines, "store:") == "store: 30 commits, in this interval p50 < 10ms, p99 > 5s"


def test_sessions_after_a_restart():
    """Counters that begin anew are no negative rates; one reading has none at all."""
    assert sessions((1, (100, 5, 20, (10, 10, 10)))) == ["waiting for a second reading ..."]
    lines = sessions((10, (100, 5, 20, (10, 10, 10))), (12, (4, 0, 50, (1, 2, 2))))
    assert "up 2/s" in lines[0] and "failures: none since its start" in lines and "50 of 100" in line(lines, "homes ipv4")
    lines = sessions((10, (100, 5, 20, (10, 10, 10))), (12, (100, 5, 20, (10, 10, 10))))
    assert line(lines, "store:") == "store: 10 commits, in this interval p50 -, p99 -"


def test_no_control_plane(folder):
    """None is known, or none answers."""
    none = controlplane.ControlPlane(None)
    none.read()
    assert none.lines() == [controlplane.NONE]
    away = controlplane.ControlPlane(str(folder / "away"))
    away.read()
    assert len(away.lines()) == 1 and away.lines()[0].startswith("vbng-cp does not answer: ")
