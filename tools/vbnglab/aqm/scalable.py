# SPDX-License-Identifier: BSD-3-Clause
"""A sender with scalable congestion control, for L4S: few kernels have one (TCP Prague, DCTCP) that sends ECT(1).

It is no TCP: paced, full-sized UDP packets with ECT(1) (RFC 9331), a window in the manner of DCTCP (RFC 8257), which takes half of the mean share of
marks off once in a round trip and grows by a packet in each without marks, and halves after a loss. Nothing is sent again. What it shows is how
the line treats a sender that responds as L4S wants it.
"""

import contextlib
import select
import socket
import struct
import time

NAME = "scalable"
PORT = 5002
ECT1, CE = 1, 3
UDP = 8  # bytes of its header
HEAD = struct.Struct("!I")  # number of the packet
REPORT = struct.Struct("!III")  # the highest number that has come, and how many have, and how many of them with CE
FIRST, LEAST = 10.0, 2.0  # packets of a window
GAIN = 1 / 16
PACE = 1.2  # times the window in a round trip: packets are sent evenly, for a burst is a queue
TIMEOUT = 0.3  # seconds without a report, until all that is on its way is taken for lost


# socket option of the byte with the ECN field of what is sent, and that which asks for it of what comes
FIELD = {socket.AF_INET: (socket.IPPROTO_IP, socket.IP_TOS), socket.AF_INET6: (socket.IPPROTO_IPV6, socket.IPV6_TCLASS)}
FIELDS = {socket.AF_INET: (socket.IPPROTO_IP, socket.IP_RECVTOS), socket.AF_INET6: (socket.IPPROTO_IPV6, socket.IPV6_RECVTCLASS)}


class Sender:
    """Sends to one peer. rtt: the smoothed round trip, in ms; lost: packets."""

    def __init__(self, family, peer):
        self.payload = bytes(1500 - family.header - UDP - HEAD.size)
        self.socket = socket.socket(family.socket, socket.SOCK_DGRAM)
        self.socket.setsockopt(*FIELD[family.socket], ECT1)
        self.socket.connect(peer)
        self.socket.setblocking(False)
        self.window, self.slow_start, self.share = FIRST, True, 1.0
        self.next, self.highest, self.got, self.marked = 0, -1, 0, 0
        self.round = 0, 0, 0, 0  # of the round trip that is under way: the number it ends with; and got, marked, lost when it began
        self.rtt, self.lost, self.sent = 0.0, 0, {}
        self.due = self.heard = 0.0  # times: to send the next packet, and of the last report

    def run(self):
        """Send until the peer has gone."""
        with self.socket, contextlib.suppress(ConnectionError):
            self.heard = time.monotonic()
            while True:
                wait = self.fill(time.monotonic())
                if select.select([self.socket], [], [], wait)[0]:
                    self.hear(REPORT.unpack(self.socket.recv(64)), time.monotonic())
                elif time.monotonic() - self.heard > TIMEOUT:
                    self.give_up()

    def fill(self, now):
        """Send what the window has room for and is due. Returns for how many seconds there is nothing to send, unless something is heard."""
        with contextlib.suppress(BlockingIOError):
            while self.next - self.highest - 1 < int(self.window):
                if self.due > now:
                    return self.due - now
                self.socket.send(HEAD.pack(self.next & 0xFFFFFFFF) + self.payload)
                self.sent[self.next] = now
                self.next += 1
                self.due = max(self.due, now - self.interval()) + self.interval()
        return TIMEOUT

    def interval(self):
        """Seconds between two packets."""
        return self.rtt / 1e3 / self.window / PACE

    def hear(self, report, now):
        """Take a report."""
        highest, got, marked = report
        self.heard = now
        if highest <= self.highest:
            return
        if highest in self.sent:
            rtt = 1e3 * (now - self.sent[highest])
            self.rtt += (rtt - self.rtt) / 8 if self.rtt else rtt
        for number in range(self.highest + 1, highest + 1):
            self.sent.pop(number, None)
        self.grow(got - self.got, marked - self.marked)
        self.highest, self.got, self.marked, self.lost = highest, got, marked, highest + 1 - got
        if highest >= self.round[0]:
            self.respond()

    def grow(self, packets, marks):
        """Grow by what has come without a mark."""
        if marks:
            self.slow_start = False
        self.window += packets - marks if self.slow_start else (packets - marks) / self.window

    def respond(self):
        """At the end of a round trip: shrink by its marks and losses."""
        _, got, marked, lost = self.round
        if self.got > got:
            self.share += GAIN * ((self.marked - marked) / (self.got - got) - self.share)
        if self.lost > lost:
            self.window, self.slow_start = self.window / 2, False
        elif self.marked > marked:
            self.window *= 1 - self.share / 2
        self.window = max(LEAST, self.window)
        self.round = self.next, self.got, self.marked, self.lost

    def give_up(self):
        """Nothing is heard any more."""
        self.highest, self.window, self.slow_start = self.next - 1, LEAST, False
        self.sent.clear()
        self.heard = time.monotonic()


class Receiver:
    """Asks for packets, and reports what comes. data: bytes, as many of each packet as a TCP would carry."""

    def __init__(self, family):
        self.data = family.segment()
        self.socket = socket.socket(family.socket, socket.SOCK_DGRAM)
        self.socket.setsockopt(*FIELDS[family.socket], 1)
        self.socket.setblocking(False)
        self.highest, self.got, self.marked = -1, 0, 0
        self.socket.sendto(b"", (family.server, PORT))

    def fileno(self):
        """Of its socket."""
        return self.socket.fileno()

    def close(self):
        """Let the sender know by an ICMP error."""
        self.socket.close()

    def receive(self):
        """Take all that is there, and report it. Returns bytes of data."""
        before, peer = self.got, None
        with contextlib.suppress(BlockingIOError):
            while True:
                data, extra, _, peer = self.socket.recvmsg(2048, 64)
                self.take(HEAD.unpack_from(data)[0], extra[0][2][0] & CE if extra else 0)
        if peer:
            with contextlib.suppress(BlockingIOError):
                self.socket.sendto(REPORT.pack(self.highest, self.got, self.marked), peer)
        return (self.got - before) * self.data

    def take(self, number, ecn):
        """Count a packet."""
        self.highest = max(self.highest, number)
        self.got += 1
        self.marked += ecn == CE
