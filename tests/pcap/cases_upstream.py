# SPDX-License-Identifier: BSD-3-Clause
"""From CPEs to the core: what must be forwarded, and how it must look."""

from tests.pcap import frames as fr
from tests.pcap.frames import TPID_8100, TPID_88A8, Subscriber, server
from tests.pcap.traffic import Traffic, ident_for

# Two subscribers of each access port, so that a table read at the wrong place shows; cpe0 talks to core0 and cpe1 to
# core1, so that the order on each port is known.
SUBSCRIBERS = [(Subscriber(0, 0), "core0"), (Subscriber(0, 511), "core0"), (Subscriber(1, 1), "core1"), (Subscriber(1, 510), "core1")]  # fmt: skip
ENCAPSULATIONS = {
    "gre-key-mpls": {},
    "gre-mpls": {"key": False},
    "gre-key": {"mpls": False},
    "gre": {"key": False, "mpls": False},
    "mpls": {"gre": False},
    "plain": {"gre": False, "mpls": False},
}
ROOM = {"gre-key-mpls": 1468, "gre-mpls": 1468, "gre-key": 1472, "gre": 1472, "mpls": 1496, "plain": 1500}


def encapsulation(name):
    """Both TPIDs, all lengths around the smallest frame, and the largest that fits."""
    case = Traffic(f"up-{name}", subscribers=512, **ENCAPSULATIONS[name])
    for tpid in (TPID_88A8, TPID_8100):
        for sub, core in SUBSCRIBERS:
            for total in (*range(46, 64), 200, 576, ROOM[name] - 1, ROOM[name]):
                case.up(sub, core, fr.udp_of_length(sub.ip, server(core), total, seed=total), tpid=tpid)
    return case


def swapped_ports():
    """Every access port reaches every core port, by the destination alone."""
    case = Traffic("up-every-core-port", subscribers=512)
    case.any_order = True
    for sub, _ in SUBSCRIBERS:
        for core in fr.CORE:
            for i in (1, 255, 256, 65535):
                case.up(sub, core, fr.udp(sub.ip, server(core, i), seed=i))
    return case


def padding():
    """Ethernet padding goes away, whatever is in it and however long it is."""
    case = Traffic("up-padding")
    sub = Subscriber(0, 3)
    for total in range(28, 50):
        packet = fr.udp_of_length(sub.ip, server("core0"), total)
        frame = fr.from_cpe(sub, packet, padded=False)
        for junk in (0, 1, 17, 300):
            case.send(sub.port, frame + b"\xa5" * junk)
            case.receive("core0", case.core_frame("core0", fr.forwarded(packet), sub))
    return case


def short_frames():
    """Without a tunnel a core frame may be too short for Ethernet (IEEE 802.3 clause 4.2.3.3): it is padded with zeros."""
    for name in ("mpls", "plain"):
        case = Traffic(f"up-short-{name}", **ENCAPSULATIONS[name])
        sub = Subscriber(0, 3)
        for total in range(28, 50):
            packet = fr.udp_of_length(sub.ip, server("core0"), total)
            for junk in (0, 1, 17, 300):
                case.send(sub.port, fr.from_cpe(sub, packet, padded=False) + b"\xa5" * junk)
                case.receive("core0", case.core_frame("core0", fr.forwarded(packet), sub))
        yield case


def keyless_sizes():
    """GRE without a key is 4 bytes shorter: the largest packet is 4 bytes longer, the shortest frame is padded."""
    for mpls in (True, False):
        case = Traffic(f"up-keyless-sizes-{'mpls' if mpls else 'plain'}", key=False, mpls=mpls)
        sub, core, room = Subscriber(0, 3), "core0", 1500 - 24 - (4 if mpls else 0)
        for total in range(room - 4, room + 1):
            case.up(sub, core, fr.udp_of_length(sub.ip, server(core), total, flags="DF"))
        for size in range(4):
            packet = fr.raw(fr.IP(src=sub.ip, dst=server(core), proto=253, id=7) / fr.Raw(fr.payload(size)))
            case.up(sub, core, packet)
        yield case


def header_fields():
    """DSCP and ECN, options, fragments, protocols: taken over as they are, TTL less one."""
    case = Traffic("up-header-fields")
    sub, core = Subscriber(0, 7), "core0"
    to = server(core)
    for tos in range(256):
        case.up(sub, core, fr.udp(sub.ip, to, tos=tos))
    for ttl in (2, 3, 64, 128, 254, 255):
        case.up(sub, core, fr.udp(sub.ip, to, ttl=ttl))
    for words in range(1, 11):
        case.up(sub, core, fr.udp(sub.ip, to, options=b"\x01" * (4 * words)))
    for flags, frag in (("MF", 0), ("MF", 185), (0, 370), ("DF", 0), ("evil", 0)):
        case.up(sub, core, fr.udp(sub.ip, to, flags=flags, frag=frag))
    for proto in (0, 1, 2, 6, 41, 47, 50, 89, 253, 255):
        packet = fr.raw(fr.IP(src=sub.ip, dst=to, proto=proto, id=1) / fr.Raw(fr.payload(40)))
        case.up(sub, core, packet)
    case.dissect = False  # payloads that are not of their protocol
    return case


def checksums():
    """The incremental checksum where it is easily wrong: RFC 1624 section 3 and 4."""
    case = Traffic("up-checksum-corners")
    sub, core = Subscriber(0, 9), "core0"
    for ttl in (2, 64, 255):
        for tos in (0, 0xB8, 0xFF):
            packet = fr.udp(sub.ip, server(core), ttl=ttl, tos=tos)
            for wanted in (0x0000, 0x0001, 0x00FF, 0x0100, 0xFE00, 0xFEFE, 0xFEFF, 0xFF00, 0xFF01, 0xFFFE, 0xFFFF):
                case.up(sub, core, ident_for(packet, wanted))
    return case


def tag_fields():
    """Priority, DEI: they name no other subscriber; by default the DSCP stays as it is."""
    case = Traffic("up-tag-fields")
    sub = Subscriber(1, 11)
    for pcp in range(8):
        for dei in (0, 1):
            case.up(sub, "core1", fr.udp(sub.ip, server("core1"), tos=0x2A), pcp=pcp, dei=dei)
            case.up(sub, "core1", fr.udp(sub.ip, server("core1"), tos=0x2A), pcp=0, spcp=pcp, dei=dei)
    return case


def dscp_from_pcp():
    """decap dscp = "pcp": the class selector of the outer tag; ECN stays."""
    case = Traffic("up-dscp-from-pcp", params={"decap": 'dscp = "pcp";'})
    sub = Subscriber(0, 13)
    for pcp in range(8):
        for tos in (0x00, 0xB9, 0xFF, 0x03):
            packet = fr.udp(sub.ip, server("core0"), tos=tos)
            case.up(sub, "core0", packet, tos=pcp << 5 | tos & 3, pcp=0, spcp=pcp)
    return case


def no_marks_outside():
    """gre_up dscp = "zero", mpls_up exp = "zero"."""
    case = Traffic("up-outer-marks-zero", params={"gre_up": 'dscp = "zero";', "mpls_up": 'exp = "zero";'})
    sub = Subscriber(0, 14)
    for tos in (0x00, 0xB8, 0xFF):
        case.up(sub, "core0", fr.udp(sub.ip, server("core0"), tos=tos), outer={"tos": 0})
    return case


def exp_of_plain_ip():
    """Without a tunnel label TTL and traffic class come from the packet itself."""
    case = Traffic("up-mpls-marks", gre=False)
    sub = Subscriber(0, 15)
    for tos in range(0, 256, 5):
        case.up(sub, "core0", fr.udp(sub.ip, server("core0"), size=40, tos=tos, ttl=2 + tos % 250))
    return case


def largest_key():
    """A GRE key of 32 bits that is no small number: libconfig would read it as -2."""
    case = Traffic("up-largest-key")
    case.gateway.more_subscribers = (
        '{ port = "cpe0"; svlan = "200"; cvlan = "300"; ipv4 = "10.9.8.0/32"; gre_key = "0xfffffffe"; }'
    )
    sub = Subscriber(0, 0)
    sub.svlan, sub.cvlan, sub.ip, sub.key = 200, 300, "10.9.8.0", 0xFFFFFFFE
    case.up(sub, "core0", fr.udp(sub.ip, server("core0")))
    return case


def jumbo():
    """With an mtu of 9000 and buffers that hold it, a packet that fills it passes both ways in one buffer."""
    case = Traffic("up-jumbo", data_room=9216, mtu={port: 9000 for port in fr.PORTS})
    sub = Subscriber(0, 3)
    for total in (1501, 2200, 8968):
        case.up(sub, "core0", fr.udp_of_length(sub.ip, server("core0"), total, seed=total))
        case.down("core0", sub, fr.udp_of_length(server("core0"), sub.ip, total, seed=total))
    return case


def cases():
    yield from (encapsulation(name) for name in ENCAPSULATIONS)
    yield swapped_ports()
    yield padding()
    yield from short_frames()
    yield from keyless_sizes()
    yield header_fields()
    yield checksums()
    yield tag_fields()
    yield dscp_from_pcp()
    yield no_marks_outside()
    yield exp_of_plain_ip()
    yield largest_key()
    yield jumbo()
