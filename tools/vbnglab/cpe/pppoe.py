# SPDX-License-Identifier: BSD-3-Clause
"""A client of PPPoE: RFC 2516, 1661, 1334, 1994, 1332, 5072. It asks anew when it hears nothing; its packets of IP are in the session from then on."""

import hashlib
import socket
import struct

from .packets import PPPOE_SESSION
from .protocol import REFUSED, UP, Protocol, Wrong

DISCOVERY = 0x8863  # type of Ethernet
PADI, PADO, PADR, PADS, PADT = 0x09, 0x07, 0x19, 0x65, 0xA7
SERVICE, HOST_UNIQ, COOKIE = 0x0101, 0x0103, 0x0104  # tags
LCP, PAP, CHAP, IPCP, IPV6CP = 0xC021, 0xC023, 0xC223, 0x8021, 0x8057
REQUEST, ACK, NAK, REJECT, TERMINATE, TERMINATED, CODE_REJECT, PROTOCOL_REJECT, ECHO, ECHO_REPLY = range(1, 11)
MRU = 1492
EVERYBODY = b"\xff" * 6
OVER = "ended by the gateway"


def tag(kind, value):
    """A tag of discovery, or an option of the same form."""
    return struct.pack("!HH", kind, len(value)) + value


def tags(data):
    """{type: value} of tags; the first of a type counts."""
    found = {}
    while len(data) >= 4:
        kind, n = struct.unpack_from("!HH", data)
        found.setdefault(kind, data[4:4 + n])
        data = data[4 + n:]
    return found


def option(kind, value):
    """An option of a Configure packet."""
    return bytes((kind, 2 + len(value))) + value


def options(data):
    """{type: value} of a Configure packet's options."""
    found = {}
    while len(data) >= 2 and data[1] >= 2:
        found[data[0]] = data[2:data[1]]
        data = data[data[1]:]
    return found


def packet(code, number, data):
    """A packet of one of PPP's protocols."""
    return struct.pack("!BBH", code, number, 4 + len(data)) + data


class Pppoe(Protocol):
    """A session with an address."""

    name = "PPPoE"
    protocols = (IPCP,)  # of the network

    def __init__(self, cpe):
        super().__init__(cpe)
        self.id = self.number = self.method = 0  # of the session, of the last packet, of the authentication
        self.wanted, self.asked = {}, {}  # own options, and the number of the request for them, by protocol
        self.agreed = set()  # (protocol, whether the own side's request was acknowledged, or the gateway's)
        self.unique = struct.pack("!I", cpe.number)

    # --- frames ---

    def _discover(self, code, to, *what, session=0):
        data = b"".join(what)
        return [self.cpe.frame(to, DISCOVERY, struct.pack("!BBHH", 0x11, code, session, len(data)) + data)]

    def _say(self, protocol, code, data=b"", number=None):
        if number is None:
            self.number = number = self.number % 255 + 1
        data = packet(code, number, data)
        return [self.cpe.frame(self.cpe.gateway, PPPOE_SESSION, struct.pack("!BBHHH", 0x11, 0, self.id, len(data) + 2, protocol) + data)]

    def _ask(self, protocol):
        """A Configure-Request of this side."""
        frames = self._say(protocol, REQUEST, b"".join(option(*o) for o in self.wanted[protocol].items()))
        self.asked[protocol] = self.number
        return frames

    # --- discovery ---

    def begin(self):
        """PADI."""
        self.state, self.id, self.cpe.session, self.agreed = "waits for PADO", 0, 0, set()
        self.wanted = {LCP: {1: struct.pack("!H", MRU), 5: struct.pack("!I", self.cpe.number | 1 << 31)}, IPCP: {3: bytes(4)},
                       IPV6CP: {1: b"\2\0" + self.cpe.mac}}
        return self._discover(PADI, EVERYBODY, tag(SERVICE, b""), tag(HOST_UNIQ, self.unique))

    def _take_discovery(self, payload):
        if len(payload) < 6:
            return []
        _, code, session, n = struct.unpack_from("!BBHH", payload)
        found = tags(payload[6:6 + n])
        if code == PADT:
            return self._over() if session == self.id and self.id else []
        if code in (PADO, PADS) and found.get(HOST_UNIQ) != self.unique:
            raise Wrong(f"an answer for another client is on line {self.cpe.line}")
        if code == PADO and self.state == "waits for PADO":
            self.state = "waits for PADS"
            return self._discover(PADR, self.cpe.gateway, tag(SERVICE, b""), tag(HOST_UNIQ, self.unique), tag(COOKIE, found.get(COOKIE, b"")))
        if code == PADS and self.state == "waits for PADS":
            self.state, self.id = ("waits for LCP", session) if session else (REFUSED, 0)
            return self._ask(LCP) if session else []
        return []

    def _over(self):
        """The gateway ends the session."""
        self.state, self.id, self.cpe.session = OVER if self.state == UP else REFUSED, 0, 0
        return []

    # --- PPP ---

    def take(self, kind, payload):
        """Discovery leads to a session id, LCP to an authentication, and that to IPCP and IPV6CP; echoes are answered all the time."""
        if kind == DISCOVERY:
            return self._take_discovery(payload)
        if kind != PPPOE_SESSION or len(payload) < 12:
            return None
        _, _, session, n, protocol, code, number, length = struct.unpack_from("!BBHHHBBH", payload)
        if session != self.id or not 6 <= n <= len(payload) - 6 or not 4 <= length <= n - 2:
            return []
        data = payload[12:8 + length]
        if protocol == CHAP or protocol == PAP:
            return self._take_proof(protocol, code, number, data)
        if protocol not in self.wanted:
            return self._say(LCP, PROTOCOL_REJECT, payload[6:6 + n]) if (LCP, True) in self.agreed else []
        if code == REQUEST:
            return self._take_request(protocol, number, data)
        if code in (ACK, NAK, REJECT):
            return self._take_answer(protocol, code, number, data)
        if protocol == LCP and code == ECHO:
            return self._say(LCP, ECHO_REPLY, self.wanted[LCP][5] + data[4:], number)
        if code == TERMINATE and protocol == LCP:
            return self._say(LCP, TERMINATED, b"", number) + self._over()
        if code == PROTOCOL_REJECT:
            self.state = REFUSED
        return []

    def _take_request(self, protocol, number, data):
        """All that the gateway wants is right."""
        if protocol in (IPCP, IPV6CP) and protocol not in self.protocols:
            return self._say(LCP, PROTOCOL_REJECT, struct.pack("!H", protocol) + packet(REQUEST, number, data))
        if protocol == LCP:
            self.method, = struct.unpack_from("!H", options(data).get(3, bytes(2)))
        return self._say(protocol, ACK, data, number) + self._agree(protocol, False)

    def _take_answer(self, protocol, code, number, data):
        if number != self.asked.get(protocol):
            return []
        if code == ACK:
            return self._agree(protocol, True)
        if protocol == LCP or code == REJECT:
            self.state = REFUSED
            return []
        self.wanted[protocol].update(options(data))
        return self._ask(protocol)

    def _take_proof(self, protocol, code, number, data):
        """A challenge, or what has come of the authentication."""
        if self.state != "waits for authentication":
            return []
        if protocol == CHAP and code == REQUEST and data and 1 + data[0] <= len(data):
            answer = hashlib.md5(bytes((number,)) + self.cpe.password.encode() + data[1:1 + data[0]]).digest()  # as RFC 1994 has it
            return self._say(CHAP, ACK, bytes((len(answer),)) + answer + self.cpe.user.encode(), number)
        good, bad = (3, 4) if protocol == CHAP else (2, 3)
        if code == bad:
            self.state = REFUSED
        return self._network() if code == good else []

    def _network(self):
        self.state = "waits for addresses"
        return [frame for protocol in self.protocols for frame in self._ask(protocol)]

    def _agree(self, protocol, own):
        """One side of a protocol is as the other wants it. Returns what follows."""
        self.agreed.add((protocol, own))
        if (protocol, not own) not in self.agreed or self.state in (UP, REFUSED):
            return []
        if protocol == LCP:
            self.state = "waits for authentication"
            user, password = self.cpe.user.encode(), self.cpe.password.encode()
            proof = bytes((len(user),)) + user + bytes((len(password),)) + password
            return self._say(PAP, REQUEST, proof) if self.method == PAP else [] if self.method == CHAP else self._network()
        if all((p, side) in self.agreed for p in self.protocols for side in (False, True)):
            address = self.wanted[IPCP][3]
            self.state, self.cpe.session, self.address, self.told = UP, self.id, {4: address}, [(address, socket.inet_ntoa(address))]
        return []

    def end(self):
        """PADT, which is not answered."""
        session, self.cpe.session = self.id, 0
        return self._discover(PADT, self.cpe.gateway, session=session) if session else []


class PppoeDual(Pppoe):
    """The same, with IPV6CP: addresses come by DHCPv6 behind it."""

    protocols = (IPCP, IPV6CP)
