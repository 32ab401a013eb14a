# SPDX-License-Identifier: BSD-3-Clause
"""Subscribers whose addresses are a prefix: each host has a MAC of its own, unless one CPE routes the prefix."""

import os

from tests.pcap import frames as fr
from tests.pcap.cases_arp import BURST, NOBODY, answer_to_cpe, cpe_arp
from tests.pcap.cases_icmp import PLENTY, expired, parts, ping, pong, too_big
from tests.pcap.frames import Subscriber, server
from tests.pcap.traffic import Traffic

CORE, OURS = "core0", fr.GATEWAY_IP["cpe0"]
FILLER = Subscriber(0, 9)
KEY = 700000


class Host(Subscriber):
    """Host number n of a /29 on cpe0."""

    def __init__(self, n, network=0):
        self.port, self.svlan, self.cvlan, self.key = "cpe0", 900 + network, 900, KEY + network
        self.ip, self.mac = f"10.{50 + network}.0.{8 + n}", f"02:aa:00:00:{network:02x}:{n:02x}"


def with_prefixes(name, table, **gateway):
    """A case with the subscribers of a table, each of whom has a /29 on cpe0."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), table)
    return Traffic(name, **{"params": PLENTY, "more_subscribers": f'{{ csv = "{path}"; }}', **gateway})


def introduce(case, *hosts):
    """Each asks for the gateway's MAC, and is answered."""
    for host in hosts:
        case.send("cpe0", cpe_arp(host, 1, OURS))
        case.receive("cpe0", answer_to_cpe(host, OURS))


def two_hosts():
    """Frames for one never go to the other's MAC, in either direction, whatever sends them."""
    case = with_prefixes("hosts-of-a-prefix", "hosts.csv")
    case.any_order = True
    a, b, silent = Host(1), Host(2), Host(3)
    introduce(case, a, b)
    for seed in range(BURST // 2 - 1):
        for host in (a, b):
            case.down(CORE, host, fr.udp(server(CORE), host.ip, seed=seed, size=8 + 40 * seed, tos=0x28))
    for _ in range(BURST):  # what a burst has for the slow path comes there after the burst
        case.up(FILLER, "core1", fr.udp(FILLER.ip, server("core1")))
    for host in (a, b):
        case.up(host, CORE, fr.udp(host.ip, server(CORE)))
        case.send("cpe0", fr.from_cpe(host, ping(host.ip, OURS)))
        case.receive("cpe0", case.access_frame(host, pong(OURS, host.ip)))
        packet = fr.udp(host.ip, server(CORE), ttl=1)
        case.send("cpe0", fr.from_cpe(host, packet))
        case.receive("cpe0", case.access_frame(host, expired(OURS, packet)))
        packet = fr.udp_of_length(host.ip, server(CORE), 1490, flags="DF")
        case.send("cpe0", fr.from_cpe(host, packet))
        case.receive("cpe0", case.access_frame(host, too_big(OURS, packet, 1468)))
    # nobody's MAC is known for a third address: it is asked for
    case.send(CORE, fr.from_core(CORE, fr.udp(server(CORE), silent.ip), key=KEY))
    case.drop("arp", "unresolved")
    question = fr.arp(1, fr.GATEWAY_MAC["cpe0"], OURS, NOBODY, silent.ip)
    case.receive("cpe0", fr.to_cpe(silent, question, dst=fr.BROADCAST, ethertype=fr.ETH_ARP))
    return case


def two_hosts_wait():
    """Packets for two hosts wait for two answers; the answer of one sends nothing of the other's."""
    case = with_prefixes("hosts-are-waited-for", "hosts.csv", keep=None)
    case.any_order = True
    a, b = Host(1), Host(2)
    for host in (a, b):
        packet = fr.udp(server(CORE), host.ip, tos=0x28)
        case.send(CORE, fr.from_core(CORE, packet, key=KEY))
        question = fr.arp(1, fr.GATEWAY_MAC["cpe0"], OURS, NOBODY, host.ip)
        case.receive("cpe0", fr.to_cpe(host, question, dst=fr.BROADCAST, ethertype=fr.ETH_ARP))
        case.receive("cpe0", case.access_frame(host, fr.forwarded(packet)))
    for _ in range(BURST):  # first round of cpe0: the answers come in the second
        case.up(FILLER, "core1", fr.udp(FILLER.ip, server("core1")))
    for host in (b, a):
        case.send("cpe0", cpe_arp(host, 2, OURS, dst=fr.GATEWAY_MAC["cpe0"], target_mac=fr.GATEWAY_MAC["cpe0"]))
    return case


def fragments():
    """A packet that must be cut goes to its host, too."""
    case = with_prefixes("hosts-fragments", "hosts.csv", mtu={"cpe0": 576})
    a, b = Host(1), Host(2)
    introduce(case, a, b)
    for host in (a, b):
        packet = fr.udp_of_length(server(CORE), host.ip, 600)
        case.send(CORE, fr.from_core(CORE, packet, key=KEY))
        for part in parts(fr.forwarded(packet), 576):
            case.receive("cpe0", case.access_frame(host, part))
    return case


def routed():
    """routed = true: the MAC that any address of the prefix has told is that of all; another prefix has its hosts."""
    case = with_prefixes("hosts-behind-a-router", "hosts-routed.csv")
    case.any_order = True
    router, behind, a, b = Host(1), Host(4), Host(1, 1), Host(2, 1)
    introduce(case, router, a, b)
    for _ in range(BURST // 4 - 1):
        for host in (router, behind, a, b):
            packet = fr.udp(server(CORE), host.ip)
            case.send(CORE, fr.from_core(CORE, packet, key=host.key))
            mac = router.mac if host is behind else host.mac
            case.receive("cpe0", case.access_frame(host, fr.forwarded(packet), dst=mac))
    return case


def static():
    """A configured MAC is that of all addresses."""
    case = with_prefixes("hosts-with-one-mac", "hosts-mac.csv")
    for n in (1, 2, 6):
        packet = fr.udp(server(CORE), Host(n).ip)
        case.send(CORE, fr.from_core(CORE, packet, key=KEY))
        case.receive("cpe0", case.access_frame(Host(n), fr.forwarded(packet), dst="02:bb:00:00:00:01"))
    return case


def cases():
    for make in (two_hosts, two_hosts_wait, fragments, routed, static):
        yield make()
