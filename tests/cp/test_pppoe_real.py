# SPDX-License-Identifier: BSD-3-Clause
"""PPPoE for real: a CPE on a line of vbng dials in, FreeRADIUS lets it in, and its packets go on whoever is killed."""

import contextlib
import queue
import time

import pytest

from tests.common import need

need.module("scapy", "python3-scapy")

from scapy.layers.inet import IP, UDP  # noqa: E402
from scapy.layers.l2 import Ether  # noqa: E402
from scapy.layers.ppp import PPPoE  # noqa: E402

from tests.common.limits import limit  # noqa: E402
from tests.cp import cpe as cpes  # noqa: E402
from tests.cp.test_real import GATEWAY, IN_FLIGHT, TAGS, Gateway, network  # noqa: E402,F401
from tests.cp.userplane import PPP  # noqa: E402
from tests.e2e.packet_socket import PacketSocket  # noqa: E402
from tests.radius.freeradius import free_ports, freeradius, radclient  # noqa: E402

LINE = ("line", 100, 7)
HOST, IPV4 = "198.18.0.1", b"\0\x21"  # the latter a protocol of PPP, which Scapy writes in one byte
USERS = """
alice Cleartext-Password := "secret"
    Filter-Id = "gold",
    Framed-IP-Address = 10.64.0.77
"""


class Wire:
    """The line as a CPE sees it; what the tests' own user plane is otherwise (tests/cp/userplane.py)."""

    def __init__(self):
        self.line, self.core = PacketSocket("far-line"), PacketSocket("far-core")

    def send(self, line, frame, kind):
        assert line == LINE and kind
        self.line.send(frame[:12] + TAGS + frame[12:])

    def receive(self, seconds):
        """The next frame of PPPoE without its tags and padding, or None."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            frame = self.line.receive(left)
            if frame and frame[12:20] == TAGS and frame[20:22] in (b"\x88\x63", b"\x88\x64"):
                return (frame[:12] + frame[20:])[:20 + int.from_bytes(frame[26:28], "big")]
        return None

    def expect(self, seconds):
        """A frame of a control protocol."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            frame = self.receive(left)
            if frame and (frame[12:14] == b"\x88\x63" or frame[20] >= 0x80):
                return LINE, frame
        raise queue.Empty


class Cpe(cpes.Cpe):
    """The CPE's packets, too."""

    gateway_mac = GATEWAY

    def __init__(self, gateway, wire, number):
        self.up, self.gateway_process = wire, gateway
        super().__init__(self, number, line=LINE)

    def padi(self):
        """Asked again, as by a real CPE, until there is an answer."""
        end = time.monotonic() + limit(30)
        while time.monotonic() < end:
            with contextlib.suppress(queue.Empty):
                self.discover(cpes.PADI, (cpes.SERVICE, b""))
                code, _, found = self.hear(1)
                assert code == cpes.PADO
                return found
        raise AssertionError(self.text())

    def hear(self, seconds=5):
        """What it hears, but for the gateway's echoes, which it answers."""
        while (heard := super().hear(seconds))[:2] == (cpes.LCP, cpes.ECHO):
            self.say(cpes.LCP, cpes.ECHO_REPLY, self.magic.to_bytes(4, "big") + heard[3][4:], heard[2])
        return heard

    def until(self, condition):
        self.gateway_process.until(condition)

    def text(self):
        return self.gateway_process.text()

    def upload(self, n, session=None, seconds=5):
        """Send n packets, IN_FLIGHT at a time. Returns the numbers of those that arrive at the core."""
        arrived = []
        for i in range(n):
            packet = IP(src=self.address, dst=HOST) / UDP(sport=1, dport=2) / (i.to_bytes(4, "big") + bytes(200))
            self.send(Ether(src=self.mac, dst=GATEWAY, type=0x8864) / PPPoE(sessionid=session or self.session) / (IPV4 + bytes(packet)), PPP)
            if i % IN_FLIGHT == IN_FLIGHT - 1 or i == n - 1:
                while len(arrived) <= i and (got := self.up.core.receive(limit(seconds))):
                    if got[26:34] == IP(src=self.address, dst=HOST).build()[12:20]:
                        arrived.append(int.from_bytes(got[42:46], "big"))
        return arrived

    def download(self):
        """Does a packet from the core arrive in the session?"""
        packet = IP(src=HOST, dst=self.address) / UDP(sport=2, dport=1) / b"from the core"
        self.up.core.send(bytes(Ether(src="02:d0:00:00:00:01", dst="02:b0:00:00:00:02") / packet))
        while frame := self.up.receive(limit(5)):
            got = Ether(frame)
            if PPPoE in got and got[PPPoE].sessionid == self.session and UDP in got:
                return (got.dst, got[IP].dst, bytes(got[UDP].payload)) == (self.mac, self.address, b"from the core")
        return False


@pytest.mark.limit(240)
def test_a_session_from_begin_to_end(vbng, build, folder):
    coa, = free_ports(1)
    with freeradius(folder / "radius", users=USERS) as server:
        gateway = Gateway(vbng, build, folder, server, coa, extra='pppoe = { ac_name = "bng1"; };')
        cpe = Cpe(gateway, Wire(), 1)
        try:
            assert cpe.dial() == "10.64.0.77" and gateway.subscriber()["profile"] == "gold"
            assert cpe.upload(80) == list(range(80)) and cpe.download()
            assert cpe.upload(1, session=cpe.session % 60000 + 1, seconds=0.1) == [], "another session's packets are not his"

            gateway.cp.kill()
            gateway.cp.wait()
            assert cpe.upload(80) == list(range(80)) and cpe.download()
            assert cpe.echoes(), "the user plane answers"
            gateway.start_controlplane()
            assert cpe.upload(80) == list(range(80)) and gateway.text().count("up, 10.64.0.77") == 1

            gateway.restart_userplane()
            assert cpe.upload(80) == list(range(80)) and cpe.download() and cpe.echoes()

            gateway.restart_userplane()  # its punt socket has perhaps not been found yet
            said = radclient(coa, "disconnect", {"Event-Timestamp": int(time.time()), "User-Name": '"alice"'})
            assert "Received Disconnect-ACK" in said, said
            cpe.hears_end("RADIUS: Disconnect-Request")
            gateway.until(lambda: gateway.subscriber() is None)
            assert cpe.upload(1, seconds=0.1) == []
        finally:
            wrong = gateway.end()
    assert wrong == []
