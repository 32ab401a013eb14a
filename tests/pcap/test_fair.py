# SPDX-License-Identifier: BSD-3-Clause
"""The slow path is shared fairly: a subscriber who fills his line costs no other one answer.

For each question of 100 others one subscriber sends 100 of the same kind. The frames are Scapy's, and so is what reads the answers.
"""

import json
import struct

import pytest

from tests.common import need

need.module("scapy", "python3-scapy")

from scapy.layers.inet import ICMP, IP  # noqa: E402
from scapy.layers.inet6 import ICMPv6EchoReply, ICMPv6ND_NA, ICMPv6ND_NS, ICMPv6ND_RA, ICMPv6PacketTooBig, ICMPv6TimeExceeded  # noqa: E402
from scapy.layers.l2 import ARP, Dot1Q, Ether  # noqa: E402

from tests.common.verdict import nothing  # noqa: E402
from tests.pcap import cases_icmp6, cases_ipv6, cases_nd, cases_nd_core  # noqa: E402
from tests.pcap import frames as fr  # noqa: E402
from tests.pcap.gateway import Gateway  # noqa: E402
from tests.pcap.harness import read_pcap, write_pcap  # noqa: E402

PORT, CORE = "cpe0", "core0"
ATTACKER = fr.Subscriber(0, 0)
OTHERS = [fr.Subscriber(0, i) for i in range(1, 101)]
END = bytes.fromhex("0000ffff")  # of an address
FLOOD = 100  # frames of the attacker for each of another's


def who_has(sub):
    """ARP: who has the gateway's address?"""
    return fr.pad(fr.tagged(fr.BROADCAST, sub.mac, sub, fr.arp(1, sub.mac, sub.ip, "00:00:00:00:00:00", fr.GATEWAY_IP[PORT]), fr.ETH_ARP))


def ping(sub):
    return fr.from_cpe(sub, fr.raw(IP(src=sub.ip, dst=fr.GATEWAY_IP[PORT]) / ICMP(type=8, id=1, seq=1)))


def ttl_ends(sub):
    return fr.from_cpe(sub, fr.udp(sub.ip, fr.server(CORE), ttl=1))


def too_big(sub):
    return fr.from_cpe(sub, fr.udp(sub.ip, fr.server(CORE), size=700, flags="DF"))


def asks_neighbour(sub):
    return cases_nd.cpe_asks(sub, cases_ipv6.wan(sub))


def asks_router(sub):
    return cases_nd.router_solicit(sub, cases_ipv6.wan(sub))


def ping6(sub):
    return cases_ipv6.from_cpe(sub, cases_icmp6.ping(cases_ipv6.wan(sub), cases_nd.ours(sub)))


def ping6_far(sub):
    return cases_ipv6.from_cpe(sub, cases_icmp6.ping(cases_ipv6.wan(sub), cases_icmp6.GLOBAL[CORE]))


def hops_end(sub):
    return cases_ipv6.from_cpe(sub, cases_ipv6.packet6(cases_ipv6.wan(sub), cases_icmp6.TUNNELLED, hlim=1))


def too_big6(sub):
    return cases_ipv6.from_cpe(sub, cases_ipv6.packet6(cases_ipv6.wan(sub), cases_icmp6.TUNNELLED, size=700))


def is_arp_reply(frame):
    return ARP in frame and frame[ARP].op == 2


def is_icmp(kind, code):
    return lambda frame: ICMP in frame and (frame[ICMP].type, frame[ICMP].code) == (kind, code)


KINDS = {
    "arp": (who_has, is_arp_reply, "classify"),
    "echo": (ping, is_icmp(0, 0), "route"),
    "ttl": (ttl_ends, is_icmp(11, 0), "route"),
    "too-big": (too_big, is_icmp(3, 4), "route"),
    "nd": (asks_neighbour, lambda frame: ICMPv6ND_NA in frame, "classify"),
    "router": (asks_router, lambda frame: ICMPv6ND_RA in frame, "classify"),
    "echo6-link": (ping6, lambda frame: ICMPv6EchoReply in frame, "classify"),
    "echo6": (ping6_far, lambda frame: ICMPv6EchoReply in frame, "route"),
    "hop-limit": (hops_end, lambda frame: ICMPv6TimeExceeded in frame, "route"),
    "too-big6": (too_big6, lambda frame: ICMPv6PacketTooBig in frame, "route"),
}


def parsed(raw):
    """A double-tagged frame; Scapy takes 0x88a8 for no tag by itself in some versions."""
    frame = Ether(raw)
    return frame if Dot1Q in frame else Ether(raw[:12] + b"\x81\x00" + raw[14:])


def run_gateway(vbng, run, folder, sent, **more):
    """Run it with those frames by port. Returns frames sent by cpe0, drops by task, and what is wrong with the ledger."""
    folder.mkdir()
    for port in fr.PORTS:
        write_pcap(folder / f"{port}-in.pcap", sent.get(port, []))
    gateway = Gateway(subscriber_rate=None, keep=None, ra=True, mtu={CORE: 600}, ipv6=True, addresses6=cases_icmp6.ADDRESSES6, routes=cases_icmp6.ROUTES,
                      **more)
    (folder / "fair.cfg").write_text(gateway(str(folder)))
    done = run(vbng, "--quiet", "--share-cpus", "--duration", "60ms", "--report", folder / "report.json", folder / "fair.cfg")
    assert done.returncode == 0, done.stderr
    report = json.loads((folder / "report.json").read_text())
    drops = {task["name"]: {reason: n for reason, n in task["drops"].items() if n} for task in report["tasks"]}
    wrong = [] if report["ledger"]["balances"] is True else [f"the ledger does not balance: {report['ledger']}"]
    return [parsed(frame) for frame in read_pcap(folder / f"{PORT}-out.pcap")], drops, wrong


@pytest.mark.parametrize("kind", KINDS)
def test_nobody_loses_an_answer(vbng, module_folder, run, kind):
    question, is_answer, finder = KINDS[kind]
    sent = [frame for sub in OTHERS for frame in [question(ATTACKER)] * FLOOD + [question(sub)]]
    frames, drops, wrong = run_gateway(vbng, run, module_folder / kind, {PORT: sent})
    answers = [frame for frame in frames if is_answer(frame)]
    got = {sub.ip: sum(frame.dst == sub.mac for frame in answers) for sub in [ATTACKER, *OTHERS]}
    limited = drops[finder].pop("punt_limited", 0)

    wrong += [f"{ip} has {n} answers" for ip, n in got.items() if ip != ATTACKER.ip and n != 1]
    if not 20 <= got[ATTACKER.ip] < FLOOD * len(OTHERS) / 2:
        wrong.append(f"the attacker has {got[ATTACKER.ip]} answers")
    if got[ATTACKER.ip] + limited != FLOOD * len(OTHERS):
        wrong.append(f"{limited} of the attacker's frames were limited, and {got[ATTACKER.ip]} answered")
    wrong += [f"{task} drops {of}" for task, of in drops.items() if of]
    nothing(wrong)


def core_asks_arp():
    mac, ip = "02:dd:00:00:00:77", "192.0.2.3"
    return fr.pad(fr.ether(fr.BROADCAST, mac, fr.ETH_ARP, fr.arp(1, mac, ip, "00:00:00:00:00:00", fr.GATEWAY_IP[CORE])))


def core_asks_neighbour():
    mac = "02:dd:00:00:00:77"
    return cases_nd_core.router_asks(CORE, cases_nd.link_local(fr.GATEWAY_MAC[CORE]), cases_nd.link_local(mac), mac=mac)


@pytest.mark.parametrize("kind, ask, question, is_answer", [("arp", core_asks_arp, who_has, is_arp_reply), ("nd", core_asks_neighbour, *KINDS["nd"][:2])])
def test_the_core_takes_nothing_from_subscribers(vbng, module_folder, run, kind, ask, question, is_answer):
    """A station on a link of the core asks without end, before and while subscribers do."""
    flood = ask()
    others_traffic = [fr.from_cpe(ATTACKER, fr.udp(ATTACKER.ip, fr.server("core1")))] * 3200
    sent = {CORE: [flood] * 10000, PORT: others_traffic + [question(sub) for sub in OTHERS]}
    frames, drops, wrong = run_gateway(vbng, run, module_folder / f"core-{kind}", sent)
    answered = [frame.dst for frame in frames if is_answer(frame)]
    limited = drops["mpls_down"].pop("punt_limited", 0)

    wrong += [f"{sub.ip} has no answer" for sub in OTHERS if sub.mac not in answered]
    if limited < 5000:
        wrong.append(f"only {limited} of the flood were limited")
    wrong += [f"{task} drops {of}" for task, of in drops.items() if of]
    nothing(wrong)


def test_a_scan_of_one_prefix_hides_nobody(vbng, module_folder, run):
    """Somebody in the core sends to as many addresses of one subscriber's link as there are: the others, whose MACs are not known either, are asked for
    all the same, once each (RFC 6583)."""
    def down(sub, host):
        return fr.from_core(CORE, cases_ipv6.packet6(cases_icmp6.TUNNELLED, cases_ipv6.wan(sub, host)), key=sub.key, proto=cases_ipv6.ETH_IPV6)

    def scanned(n):
        """An address whose checksum is that of all others: Scapy takes half a millisecond for a frame."""
        assert before.count(END) == 1
        return before.replace(END, struct.pack(">HH", n, 0xFFFF - n))

    before = down(ATTACKER, "::0:ffff")
    sent = [frame for i, sub in enumerate(OTHERS) for frame in [*(scanned(i * FLOOD + n + 1) for n in range(FLOOD)), down(sub, "::1")]]
    frames, drops, wrong = run_gateway(vbng, run, module_folder / "scan", {CORE: sent}, static_cpe=False)
    asked = [(frame.getlayer(1).vlan, frame.getlayer(2).vlan, frame[ICMPv6ND_NS].tgt) for frame in frames if ICMPv6ND_NS in frame]

    for sub in OTHERS:
        if asked.count((sub.svlan, sub.cvlan, cases_ipv6.wan(sub))) != 1:
            wrong.append(f"{sub.cvlan} is asked {asked.count((sub.svlan, sub.cvlan, cases_ipv6.wan(sub)))} times")
    if len(asked) != len(OTHERS) + 1:
        wrong.append(f"{len(asked) - len(OTHERS)} questions for the one whose prefix is scanned")
    if drops["encap"].pop("no_cpe_mac", 0) < FLOOD * len(OTHERS) / 2:
        wrong.append("the scan was not limited before the slow path")
    drops["arp"] = {reason: n for reason, n in drops["arp"].items() if reason not in ("unresolved", "no_answer")}
    wrong += [f"{task} drops {of}" for task, of in drops.items() if of]
    nothing(wrong)
