# SPDX-License-Identifier: BSD-3-Clause
"""ARP on both sides: answers, what is learned from it, what is asked, what is refused.

The core polls cpe0, cpe1, core0, core1 in this order, 32 frames each: that is how a case knows what comes first.
"""

from tests.pcap import frames as fr
from tests.pcap.frames import Subscriber, server
from tests.pcap.traffic import Traffic

NOBODY = "00:00:00:00:00:00"
BURST = 64
SUB, CORE = Subscriber(0, 2), "core0"


def cpe_arp(sub, op, target_ip, sender_ip=None, mac=None, dst=fr.BROADCAST, target_mac=NOBODY, **tags):
    """A CPE's ARP frame."""
    mac = mac or sub.mac
    packet = fr.arp(op, mac, sub.ip if sender_ip is None else sender_ip, target_mac, target_ip)
    return fr.pad(fr.tagged(dst, mac, sub, packet, ethertype=fr.ETH_ARP, **tags))


def answer_to_cpe(sub, sender_ip, target_ip=None, mac=None, **tags):
    packet = fr.arp(2, fr.GATEWAY_MAC[sub.port], sender_ip, mac or sub.mac, sub.ip if target_ip is None else target_ip)
    return fr.to_cpe(sub, packet, dst=mac or sub.mac, ethertype=fr.ETH_ARP, **tags)


def question_to_cpe(sub, **tags):
    packet = fr.arp(1, fr.GATEWAY_MAC[sub.port], fr.GATEWAY_IP[sub.port], NOBODY, sub.ip)
    return fr.to_cpe(sub, packet, dst=fr.BROADCAST, ethertype=fr.ETH_ARP, **tags)


def router_arp(core, op, target_ip, sender_ip=None, mac=None, dst=fr.BROADCAST, target_mac=NOBODY):
    mac = mac or fr.NEIGHBOUR_MAC[core]
    packet = fr.arp(op, mac, sender_ip or fr.NEIGHBOUR_IP[core], target_mac, target_ip)
    return fr.pad(fr.ether(dst, mac, fr.ETH_ARP, packet))


def to_router(core, op, sender_ip, target_mac, target_ip, dst):
    packet = fr.arp(op, fr.GATEWAY_MAC[core], sender_ip, target_mac, target_ip)
    return fr.pad(fr.ether(dst, fr.GATEWAY_MAC[core], fr.ETH_ARP, packet))


def question_to_router(core):
    return to_router(core, 1, fr.GATEWAY_IP[core], NOBODY, fr.NEIGHBOUR_IP[core], fr.BROADCAST)


def answer_of_router(core, **changes):
    ours = fr.GATEWAY_MAC[core]
    return router_arp(core, 2, fr.GATEWAY_IP[core], dst=ours, target_mac=ours, **changes)


def access_answers():
    """For each VLAN pair, with the tags of the subscriber's port, whatever those of the question."""
    case = Traffic("arp-access-answers", subscribers=512)
    for sub in (Subscriber(0, 0), Subscriber(0, 511), Subscriber(1, 0), Subscriber(1, 511)):
        ours = fr.GATEWAY_IP[sub.port]
        for tpid in (fr.TPID_88A8, fr.TPID_8100):
            for pcp in (0, 7):
                tags = {"tpid": tpid, "pcp": pcp}
                for dst in (fr.BROADCAST, fr.GATEWAY_MAC[sub.port]):
                    case.send(sub.port, cpe_arp(sub, 1, ours, dst=dst, **tags))
                    case.receive(sub.port, answer_to_cpe(sub, ours))
        # a probe has no address yet: RFC 5227 section 2.1.1
        case.send(sub.port, cpe_arp(sub, 1, ours, sender_ip="0.0.0.0"))
        case.receive(sub.port, answer_to_cpe(sub, ours, target_ip="0.0.0.0"))
    return case


def core_answers():
    case = Traffic("arp-core-answers", static_core=False)
    for core in fr.CORE:
        ours, mac = fr.GATEWAY_IP[core], fr.NEIGHBOUR_MAC[core]
        case.receive(core, question_to_router(core))  # who asks is not believed: it is asked
        for dst in (fr.BROADCAST, fr.GATEWAY_MAC[core]):
            case.send(core, router_arp(core, 1, ours, dst=dst))
            case.receive(core, to_router(core, 2, ours, mac, fr.NEIGHBOUR_IP[core], mac))
        # a stranger on the link may ask, too
        stranger = "02:dd:00:00:00:77"
        case.send(core, router_arp(core, 1, ours, sender_ip="192.0.2.3", mac=stranger))
        case.receive(core, to_router(core, 2, ours, stranger, "192.0.2.3", stranger))
    return case


def refused():
    case = Traffic("arp-refused", static_core=False, static_cpe=False)
    other, third = Subscriber(0, 3), Subscriber(0, 4)
    theirs, ours = fr.GATEWAY_IP["cpe1"], fr.GATEWAY_IP["cpe0"]

    def drop(port, reason, *frames):
        case.send(port, *frames)
        case.drop("arp", reason, len(frames))

    drop("cpe0", "arp_foreign", cpe_arp(SUB, 1, other.ip), cpe_arp(SUB, 1, theirs), cpe_arp(SUB, 1, "192.0.2.1"))
    drop("cpe0", "arp_spoofed", cpe_arp(SUB, 1, ours, sender_ip=other.ip), cpe_arp(SUB, 2, ours, sender_ip=other.ip),
         cpe_arp(SUB, 1, ours, sender_ip=ours), cpe_arp(SUB, 2, ours, sender_ip=ours))  # fmt: skip
    good = cpe_arp(third, 1, ours)
    for at, value in ((23, 2), (24, 6), (26, 8), (27, 16), (29, 0), (29, 3), (29, 8)):  # types, lengths, operation
        drop("cpe0", "arp_malformed", good[:at] + bytes([value]) + good[at + 1 :])
    for n in range(22, 50):
        drop("cpe0", "arp_malformed", good[:n])
    drop("cpe0", "arp_malformed", cpe_arp(third, 1, ours, mac="01:00:5e:00:00:01"), cpe_arp(third, 1, ours, mac=NOBODY),
         cpe_arp(third, 1, ours, mac=fr.BROADCAST), cpe_arp(third, 1, ours, dst=other.mac))  # fmt: skip
    stranger = Subscriber(0, 2)
    stranger.cvlan = 999
    case.send("cpe0", cpe_arp(stranger, 1, ours))
    case.drop("classify", "unknown_subscriber")
    case.send("cpe0", fr.pad(fr.ether(fr.BROADCAST, SUB.mac, fr.ETH_ARP, fr.arp(1, SUB.mac, SUB.ip, NOBODY, ours))))
    case.drop("classify", "not_qinq")
    own_mac = fr.GATEWAY_MAC["core1"]
    drop("cpe0", "arp_own_mac", cpe_arp(third, 1, ours, mac=own_mac), cpe_arp(third, 2, ours, mac=fr.GATEWAY_MAC["cpe0"]))
    drop(CORE, "arp_own_mac", router_arp(CORE, 1, fr.GATEWAY_IP[CORE], mac=own_mac), answer_of_router(CORE, mac=own_mac))
    case.receive(CORE, question_to_router(CORE))
    drop(CORE, "arp_foreign", router_arp(CORE, 1, "192.0.2.9"), router_arp(CORE, 1, fr.GATEWAY_IP["core1"]),
         router_arp(CORE, 2, fr.GATEWAY_IP[CORE], sender_ip="192.0.2.3"))  # fmt: skip
    drop(CORE, "arp_spoofed", router_arp(CORE, 1, fr.GATEWAY_IP[CORE], sender_ip=fr.GATEWAY_IP[CORE]))
    for n in range(14, 42):
        drop(CORE, "arp_malformed", router_arp(CORE, 1, fr.GATEWAY_IP[CORE])[:n])
    # a foreign question still says who asks; nothing else of all this has taught us anything
    case.down(CORE, SUB, fr.udp(server(CORE), SUB.ip))
    for sub in (other, third):
        case.send(CORE, fr.from_core(CORE, fr.udp(server(CORE), sub.ip), key=sub.key))
        case.drop("arp", "unresolved")
        case.receive("cpe0", question_to_cpe(sub))
    return case


def flood():
    """arp_rate = "1": one is looked at, the others are dropped."""
    case = Traffic("arp-flood", params={"arp": 'arp_rate = "1";'})
    ours = fr.GATEWAY_IP["cpe0"]
    case.send("cpe0", *[cpe_arp(SUB, 1, ours)] * 200)
    case.receive("cpe0", answer_to_cpe(SUB, ours))
    case.drop("arp", "arp_rate_limited", 199)
    return case


def learn_cpe():
    """Unknown: asked for once. Then its answer teaches the MAC, and packets arrive."""
    case = Traffic("arp-learns-cpe", static_cpe=False)
    packet = fr.udp(server(CORE), SUB.ip)
    for _ in range(BURST):  # first round of core0
        case.send(CORE, fr.from_core(CORE, packet, key=SUB.key))
    case.drop("arp", "unresolved", BURST)
    case.receive("cpe0", question_to_cpe(SUB))
    filler = Subscriber(0, 9)
    for _ in range(BURST):  # first round of cpe0: the answer comes in the second
        case.up(filler, "core1", fr.udp(filler.ip, server("core1")))
    case.send("cpe0", cpe_arp(SUB, 2, fr.GATEWAY_IP["cpe0"], dst=fr.GATEWAY_MAC["cpe0"], target_mac=fr.GATEWAY_MAC["cpe0"]))
    for seed in range(5):
        case.down(CORE, SUB, fr.udp(server(CORE), SUB.ip, seed=seed))
    return case


def learn_cpe_otherwise():
    """A question of the CPE and a gratuitous ARP teach as well; the newest MAC counts."""
    case = Traffic("arp-learns-from-questions", static_cpe=False)
    mac, newer = "02:ca:fe:00:00:01", "02:ca:fe:00:00:02"
    other = Subscriber(1, 4)
    ours = fr.GATEWAY_IP["cpe0"]
    case.send("cpe0", cpe_arp(SUB, 1, ours, mac=mac))
    case.receive("cpe0", answer_to_cpe(SUB, ours, mac=mac))
    case.send("cpe1", cpe_arp(other, 1, other.ip))  # gratuitous
    for _ in range(BURST):
        packet = fr.udp(server(CORE), SUB.ip)
        case.send(CORE, fr.from_core(CORE, packet, key=SUB.key))
        case.receive("cpe0", case.access_frame(SUB, fr.forwarded(packet), dst=mac))
    for _ in range(BURST - 1):
        case.up(SUB, "core1", fr.udp(SUB.ip, server("core1")))
    case.send("cpe0", cpe_arp(SUB, 1, SUB.ip, mac=newer))
    packet = fr.udp(server(CORE), SUB.ip)
    case.send(CORE, fr.from_core(CORE, packet, key=SUB.key))
    case.receive("cpe0", case.access_frame(SUB, fr.forwarded(packet), dst=newer))
    case.down(CORE, other, fr.udp(server(CORE), other.ip))
    return case


def static_stays():
    """A static MAC is not learned over, whoever says so."""
    case = Traffic("arp-static-cpe-stays")
    case.send("cpe0", cpe_arp(SUB, 1, SUB.ip, mac="02:ca:fe:00:00:01"))
    case.down(CORE, SUB, fr.udp(server(CORE), SUB.ip))
    return case


def learn_nexthop():
    """Unknown: asked for once. Then its answer teaches the MAC, and packets leave."""
    case = Traffic("arp-learns-next-hop", static_core=False)
    for _ in range(BURST):
        case.send("cpe0", fr.from_cpe(SUB, fr.udp(SUB.ip, server(CORE))))
    case.drop("arp", "unresolved", BURST)
    case.receive(CORE, question_to_router(CORE))
    case.send(CORE, answer_of_router(CORE))
    for seed in range(5):
        case.up(SUB, CORE, fr.udp(SUB.ip, server(CORE), seed=seed))
    return case


def unsolicited():
    """Who takes a next hop's MAC takes all upstream traffic: it is told by those who are asked, and by nobody else."""
    case = Traffic("arp-unsolicited", static_core=False)
    thief, ours = "02:dd:00:00:00:66", fr.GATEWAY_IP[CORE]
    claims = (answer_of_router(CORE, mac=thief), router_arp(CORE, 2, fr.NEIGHBOUR_IP[CORE], mac=thief),
              router_arp(CORE, 1, fr.NEIGHBOUR_IP[CORE], mac=thief))  # fmt: skip
    case.send(CORE, claims[0], answer_of_router(CORE), *claims)  # the first makes the gateway ask
    case.receive(CORE, question_to_router(CORE))
    case.send(CORE, router_arp(CORE, 1, ours, mac=thief))
    case.receive(CORE, to_router(CORE, 2, ours, thief, fr.NEIGHBOUR_IP[CORE], thief))
    case.drop("arp", "arp_unsolicited", 4)
    filler = Subscriber(0, 9)
    for _ in range(BURST):  # the core port is read after the first burst of the access port
        case.send("cpe0", fr.from_cpe(filler, fr.udp("10.99.0.1", server(CORE))))
    case.drop("classify", "spoofed", BURST)
    for seed in range(5):
        case.up(SUB, CORE, fr.udp(SUB.ip, server(CORE), seed=seed))
    return case


def keep_for_cpe():
    """RFC 1122 section 2.3.2.2: the latest packets wait for the answer."""
    case = Traffic("arp-keeps-for-cpe", static_cpe=False, keep=None)
    packets = [fr.udp(server(CORE), SUB.ip, seed=seed, tos=0x28) for seed in range(BURST)]
    case.send(CORE, *(fr.from_core(CORE, packet, key=SUB.key) for packet in packets))
    case.drop("arp", "unresolved", BURST - 3)
    case.receive("cpe0", question_to_cpe(SUB))
    filler = Subscriber(0, 9)
    for _ in range(BURST):  # first round of cpe0: the answer comes in the second
        case.up(filler, "core1", fr.udp(filler.ip, server("core1")))
    case.send("cpe0", cpe_arp(SUB, 2, fr.GATEWAY_IP["cpe0"], dst=fr.GATEWAY_MAC["cpe0"], target_mac=fr.GATEWAY_MAC["cpe0"]))
    for packet in packets[-3:]:
        case.receive("cpe0", case.access_frame(SUB, fr.forwarded(packet)))
    return case


def keep_for_nexthop():
    case = Traffic("arp-keeps-for-next-hop", static_core=False, keep=None)
    packets = [fr.udp(SUB.ip, server(CORE), seed=seed) for seed in range(BURST)]
    case.send("cpe0", *(fr.from_cpe(SUB, packet) for packet in packets))
    case.drop("arp", "unresolved", BURST - 3)
    case.receive(CORE, question_to_router(CORE))
    case.send(CORE, answer_of_router(CORE))
    for packet in packets[-3:]:
        case.receive(CORE, case.core_frame(CORE, fr.forwarded(packet), SUB))
    return case


def keep_in_vain():
    """Nobody answers until the stop: what waits is dropped and counted."""
    case = Traffic("arp-keeps-in-vain", static_core=False, static_cpe=False, keep=None)
    case.send(CORE, fr.from_core(CORE, fr.udp(server(CORE), SUB.ip), key=SUB.key))
    case.send("cpe1", fr.from_cpe(Subscriber(1, 1), fr.udp(Subscriber(1, 1).ip, server("core1"))))
    case.receive("cpe0", question_to_cpe(SUB))
    case.receive("core1", question_to_router("core1"))
    case.drop("arp", "no_answer", 2)
    return case


def two_nexthops():
    """Two next hops (other tunnels) behind one neighbour learn together."""
    case = Traffic("arp-next-hops-share-neighbour", static_core=False)
    case.gateway.routes = f'{{ prefix = "198.51.100.0/24"; port = "core0"; via = "{fr.NEIGHBOUR_IP[CORE]}"; }}'
    ours, mac = fr.GATEWAY_IP[CORE], fr.NEIGHBOUR_MAC[CORE]
    case.send(CORE, router_arp(CORE, 1, ours), answer_of_router(CORE))
    case.receive(CORE, question_to_router(CORE), to_router(CORE, 2, ours, mac, fr.NEIGHBOUR_IP[CORE], mac))
    for _ in range(BURST):
        filler = Subscriber(0, 9)
        case.send("cpe0", fr.from_cpe(filler, fr.udp("10.99.0.1", server(CORE))))
    case.drop("classify", "spoofed", BURST)
    case.up(SUB, CORE, fr.udp(SUB.ip, server(CORE)))
    packet = fr.udp(SUB.ip, "198.51.100.7", size=40)
    case.send("cpe0", fr.from_cpe(SUB, packet))
    case.receive(CORE, fr.encapsulated(CORE, fr.forwarded(packet), with_gre=False, with_mpls=False))
    return case


def cases():
    for make in (access_answers, core_answers, refused, flood, learn_cpe, learn_cpe_otherwise, static_stays,
                 learn_nexthop, two_nexthops, unsolicited, keep_for_cpe, keep_for_nexthop, keep_in_vain):  # fmt: skip
        yield make()
