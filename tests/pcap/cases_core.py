# SPDX-License-Identifier: BSD-3-Clause
"""What a neighbour in the core may not do to subscribers: doc/security.md. A good frame goes last: the path still works."""

from tests.pcap import frames as fr
from tests.pcap.cases_drops import CORE, SUB, good, refuse
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


def prefix():
    """The whole prefix of a subscriber is his own."""
    case = Traffic("core-martians-prefix")
    case.gateway.more_subscribers = '{ port = "cpe0"; svlan = "200"; cvlan = "300"; ipv4 = "10.9.8.16/29"; gre_key = "99999"; mac = "02:0a:00:00:00:01"; }'  # fmt: skip
    sub = fr.Subscriber(0, 2)
    sub.svlan, sub.cvlan, sub.ip, sub.key, sub.mac = 200, 300, "10.9.8.18", 99999, "02:0a:00:00:00:01"
    for k in range(16, 24):
        refuse(case, CORE, "gre_down", "martian_source", fr.from_core(CORE, fr.udp(f"10.9.8.{k}", sub.ip), key=sub.key))
    for source in ("10.9.8.15", "10.9.8.24"):
        case.down(CORE, sub, fr.udp(source, sub.ip))
    return case


def link_local():
    """RFC 3927 section 7: 169.254/16 is not forwarded, though a default route leads there."""
    case = Traffic("core-link-local-destinations")
    case.gateway.routes = f'{{ prefix = "0.0.0.0/0"; port = "core1"; mac = "{fr.NEIGHBOUR_MAC["core1"]}"; gre = "{fr.TUNNEL_IP["core1"]}"; mpls = 17; }}'  # fmt: skip
    for to in ("169.254.0.0", "169.254.169.254", "169.254.255.255"):
        refuse(case, "cpe0", "route", "link_local", fr.from_cpe(SUB, fr.udp(SUB.ip, to)))
    for to in ("169.253.255.255", "169.255.0.0"):
        case.up(SUB, "core1", fr.udp(SUB.ip, to))
    return good(case)


def cases():
    yield martians("gre", "gre_down")
    yield martians("labels", "find", gre=False)
    yield martians("plain", "find", gre=False, mpls=False)
    yield prefix()
    yield link_local()
