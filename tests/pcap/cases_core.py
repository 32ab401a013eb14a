# SPDX-License-Identifier: BSD-3-Clause
"""What a neighbour in the core may not do to subscribers: doc/security.md. A good frame goes last: the path still works."""

from tests.pcap import frames as fr
from tests.pcap.cases_drops import CORE, DOWN, SUB, good, refuse
from tests.pcap.frames import server
from tests.pcap.traffic import Traffic

# RFC 1812 section 5.3.7, RFC 6890: first, last and some address of what is nobody's
MARTIANS = ("0.0.0.0", "0.1.2.3", "0.255.255.255", "127.0.0.0", "127.0.0.1", "127.255.255.255", "169.254.0.0", "169.254.169.254",
            "169.254.255.255", "224.0.0.0", "224.0.0.1", "239.255.255.255", "240.0.0.0", "247.1.2.3", "255.255.255.255")  # fmt: skip
NEIGHBOURS_OF_MARTIANS = ("1.0.0.0", "126.255.255.255", "128.0.0.0", "169.253.255.255", "169.255.0.0", "223.255.255.255",
                          "192.0.2.2", "100.64.0.3", "10.0.0.1", "10.0.0.3", "10.0.128.2", "203.0.113.1")  # fmt: skip


def martians(name, task, **gateway):
    """Sources that cannot be behind the core; those beside them can."""
    case = Traffic(f"core-martians-{name}", **gateway)
    stack = None if case.gateway.mpls else ()
    for source in (*MARTIANS, *fr.GATEWAY_IP.values(), SUB.ip):
        packet = fr.udp(source, SUB.ip)
        refuse(case, CORE, task, "martian_source", fr.from_core(CORE, packet, key=SUB.key, stack=stack, with_gre=case.gateway.gre))
    for source in NEIGHBOURS_OF_MARTIANS:
        case.down(CORE, SUB, fr.udp(source, SUB.ip))
    return good(case)


def link_local():
    """RFC 3927 section 7: 169.254/16 is not forwarded, though a default route leads there."""
    case = Traffic("core-link-local-destinations")
    case.gateway.routes = f'{{ prefix = "0.0.0.0/0"; port = "core1"; mac = "{fr.NEIGHBOUR_MAC["core1"]}"; gre = "{fr.TUNNEL_IP["core1"]}"; mpls = 17; }}'  # fmt: skip
    for to in ("169.254.0.0", "169.254.169.254", "169.254.255.255"):
        refuse(case, "cpe0", "route", "link_local", fr.from_cpe(SUB, fr.udp(SUB.ip, to)))
    for to in ("169.253.255.255", "169.255.0.0"):
        case.up(SUB, "core1", fr.udp(SUB.ip, to))
    return good(case)


def far_ends():
    """A tunnel is between two ends; whoever else sends one, or to another address of the gateway, is a stranger."""
    case = Traffic("core-far-ends")
    inside = fr.gre(DOWN, key=SUB.key)
    ours, theirs = fr.GATEWAY_IP[CORE], fr.TUNNEL_IP[CORE]
    strangers = ("127.0.0.1", SUB.ip, "10.0.0.3", "198.51.100.1", fr.NEIGHBOUR_IP[CORE], ours, fr.TUNNEL_IP["core1"], "0.0.0.0",
                 "1.0.0.0", "255.255.255.255", "203.0.113.3")  # fmt: skip
    for source in strangers:
        refuse(case, CORE, "gre_down", "unknown_far_end", fr.from_core(CORE, fr.tunnel(source, ours, inside), with_gre=False))
    for end in ("core1", "cpe0", "cpe1"):
        packet = fr.tunnel(theirs, fr.GATEWAY_IP[end], inside)
        refuse(case, CORE, "gre_down", "unknown_far_end", fr.from_core(CORE, packet, with_gre=False))
    # either end's port: ways through the core need not be symmetric
    for port in fr.CORE:
        case.send(port, fr.from_core(port, fr.tunnel(theirs, ours, inside), with_gre=False))
        case.receive(SUB.port, case.access_frame(SUB, fr.forwarded(DOWN)))
    case.any_order = True
    return good(case)


def any_far_end():
    """far_ends = "any": whoever sends a tunnel, to whatever address of the gateway."""
    case = Traffic("core-far-ends-any", params={"gre_down": 'far_ends = "any";'})
    inside = fr.gre(DOWN, key=SUB.key)
    for source in ("127.0.0.1", SUB.ip, "198.51.100.1"):
        for end in fr.PORTS:
            case.send(CORE, fr.from_core(CORE, fr.tunnel(source, fr.GATEWAY_IP[end], inside), with_gre=False))
            case.receive(SUB.port, case.access_frame(SUB, fr.forwarded(DOWN)))
    packet = fr.tunnel(fr.TUNNEL_IP[CORE], "192.0.2.3", inside)
    refuse(case, CORE, "gre_down", "not_for_us", fr.from_core(CORE, packet, with_gre=False))
    return good(case)


# RFC 6040 section 4.2, figure 4: inner and outer ECN field, what becomes of the inner one; None: dropped
NOT_ECT, ECT1, ECT0, CE = range(4)
DECAPSULATED = {
    (NOT_ECT, NOT_ECT): NOT_ECT, (NOT_ECT, ECT0): NOT_ECT, (NOT_ECT, ECT1): NOT_ECT, (NOT_ECT, CE): None,
    (ECT0, NOT_ECT): ECT0, (ECT0, ECT0): ECT0, (ECT0, ECT1): ECT1, (ECT0, CE): CE,
    (ECT1, NOT_ECT): ECT1, (ECT1, ECT0): ECT1, (ECT1, ECT1): ECT1, (ECT1, CE): CE,
    (CE, NOT_ECT): CE, (CE, ECT0): CE, (CE, ECT1): CE, (CE, CE): CE,
}  # fmt: skip


def congestion():
    """What a router in the core says of congestion on the tunnel's header reaches the subscriber."""
    case = Traffic("core-ecn")
    for dscp in (0, 10, 46, 63):
        for (inner, outer), becomes in DECAPSULATED.items():
            packet = fr.udp(server(CORE), SUB.ip, tos=dscp << 2 | inner, ident=0xFF00 | dscp << 2 | outer)
            sent = fr.tunnel(fr.TUNNEL_IP[CORE], fr.GATEWAY_IP[CORE], fr.gre(packet, key=SUB.key), tos=0xB8 | outer)
            frame = fr.from_core(CORE, sent, with_gre=False)
            if becomes is None:
                refuse(case, CORE, "gre_down", "congested", frame)
            else:
                case.send(CORE, frame)
                case.receive(SUB.port, case.access_frame(SUB, fr.forwarded(packet, tos=dscp << 2 | becomes)))
    return good(case)


def special_labels():
    """RFC 7274: labels 1 to 15 are no ordinary ones. 0 and 2 are "no label", at the bottom or above (RFC 4182), before IPv4 and IPv6."""
    case = Traffic("core-special-labels")
    frame = fr.from_core(CORE, DOWN, key=SUB.key, stack=())
    for label in (1, *range(3, 16)):
        for stack in ([(label, 60)], [(16, 60), (label, 60)], [(label, 60), (16, 60)], [(0, 60), (label, 60)]):
            refuse(case, CORE, "mpls_down", "special_label", fr.from_core(CORE, frame[14:], with_gre=False, stack=stack))
    # an entropy label behind its indicator: RFC 6790
    refuse(case, CORE, "mpls_down", "special_label",
           fr.from_core(CORE, frame[14:], with_gre=False, stack=[(16, 60), (7, 60), (123456, 0)]))  # fmt: skip
    for stack in ([(0, 60)], [(0, 60), (16, 60)], [(16, 60), (0, 60)], [(2, 60), (16, 60)]):
        case.down(CORE, SUB, DOWN, stack=stack)
    for stack in ([(2, 60)], [(16, 60), (2, 60)], [(0, 60), (2, 60)]):
        refuse(case, CORE, "mpls_down", "not_ip", fr.from_core(CORE, frame[14:], with_gre=False, stack=stack))
    # IPv6 below explicit null is no IPv4
    refuse(case, CORE, "mpls_down", "not_ip", fr.from_core(CORE, b"\x60" + frame[15:], with_gre=False, stack=[(0, 60)]))
    return good(case)


def cases():
    yield congestion()
    yield special_labels()
    yield far_ends()
    yield any_far_end()
    yield martians("gre", "gre_down")
    yield martians("labels", "find", gre=False)
    yield martians("plain", "find", gre=False, mpls=False)
    yield link_local()
