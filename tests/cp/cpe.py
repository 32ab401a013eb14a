# SPDX-License-Identifier: BSD-3-Clause
"""A CPE that speaks PPPoE: frames and packets by Scapy, the negotiation by RFC 1661 as it stands there."""

import hashlib
import queue

from tests.common import need
from tests.common.limits import limit
from tests.cp.client import PORT_MAC
from tests.cp.userplane import DISCOVERY, PPP

need.module("scapy", "python3-scapy")
from scapy.layers import ppp  # noqa: E402
from scapy.layers.l2 import Ether  # noqa: E402
from scapy.layers.ppp import PPPoE, PPPoED, PPPoED_Tags, PPPoETag  # noqa: E402

LCP, PAP, CHAP, IPCP, IPV6CP = 0xC021, 0xC023, 0xC223, 0x8021, 0x8057
REQUEST, ACK, NAK, REJECT, TERMINATE, TERMINATED, CODE_REJECT, PROTOCOL_REJECT, ECHO, ECHO_REPLY = range(1, 11)
PADI, PADO, PADR, PADS, PADT = 0x09, 0x07, 0x19, 0x65, 0xA7
SERVICE, AC_NAME, HOST_UNIQ, COOKIE, VENDOR, RELAY, MAX_PAYLOAD = 0x0101, 0x0102, 0x0103, 0x0104, 0x0105, 0x0110, 0x0120
SERVICE_ERROR, SYSTEM_ERROR = 0x0201, 0x0202
EVERYBODY = "ff:ff:ff:ff:ff:ff"


def packet(code, number, data=b""):
    return bytes([code, number]) + (4 + len(data)).to_bytes(2, "big") + data


def option(kind, value):
    return bytes([kind, 2 + len(value)]) + value


def options(data):
    """The options of a Configure packet's data: values by their types."""
    found = {}
    while data:
        assert 2 <= data[1] <= len(data)
        found[data[0]] = data[2:data[1]]
        data = data[data[1]:]
    return found


def address(value):
    return ".".join(map(str, value))


class Cpe:
    """One CPE on a line; what it has negotiated is in its members."""

    gateway_mac = PORT_MAC

    def __init__(self, cp, number, user="alice", password="secret", line=None, methods=(CHAP, PAP), mru=1492):
        self.cp, self.user, self.password, self.methods, self.mru = cp, user.encode(), password.encode(), methods, mru
        self.mac = f"02:00:00:00:{number >> 8:02x}:{number & 255:02x}"
        self.line = line or ("cpe0", 100 + number // 4000, 1 + number % 4000)
        self.session, self.address, self.dns, self.gateway = 0, None, [], None
        self.magic, self.their_magic, self.their_mru = 0x0A0B0C0D, None, None
        self.acked, self.was_acked = set(), set()  # protocols
        self.without = set()  # options of IPCP that were rejected
        self.theirs = {}  # options of the other side, by protocol
        self.message = None  # of the answer to the authentication
        self.gone = set()  # lines of others, to which last words may be under way
        self.number = 0

    # --- frames ---

    def send(self, frame, kind):
        self.cp.up.send(self.line, bytes(frame), kind)

    def discover(self, code, *tags, to=EVERYBODY, session=0):
        tags = [PPPoETag(tag_type=kind, tag_value=value) for kind, value in tags]
        self.send(Ether(src=self.mac, dst=to, type=0x8863) / PPPoED(code=code, sessionid=session) / PPPoED_Tags(tag_list=tags), DISCOVERY)

    def frame(self, protocol, data, session=None, mac=None):
        return bytes(Ether(src=mac or self.mac, dst=self.gateway_mac, type=0x8864) / PPPoE(sessionid=session or self.session)
                     / ppp.PPP(proto=protocol) / data)

    def say(self, protocol, code, data=b"", number=None, **fields):
        """Send a packet, with the next number or that of what it answers."""
        if number is None:
            self.number += 1
            number = self.number
        self.send(self.frame(protocol, packet(code, number, data), **fields), PPP)

    def hear(self, seconds=5):
        """The next frame: (code, tags) of discovery, or (protocol, code, number, data)."""
        while (heard := self.cp.up.expect(limit(seconds)))[0] in self.gone:
            pass
        line, raw = heard
        assert line == self.line
        frame = Ether(raw)
        assert (frame.src, frame.dst) == (self.gateway_mac, self.mac)
        if frame.type == 0x8863:
            tags = {}
            for tag in frame[PPPoED_Tags].tag_list if PPPoED_Tags in frame else ():
                tags.setdefault(tag.tag_type, []).append(tag.tag_value)
            return frame[PPPoED].code, frame[PPPoED].sessionid, tags
        assert frame.type == 0x8864 and frame[PPPoE].len == len(raw) - 20
        assert self.session in (0, frame[PPPoE].sessionid)
        data = raw[22:]
        assert int.from_bytes(data[2:4], "big") == len(data)
        return int.from_bytes(raw[20:22], "big"), data[0], data[1], data[4:]

    def hears_nothing(self, seconds=0.3):
        try:
            line, raw = self.cp.up.expect(seconds)
        except queue.Empty:
            return
        raise AssertionError(f"{line} was sent {Ether(raw).summary()}: {raw.hex()}")

    # --- discovery ---

    def padi(self, *tags, service=b""):
        """The tags of the PADO."""
        self.discover(PADI, (SERVICE, service), *tags)
        code, session, found = self.hear()
        assert (code, session) == (PADO, 0)
        return found

    def padr(self, offer, *tags, service=b""):
        """The tags of the PADS."""
        self.discover(PADR, (SERVICE, service), (COOKIE, offer[COOKIE][0]), *tags, to=self.gateway_mac)
        code, session, found = self.hear()
        assert code == PADS
        self.session = session
        return found

    # --- PPP ---

    def own_options(self, protocol):
        if protocol == LCP:
            return option(1, self.mru.to_bytes(2, "big")) + option(5, self.magic.to_bytes(4, "big"))
        if protocol == IPCP:
            wanted = option(3, bytes(map(int, (self.address or "0.0.0.0").split("."))))
            for kind, value in zip((129, 131), self.dns or ["0.0.0.0"] * 2):
                if kind not in self.without:
                    wanted += option(kind, bytes(map(int, value.split("."))))
            return wanted
        return option(1, bytes.fromhex("0200000000000001"))

    def ask(self, protocol):
        self.say(protocol, REQUEST, self.own_options(protocol))

    def judge(self, protocol, number, data):
        """Answer a Configure-Request of the other side."""
        wanted = self.theirs[protocol] = options(data)
        if protocol == LCP:
            method = int.from_bytes(wanted[3][:2], "big")
            if method not in self.methods:
                own = self.methods[0]
                self.say(LCP, NAK, option(3, own.to_bytes(2, "big") + (b"\5" if own == CHAP else b"")), number)
                return
            self.their_magic, self.their_mru = int.from_bytes(wanted[5], "big"), int.from_bytes(wanted[1], "big")
            self.method = method
        elif protocol == IPCP:
            self.gateway = address(wanted[3])
        self.say(protocol, ACK, data, number)
        self.acked.add(protocol)

    def take(self, protocol, code, number, data):
        if code == REQUEST:
            self.judge(protocol, number, data)
        elif code == ACK:
            assert number == self.number and data == self.own_options(protocol)
            self.was_acked.add(protocol)
        elif code == NAK and protocol == IPCP:
            told = options(data)
            self.address = address(told[3])
            self.dns = [address(told[kind]) for kind in (129, 131) if kind in told]
            self.ask(IPCP)
        elif code == REJECT and protocol == IPCP:
            self.without |= set(options(data))
            self.ask(IPCP)
        else:
            raise AssertionError((hex(protocol), code, data))
        if protocol == LCP and LCP in self.acked & self.was_acked and self.method == PAP:
            self.prove_by_pap()

    def prove_by_pap(self):
        self.say(PAP, 1, bytes([len(self.user)]) + self.user + bytes([len(self.password)]) + self.password)

    def take_proof(self, protocol, code, number, data):
        """Returns whether the authentication is over."""
        if protocol == CHAP and code == 1:
            size = data[0]
            answer = hashlib.md5(bytes([number]) + self.password + data[1:1 + size]).digest()
            self.say(CHAP, 2, b"\x10" + answer + self.user, number)
            return False
        good, bad = (3, 4) if protocol == CHAP else (2, 3)
        assert code in (good, bad)
        self.message = (data if protocol == CHAP else data[1:]).decode()
        return True

    def link(self):
        """Discovery, LCP and the authentication. Returns whether it has come in."""
        self.padr(self.padi())
        assert self.session
        self.ask(LCP)
        while True:
            protocol, code, number, data = self.hear()
            if protocol == LCP:
                self.take(protocol, code, number, data)
            elif self.take_proof(protocol, code, number, data):
                return code == (3 if protocol == CHAP else 2)

    def network(self):
        """IPCP."""
        self.ask(IPCP)
        while IPCP not in self.acked & self.was_acked:
            heard = self.hear()
            if heard[0] != PAP:  # who has asked twice is answered twice
                self.take(*heard)
        return self.address

    def ask_all(self, protocol):
        """Have a protocol acknowledged, again if it was. Returns the options of the other side."""
        self.was_acked.discard(protocol)
        self.ask(protocol)
        while protocol not in self.acked & self.was_acked:
            self.take(*self.hear())
        return self.theirs[protocol]

    def dial(self):
        """All of it. Returns the address."""
        assert self.link(), self.message
        return self.network()

    def echoes(self):
        """Is the session there for the other side, with its magic number?"""
        self.say(LCP, ECHO, self.magic.to_bytes(4, "big") + b"data")
        return self.hear() == (LCP, ECHO_REPLY, self.number, self.their_magic.to_bytes(4, "big") + b"data")

    def hears_end(self, why=None):
        """A Terminate-Request, and a PADT."""
        heard = self.hear()
        assert heard[:2] == (LCP, TERMINATE), heard
        assert self.hear()[:2] == (PADT, self.session)
        if why:
            self.cp.until(lambda: why in self.cp.text())
