# SPDX-License-Identifier: BSD-3-Clause
"""What the gateway says by ICMPv6 (RFC 4443): echo replies, time exceeded, unreachable, packet too big; and what it says nothing about."""

from scapy.compat import raw
from scapy.layers.inet import TCP, UDP
from scapy.layers.inet6 import (ICMPv6DestUnreach, ICMPv6EchoReply, ICMPv6EchoRequest, ICMPv6ND_Redirect, ICMPv6PacketTooBig,
                                ICMPv6ParamProblem, ICMPv6TimeExceeded, IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop)
from scapy.packet import Raw

from tests.pcap import frames as fr
from tests.pcap.cases_arp import BURST
from tests.pcap.cases_icmp import IN_VAIN, PLENTY, narrow
from tests.pcap.cases_ipv6 import CORE, ETH_IPV6, delegated, from_core, from_cpe, hop, packet6, wan
from tests.pcap.cases_ipv6_core import ROUTES, TUNNELLED, encapsulated6
from tests.pcap.cases_nd import SIDES, alone, link_local, ours, question
from tests.pcap.frames import Subscriber
from tests.pcap.traffic import Traffic

SUB, OTHER, FAR = Subscriber(0, 2), Subscriber(0, 3), Subscriber(1, 7)
GLOBAL = {"cpe0": "2001:db8:c0::1", "core0": "2400:cb00:c::1", "core1": "2001:db8:c1::1"}
ADDRESSES6 = {port: [address] for port, address in GLOBAL.items()}
NO_ROUTE, ADDRESS, PORT = 0, 3, 4  # codes of unreachable
LEAST_MTU = 1280


class Icmp6(Traffic):
    """routes: of IPv6 by a tunnel, a label, and neither; all ports but cpe1 have an address, unless addresses6 says others."""

    def __init__(self, name, **more):
        more.setdefault("params", PLENTY)
        more.setdefault("addresses6", ADDRESSES6)
        more.setdefault("routes", ROUTES)
        super().__init__(name, ipv6=True, **more)

    def told(self, sub, packet, *answers):
        """A packet of a subscriber, and what he is told."""
        self.send(sub.port, from_cpe(sub, packet))
        self.to_sub(sub, *answers)

    def to_sub(self, sub, *answers, mac=None):
        for answer in answers:
            self.receive(sub.port, fr.to_cpe(sub, answer, dst=mac, ethertype=ETH_IPV6, pcp=IPv6(answer).tc >> 5,
                                             tpid=int(self.gateway.tpid, 0)))

    def silence(self, sub, reason, *packets, task="arp", dst=None):
        for packet in packets:
            self.send(sub.port, from_cpe(sub, packet, dst=dst))
            self.drop(task, reason)


def ping(src, dst, size=32, hlim=64, seq=1, tc=0, headers=(), **more):
    packet = IPv6(src=src, dst=dst, hlim=hlim, tc=tc, fl=0x12345, **more)
    for header in headers:
        packet /= header
    return raw(packet / ICMPv6EchoRequest(id=0x5678, seq=seq, data=fr.payload(size, seq)))


def pong(src, dst, size=32, seq=1, tc=0):
    return raw(IPv6(src=src, dst=dst, hlim=64, tc=tc) / ICMPv6EchoReply(id=0x5678, seq=seq, data=fr.payload(size, seq)))


def error(src, about, header):
    """About a packet as it was received, of 1280 bytes at most."""
    return raw(IPv6(src=src, dst=IPv6(about).src, hlim=64, tc=0xC0) / header / Raw(about[: LEAST_MTU - 48]))


def expired(src, about):
    return error(src, about, ICMPv6TimeExceeded(code=0))


def too_big(src, about, mtu):
    return error(src, about, ICMPv6PacketTooBig(mtu=mtu))


def unreachable(src, about, code):
    return error(src, about, ICMPv6DestUnreach(code=code))


def of_length(src, dst, total, **more):
    return packet6(src, dst, size=total - 48, **more)


def echo_on_link():
    """A CPE pings the gateway's address on its link, from each of its own; so does a router of the core."""
    case = Icmp6("icmp6-echo-link", gre=False, mpls=False)
    for sub in (SUB, FAR):
        for seq, size in enumerate((0, 1, 18, 56, 1000, 1452)):
            for asker in (link_local(sub.mac), "fe80::1", wan(sub), delegated(sub)):
                case.told(sub, ping(asker, ours(sub), size, seq=seq, tc=0x28, hlim=1 + 63 * (seq % 2)), pong(ours(sub), asker, size, seq, 0x28))
    # the answer goes to the host that has asked, whichever has the subscriber's packets
    frame = from_cpe(SUB, ping("fe80::9", ours(SUB)))
    case.send(SUB.port, frame[:6] + bytes.fromhex("02cafe000009") + frame[12:])
    case.to_sub(SUB, pong(ours(SUB), "fe80::9"), mac="02:ca:fe:00:00:09")
    case.silence(SUB, "not_for_us", ping("fe80::1", ours(FAR)), ping(wan(SUB), "fe80::77"))
    case.silence(SUB, "nd_spoofed", ping(wan(OTHER), ours(SUB)), ping(delegated(OTHER), ours(SUB)))
    case.silence(SUB, "icmp_not_allowed", *(ping(src, ours(SUB)) for src in ("::", "::1", "ff02::1", ours(SUB))))
    whole = ping("fe80::1", ours(SUB))
    case.silence(SUB, "icmp_malformed", whole[:50] + bytes([whole[50] ^ 1]) + whole[51:])
    case.silence(SUB, "ipv6_link_local", ping("fe80::1", "ff02::1"), ping("fe80::1", ours(SUB), headers=[IPv6ExtHdrDestOpt()]),
                 raw(IPv6(src="fe80::1", dst=ours(SUB)) / ICMPv6EchoReply()), packet6("fe80::1", ours(SUB)), task="classify")
    return case


def echo_core():
    """A router of the core pings the gateway's addresses, on the link and everywhere, whatever takes the encapsulation off there."""
    for name, sides in SIDES.items():
        case = Icmp6(f"icmp6-echo-core-{name}", **sides)
        case.any_order = True  # the first task that sees labels hands over what is of the link
        for size in (0, 1, 56, 1452):
            for asker in ("fe80::2", "2400:cb00:77::9"):
                for address in (link_local(fr.GATEWAY_MAC[CORE]), *GLOBAL.values()):
                    case.send(CORE, from_core(ping(asker, address, size)))
                    case.receive(CORE, fr.ether(fr.NEIGHBOUR_MAC[CORE], fr.GATEWAY_MAC[CORE], ETH_IPV6, pong(address, asker, size)))
        for source in ("::1", "::", "ff02::2", GLOBAL["core0"]):
            case.send(CORE, from_core(ping(source, GLOBAL["core1"])))
            case.drop("arp", "icmp_not_allowed")
        yield case


def echo_global():
    """A CPE pings any of the gateway's addresses, and others are told that there is nothing (RFC 4443 sections 3.1 and 3.4)."""
    case = Icmp6("icmp6-echo-global")
    case.dissect = False  # payloads that are not of their protocol
    for sub in (SUB, FAR):
        for asker in (wan(sub), delegated(sub, 7)):
            for address in GLOBAL.values():
                for size in (0, 56, 1452):
                    for hlim in (1, 64):  # it is no hop of its own
                        case.told(sub, ping(asker, address, size, hlim=hlim, tc=0xB8), pong(address, asker, size, tc=0xB8))
                packet = packet6(asker, address, size=1300)
                case.told(sub, packet, unreachable(address, packet, PORT))
                packet = packet6(asker, address, IPv6ExtHdrDestOpt())
                case.told(sub, packet, unreachable(address, packet, PORT))
                for payload in (TCP(dport=179), Raw(bytes(20))):
                    packet = raw(IPv6(src=asker, dst=address, nh=6 if isinstance(payload, TCP) else 89) / payload)
                    case.told(sub, packet, error(address, packet, ICMPv6ParamProblem(code=1, ptr=6)))
    address = GLOBAL["core0"]
    case.silence(SUB, "icmp_fragment", packet6(wan(SUB), address, IPv6ExtHdrFragment(m=1)))
    case.silence(SUB, "icmp_fragment", raw(IPv6(src=wan(SUB), dst=address) / IPv6ExtHdrFragment(m=1) / UDP() / Raw(bytes(8))))
    case.silence(SUB, "unsupported", raw(IPv6(src=wan(SUB), dst=address, nh=59)), raw(IPv6(src=wan(SUB), dst=address) / ICMPv6EchoReply()),
                 raw(IPv6(src=wan(SUB), dst=address) / IPv6ExtHdrDestOpt() / TCP()))
    case.silence(SUB, "icmp_malformed", raw(IPv6(src=wan(SUB), dst=address, nh=58) / Raw(b"\x80\0\0")))
    case.silence(SUB, "spoofed", ping(address, address), task="classify")
    return case


def martians():
    """Nobody in the core has an address of the gateway's."""
    for name, sides in SIDES.items():
        case = Icmp6(f"icmp6-own-source-{name}", **sides)
        for source in GLOBAL.values():
            packet = packet6(source, wan(SUB))
            case.send(CORE, from_core(packet) if name != "gre" and name != "mpls" else
                      fr.from_core(CORE, packet, key=SUB.key, proto=ETH_IPV6, stack=() if name == "gre" else None))
            case.drop("find" if name == "plain" else "gre_down", "martian_source")
        yield case


def expired_up():
    """Back to the CPE with its tags, from the address of its port, or else from the nearest of all, or else from the link's."""
    for name, addresses6, sources in (
            ("nearest", ADDRESSES6, ((GLOBAL["cpe0"], GLOBAL["cpe0"]), (GLOBAL["core1"], GLOBAL["cpe0"]))),
            ("core", {"core1": ["2400:cb00::5", "2001:db8:c1::1"]}, (("2001:db8:c1::1",) * 2,) * 2),
            ("link", {}, ((ours(SUB), None), (ours(FAR), None)))):  # fmt: skip
        case = Icmp6(f"icmp6-time-exceeded-up-{name}", addresses6=addresses6)
        for sub, (source, beyond) in zip((SUB, FAR), sources):
            for size in (0, 4, 100, 1183, 1184, 1185, 1400):  # quoted to 1280 bytes in all
                for hlim in (0, 1):
                    packet = packet6(wan(sub), TUNNELLED, size=size, hlim=hlim, tc=0x28)
                    case.told(sub, packet, expired(source, packet))
            behind = packet6(delegated(sub, 3), TUNNELLED, hlim=1)
            if beyond:
                case.told(sub, behind, expired(beyond, behind))
            else:  # no router may forward what is from an address of a link
                case.silence(sub, "no_gateway_address", behind)
        yield case


def expired_down():
    """Back through the subscriber's tunnel, like a packet of the subscriber."""
    case = Icmp6("icmp6-time-exceeded-down")
    for sub, source in ((SUB, GLOBAL["cpe0"]), (FAR, GLOBAL["core0"])):
        for to in (wan(sub), delegated(sub, 3)):
            packet = packet6(TUNNELLED, to, hlim=1, size=100)
            case.send(CORE, fr.from_core(CORE, packet, key=sub.key, proto=ETH_IPV6))
            case.receive(CORE, encapsulated6(CORE, hop(expired(source, packet)), sub.key))
    yield case
    case = Icmp6("icmp6-time-exceeded-down-nowhere", addresses6={})
    case.send(CORE, fr.from_core(CORE, packet6(TUNNELLED, wan(SUB), hlim=1), key=SUB.key, proto=ETH_IPV6))
    case.drop("arp", "no_gateway_address")
    yield case
    case = Icmp6("icmp6-time-exceeded-down-no-output", own_route=False)
    case.send(CORE, fr.from_core(CORE, packet6(TUNNELLED, wan(SUB), hlim=1), key=SUB.key, proto=ETH_IPV6))
    case.drop("arp", "no_route_output")
    yield case


def no_route():
    case = Icmp6("icmp6-no-route")
    for to in ("2400:cb01::1", "2001:db8:77::1", "fc00::1", "::1:0:0:1"):
        packet = packet6(delegated(SUB), to, size=700)
        if to.startswith("::1"):
            case.silence(SUB, "not_unicast", packet, task="route")
        else:
            case.told(SUB, packet, unreachable(GLOBAL["cpe0"], packet, NO_ROUTE))
    return case


def too_big_up():
    """The next hop's MTU: of a tunnel, of a label, of neither."""
    case = Icmp6("icmp6-too-big-up", mtu={"core1": 1400})
    for to, mtu in ((TUNNELLED, 1468), ("2400:cb00:1::1", 1496), ("2400:cb00:1:1::1", 1400)):
        for total in (mtu + 1, 1500):
            for headers in ((), (IPv6ExtHdrHopByHop(),), (IPv6ExtHdrFragment(m=1),), (IPv6ExtHdrFragment(offset=3),)):
                packet = packet6(wan(SUB), to, *headers, size=total - 48 - 8 * len(headers))
                case.told(SUB, packet, too_big(GLOBAL["cpe0"], packet, mtu))
    return case


def too_big_down():
    case = Icmp6("icmp6-too-big-down", mtu={"cpe0": LEAST_MTU})
    for total in (1281, 1400, 1460):
        packet = of_length(TUNNELLED, delegated(SUB), total)
        case.send(CORE, fr.from_core(CORE, packet, key=SUB.key, proto=ETH_IPV6))
        case.receive(CORE, encapsulated6(CORE, hop(too_big(GLOBAL["cpe0"], packet, LEAST_MTU)), SUB.key))
    packet = of_length(TUNNELLED, delegated(SUB), LEAST_MTU)
    case.send(CORE, fr.from_core(CORE, packet, key=SUB.key, proto=ETH_IPV6))
    case.to_sub(SUB, hop(packet))
    return case


def narrow_core():
    """A router of the core tells the gateway of an IPv6 packet in a tunnel, as of IPv4: larger ones' senders are told then."""
    case = Icmp6("icmp6-narrow-core")
    sent = fr.tunnel(fr.GATEWAY_IP[CORE], fr.TUNNEL_IP[CORE], fr.gre(of_length(wan(SUB), TUNNELLED, 1468), key=SUB.key, proto=ETH_IPV6))
    case.send(CORE, fr.from_core(CORE, narrow(sent, 1400), stack=(), with_gre=False))
    filler = Subscriber(0, 9)
    for _ in range(BURST * 2):
        case.send(SUB.port, fr.from_cpe(filler, fr.udp("10.99.0.1", fr.server(CORE))))
    case.drop("classify", "spoofed", BURST * 2)
    packet = of_length(wan(SUB), TUNNELLED, 1373)
    case.told(SUB, packet, too_big(GLOBAL["cpe0"], packet, 1372))
    packet = of_length(wan(SUB), TUNNELLED, 1372)
    case.send(SUB.port, from_cpe(SUB, packet))
    case.receive(CORE, encapsulated6(CORE, hop(packet), SUB.key))
    return case


def not_sent():
    """RFC 4443 section 2.4 (e): nothing about an error, a redirect, or what may be one; all else is answered, whatever headers it has."""
    case = Icmp6("icmp6-not-sent")
    case.dissect = False
    errors = [ICMPv6DestUnreach(), ICMPv6PacketTooBig(), ICMPv6TimeExceeded(), ICMPv6ParamProblem(), ICMPv6ND_Redirect()]
    bodies = [(header / Raw(bytes(48)),) for header in errors] + [(IPv6ExtHdrDestOpt(), errors[0]), (IPv6ExtHdrHopByHop(), errors[2])]
    bodies += [(Raw(b""),), (IPv6ExtHdrFragment(nh=58, offset=3), Raw(b"\x80" + bytes(15)))]  # of unknown type
    bodies += [(Raw(bytes([value]) + bytes(7)),) for value in (0, 5, 100, 127)]
    for headers in bodies:
        packet = IPv6(src=wan(SUB), dst=TUNNELLED, hlim=1, **({"nh": 58} if isinstance(headers[0], Raw) else {}))
        for header in headers:
            packet /= header
        case.silence(SUB, "icmp_not_allowed", raw(packet))
    cut = raw(IPv6(src=wan(SUB), dst=TUNNELLED, hlim=1, nh=60) / Raw(b"\x3a\x09" + bytes(10)))
    case.silence(SUB, "icmp_not_allowed", cut, packet6(wan(SUB), TUNNELLED, *[IPv6ExtHdrDestOpt()] * 9, hlim=1))
    for body in ((ICMPv6EchoRequest(),), (ICMPv6EchoReply(),), (IPv6ExtHdrFragment(m=1), UDP()), (IPv6ExtHdrFragment(offset=9, nh=17), Raw(bytes(8)))):
        packet = IPv6(src=wan(SUB), dst=TUNNELLED, hlim=1)
        for header in body:
            packet /= header
        case.told(SUB, raw(packet), expired(GLOBAL["cpe0"], raw(packet)))
    return case


def floods():
    """icmp_rate = "1": one of each kind, beside one of each kind of ICMPv4's own senders."""
    case = Icmp6("icmp6-error-flood", params={"arp": 'icmp_rate = "1";'})
    packet = packet6(wan(SUB), TUNNELLED, hlim=1)
    case.send(SUB.port, *[from_cpe(SUB, packet)] * 100)
    case.to_sub(SUB, expired(GLOBAL["cpe0"], packet))
    case.drop("arp", "icmp_rate_limited", 99)
    yield case
    case = Icmp6("icmp6-echo-flood", params={"arp": 'icmp_rate = "1";'})
    case.send(SUB.port, *[from_cpe(SUB, ping(wan(SUB), ours(SUB)))] * 100)
    case.to_sub(SUB, pong(ours(SUB), wan(SUB)))
    case.drop("arp", "icmp_rate_limited", 99)
    yield case


def silent_cpe():
    """A CPE that does not answer three questions: the senders of what waited are told (RFC 4443 section 3.1, code 3)."""
    sub, keys = alone(1, "2001:db8:6000::/64", gre_key=99999)
    case = Icmp6("icmp6-address-unreachable-down", more_subscribers=keys, keep=None)
    case.durations = IN_VAIN
    case.any_order = True
    sub.key = 99999
    packets = [packet6(TUNNELLED, "2001:db8:6000::9", seed=seed, size=600, hlim=7) for seed in range(BURST)]
    case.send(CORE, *(fr.from_core(CORE, packet, key=sub.key, proto=ETH_IPV6) for packet in packets))
    case.drop("arp", "unresolved", BURST - 3)
    case.receive(sub.port, *[question(sub, "2001:db8:6000::9")] * 3)
    for packet in packets[-3:]:
        case.receive(CORE, encapsulated6(CORE, hop(unreachable(GLOBAL["cpe0"], packet, ADDRESS)), sub.key))
    return case


def silent_nexthop():
    """The same of a next hop, which ARP asks for."""
    to = f'{{ prefix = "2400:cb02::/32"; port = "{CORE}"; via = "192.0.2.77"; }}'
    case = Icmp6("icmp6-address-unreachable-up", routes=ROUTES + ", " + to, keep="4")
    case.durations = IN_VAIN
    packet = packet6(wan(SUB), "2400:cb02::1", size=1300)
    case.told(SUB, packet, unreachable(GLOBAL["cpe0"], packet, ADDRESS))
    asks = fr.arp(1, fr.GATEWAY_MAC[CORE], fr.GATEWAY_IP[CORE], "00:00:00:00:00:00", "192.0.2.77")
    case.receive(CORE, *[fr.pad(fr.ether(fr.BROADCAST, fr.GATEWAY_MAC[CORE], fr.ETH_ARP, asks))] * 3)
    return case


def mac_unknown():
    """A CPE whose MAC is not known is asked for it, and told nothing."""
    sub, keys = alone(1, "2001:db8:6000::/64")
    case = Icmp6("icmp6-nobody-known", more_subscribers=keys)
    case.silence(sub, "unresolved", packet6("2001:db8:6000::9", TUNNELLED, hlim=1))
    case.receive(sub.port, question(sub, "2001:db8:6000::9"))
    return case


def cases():
    yield echo_on_link()
    yield from echo_core()
    yield echo_global()
    yield from martians()
    yield from expired_up()
    yield from expired_down()
    for make in (no_route, too_big_up, too_big_down, narrow_core, not_sent):
        yield make()
    yield from floods()
    for make in (silent_cpe, silent_nexthop, mac_unknown):
        yield make()
