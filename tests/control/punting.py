# SPDX-License-Identifier: BSD-3-Clause
"""A gateway with one access line of the kernel's, a client of its punt socket, and the frames of CPEs, which Scapy makes."""

import collections
import contextlib
import os
import signal
import socket
import struct
import subprocess
import time

from scapy.layers.dhcp import BOOTP, DHCP
from scapy.layers.dhcp6 import DHCP6_Solicit, DHCP6OptClientId
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1AD, Dot1Q, Ether
from scapy.layers.ppp import PPPoED

from tests.common.limits import limit
from tests.e2e import process
from tests.e2e.packet_socket import PacketSocket

GATEWAY, PORT = "02:b0:00:00:00:00", "access-0"
HELLO, DHCP4, DHCP6, PPPOE = range(4)
HEADER = struct.Struct("=IHHIIHHB3xQ32s")
MAGIC = 0x31504256
SUBSCRIBERS = 200  # 100.1 to 100.200 have 10.0.0.0 to 10.0.0.199; in S-VLAN 200 there are none
Message = collections.namedtuple("Message", "subscriber session svlan cvlan kind time_ns port frame")

CONFIGURATION = """
name = "punt"; memory = "no-huge"; idle = "sleep";
punt_socket = "{folder}/punt.sock";
pools = {{ default = {{ mbufs = "16K"; }}; }};
ports = (
    {{ name = "{port}"; device = "net_af_packet0,iface=gw-line,framecnt=16384"; mac = "{mac}"; addresses = "10.0.255.254"; mtu = 1400; }},
    {{ name = "core"; device = "net_null0,no-rx=1"; addresses = "192.0.2.1"; }}
);
subscribers = (
    {{ port = "{port}"; svlan = 100; cvlan = "1-{n}"; ipv4 = "10.0.0.0/24"; mac = "02:c0:00:00:00:01"; }}
);
routes = ( {{ prefix = "0.0.0.0/0"; port = "core"; mac = "02:d0:00:00:00:00"; }} );
tasks = (
    {{ name = "lb"; type = "lb"; from = "{port}"; to = "classify"; }},
    {{ name = "classify"; type = "classify"; to = "decap"; punt = "arp"; }},
    {{ name = "decap"; type = "qinq_decap"; to = "route"; }},
    {{ name = "route"; type = "route"; to = "core"; punt = "arp"; }},
    {{ name = "find"; type = "classify"; match = "ipv4"; from = "core"; to = "encap"; punt = "arp"; }},
    {{ name = "encap"; type = "qinq_encap"; to = "{port}"; punt = "arp"; }},
    {{ name = "arp"; type = "arp"; to = ["{port}", "core"]; ra = false; {arp} }}
);
layout = ( {{ core = "0"; tasks = ["lb"]; }}, {{ core = "1-2"; tasks = ["classify", "decap", "route"]; }},
           {{ core = "3"; tasks = ["find", "encap", "arp"]; }} );
"""


def interfaces():
    """A veth pair whose far end is the CPEs'; nothing else is on it."""
    for scope in ("all", "default"):
        with open(f"/proc/sys/net/ipv6/conf/{scope}/disable_ipv6", "w", encoding="ascii") as f:
            f.write("1")
    subprocess.run(["ip", "link", "add", "gw-line", "mtu", "2000", "type", "veth", "peer", "name", "far-line", "mtu", "2000"], check=True)
    for end in ("gw-line", "far-line"):
        subprocess.run(["ip", "link", "set", end, "up"], check=True)


class Gateway:
    """A vbng with a punt socket; use it in a with statement. What is wrong with its end is in wrong."""

    def __init__(self, binary, folder, arp="", options=()):
        self.folder, self.path, self.wrong = folder, os.path.join(folder, "punt.sock"), []
        ctx = process.Context(binary, str(folder))
        text = CONFIGURATION.format(folder=folder, port=PORT, mac=GATEWAY, n=SUBSCRIBERS, arp=arp)
        self.run = process.Run(ctx, "--quiet", "--share-cpus", *options, ctx.write("punt.cfg", text), report=True)
        end = time.monotonic() + limit(60)
        while not self.is_up() and self.run.process.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        if not self.is_up():
            self.stop()
            raise RuntimeError(f"did not start: {self.run.err}")

    def is_up(self):
        """Somebody answers on the socket, which is when the cores have been started or are about to be."""
        with contextlib.suppress(OSError):
            Client(self.path).close()
            return True
        return False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.run.process.poll() is None:
            self.stop()

    def stop(self):
        """Its report. What is wrong with its end is added to wrong."""
        if self.run.process.poll() is None:
            self.run.process.send_signal(signal.SIGTERM)
        if self.run.end(30) != 0:
            self.wrong.append(f"exit status {self.run.status}: {self.run.err}")
            return {}
        report = self.run.report()
        self.wrong += process.ledger_faults(report)
        return report


def figures(report):
    """(figures of the task arp, drops of all tasks by reason that are not 0)"""
    drops = collections.Counter()
    for t in report["tasks"]:
        drops.update({reason: n for reason, n in t["drops"].items() if n})
    return next(t["stats"] for t in report["tasks"] if t["name"] == "arp"), dict(drops)


class Client:
    """The control plane's end of the socket."""

    def __init__(self, path, seconds=10):
        self.s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.s.settimeout(limit(seconds))
        self.s.connect(path)

    def receive(self, seconds=10):
        """The next message; None where none comes, b"" where the gateway has closed the connection."""
        self.s.settimeout(limit(seconds))
        try:
            data = self.s.recv(4096)
        except (socket.timeout, BlockingIOError):
            return None
        except ConnectionResetError:
            return b""
        if not data:
            return b""
        magic, header, length, subscriber, session, svlan, cvlan, kind, time_ns, port = HEADER.unpack_from(data)
        assert (magic, header, length) == (MAGIC, HEADER.size, len(data) - HEADER.size), data
        return Message(subscriber, session, svlan, cvlan, kind, time_ns, port.rstrip(b"\0").decode(), data[header:])

    def give(self, svlan, cvlan, frame, kind=DHCP4, port=PORT, **other):
        self.s.send(message(svlan, cvlan, frame, kind, port, **other))

    def close(self):
        self.s.close()


def connect(path):
    """(client, its first message), once the gateway has noticed that the client of before is gone."""
    end = time.monotonic() + limit(20)
    while True:
        client = Client(path)
        first = client.receive()
        if first or time.monotonic() > end:
            return client, first
        client.close()
        time.sleep(0.02)


def message(svlan, cvlan, frame, kind=DHCP4, port=PORT, magic=MAGIC, header=HEADER.size, length=None):
    length = len(frame) if length is None else length
    name = port if isinstance(port, bytes) else port.encode()
    return HEADER.pack(magic, header, length, 0, 0, svlan, cvlan, kind, 0, name) + frame


def mac(svlan, cvlan):
    return f"02:c0:00:{svlan % 256:02x}:{cvlan // 256:02x}:{cvlan % 256:02x}"


def discover(svlan, cvlan, source="0.0.0.0", to="ff:ff:ff:ff:ff:ff", destination="255.255.255.255", sport=68, **ip):
    """A DHCPDISCOVER of a line's CPE, without tags."""
    client = mac(svlan, cvlan)
    return (Ether(src=client, dst=to) / IP(src=source, dst=destination, **ip) / UDP(sport=sport, dport=67)
            / BOOTP(chaddr=bytes.fromhex(client.replace(":", "")), xid=cvlan, ciaddr=source)
            / DHCP(options=[("message-type", "discover"), "end"]))  # fmt: skip


def solicit(svlan, cvlan, source="fe80::1", dport=547):
    client = mac(svlan, cvlan)
    return (Ether(src=client, dst="33:33:00:01:00:02") / IPv6(src=source, dst="ff02::1:2") / UDP(sport=546, dport=dport)
            / DHCP6_Solicit(trid=cvlan) / DHCP6OptClientId())  # fmt: skip


def padi(svlan, cvlan, to="ff:ff:ff:ff:ff:ff"):
    return Ether(src=mac(svlan, cvlan), dst=to, type=0x8863) / PPPoED(code=0x09, sessionid=0) / b"\x01\x01\0\0\x01\x03\0\x04abcd"


def tagged(svlan, cvlan, frame):
    """The bytes of a frame with the tags of a line, as an access node sends them."""
    raw = bytes(frame)
    tags = bytes(Ether(src=GATEWAY, dst=GATEWAY) / Dot1AD(vlan=svlan) / Dot1Q(vlan=cvlan))[12:20]
    return raw[:12] + tags + raw[12:]


def discovers(svlan, cvlans):
    """The bytes of DISCOVERs of many lines, with tags. Scapy makes one, without a checksum of UDP; the others differ in their line alone."""
    one = discover(svlan, 0)
    one[UDP].chksum = 0
    sample = tagged(svlan, 0, one)
    made = []
    for cvlan in cvlans:
        raw = bytearray(sample.replace(bytes.fromhex(mac(svlan, 0).replace(":", "")), bytes.fromhex(mac(svlan, cvlan).replace(":", ""))))
        raw[18:20], raw[54:58] = cvlan.to_bytes(2, "big"), cvlan.to_bytes(4, "big")  # the C-VLAN and BOOTP's transaction
        made.append(bytes(raw))
    return made


class Line:
    """The far end of the access port."""

    def __init__(self):
        self.s = PacketSocket("far-line")

    def send(self, svlan, cvlan, frame):
        self.s.send(tagged(svlan, cvlan, frame))

    def receive(self, seconds=10):
        return self.s.receive(limit(seconds))

    def close(self):
        self.s.s.close()
