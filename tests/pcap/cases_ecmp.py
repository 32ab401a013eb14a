# SPDX-License-Identifier: BSD-3-Clause
"""A route with several next hops: each flow leaves by one of them, as that one wants it, and all of them are used."""

import functools

from scapy.layers.inet6 import IPv6ExtHdrFragment

from tests.pcap import frames as fr
from tests.pcap.cases_ipv6 import from_cpe, hop, packet6, wan
from tests.pcap.cases_ipv6_core import encapsulated6
from tests.pcap.frames import Subscriber
from tests.pcap.traffic import Traffic

NET, NET6 = "198.51.100", "2400:cb00:2"
# (port, GRE, MPLS) of each next hop
WAYS = [("core0", True, True), ("core1", True, True), ("core1", False, True), ("core0", False, False)]
SILENT = '{ port = "core0"; via = "192.0.2.3"; mpls = 99; }'
FLOWS = 96


def next_hop(port, gre, mpls):
    keys = [f'port = "{port}"; mac = "{fr.NEIGHBOUR_MAC[port]}";']
    keys += [f'gre = "{fr.TUNNEL_IP[port]}";'] * gre + [f'mpls = {fr.LABEL[port]};'] * mpls
    return "{ " + " ".join(keys) + " }"


def packets_of(flow, sub):
    """Packets of one flow, in their order: of several lengths, and a datagram in fragments where the number of the flow says so."""
    dst = f"{NET}.{flow % 5}"
    if flow % 8 == 7:
        datagram = fr.raw(fr.IP(src=sub.ip, dst=dst) / fr.UDP(sport=1000 + flow, dport=9) / fr.Raw(fr.payload(184)))[20:]
        return [fr.raw(fr.IP(src=sub.ip, dst=dst, id=flow, proto=17, flags=1 if at < 2 else 0, frag=at * 8) / fr.Raw(datagram[at * 64 :][:64]))
                for at in range(3)]  # fmt: skip
    return [fr.raw(fr.IP(src=sub.ip, dst=dst, id=100 * k + flow) / fr.UDP(sport=1000 + flow, dport=9) / fr.Raw(fr.payload(50 + 13 * k)))
            for k in range(4)]  # fmt: skip


def packets6_of(flow, sub):
    """The same of IPv6: a flow of four lengths, or of three fragments."""
    dst = f"{NET6}::{flow % 5:x}"
    if flow % 8 == 7:
        return [packet6(wan(sub), dst, IPv6ExtHdrFragment(id=flow, m=int(at < 2), offset=at * 8), size=56) for at in range(3)]
    return [packet6(wan(sub, f"::{1 + flow:x}"), dst, size=50 + 13 * k, seed=flow) for k in range(4)]


@functools.cache
def flows(six):
    """(number, subscriber, packets) of each."""
    subscribers = [Subscriber(flow % 2, flow // 2) for flow in range(FLOWS)]
    return [(flow, sub, packets6_of(flow, sub) if six else packets_of(flow, sub)) for flow, sub in enumerate(subscribers)]


def judge(places, n_ways, silent):
    """places: {frame: (flow, number of the packet, way)} of all frames that may be sent."""

    def wrong_with(sent):
        wrong, ways, seen = [], {}, {}
        for port, frames in sent.items():
            for frame in frames:
                if silent and frame[12:14] == b"\x08\x06" and port == "core0":
                    continue  # the one without MAC is asked for
                if frame not in places:
                    wrong.append(f"{port} sends what no next hop wants: {frame.hex()}")
                    continue
                flow, number, way = places[frame]
                if WAYS[way][0] != port:
                    wrong.append(f"flow {flow} leaves by {port} for next hop {way}")
                ways.setdefault(flow, set()).add(way)
                seen.setdefault(flow, []).append(number)
        for flow in range(FLOWS):
            if len(ways.get(flow, ())) != 1:
                wrong.append(f"flow {flow} has the next hops {ways.get(flow)}")
            if seen.get(flow) != sorted(seen.get(flow, ())) or len(seen[flow]) != (3 if flow % 8 == 7 else 4):
                wrong.append(f"flow {flow}: packets {seen.get(flow)}")
        used = [sum(way in w for w in ways.values()) for way in range(n_ways)]
        if min(used) < FLOWS / n_ways / 3:
            wrong.append(f"flows by next hop: {used}")
        return wrong

    return wrong_with


def spread(name, silent, six=False, **gateway):
    case = Traffic(name, ipv6=six, **gateway)
    hops = [next_hop(*way) for way in WAYS] + [SILENT] * silent
    case.gateway.routes = f'{{ prefix = "{NET6 + "::/48" if six else NET + ".0/24"}"; nexthops = ( {", ".join(hops)} ); }}'
    places = {}
    for k in range(4):  # the flows' packets come in turn
        for flow, sub, packets in flows(six):
            if k >= len(packets):
                continue
            case.send(sub.port, from_cpe(sub, packets[k]) if six else fr.from_cpe(sub, packets[k]))
            for way, (port, gre, mpls) in enumerate(WAYS):
                frame = (encapsulated6(port, hop(packets[k]), sub.key, gre, mpls) if six
                         else fr.encapsulated(port, fr.forwarded(packets[k]), sub.key if gre else None, gre, mpls))
                places[frame] = (flow, k, way)
    case.judge = judge(places, len(WAYS), silent)
    return case


def cases():
    yield spread("up-ecmp", False)
    yield spread("up-ecmp-unfused", False, top="fuse = false;")
    yield spread("up-ecmp-one-silent", True)
    yield spread("up-ecmp-ipv6", False, six=True)
    yield spread("up-ecmp-ipv6-unfused", False, six=True, top="fuse = false;")
    yield spread("up-ecmp-ipv6-one-silent", True, six=True)
