# SPDX-License-Identifier: BSD-3-Clause
"""What CPEs do with their sessions: each pings addresses behind the gateway."""

import collections
import ipaddress
import time

from .packets import echo, echo_reply

IDENTIFIER = 0x7662
DATA = bytes(range(56))  # as ping(8) has
PATIENCE = 1.0  # seconds, after which a ping is lost


class Pings:
    """So many of each CPE that is up to each address of its families; at most window are under way, and each CPE waits for its answer before the next."""

    def __init__(self, load, addresses, count):
        self.load, self.window = load, load.window
        targets = [ipaddress.ip_address(a) for a in addresses]
        self.left = collections.deque((cpe, cpe.source(t.version), t.packed, 1, count) for cpe in load.cpes if cpe.is_up
                                      for t in targets if cpe.source(t.version))
        self.under_way = collections.OrderedDict()  # (CPE, version, sequence): (when it was sent, what follows)
        self.sent = self.answered = self.lost = 0
        self.took = []  # seconds
        load.packet = self._take

    def _send(self, cpe, source, to, sequence, count):
        protocol, address = source
        packet = echo(address, to, IDENTIFIER, sequence, DATA)
        following = (cpe, source, to, sequence + 1, count) if sequence < count else None
        self.under_way[cpe.key, to, sequence] = time.monotonic(), following
        self.load.wire.send(protocol.wrap(packet))
        self.sent += 1

    def _take(self, cpe, packet):
        reply = echo_reply(packet)
        if reply is None or reply[0] != IDENTIFIER:
            return
        sender = packet[12:16] if packet[0] >> 4 == 4 else packet[8:24]
        found = self.under_way.pop((cpe.key, sender, reply[1]), None)
        if found is None:
            return  # given up, or sent twice
        self.answered += 1
        self.took.append(time.monotonic() - found[0])
        self._go_on(found[1])

    def _go_on(self, following):
        if following is not None:
            self.left.append(following)

    def run(self, until):
        """Send all, and wait for what is under way; no longer than until, of time.monotonic()."""
        while (self.left or self.under_way) and time.monotonic() < until:
            while self.left and len(self.under_way) < self.window:
                self._send(*self.left.popleft())
            self.load.step()
            now = time.monotonic()
            while self.under_way and now - next(iter(self.under_way.values()))[0] > PATIENCE:
                _, (_, following) = self.under_way.popitem(last=False)
                self.lost += 1
                self._go_on(following)
        self.lost += len(self.under_way)
        self.under_way.clear()
