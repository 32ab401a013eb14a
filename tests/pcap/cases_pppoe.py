# SPDX-License-Identifier: BSD-3-Clause
"""Subscribers in PPPoE sessions, against frames that Scapy has built: both directions and families, with and without tunnels (and so fused and
not), sizes, padding, whatever is wrong with a frame, each frame cut off after every byte, and what the gateway itself says in a session."""

from scapy.compat import raw
from scapy.layers.inet import fragment
from scapy.layers.inet6 import ICMPv6ND_RS, IPv6
from scapy.layers.ppp import PPPoE
from scapy.packet import Raw

from tests.pcap import frames as fr
from tests.pcap.cases_icmp import PLENTY, expired, ping, pong, too_big
from tests.pcap.cases_icmp6 import ADDRESSES6, GLOBAL
from tests.pcap.cases_icmp6 import expired as expired6
from tests.pcap.cases_icmp6 import too_big as too_big6
from tests.pcap.cases_ipv6 import CORE, ETH_IPV6, SERVER, TO_SERVER, from_core, hop, packet6, wan
from tests.pcap.cases_nd import router_advert
from tests.pcap.cases_truncated import cut, judge_tunnel
from tests.pcap.frames import Subscriber, server
from tests.pcap.traffic import Traffic

SESSION, OF_SESSION = 0x8863, 0x8864
IPV4, IPV6, LCP, IPCP, CCP, COMPRESSED = 0x0021, 0x0057, 0xC021, 0x8021, 0x80FD, 0x00FD
MTU = 1492


class InSession(Subscriber):
    """Subscriber i, from 256 on, whose packets are in a session."""

    def __init__(self, i, session, mtu=MTU):
        super().__init__(0, i)
        self.session, self.mtu = session, mtu

    def entry(self, key=True):
        six = f"2001:db8:0:{self.i:x}::/64"
        gre = f'gre_key = "{self.key}"; ' * key
        return (f'{{ port = "{self.port}"; svlan = {self.svlan}; cvlan = {self.cvlan}; ipv4 = "{self.ip}/32"; ipv6 = "{six}"; {gre}'
                f'pppoe = {{ session = {self.session}; mac = "{self.mac}"; mtu = {self.mtu}; }}; }}')


SUB, SECOND, SMALL = InSession(258, 0x1234), InSession(259, 65534), InSession(260, 1, mtu=1300)
IPOE = Subscriber(0, 2)


def session(sub, packet, protocol=IPV4, **header):
    """What is behind the tags. Scapy's PPP would compress the protocol (RFC 1661 section 6.5)."""
    return raw(PPPoE(**{"sessionid": sub.session, **header}) / Raw(protocol.to_bytes(2, "big") + packet))


def from_cpe(sub, packet, protocol=IPV4, dst=None, src=None, filler=b"", tpid=fr.TPID_88A8, **header):
    frame = fr.tagged(dst or fr.GATEWAY_MAC[sub.port], src or sub.mac, sub, session(sub, packet, protocol, **header), ethertype=OF_SESSION, tpid=tpid)
    return frame + filler


def to_cpe(sub, packet, protocol=IPV4, pcp=None):
    pcp = (packet[1] if protocol == IPV4 else IPv6(packet).tc) >> 5 if pcp is None else pcp
    return fr.pad(fr.tagged(sub.mac, fr.GATEWAY_MAC[sub.port], sub, session(sub, packet, protocol), ethertype=OF_SESSION, pcp=pcp))


class Pppoe(Traffic):
    def __init__(self, name, **more):
        more.setdefault("ipv6", True)
        super().__init__(name, more_subscribers=",\n".join(s.entry() for s in (SUB, SECOND, SMALL)), **more)

    def up(self, sub, core, packet, **sent):
        self.send(sub.port, from_cpe(sub, packet, **sent))
        self.receive(core, self.core_frame(core, fr.forwarded(packet), sub))

    def access_frame(self, sub, packet, **tags):
        return to_cpe(sub, fr.ip_bytes(packet), **tags) if isinstance(sub, InSession) else super().access_frame(sub, packet, **tags)

    def up6(self, sub, packet, **sent):
        self.send(sub.port, from_cpe(sub, packet, IPV6, **sent))
        self.receive("core1", fr.ether(fr.NEIGHBOUR_MAC["core1"], fr.GATEWAY_MAC["core1"], ETH_IPV6, hop(packet)))

    def down6(self, sub, packet):
        self.send(CORE, from_core(packet))
        self.receive(sub.port, to_cpe(sub, hop(packet), IPV6))

    def refused(self, reason, *frames, task="classify"):
        self.send(SUB.port, *frames)
        self.drop(task, reason, len(frames))


SHAPES = ({}, {"gre": False}, {"mpls": False}, {"gre": False, "mpls": False})


def name_of(shape):
    return "-".join(["pppoe", *(f"no-{key}" for key in shape)])


def sizes(shape):
    """Packets of all sizes, padded with what is not theirs; an IPoE subscriber's and both families between them, in the same bursts."""
    case = Pppoe(name_of(shape), routes=TO_SERVER, **shape)
    plain = not case.gateway.gre and not case.gateway.mpls
    for seed, size in enumerate((0, 1, 2, 9, 10, 11, 12, 13, 18, 19, 100, 1200, 1440 - 28, MTU - 28 if plain else 1440 - 28)):
        for sub in (SUB, SECOND):
            case.up(sub, CORE, fr.udp(sub.ip, server(CORE), size, seed=seed, tos=0xB8), filler=b"\xee" * (seed % 30))
            case.down(CORE, sub, fr.udp(server(CORE), sub.ip, size, seed=seed, tos=seed * 16))
        packet = fr.udp(IPOE.ip, server(CORE), size, seed=seed)
        case.send(IPOE.port, fr.from_cpe(IPOE, packet))
        case.receive(CORE, case.core_frame(CORE, fr.forwarded(packet), IPOE))
        case.down(CORE, IPOE, fr.udp(server(CORE), IPOE.ip, size, seed=seed))
    case.down(CORE, SUB, fr.udp(server(CORE), SUB.ip, MTU - 28, flags="DF"))
    case.up(SUB, CORE, fr.udp(SUB.ip, server(CORE), options=b"\x01" * 8))
    case.up(SUB, CORE, fr.udp(SUB.ip, server(CORE)), tpid=fr.TPID_8100)
    return case


def six():
    case = Pppoe("pppoe-ipv6", gre=False, mpls=False, routes=TO_SERVER)
    for seed, size in enumerate((0, 1, 100, MTU - 48)):
        for sub in (SUB, SECOND):
            case.up6(sub, packet6(wan(sub), SERVER, size=size, seed=seed, tc=seed * 40), filler=b"\xee" * seed)
            case.down6(sub, packet6(SERVER, wan(sub), size=size, seed=seed, tc=seed * 40))
    return case


def ends_up():
    """Whatever is wrong with a frame has its reason; nothing of it goes on."""
    case = Pppoe("pppoe-wrong", gre=False, mpls=False, routes=TO_SERVER)
    good = fr.udp(SUB.ip, server(CORE), size=30)
    good6 = packet6(wan(SUB), SERVER)
    foreign = "02:00:00:00:00:99"
    case.refused("unknown_session", *(from_cpe(SUB, good, sessionid=s) for s in (0, 1, 0x3412, 0x1235, 0xFFFF)), from_cpe(SUB, good6, IPV6, sessionid=7))
    ipoe = InSession(2, SUB.session)  # a line without a session
    case.refused("unknown_session", from_cpe(ipoe, good), from_cpe(ipoe, b"", LCP))
    nobody = InSession(300, SUB.session)
    case.refused("unknown_subscriber", from_cpe(nobody, good))
    case.refused("session_mac", from_cpe(SUB, good, src=foreign), from_cpe(SUB, good, src=fr.GATEWAY_MAC["cpe0"]), from_cpe(SUB, good6, IPV6, src=foreign))
    case.refused("foreign_mac", from_cpe(SUB, good, dst=foreign), from_cpe(SUB, good6, IPV6, dst=foreign))
    case.refused("group_mac", from_cpe(SUB, good, dst=fr.BROADCAST))
    case.refused("bad_pppoe", *(from_cpe(SUB, good, **{key: value}) for key, value in (("version", 2), ("type", 2), ("code", 1), ("code", 0xA7))))
    case.refused("bad_pppoe", *(from_cpe(SUB, good, len=n) for n in (0, 1, len(good) + 3, 1500, 0xFFFF)))
    case.refused("bad_ipv4", *(from_cpe(SUB, good, len=n) for n in (2, 3, 21)))
    case.refused("bad_length", *(from_cpe(SUB, good, len=n) for n in (22, len(good) + 1)))
    case.refused("bad_length", from_cpe(SUB, good, len=len(good) + 1, filler=bytes(20)))  # the padding is none of it
    case.refused("bad_ipv6", *(from_cpe(SUB, good6, IPV6, len=n) for n in (2, 41)))
    case.refused("bad_ipv6_length", *(from_cpe(SUB, good6, IPV6, len=n) for n in (42, len(good6) + 1)))
    case.refused("bad_ipv4", from_cpe(SUB, good6, IPV4))
    case.refused("bad_ipv6", from_cpe(SUB, good, IPV6))
    case.refused("ppp_control", *(from_cpe(SUB, b"\x01\x01\x00\x04", p) for p in (LCP, IPCP, CCP, COMPRESSED)))
    case.refused("not_pppoe", fr.from_cpe(SUB, good), fr.from_cpe(SUB, good6, ethertype=ETH_IPV6), fr.from_cpe(SUB, b"\x11\x09" + bytes(4), ethertype=SESSION))
    case.refused("not_pppoe", fr.from_cpe(SUB, fr.arp(1, SUB.mac, SUB.ip, "00:00:00:00:00:00", fr.GATEWAY_IP["cpe0"]), ethertype=fr.ETH_ARP))
    case.refused("spoofed", from_cpe(SUB, fr.udp(SECOND.ip, server(CORE))), from_cpe(SUB, packet6(wan(SECOND), SERVER), IPV6))
    case.up(SUB, CORE, good)  # and then all is as it was
    return case


def truncated():
    """Cut after every byte; and with a length in the PPPoE header that was cut along."""
    case = Pppoe("pppoe-truncated-up", gre=False, mpls=False)
    for packet, protocol, header, bad in ((fr.udp(SUB.ip, server(CORE), size=30), IPV4, 20, "ipv4"), (packet6(wan(SUB), SERVER, size=30), IPV6, 40, "ipv6")):
        frame = from_cpe(SUB, packet, protocol)
        cut(case, "cpe0", frame, lambda n: ("classify", "short_frame" if n < 22 else "bad_pppoe"))
        for n in range(len(packet)):
            length = "bad_length" if bad == "ipv4" else "bad_ipv6_length"
            case.refused("bad_" + bad if n < header else length, from_cpe(SUB, packet[:n], protocol))
    case.up(SUB, CORE, fr.udp(SUB.ip, server(CORE), size=30))
    return case


def truncated_down():
    case = Pppoe("pppoe-truncated-down")
    packet = fr.udp(server(CORE), SUB.ip, size=30)
    cut(case, CORE, fr.from_core(CORE, packet, key=SUB.key, stack=[(16, 99)]), judge_tunnel(1, 20))
    case.down(CORE, SUB, packet)
    return case


def too_large():
    """What a session does not take and nobody may cut: its sender is told the session's MTU."""
    case = Pppoe("pppoe-mtu", gre=False, mpls=False, params=PLENTY, addresses6=ADDRESSES6, routes=TO_SERVER)
    for sub in (SUB, SMALL):
        packet = fr.udp_of_length(server(CORE), sub.ip, sub.mtu + 1, flags="DF")
        case.send(CORE, fr.from_core(CORE, packet, stack=(), with_gre=False))
        case.receive(CORE, case.core_frame(CORE, fr.forwarded(too_big(fr.GATEWAY_IP["cpe0"], packet, sub.mtu)), sub))
        case.down(CORE, sub, fr.udp_of_length(server(CORE), sub.ip, sub.mtu, flags="DF"))
        packet = packet6(SERVER, wan(sub), size=sub.mtu + 1 - 48)
        case.send("core1", from_core(packet, "core1"))
        answer = hop(too_big6(GLOBAL["cpe0"], packet, sub.mtu))
        case.receive("core1", fr.ether(fr.NEIGHBOUR_MAC["core1"], fr.GATEWAY_MAC["core1"], ETH_IPV6, answer))
    return case


def fragments():
    case = Pppoe("pppoe-fragments", gre=False, mpls=False)
    case.any_order = True  # those that were cut come behind the others
    for sub in (SUB, SMALL):
        packet = fr.IP(fr.udp_of_length(server(CORE), sub.ip, sub.mtu + 1))
        case.send(CORE, fr.from_core(CORE, raw(packet), stack=(), with_gre=False))
        for part in fragment(fr.IP(fr.forwarded(raw(packet))), fragsize=(sub.mtu - 20) // 8 * 8):
            case.receive(sub.port, to_cpe(sub, raw(part)))
        packet = fr.udp_of_length(server(CORE), sub.ip, sub.mtu)
        case.down(CORE, sub, packet)
    return case


def slow_path():
    """Pings, errors and router advertisements reach the CPE in its session, padded where they are short."""
    routers = 'ra_interval = "30min"; ra_lifetime = "30min";'
    case = Pppoe("pppoe-slow-path", params={"arp": PLENTY["arp"] + routers}, ra=True, addresses6=ADDRESSES6, routes=TO_SERVER)
    for seq, size in enumerate((0, 1, 2, 3, 40, 1400)):
        case.send("cpe0", from_cpe(SUB, ping(SUB.ip, fr.GATEWAY_IP["cpe1"], size, seq=seq, tos=0x28), filler=b"\xee" * 10))
        case.receive("cpe0", to_cpe(SUB, pong(fr.GATEWAY_IP["cpe1"], SUB.ip, size, seq=seq, tos=0x28)))
    packet = fr.udp(SUB.ip, server(CORE), ttl=1)
    case.send("cpe0", from_cpe(SUB, packet))
    case.receive("cpe0", to_cpe(SUB, expired(fr.GATEWAY_IP["cpe0"], packet)))
    packet = packet6(wan(SUB), SERVER, hlim=1)
    case.send("cpe0", from_cpe(SUB, packet, IPV6))
    case.receive("cpe0", to_cpe(SUB, expired6(GLOBAL["cpe0"], packet), IPV6))
    asks = raw(IPv6(src="fe80::7", dst="ff02::2", hlim=255) / ICMPv6ND_RS())
    case.send("cpe0", from_cpe(SUB, asks, IPV6))
    says = router_advert(SUB, "fe80::7", wan(SUB, "::"), mtu=MTU)[22:]  # as on a link without PPPoE
    case.receive("cpe0", to_cpe(SUB, says, IPV6))
    return case


def cases():
    for shape in SHAPES:
        yield sizes(shape)
    yield six()
    yield ends_up()
    yield truncated()
    yield truncated_down()
    yield too_large()
    yield fragments()
    yield slow_path()
