# SPDX-License-Identifier: BSD-3-Clause
"""IPv6 of subscribers, against frames that Scapy has built: sources of all kinds from the access side, the longest prefix from the core,
extension headers, hop limits, sizes, and frames cut off after every byte. Subscriber i of access port a has 2001:db8:a:i::/64 and is
delegated the /56 number i of 2001:db8:8a00::/40."""

from scapy.compat import raw
from scapy.layers.inet import TCP, UDP
from scapy.layers.inet6 import (ICMPv6EchoRequest, ICMPv6ND_NS, ICMPv6ND_RS, IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment,
                                IPv6ExtHdrHopByHop, IPv6ExtHdrRouting)
from scapy.packet import Raw

from tests.pcap import frames as fr
from tests.pcap.cases_truncated import cut
from tests.pcap.frames import Subscriber
from tests.pcap.traffic import Traffic

ETH_IPV6 = 0x86DD
SERVER = "2400:cb00::1"
CORE = "core0"
TO_SERVER = f'{{ prefix = "2400:cb00::/32"; port = "core1"; mac = "{fr.NEIGHBOUR_MAC["core1"]}"; }}'
SUB, OTHER, LAST, FAR = Subscriber(0, 2), Subscriber(0, 3), Subscriber(0, 255), Subscriber(1, 7)


class Traffic6(Traffic):
    def __init__(self, name, **gateway):
        super().__init__(name, gre=False, mpls=False, ipv6=True, **gateway)

    def to_cpe(self, sub, packet, port=CORE):
        """A packet from the core that must reach a subscriber."""
        self.send(port, from_core(packet, port))
        self.receive(sub.port, fr.to_cpe(sub, hop(packet), ethertype=ETH_IPV6, pcp=IPv6(packet).tc >> 5, tpid=int(self.gateway.tpid, 0)))


def wan(sub, host="::1"):
    return f"2001:db8:{int(sub.port[-1]):x}:{sub.i:x}{host}"


def delegated(sub, link=0, host="::1"):
    """An address on one of the 256 links of what is delegated."""
    return f"2001:db8:{0x8000 + int(sub.port[-1]) * 256 + (sub.i >> 8):x}:{(sub.i & 255) << 8 | link:x}{host}"


def from_core(packet, port=CORE, dst=None):
    return fr.ether(dst or fr.GATEWAY_MAC[port], fr.NEIGHBOUR_MAC[port], ETH_IPV6, packet)


def from_cpe(sub, packet, **more):
    return fr.from_cpe(sub, packet, ethertype=ETH_IPV6, **more)


def packet6(src, dst, *headers, size=12, hlim=64, tc=0, fl=0x12345, seed=0):
    """IPv6 with extension headers and UDP."""
    return fr.built(IPv6(src=src, dst=dst, hlim=hlim, tc=tc, fl=fl), *(header.copy() for header in headers), UDP(sport=40000, dport=40001),
                    Raw(fr.payload(size, seed)))


def hop(packet):
    """The same after a router: all but the hop limit is as it was."""
    return packet[:7] + bytes([packet[7] - 1]) + packet[8:]


def extension_headers():
    options = IPv6ExtHdrDestOpt()
    fragment = IPv6ExtHdrFragment(id=7, m=1)
    yield ()
    yield (IPv6ExtHdrHopByHop(),)
    yield (options,)
    yield (fragment,)
    yield (IPv6ExtHdrFragment(id=7, offset=100),)
    yield (IPv6ExtHdrRouting(addresses=["2001:db8:99::1"], segleft=0),)
    yield (IPv6ExtHdrHopByHop(), options, IPv6ExtHdrRouting(addresses=[]), fragment)
    yield (options,) * 12


def to_prefixes():
    """Every address of the prefix of the link and of what is delegated, at its ends; and those beside them, which are nobody's."""
    case = Traffic6("ipv6-down-prefixes", subscribers=512)
    for sub in (SUB, LAST, FAR, Subscriber(0, 511)):
        for dst in (wan(sub, "::"), wan(sub, ":ffff:ffff:ffff:ffff"), delegated(sub, 0, "::"), delegated(sub, 255, ":ffff:ffff:ffff:ffff")):
            case.to_cpe(sub, packet6(SERVER, dst))
    for dst in ("2001:db8:0:200::1", "2001:db8:2::1", "2001:db8:8002::1", "2001:db8:7fff:ffff::1", "2400::1", "::1:2"):
        case.send(CORE, from_core(packet6(SERVER, dst)))
        case.drop("find", "unknown_subscriber")
    return case


def headers_down():
    """Traffic classes, flow labels, extension headers and payloads of all kinds are let alone; the class selector is the priority."""
    case = Traffic6("ipv6-down-headers")
    for tc in range(0, 256, 5):
        case.to_cpe(SUB, packet6(SERVER, wan(SUB), tc=tc, fl=tc * 4099))
    for headers in extension_headers():
        case.to_cpe(SUB, packet6(SERVER, wan(SUB), *headers))
    for payload in (TCP(dport=443), ICMPv6EchoRequest(), Raw(b"")):
        case.to_cpe(SUB, raw(IPv6(src=SERVER, dst=delegated(SUB)) / payload))
    return case


def ends_down():
    """Hop limits, sizes, and sources that cannot come out of the core."""
    case = Traffic6("ipv6-down-ends", mtu={"cpe0": 1400})
    for hlim in (0, 1):
        case.send(CORE, from_core(packet6(SERVER, wan(SUB), hlim=hlim)))
        case.drop("arp", "no_gateway_address")
    for hlim in (2, 255):
        case.to_cpe(SUB, packet6(SERVER, wan(SUB), hlim=hlim))
    for size, fits in ((0, True), (1400 - 48, True), (1401 - 48, False), (1500 - 48, False)):
        if fits:
            case.to_cpe(SUB, packet6(SERVER, wan(SUB), size=size))
        else:
            case.send(CORE, from_core(packet6(SERVER, wan(SUB), size=size)))
            case.drop("arp", "no_gateway_address")
    for src, reason in (("::", "ipv6_link_local"), ("fe80::1", "ipv6_link_local"), ("::1", "martian_source"), ("ff02::1", "martian_source"),
                        ("::ffff:192.0.2.1", "martian_source"), (wan(SUB, "::9"), "martian_source"), (delegated(SUB), "martian_source")):
        case.send(CORE, from_core(packet6(src, wan(SUB))))
        case.drop("find", reason)
    case.to_cpe(SUB, packet6(wan(OTHER), wan(SUB)))  # another subscriber's packet may come by the core
    case.send(CORE, from_core(packet6(SERVER, wan(SUB)), dst="02:00:00:00:00:99"))
    case.drop("find", "foreign_mac")
    case.send(CORE, from_core(raw(IPv6(src="fe80::2", dst="ff02::1:ff00:1", hlim=255) / ICMPv6ND_NS(tgt="fe80::1")), dst="33:33:ff:00:00:01"))
    case.drop("arp", "nd_foreign")
    return case


def truncated_down():
    case = Traffic6("ipv6-truncated-down")
    packet = packet6(SERVER, wan(SUB), IPv6ExtHdrDestOpt(), size=30)

    def judge(n):
        return "find", "short_frame" if n < 14 else "bad_ipv6" if n < 14 + 40 else "bad_ipv6_length"

    cut(case, CORE, from_core(packet), judge)
    case.to_cpe(SUB, packet)
    return case


def mixed_down():
    """Both families in the same bursts: each keeps its order, and none touches the other."""
    case = Traffic6("ipv6-down-mixed", subscribers=512)
    for i in range(300):
        sub = Subscriber(0, i)
        if i % 3 == 0:
            case.down(CORE, sub, fr.udp(fr.server(CORE), sub.ip, seed=i))
        else:
            case.to_cpe(sub, packet6(SERVER, wan(sub) if i % 3 == 1 else delegated(sub), seed=i))
    return case


def sources_up():
    """From the access side: his own addresses pass, whatever else is counted with its reason."""
    case = Traffic6("ipv6-up-sources", routes=TO_SERVER)
    judged = [(wan(SUB), None), (wan(SUB, ":ffff::9"), None), (delegated(SUB), None), (delegated(SUB, 255, "::9"), None)]
    judged += [(src, "spoofed") for src in (wan(OTHER), wan(FAR), delegated(OTHER), SERVER, "fc00::1", "fec0::1", "2001:db8:0:200::2")]
    judged += [(src, "ipv6_link_local") for src in ("::", "fe80::1", "febf::ffff")]
    judged += [(src, "martian_source") for src in ("::1", "::2", "::ffff:10.0.0.1", "ff02::1", "ff0e::1")]
    for src, reason in judged:
        packet = packet6(src, SERVER)
        case.send(SUB.port, from_cpe(SUB, packet))
        if reason:
            case.drop("classify", reason)
        else:
            case.receive("core1", fr.ether(fr.NEIGHBOUR_MAC["core1"], fr.GATEWAY_MAC["core1"], ETH_IPV6, hop(packet)))
    case.send(SUB.port, from_cpe(SUB, raw(IPv6(src="fe80::2", dst="ff02::2", hlim=64) / ICMPv6ND_RS()), dst="33:33:00:00:00:02"))
    case.drop("arp", "nd_malformed")
    case.send(SUB.port, from_cpe(SUB, packet6(wan(SUB), "ff02::2"), dst="33:33:00:00:00:02"))
    case.drop("classify", "group_mac")
    for dst, reason in (("ff0e::1", "not_unicast"), ("fe80::1", "link_local"), ("::1", "not_unicast")):
        case.send(SUB.port, from_cpe(SUB, packet6(wan(SUB), dst)))
        case.drop("route", reason)
    return case


def truncated_up():
    case = Traffic6("ipv6-truncated-up", routes=TO_SERVER)
    frame = from_cpe(SUB, packet6(wan(SUB), SERVER, IPv6ExtHdrHopByHop(), size=30), padded=False)

    def judge(n):
        return "classify", "short_frame" if n < 22 else "bad_ipv6" if n < 22 + 40 else "bad_ipv6_length"

    cut(case, SUB.port, frame, judge)
    case.send(SUB.port, frame)
    packet = frame[22:]
    case.receive("core1", fr.ether(fr.NEIGHBOUR_MAC["core1"], fr.GATEWAY_MAC["core1"], ETH_IPV6, hop(packet)))
    return case


def alone():
    """Subscribers without IPv4: the prefix of a link alone, and an address alone, both with a static MAC; IPv4 of theirs is spoofed."""
    one = 'port = "cpe0"; svlan = 4000; cvlan = %d; mac = "02:c6:00:00:00:%02x"; ipv6 = "%s";'
    case = Traffic6("ipv6-alone", more_subscribers="{ " + " }, { ".join(one % (n, n, ipv6) for n, ipv6 in ((1, "2001:db8:6000::/64"),)) + " }, "
                    '{ port = "cpe0"; svlan = 4000; cvlan = "2-3"; mac = "02:c6:00:00:00:02"; ipv6 = "2001:db8:6001::8/125"; ipv6_len = 128; }')
    for cvlan, dst in ((1, "2001:db8:6000::77"), (2, "2001:db8:6001::8"), (3, "2001:db8:6001::9")):
        sub = Subscriber(0, 0)
        sub.svlan, sub.cvlan, sub.mac = 4000, cvlan, f"02:c6:00:00:00:{cvlan:02x}"
        case.to_cpe(sub, packet6(SERVER, dst))
        for src in ("10.0.0.1", "255.255.255.255", "0.0.0.0"):
            case.send(sub.port, fr.from_cpe(sub, fr.udp(src, fr.server(CORE))))
            case.drop("classify", "spoofed")
    case.send(CORE, from_core(packet6(SERVER, "2001:db8:6001::a")))
    case.drop("find", "unknown_subscriber")
    return case


def not_configured():
    """Where nobody has IPv6, it is not known."""
    case = Traffic("ipv6-not-configured", gre=False, mpls=False)
    case.send(SUB.port, from_cpe(SUB, packet6(wan(SUB), SERVER)))
    case.drop("classify", "not_ipv4")
    case.send(CORE, from_core(packet6(SERVER, wan(SUB))))
    case.drop("find", "not_ipv4")
    return case


def cases():
    yield to_prefixes()
    yield headers_down()
    yield ends_down()
    yield truncated_down()
    yield mixed_down()
    yield sources_up()
    yield truncated_up()
    yield alone()
    yield not_configured()
