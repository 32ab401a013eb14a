# SPDX-License-Identifier: BSD-3-Clause
"""From the core to CPEs: what must be forwarded, and how it must look."""

from tests.pcap import frames as fr
from tests.pcap.frames import Subscriber, server
from tests.pcap.traffic import Traffic, ident_for

from tests.pcap.cases_upstream import ENCAPSULATIONS, ROOM, SUBSCRIBERS


def encapsulation(name, tpid):
    """All lengths around the smallest frame, and the largest that fits; padding is zeros."""
    case = Traffic(f"down-{name}-{tpid[2:]}", subscribers=512, tpid=tpid, **ENCAPSULATIONS[name])
    for sub, core in SUBSCRIBERS:
        for total in (*range(28, 64), 200, 576, ROOM[name], 1500):
            packet = fr.udp_of_length(server(core), sub.ip, total, seed=total)
            case.down(core, sub, packet)
    return case


def reverse_ports():
    """Every core port reaches every subscriber, by key or address alone."""
    case = Traffic("down-every-access-port", subscribers=512)
    case.any_order = True
    for sub, _ in SUBSCRIBERS:
        for core in fr.CORE:
            case.down(core, sub, fr.udp(server(core), sub.ip, seed=sub.key))
    return case


def stacks():
    """1 to 8 labels, explicit null, no label at all: below is the same packet."""
    case = Traffic("down-label-stacks")
    sub, core = Subscriber(0, 2), "core0"
    deep = [(16 + k, 200 - k, k % 8) for k in range(8)]
    for n in range(len(deep) + 1):
        case.down(core, sub, fr.udp(server(core), sub.ip, seed=n), stack=deep[:n])
    for stack in ([(0, 60)], [(0, 60), (16, 60)], [(16, 60), (0, 60)], [(1048575, 255, 7)], [(16, 2)], [(0x112, 64)]):
        case.down(core, sub, fr.udp(server(core), sub.ip), stack=stack)
    return case


def label_ttl():
    """Without a tunnel the TTL of the outermost label counts where it is the lower one."""
    case = Traffic("down-label-ttl", gre=False)
    sub, core = Subscriber(0, 2), "core0"
    for label in (2, 3, 63, 64, 65, 255):
        for ttl in (2, 3, 64, 255):
            packet = fr.udp(server(core), sub.ip, ttl=ttl, ident=0x1000 + label)
            case.send(core, fr.from_core(core, packet, stack=[(16, label), (17, 1)], with_gre=False))
            less = ttl - min(ttl, label) + 1
            case.receive(sub.port, case.access_frame(sub, fr.forwarded(packet, ttl=less)))
    return case


def gre_headers():
    """With checksum, with sequence number, with both, reserved bits that are to be ignored."""
    case = Traffic("down-gre-headers")
    sub, core = Subscriber(0, 2), "core0"
    for size in (0, 1, 2, 3, 100, 1001):
        packet = fr.udp(server(core), sub.ip, size=size)
        for more in ({}, {"checksum": True}, {"sequence": 0xFFFFFFFF}, {"checksum": True, "sequence": 7}):
            case.down(core, sub, packet, **more)
    packet = fr.udp(server(core), sub.ip)
    for bit in range(6, 13):  # RFC 2784 section 2.3
        header = bytearray(fr.gre(packet, key=sub.key))
        header[bit // 8] |= 0x80 >> bit % 8
        outer = fr.tunnel(fr.TUNNEL_IP[core], fr.GATEWAY_IP[core], bytes(header))
        case.send(core, fr.from_core(core, outer, with_gre=False))
        case.receive(sub.port, case.access_frame(sub, fr.forwarded(packet)))
    return case


def keyless():
    """key = "optional": by the address inside; a key, where there is one, still decides."""
    case = Traffic("down-gre-key-optional", key=False)
    sub, core = Subscriber(0, 2), "core0"
    packet = fr.udp(server(core), sub.ip)
    for more in ({}, {"checksum": True}, {"sequence": 1}, {"checksum": True, "sequence": 1}, {"key": sub.key}):
        case.down(core, sub, packet, **more)
    return case


def outer_headers():
    """Options, DSCP, TTL 1 of the outer header: the tunnel ends here, they are nobody's business."""
    case = Traffic("down-outer-headers")
    sub, core = Subscriber(1, 2), "core1"
    packet = fr.udp(server(core), sub.ip, tos=0x48)
    inside = fr.gre(packet, key=sub.key)
    for words in range(11):
        options = fr.ip_options(b"\x01" * 4 * words)
        for more in ({"ttl": 2}, {"tos": 0xFE}, {"flags": "DF"}):
            outer = fr.tunnel(fr.TUNNEL_IP[core], fr.GATEWAY_IP[core], inside, options=options, **more)
            case.send(core, fr.from_core(core, outer, with_gre=False))
            case.receive(sub.port, case.access_frame(sub, fr.forwarded(packet)))
    return case


def padding():
    """What Ethernet has padded, with anything, is gone; what the gateway pads is zeros."""
    case = Traffic("down-padding", gre=False, mpls=False)
    sub, core = Subscriber(0, 4), "core0"
    for total in range(28, 50):
        packet = fr.udp_of_length(server(core), sub.ip, total)
        frame = fr.from_core(core, packet, stack=(), with_gre=False)
        for junk in (0, 1, 18, 200):
            case.send(core, frame + b"\xa5" * junk)
            case.receive(sub.port, case.access_frame(sub, fr.forwarded(packet)))
    return case


def header_fields():
    """DSCP to both priorities; options, fragments and protocols as they are."""
    case = Traffic("down-header-fields")
    sub, core = Subscriber(0, 7), "core0"
    source = server(core)
    for tos in range(256):
        case.down(core, sub, fr.udp(source, sub.ip, tos=tos))
    for ttl in (2, 3, 64, 128, 254, 255):
        case.down(core, sub, fr.udp(source, sub.ip, ttl=ttl))
    for words in range(1, 11):
        case.down(core, sub, fr.udp(source, sub.ip, options=b"\x01" * (4 * words)))
    for flags, frag in (("MF", 0), ("MF", 185), (0, 370), ("DF", 0), ("evil", 0)):
        case.down(core, sub, fr.udp(source, sub.ip, flags=flags, frag=frag))
    for proto in (0, 1, 2, 6, 41, 47, 50, 89, 253, 255):
        case.down(core, sub, fr.raw(fr.IP(src=source, dst=sub.ip, proto=proto, id=1) / fr.Raw(fr.payload(40))))
    case.dissect = False  # payloads that are not of their protocol
    return case


def no_priority():
    """encap pcp = "zero"."""
    case = Traffic("down-pcp-zero", params={"encap": 'pcp = "zero";'})
    sub, core = Subscriber(0, 7), "core0"
    for tos in (0, 0xB8, 0xFF):
        case.down(core, sub, fr.udp(server(core), sub.ip, tos=tos), tags={"pcp": 0})
    return case


def checksums():
    """The incremental checksum where it is easily wrong: RFC 1624 section 3 and 4."""
    wanted = (0x0000, 0x0001, 0x00FF, 0x0100, 0xFE00, 0xFEFE, 0xFEFF, 0xFF00, 0xFF01, 0xFFFE, 0xFFFF)
    case = Traffic("down-checksum-corners", gre=False)
    sub, core = Subscriber(0, 9), "core0"
    for ttl in (2, 64, 255):
        for value in wanted:
            packet = ident_for(fr.udp(server(core), sub.ip, ttl=ttl), value)
            case.send(core, fr.from_core(core, packet, stack=[(16, 32)], with_gre=False))
            case.receive(sub.port, case.access_frame(sub, fr.forwarded(packet, ttl=ttl - min(ttl, 32) + 1)))
    return case


def from_any_mac():
    """The core router's MAC is not looked at."""
    case = Traffic("down-any-source-mac")
    sub, core = Subscriber(0, 9), "core0"
    packet = fr.udp(server(core), sub.ip)
    frame = fr.from_core(core, packet, key=sub.key)
    for mac in ("02:dd:00:00:00:99", "00:00:00:00:00:01"):
        case.send(core, frame[:6] + bytes.fromhex(mac.replace(":", "")) + frame[12:])
        case.receive(sub.port, case.access_frame(sub, fr.forwarded(packet)))
    return case


def cases():
    for name in ENCAPSULATIONS:
        for tpid in ("0x88a8", "0x8100"):
            yield encapsulation(name, tpid)
    yield reverse_ports()
    yield stacks()
    yield label_ttl()
    yield gre_headers()
    yield keyless()
    yield outer_headers()
    yield padding()
    yield header_fields()
    yield no_priority()
    yield checksums()
    yield from_any_mac()
