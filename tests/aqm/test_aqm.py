# SPDX-License-Identifier: BSD-3-Clause
"""vbng-lab aqm: its configurations, its modem, its ping and its sums; then the whole, with a real gateway and the kernel's TCP. That packets
arrive and ledgers balance is judged here, not how fast."""

import argparse
import dataclasses
import json
import os
import pathlib
import socket
import subprocess
import threading
import time

import pytest

from tests.common import need
from tests.common.limits import limit
from vbnglab.aqm import case, command, disciplines, ends, output, rig, scalable
from vbnglab.lab import network
from vbnglab.lab.failure import Failure

LONGEST_S = 3  # of a download where the machine is slow: in one second a busy one had received nothing
LAB = pathlib.Path(__file__).resolve().parent.parent.parent / "tools" / "vbng-lab"


@pytest.fixture
def congestion():
    """A congestion control that the kernel has."""
    try:
        return command.controls(None)[0]
    except OSError as e:
        need.skip(f"the kernel does not say which congestion controls it has: {e}")


@pytest.fixture
def aqm(vbng, run, folder, congestion):
    """A function: run the command with a short download. Returns (what ended, aqm.json). Skips where the kernel has no namespaces."""
    def call(*words):
        done = run(LAB, "aqm", "--vbng", vbng, "--seconds", min(limit(1), LONGEST_S), "--congestion", congestion, "--no-beside", "--out", folder / "out", *words)
        if "no network namespace with a tun interface can be made here" in done.stderr:
            need.skip(done.stderr.strip())
        with open(folder / "out" / "aqm.json", encoding="utf-8") as f:
            return done, json.load(f)

    return call


def test_every_configuration_is_accepted(vbng, run, folder):
    """Each discipline of this program, at all rates; beside another profile, too."""
    found = disciplines.chosen(None, vbng)
    assert {"tail", "red", "pie", "codel", "l4s"} <= set(found)
    rates = [command.rate(text) for text in ("1M", "10M", "100M", "1G")]
    some = case.cases(found, rates, ["cubic", "reno"], [1, 8], "10G", case.FAMILIES)
    assert len(some) == len(found) * len(rates) * 4 * 2
    for c in some:
        path = folder / "aqm.cfg"
        path.write_text(c.configuration())
        done = run(vbng, "--check", "--share-cpus", path)
        assert done.returncode == 0 and done.stderr == "", (c, done.stderr)


def test_the_list_comes_from_the_program(monkeypatch):
    """A discipline is there where the program has a drop reason of its name."""
    help_json = {"tasks": [{"type": "qos", "drops": [{"name": "codel"}, {"name": "queue_full"}]}, {"type": "x", "drops": [{"name": "pie"}]}]}
    monkeypatch.setattr(disciplines.run, "query", lambda *_: (0, json.dumps(help_json), ""))
    assert disciplines.available("vbng") == ["tail", "codel"]
    assert disciplines.chosen(["codel", "own=queue = 8;"], "vbng")["own"](64) == "queue = 8;"
    with pytest.raises(Failure, match="this vbng has tail, codel"):
        disciplines.chosen(["pie"], "vbng")


@pytest.mark.parametrize("text", ["10", "0M", "1T", "M", "11G", "-1M", "1e3", ""])
def test_rates_that_are_none(text):
    with pytest.raises(argparse.ArgumentTypeError):
        command.rate(text)


def test_checksum():
    """The example of RFC 1071 section 3."""
    assert ends.checksum(bytes.fromhex("0001f203f4f5f6f7")) == 0xFFFF - 0xDDF2


def test_the_modem_against_scapy():
    """Frames with the outer tag, or without it where the kernel has taken it off; and what is not for the home."""
    need.module("scapy", "python3-scapy")
    from scapy.layers.inet import IP, UDP
    from scapy.layers.inet6 import IPv6
    from scapy.layers.l2 import ARP, Dot1AD, Dot1Q, Ether

    packets = [IP(src="192.0.2.2", dst="10.0.0.1") / UDP() / b"x", IPv6(src="2001:db8::2", dst="2001:db8::1") / UDP() / b"x"]
    down = Ether(dst=case.CPE_MAC, src=case.GATEWAY_MAC)
    reader, writer = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with reader, writer:
        for packet in packets:
            for frame in (down / Dot1AD(vlan=100) / Dot1Q(vlan=200) / packet, down / Dot1Q(vlan=100) / Dot1Q(vlan=200) / packet,
                          down / Dot1Q(vlan=200) / packet):
                ends.take(writer.fileno(), bytes(frame))
                assert reader.recv(2000) == bytes(packet)
            assert ends.up(bytes(packet)) == bytes(Ether(dst=case.GATEWAY_MAC, src=case.CPE_MAC) / Dot1AD(vlan=100) / Dot1Q(vlan=200) / packet)
        for frame in (Ether(dst=case.GATEWAY_MAC) / Dot1Q(vlan=200) / packets[0], down / Dot1Q(vlan=200) / ARP(), down):
            ends.take(writer.fileno(), bytes(frame))
        reader.setblocking(False)
        with pytest.raises(BlockingIOError):
            reader.recv(2000)


def test_the_sums():
    options = command.Options(seconds=4, idle=1, rtt=0, ecn=False, vbng="", extra=[])
    c = case.Case("tail", "", 10**6, "1M", "cubic", 2)
    pings = [(-0.5, 1.0, 0), (0.5, 900.0, 0)] + [(1 + i / 100, float(i), 0) for i in range(100)] + [(2.0, 7.0, 1)]
    found = rig.judge(c, options, {"pings": pings, "lost": 2, "bytes": [93750, 281250]}, [4.0, 5.0, 6.0], 3, 9)
    assert (found["idle_ms"], found["ping_p50_ms"], found["ping_p95_ms"], found["pings"]) == (1.0, 50.0, 95.0, 101)
    assert found["l4s_ping_p50_ms"] == 7.0
    left = 1e6 - 101 * 102 * 8 / 3  # pings have the rest
    assert (found["goodput_bps"], found["fairness"]) == (1e6, 0.8)
    assert found["goodput_share"] == pytest.approx(1e6 / left) and found["shares"] == pytest.approx([0.25e6 / left, 0.75e6 / left])
    assert rig.quantile([], 0.5) is None
    text = output.table([(c, {**found, "drops": {"queue_full": 7}}), (c, {"error": "refused: no"})])
    assert "7 queue_full" in text[1] and text[2].endswith("refused: no")
    assert rig.middle([{**found, "goodput_share": n / 10} for n in (9, 1, 5)])["goodput_share"] == 0.5
    assert rig.middle([found, {"error": "no"}]) == {"error": "no"}
    six = dataclasses.replace(c, family="ipv6")
    assert six.title() == "2 cubic, IPv6" and "0.936 (ipv6)" in output.table([(six, {"error": "no"})])[-1]
    left -= 101 * 20 * 8 / 3  # which are longer by the header
    assert rig.judge(six, options, {"pings": pings, "lost": 2, "bytes": [93750, 281250]}, [], 0, 0)["goodput_share"] == pytest.approx(1e6 / left)
    mixed = case.Case("l4s", "l4s = { };", 10**6, "1M", "cubic+scalable", 1)
    assert mixed.kinds() == ["cubic", "scalable"] and mixed.title() == "1 cubic + 1 scalable"
    assert output.goodput(mixed, found) == "0.25 + 0.75M"


def test_a_line_may_be_gone_already():
    """A process of the measurement that ends by an error takes its line along: that this cannot be removed does not hide the error."""
    rig.part()


def test_results_are_put_together(run, folder):
    """Of two runs, one table; what is no result is refused."""
    found = {"ping_p50_ms": 1.0, "ping_p95_ms": 2.0, "l4s_ping_p50_ms": None, "tcp_rtt_p50_ms": 3.0, "goodput_bps": 9e5, "goodput_share": 0.9, "shares": [0.9],
             "fairness": 1.0, "retransmits": 0, "drops": {}, "delay": [[0.1, 1.0, 0]]}
    options = command.Options(seconds=4, idle=1, rtt=0, ecn=False, vbng="", extra=[])
    words = []
    for name in ("one", "two"):
        (folder / name).mkdir()
        output.write(folder / name, [(case.Case(name, "queue = 64;", 10**6, "1M", "cubic", 1), found)], options, "")
        words += ["--from", folder / name / "aqm.json"]
    done = run(LAB, "aqm", "--out", folder / "both", *words)
    assert done.returncode == 0 and " one " in done.stdout and " two " in done.stdout, done.stderr
    (folder / "none.json").write_text("{}")
    done = run(LAB, "aqm", "--out", folder / "both", "--from", folder / "none.json")
    assert done.returncode == 1 and "none.json: these are no results of vbng-lab aqm" in done.stderr


@pytest.mark.parametrize("family, here", [("ipv4", "127.0.0.1"), ("ipv6", "::1")])
def test_the_scalable_sender(family, here):
    """Reports without marks let it grow, a mark in each packet halves the window in the long run, few marks do little, a loss halves it."""
    how = case.FAMILIES[family]
    with socket.socket(how.socket, socket.SOCK_DGRAM) as peer:
        try:
            peer.bind((here, 0))
        except OSError as e:
            need.skip(f"this host has no {here}: {e}")
        s = scalable.Sender(how, peer.getsockname())
        with s.socket:
            got = marked = 0

            def rounds(n, marks, lost=0):
                nonlocal got, marked
                for _ in range(n):
                    s.fill(0.0)
                    packets = s.next - s.highest - 1
                    got, marked = got + packets - lost, marked + round(marks * packets)
                    s.hear((s.next - 1, got, marked), 0.0)
                return s.window

            assert s.socket.getsockopt(*scalable.FIELD[how.socket]) == scalable.ECT1
            assert how.header + 8 + scalable.HEAD.size + len(s.payload) == 1500
            assert rounds(2, 0) == 40 and s.slow_start
            assert 20 < rounds(1, 1) < 23 and not s.slow_start
            assert 22 < rounds(3, 0) < 27
            s.window, s.share = 40.0, 0.0
            assert 38 < rounds(2, 0.1) < 42
            s.window = 40.0
            assert 19 < rounds(1, 0, lost=1) < 21 and s.lost == 1
            assert rounds(20, 1) < 6
            s.window, s.rtt, s.due = 10.0, 12.0, 0.0  # paced: ten packets in 10 ms
            assert s.fill(1.0) == pytest.approx(1e-3, rel=0.01) and s.fill(1.0005) == pytest.approx(0.5e-3, rel=0.02)
            s.give_up()
            assert s.window == scalable.LEAST and s.next == s.highest + 1


class Busy(ends.Home):
    """A home on one host with its server, whose queue of connections is full at first, so that the kernel drops a SYN."""

    def __init__(self):
        super().__init__(case.FAMILIES["ipv4"], False, 0)
        network.ip("addr", "add", f"{self.family.server}/32", "dev", "lo")
        self.listener = socket.create_server((self.family.server, ends.PORT), backlog=0)
        self.first = socket.create_connection((self.family.server, ends.PORT))
        self.accepted = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        time.sleep(0.3)
        while True:
            self.accepted.append(self.listener.accept()[0])


def test_no_ping_waits_for_a_connection():
    """The kernel asks again for a connection after a second: longer than this download."""
    try:
        with ends.End(Busy) as home:
            home.call("connect", ["cubic"])
            seen = home.call("download", 0.1, 0.1, 0.8)
    except Failure as e:
        need.skip(f"no network namespace: {e}")
    assert [at for at, _, _ in seen["pings"] if 0.1 <= at < 0.8], seen
    assert seen["bytes"] == [0]


@pytest.mark.limit(200)
def test_the_whole(aqm, folder):
    """A gateway for each of two disciplines, of which the second is one's own, and what vbng refuses."""
    done, found = aqm("--discipline", "tail", "--discipline", "own=queue = 64; red = { min = 8; max = 32; };", "--discipline", "bad=queue = 3;",
                      "--flows", "1", "--flows", "3", "--rtt", "5")
    assert done.returncode == 1, done.stderr  # of the refused ones
    assert [(c["discipline"], c["flows"]) for c in found["cases"]] == [(d, n) for n in (1, 3) for d in ("tail", "own", "bad")]
    for c in found["cases"]:
        if c["discipline"] == "bad":
            assert c["error"].startswith("refused: ") and "power of two" in c["error"]
            continue
        assert "error" not in c, c
        ledger = c["ledger"]
        assert ledger["balances"] and ledger["received"] > 0
        assert c["delay"] and min(ms for _, ms, _ in c["delay"]) >= 5  # the round trip; which is longer is no question to a busy machine
        assert c["goodput_bps"] > 0
        assert 1 / c["flows"] <= c["fairness"] <= 1.0001
    text = (folder / "out" / "aqm.txt").read_text()
    assert text in done.stdout and text.count("refused") == 2
    if "no picture" not in done.stderr:
        assert (folder / "out" / "aqm.svg").stat().st_size > 1000


@pytest.mark.long
@pytest.mark.limit(100)
def test_l4s_beside_tcp(aqm, congestion):
    """Packets of the scalable sender are marked and none of them is lost; pings of both kinds come back as what they were sent."""
    _, found = aqm("--congestion", f"{congestion}+scalable", "--discipline", "l4s", "--flows", "1", "--seconds", "2")
    c = found["cases"][-1]
    assert "error" not in c and c["ledger"]["balances"], c
    assert len(c["shares"]) == 2 and min(c["shares"]) > 0
    assert {ecn for _, _, ecn in c["delay"]} >= {0} and {ecn for _, _, ecn in c["delay"]} & {1, 3}


@pytest.mark.limit(100)
def test_both_families(aqm):
    """Each case in either family. TCP that knows ECN is marked (RFC 3168); answers to pings that say ECT(1) come back with it, or marked."""
    done, found = aqm("--family", "both", "--ecn", "--discipline", "marks=queue = 512; red = { min = 2; max = 256; };", "--flows", "1", "--seconds", "2",
                      "--rate", "20M")
    assert done.returncode == 0 and "0.949 (ipv4), 0.936 (ipv6)" in done.stdout, done.stdout + done.stderr
    assert [c["family"] for c in found["cases"]] == ["ipv4", "ipv6"]
    for c in found["cases"]:
        assert c["ledger"]["balances"] and c["goodput_bps"] > 0 and c["delay"], c
        assert c["marked"] > c["retransmits"] and {ecn for _, _, ecn in c["delay"]} >= {0} and {ecn for _, _, ecn in c["delay"]} & {1, 3}, c


def test_what_it_cannot_do(run, vbng, folder):
    for words, says in ((["--congestion", "scalable+none"], "the kernel has no congestion control none"),
                        (["--discipline", "none"], "this vbng has tail, red, pie"),
                        (["--discipline", "x="], "expected NAME, or NAME=KEYS"), (["--rate", "1"], "expected a rate from 64k to 10G")):
        done = run(LAB, "aqm", "--vbng", vbng, "--out", folder / "out", *words)
        assert done.returncode in (1, 2) and says in done.stderr and "Traceback" not in done.stderr, (words, done.stderr)


def test_nothing_is_left(aqm, vbng):
    """Neither processes nor interfaces of the command's outlive it."""
    aqm("--discipline", "tail", "--flows", "1")
    names = {name for _, name in socket.if_nameindex()}
    assert not names & {"line", "core", "wan", "modem", "net"}
    mine = subprocess.run(["ps", "-eo", "ppid,args"], capture_output=True, text=True, check=True, timeout=limit(20)).stdout
    assert not [line for line in mine.splitlines() if f"{os.fspath(LAB)} aqm" in line]
