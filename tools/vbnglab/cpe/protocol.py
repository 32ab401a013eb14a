# SPDX-License-Identifier: BSD-3-Clause
"""What a CPE does to get a session: a protocol, of which each CPE has an object of its own."""

import struct

from .packets import IN_PPP, IPV4, IPV6, PPPOE_SESSION, into_session, octets, out_of_session

NOT_BEGUN, UP, REFUSED = "not begun", "up", "refused"


class Protocol:
    """What all protocols have. A new one is a class like those in dhcp4.py, dhcp6.py and pppoe.py, and a word in PROTOCOLS of load.py.

    name: for tables;  state: NOT_BEGUN, REFUSED, "waits for MESSAGE" or UP;  told: [(bytes that no other CPE may be told, how they read)];
    address: {4: bytes, 6: bytes} that its packets may come from.
    """

    name = ""

    def __init__(self, cpe):
        self.cpe, self.state, self.told, self.address = cpe, NOT_BEGUN, [], {}

    def begin(self):
        """Frames that begin it. They are asked for again when nothing was heard for a while: all begins anew then."""
        raise NotImplementedError

    def take(self, kind, payload):
        """Frames that answer one which came on the CPE's line: also when the protocol is up. kind: type of Ethernet. The state says what it has led
        to. None: it was not of this protocol. Raises Wrong for what no CPE may be sent."""
        raise NotImplementedError

    def end(self):
        """Frames that end the session."""
        raise NotImplementedError

    def wrap(self, packet):
        """The frame that carries a packet of IP upstream, which counts as sent."""
        self.cpe.sent[packet[0] >> 4] += octets(packet)
        return self.carry(packet)

    def carry(self, packet):
        """The frame itself."""
        return self.cpe.frame(self.cpe.gateway, IPV4 if packet[0] >> 4 == 4 else IPV6, packet)

    def unwrap(self, kind, payload):
        """The packet of IP in what came, or None."""
        return payload if kind in (IPV4, IPV6) and len(payload) >= 20 else None


class Wrong(Exception):
    """The gateway has done what it must not; the text says what."""


class Cpe:
    """One line and what is on it. tpid: of the outer tag; user, password: of protocols that have them, "": his MAC; shares_link: the /64 of its address
    of IPv6 may be others', too."""

    def __init__(self, svlan, cvlan, tpid, protocols, user="", password="vbng", shares_link=False):
        self.number = svlan << 12 | cvlan
        self.line = f"{svlan}.{cvlan}"
        self.key = struct.pack("!HH", svlan, cvlan)
        self.tags = struct.pack("!HHHH", tpid, svlan, 0x8100, cvlan)
        self.mac = struct.pack("!HHH", 0x0200, svlan, cvlan)
        self.gateway = None  # its MAC, of the first answer
        self.user, self.password = user or self.mac.hex(":"), password
        self.shares_link = shares_link
        self.session = 0  # of PPPoE, in which its packets of IP are; 0: in none
        self.protocols = [p(self) for p in protocols]
        self.at = 0  # number of the protocol that is under way
        self.asked = self.began = 0.0  # when it said something last, and when this protocol began
        self.begun, self.up_at = None, None
        self.sent, self.received = {4: 0, 6: 0}, {4: 0, 6: 0}  # octets of packets of its session, by version of IP

    def frame(self, to, kind, payload):
        """A frame upstream; what is of IP goes into the session that there is."""
        if self.session and kind in IN_PPP:
            to, kind, payload = self.gateway, PPPOE_SESSION, into_session(self.session, kind, payload)
        return b"".join((to, self.mac, self.tags, struct.pack("!H", kind), payload))

    def inside(self, kind, payload):
        """(kind, payload) of what came, without the session that it is in."""
        found = out_of_session(self.session, payload) if self.session and kind == PPPOE_SESSION else None
        return found or (kind, payload)

    @property
    def state(self):
        """Of the session as a whole: that of the protocol under way."""
        return self.protocols[min(self.at, len(self.protocols) - 1)].state

    @property
    def is_up(self):
        """All protocols are."""
        return self.at == len(self.protocols)

    def source(self, version):
        """(protocol that has an address of this version of IP, the address), or None."""
        return next(((p, p.address[version]) for p in self.protocols if version in p.address), None)
