# SPDX-License-Identifier: BSD-3-Clause
"""A client of DHCPv4: RFC 2131. It asks anew when it hears nothing, and renews no lease."""

import socket
import struct

from .packets import IPV4, udp4, udp_data
from .protocol import REFUSED, UP, Protocol, Wrong

DISCOVER, OFFER, REQUEST, ACK, NAK, RELEASE = 1, 2, 3, 5, 6, 7
MESSAGE, SERVER, WANTED = 53, 54, 50  # options
LIST = bytes((55, 4, 1, 3, 6, 51))  # that the client asks for
BROADCAST, NOBODY, EVERYBODY = b"\xff" * 6, bytes(4), b"\xff" * 4
COOKIE = b"\x63\x82\x53\x63"
SHORTEST = 300  # of a message: BOOTP


def options(data):
    """{code: value} of a message's options."""
    found, i = {}, 240
    while i + 1 < len(data) and data[i] != 255:
        if data[i] == 0:
            i += 1
            continue
        found[data[i]] = data[i + 2:i + 2 + data[i + 1]]
        i += 2 + data[i + 1]
    return found


class Dhcp4(Protocol):
    """One address."""

    name = "IPv4"
    server = None

    def _message(self, kind, more=b"", address=NOBODY):
        head = struct.pack("!BBBBIHH4s4s4s4s16s192s4s", 1, 1, 6, 0, self.cpe.number, 0, 0, address, NOBODY, NOBODY, NOBODY, self.cpe.mac, b"", COOKIE)
        data = head + bytes((MESSAGE, 1, kind)) + more + b"\xff"
        return data + bytes(max(0, SHORTEST - len(data)))

    def _to_all(self, kind, more=b""):
        return [self.cpe.frame(BROADCAST, IPV4, udp4(NOBODY, EVERYBODY, (68, 67), self._message(kind, LIST + more)))]

    def begin(self):
        """DISCOVER."""
        self.state = "waits for OFFER"
        return self._to_all(DISCOVER)

    def take(self, kind, payload):
        """OFFER is answered by REQUEST; ACK is what the address comes by, and NAK has the client wait and begin anew."""
        data = udp_data(payload, (67, 68)) if kind == IPV4 and payload else None
        if data is None or len(data) < 241 or data[236:240] != COOKIE:
            return None
        if data[4:8] != struct.pack("!I", self.cpe.number):
            raise Wrong(f"an answer for another client is on line {self.cpe.line}")
        found = options(data)
        message, server, address = found.get(MESSAGE, b"\0")[0], found.get(SERVER), data[16:20]
        if message == OFFER and self.state == "waits for OFFER" and server:
            self.state, self.server = "waits for ACK", server
            return self._to_all(REQUEST, bytes((WANTED, 4)) + address + bytes((SERVER, 4)) + server)
        if message == ACK and self.state == "waits for ACK":
            self.state, self.address, self.told = UP, {4: address}, [(address, socket.inet_ntoa(address))]
        elif message == NAK and self.state == "waits for ACK":
            self.state = REFUSED
        return []

    def end(self):
        """RELEASE, which is not answered."""
        message = self._message(RELEASE, bytes((SERVER, 4)) + self.server, self.address[4])
        return [self.wrap(udp4(self.address[4], self.server, (68, 67), message))]
