# SPDX-License-Identifier: BSD-3-Clause
"""CPEs that get sessions, ping through them, renew them, leave, and come again, whatever is killed meanwhile; and what each was told and has carried."""

import bisect
import collections
import ipaddress
import socket
import time

from vbnglab.cpe import dhcp4, dhcp6, packets
from vbnglab.cpe.load import Load
from vbnglab.cpe.pppoe import OVER, PppoeDual
from vbnglab.cpe.protocol import NOT_BEGUN, UP, Cpe

IDENTIFIER = 0x7663  # of pings
DATA = bytes(36)
PATIENCE = 8.0  # seconds, after which a ping is lost: a busy machine may take its CPUs away for some
RENEW_S, LEAVE_S, STAY_S = 1.0, 6.0, 0.3  # how long a session lasts on average until it is renewed, or left; how long its CPE then waits


class Lasting4(dhcp4.Dhcp4):
    """DHCPv4 with renewals."""

    renewing = False
    renewed = 0

    def renew(self):
        """REQUEST in RENEWING."""
        self.renewing = True
        message = self._message(dhcp4.REQUEST, dhcp4.LIST, self.address[4])
        return [self.wrap(packets.udp4(self.address[4], self.server, (68, 67), message))]

    def begin(self):
        self.renewing = False
        return super().begin()

    def take(self, kind, payload):
        """What is lost raises Lost."""
        was = self.state
        answers = super().take(kind, payload)
        if answers is None or was != UP or not self.renewing:
            return answers
        data = packets.udp_data(payload, (67, 68))
        message, self.renewing = dhcp4.options(data).get(dhcp4.MESSAGE, b"\0")[0], False
        if message == dhcp4.NAK or data[16:20] != self.address[4]:
            raise Lost(self.cpe, f"the renewal of {socket.inet_ntoa(self.address[4])} was answered by {message}, {socket.inet_ntoa(data[16:20])}")
        self.renewed += 1
        return answers


class Lasting6(dhcp6.Dhcp6):
    """DHCPv6 with renewals."""

    RENEW = 5
    renewing = False
    renewed = 0

    def renew(self):
        """RENEW of both."""
        self.renewing = True
        return self._frames(self.RENEW)

    def begin(self):
        self.renewing = False
        return super().begin()

    def take(self, kind, payload):
        was = self.state
        answers = super().take(kind, payload)
        if was != UP and self.state == UP:
            self.told = [(self.address[6], socket.inet_ntop(socket.AF_INET6, self.address[6])), self.told[1]]
        if answers is None or was != UP or not self.renewing:
            return answers
        found, self.renewing = dhcp6.options(packets.udp_data(payload, (547, 546))[4:]), False
        for code, inner in ((dhcp6.IA_NA, dhcp6.IA_ADDRESS), (dhcp6.IA_PD, dhcp6.IA_PREFIX)):
            had, = dhcp6.options(self.ias[code])
            now = dhcp6.leases(found, code, inner)
            valid = slice(20, 24) if code == dhcp6.IA_NA else slice(4, 8)
            if not any(_block(code, lease) == _block(code, had[1]) and any(lease[valid]) for lease in now):
                raise Lost(self.cpe, f"the renewal of {_block(code, had[1]).hex(':', 2)} was answered by {[lease.hex() for lease in now]}")
        self.renewed += 1
        return answers


def _block(code, lease):
    """What a lease is about: an address, or a prefix with its length."""
    return lease[:16] if code == dhcp6.IA_NA else lease[8:25]


class Lost(Exception):
    """A CPE has lost what it was told."""

    def __init__(self, cpe, text):
        super().__init__(f"{cpe.line}: {text}")
        self.cpe = cpe


KINDS = {"IPoE": [Lasting4], "dual stack": [Lasting4, Lasting6], "PPPoE": [PppoeDual, Lasting6], "relayed": [Lasting4, Lasting6]}


class Household(Cpe):
    """A CPE that remembers when it has carried what."""

    def __init__(self, svlan, cvlan, kind):
        super().__init__(svlan, cvlan, 0x88A8, KINDS[kind])
        self.kind, self.times, self.octets = kind, [0.0], [(0, 0)]
        self.left_at = 0.0
        self.open = 0  # pings that wait for an answer
        self.doubt = [0, 0]  # octets up and down that may be missing in the account of its line
        self.beyond = 0  # octets down that it may not have received, and were counted

    def note(self, now):
        """Of octets so far."""
        self.times.append(now)
        self.octets.append((sum(self.sent.values()), sum(self.received.values())))

    def since(self, t):
        """Octets (up, down) from t on."""
        before = self.octets[bisect.bisect_right(self.times, t) - 1]
        return tuple(a - b for a, b in zip(self.octets[-1], before))

    def doubt_since(self, t):
        """What it has carried from t on may be in no account."""
        for way, octets in enumerate(self.since(t)):
            self.doubt[way] += octets

    def is_in(self, row):
        """vbng's subscriber has all that this was told."""
        first = self.source(4)[1]
        if row is None or row["ipv4"] != f"{socket.inet_ntoa(first)}/32":
            return False
        found = self.source(6)
        if found is None:
            return True
        prefix = ipaddress.ip_network(row.get("delegated") or "::/128").network_address.packed[:8]
        return ipaddress.ip_address(found[1]) in ipaddress.ip_network(row.get("ipv6") or "::/128") and prefix == found[0].prefix


class Households(Load):
    """All of them. rng: of what they do; hosts: addresses that they ping; rate: pings a second."""

    def __init__(self, wire, all_cpes, window, rng, hosts, rate):
        super().__init__(wire, all_cpes, window, again=1.5)
        self.rng, self.hosts, self.rate = rng, [socket.inet_pton(socket.AF_INET6 if ":" in h else socket.AF_INET, h) for h in hosts], rate
        self.idle = collections.deque()  # (when it begins, CPE)
        self.pings = {}  # (CPE, host, sequence): (when, octets)
        self.counts = collections.Counter()
        self.churns = self.flows = True
        self.sequence, self.acted, self.pinged = 0, time.monotonic(), time.monotonic()
        self.packet = self._pong

    # --- sessions ---

    def _take(self, frame):
        try:
            super()._take(frame)
        except Lost as e:
            self.lose(e.cpe, str(e))

    def lose(self, cpe, text):
        """What must not happen; the CPE begins anew all the same."""
        self.wrong.append(f"lost: {text}")
        self._forget(cpe)

    def _forget(self, cpe):
        for protocol in cpe.protocols:
            for what, _ in protocol.told:
                if self.holder.get(what) is cpe:
                    del self.holder[what]
            protocol.state, protocol.told, protocol.address = NOT_BEGUN, [], {}
        self.up -= cpe.is_up
        self.waiting.pop(cpe.key, None)
        cpe.at, cpe.session = 0, 0
        self.idle.append((time.monotonic() + STAY_S, cpe))

    def _is_up(self, cpe, protocol):
        super()._is_up(cpe, protocol)
        if cpe.is_up:
            self.counts["sessions"] += 1

    def leave(self, cpe):
        """It gives all back: nobody waits for an answer, which may be lost like any frame."""
        frames = [frame for protocol in reversed(cpe.protocols) for frame in protocol.end()]
        cpe.left_at = time.monotonic()
        self._forget(cpe)
        for frame in frames:
            self.wire.send(frame)
        cpe.note(cpe.left_at)
        self.counts["left"] += 1

    def renewed(self):
        """Renewals that were answered."""
        return sum(getattr(protocol, "renewed", 0) for cpe in self.cpes for protocol in cpe.protocols)

    def renew(self, cpe, now):
        """All leases of DHCP."""
        for protocol in cpe.protocols:
            if hasattr(protocol, "renew"):
                for frame in protocol.renew():
                    self.wire.send(frame)
                self.counts["renewals"] += 1
        cpe.note(now)

    def _act(self, now):
        """Of those that are up some renew, and some leave: as many as the time since the last look says."""
        seconds, self.acted = now - self.acted, now
        if not self.churns:
            return
        for cpe in [c for c in self.cpes if c.is_up and not c.open]:
            chance = self.rng.random()
            if chance < seconds / LEAVE_S:
                self.leave(cpe)
            elif chance < seconds / LEAVE_S + seconds / RENEW_S:
                self.renew(cpe, now)

    # --- packets ---

    def _ping(self, now):
        due = int((now - self.pinged) * self.rate)
        self.pinged += due / self.rate
        up = [cpe for cpe in self.cpes if cpe.is_up] if self.flows and due else []
        for _ in range(min(due, 50) if up else 0):
            cpe, host = self.rng.choice(up), self.rng.choice(self.hosts)
            source = cpe.source(4 if len(host) == 4 else 6)
            if source is None:
                continue
            self.sequence = (self.sequence + 1) & 0xFFFF
            packet = packets.echo(source[1], host, IDENTIFIER, self.sequence, DATA)
            self.pings[cpe.key, host, self.sequence] = now, packets.octets(packet)
            cpe.open += 1
            self.wire.send(source[0].wrap(packet))
            cpe.note(now)
            self.counts["pings"] += 1

    def _pong(self, cpe, packet):
        reply = packets.echo_reply(packet)
        cpe.note(time.monotonic())
        if reply is None or reply[0] != IDENTIFIER:
            return
        host = packet[12:16] if packet[0] >> 4 == 4 else packet[8:24]
        if self.pings.pop((cpe.key, host, reply[1]), None) is not None:
            cpe.open -= 1
            self.counts["answered"] += 1

    def _drop(self, number):
        """Wait no longer for the answer to a ping. Returns its CPE, and when it was sent."""
        when, octets = self.pings.pop(number)
        cpe = self.of[number[0]]
        cpe.open -= 1
        cpe.beyond += octets
        return cpe, when

    def excuse(self):
        """vbng was away: who pinged meanwhile need not wait."""
        for number in list(self.pings):
            self._drop(number)
            self.counts["excused"] += 1

    def _give_up(self, now):
        """Pings that nobody has answered, although vbng runs."""
        while self.pings and now - next(iter(self.pings.values()))[0] > PATIENCE:
            cpe, when = self._drop(next(iter(self.pings)))
            self.wrong.append(f"{cpe.line}: a ping was lost {now - when:.1f} s ago, while vbng ran")

    def step(self):
        super().step()
        now = time.monotonic()
        while self.idle and self.idle[0][0] <= now and len(self.waiting) < self.window and not self.ceased:
            self._begin(self.idle.popleft()[1])
        for cpe in self.cpes:
            if cpe.protocols[0].state == OVER:
                self.lose(cpe, "the gateway has ended the session")
        self._act(now)
        self._ping(now)
        self._give_up(now)
