# SPDX-License-Identifier: BSD-3-Clause
"""Frames of the addressing plan, built by Scapy and by nothing else.

A header that says nothing of what follows but its length is built once for all frames that have it: Scapy takes a millisecond for each.

The plan is that of pkt_templates/: subscriber i of access port a has S-VLAN 128 + i / 256, C-VLAN 256 + i % 256,
address 10.0.0.0 + a * 32768 + i, and the last number of that as its GRE key.
"""

import functools
import logging

logging.getLogger("scapy").setLevel(logging.ERROR)

from scapy.compat import raw  # noqa: E402
from scapy.contrib.mpls import MPLS  # noqa: E402
from scapy.layers.inet import ICMP, IP, UDP  # noqa: E402
from scapy.layers.l2 import ARP, GRE, Dot1Q, Ether  # noqa: E402
from scapy.packet import Raw  # noqa: E402

ACCESS, CORE = ("cpe0", "cpe1"), ("core0", "core1")
PORTS = ACCESS + CORE
GATEWAY_MAC = {
    "cpe0": "02:b0:00:00:00:00",
    "cpe1": "02:b0:00:00:00:01",
    "core0": "02:b0:00:00:01:00",
    "core1": "02:b0:00:00:01:01",
}
GATEWAY_IP = {"cpe0": "100.64.0.1", "cpe1": "100.64.0.2", "core0": "192.0.2.1", "core1": "192.0.2.5"}
NEIGHBOUR_MAC = {"core0": "02:dd:00:00:00:00", "core1": "02:dd:00:00:00:01"}
NEIGHBOUR_IP = {"core0": "192.0.2.2", "core1": "192.0.2.6"}
TUNNEL_IP = {"core0": "203.0.113.1", "core1": "203.0.113.2"}
LABEL = {"core0": 16, "core1": 17}
SERVER_NET = {"core0": "198.18", "core1": "198.19"}
MIN_FRAME = 60  # bytes without FCS
BROADCAST = "ff:ff:ff:ff:ff:ff"
TPID_88A8, TPID_8100 = 0x88A8, 0x8100
ETH_IPV4, ETH_ARP, ETH_MPLS = 0x0800, 0x0806, 0x8847


class Subscriber:
    """Subscriber i of access port 0 or 1."""

    def __init__(self, access, i):
        self.port = f"cpe{access}"
        self.i = i
        self.key = access * 32768 + i
        self.svlan = 128 + i // 256
        self.cvlan = 256 + i % 256
        self.ip = f"10.0.{self.key >> 8}.{self.key & 255}"
        self.mac = f"02:c{access}:00:00:{i >> 8:02x}:{i & 255:02x}"


def server(core, i=1):
    """An address that is routed to a core port."""
    return f"{SERVER_NET[core]}.{i >> 8}.{i & 255}"


def payload(n, seed=0):
    """n bytes that are not all alike, so that a shift by one shows."""
    return bytes((seed + 7 * i + (i >> 5)) & 0xFF for i in range(n))


def ip_options(data):
    """Options of an IPv4 header, byte by byte. Scapy 2.6 parses what it is given as an IPOption, and refuses some."""
    return [Raw(data)] if data else []


def pad(frame):
    """Zeros up to the smallest Ethernet frame."""
    return frame + b"\0" * (MIN_FRAME - len(frame))


def built(*layers):
    """Layers, each in the one before, as bytes. Their fields have one value each, so that Scapy need not look for sets of values, for which it copies all layers."""
    for outer, inner in zip(layers, layers[1:]):
        outer.add_payload(inner)
    for layer in layers:
        layer.explicit = 1
    return raw(layers[0])


def ip_bytes(packet):
    """An IP packet (Scapy's, or bytes) as bytes with all lengths and checksums filled in."""
    return packet if isinstance(packet, bytes) else raw(packet)


@functools.cache
def ether_header(dst, src, ethertype):
    return raw(Ether(dst=dst, src=src, type=ethertype))


@functools.cache
def tags(svlan, cvlan, spcp, pcp, dei, ethertype):
    return built(Dot1Q(prio=spcp, id=dei, vlan=svlan, type=TPID_8100), Dot1Q(prio=pcp, vlan=cvlan, type=ethertype))


def tagged(dst, src, sub, rest, ethertype=ETH_IPV4, tpid=TPID_88A8, pcp=0, spcp=None, dei=0):
    """A double-tagged frame without padding. pcp is that of both tags unless spcp says otherwise."""
    spcp = pcp if spcp is None else spcp
    return ether_header(dst, src, tpid) + tags(sub.svlan, sub.cvlan, spcp, pcp, dei, ethertype) + ip_bytes(rest)


def from_cpe(sub, packet, padded=True, dst=None, **more):
    """What a CPE sends."""
    frame = tagged(dst or GATEWAY_MAC[sub.port], sub.mac, sub, packet, **more)
    return pad(frame) if padded else frame


def to_cpe(sub, packet, dst=None, **more):
    """What the gateway sends to a CPE."""
    return pad(tagged(dst or sub.mac, GATEWAY_MAC[sub.port], sub, packet, **more))


@functools.cache
def udp(src, dst, size=12, ttl=64, tos=0, ident=0x1234, flags=0, options=b"", seed=0, **more):
    """An IPv4 packet with UDP and size bytes of payload."""
    ip = IP(src=src, dst=dst, ttl=ttl, tos=tos, id=ident, flags=flags, **more)
    if options:
        ip.options = ip_options(options)
    return built(ip, UDP(sport=40000, dport=40001), Raw(payload(size, seed)))


def udp_of_length(src, dst, total, **more):
    """The same with a total length."""
    return udp(src, dst, size=total - 28, **more)


@functools.cache
def labels(*stack):
    """A label stack; each is (label, ttl) or (label, ttl, tc). The S bit is on the last one only."""
    out = b""
    for k, entry in enumerate(stack):
        label, ttl, tc = (*entry, 0)[:3]
        out += raw(MPLS(label=label, cos=tc, s=int(k == len(stack) - 1), ttl=ttl))
    return out


def with_options(header, key, sequence):
    if key is not None:
        header.key_present = 1
        header.key = key
    if sequence is not None:
        header.seqnum_present = 1
        header.sequence_number = sequence
    return header


@functools.cache
def gre_header(key, sequence, proto):
    return raw(with_options(GRE(proto=proto), key, sequence))


def gre(inner, key=None, checksum=False, sequence=None, proto=ETH_IPV4):
    """A GRE header (RFC 2784, 2890) and what it carries."""
    if not checksum:
        return gre_header(key, sequence, proto) + ip_bytes(inner)
    header = GRE(proto=proto, chksum_present=1)
    return built(with_options(header, key, sequence), Raw(ip_bytes(inner)))


@functools.cache
def tunnel_header(length, fields):
    """The IPv4 header of a packet that carries so many bytes of GRE. fields: those of Scapy, as pairs."""
    return built(IP(proto=47, **dict(fields)), Raw(bytes(length)))[: -length or None]


def tunnel(src, dst, gre_packet, ttl=64, tos=0, ident=0, flags="DF", **more):
    """An IPv4 packet that carries GRE."""
    fields = {"src": src, "dst": dst, "ttl": ttl, "tos": tos, "id": ident, "flags": flags}
    if more:
        return raw(IP(proto=47, **fields, **more) / Raw(gre_packet))
    return tunnel_header(len(gre_packet), tuple(fields.items())) + gre_packet


def ether(dst, src, ethertype, rest):
    """An untagged frame without padding."""
    return ether_header(dst, src, ethertype) + rest


def arp(op, sha, spa, tha, tpa):
    """An ARP packet for Ethernet and IPv4. op: 1 request, 2 reply."""
    return raw(ARP(hwtype=1, ptype=0x0800, hwlen=6, plen=4, op=op, hwsrc=sha, psrc=spa, hwdst=tha, pdst=tpa))


def forwarded(packet, ttl=1, tos=None):
    """An IPv4 packet after a router: TTL less one, checksum computed anew by Scapy."""
    return forwarded_bytes(ip_bytes(packet), ttl, tos)


@functools.cache
def forwarded_bytes(packet, ttl, tos):
    length = 4 * (packet[0] & 15)
    ip = IP(packet[:length])
    ip.ttl -= ttl
    if tos is not None:
        ip.tos = tos
    del ip.chksum
    return raw(ip) + packet[length:]


def encapsulated(core, packet, key=None, with_gre=True, with_mpls=True, tos=None):
    """The gateway's frame to a core port for a packet that it has already routed."""
    packet = ip_bytes(packet)
    tos = packet[1] & 0xFC if tos is None else tos  # the outer header is Not-ECT
    if with_gre:
        packet = tunnel(GATEWAY_IP[core], TUNNEL_IP[core], gre(packet, key=key), tos=tos)
    kind = ETH_IPV4
    if with_mpls:
        packet = labels((LABEL[core], packet[8], packet[1] >> 5)) + packet
        kind = ETH_MPLS
    return pad(ether(NEIGHBOUR_MAC[core], GATEWAY_MAC[core], kind, packet))


def from_core(core, packet, key=None, stack=None, with_gre=True, **gre_more):
    """A core router's frame to the gateway. stack: label entries, () for none."""
    if with_gre:
        packet = tunnel(TUNNEL_IP[core], GATEWAY_IP[core], gre(packet, key=key, **gre_more), ident=0x4321, flags=0)
    stack = ((LABEL[core], 255),) if stack is None else stack
    rest = labels(*stack) + ip_bytes(packet) if stack else ip_bytes(packet)
    return ether(GATEWAY_MAC[core], NEIGHBOUR_MAC[core], ETH_MPLS if stack else ETH_IPV4, rest)
