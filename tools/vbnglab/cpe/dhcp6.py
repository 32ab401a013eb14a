# SPDX-License-Identifier: BSD-3-Clause
"""A client of DHCPv6: RFC 8415, for an address (IA_NA) and a prefix (IA_PD). It asks anew when it hears nothing, and renews no lease."""

import socket
import struct

from .packets import IPV6, udp6, udp_data
from .protocol import REFUSED, UP, Protocol, Wrong

SOLICIT, ADVERTISE, REQUEST, REPLY, RELEASE = 1, 2, 3, 7, 8
CLIENT, SERVER, IA_NA, IA_PD, IA_ADDRESS, IA_PREFIX = 1, 2, 3, 25, 5, 26  # options
SERVERS = socket.inet_pton(socket.AF_INET6, "ff02::1:2")
SERVERS_MAC = b"\x33\x33\0\1\0\2"


def option(code, data):
    """An option."""
    return struct.pack("!HH", code, len(data)) + data


def options(data):
    """[(code, value)] of options."""
    found = []
    while len(data) >= 4:
        code, n = struct.unpack_from("!HH", data)
        found.append((code, data[4:4 + n]))
        data = data[4 + n:]
    return found


def leases(found, code, inner):
    """What the options of an identity association give: addresses or prefixes, of those that have a lifetime."""
    return [value for c, ia in found if c == code for i, value in options(ia[12:]) if i == inner]


class Dhcp6(Protocol):
    """One address and one prefix."""

    name = "IPv6"
    server = b""
    link = prefix = None  # the /64 of the address, or all of it where others are in its /64, and the upper half of what is delegated; in bytes

    def __init__(self, cpe):
        super().__init__(cpe)
        self.ias = {IA_NA: b"", IA_PD: b""}  # what they give

    def _frames(self, kind):
        ias = b"".join(option(code, struct.pack("!III", self.cpe.number, 0, 0) + inner) for code, inner in self.ias.items())
        data = struct.pack("!I", kind << 24 | self.cpe.number) + option(CLIENT, b"\0\3\0\1" + self.cpe.mac) + self.server + ias
        source = b"\xfe\x80" + bytes(6) + b"\0\0" + self.cpe.mac
        return [self.cpe.frame(SERVERS_MAC, IPV6, udp6(source, SERVERS, (546, 547), data))]

    def begin(self):
        """SOLICIT."""
        self.state, self.server, self.ias = "waits for ADVERTISE", b"", {IA_NA: b"", IA_PD: b""}
        return self._frames(SOLICIT)

    def take(self, kind, payload):
        """ADVERTISE is answered by REQUEST; REPLY is what both come by. Without one of them the client waits and begins anew."""
        data = udp_data(payload, (547, 546)) if kind == IPV6 and payload else None
        if data is None or len(data) < 4:
            return None
        head, = struct.unpack_from("!I", data)
        if head & 0xFFFFFF != self.cpe.number:
            raise Wrong(f"an answer for another client is on line {self.cpe.line}")
        if (head >> 24, self.state) not in ((ADVERTISE, "waits for ADVERTISE"), (REPLY, "waits for REPLY")):
            return []
        found = options(data[4:])
        address, prefix = leases(found, IA_NA, IA_ADDRESS), leases(found, IA_PD, IA_PREFIX)
        server = next((value for code, value in found if code == SERVER), None)
        if not address or not prefix or server is None:
            self.state = REFUSED
            return []
        if head >> 24 == ADVERTISE:
            self.state, self.server = "waits for REPLY", option(SERVER, server)
            return self._frames(REQUEST)
        self.state, self.address, self.link, self.prefix = UP, {6: address[0][:16]}, address[0][:16 if self.cpe.shares_link else 8], prefix[0][9:17]
        self.ias = {IA_NA: option(IA_ADDRESS, address[0]), IA_PD: option(IA_PREFIX, prefix[0])}
        self.told = [(part, socket.inet_ntop(socket.AF_INET6, part.ljust(16, b"\0"))) for part in (self.link, self.prefix)]
        return []

    def end(self):
        """RELEASE; nobody waits for its REPLY."""
        return self._frames(RELEASE)
