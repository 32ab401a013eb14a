# SPDX-License-Identifier: BSD-3-Clause
"""Neighbour discovery on subscribers' links: answers, what is learned from it, what is asked, what is refused.

The core polls cpe0, cpe1, core0, core1 in this order, 32 frames each: that is how a case knows what comes first.
"""

import socket

from scapy.compat import raw
from scapy.layers.inet6 import (ICMPv6MLReport2, ICMPv6ND_NA, ICMPv6ND_NS, ICMPv6ND_RA, ICMPv6ND_RS, ICMPv6NDOptDstLLAddr,
                                ICMPv6NDOptMTU, ICMPv6NDOptPrefixInfo, ICMPv6NDOptSrcLLAddr, IPv6, IPv6ExtHdrDestOpt)
from scapy.packet import Raw
from scapy.pton_ntop import inet_ntop, inet_pton
from scapy.utils6 import in6_getnsma, in6_getnsmac, in6_ptop

from tests.pcap import frames as fr
from tests.pcap.cases_arp import BURST
from tests.pcap.cases_ipv6 import CORE, ETH_IPV6, SERVER, Traffic6, delegated, from_core, from_cpe, hop, packet6, wan
from tests.pcap.frames import Subscriber
from tests.pcap.traffic import Traffic

SUB, OTHER, FAR = Subscriber(0, 2), Subscriber(0, 3), Subscriber(1, 7)
ALL_NODES, ALL_NODES_MAC = "ff02::1", "33:33:00:00:00:01"


def link_local(mac):
    """The modified EUI-64 of RFC 4291 appendix A, reckoned another way than the gateway does."""
    b = [int(part, 16) for part in mac.split(":")]
    return in6_ptop("fe80::%02x%02x:%02xff:fe%02x:%02x%02x" % (b[0] ^ 2, *b[1:]))


def ours(sub):
    return link_local(fr.GATEWAY_MAC[sub.port])


def group(address):
    """The solicited-node group of an address, and its MAC."""
    number = in6_getnsma(inet_pton(socket.AF_INET6, address))
    return inet_ntop(socket.AF_INET6, number), in6_getnsmac(number)


def solicit(target, src, option=None, dst=None, **ip):
    packet = IPv6(**{"src": src, "dst": dst or group(target)[0], "hlim": 255, **ip}) / ICMPv6ND_NS(tgt=target)
    return raw(packet / option if option is not None else packet)


def advert(target, src, dst, mac, r=0, s=1, o=1, **ip):
    packet = IPv6(**{"src": src, "dst": dst, "hlim": 255, **ip}) / ICMPv6ND_NA(tgt=target, R=r, S=s, O=o)
    return raw(packet / ICMPv6NDOptDstLLAddr(lladdr=mac) if mac else packet)


def cpe_asks(sub, src, target=None, mac=None, frame_mac=None, dst=None, say=True, **more):
    """A CPE's solicitation for the gateway's address, or for another."""
    target, mac = target or ours(sub), mac or sub.mac
    option = ICMPv6NDOptSrcLLAddr(lladdr=mac) if say else None
    tags = {key: more.pop(key) for key in ("tpid", "pcp") if key in more}
    return fr.pad(fr.tagged(dst or group(target)[1], frame_mac or mac, sub, solicit(target, src, option, **more), ethertype=ETH_IPV6, **tags))


def answer(sub, asker, mac=None, **tags):
    """What the gateway answers to that."""
    to, s = (ALL_NODES, 0) if asker == "::" else (asker, 1)
    packet = advert(ours(sub), ours(sub), to, fr.GATEWAY_MAC[sub.port], r=1, s=s, o=1)
    return fr.to_cpe(sub, packet, dst=ALL_NODES_MAC if asker == "::" else mac or sub.mac, ethertype=ETH_IPV6, **tags)


def question(sub, target):
    """What the gateway asks."""
    packet = solicit(target, ours(sub), ICMPv6NDOptSrcLLAddr(lladdr=fr.GATEWAY_MAC[sub.port]))
    return fr.to_cpe(sub, packet, dst=group(target)[1], ethertype=ETH_IPV6)


def cpe_tells(sub, target, mac=None, src=None, dst=None, **flags):
    mac = mac or sub.mac
    packet = advert(target, src or target, dst or ours(sub), mac, **flags)
    return fr.pad(fr.tagged(fr.GATEWAY_MAC[sub.port] if dst is None else ALL_NODES_MAC, mac, sub, packet, ethertype=ETH_IPV6))


def alone(cvlan, ipv6="", delegated="", **more):
    """A subscriber of IPv6 alone, whose MAC nobody has configured, and the keys that say so."""
    sub = Subscriber(0, 0)
    sub.svlan, sub.cvlan, sub.mac = 4000, cvlan, f"02:c6:00:00:00:{cvlan:02x}"
    keys = "".join(f' {key} = "{value}";' for key, value in (("ipv6", ipv6), ("delegated", delegated), *more.items()) if value)
    return sub, f'{{ port = "cpe0"; svlan = 4000; cvlan = {cvlan};{keys} }}'


def wait_a_round(case):
    """What cpe0 sends behind these comes after the first round of the core's ports."""
    filler = Subscriber(0, 9)
    for _ in range(BURST):
        case.send("cpe0", fr.from_cpe(filler, fr.udp("10.99.0.1", fr.server(CORE))))
    case.drop("classify", "spoofed", BURST)


def access_answers():
    """For each VLAN pair, with the tags of the subscriber's port, whatever those of the question, from every address of the sender."""
    case = Traffic6("nd-access-answers", subscribers=512)
    for sub in (Subscriber(0, 0), Subscriber(0, 511), Subscriber(1, 0), Subscriber(1, 511)):
        for asker in (link_local(sub.mac), "fe80::1", "febf::1", wan(sub), wan(sub, ":ffff::1"), delegated(sub)):
            case.send(sub.port, cpe_asks(sub, asker))
            case.receive(sub.port, answer(sub, asker))
        for tpid in (fr.TPID_88A8, fr.TPID_8100):
            case.send(sub.port, cpe_asks(sub, "fe80::2", tpid=tpid, pcp=7))
            case.receive(sub.port, answer(sub, "fe80::2"))
        # reachability is asked by unicast, and may leave the MAC out
        case.send(sub.port, cpe_asks(sub, "fe80::2", dst=fr.GATEWAY_MAC[sub.port], say=False))
        case.receive(sub.port, answer(sub, "fe80::2"))
        # who says another MAC than the frame has is answered there
        case.send(sub.port, cpe_asks(sub, "fe80::2", frame_mac="02:ca:fe:00:00:09"))
        case.receive(sub.port, answer(sub, "fe80::2"))
        # somebody wants to have the gateway's address: RFC 4862 section 5.4.3
        case.send(sub.port, cpe_asks(sub, "::", say=False))
        case.receive(sub.port, answer(sub, "::"))
    return case


def refused():
    case = Traffic6("nd-refused", static_cpe=False)
    asker = link_local(SUB.mac)

    def drop(reason, *frames, task="arp"):
        case.send(SUB.port, *frames)
        case.drop(task, reason, len(frames))

    drop("nd_foreign", *(cpe_asks(SUB, *which, say=False) for which in ((asker, ours(FAR)), (asker, wan(SUB)), ("::", "fe80::1234"))))
    drop("nd_spoofed", *(cpe_asks(SUB, src) for src in (ours(SUB), wan(OTHER), delegated(OTHER), SERVER, "::1", "::ffff:10.0.0.1")))
    drop("nd_spoofed", cpe_tells(SUB, wan(OTHER)), cpe_tells(SUB, SERVER), cpe_tells(SUB, ours(SUB)), cpe_tells(SUB, ours(SUB), src=asker),
         cpe_tells(SUB, asker, src=wan(OTHER)), cpe_tells(SUB, wan(OTHER), src=asker), cpe_tells(SUB, wan(OTHER), dst=ALL_NODES, s=0))
    drop("arp_own_mac", *(cpe_asks(SUB, asker, mac=mac) for mac in fr.GATEWAY_MAC.values()))
    drop("nd_malformed", *(cpe_asks(SUB, asker, hlim=hlim) for hlim in (0, 1, 64, 254)))
    drop("nd_malformed", *(cpe_asks(SUB, asker, mac=mac) for mac in ("33:33:00:00:00:01", "00:00:00:00:00:00", fr.BROADCAST)))
    drop("nd_malformed", cpe_asks(SUB, asker, dst=OTHER.mac), cpe_asks(SUB, "::"), cpe_tells(SUB, asker, dst=ALL_NODES, s=1))
    drop("nd_malformed", fr.pad(fr.tagged(ALL_NODES_MAC, SUB.mac, SUB, solicit(ours(SUB), "::", dst=ALL_NODES), ethertype=ETH_IPV6)))
    good = cpe_asks(SUB, asker)
    for at, value in ((63, 1), (64, good[64] ^ 1), (70, 0xFF), (87, 0), (87, 2), (87, 255)):  # code, checksum, target, option's length
        drop("nd_malformed", good[:at] + bytes([value]) + good[at + 1 :])
    for option in (Raw(b"\1"), Raw(b"\1\0" + bytes(6)), Raw(b"\x0e\2" + bytes(6)), Raw(bytes(16)), Raw(b"\x0e\1" + bytes(6)) / Raw(b"\1\1" * 3)):
        drop("nd_malformed", fr.tagged(group(ours(SUB))[1], SUB.mac, SUB, solicit(ours(SUB), asker, option), ethertype=ETH_IPV6))
    whole = fr.tagged(group(ours(SUB))[1], SUB.mac, SUB, solicit(ours(SUB), asker, ICMPv6NDOptSrcLLAddr(lladdr=SUB.mac)), ethertype=ETH_IPV6)
    for n in range(22 + 40, len(whole)):
        drop("bad_ipv6_length", whole[:n], task="classify")
    stranger = Subscriber(0, 2)
    stranger.cvlan = 999
    drop("unknown_subscriber", cpe_asks(stranger, asker), task="classify")
    link = [IPv6(src=asker, dst=dst, hlim=255) / payload for dst, payload in ((ALL_NODES, ICMPv6ND_RA()), ("ff02::16", ICMPv6MLReport2()),
            (ours(SUB), IPv6ExtHdrDestOpt() / ICMPv6ND_NS(tgt=ours(SUB))))]  # fmt: skip
    drop("ipv6_link_local", *(from_cpe(SUB, raw(packet), dst=ALL_NODES_MAC) for packet in link), task="classify")
    # nothing of all this has taught anything
    case.send(CORE, from_core(packet6(SERVER, wan(SUB))))
    case.receive(SUB.port, question(SUB, wan(SUB)))
    case.drop("arp", "unresolved")
    return case


def flood():
    """arp_rate = "1": one is looked at, the others are dropped; ARP has its own."""
    case = Traffic6("nd-flood", params={"arp": 'arp_rate = "1";'})
    asker = link_local(SUB.mac)
    case.send(SUB.port, *[cpe_asks(SUB, asker)] * 200)
    case.receive(SUB.port, answer(SUB, asker))
    case.drop("arp", "nd_rate_limited", 199)
    return case


def one_floods():
    """A subscriber has a share, and what is beyond it costs another nothing."""
    case = Traffic6("nd-one-floods", subscriber_rate="5", params={"arp": 'arp_rate = "100";'})
    asker = link_local(SUB.mac)
    case.send(SUB.port, *[cpe_asks(SUB, asker)] * 300)
    for _ in range(5):
        case.receive(SUB.port, answer(SUB, asker))
    case.drop("classify", "punt_limited", 295)
    case.send(SUB.port, cpe_asks(OTHER, asker))
    case.receive(SUB.port, answer(OTHER, asker))
    return case


def learn_alone():
    """Of a subscriber without IPv4 and without a MAC: asked for once, for the address that the packet is for. Then his answer teaches it,
    for all addresses of his link and of what is delegated."""
    sub, keys = alone(1, "2001:db8:6000::/64", "2001:db8:7000::/56")
    case = Traffic6("nd-learns-alone", more_subscribers=keys)
    dst = "2001:db8:6000::77:1234"
    case.send(CORE, *[from_core(packet6(SERVER, dst))] * BURST)
    case.drop("arp", "unresolved", BURST)
    case.receive(sub.port, question(sub, dst))
    wait_a_round(case)
    case.send(sub.port, cpe_tells(sub, dst))
    for to in (dst, "2001:db8:6000::1", "2001:db8:7000:ff::9"):
        case.to_cpe(sub, packet6(SERVER, to))
    return case


def learn_address():
    """Of a subscriber with one address that is asked for, whichever of his addresses a packet has."""
    sub, keys = alone(2, "2001:db8:6001::8/125", "2001:db8:7001::/56", ipv6_len="128")
    case = Traffic6("nd-learns-address", more_subscribers=keys)
    case.send(CORE, *[from_core(packet6(SERVER, "2001:db8:7001:1::5"))] * BURST)
    case.drop("arp", "unresolved", BURST)
    case.receive(sub.port, question(sub, "2001:db8:6001::8"))
    wait_a_round(case)
    case.send(sub.port, cpe_tells(sub, "2001:db8:6001::8", s=0, dst=ALL_NODES))  # unasked, to all
    for to in ("2001:db8:6001::8", "2001:db8:7001::1"):
        case.to_cpe(sub, packet6(SERVER, to))
    return case


def learn_from_questions():
    """A question of the CPE teaches as well, also one that is not answered; a probe does not. The newest MAC counts, but for an
    advertisement that does not override."""
    sub, keys = alone(3, delegated="2001:db8:7002::/56")
    case = Traffic6("nd-learns-from-questions", more_subscribers=keys)
    first, newer = "02:ca:fe:00:00:01", "02:ca:fe:00:00:02"
    case.send(sub.port, cpe_asks(sub, "::", say=False, frame_mac="02:ca:fe:00:00:07"))
    case.receive(sub.port, answer(sub, "::"))
    case.send(sub.port, cpe_asks(sub, link_local(first), mac=first))
    case.receive(sub.port, answer(sub, link_local(first), mac=first))
    case.send(sub.port, cpe_tells(sub, link_local(newer), mac=newer, o=0))
    for seed in range(BURST):
        packet = packet6(SERVER, "2001:db8:7002::1", seed=seed)
        case.send(CORE, from_core(packet))
        case.receive(sub.port, fr.to_cpe(sub, hop(packet), dst=first, ethertype=ETH_IPV6))
    wait_a_round(case)
    case.send(sub.port, cpe_asks(sub, link_local(newer), "fe80::99", mac=newer))
    case.drop("arp", "nd_foreign")
    packet = packet6(SERVER, "2001:db8:7002::1")
    case.send(CORE, from_core(packet))
    case.receive(sub.port, fr.to_cpe(sub, hop(packet), dst=newer, ethertype=ETH_IPV6))
    return case


def one_mac():
    """What ARP learns is for IPv6, too, and the other way round."""
    case = Traffic6("nd-and-arp-are-one", static_cpe=False)
    case.send(SUB.port, fr.pad(fr.tagged(fr.BROADCAST, SUB.mac, SUB, fr.arp(1, SUB.mac, SUB.ip, "00:00:00:00:00:00", SUB.ip),
                                         ethertype=fr.ETH_ARP)))
    case.send(SUB.port, cpe_tells(OTHER, wan(OTHER, "::5")))
    case.to_cpe(SUB, packet6(SERVER, delegated(SUB)))
    case.down(CORE, OTHER, fr.udp(fr.server(CORE), OTHER.ip))
    return case


def static_stays():
    case = Traffic6("nd-static-cpe-stays")
    asker = link_local("02:ca:fe:00:00:01")
    case.send(SUB.port, cpe_asks(SUB, asker, mac="02:ca:fe:00:00:01"), cpe_tells(SUB, wan(SUB), mac="02:ca:fe:00:00:01"))
    case.receive(SUB.port, answer(SUB, asker, mac="02:ca:fe:00:00:01"))
    case.to_cpe(SUB, packet6(SERVER, wan(SUB)))
    return case


def keep_for_cpe():
    """The latest packets wait for the answer, with their priority."""
    sub, keys = alone(4, "2001:db8:6003::/64")
    case = Traffic6("nd-keeps-for-cpe", more_subscribers=keys, keep=None)
    packets = [packet6(SERVER, "2001:db8:6003::1", seed=seed, tc=0x28) for seed in range(BURST)]
    case.send(CORE, *map(from_core, packets))
    case.drop("arp", "unresolved", BURST - 3)
    case.receive(sub.port, question(sub, "2001:db8:6003::1"))
    wait_a_round(case)
    case.send(sub.port, cpe_tells(sub, "2001:db8:6003::1"))
    for packet in packets[-3:]:
        case.receive(sub.port, fr.to_cpe(sub, hop(packet), ethertype=ETH_IPV6, pcp=1))
    return case


def keep_in_vain():
    sub, keys = alone(5, "2001:db8:6004::/64")
    case = Traffic6("nd-keeps-in-vain", more_subscribers=keys, keep=None)
    case.send(CORE, from_core(packet6(SERVER, "2001:db8:6004::1")))
    case.receive(sub.port, question(sub, "2001:db8:6004::1"))
    case.drop("arp", "no_answer")
    return case


def scan():
    """Somebody sends to many addresses of a prefix: the gateway asks once a second, and keeps nothing of those that nobody has (RFC 6583)."""
    sub, keys = alone(6, "2001:db8:6005::/64")
    case = Traffic6("nd-scan", more_subscribers=keys)
    case.send(CORE, *(from_core(packet6(SERVER, f"2001:db8:6005::{n:x}")) for n in range(1, BURST + 1)))
    case.receive(sub.port, question(sub, "2001:db8:6005::1"))
    case.drop("arp", "unresolved", BURST)
    return case


def router_solicit(sub, src, say=True, mac=None, option=None, **ip):
    mac = mac or sub.mac
    packet = IPv6(**{"src": src, "dst": "ff02::2", "hlim": 255, **ip}) / ICMPv6ND_RS()
    if say:
        packet /= ICMPv6NDOptSrcLLAddr(lladdr=mac)
    if option is not None:
        packet /= option
    return fr.pad(fr.tagged("33:33:00:00:00:02", mac, sub, raw(packet), ethertype=ETH_IPV6))


def router_advert(sub, asker, prefix=None, mac=None, mtu=1500, m=0, o=0, life=1800, valid=2592000, preferred=604800):
    """What the gateway says of itself, to one (asker) or to all nodes."""
    packet = IPv6(src=ours(sub), dst=asker, hlim=255) / ICMPv6ND_RA(chlim=64, M=m, O=o, H=0, prf=0, routerlifetime=life)
    packet /= ICMPv6NDOptSrcLLAddr(lladdr=fr.GATEWAY_MAC[sub.port])
    if mtu:
        packet /= ICMPv6NDOptMTU(mtu=mtu)
    if prefix:
        packet /= ICMPv6NDOptPrefixInfo(prefixlen=64, L=1, A=1, R=0, validlifetime=valid, preferredlifetime=preferred, prefix=prefix)
    return fr.to_cpe(sub, raw(packet), dst=ALL_NODES_MAC if asker == ALL_NODES else mac or sub.mac, ethertype=ETH_IPV6)


def routers_answered():
    """Each VLAN pair has its own prefix; the answer goes to who asks, or to all where that one has no address yet."""
    case = Traffic6("ra-answers", subscribers=512, ra=True, params={"arp": 'ra_interval = "30min"; ra_lifetime = "30min";'})
    for sub in (Subscriber(0, 0), Subscriber(0, 511), Subscriber(1, 0), Subscriber(1, 511)):
        for asker in (link_local(sub.mac), "fe80::1", wan(sub)):
            for say in (True, False):
                case.send(sub.port, router_solicit(sub, asker, say=say))
                case.receive(sub.port, router_advert(sub, asker, wan(sub, "::")))
        case.send(sub.port, router_solicit(sub, "::", say=False))
        case.receive(sub.port, router_advert(sub, ALL_NODES, wan(sub, "::")))
    return case


def router_says():
    """The keys; a port's MTU, which is not said below that of IPv6; M for who has one address, no prefix for who has none."""
    keys = ('ra_interval = "20min"; ra_lifetime = "9000s"; ra_valid = "1h"; ra_preferred = "0s"; ra_other = true;',
            'ra_interval = "20min"; ra_lifetime = "0s"; ra_managed = true;')
    one, of_one = alone(1, "2001:db8:6001::8/125", ipv6_len="128")
    none, of_none = alone(2, delegated="2001:db8:7001::/56")
    said = ({"life": 9000, "valid": 3600, "preferred": 0, "o": 1}, {"life": 0, "m": 1})
    for i in range(2):
        case = Traffic6(f"ra-says-{i + 1}", more_subscribers=of_one + ", " + of_none, ra=True, params={"arp": keys[i]},
                        mtu={"cpe0": 1280 + i * 212, "cpe1": 1279})
        for sub, more in ((SUB, {"prefix": wan(SUB, "::"), "mtu": 1280 + i * 212}), (FAR, {"prefix": wan(FAR, "::"), "mtu": 0}),
                          (one, {"m": 1, "mtu": 1280 + i * 212}), (none, {"mtu": 1280 + i * 212})):
            case.send(sub.port, router_solicit(sub, "fe80::7"))
            case.receive(sub.port, router_advert(sub, "fe80::7", **{**said[i], **more, "m": said[i].get("m", 0) | more.get("m", 0)}))
        yield case


def routers_refused():
    """What no router may answer, and what it may not believe; a solicitation teaches the MAC (RFC 4861 section 6.2.6)."""
    sub, keys = alone(3, delegated="2001:db8:7002::/56")
    case = Traffic6("ra-refused", more_subscribers=keys, ra=True, params={"arp": 'ra_interval = "30min";'})

    def drop(reason, *frames):
        case.send(SUB.port, *frames)
        case.drop("arp", reason, len(frames))

    drop("nd_malformed", *(router_solicit(SUB, "fe80::1", hlim=hlim) for hlim in (0, 254)), router_solicit(SUB, "::"),
         router_solicit(SUB, "fe80::1", mac=fr.BROADCAST), router_solicit(SUB, "fe80::1", option=Raw(b"\1\0")))
    drop("nd_spoofed", *(router_solicit(SUB, src) for src in (ours(SUB), wan(OTHER), SERVER)))
    drop("arp_own_mac", router_solicit(SUB, "fe80::1", mac=fr.GATEWAY_MAC["core0"]))
    case.send(sub.port, router_solicit(sub, "fe80::7"))
    case.receive(sub.port, router_advert(sub, "fe80::7"))
    case.to_cpe(sub, packet6(SERVER, "2001:db8:7002::1"))
    return case


def routers_off():
    case = Traffic6("ra-off")
    case.send(SUB.port, router_solicit(SUB, "fe80::7"))
    case.drop("arp", "ra_off")
    return case


SIDES = {"plain": {"gre": False, "mpls": False}, "gre": {"mpls": False}, "mpls": {}}


def cases():
    for make in (access_answers, refused, flood, one_floods, learn_alone, learn_address, learn_from_questions, one_mac, static_stays,
                 keep_for_cpe, keep_in_vain, scan):  # fmt: skip
        yield make()
    yield routers_answered()
    yield from router_says()
    yield routers_refused()
    yield routers_off()
