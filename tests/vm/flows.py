# SPDX-License-Identifier: BSD-3-Clause
"""Numbered datagrams between a CPE and a host of the core, and TCP, and what becomes of them. A CPE may be in an emulated guest, so nothing but Python's own
is imported.

usage: flows.py serve                                      the host of the core
       flows.py circle FOLDER SOURCE...                    from each of the CPE's addresses to the host and back, until FOLDER/stop is there
       flows.py down|up SOURCE BYTES/S BYTES SECONDS       a load in one direction: how many of its packets arrived in each second
       flows.py carry SOURCE BYTES                         by TCP to the host, and the same bytes back: how many came, and whether they are those
"""

import json
import os
import select
import socket
import struct
import sys
import threading
import time

HOST, HOST6 = "192.0.2.2", "2001:db8:f::2"
SO_RCVBUFFORCE = 33  # of <asm/socket.h>
ECHO, DOWN, UP, CARRY = 7, 9, 10, 11  # ports
PACE, SIZE = 0.04, 1000  # of datagrams in a circle: s between two, bytes
TICK = 0.002  # s, of who sends a load
ROOM = 4 << 20  # bytes that may wait for who has no CPU
QUIET = 5.0  # s without any: the rest is lost
PATIENCE = 60.0  # s, of TCP
WISH = struct.Struct("!dId")  # for a load: bytes/s, size, seconds
NUMBER = struct.Struct("!I")


def keep_order():
    """Send from one CPU: each has a queue of its own between namespaces, and that of one which the host of a guest lets wait is overtaken."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def bound(family, address="", port=0):
    s = socket.socket(family, socket.SOCK_DGRAM)
    if family == socket.AF_INET6:
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    s.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, ROOM)
    s.bind((address, port))
    return s


def of_cpe(source, port):
    """A socket of a CPE's address, and the host's."""
    s = bound(socket.AF_INET6 if ":" in source else socket.AF_INET, source)
    s.connect((HOST6 if ":" in source else HOST, port))
    return s


def seconds_of(times):
    """How many times are in each whole second after the first one, which only filled the queues."""
    counts = [0] * int(times[-1] - times[0]) if times else []
    for t in times:
        if t - times[0] < len(counts):
            counts[int(t - times[0])] += 1
    return counts[1:]


def all_of(s):
    """What comes by TCP until the other end sends no more."""
    s.settimeout(PATIENCE)
    return b"".join(iter(lambda: s.recv(1 << 16), b""))


def mirror(listener):
    """The host's end of each connection."""
    while True:
        s = listener.accept()[0]
        with s:
            try:
                s.sendall(all_of(s))
            except OSError:
                pass  # the CPE says so


class Load:
    """What the host sends to a CPE who has asked for it."""

    def __init__(self, s, to, rate, size, seconds):
        self.s, self.to, self.rate, self.size, self.begun = s, to, rate, size, time.monotonic()
        self.end, self.sent = self.begun + seconds, 0

    def send(self):
        """What is due. Returns whether there will be more."""
        now = time.monotonic()
        due = int((min(now, self.end) - self.begun) * self.rate / self.size)
        for _ in range(self.sent, due):
            self.s.sendto(bytes(self.size), self.to)
        self.sent = due
        return now < self.end


class Host:
    """Of the core: sends datagrams back, sends a load to who asks for one, and counts the loads that come."""

    def __init__(self):
        self.sockets = {bound(family, port=port): port for port in (ECHO, DOWN, UP) for family in (socket.AF_INET, socket.AF_INET6)}
        self.loads, self.times = [], {}

    def take(self, s):
        data, source = s.recvfrom(2048)
        if self.sockets[s] == ECHO:
            s.sendto(data, source)
        elif self.sockets[s] == DOWN:
            self.loads.append(Load(s, source, *WISH.unpack(data)))
        elif data:
            self.times.setdefault(source, []).append(time.monotonic())
        else:  # the CPE asks
            s.sendto(json.dumps(seconds_of(self.times.get(source, []))).encode(), source)

    def serve(self):
        keep_order()
        listener = socket.create_server(("::", CARRY), family=socket.AF_INET6, dualstack_ipv6=True)
        threading.Thread(target=mirror, args=[listener], daemon=True).start()
        print("ready", flush=True)
        while True:
            for s in select.select(list(self.sockets), [], [], TICK if self.loads else None)[0]:
                self.take(s)
            self.loads = [load for load in self.loads if load.send()]


def circle(folder, sources):
    """{source: how many were sent, the numbers of those that did not come back, and of those that came after a later one, or again}"""
    keep_order()
    sockets = {of_cpe(source, ECHO): source for source in sources}
    heard = {source: [] for source in sources}
    sent, due, last, is_over = 0, time.monotonic(), time.monotonic(), False
    while not is_over or (any(len(numbers) < sent for numbers in heard.values()) and time.monotonic() < last + QUIET):
        if not is_over and time.monotonic() >= due:
            for s in sockets:
                s.send(NUMBER.pack(sent) + bytes(SIZE - NUMBER.size))
            sent += 1
            due = max(due, time.monotonic() - PACE) + PACE  # who was away makes up for nothing: that might be more than the rate
            is_over = os.path.exists(os.path.join(folder, "stop"))
        for s in select.select(list(sockets), [], [], PACE / 2)[0]:
            heard[sockets[s]].append(NUMBER.unpack_from(s.recv(2048))[0])
            last = time.monotonic()
            if len(heard[sockets[s]]) == 1 and all(heard.values()):
                open(os.path.join(folder, "flows"), "w", encoding="ascii").close()
    return {source: {"sent": sent, "lost": sorted(set(range(sent)) - set(numbers)), "late": [b for a, b in zip(numbers, numbers[1:]) if b <= a]}
            for source, numbers in heard.items()}


def down(source, rate, size, seconds):
    """A load that the host sends."""
    s, times = of_cpe(source, DOWN), []
    s.send(WISH.pack(rate, size, seconds))
    s.settimeout(QUIET)
    try:
        while True:
            s.recv(2048)
            times.append(time.monotonic())
            s.settimeout(1.0)
    except TimeoutError:
        return seconds_of(times)


def up(source, rate, size, seconds):
    """A load that the CPE sends."""
    s, sent, begun = of_cpe(source, UP), 0, time.monotonic()
    while (now := time.monotonic()) < begun + seconds:
        for _ in range(sent, int((now - begun) * rate / size)):
            s.send(bytes(size))
            sent += 1
        time.sleep(TICK)
    s.settimeout(1.0)
    for _ in range(10):
        s.send(b"")
        try:
            return json.loads(s.recv(2048))
        except TimeoutError:
            pass
    return []


def carry(source, size):
    data = os.urandom(size)
    with socket.create_connection((HOST6 if ":" in source else HOST, CARRY), PATIENCE, (source, 0)) as s:
        s.sendall(data)
        s.shutdown(socket.SHUT_WR)
        back = all_of(s)
    return {"bytes": len(back), "same": back == data}


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        Host().serve()
    elif sys.argv[1] == "circle":
        print(json.dumps(circle(sys.argv[2], sys.argv[3:])))
    elif sys.argv[1] == "carry":
        print(json.dumps(carry(sys.argv[2], int(sys.argv[3]))))
    else:
        print(json.dumps({"down": down, "up": up}[sys.argv[1]](sys.argv[2], float(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5]))))
