# SPDX-License-Identifier: BSD-3-Clause
"""What the gateway says by ICMP: echo replies, time exceeded, unreachable, fragmentation needed. And fragments."""

from scapy.layers.inet import fragment
from tests.pcap import frames as fr
from tests.pcap.cases_arp import BURST, NOBODY, cpe_arp
from tests.pcap.frames import Subscriber, server
from tests.pcap.traffic import Traffic

SUB, CORE = Subscriber(0, 2), "core0"
NETWORK_CONTROL = 0xC0
PLENTY = {"arp": 'icmp_rate = "1000000";'}
IN_VAIN = ["4s", "20s"]  # runs in which packets are given up that waited for a MAC, 3 s after they came


def ping(src, dst, size=32, ttl=64, tos=0, seq=1, **more):
    header = fr.IP(src=src, dst=dst, ttl=ttl, tos=tos, id=77, **more)
    return fr.raw(header / fr.ICMP(type=8, id=0x5678, seq=seq) / fr.Raw(fr.payload(size, seq)))


def pong(src, dst, size=32, tos=0, seq=1):
    """The reply: a new datagram with the same data."""
    header = fr.IP(src=src, dst=dst, ttl=64, tos=tos, id=0, flags="DF")
    return fr.raw(header / fr.ICMP(type=0, id=0x5678, seq=seq) / fr.Raw(fr.payload(size, seq)))


def error(src, about, kind, code, mtu=0):
    """An ICMP error about a packet as it was received, of 576 bytes at most (RFC 1812 section 4.3.2.3)."""
    quote = fr.ip_bytes(about)[: 576 - 20 - 8]
    header = fr.IP(src=src, dst=fr.IP(about).src, ttl=64, tos=NETWORK_CONTROL, id=0, flags="DF")
    body = fr.ICMP(type=kind, code=code, nexthopmtu=mtu) if mtu else fr.ICMP(type=kind, code=code)
    return fr.raw(header / body / fr.Raw(quote))


def expired(src, about):
    return error(src, about, 11, 0)


def too_big(src, about, mtu):
    return error(src, about, 3, 4, mtu)


def unreachable(src, about, code):
    return error(src, about, 3, code)


NETWORK, HOST, PROTOCOL, PORT = range(4)  # codes


def echo_access():
    """A CPE pings any of the gateway's addresses."""
    case = Traffic("icmp-echo-access", params=PLENTY)
    for sub in (SUB, Subscriber(1, 5)):
        for seq, size in enumerate((0, 1, 18, 56, 1000, 1440, 1472)):
            for port in fr.PORTS:
                case.send(sub.port, fr.from_cpe(sub, ping(sub.ip, fr.GATEWAY_IP[port], size, seq=seq, tos=0x28)))
                reply = pong(fr.GATEWAY_IP[port], sub.ip, size, seq=seq, tos=0x28)
                case.receive(sub.port, case.access_frame(sub, reply))
    # TTL 1 reaches the gateway: it is no hop of its own
    case.send("cpe0", fr.from_cpe(SUB, ping(SUB.ip, fr.GATEWAY_IP["cpe0"], ttl=1)))
    case.receive("cpe0", case.access_frame(SUB, pong(fr.GATEWAY_IP["cpe0"], SUB.ip)))
    return case


def no_priority():
    """arp pcp = "zero": as qinq_encap does it, then."""
    case = Traffic("icmp-pcp-zero", params={"arp": 'icmp_rate = "1M"; pcp = "zero";'})
    packet = fr.udp(SUB.ip, server(CORE), ttl=1)
    case.send("cpe0", fr.from_cpe(SUB, ping(SUB.ip, fr.GATEWAY_IP["cpe0"], tos=0xB8)), fr.from_cpe(SUB, packet))
    case.receive("cpe0", case.access_frame(SUB, pong(fr.GATEWAY_IP["cpe0"], SUB.ip, tos=0xB8), pcp=0))
    case.receive("cpe0", case.access_frame(SUB, expired(fr.GATEWAY_IP["cpe0"], packet), pcp=0))
    return case


def echo_core():
    """A core router pings, with and without a label; options are not sent back."""
    case = Traffic("icmp-echo-core", params=PLENTY)
    for core in fr.CORE:
        ours, theirs = fr.GATEWAY_IP[core], fr.NEIGHBOUR_IP[core]
        for seq, size in enumerate((0, 1, 56, 1000, 1472)):
            for stack in ((), ((fr.LABEL[core], 64),), ((0, 1 + 64),)):
                frame = fr.from_core(core, ping(theirs, ours, size, seq=seq), stack=stack, with_gre=False)
                case.send(core, fr.pad(frame))
                reply = pong(ours, theirs, size, seq=seq)
                case.receive(core, fr.pad(fr.ether(fr.NEIGHBOUR_MAC[core], fr.GATEWAY_MAC[core], fr.ETH_IPV4, reply)))
        question = ping(theirs, ours, options=fr.ip_options(b"\x01\x01\x01\x01"))
        case.send(core, fr.from_core(core, question, stack=(), with_gre=False))
        reply = fr.ether(fr.NEIGHBOUR_MAC[core], fr.GATEWAY_MAC[core], fr.ETH_IPV4, pong(ours, theirs))
        case.receive(core, fr.pad(reply))
    return case


def not_answered():
    case = Traffic("icmp-not-answered", params=PLENTY)
    ours, theirs = fr.GATEWAY_IP[CORE], fr.NEIGHBOUR_IP[CORE]

    def drop(reason, *packets):
        for packet in packets:
            case.send(CORE, fr.from_core(CORE, packet, stack=(), with_gre=False))
        case.drop("arp", reason, len(packets))

    good = ping(theirs, ours)
    broken = good[:22] + bytes([good[22] ^ 1]) + good[23:]
    drop("icmp_malformed", broken, *(fr.raw(fr.IP(src=theirs, dst=ours, proto=1) / fr.Raw(b"\x08" * n)) for n in range(8)))
    for more in ({"flags": "MF"}, {"frag": 2}):
        case.send("cpe0", fr.from_cpe(SUB, ping(SUB.ip, fr.GATEWAY_IP["cpe0"], **more)))
        case.drop("arp", "icmp_fragment")
    drop("icmp_not_allowed", *(ping(src, ours) for src in ("127.0.0.1", "224.0.0.1", "0.0.0.0", "255.255.255.255", ours)))
    for kind in (0, 3, 5, 9, 10, 11, 12, 13, 15, 17):
        drop("unsupported", fr.raw(fr.IP(src=theirs, dst=ours) / fr.ICMP(type=kind) / fr.Raw(bytes(24))))
    multicast = fr.from_core(CORE, good, stack=(), with_gre=False)
    case.send(CORE, multicast[:6] + b"\x01\x00\x5e\x00\x00\x01" + multicast[12:])
    case.drop("arp", "bad_frame")
    return case


def nobody_here():
    """The gateway has no ports and no protocols but ICMP (RFC 1122 section 3.2.2.1): what a traceroute to it ends with."""
    case = Traffic("icmp-port-unreachable", params=PLENTY)
    case.any_order = True
    case.dissect = False  # payloads that are not of their protocol
    for sub in (SUB, Subscriber(1, 5)):
        for port in fr.PORTS:
            for ttl in (1, 64):
                packet = fr.udp(sub.ip, fr.GATEWAY_IP[port], ttl=ttl, size=700)
                case.send(sub.port, fr.from_cpe(sub, packet))
                case.receive(sub.port, case.access_frame(sub, unreachable(fr.GATEWAY_IP[port], packet, PORT)))
            for proto in (6, 17, 47, 89):
                packet = fr.raw(fr.IP(src=sub.ip, dst=fr.GATEWAY_IP[port], proto=proto) / fr.Raw(bytes(20)))
                case.send(sub.port, fr.from_cpe(sub, packet))
                code = PORT if proto == 17 else PROTOCOL
                case.receive(sub.port, case.access_frame(sub, unreachable(fr.GATEWAY_IP[port], packet, code)))
    for core in fr.CORE:
        ours, theirs = fr.GATEWAY_IP[core], fr.NEIGHBOUR_IP[core]
        packet = fr.udp(theirs, ours, size=100)
        case.send(core, fr.from_core(core, packet, stack=(), with_gre=False))
        answer = unreachable(ours, packet, PORT)
        case.receive(core, fr.pad(fr.ether(fr.NEIGHBOUR_MAC[core], fr.GATEWAY_MAC[core], fr.ETH_IPV4, answer)))
    for packet in (fr.udp("127.0.0.1", fr.GATEWAY_IP[CORE]), fr.udp(fr.GATEWAY_IP[CORE], fr.GATEWAY_IP[CORE])):
        case.send(CORE, fr.from_core(CORE, packet, stack=(), with_gre=False))
        case.drop("arp", "icmp_not_allowed")
    case.send("cpe0", fr.from_cpe(SUB, fr.udp(SUB.ip, fr.GATEWAY_IP["cpe0"], frag=10)))  # a later fragment
    case.drop("arp", "icmp_not_allowed")
    return case


def no_route():
    """Network unreachable, to the subscriber (RFC 1812 section 5.2.7.1)."""
    case = Traffic("icmp-network-unreachable", params=PLENTY)
    for sub in (SUB, Subscriber(1, 5)):
        for to in ("8.8.8.8", "198.17.255.255", "198.20.0.0", "223.255.255.255", "10.0.0.3", "1.0.0.0"):
            for size in (12, 500, 1400):
                packet = fr.udp(sub.ip, to, size=size)
                case.send(sub.port, fr.from_cpe(sub, packet))
                case.receive(sub.port, case.access_frame(sub, unreachable(fr.GATEWAY_IP[sub.port], packet, NETWORK)))
    return case


def silent_nexthop():
    """A next hop that does not answer three questions: the senders of what waited are told (RFC 1812 section 4.3.3.1)."""
    case = Traffic("icmp-host-unreachable-up", static_core=False, keep="4", params=PLENTY)
    case.durations = IN_VAIN
    other = Subscriber(1, 5)
    own_error = fr.raw(fr.IP(src=SUB.ip, dst=server(CORE)) / fr.ICMP(type=3, code=1) / fr.Raw(fr.udp(server(CORE), SUB.ip)[:28]))
    waiting = [fr.udp(sub.ip, server(CORE), size=size, tos=0x28, ttl=9) for sub, size in ((SUB, 12), (other, 1000))]
    case.send("cpe0", *(fr.from_cpe(SUB, fr.udp(SUB.ip, server(CORE), seed=seed)) for seed in range(3)), fr.from_cpe(SUB, own_error),
              fr.from_cpe(SUB, fr.udp(SUB.ip, server(CORE), frag=10)), fr.from_cpe(SUB, waiting[0]))  # fmt: skip
    case.send("cpe1", fr.from_cpe(other, waiting[1]))
    case.drop("arp", "unresolved", 3)  # the latest four wait
    question = fr.arp(1, fr.GATEWAY_MAC[CORE], fr.GATEWAY_IP[CORE], NOBODY, fr.NEIGHBOUR_IP[CORE])
    case.receive(CORE, *[fr.pad(fr.ether(fr.BROADCAST, fr.GATEWAY_MAC[CORE], fr.ETH_ARP, question))] * 3)
    case.drop("arp", "no_answer", 2)  # an error and a later fragment are never answered
    for sub, packet in zip((SUB, other), waiting):
        case.receive(sub.port, case.access_frame(sub, unreachable(fr.GATEWAY_IP[sub.port], packet, HOST)))
    return case


def silent_cpe():
    """The same for a CPE: towards the core through the subscriber's tunnel, to another subscriber with his tags."""
    case = Traffic("icmp-host-unreachable-down", static_cpe=False, keep=None, params=PLENTY)
    case.durations = IN_VAIN
    case.any_order = True
    packets = [fr.udp(server(CORE), SUB.ip, seed=seed, size=600, ttl=7) for seed in range(BURST)]
    case.send(CORE, *(fr.from_core(CORE, packet, key=SUB.key) for packet in packets))
    case.drop("arp", "unresolved", BURST - 3)
    question = fr.arp(1, fr.GATEWAY_MAC["cpe0"], fr.GATEWAY_IP["cpe0"], NOBODY, SUB.ip)
    case.receive("cpe0", *[fr.to_cpe(SUB, question, dst=fr.BROADCAST, ethertype=fr.ETH_ARP)] * 3)
    for packet in packets[-3:]:
        answer = unreachable(fr.GATEWAY_IP["cpe0"], packet, HOST)
        case.receive(CORE, case.core_frame(CORE, fr.forwarded(answer), SUB))
    return case


def silent_crowd():
    """Errors are limited: of what waits in vain, the sender of one is told."""
    case = Traffic("icmp-host-unreachable-limited", static_core=False, keep="8", params={"arp": 'icmp_rate = "1";'})
    case.durations = IN_VAIN
    packets = [fr.udp(SUB.ip, server(CORE), seed=seed) for seed in range(8)]
    case.send("cpe0", *(fr.from_cpe(SUB, packet) for packet in packets))
    question = fr.arp(1, fr.GATEWAY_MAC[CORE], fr.GATEWAY_IP[CORE], NOBODY, fr.NEIGHBOUR_IP[CORE])
    case.receive(CORE, *[fr.pad(fr.ether(fr.BROADCAST, fr.GATEWAY_MAC[CORE], fr.ETH_ARP, question))] * 3)
    case.receive("cpe0", case.access_frame(SUB, unreachable(fr.GATEWAY_IP["cpe0"], packets[0], HOST)))
    case.drop("arp", "no_answer", 7)
    return case


def narrow(sent, mtu, router="192.0.2.77", quote=28):
    """What a router of the core says that could not forward sent."""
    return fr.raw(fr.IP(src=router, dst=fr.IP(sent).src, ttl=60) / fr.ICMP(type=3, code=4, nexthopmtu=mtu) / fr.Raw(sent[:quote]))


def narrow_core():
    """A core narrower than configured (RFC 1191): the gateway learns it from what is said of its own tunnel packets."""
    case = Traffic("icmp-narrow-core", params=PLENTY)
    big = fr.udp_of_length(SUB.ip, server(CORE), 1468, flags="DF")
    sent = fr.tunnel(fr.GATEWAY_IP[CORE], fr.TUNNEL_IP[CORE], fr.gre(fr.forwarded(big), key=SUB.key))

    def say(packet, reason=None):
        case.send(CORE, fr.from_core(CORE, packet, stack=(), with_gre=False))
        if reason:
            case.drop("arp", reason)

    other = fr.tunnel(fr.GATEWAY_IP[CORE], "203.0.113.77", fr.gre(big, key=SUB.key))
    stranger = fr.tunnel(fr.GATEWAY_IP[CORE], fr.TUNNEL_IP[CORE], fr.gre(big, key=77777))
    plain = fr.udp_of_length(fr.GATEWAY_IP[CORE], fr.TUNNEL_IP[CORE], 1400)
    for forged in (narrow(other, 1000), narrow(stranger, 1000), narrow(plain, 1000), narrow(sent, 1000, quote=20),
                   narrow(sent, 1000, quote=27), narrow(sent, len(sent)), narrow(sent, 65535)):  # fmt: skip
        say(forged, "no_tunnel")
    broken = narrow(sent, 1000)
    say(broken[:22] + bytes([broken[22] ^ 1]) + broken[23:], "icmp_malformed")
    say(narrow(sent, 1400))
    say(narrow(sent, 1450))  # of a packet that was on its way: the smaller one counts
    # the first round of each port is a burst: what the subscriber sends in the second finds a narrow tunnel
    for _ in range(BURST * 2):
        case.up(SUB, CORE, fr.udp(SUB.ip, server(CORE)))
    for total in (1373, 1468):
        packet = fr.udp_of_length(SUB.ip, server(CORE), total, flags="DF")
        case.send("cpe0", fr.from_cpe(SUB, packet))
        case.receive("cpe0", case.access_frame(SUB, too_big(fr.GATEWAY_IP["cpe0"], packet, 1372)))
    case.up(SUB, CORE, fr.udp_of_length(SUB.ip, server(CORE), 1372, flags="DF"))
    packet = fr.udp_of_length(SUB.ip, server(CORE), 1468)
    case.send("cpe0", fr.from_cpe(SUB, packet))
    for part in parts(fr.forwarded(packet), 1372):
        case.receive(CORE, case.core_frame(CORE, part, SUB))
    # the other tunnel is as wide as it was
    case.up(SUB, "core1", fr.udp_of_length(SUB.ip, server("core1"), 1468, flags="DF"))
    return case


def ping_flood():
    case = Traffic("icmp-echo-flood", params={"arp": 'icmp_rate = "1";'})
    ours = fr.GATEWAY_IP["cpe0"]
    case.send("cpe0", *[fr.from_cpe(SUB, ping(SUB.ip, ours))] * 100)
    case.receive("cpe0", case.access_frame(SUB, pong(ours, SUB.ip)))
    case.drop("arp", "icmp_rate_limited", 99)
    return case


def error_flood():
    case = Traffic("icmp-error-flood", params={"arp": 'icmp_rate = "1";'})
    packet = fr.udp(SUB.ip, server(CORE), ttl=1)
    case.send("cpe0", *[fr.from_cpe(SUB, packet)] * 100)
    case.receive("cpe0", case.access_frame(SUB, expired(fr.GATEWAY_IP["cpe0"], packet)))
    case.drop("arp", "icmp_rate_limited", 99)
    return case


def expired_upstream():
    """Back to the CPE with its tags."""
    case = Traffic("icmp-time-exceeded-up", params=PLENTY)
    for sub in (SUB, Subscriber(1, 5)):
        for ttl in (0, 1):
            for size in (0, 4, 100, 1400):
                for words in (0, 1, 10):
                    packet = fr.udp(sub.ip, server(CORE), ttl=ttl, size=size, options=b"\x01" * 4 * words, tos=0x28)
                    case.send(sub.port, fr.from_cpe(sub, packet))
                    answer = expired(fr.GATEWAY_IP[sub.port], packet)
                    case.receive(sub.port, case.access_frame(sub, answer))
    return case


def expired_downstream():
    """Back through the subscriber's tunnel, like a packet of the subscriber."""
    case = Traffic("icmp-time-exceeded-down", params=PLENTY)
    for sub in (SUB, Subscriber(1, 5)):
        for core in fr.CORE:
            packet = fr.udp(server(core), sub.ip, ttl=1, size=100)
            case.send(core, fr.from_core(core, packet, key=sub.key))
            answer = expired(fr.GATEWAY_IP[sub.port], packet)
            case.receive(core, case.core_frame(core, fr.forwarded(answer), sub))
    # whose sender cannot be reached
    case.send(CORE, fr.from_core(CORE, fr.udp("8.8.8.8", SUB.ip, ttl=1), key=SUB.key))
    case.drop("own_route", "no_route")
    return case


def errors_not_sent():
    """RFC 1812 section 4.3.2.7, and where there is nobody to tell."""
    case = Traffic("icmp-errors-not-sent", params={**PLENTY, "classify": "anti_spoof = false;"})
    to = server(CORE)

    def drop(reason, packet):
        case.send("cpe0", fr.from_cpe(SUB, packet))
        case.drop("arp", reason)

    about = fr.udp(to, SUB.ip)
    drop("icmp_not_allowed", fr.raw(fr.IP(src=SUB.ip, dst=to, ttl=1) / fr.ICMP(type=3, code=1) / fr.Raw(about[:28])))
    drop("icmp_not_allowed", fr.udp(SUB.ip, to, ttl=1, frag=10))
    for source in ("0.0.0.0", "127.0.0.1", "224.0.0.1", "255.255.255.255"):
        drop("icmp_not_allowed", fr.udp(source, to, ttl=1))
    drop("unknown_subscriber", fr.udp("172.31.0.1", to, ttl=1))
    return case


def no_way_back():
    """No address to send from; no way to route what the gateway itself sends."""
    case = Traffic("icmp-no-way-back", params=PLENTY, no_address=("cpe0",), own_route=False)
    case.send("cpe0", fr.from_cpe(SUB, fr.udp(SUB.ip, server(CORE), ttl=1)))
    case.drop("arp", "no_gateway_address")
    other = Subscriber(1, 5)
    case.send(CORE, fr.from_core(CORE, fr.udp(server(CORE), other.ip, ttl=1), key=other.key))
    case.drop("arp", "no_route_output")
    return case


def nobody_known():
    """A CPE whose MAC is not known is asked for before it can be told anything."""
    case = Traffic("icmp-to-unknown-cpe", params=PLENTY, static_cpe=False)
    case.send("cpe0", fr.from_cpe(SUB, fr.udp(SUB.ip, server(CORE), ttl=1)))
    case.send("cpe0", fr.from_cpe(SUB, ping(SUB.ip, fr.GATEWAY_IP["cpe0"])))
    case.drop("arp", "unresolved", 2)
    question = fr.arp(1, fr.GATEWAY_MAC["cpe0"], fr.GATEWAY_IP["cpe0"], NOBODY, SUB.ip)
    case.receive("cpe0", fr.to_cpe(SUB, question, dst=fr.BROADCAST, ethertype=fr.ETH_ARP))
    case.send("cpe0", cpe_arp(SUB, 2, fr.GATEWAY_IP["cpe0"]))
    for _ in range(BURST):  # the slow path sees what a burst has for it after the burst
        case.up(SUB, CORE, fr.udp(SUB.ip, server(CORE)))
    case.send("cpe0", fr.from_cpe(SUB, ping(SUB.ip, fr.GATEWAY_IP["cpe0"], seq=9)))
    case.receive("cpe0", case.access_frame(SUB, pong(fr.GATEWAY_IP["cpe0"], SUB.ip, seq=9)))
    return case


def too_big_upstream():
    """DF set: the largest packet that the tunnel takes, for each encapsulation."""
    for name, gateway, room in (("gre-mpls", {}, 1468), ("gre", {"mpls": False}, 1472), ("mpls", {"gre": False}, 1496),
                                ("gre-keyless", {"key": False, "mpls": False}, 1476)):  # fmt: skip
        case = Traffic(f"icmp-fragmentation-needed-up-{name}", params=PLENTY, **gateway)
        for total in (room + 1, 1500):
            packet = fr.udp_of_length(SUB.ip, server(CORE), total, flags="DF")
            case.send("cpe0", fr.from_cpe(SUB, packet))
            case.receive("cpe0", case.access_frame(SUB, too_big(fr.GATEWAY_IP["cpe0"], packet, room)))
        case.up(SUB, CORE, fr.udp_of_length(SUB.ip, server(CORE), room, flags="DF"))
        yield case


def too_big_downstream():
    case = Traffic("icmp-fragmentation-needed-down", params=PLENTY, mtu={"cpe0": 1280})
    for total in (1281, 1400, 1468):
        packet = fr.udp_of_length(server(CORE), SUB.ip, total, flags="DF")
        case.send(CORE, fr.from_core(CORE, packet, key=SUB.key))
        answer = too_big(fr.GATEWAY_IP["cpe0"], packet, 1280)
        case.receive(CORE, case.core_frame(CORE, fr.forwarded(answer), SUB))
    case.down(CORE, SUB, fr.udp_of_length(server(CORE), SUB.ip, 1280, flags="DF"))
    return case


def parts(packet, room):
    """The fragments of a packet, by Scapy. room: bytes of the largest one."""
    packet = fr.IP(fr.ip_bytes(packet))
    return [fr.raw(p) for p in fragment(packet, fragsize=(room - packet.ihl * 4) // 8 * 8)]


# Router alert (RFC 2113) is copied into each fragment: the highest bit says so.
COPIED = b"\x94\x04\x00\x00"


def fragments_upstream():
    """Without DF they are cut to fit the tunnel; each fragment goes into a tunnel packet of its own."""
    for name, gateway, room in (("gre-mpls", {}, 1468), ("plain", {"gre": False, "mpls": False}, 1400)):
        case = Traffic(f"fragments-up-{name}", mtu={} if gateway == {} else {"core0": 1400}, **gateway)
        for total in (room + 1, room + 8, 1499, 1500):
            for options in (b"", COPIED):
                for flags, offset in ((0, 0), ("MF", 0), ("MF", 100), (0, 200)):
                    packet = fr.udp_of_length(SUB.ip, server(CORE), total - len(options), flags=flags, frag=offset,
                                              options=options, tos=0x28)  # fmt: skip
                    case.send("cpe0", fr.from_cpe(SUB, packet))
                    for part in parts(fr.forwarded(packet), room):
                        case.receive(CORE, case.core_frame(CORE, part, SUB))
        yield case


def fragments_with_options():
    """RFC 791: options without the copied bit are in the first fragment only."""
    case = Traffic("fragments-options-not-copied")
    packet = fr.udp_of_length(SUB.ip, server(CORE), 1496, options=b"\x44\x04\x05\x00", tos=0x28)
    case.send("cpe0", fr.from_cpe(SUB, packet))
    first, second = parts(fr.forwarded(packet), 1468)
    second = fr.IP(second)
    second.options, second.ihl, second.len = [], None, None
    del second.chksum
    case.receive(CORE, case.core_frame(CORE, first, SUB), case.core_frame(CORE, fr.raw(second), SUB))
    return case


def fragments_downstream():
    case = Traffic("fragments-down", mtu={"cpe0": 576})
    for total in (577, 600, 1000, 1400):
        packet = fr.udp_of_length(server(CORE), SUB.ip, total, tos=0xB8)
        case.send(CORE, fr.from_core(CORE, packet, key=SUB.key))
        for part in parts(fr.forwarded(packet), 576):
            case.receive("cpe0", case.access_frame(SUB, part))
    return case


def largest_access_frame():
    """1510 bytes with FCS (the paper's 1494-byte packet and more) aborted the predecessor: here all sizes up to the MTU
    are forwarded, fragmented or answered, and those beyond it fit into the mbuf."""
    case = Traffic("largest-access-frames", params=PLENTY)
    for size in range(1486, 1527):  # frame with FCS; 26 bytes are not the packet
        packet = fr.udp_of_length(SUB.ip, server(CORE), size - 26, ident=size)
        case.send("cpe0", fr.from_cpe(SUB, packet))
        for part in parts(fr.forwarded(packet), 1468) if size - 26 > 1468 else [fr.forwarded(packet)]:
            case.receive(CORE, case.core_frame(CORE, part, SUB))
    for total in (1501, 1600, 2000):  # beyond the access MTU; the device took it, so it is a packet
        packet = fr.udp_of_length(SUB.ip, server(CORE), total)
        case.send("cpe0", fr.from_cpe(SUB, packet))
        for part in parts(fr.forwarded(packet), 1468):
            case.receive(CORE, case.core_frame(CORE, part, SUB))
    return case


def label_0x112():
    """The predecessor sent label 0x112 as 0x12010 with TTL 0."""
    case = Traffic("label-0x112", gre=False)
    for k, label in enumerate((0x112, 0x12010, 0xFFFFF)):
        to = f'{{ prefix = "198.51.{k}.0/24"; port = "core0"; mac = "{fr.NEIGHBOUR_MAC[CORE]}"; mpls = "{label}"; }}'
        case.gateway.routes += (", " if k else "") + to
        packet = fr.udp(SUB.ip, f"198.51.{k}.1", size=40, ttl=77, tos=0xE0)
        case.send("cpe0", fr.from_cpe(SUB, packet))
        below = fr.forwarded(packet)
        rest = fr.labels((label, 76, 7)) + below
        case.receive(CORE, fr.ether(fr.NEIGHBOUR_MAC[CORE], fr.GATEWAY_MAC[CORE], fr.ETH_MPLS, rest))
    return case


def cases():
    for make in (echo_access, no_priority, echo_core, not_answered, ping_flood, error_flood, expired_upstream, expired_downstream,
                 errors_not_sent, no_way_back, nobody_known, nobody_here, no_route, narrow_core,
                 silent_nexthop, silent_cpe, silent_crowd):  # fmt: skip
        yield make()
    yield from too_big_upstream()
    yield too_big_downstream()
    yield from fragments_upstream()
    yield fragments_with_options()
    yield fragments_downstream()
    yield largest_access_frame()
    yield label_0x112()
