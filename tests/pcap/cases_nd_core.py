# SPDX-License-Identifier: BSD-3-Clause
"""Neighbour discovery on core ports: the gateway's answers there, and next hops with an address of IPv6.

The core polls cpe0, cpe1, core0, core1 in this order, 32 frames each: that is how a case knows what comes first.
"""

from scapy.compat import raw
from scapy.layers.inet6 import ICMPv6ND_RS, ICMPv6NDOptSrcLLAddr, IPv6

from tests.pcap import frames as fr
from tests.pcap.cases_arp import BURST
from tests.pcap.cases_ipv6 import CORE, ETH_IPV6, from_cpe, hop, packet6, wan
from tests.pcap.cases_nd import ALL_NODES, ALL_NODES_MAC, SIDES, SUB, advert, group, link_local, solicit
from tests.pcap.traffic import Traffic

def router_asks(core, target, src, mac=None, dst=None, say=True, **ip):
    mac = mac or fr.NEIGHBOUR_MAC[core]
    return fr.ether(dst or group(target)[1], mac, ETH_IPV6, solicit(target, src, ICMPv6NDOptSrcLLAddr(lladdr=mac) if say else None, **ip))


def core_answers():
    """On a core port, whatever takes the encapsulation off there: a router needs no static entry for the gateway."""
    for name, sides in SIDES.items():
        case = Traffic(f"nd-core-answers-{name}", ipv6=True, **sides)
        for core in fr.CORE:
            mine, router = link_local(fr.GATEWAY_MAC[core]), fr.NEIGHBOUR_MAC[core]
            for asker, dst in ((link_local(router), None), ("2001:db8:c0::2", None), ("fe80::2", fr.GATEWAY_MAC[core])):
                case.send(core, router_asks(core, mine, asker, dst=dst))
                case.receive(core, fr.ether(router, fr.GATEWAY_MAC[core], ETH_IPV6, advert(mine, mine, asker, fr.GATEWAY_MAC[core], r=1)))
            case.send(core, router_asks(core, mine, "::", say=False))
            case.receive(core, fr.ether(ALL_NODES_MAC, fr.GATEWAY_MAC[core], ETH_IPV6,
                                        advert(mine, mine, ALL_NODES, fr.GATEWAY_MAC[core], r=1, s=0)))
        yield case


def core_refused():
    for name, sides in SIDES.items():
        case = Traffic(f"nd-core-refused-{name}", ipv6=True, **sides)
        mine, router = link_local(fr.GATEWAY_MAC[CORE]), fr.NEIGHBOUR_MAC[CORE]
        tells = fr.ether(fr.GATEWAY_MAC[CORE], router, ETH_IPV6, advert("fe80::2", "fe80::2", mine, router))
        asks = raw(IPv6(src="fe80::2", dst="ff02::2", hlim=255) / ICMPv6ND_RS())
        for reason, *frames in (("nd_foreign", router_asks(CORE, link_local(fr.GATEWAY_MAC["core1"]), "fe80::2"), tells,
                                 fr.ether("33:33:00:00:00:02", router, ETH_IPV6, asks)),
                                ("nd_spoofed", router_asks(CORE, mine, mine)), ("nd_malformed", router_asks(CORE, mine, "fe80::2", hlim=254)),
                                ("arp_own_mac", router_asks(CORE, mine, "fe80::2", mac=fr.GATEWAY_MAC["cpe0"]))):  # fmt: skip
            case.send(CORE, *frames)
            case.drop("arp", reason, len(frames))
        yield case


def core_without_ipv6():
    """Where nobody has IPv6, nobody answers."""
    for name, sides in SIDES.items():
        case = Traffic(f"nd-core-without-ipv6-{name}", **sides)
        case.send(CORE, router_asks(CORE, link_local(fr.GATEWAY_MAC[CORE]), "fe80::2"))
        case.drop("arp", "unsupported")
        yield case


def core_asks(core, target, mac=None):
    """What the gateway asks a next hop: everybody, or the one whose MAC it knows."""
    packet = solicit(target, link_local(fr.GATEWAY_MAC[core]), ICMPv6NDOptSrcLLAddr(lladdr=fr.GATEWAY_MAC[core]), dst=target if mac else None)
    return fr.ether(mac or group(target)[1], fr.GATEWAY_MAC[core], ETH_IPV6, packet)


def core_tells(core, target, mac=None, frame_mac=None, dst=None, say=True, **more):
    """What a next hop says."""
    mac, ours_there = mac or fr.NEIGHBOUR_MAC[core], link_local(fr.GATEWAY_MAC[core])
    packet = advert(target, more.pop("src", target), dst or ours_there, mac if say else None, r=1, **more)
    return fr.ether(ALL_NODES_MAC if dst else fr.GATEWAY_MAC[core], frame_mac or mac, ETH_IPV6, packet)


NEXT_HOPS = {"link-local": "fe80::5", "global": "2001:db8:c0::5"}


def next_hop(name, via, **more):
    """A gateway with one more route, by a next hop of IPv6."""
    routes = ", ".join(f'{{ prefix = "{prefix}"; port = "{CORE}"; via = "{via}"; }}'
                       for prefix in ("203.0.113.0/24", *["2400:cb02::/32"] * more.get("ipv6", False)))
    return Traffic(f"nd-next-hop-{name}", routes=routes, **more)


def next_hop_learned():
    """The first packets make the gateway ask, the answer sends the latest of them, and more packets go at once. Of IPv4, also where no
    subscriber has IPv6 (RFC 8950), and of IPv6; whatever takes the encapsulation off at that port."""
    for name, side, ipv6 in (("link-local", "plain", False), ("link-local", "gre", True), ("global", "mpls", True), ("global", "gre", False)):
        via = NEXT_HOPS[name]
        case = next_hop(f"{name}-{side}-{'both' if ipv6 else 'ipv4'}", via, ipv6=ipv6, keep=None, **SIDES[side])
        case.any_order = side == "mpls"
        packets = [fr.udp(SUB.ip, "203.0.113.7", size=seed) for seed in range(BURST)]
        case.send(SUB.port, *(fr.from_cpe(SUB, packet) for packet in packets))
        case.drop("arp", "unresolved", BURST - 3)
        case.receive(CORE, core_asks(CORE, via))
        case.send(CORE, core_tells(CORE, via))
        for packet in packets[-3:]:
            case.receive(CORE, fr.ether(fr.NEIGHBOUR_MAC[CORE], fr.GATEWAY_MAC[CORE], fr.ETH_IPV4, fr.forwarded(packet)))
        if ipv6:
            packet = packet6(wan(SUB), "2400:cb02::7")
            case.send(SUB.port, from_cpe(SUB, packet))
            case.receive(CORE, fr.ether(fr.NEIGHBOUR_MAC[CORE], fr.GATEWAY_MAC[CORE], ETH_IPV6, hop(packet)))
        yield case


def next_hop_unasked():
    """What nobody has asked for teaches nothing, and makes the gateway ask once."""
    via, mine = NEXT_HOPS["global"], link_local(fr.GATEWAY_MAC[CORE])
    case = next_hop("unasked", via, gre=False, mpls=False)
    case.send(CORE, core_tells(CORE, via, s=0, dst=ALL_NODES), core_tells(CORE, via, s=0), core_tells(CORE, via, s=0, o=0))
    case.drop("arp", "nd_unsolicited", 3)
    case.receive(CORE, core_asks(CORE, via))
    case.send(CORE, core_tells(CORE, via, say=False))
    case.drop("arp", "nd_malformed")
    case.send(CORE, router_asks(CORE, mine, via))  # a question is answered, and tells nothing
    case.receive(CORE, fr.ether(fr.NEIGHBOUR_MAC[CORE], fr.GATEWAY_MAC[CORE], ETH_IPV6, advert(mine, mine, via, fr.GATEWAY_MAC[CORE], r=1)))
    case.send(CORE, core_tells(CORE, "2001:db8:c0::6"))
    case.send("core1", core_tells("core1", via))
    case.drop("arp", "nd_foreign", 2)
    return case


def next_hop_refused():
    """Answers that RFC 4861 section 7.1.2 has a receiver discard, though they were asked for; then the right one counts."""
    via, mine = NEXT_HOPS["link-local"], link_local(fr.GATEWAY_MAC[CORE])
    case = next_hop("refused", via, ipv6=True, gre=False, mpls=False)

    def drop(reason, *frames, task="arp"):
        case.send(CORE, *frames)
        case.drop(task, reason, len(frames))

    case.send(SUB.port, *(fr.from_cpe(SUB, fr.udp(SUB.ip, "203.0.113.7", size=seed)) for seed in range(BURST)))
    case.drop("arp", "unresolved", BURST)
    case.receive(CORE, core_asks(CORE, via))
    good = core_tells(CORE, via)
    drop("nd_malformed", *(core_tells(CORE, via, hlim=hlim) for hlim in (0, 1, 254)), core_tells(CORE, via, dst=ALL_NODES, s=1))
    for at, value in ((55, 1), (56, good[56] ^ 1), (62, 0xFF), (79, 0), (79, 2)):  # code, checksum, target, option's length
        drop("nd_malformed", good[:at] + bytes([value]) + good[at + 1 :])
    drop("nd_malformed", *(core_tells(CORE, via, mac=mac, frame_mac=fr.NEIGHBOUR_MAC[CORE]) for mac in (fr.BROADCAST, "00:00:00:00:00:00")))
    drop("arp_own_mac", core_tells(CORE, via, mac=fr.GATEWAY_MAC["core1"]))
    drop("nd_spoofed", core_tells(CORE, mine, src="fe80::6"), core_tells(CORE, via, src=mine))
    for n in range(14 + 40, 14 + 40 + 32, 5):
        drop("bad_ipv6_length", good[:n], task="find")
    case.send(CORE, good)
    packet = fr.udp(SUB.ip, "203.0.113.7", size=99)
    case.send(SUB.port, fr.from_cpe(SUB, packet))
    case.receive(CORE, fr.ether(fr.NEIGHBOUR_MAC[CORE], fr.GATEWAY_MAC[CORE], fr.ETH_IPV4, fr.forwarded(packet)))
    return case


def cases():
    for make in (core_answers, core_refused, core_without_ipv6, next_hop_learned):
        yield from make()
    yield next_hop_unasked()
    yield next_hop_refused()
