# SPDX-License-Identifier: BSD-3-Clause
"""The punt socket: frames of real lines to a control plane and back, what neither side may send, and clients that are killed, slow or
too many."""

import itertools
import multiprocessing
import os
import stat
import threading
import time

import pytest

from tests.common import need

need.module("scapy", "python3-scapy")

from tests.common.limits import limit  # noqa: E402
from tests.common.verdict import nothing  # noqa: E402
from tests.control import punting as p  # noqa: E402

FORK = multiprocessing.get_context("fork")  # a new Python would have to import Scapy again


@pytest.fixture(scope="module", autouse=True)
def veth(own_network):
    p.interfaces()


@pytest.fixture
def line():
    line = p.Line()
    yield line
    line.close()


def test_both_ways(vbng, folder, line):
    """Each kind of frame, of a line with a subscriber and of one without, arrives with what is known of it; an answer gets the tags."""
    cases = [(kind, make, svlan, cvlan, subscriber)
             for kind, make in ((p.DHCP4, p.discover), (p.DHCP6, p.solicit), (p.PPPOE, p.padi))
             for svlan, cvlan, subscriber in ((100, 7, 7), (200, 4094, 0))]
    with p.Gateway(vbng, folder) as gateway:
        assert stat.S_IMODE(os.stat(gateway.path).st_mode) == 0o600
        client, hello = p.connect(gateway.path)
        assert (hello.kind, hello.port, hello.frame) == (p.HELLO, p.PORT, bytes.fromhex("02b000000000") + (1400).to_bytes(2, "big"))
        wrong = []
        for kind, make, svlan, cvlan, subscriber in cases:
            frame = make(svlan, cvlan)
            before = time.time_ns()
            line.send(svlan, cvlan, frame)
            m = client.receive()
            if not m or m[:5] + (m.port,) != (subscriber, 0, svlan, cvlan, kind, p.PORT) or m.frame != bytes(frame):
                wrong.append(f"{frame.summary()}: {m}")
            elif not before - 10**7 < m.time_ns < time.time_ns() + 10**7:
                wrong.append(f"{frame.summary()}: came at {m.time_ns - before} ns")
            answer = p.Ether(src=p.GATEWAY, dst=p.mac(svlan, cvlan), type=0x8863) / bytes(range(cvlan % 100))
            client.give(svlan, cvlan, bytes(answer), kind)
            got = line.receive()
            expected = p.tagged(svlan, cvlan, answer)
            if got != expected.ljust(60, b"\0"):
                wrong.append(f"answer {got and got.hex()} instead of {expected.hex()}")
        longest = bytes(p.Ether(src=p.GATEWAY, dst=p.mac(1, 1), type=0x8863) / bytes(1400))
        client.give(1, 1, longest)
        if line.receive() != p.tagged(1, 1, longest):
            wrong.append("a frame of the mtu does not arrive")
        client.close()
        stats, drops = p.figures(gateway.stop())
        if (stats["to_control_plane"], stats["from_control_plane"], drops) != (len(cases), len(cases) + 1, {}):
            wrong.append(f"figures {stats}, drops {drops}")
    nothing(wrong + gateway.wrong)


def test_a_renewal_to_the_gateway(vbng, folder, line):
    """A subscriber renews by unicast to the gateway's address: it comes by way of the routes, and has its line."""
    with p.Gateway(vbng, folder) as gateway:
        client, _ = p.connect(gateway.path)
        request = p.discover(100, 9, source="10.0.0.8", to=p.GATEWAY, destination="10.0.255.254")
        line.send(100, 9, request)
        m = client.receive()
        assert m and (m.subscriber, m.svlan, m.cvlan, m.kind, m.frame) == (9, 100, 9, p.DHCP4, bytes(request)), m
        # who has no subscriber any more renews to any address
        request = p.discover(200, 9, source="10.9.0.9", to=p.GATEWAY, destination="192.0.2.77")
        line.send(200, 9, request)
        m = client.receive()
        assert m and (m.subscriber, m.cvlan, m.frame) == (0, 9, bytes(request)), m
        for _ in range(30):
            line.send(100, 9, p.discover(100, 9, source="10.0.0.8", to=p.GATEWAY, destination="10.0.255.254"))
        got = 0
        while client.receive(0.5):
            got += 1
        stats, drops = p.figures(gateway.stop())
    nothing(gateway.wrong)
    assert 9 <= got <= 12 and drops["punt_limited"] == 30 - got and stats["to_control_plane"] == got + 2, (got, stats, drops)


def test_what_is_not_for_the_control_plane(vbng, folder, line):
    """Sources that are not the line's, relays' own traffic, fragments, other MACs and VLAN ids: nothing of it arrives, all is counted."""
    frames = [
        (100, 1, p.discover(100, 1, source="10.0.0.2"), "spoofed"),
        (100, 1, p.discover(100, 1, source="10.0.0.2", to=p.GATEWAY), "spoofed"),
        (100, 1, p.solicit(100, 1, source="2001:db8::1"), "spoofed"),
        (200, 1, p.solicit(200, 1, source="2001:db8::1"), "spoofed"),
        (100, 1, p.discover(100, 1, sport=67), "group_mac"),
        (100, 1, p.discover(100, 1, flags="MF"), "group_mac"),
        (100, 1, p.discover(100, 1, frag=3), "group_mac"),
        (200, 1, p.discover(200, 1, sport=67), "unknown_subscriber"),
        (200, 1, p.discover(200, 1, to="02:b0:00:00:00:77"), "unknown_subscriber"),
        (200, 1, p.padi(200, 1, to="02:b0:00:00:00:77"), "unknown_subscriber"),
        (200, 1, p.solicit(200, 1, dport=546), "unknown_subscriber"),
        (200, 0, p.discover(200, 1), "unknown_subscriber"),
        (4095, 1, p.discover(200, 1), "unknown_subscriber"),
        (200, 1, p.Ether(src=p.mac(200, 1), dst=p.GATEWAY, type=0x8864) / bytes(46), "unknown_subscriber"),
    ]
    expected = {}
    with p.Gateway(vbng, folder) as gateway:
        client, _ = p.connect(gateway.path)
        for svlan, cvlan, frame, reason in frames:
            expected[reason] = expected.get(reason, 0) + 1
            line.send(svlan, cvlan, frame)
        line.send(100, 2, p.padi(100, 2, to=p.GATEWAY))  # the last, and the only one that goes there
        first = client.receive()
        assert first and first.cvlan == 2, first
        _, drops = p.figures(gateway.stop())
    nothing(gateway.wrong)
    assert drops == expected


def test_one_line_floods(vbng, folder, line):
    """For each frame of 100 other lines one line sends 100; each of the others is heard. So it is with lines that have a subscriber."""
    for svlan in (200, 100):
        (folder / str(svlan)).mkdir()
        with p.Gateway(vbng, folder / str(svlan)) as gateway:
            client, _ = p.connect(gateway.path)
            flood = p.tagged(svlan, 200, p.discover(svlan, 200))
            heard = set()
            for cvlan in range(1, 101):
                for _ in range(100):
                    line.s.send(flood)
                line.send(svlan, cvlan, p.discover(svlan, cvlan))
                # no faster than the gateway has the CPU: what it cannot read is lost whosever it is
                while cvlan not in heard and (m := client.receive(1)) is not None:
                    heard.add(m.cvlan)
            stats, drops = p.figures(gateway.stop())
        nothing(gateway.wrong)
        assert not set(range(1, 101)) - heard, (sorted(heard), drops)
        assert set(drops) <= {"punt_limited"} and drops["punt_limited"] > 5000, (stats, drops)


def test_all_lines_at_once(vbng, folder, line):
    """An eighth of a second's frames, as CPEs send them that were without power: each is heard."""
    with p.Gateway(vbng, folder, arp="punt_rate = 3200; ring = 1024;") as gateway:
        client, _ = p.connect(gateway.path)
        for frame in p.discovers(200, range(1, 401)):
            line.s.send(frame)
        heard = set()
        while len(heard) < 400 and (m := client.receive(1)) is not None:
            heard.add(m.cvlan)
        _, drops = p.figures(gateway.stop())
    nothing(gateway.wrong)
    assert len(heard) == 400 and not drops, (len(heard), drops)


def test_all_lines_without_a_subscriber(vbng, folder, line):
    """A storm of them has its limit, and lines with a subscriber are heard meanwhile."""
    with p.Gateway(vbng, folder, arp="punt_rate = 10;") as gateway:
        client, _ = p.connect(gateway.path)
        for frame in p.discovers(200, range(1, 2001)):
            line.s.send(frame)
        line.send(100, 1, p.discover(100, 1))
        heard = []
        while (m := client.receive(1)) is not None:
            heard.append(m.svlan)
        _, drops = p.figures(gateway.stop())
    nothing(gateway.wrong)
    limited = sum(drops.get(reason, 0) for reason in ("punt_limited", "control_rate_limited", "link_full"))
    assert 100 in heard and len(heard) + limited == 2001 and limited > 1500, (len(heard), drops)


def test_nobody_listens(vbng, folder, line):
    with p.Gateway(vbng, folder) as gateway:
        time.sleep(0.1)
        for cvlan in range(1, 6):
            line.send(200, cvlan, p.discover(200, cvlan))
        time.sleep(limit(0.2))
        stats, drops = p.figures(gateway.stop())
    nothing(gateway.wrong)
    assert drops == {"no_control_plane": 5} and stats["to_control_plane"] == 0


def test_what_a_client_may_not_send(vbng, folder, line):
    """Messages with anything wrong are counted by what is wrong, and the next right one is sent."""
    frame = bytes(p.Ether(src=p.GATEWAY, dst=p.mac(1, 1), type=0x8863) / bytes(46))
    bad = [
        ("control_malformed", [b"x", p.message(1, 1, frame)[:63], p.message(1, 1, frame, magic=1), p.message(1, 1, frame, header=63),
                               p.message(1, 1, frame, header=65535), p.message(1, 1, frame, length=len(frame) + 1),
                               p.message(1, 1, frame, length=0), p.message(1, 1, frame[:13]), p.message(1, 1, frame, kind=0),
                               p.message(1, 1, frame, kind=5), p.message(1, 1, frame, port="a" * 32), p.message(1, 1, bytes(1985)),
                               p.message(1, 1, bytes(60000))]),
        ("control_unknown_port", [p.message(1, 1, frame, port=name) for name in ("", "core", "access-1", "access-0 ", b"\xff")]),
        ("control_bad_vlan", [p.message(*pair, frame) for pair in ((0, 1), (1, 0), (4095, 1), (1, 4095), (65535, 65535))]),
        ("control_over_mtu", [p.message(1, 1, bytes(1415)), p.message(1, 1, bytes(1984))]),
    ]  # fmt: skip
    with p.Gateway(vbng, folder) as gateway:
        client, _ = p.connect(gateway.path)
        for _, messages in bad:
            for m in messages:
                client.s.send(m)
        client.give(1, 1, frame)
        wrong = [] if line.receive() == p.tagged(1, 1, frame) else ["the right one does not arrive"]
        # a later version's header is longer
        client.s.send(p.message(1, 2, bytes(8) + frame, header=p.HEADER.size + 8, length=len(frame)))
        wrong += [] if line.receive() == p.tagged(1, 2, frame) else ["with a longer header it does not arrive"]
        stats, drops = p.figures(gateway.stop())
    nothing(wrong + gateway.wrong)
    assert drops == {reason: len(messages) for reason, messages in bad} and stats["from_control_plane"] == 2, (drops, stats)


def test_a_second_client(vbng, folder, line):
    """It is turned away at once, and the first one has its frames as before; when that is gone the next one has its place."""
    with p.Gateway(vbng, folder) as gateway:
        first, hello = p.connect(gateway.path)
        assert hello
        for _ in range(20):
            second = p.Client(gateway.path)
            assert second.receive() == b""
            second.close()
        line.send(200, 1, p.discover(200, 1))
        assert first.receive().cvlan == 1
        first.close()
        second, hello = p.connect(gateway.path)
        assert hello and hello.kind == p.HELLO
        line.send(200, 2, p.discover(200, 2))
        assert second.receive().cvlan == 2
        gateway.stop()
    nothing(gateway.wrong)


class Flood(threading.Thread):
    """DISCOVERs of 4000 lines, one after the other, until it is stopped; answers are not looked at."""

    def __init__(self, line):
        super().__init__(daemon=True)
        self.frames = p.discovers(200, range(1, 4001))
        self.line, self.ends, self.sent = line, False, 0

    def run(self):
        while not self.ends:
            self.line.s.send(self.frames[self.sent % len(self.frames)])
            self.sent += 1
            if self.sent % 20 == 0:
                time.sleep(0.002)

    def wait(self, frames):
        """Until so many were sent."""
        end = time.monotonic() + limit(60)
        while self.sent < frames and time.monotonic() < end:
            time.sleep(0.01)
        assert self.sent >= frames, self.sent

    def stop(self):
        self.ends = True
        self.join()


def echo(path, begun):
    """A control plane that answers each frame with itself. begun: an event, which it sets after the first 50."""
    client, _ = p.connect(path)
    for n in itertools.count(1):
        m = client.receive(60)
        client.give(m.svlan, m.cvlan, m.frame, m.kind)
        if n == 50:
            begun.set()


def test_clients_that_are_killed(vbng, folder, line):
    """kill -9 of a client in the middle of its work, many times: the next one has the place at once, and everything is accounted for."""
    with p.Gateway(vbng, folder, arp='punt_line_rate = 1000; punt_rate = "1M";') as gateway:
        flood = Flood(line)
        flood.start()
        for _ in range(5):
            begun = FORK.Event()
            victim = FORK.Process(target=echo, args=(gateway.path, begun), daemon=True)
            victim.start()
            assert begun.wait(limit(30))
            victim.kill()
            victim.join()
            client, hello = p.connect(gateway.path)
            assert hello and hello.kind == p.HELLO
            assert client.receive().kind == p.DHCP4
            client.close()
        client, _ = p.connect(gateway.path)
        got = int(client.receive().kind == p.DHCP4)
        flood.stop()
        while client.receive(0.5):
            got += 1
        client.close()
        stats, drops = p.figures(gateway.stop())
    nothing(gateway.wrong)
    assert stats["from_control_plane"] > 100 and got > 0, stats
    assert set(drops) <= {"no_control_plane", "control_full", "link_full", "punt_limited"}, drops
    assert stats["to_control_plane"] + sum(drops.values()) <= flood.sent and stats["control_plane_lost"] <= stats["to_control_plane"]


def answered(line, svlan, cvlan, arp):
    """Is a question of ARP answered, which a host asks again each second (RFC 1122 section 2.3.2.1)?"""
    for _ in range(10):
        line.send(svlan, cvlan, arp)
        end = time.monotonic() + limit(1)
        while (left := end - time.monotonic()) > 0:
            frame = line.s.receive(left)
            if frame and frame[20:22] == b"\x08\x06":
                return True
    return False


def test_a_slow_client(vbng, folder, line):
    """One that takes nothing costs frames for itself alone, which are counted; other traffic goes on, and what it takes later is whole."""
    with p.Gateway(vbng, folder, arp='punt_line_rate = 1000; punt_rate = "1M";') as gateway:
        client, _ = p.connect(gateway.path)
        flood = Flood(line)
        flood.start()
        flood.wait(8000)
        arp = bytes(p.Ether(src=p.mac(100, 2), dst="ff:ff:ff:ff:ff:ff", type=0x0806)) + bytes.fromhex(
            "0001080006040001 02c000640002 0a000001 000000000000 0a00fffe".replace(" ", ""))  # fmt: skip
        assert answered(line, 100, 2, arp)
        flood.stop()
        got = 0
        while client.receive(0.5):
            got += 1
        stats, drops = p.figures(gateway.stop())
    nothing(gateway.wrong)
    assert got == stats["to_control_plane"] - stats["control_plane_lost"] and got >= 2048, (got, stats, drops)
    assert drops.get("control_full", 0) > 0 and set(drops) <= {"control_full", "link_full", "punt_limited"}, drops


def test_the_gateway_is_killed(vbng, folder, run, line):
    """The client hears it at once; the next gateway takes the path that is left, and a second one beside it does not start."""
    with p.Gateway(vbng, folder) as gateway:
        client, _ = p.connect(gateway.path)
        gateway.run.process.kill()
        gateway.run.end()
        assert client.receive() == b""
        assert os.path.exists(gateway.path)
    with p.Gateway(vbng, folder) as gateway:
        done = run(vbng, "--quiet", "--share-cpus", folder / "punt.cfg")
        assert done.returncode == 3 and "another process answers there" in done.stderr, done.stderr
        client, hello = p.connect(gateway.path)
        assert hello.kind == p.HELLO
        line.send(200, 5, p.padi(200, 5))
        assert client.receive().cvlan == 5
        gateway.stop()
        assert client.receive() == b"" and not os.path.exists(gateway.path)
    nothing(gateway.wrong)
