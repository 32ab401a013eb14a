# SPDX-License-Identifier: BSD-3-Clause
"""All CPEs of a load: which asks when, and what has come of it."""

import collections
import time

from . import packets
from .dhcp4 import Dhcp4
from .dhcp6 import Dhcp6
from .pppoe import Pppoe, PppoeDual
from .protocol import UP, Cpe, Wrong

# what a CPE does, one after the other
PROTOCOLS = {"ipoe": [Dhcp4], "dual": [Dhcp4, Dhcp6], "ipv6": [Dhcp6], "pppoe": [Pppoe], "pppoe-dual": [PppoeDual, Dhcp6]}
C_VLANS = 4000  # of an S-VLAN
TICK = 0.01  # seconds that nobody waits longer


def cpes(lines, protocol, svlan=1, tpid=0x88A8, **account):
    """So many, on lines from C-VLAN 1 of the first S-VLAN on."""
    return [Cpe(svlan + n // C_VLANS, 1 + n % C_VLANS, tpid, PROTOCOLS[protocol], **account) for n in range(lines)]


class Load:
    """CPEs of which at most window have asked and have no session yet. again: seconds after which one that hears nothing begins anew."""

    def __init__(self, wire, all_cpes, window, again=2.0):
        self.wire, self.cpes, self.window, self.patience = wire, all_cpes, window, again
        self.of = {cpe.key: cpe for cpe in all_cpes}
        self.waiting = collections.OrderedDict()  # those that have asked, the one that asked first in front
        self.ceased = False
        self.holder = {}  # what a CPE was told: who that is
        self.next = self.up = self.again = 0
        self.wrong = []
        self.took = collections.defaultdict(list)  # seconds until it was up, by name of the protocol
        self.first = self.last = self.ended = None  # when the first has asked, the last has come up, and cease() was called
        self.packet = lambda cpe, packet: None  # called with a CPE that is up, and a packet of IP that came for its address

    def _say(self, cpe, frames):
        cpe.asked = time.monotonic()
        self.waiting[cpe.key] = cpe
        self.waiting.move_to_end(cpe.key)
        for frame in frames:
            self.wire.send(frame)

    def _begin(self, cpe):
        """The protocol under way begins."""
        cpe.began = time.monotonic()
        self._say(cpe, cpe.protocols[cpe.at].begin())

    def _told(self, cpe, what, name):
        """A CPE is told what no other has."""
        other = self.holder.setdefault(what, cpe)
        if other is not cpe:
            self.wrong.append(f"{name} was told to {cpe.line} and {other.line}")

    def _is_up(self, cpe, protocol):
        now = time.monotonic()
        self.took[protocol.name].append(now - cpe.began)
        for what, name in protocol.told:
            self._told(cpe, what, name)
        cpe.at += 1
        if not cpe.is_up:
            self._begin(cpe)
            return
        cpe.up_at = self.last = now
        self.waiting.pop(cpe.key, None)
        self.up += 1

    def _take(self, frame):
        cpe = self.of.get(bytes((frame[14] & 15, frame[15], frame[18] & 15, frame[19]))) if len(frame) > 22 else None
        if cpe is None:
            return
        if frame[:6] != cpe.mac and not frame[0] & 1:
            self.wrong.append(f"a frame for {frame[:6].hex(':')} is on line {cpe.line}")
            return
        cpe.gateway = cpe.gateway or frame[6:12]
        kind, payload = cpe.inside(frame[20] << 8 | frame[21], frame[22:])
        try:
            for protocol in cpe.protocols[:cpe.at + 1]:
                was = protocol.state
                answers = protocol.take(kind, payload)
                if answers is None:
                    continue
                if was != UP and protocol.state == UP:
                    for answer in answers:
                        self.wire.send(answer)
                    self._is_up(cpe, protocol)
                elif was != UP and answers:
                    self._say(cpe, answers)
                else:
                    for answer in answers:
                        self.wire.send(answer)
                return
        except Wrong as e:
            self.wrong.append(str(e))
            return
        if cpe.is_up:
            self._deliver(cpe, kind, payload)

    def _deliver(self, cpe, kind, payload):
        for protocol in cpe.protocols:
            packet = protocol.unwrap(kind, payload)
            if packet is not None and packets.destination(packet) in protocol.address.values():
                cpe.received[packet[0] >> 4] += packets.octets(packet)
                self.packet(cpe, packet)
                return

    def step(self):
        """Have those ask whose turn it is, and hear what there is: TICK at most."""
        while not self.ceased and self.next < len(self.cpes) and len(self.waiting) < self.window:
            cpe = self.cpes[self.next]
            self.next += 1
            self._begin(cpe)
            cpe.begun = cpe.began
            self.first = self.first or cpe.began
        for frame in self.wire.receive(TICK):
            self._take(frame)
        now = time.monotonic()
        while not self.ceased and self.waiting and now - (cpe := next(iter(self.waiting.values()))).asked > self.patience:
            self.again += 1
            self._begin_again(cpe)

    def _begin_again(self, cpe):
        """What it took counts from its first question on."""
        began = cpe.began
        self._begin(cpe)
        cpe.began = began

    def cease(self):
        """From now on nobody asks; an answer that comes still counts."""
        self.ceased = True
        self.ended = time.monotonic()

    @property
    def done(self):
        """All are up, or something is wrong."""
        return self.up == len(self.cpes) or bool(self.wrong)

    def states(self):
        """{state: how many}, of those that have asked and of those that have not."""
        return collections.Counter(cpe.state for cpe in self.cpes)

    @property
    def seconds(self):
        """From the first question until the last session, or until now where they are not all up."""
        if self.first is None:
            return 0.0
        return (self.last if self.up == len(self.cpes) else self.ended or time.monotonic()) - self.first
