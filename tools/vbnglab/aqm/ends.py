# SPDX-License-Identifier: BSD-3-Clause
"""The two ends of a measurement, each a process in a network namespace of its own: the subscriber's home and a server behind the core.

Both have the kernel's own IPv4 or IPv6, and TCP. The server is joined to the gateway by a veth pair. Between the home's stack and the line is a
modem, a process that puts both VLAN tags on and takes them off, since not every kernel has VLAN interfaces; and that delays what goes
up, where the line is to have a round-trip time.
"""

import collections
import contextlib
import ctypes
import multiprocessing
import os
import select
import signal
import socket
import struct
import threading
import time
import traceback

from ..lab import network
from ..lab.failure import Failure
from . import case, scalable

PORT = 5001
PING_PERIOD = 0.02  # seconds between two pings
LAST_PING = 1.0  # seconds that are waited for the answers to the last of them
BUFFER = 1 << 18
GO = b"!"  # what a connection says when its download is to begin
SAMPLE = 0.1  # seconds between two looks at TCP_INFO
SO_TIMESTAMPNS, SO_RCVBUFFORCE = 35, 33  # of <asm/socket.h>
TCP_INFO = struct.Struct("8B24I")  # of <linux/tcp.h>: its first part
RTT, RETRANSMITS = 8 + 15, 8 + 23  # the fields tcpi_rtt (us) and tcpi_total_retrans
DELIVERED_CE = struct.Struct("196xI")  # and tcpi_delivered_ce, which Linux has from 4.18 on
PR_SET_PDEATHSIG = 1


def _bytes(mac):
    return bytes.fromhex(mac.replace(":", ""))


UP = _bytes(case.GATEWAY_MAC) + _bytes(case.CPE_MAC) + struct.pack("!HHHH", 0x88A8, case.SVLAN, 0x8100, case.CVLAN)
TYPES = {4: b"\x08\x00", 6: b"\x86\xdd"}  # of Ethernet, by the version of IP


class End:
    """A process in a network namespace of its own, that answers calls. For as long as the block lasts."""

    def __init__(self, work, *arguments):
        context = multiprocessing.get_context("fork")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_answer, args=(theirs, work, arguments), daemon=False)

    def __enter__(self):
        self.process.start()
        self.result()  # it is in its namespace
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.join()

    def begin(self, name, *arguments):
        """Have it call a method of its object; result() gets what that returned."""
        self.pipe.send((name, arguments))

    def result(self):
        """What the call returned. Raises Failure with the text of what it has raised."""
        try:
            good, value = self.pipe.recv()
        except EOFError:
            raise Failure("a process of the measurement has died") from None
        if not good:
            raise Failure(value)
        return value

    def call(self, name, *arguments):
        """begin() and result()."""
        self.begin(name, *arguments)
        return self.result()


def end_with_parent():
    """Have the kernel end this process with the one that started it; what a terminal sends is for that one."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _answer(pipe, work, arguments):
    end_with_parent()
    try:
        network.call("unshare", network.CLONE_NEWNET)
        network.silence()
        network.ip("link", "set", "lo", "up")
        thing = work(*arguments)
        pipe.send((True, None))
        while True:
            name, args = pipe.recv()
            pipe.send((True, getattr(thing, name)(*args)))
    except EOFError:
        return
    except Exception as e:  # of any kind: the other process tells it
        pipe.send((False, str(e) if isinstance(e, (Failure, OSError)) else traceback.format_exc()))


def attach(family, interface, prefix):
    """Have an interface speak a family, with one address, to which a socket can be bound at once."""
    is_ipv6 = family.socket == socket.AF_INET6
    if is_ipv6:
        for name, value in (("accept_ra", 0), ("accept_dad", 0), ("disable_ipv6", 0)):
            network.sysctl(f"ipv6/conf/{interface}/{name}", value)
    network.ip("addr", "add", prefix, "dev", interface, *(["nodad"] if is_ipv6 else []))
    network.ip("link", "set", interface, "mtu", 1500, "up")


class Server:
    """Sends as fast as it can to whoever connects by TCP, or asks for a scalable sender."""

    def __init__(self, family, ecn):
        self.family = family
        network.sysctl("ipv4/tcp_no_metrics_save", 1)  # no case is to know what the one before found
        network.sysctl("ipv4/tcp_ecn", 1 if ecn else 0)
        self.listener, self.asked, self.flows, self.congestion = None, None, [], ""

    def join(self):
        """Set up the interface that was moved here, and listen."""
        network.plain("net")
        attach(self.family, "net", f"{self.family.server}/{self.family.net}")
        network.ip("route", "add", "default", "via", self.family.gateway)
        self.listener = socket.create_server((self.family.server, PORT), family=self.family.socket)
        self.asked = socket.socket(self.family.socket, socket.SOCK_DGRAM)
        self.asked.bind((self.family.server, scalable.PORT))
        threading.Thread(target=self._accept, daemon=True).start()
        threading.Thread(target=self._hear, daemon=True).start()

    def _hear(self):
        while True:
            _, peer = self.asked.recvfrom(64)
            self.flows.append(scalable.Sender(self.family, peer))
            threading.Thread(target=self.flows[-1].run, daemon=True).start()

    def _accept(self):
        while True:
            s, _ = self.listener.accept()
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, self.congestion.encode())
            self.flows.append(s)
            threading.Thread(target=self._send, args=(s,), daemon=True).start()

    @staticmethod
    def _send(s):
        data = bytes(BUFFER)
        with contextlib.suppress(OSError):
            if s.recv(len(GO)) == GO:
                while True:
                    s.sendall(data)

    def use(self, congestion):
        """Have TCP send by a congestion control from now on."""
        self.congestion, self.flows = congestion, []

    def watch(self, seconds):
        """Look at its flows for so long: (medians of the smoothed round-trip time in ms, retransmitted segments, those acknowledged
        with an echo of congestion)."""
        rtts, end = [], time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(SAMPLE)
            rtts += [info[0] for info in map(self._info, self.flows) if info]
        last = [info for info in map(self._info, self.flows) if info]
        return rtts, sum(info[1] for info in last), sum(info[2] for info in last)

    @staticmethod
    def _info(s):
        """(smoothed round-trip time in ms, packets that were lost or sent again, that were told to be marked) of a flow; None: there is none."""
        if isinstance(s, scalable.Sender):
            return s.rtt, s.lost, s.marked
        try:
            data = s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, DELIVERED_CE.size)
            info = TCP_INFO.unpack_from(data)
            return info[RTT] / 1e3, info[RETRANSMITS], DELIVERED_CE.unpack(data)[0] if len(data) == DELIVERED_CE.size else 0
        except (OSError, struct.error):
            return None  # closed


class Home:
    """A subscriber's home: it downloads, and pings the server meanwhile."""

    def __init__(self, family, ecn, delay):
        network.sysctl("ipv4/tcp_ecn", 1 if ecn else 0)
        self.family, self.delay, self.flows = family, delay, []

    def join(self):
        """Set up the interface that was moved here, and start the modem."""
        network.ip("link", "set", "modem", "up")
        tun = network.tun("wan")
        attach(self.family, "wan", f"{self.family.subscriber}/{8 * len(socket.inet_pton(self.family.socket, self.family.subscriber))}")
        network.ip("route", "add", self.family.all, "dev", "wan")
        line = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003))
        line.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 8 << 20)
        line.bind(("modem", 0))
        line.setblocking(False)
        if os.fork() == 0:
            end_with_parent()
            modem(tun, line, self.delay)
        os.close(tun)
        line.close()

    def reach(self, seconds):
        """Ping until the server answers; whether it did within so many seconds."""
        with Pings(self.family) as pings:
            end = time.monotonic() + seconds
            while not pings.answered and time.monotonic() < end:
                pings.send()
                select.select([pings.socket], [], [], 0.1)
                pings.receive()
        return bool(pings.answered)

    def connect(self, kinds):
        """Have a flow of each kind: scalable.NAME, or else TCP, whose connections are made while the line is idle: a SYN that a full queue drops
        comes again after a second, which no ping may wait for."""
        self.flows = [None if kind == scalable.NAME else socket.create_connection((self.family.server, PORT), timeout=10) for kind in kinds]

    def download(self, idle, settle, seconds):
        """Ping for idle seconds, then download, too, for so many seconds, by the flows that connect() made. Returns what was seen, times in seconds
        from the first download on: {"pings": [(time, ms, ECN field)], "lost": pings without an answer, "bytes": data of each flow that came after
        settle seconds}."""
        with Pings(self.family) as pings:
            begin = time.monotonic() + idle
            sockets, got = {}, [0] * len(self.flows)
            poll = select.poll()
            poll.register(pings.socket, select.POLLIN)
            room = bytearray(BUFFER)
            while (now := time.monotonic()) < begin + seconds:
                pings.keep(now)
                if not sockets and now >= begin:
                    sockets = self._start(poll)
                for fd, _ in poll.poll(1e3 * PING_PERIOD / 4):
                    if fd == pings.socket.fileno():
                        pings.receive()
                        continue
                    number, s = sockets[fd]
                    n = s.receive() if isinstance(s, scalable.Receiver) else self._read(s, room)
                    if time.monotonic() >= begin + settle:
                        got[number] += n
            for _, s in sockets.values():
                s.close()
            end = time.monotonic() + LAST_PING
            while pings.waiting and time.monotonic() < end:
                select.select([pings.socket], [], [], 0.1)
                pings.receive()
            return {"pings": [(sent - begin, rtt, ecn) for sent, rtt, ecn in pings.answered], "lost": len(pings.waiting), "bytes": got}

    @staticmethod
    def _read(s, room):
        n = s.recv_into(room)
        if n == 0:
            raise Failure("the server has closed a connection")
        return n

    def _start(self, poll):
        """Have all flows begin. Returns {descriptor: (number of the flow, its socket)}."""
        sockets = {}
        for number, s in enumerate(self.flows):
            if s is None:
                s = scalable.Receiver(self.family)
            else:
                s.setblocking(False)
                s.send(GO)
            sockets[s.fileno()] = (number, s)
            poll.register(s, select.POLLIN)
        return sockets


class Pings:
    """Echo requests (RFC 792, 4443), timed by the kernel when their answers come; every other one says ECT(1), as its answer then does."""

    def __init__(self, family):
        is_ipv6 = family.socket == socket.AF_INET6
        self.family, (self.request, self.reply) = family, (128, 129) if is_ipv6 else (8, 0)
        self.socket = socket.socket(family.socket, socket.SOCK_RAW, socket.IPPROTO_ICMPV6 if is_ipv6 else socket.IPPROTO_ICMP)
        self.socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self.socket.setsockopt(*scalable.FIELDS[family.socket], 1)
        self.socket.setblocking(False)
        self.ident, self.number, self.next = os.getpid() & 0xFFFF, 0, 0.0
        self.waiting = {}  # number: (time.monotonic(), time.time_ns())
        self.answered = []  # (time.monotonic() when it was sent, ms, ECN field of the answer)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def keep(self, now):
        """Send one if it is time to."""
        if now >= self.next:
            self.next = max(self.next + PING_PERIOD, now)
            self.send()

    def send(self):
        """Send one."""
        self.number += 1
        head = struct.pack("!BBHHH", self.request, 0, 0, self.ident, self.number & 0xFFFF)
        check = checksum(head + bytes(48))  # of ICMPv6 the kernel makes it
        self.waiting[self.number & 0xFFFF] = (time.monotonic(), time.time_ns())
        with contextlib.suppress(OSError):  # no buffer is left: a ping that is lost
            self.socket.setsockopt(*scalable.FIELD[self.family.socket], scalable.ECT1 * (self.number & 1))
            self.socket.sendto(head[:2] + struct.pack("!H", check) + head[4:] + bytes(48), (self.family.server, 0))

    def receive(self):
        """Take all answers that are there."""
        with contextlib.suppress(BlockingIOError):
            while True:
                packet, extra, _, _ = self.socket.recvmsg(256, 64)
                at = 0 if self.family.socket == socket.AF_INET6 else (packet[0] & 15) * 4
                kind, _, _, ident, number = struct.unpack_from("!BBHHH", packet, at)
                if (kind, ident) == (self.reply, self.ident) and number in self.waiting:
                    told = {(level, what): data for level, what, data in extra}
                    seconds, ns = struct.unpack("qq", told[socket.SOL_SOCKET, SO_TIMESTAMPNS][:16])
                    sent, sent_ns = self.waiting.pop(number)
                    ecn = told[scalable.FIELD[self.family.socket]][0] & scalable.CE
                    self.answered.append((sent, (seconds * 1_000_000_000 + ns - sent_ns) / 1e6, ecn))


def checksum(data):
    """The Internet checksum of an even number of bytes (RFC 1071)."""
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def modem(tun, line, delay):
    """Carry packets between an interface and a line with two VLAN tags, and those that go up delay seconds later. Never returns."""
    late = collections.deque()  # (when to send, frame)
    while True:
        wait = max(0.0, late[0][0] - time.monotonic()) if late else None
        select.select([tun, line], [], [], wait)
        with contextlib.suppress(BlockingIOError):
            while True:
                late.append((time.monotonic() + delay, up(os.read(tun, 2048))))
        while late and late[0][0] <= time.monotonic():
            with contextlib.suppress(OSError):  # no buffer is left: a packet that is lost
                line.send(late.popleft()[1])
        with contextlib.suppress(BlockingIOError):
            while True:
                take(tun, line.recv(2048))


def up(packet):
    """The frame of a packet that goes up the line."""
    return UP + TYPES[packet[0] >> 4] + packet


def take(tun, frame):
    """Hand what came down the line to the home; the kernel has taken the outer tag off already, or has not."""
    if frame[:6] != UP[6:12]:
        return  # what went up is seen here, too
    at = 12
    while frame[at:at + 2] in (b"\x81\x00", b"\x88\xa8"):
        at += 4
    if frame[at:at + 2] in TYPES.values():
        os.write(tun, frame[at + 2:])
