# SPDX-License-Identifier: BSD-3-Clause
"""IPv6 between subscribers and the core, in both directions: routes by the longest prefix, tunnels (RFC 7676), labels (RFC 4798) and none,
and what ends in the gateway, against frames that Scapy has built."""

import functools

from scapy.compat import raw
from scapy.layers.inet import TCP, UDP
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6
from scapy.packet import Raw

from tests.pcap import frames as fr
from tests.pcap.cases_ipv6 import delegated, extension_headers, from_cpe, hop, packet6, wan
from tests.pcap.frames import Subscriber
from tests.pcap.traffic import Traffic

ETH_IPV6 = 0x86DD
SUB, FAR = Subscriber(0, 7), Subscriber(1, 9)
TUNNELLED, LABELLED, PLAIN = "2400:cb00::1", "2400:cb00:1::1", "2400:cb00:1:1::1"


def way(prefix, port, gre=False, mpls=False):
    keys = [f'prefix = "{prefix}"; port = "{port}"; mac = "{fr.NEIGHBOUR_MAC[port]}";']
    keys += [f'gre = "{fr.TUNNEL_IP[port]}";'] * gre + [f'mpls = {fr.LABEL[port]};'] * mpls
    return "{ " + " ".join(keys) + " }"


ROUTES = ", ".join((way("2400:cb00::/32", "core0", True, True), way("2400:cb00:1::/48", "core0", mpls=True),
                    way("2400:cb00:1:1::/64", "core1")))  # fmt: skip


@functools.cache
def traffic_class(packet):
    return IPv6(packet).tc


def encapsulated6(port, packet, key, gre=True, mpls=True):
    """The gateway's frame to a core port for a packet that it has already routed."""
    tc, hops, kind = traffic_class(packet), packet[7], ETH_IPV6
    if gre:
        packet = fr.tunnel(fr.GATEWAY_IP[port], fr.TUNNEL_IP[port], fr.gre(packet, key=key, proto=ETH_IPV6), tos=tc & 0xFC)
        hops, kind = 64, fr.ETH_IPV4
    if mpls:
        packet, kind = fr.labels((fr.LABEL[port], hops, tc >> 5)) + packet, fr.ETH_MPLS
    return fr.pad(fr.ether(fr.NEIGHBOUR_MAC[port], fr.GATEWAY_MAC[port], kind, packet))


class Core6(Traffic):
    def __init__(self, name, **gateway):
        super().__init__(name, ipv6=True, routes=ROUTES, **gateway)

    def up6(self, sub, packet, port="core0", gre=True, mpls=True):
        """A packet of a subscriber that must leave by a core port."""
        self.send(sub.port, from_cpe(sub, packet))
        self.receive(port, encapsulated6(port, hop(packet), sub.key, gre, mpls))

    def down6(self, sub, packet, port="core0", **tunnel):
        """A packet out of a tunnel that must reach a subscriber."""
        self.send(port, fr.from_core(port, packet, key=sub.key, proto=ETH_IPV6, **tunnel))
        self.receive(sub.port, fr.to_cpe(sub, hop(packet), ethertype=ETH_IPV6, pcp=IPv6(packet).tc >> 5, tpid=int(self.gateway.tpid, 0)))


def refuse(case, port, task, reason, frame):
    case.send(port, frame)
    case.drop(task, reason)


def up():
    case = Core6("ipv6-core-up")
    case.any_order = True  # two access ports meet on one core port
    for size in (0, 1, 9, 10, 11, 12, 200, 1384):
        for sub, source in ((SUB, wan(SUB)), (SUB, delegated(SUB, 255)), (FAR, delegated(FAR, 3))):
            case.up6(sub, packet6(source, TUNNELLED, size=size, tc=0xB9, hlim=2))
            case.up6(sub, packet6(source, LABELLED, size=size, tc=0x28), gre=False)
            case.up6(sub, packet6(source, PLAIN, size=size), port="core1", gre=False, mpls=False)
    return case


def headers():
    """Extension headers of all kinds, and more of them than are walked, traffic classes, flow labels and payloads, in both directions: a router lets
    them alone (RFC 8200 section 4). The outer header and the label have the class."""
    case = Core6("ipv6-core-headers")
    case.dissect = False  # headers in an order, and of a type, that a sender should not use, on purpose
    payloads = (TCP(dport=443), ICMPv6EchoRequest(), Raw(b""), IPv6(src="2001:db8:9::1", dst="2001:db8:9::2") / UDP())

    def some(cpe, far, up):
        """Packets between two addresses: of delegated prefixes with all headers, of the link's with all classes and payloads."""
        def ends(own):
            return (own, far) if up else (far, own)

        yield from (packet6(*ends(delegated(cpe)), *headers, tc=0xB8, fl=0xFFFFF) for headers in extension_headers())
        yield from (packet6(*ends(wan(cpe)), tc=tc, fl=tc * 4099) for tc in range(0, 256, 5))
        src, dst = ends(wan(cpe))
        yield from (raw(IPv6(src=src, dst=dst, hlim=9) / payload) for payload in payloads)

    for far, how in ((TUNNELLED, {}), (LABELLED, {"gre": False}), (PLAIN, {"port": "core1", "gre": False, "mpls": False})):
        for packet in some(SUB, far, True):
            case.up6(SUB, packet, **how)
        for packet in some(SUB, far, False):
            case.down6(SUB, packet)
    return case


def up_ends():
    case = Core6("ipv6-core-up-ends", arp=False)
    source = wan(SUB)
    for hlim in (0, 1):
        refuse(case, SUB.port, "route", "ipv6_hop_limit", from_cpe(SUB, packet6(source, TUNNELLED, hlim=hlim)))
    # 1500 bytes less label, tunnel and key
    case.up6(SUB, packet6(source, TUNNELLED, size=1468 - 48))
    refuse(case, SUB.port, "route", "ipv6_too_big", from_cpe(SUB, packet6(source, TUNNELLED, size=1469 - 48)))
    case.up6(SUB, packet6(source, LABELLED, size=1496 - 48), gre=False)
    refuse(case, SUB.port, "route", "ipv6_too_big", from_cpe(SUB, packet6(source, LABELLED, size=1497 - 48)))
    refuse(case, SUB.port, "route", "no_route", from_cpe(SUB, packet6(source, "2400:cb01::1")))
    for dst in ("ff02::1", "ff0e::1", "::1", "::ffff:198.18.0.1"):
        refuse(case, SUB.port, "route", "not_unicast", from_cpe(SUB, packet6(source, dst)))
    return case


def down():
    case = Core6("ipv6-core-down")
    for size in (0, 1, 200, 1400):
        for sub, to in ((SUB, wan(SUB, "::")), (SUB, delegated(SUB, 0)), (SUB, delegated(SUB, 255)), (FAR, delegated(FAR, 3))):
            case.down6(sub, packet6(TUNNELLED, to, size=size, tc=0xB8, hlim=2))
            case.down6(sub, packet6(TUNNELLED, to, size=size), stack=[(2, 60), (16, 60)])
            case.down6(sub, packet6(TUNNELLED, to, size=size), stack=())
    return case


def down_ends():
    case = Core6("ipv6-core-down-ends")

    def tunnelled(packet, key=SUB.key, **more):
        return fr.from_core("core0", packet, key=key, proto=ETH_IPV6, **more)

    for dst in (delegated(Subscriber(0, 8)), wan(FAR), "fe80::1", "ff02::1", "::1", "2400:cb00::2"):
        refuse(case, "core0", "gre_down", "misdelivered", tunnelled(packet6(TUNNELLED, dst)))
    for src in ("fe80::1", "ff02::1", "::", "::1", "::ffff:198.18.0.1", wan(SUB, "::9"), delegated(SUB)):
        refuse(case, "core0", "gre_down", "martian_source", tunnelled(packet6(src, wan(SUB))))
    refuse(case, "core0", "gre_down", "unknown_key", tunnelled(packet6(TUNNELLED, wan(SUB)), key=77777))
    packet = packet6(TUNNELLED, wan(SUB), size=30)
    refuse(case, "core0", "gre_down", "inner_bad_ipv6", tunnelled(b"\x40" + packet[1:]))
    for n in range(len(packet)):
        refuse(case, "core0", "gre_down", "inner_bad_ipv6" if n < 40 else "inner_bad_length", tunnelled(packet[:n]))
    return case


def over_labels():
    """6PE: IPv6 right below a label comes to gre_decap, which has no tunnel of it: as with IPv4, it is not for the gateway."""
    case = Core6("ipv6-core-6pe")
    packet = raw(IPv6(src=TUNNELLED, dst=wan(SUB)) / UDP(sport=1, dport=2) / Raw(bytes(20)))
    for stack in ([(16, 60)], [(2, 60)], [(16, 60), (2, 60)]):
        refuse(case, "core0", "gre_down", "not_for_us", fr.from_core("core0", packet, with_gre=False, stack=stack))
    refuse(case, "core0", "mpls_down", "not_ip", fr.from_core("core0", packet, with_gre=False, stack=[(0, 60)]))
    return case


def cases():
    return [up(), headers(), up_ends(), down(), down_ends(), over_labels()]
