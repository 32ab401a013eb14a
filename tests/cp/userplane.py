# SPDX-License-Identifier: BSD-3-Clause
"""A user plane for vbng-cp: the control and the punt socket of a vbng (doc/control.md, src/packet/punt.h), without packets behind them."""

import contextlib
import json
import os
import queue
import select
import socket
import struct
import threading

MAGIC = 0x31504256
HEADER = struct.Struct("=IHHIIHHB3xQ32s")
HELLO, DHCP4, DHCP6, DISCOVERY, PPP = range(5)
KINDS = {b"\x08\0": (DHCP4,), b"\x86\xdd": (DHCP6,), b"\x88\x63": (DISCOVERY,), b"\x88\x64": (PPP,)}  # of an EtherType
MTU = 1500
ADDRESSES = ("ipv4", "ipv6", "delegated")


class UserPlane:
    """One thread serves both sockets. `rows` are its subscribers by line, (port, svlan, cvlan); `frames` what it was sent."""

    def __init__(self, folder, ports):
        self.ports = ports  # name: MAC
        self.rows = {}
        self.frames = queue.Queue()
        self.requests = []  # all of them, and what was answered
        self.refuse = None  # a function of a subscriber that may return why he is refused
        self.fixed = set()  # lines whose subscribers cannot be changed in place
        self.ids = {}  # by line, of those in rows
        self.kept = {}  # by line: octets of who was removed last
        self.octets = {}  # by line: [since, packets and octets of IPv4, of IPv6, and the same down]; absent: zeros
        self.turns_away = False  # connections to the punt socket are closed at once
        self.reads_frames = True  # set by read_frames()
        self.hold = threading.Event()  # while it is clear, control requests wait
        self.hold.set()
        self.control_path, self.punt_path = os.path.join(folder, "c"), os.path.join(folder, "p")
        self.punt = None
        self._wake_r, self._wake_w = os.pipe()
        self._control = self._listen(self.control_path, socket.SOCK_STREAM)
        self._listener = self._listen(self.punt_path, socket.SOCK_SEQPACKET)
        self._clients = {}
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @staticmethod
    def _listen(path, kind):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        s = socket.socket(socket.AF_UNIX, kind)
        s.bind(path)
        s.listen(8)
        return s

    def stop(self):
        """As if it were killed: both sockets close. Its subscribers stay in `rows`."""
        os.write(self._wake_w, b"x")
        self._thread.join()
        for s in (self._control, self._listener, self.punt, *self._clients):
            if s is not None:
                s.close()
        os.close(self._wake_r)
        os.close(self._wake_w)

    def read_frames(self, reads):
        """Read the punt socket or not, as a vbng that has no time."""
        self.reads_frames = reads
        os.write(self._wake_w, b"w")

    def cut(self):
        """End the punt socket's connection, and take none until turns_away is False."""
        self.turns_away = True
        self.punt.shutdown(socket.SHUT_RDWR)

    def _serve(self):
        while True:
            watched = [self._wake_r, self._control, self._listener, *self._clients] + ([self.punt] if self.punt and self.reads_frames else [])
            ready, _, _ = select.select(watched, [], [])
            for s in ready:
                if s == self._wake_r:
                    if os.read(s, 1) == b"x":
                        return
                else:
                    self._ready(s)

    def _ready(self, s):
        if s is self._control:
            self._clients[s.accept()[0]] = b""
        elif s is self._listener:
            new = s.accept()[0]
            if self.punt is not None or self.turns_away:
                new.close()
                return
            for name, mac in self.ports.items():
                new.send(message(HELLO, (name, 0, 0), bytes.fromhex(mac.replace(":", "")) + struct.pack(">H", MTU)))
            self.punt = new
        elif s is self.punt:
            data = received(s, 4096)
            if data:
                self.frames.put(split(data))
            else:
                s.close()
                self.punt = None
        else:
            self._read_requests(s)

    def _read_requests(self, s):
        data = received(s, 1 << 20)
        if not data:
            del self._clients[s]
            s.close()
            return
        *lines, self._clients[s] = (self._clients[s] + data).split(b"\n")
        for line in lines:
            self.hold.wait()
            request = json.loads(line)
            answer = getattr(self, "_" + request["cmd"].replace("-", "_"))(request)
            self.requests.append((request, answer))
            with contextlib.suppress(OSError):
                s.sendall(json.dumps(answer).encode() + b"\n")

    def _list_subscribers(self, request):
        rows = sorted(self.rows.values(), key=lambda r: (r["port"], r["svlan"], r["cvlan"]))
        first, count = request["first"] - 1, request["count"]
        found = [{"id": self.id_of(row), "dynamic": True, **with_length(row)} for row in rows[first:first + count]]
        return {"ok": True, "subscribers": found, "next": first + count + 1 if first + count < len(rows) else None}

    def _put_subscribers(self, request):
        results = [self._put(row) for row in request["subscribers"]]
        return {"ok": True, "results": results}

    def _put(self, row):
        row = without_length(row)
        line = (row["port"], row["svlan"], row["cvlan"])
        others = {r[key] for at, r in self.rows.items() if at != line for key in ADDRESSES if key in r}
        was = self.rows.get(line)
        why = self.refuse(row) if self.refuse else None
        for clash in {row[key] for key in ADDRESSES if key in row} & others:
            why = f"{clash} is another's"
        if why:
            return {"was": "refused", "error": why}
        if was is not None and line in self.fixed and was != row:
            return {"was": "different", "id": self.id_of(row)}
        self.rows[line] = row
        return {"was": "added" if was is None else "equal" if was == row else "changed", "id": self.id_of(row)}

    def id_of(self, row):
        return self.ids.setdefault((row["port"], row["svlan"], row["cvlan"]), len(self.ids) + 1)

    def _octets_of(self, line):
        return [self.ids[line], *self.octets.get(line, [1, *[0] * 8])]

    def _subscriber_octets(self, request):
        return {"ok": True, "octets": [self._octets_of(line) for line in self.rows if line in self.ids], "next": None}

    def _remove_subscribers(self, request):
        assert request["if_there"] is True
        last = []
        for text in request["subscribers"]:
            port, vlans = text.split(" ")
            line = (port, *map(int, vlans.split(".")))
            if self.rows.pop(line, None) is not None and line in self.ids:
                self.kept[line] = self._octets_of(line)
            last.append(self.kept.get(line))
            self.octets.pop(line, None)
            self.fixed.discard(line)
        return {"ok": True, "octets": last}

    def _set_profile(self, request):
        port, vlans = request["subscriber"].split(" ")
        row = self.rows.get((port, *map(int, vlans.split("."))))
        why = self.refuse(request) if self.refuse else None
        if row is None or why:
            return {"error": why or f"no subscriber {request['subscriber']}"}
        row["profile"] = request["profile"]
        return {"ok": True}

    @property
    def idle(self):
        """Has it answered all that clients have asked who are gone?"""
        return not self._clients

    def send(self, line, frame, kind=DHCP4, session=0):
        """Punt a frame of a line, and of a PPPoE session."""
        self.punt.send(message(kind, line, frame, session))

    def expect(self, seconds=5):
        """(line, frame) that vbng-cp sends next."""
        return self.frames.get(timeout=seconds)


def with_length(row):
    """A subscriber as list-subscribers has him."""
    return row | {"ipv4": row["ipv4"] + "/32"} if "ipv4" in row else row


def without_length(row):
    """The same as tests have him."""
    return row | {"ipv4": row["ipv4"].removesuffix("/32")} if "ipv4" in row else row


def received(s, most):
    """What has come, b"" where the other side was killed."""
    try:
        return s.recv(most)
    except ConnectionResetError:
        return b""


def message(kind, line, frame, session=0):
    port, svlan, cvlan = line
    return HEADER.pack(MAGIC, HEADER.size, len(frame), 0, session, svlan, cvlan, kind, 0, port.encode()) + frame


def split(data):
    """(line, frame) of a message."""
    magic, header, n, _, _, svlan, cvlan, kind, _, port = HEADER.unpack_from(data)
    assert (magic, header) == (MAGIC, HEADER.size) and kind in KINDS[data[header + 12:header + 14]]
    assert len(data) == header + n
    return (port.rstrip(b"\0").decode(), svlan, cvlan), data[header:]
