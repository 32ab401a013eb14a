# SPDX-License-Identifier: BSD-3-Clause
"""The far ends of the ports of a guest, as datagram sockets or tap interfaces: frames in, frames out, of 512 subscribers, made and read with Scapy."""

import os
import socket
import struct
import subprocess
import time

from scapy.layers.inet import GRE, IP, UDP
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Raw

from tests.common.limits import limit
from vbnglab.vm.qemu import PEER

SUBSCRIBERS = 512
GATEWAY, CORE, NEXT_HOP = "02:b0:00:00:00:00", "02:b0:00:00:01:00", "02:dd:00:00:00:00"
WINDOW = 16  # frames that are under way: a datagram socket holds hardly more
QUIET = 3.0  # s without a frame: no more come


class Datagrams:
    """The other end of a "dgram" port."""

    def __init__(self, path):
        self.path = os.fspath(path)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path + PEER)
        self.option = f"dgram:{self.path}"

    def close(self):
        self.socket.close()

    def send(self, frame):
        self.socket.sendto(frame, self.path)

    def receive(self, seconds):
        """The next frame within a time, or None."""
        self.socket.settimeout(max(seconds, 0.001))
        try:
            return self.socket.recv(65536)
        except TimeoutError:
            return None


class Tap:
    """A tap interface with several queues, whose other side is in the guest."""

    def __init__(self, name, queues):
        self.name = name
        self.option = f"tap:{name},queues={queues}"
        subprocess.run(["ip", "tuntap", "add", name, "mode", "tap", "multi_queue"], check=True)
        with open(f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6", "w", encoding="ascii") as f:
            f.write("1")  # no frames but ours
        subprocess.run(["ip", "link", "set", name, "up"], check=True)
        from tests.e2e.packet_socket import PacketSocket
        self.packets = PacketSocket(name)
        self.send, self.receive = self.packets.send, self.packets.receive

    def close(self):
        self.packets.s.close()
        subprocess.run(["ip", "link", "del", self.name], check=True)


def mac(subscriber):
    return f"02:c0:00:00:{subscriber >> 8:02x}:{subscriber & 255:02x}"


def address(subscriber):
    return f"10.0.{subscriber >> 8}.{subscriber & 255}"


def up(subscriber, payload=40):
    """A frame of a subscriber."""
    tags = Dot1Q(vlan=128 + (subscriber >> 8)) / Dot1Q(vlan=256 + (subscriber & 255))
    return bytes(Ether(src=mac(subscriber), dst=GATEWAY, type=0x88A8) / tags / IP(src=address(subscriber), dst="198.18.0.9", ttl=64) / UDP(sport=1024, dport=53)
                 / Raw(bytes(payload)))  # fmt: skip


def down(subscriber, payload=40):
    """A frame to a subscriber, from the core network."""
    return bytes(Ether(src=NEXT_HOP, dst=CORE) / IP(src="203.0.113.1", dst="192.0.2.1", flags="DF", id=0) / GRE(key_present=1, key=subscriber, proto=0x0800)
                 / IP(src="198.18.0.9", dst=address(subscriber), ttl=60) / UDP(sport=53, dport=1024) / Raw(bytes(payload)))  # fmt: skip


def subscriber_upstream(frame):
    """The number of the subscriber whose frame came out at the core side, or why it is none."""
    e = Ether(frame)
    if GRE not in e or e.dst != NEXT_HOP or e.src != CORE:
        return f"not for the next hop: {e.summary()}"
    n, inner = e[GRE].key, e[GRE].payload
    if not isinstance(inner, IP) or inner.src != address(n) or inner.ttl != 63:
        return f"not subscriber {n}'s, or its TTL is wrong: {e.summary()}"
    return n


def subscriber_downstream(frame):
    """The same at the access side."""
    outer, svlan, inner, cvlan = struct.unpack_from("!HHHH", frame, 12)
    if (outer, inner) != (0x88A8, 0x8100):
        return f"no frame with two tags: {Ether(frame).summary()}"
    e, packet, n = Ether(frame), IP(frame[22:]), (svlan - 128) << 8 | cvlan - 256
    if not 0 <= n < SUBSCRIBERS or e.dst != mac(n) or e.src != GATEWAY or packet.dst != address(n):
        return f"not subscriber {n}'s: {e.summary()}"
    return n


def exchange(sender, receiver, frames, read):
    """Send frames and read what comes out. Returns ({subscriber: how many}, what was wrong)."""
    found, wrong, sent, back = {}, [], 0, 0
    end = time.monotonic() + limit(60)
    while time.monotonic() < end:
        while sent < len(frames) and sent - back < WINDOW:
            sender.send(frames[sent])
            sent += 1
        frame = receiver.receive(limit(QUIET))
        if frame is None:
            if sent == len(frames) or sent - back >= WINDOW:  # it is lost
                break
            continue
        back += 1
        n = read(frame)
        if isinstance(n, int):
            found[n] = found.get(n, 0) + 1
        else:
            wrong.append(n)
        if back == len(frames):
            break
    return found, wrong
