# SPDX-License-Identifier: BSD-3-Clause
"""GRE tunnels whose outer header is IPv6 (RFC 7676), against frames that Scapy has built: both families inside, both ways, with a label and
without, beside tunnels of IPv4; who may send there, what is malformed, what the core is too narrow for."""

import functools

from scapy.compat import raw
from scapy.layers.inet import UDP
from scapy.layers.inet6 import (HBHOptUnknown, ICMPv6PacketTooBig, IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop,
                                IPv6ExtHdrRouting)
from scapy.packet import Raw

from tests.pcap import frames as fr
from tests.pcap.cases_core import DECAPSULATED
from tests.pcap.cases_icmp import PLENTY, too_big as too_big4
from tests.pcap.cases_icmp6 import ADDRESSES6, GLOBAL, too_big as too_big6
from tests.pcap.cases_ipv6 import ETH_IPV6, delegated, from_cpe, hop, packet6, wan
from tests.pcap.cases_arp import BURST
from tests.pcap.frames import Subscriber
from tests.pcap.traffic import Traffic

GRE = 47
SUB, FAR = Subscriber(0, 7), Subscriber(1, 9)
FAR_END = {"core0": "2400:cb00:f::1", "core1": "2400:cb00:f::2"}
TO4 = {"core0": "198.51.100.9", "core1": "203.0.113.200"}
TO6 = {"core0": "2400:cb02::9", "core1": "2400:cb03::9"}
MTU = {"core0": 1500 - 4 - 40 - 8, "core1": 1500 - 40 - 8}
STACK = {"core0": None, "core1": ()}  # a label, and none


def way(prefix, port, **more):
    mpls = f"mpls = {fr.LABEL[port]};" if port == "core0" else ""
    return f'{{ prefix = "{prefix}"; port = "{port}"; mac = "{fr.NEIGHBOUR_MAC[port]}"; gre = "{FAR_END[port]}"; {mpls} }}'


ROUTES = ", ".join(way(prefix, port) for prefix, port in (("198.51.100.0/24", "core0"), ("2400:cb02::/32", "core0"),
                                                          ("203.0.113.192/26", "core1"), ("2400:cb03::/32", "core1")))  # fmt: skip


@functools.cache
def header6(source, destination, payload, tc, hlim, fl, nh):
    return raw(IPv6(src=source, dst=destination, plen=payload, tc=tc, hlim=hlim, fl=fl, nh=nh))


def over6(source, destination, packet, key=None, tc=0, hlim=64, fl=0, **gre):
    inside = fr.gre(packet, key=key, proto=ETH_IPV6 if packet[0] >> 4 == 6 else fr.ETH_IPV4, **gre)
    return header6(source, destination, len(inside), tc, hlim, fl, GRE) + inside


def class_of(packet):
    return (packet[0] << 4 | packet[1] >> 4) & 0xFF if packet[0] >> 4 == 6 else packet[1]


def no_label(frame):
    """The frame without the flow label of an outer IPv6 header, which must have one."""
    at = 18 if frame[12:14] == b"\x88\x47" else 14
    if len(frame) < at + 40 or frame[at] >> 4 != 6 or frame[at + 6] != GRE:
        return frame
    label = int.from_bytes(frame[at : at + 4], "big") & 0xFFFFF
    return frame[: at + 1] + bytes([frame[at + 1] & 0xF0]) + b"\0\0" + frame[at + 4 :] if label else b"no flow label"


class Over6(Traffic):
    def __init__(self, name, **gateway):
        gateway.setdefault("ipv6", True)
        super().__init__(name, routes=ROUTES, addresses6=ADDRESSES6, **gateway)
        self.normal = no_label

    def leave(self, sub, core, packet):
        """A packet that has been routed leaves by a tunnel of IPv6."""
        dscp = class_of(packet) & 0xFC
        out = over6(GLOBAL[core], FAR_END[core], packet, sub.key if self.key else None, tc=dscp)
        kind = ETH_IPV6
        if core == "core0":
            out, kind = fr.labels((fr.LABEL[core], 64, dscp >> 5)) + out, fr.ETH_MPLS
        self.receive(core, fr.ether(fr.NEIGHBOUR_MAC[core], fr.GATEWAY_MAC[core], kind, out))

    def up4(self, sub, core, **packet):
        packet = fr.udp(sub.ip, TO4[core], **packet)
        self.send(sub.port, fr.from_cpe(sub, packet))
        self.leave(sub, core, fr.forwarded(packet))

    def up6(self, sub, source, core, **packet):
        packet = packet6(source, TO6[core], **packet)
        self.send(sub.port, from_cpe(sub, packet))
        self.leave(sub, core, hop(packet))

    def enter(self, core, outer, stack=None):
        """A packet with its outer header of IPv6, from a core router."""
        stack = ((fr.LABEL[core], 255),) if stack is None else stack
        kind, rest = (fr.ETH_MPLS, fr.labels(*stack)) if stack else (ETH_IPV6, b"")
        self.send(core, fr.ether(fr.GATEWAY_MAC[core], fr.NEIGHBOUR_MAC[core], kind, rest + outer))

    def down(self, core, sub, packet, stack=None, becomes=None, **outer):
        """A packet out of such a tunnel that must reach a subscriber."""
        self.enter(core, over6(FAR_END[core], GLOBAL[core], packet, sub.key if self.key else None, **outer),
                   STACK[core] if stack is None else stack)  # fmt: skip
        packet = becomes or (hop(packet) if packet[0] >> 4 == 6 else fr.forwarded(packet))
        ethertype = ETH_IPV6 if packet[0] >> 4 == 6 else fr.ETH_IPV4
        self.receive(sub.port, fr.to_cpe(sub, packet, ethertype=ethertype, pcp=class_of(packet) >> 5, tpid=int(self.gateway.tpid, 0)))

    def refuse(self, reason, outer, core="core0", task="gre_down", **more):
        self.enter(core, outer, **more)
        self.drop(task, reason)


def up(name="up", **more):
    case = Over6(f"tunnel6-{name}", **more)
    case.any_order = True  # two access ports meet on one core port
    for size in (0, 1, 19, 200, 1384):
        for core in fr.CORE:
            for sub in (SUB, FAR):
                case.up4(sub, core, size=size, tos=0xBB, ttl=2)
                case.up6(sub, wan(sub), core, size=size, tc=0xB9, hlim=2)
                case.up6(sub, delegated(sub, 3), core, size=size, tc=0x2A)
            # a tunnel of IPv4 beside them
            Traffic.up(case, SUB, core, fr.udp(SUB.ip, fr.server(core), size=size))
    return case


def up_ends():
    case = Over6("tunnel6-up-ends", arp=False, fragment=False)
    for core in fr.CORE:
        case.up4(SUB, core, size=MTU[core] - 28)
        case.up6(SUB, wan(SUB), core, size=MTU[core] - 48)
        case.send(SUB.port, fr.from_cpe(SUB, fr.udp_of_length(SUB.ip, TO4[core], MTU[core] + 1)),
                  from_cpe(SUB, packet6(wan(SUB), TO6[core], size=MTU[core] - 47)))  # fmt: skip
        case.drop("route", "too_big")
        case.drop("route", "ipv6_too_big")
        case.send(SUB.port, fr.from_cpe(SUB, fr.udp(SUB.ip, TO4[core], ttl=1)), from_cpe(SUB, packet6(wan(SUB), TO6[core], hlim=1)))
        case.drop("route", "ttl_expired")
        case.drop("route", "ipv6_hop_limit")
    return case


def down(name="down", **more):
    case = Over6(f"tunnel6-{name}", **more)
    case.any_order = True
    stacks = ((), ((16, 60),), ((2, 60),), ((0, 60), (2, 60)), ((16, 60), (17, 60))) if case.gateway.mpls else ((),)
    for size in (0, 1, 200, 1400):
        for sub in (SUB, FAR):
            for core in fr.CORE:
                case.down(core, sub, fr.udp(TO4[core], sub.ip, size=size, tos=0xB8, ttl=2), hlim=1)
                case.down(core, sub, packet6(TO6[core], wan(sub), size=size, tc=0xB8, hlim=2), fl=0x54321)
                case.down(core, sub, packet6(TO6[core], delegated(sub, 255), size=size), hlim=255)
            # by any port: ways through the core need not be symmetric
            case.down("core0", sub, fr.udp(TO4["core1"], sub.ip, size=size), sequence=7)
            case.down("core1", sub, fr.udp(TO4["core0"], sub.ip, size=size), checksum=True)
            for stack in stacks:
                case.down("core0", sub, fr.udp(TO4["core0"], sub.ip, size=size), stack=stack)
            Traffic.down(case, "core0", sub, fr.udp(fr.server("core0"), sub.ip, size=size))
    return case


def without_keys():
    """key = "optional", and subscribers without IPv6: the outer header is one of IPv6 all the same."""
    case = Over6("tunnel6-no-keys", key=False, ipv6=False)
    for core in fr.CORE:
        case.up4(SUB, core, size=100)
        case.down(core, SUB, fr.udp(TO4[core], SUB.ip, size=100))
    case.refuse("not_ipv4", over6(FAR_END["core0"], GLOBAL["core0"], packet6(TO6["core0"], wan(SUB))))
    return case


def unlabelled():
    """No task mpls_pop before gre_decap, and none behind gre_encap."""
    case = Over6("tunnel6-no-labels", mpls=False)
    for core in fr.CORE:
        case.down(core, SUB, fr.udp(TO4[core], SUB.ip, size=100), stack=())
        case.down(core, SUB, packet6(TO6[core], wan(SUB)), stack=())
    case.refuse("bad_ipv6", b"\x50" + over6(FAR_END["core0"], GLOBAL["core0"], packet6(TO6["core0"], wan(SUB)))[1:], stack=())
    return case


def ends():
    """A tunnel is between two ends, as of IPv4."""
    case = Over6("tunnel6-far-ends", arp=False)
    packet = fr.udp(TO4["core0"], SUB.ip)
    theirs, ours = FAR_END["core0"], GLOBAL["core0"]
    for stranger in ("::1", "::", "fe80::1", "ff02::1", wan(SUB), ours, FAR_END["core1"], "2400:cb00:f::3", f"::ffff:{fr.TUNNEL_IP['core0']}"):
        case.refuse("unknown_far_end", over6(stranger, ours, packet, SUB.key))
    for other in ("core1", "cpe0"):
        case.refuse("unknown_far_end", over6(theirs, GLOBAL[other], packet, SUB.key))
    for nobody in ("2400:cb00:c::2", "ff02::1", wan(SUB), "::"):
        case.refuse("not_for_us", over6(theirs, nobody, packet, SUB.key))
    case.refuse("unknown_key", over6(theirs, ours, packet, 77777))
    case.refuse("no_key", over6(theirs, ours, packet))
    case.refuse("misdelivered", over6(theirs, ours, packet, FAR.key))
    case.refuse("martian_source", over6(theirs, ours, fr.udp("127.0.0.1", SUB.ip), SUB.key))
    # what is no tunnel's, and for the gateway
    case.refuse("no_slow_path", raw(IPv6(src=theirs, dst=ours) / UDP(sport=1, dport=2)))
    case.refuse("not_ip", over6(theirs, ours, packet, SUB.key), task="mpls_down", stack=((0, 60),))
    case.down("core0", SUB, packet)
    return case


def any_end():
    case = Over6("tunnel6-any-far-end", params={"gre_down": 'far_ends = "any";'})
    packet = fr.udp(TO4["core0"], SUB.ip)
    for source, to in (("2400:cb00:f::3", GLOBAL["core0"]), (FAR_END["core0"], GLOBAL["cpe0"])):
        case.enter("core0", over6(source, to, packet, SUB.key))
        case.receive(SUB.port, case.access_frame(SUB, fr.forwarded(packet)))
    case.refuse("not_for_us", over6(FAR_END["core0"], "2400:cb00:c::2", packet, SUB.key))
    return case


def extensions():
    """Headers between the outer one and GRE: a tunnel encapsulation limit (RFC 2473), as Linux sends it, and others; fragments."""
    case = Over6("tunnel6-extensions", arp=False)
    theirs, ours, inside = FAR_END["core0"], GLOBAL["core0"], fr.gre(fr.udp(TO4["core0"], SUB.ip), key=SUB.key)
    limit = IPv6ExtHdrDestOpt(options=[HBHOptUnknown(otype=4, optlen=1, optdata=b"\x04")])
    for headers in ((limit,), (IPv6ExtHdrHopByHop(),), (IPv6ExtHdrHopByHop(), limit), (IPv6ExtHdrRouting(addresses=[]),)):
        packet = IPv6(src=theirs, dst=ours)
        for header in headers:
            packet /= header.copy()
        packet.lastlayer().nh = GRE
        case.refuse("outer_extension", raw(packet / Raw(inside)))
    stranger = raw(IPv6(src="2400::1", dst=ours) / IPv6ExtHdrDestOpt(nh=GRE) / Raw(inside))
    case.refuse("unknown_far_end", stranger)
    for offset, more in ((0, 1), (0, 0), (8, 1), (8, 0)):
        case.refuse("outer_fragment", raw(IPv6(src=theirs, dst=ours) / IPv6ExtHdrFragment(nh=GRE, offset=offset, m=more, id=7) / Raw(inside)))
    return case


def congestion():
    """RFC 6040, as out of tunnels of IPv4."""
    case = Over6("tunnel6-ecn")
    for (inner, outer), becomes in DECAPSULATED.items():
        packet, six = fr.udp(TO4["core0"], SUB.ip, tos=0x28 | inner), packet6(TO6["core0"], wan(SUB), tc=0x28 | inner)
        if becomes is None:
            for each in (packet, six):
                case.refuse("congested", over6(FAR_END["core0"], GLOBAL["core0"], each, SUB.key, tc=0xB8 | outer))
            continue
        case.down("core0", SUB, packet, tc=0xB8 | outer, becomes=fr.forwarded(packet, tos=0x28 | becomes))
        case.down("core0", SUB, six, tc=0xB8 | outer, becomes=hop(packet6(TO6["core0"], wan(SUB), tc=0x28 | becomes)))
    return case


def malformed():
    """Cut off after every byte, lengths that are too small or too great, and what GRE does not allow."""
    case = Over6("tunnel6-malformed")
    for packet in (fr.udp(TO4["core0"], SUB.ip, size=2), packet6(TO6["core0"], wan(SUB), size=2)):
        whole = over6(FAR_END["core0"], GLOBAL["core0"], packet, SUB.key)
        for n in range(40, len(whole)):
            case.refuse("bad_length", whole[:n])
        for n in range(1, 40):
            # below a label; mpls_pop looks at so many bytes
            case.refuse("not_ip", whole[:n], task="mpls_down")
        six = packet[0] >> 4 == 6
        for n in range(len(whole) - 40):
            inside = n - 8
            reason = ("bad_gre" if inside < 0 else ("inner_bad_ipv6" if six else "inner_bad_ipv4") if inside < (40 if six else 20)
                      else "inner_bad_length")  # fmt: skip
            case.refuse(reason, header6(FAR_END["core0"], GLOBAL["core0"], n, 0, 64, 0, GRE) + whole[40:])
        case.refuse("bad_gre", whole[:40] + b"\x24" + whole[41:])
        case.refuse("not_ipv4", whole[:42] + b"\x65\x58" + whole[44:])
    return case


def narrow(sent, mtu, router="2400:cb00:aaaa::1", dst=None):
    """What a router of the core says that could not forward sent (RFC 4443 section 3.2)."""
    return raw(IPv6(src=router, dst=dst or GLOBAL["core0"], hlim=60) / ICMPv6PacketTooBig(mtu=mtu) / Raw(sent[:1232]))


def narrow_core(name="narrow-core", **more):
    """A core narrower than configured (RFC 8201): the gateway learns it from what is said of its own tunnel packets."""
    case = Over6(f"tunnel6-{name}", params=PLENTY, **more)
    case.any_order = True  # both families
    big = fr.udp_of_length(SUB.ip, TO4["core0"], 1448, flags="DF")
    sent = over6(GLOBAL["core0"], FAR_END["core0"], fr.forwarded(big), SUB.key, fl=5)
    for forged in (over6(GLOBAL["core0"], "2400:cb00:f::3", big, SUB.key), over6(GLOBAL["core0"], FAR_END["core0"], big, 77777),
                   raw(IPv6(src=GLOBAL["core0"], dst=FAR_END["core0"]) / UDP() / Raw(bytes(1400))), sent[:47], sent[:43], sent[:39], b""):  # fmt: skip
        case.enter("core0", narrow(forged, 1400), stack=())
        case.drop("arp", "no_tunnel")
    for mtu in (len(sent), 65535, 1 << 31):
        case.enter("core0", narrow(sent, mtu), stack=())
        case.drop("arp", "no_tunnel")
    broken = narrow(sent, 1400)
    case.enter("core0", broken[:47] + bytes([broken[47] ^ 1]) + broken[48:], stack=())
    case.drop("arp", "icmp_malformed")
    case.enter("core0", narrow(sent, 1400), stack=())
    case.enter("core0", narrow(sent, 1450), stack=())  # of a packet that was on its way: the smaller one counts
    # the first round of each port is a burst: what the subscriber sends in the second finds a narrow tunnel
    for _ in range(BURST * 2):
        case.send(SUB.port, fr.from_cpe(FAR_LINE, fr.udp("10.99.0.1", TO4["core0"])))
    case.drop("classify", "spoofed", BURST * 2)
    for total in (1353, 1448):
        packet = fr.udp_of_length(SUB.ip, TO4["core0"], total, flags="DF")
        case.send(SUB.port, fr.from_cpe(SUB, packet))
        case.receive(SUB.port, case.access_frame(SUB, too_big4(fr.GATEWAY_IP["cpe0"], packet, 1352)))
    case.up4(SUB, "core0", size=1352 - 28)
    if case.gateway.ipv6:
        packet = packet6(wan(SUB), TO6["core0"], size=1353 - 48)
        case.send(SUB.port, from_cpe(SUB, packet))
        case.receive(SUB.port, fr.to_cpe(SUB, too_big6(GLOBAL["cpe0"], packet, 1352), ethertype=ETH_IPV6, pcp=6))
        case.up6(SUB, wan(SUB), "core0", size=1352 - 48)
    # the other tunnel, of either family, is as wide as it was
    case.up4(SUB, "core1", size=MTU["core1"] - 28)
    Traffic.up(case, SUB, "core0", fr.udp_of_length(SUB.ip, fr.server("core0"), 1468, flags="DF"))
    return case


FAR_LINE = Subscriber(0, 9)


def cases():
    # the same by tasks one by one
    return [up(), up("up-apart", top="fuse = false;"), up_ends(), down(), down("down-apart", top="fuse = false;"), without_keys(), unlabelled(),
            ends(), any_end(), extensions(), congestion(), malformed(), narrow_core(), narrow_core("narrow-core-ipv4", ipv6=False)]
