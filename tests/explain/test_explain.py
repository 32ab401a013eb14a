# SPDX-License-Identifier: BSD-3-Clause
"""Asking a gateway that runs, and one that does not: frames in words, answers, exit statuses, the doc's examples."""

import os
import re
import shlex
import struct
import subprocess

import pytest

from tests.common import need

need.module("scapy", "python3-scapy")

from scapy.compat import raw  # noqa: E402
from scapy.layers.inet import ICMP, IP, TCP, UDP  # noqa: E402
from scapy.layers.inet6 import (ICMPv6DestUnreach, ICMPv6EchoReply, ICMPv6EchoRequest, ICMPv6ND_NA, ICMPv6ND_NS, ICMPv6ND_RA,  # noqa: E402
                                ICMPv6ND_Redirect, ICMPv6ND_RS, ICMPv6PacketTooBig, ICMPv6ParamProblem, ICMPv6TimeExceeded, ICMPv6Unknown,
                                IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop, IPv6ExtHdrRouting)
from scapy.layers.ipsec import AH  # noqa: E402
from scapy.packet import Raw  # noqa: E402

from tests.common.limits import limit  # noqa: E402
from tests.common.verdict import nothing  # noqa: E402
from tests.control import load  # noqa: E402
from tests.explain.idle import CONFIG, TOP, Gateway  # noqa: E402
from tests.pcap import cases_ipv6, cases_ipv6_core, cases_nd_core, cases_tunnel6, frames as fr  # noqa: E402
from tests.pcap.harness import write_pcap  # noqa: E402

SUB = fr.Subscriber(0, 1)
UP = "cpe0 128.257 10.0.0.1 -> 198.18.0.1"
NO_GATEWAY = "02:00:00:00:00:01"  # who sends where no neighbour is known


def ip(src, dst, payload=None, **more):
    return raw(IP(src=src, dst=dst, id=0, **more) / (payload or UDP(sport=40000, dport=40001, chksum=0)))


def words():
    """(frame in words, the same by Scapy)."""
    mac = {"to": fr.GATEWAY_MAC["cpe0"], "from": SUB.mac}
    yield UP, fr.from_cpe(SUB, ip(SUB.ip, "198.18.0.1"))
    yield f"{UP} dscp 46 ttl 1 df pcp 5", fr.from_cpe(SUB, ip(SUB.ip, "198.18.0.1", tos=46 << 2, ttl=1, flags="DF"), pcp=5)
    yield f"{UP} tcp 1 -> 2", fr.from_cpe(SUB, ip(SUB.ip, "198.18.0.1", TCP(sport=1, dport=2, chksum=0, window=0)))
    yield f"{UP} icmp", fr.from_cpe(SUB, ip(SUB.ip, "198.18.0.1", ICMP()))
    yield f"{UP} size 1000", fr.from_cpe(
        SUB, ip(SUB.ip, "198.18.0.1", UDP(sport=40000, dport=40001, chksum=0) / bytes(1000 - 4 - 22 - 28))
    )
    yield f"{UP} proto 50 from 02:00:00:00:00:09 to 02:00:00:00:00:0a", fr.pad(
        raw(fr.Ether(src="02:00:00:00:00:09", dst="02:00:00:00:00:0a", type=0x88A8))
        + fr.from_cpe(SUB, raw(IP(src=SUB.ip, dst="198.18.0.1", id=0, proto=50)), padded=False)[14:]
    )
    yield "cpe0 128.257 arp 10.0.0.1 -> 100.64.0.1", fr.pad(
        fr.tagged(fr.BROADCAST, mac["from"], SUB, fr.arp(1, mac["from"], SUB.ip, "00:00:00:00:00:00", "100.64.0.1"), 0x0806)
    )
    core, down = "core0", ip("8.8.8.8", SUB.ip)
    tunnel = raw(IP(src=fr.TUNNEL_IP[core], dst=fr.GATEWAY_IP[core], id=0, proto=47) / fr.Raw(fr.gre(down, key=1)))
    yield "core0 mpls 16 gre 1 8.8.8.8 -> 10.0.0.1", fr.from_core(core, tunnel, stack=((16, 64),), with_gre=False)
    yield "core0 mpls 7 8 label-ttl 9 gre tunnel 1.1.1.1 -> 2.2.2.2 8.8.8.8 -> 10.0.0.1", fr.from_core(
        core, raw(IP(src="1.1.1.1", dst="2.2.2.2", id=0, proto=47) / fr.Raw(fr.gre(down))), stack=((7, 9), (8, 9)), with_gre=False
    )
    yield "core1 8.8.8.8 -> 10.0.0.1", fr.pad(raw(fr.Ether(src=NO_GATEWAY, dst=fr.GATEWAY_MAC["core1"], type=0x0800)) + down)
    yield "cpe0 hex 01:02 0304", bytes((1, 2, 3, 4))
    yield from words6()


def words6():
    """The same of IPv6."""
    up, udp = "cpe0 128.257 2001:db8::5 -> 2400:cb00::1", UDP(sport=40000, dport=40001, chksum=0)
    own = {"src": "2001:db8::5", "dst": "2400:cb00::1", "hlim": 64}
    yield up, cases_ipv6.from_cpe(SUB, raw(IPv6(**own) / udp))
    yield f"{up} dscp 46 ttl 1 pcp 5", cases_ipv6.from_cpe(SUB, raw(IPv6(**{**own, "hlim": 1}, tc=46 << 2) / udp), pcp=5)
    yield f"{up} icmp size 200", cases_ipv6.from_cpe(SUB, raw(IPv6(**own) / ICMPv6EchoRequest(data=bytes(200 - 4 - 22 - 48))))
    yield f"{up} proto 59", fr.pad(cases_ipv6.from_cpe(SUB, raw(IPv6(**own, nh=59))))
    down = raw(IPv6(src="2400:cb00::1", dst="2001:db8::5", hlim=64) / udp)
    tunnel = raw(IP(src=fr.TUNNEL_IP["core0"], dst=fr.GATEWAY_IP["core0"], id=0, proto=47) / fr.Raw(fr.gre(down, key=1, proto=0x86DD)))
    yield "core0 mpls 16 gre 1 2400:cb00::1 -> 2001:db8::5", fr.from_core("core0", tunnel, stack=((16, 64),), with_gre=False)
    for inner, text in ((down, "2400:cb00::1 -> 2001:db8::5"), (ip("8.8.8.8", SUB.ip), "8.8.8.8 -> 10.0.0.1")):
        outer = cases_tunnel6.over6("2001:db8::1", "2001:db8::2", inner, key=1)
        yield f"core0 mpls 16 gre 1 tunnel 2001:db8::1 -> 2001:db8::2 {text}", fr.from_core("core0", outer, stack=((16, 64),), with_gre=False)
        yield f"core0 gre 1 tunnel 2001:db8::1 -> 2001:db8::2 {text}", cases_ipv6.from_core(outer)
    yield "core0 mpls 2 2400:cb00::1 -> 2001:db8::5", fr.from_core("core0", down, stack=((2, 64),), with_gre=False)
    yield "core1 2400:cb00::1 -> 2001:db8::5", raw(fr.Ether(src=NO_GATEWAY, dst=fr.GATEWAY_MAC["core1"], type=0x86DD)) + down


@pytest.fixture(scope="module")
def gateway(vbng, top, module_folder):
    """One for all questions."""
    g = Gateway(vbng, str(top / "tools/vbngctl"), module_folder)
    try:
        g.wait()
        yield g
    finally:
        g.end()


def test_frames_of_words(gateway):
    wrong = []
    for text, expected in words():
        got = gateway.explain(text)
        if got.get("frame", {}).get("hex") != expected.hex():
            wrong.append(f"{text}:\n  {got.get('frame', got)}\n  expected {expected.hex()}")
    nothing(wrong)


def expect(gateway, text, result, *parts):
    """What is wrong with the answer to a frame."""
    got = gateway.explain(text)
    if got.get("result") != result:
        return [f"{text}: {got.get('text', got)}"]
    return [f"{text}: no '{p}' in\n{got['text']}" for p in parts if p not in got["text"]]


def test_answers(gateway):
    wrong = expect(gateway, f"{UP} dscp 46", "sent",
                   "subscriber 2: cpe0 128.257, 10.0.0.1/32, 2001:db8:0:1::/64, delegated 2001:db8:8000:100::/56, GRE key 1",
                   "class 0 of pipe 1", "profile home: 10Mbit/s up", "class 0 holds 0 of 16 packets",
                   "route 198.18.0.0/16: next hop 1 by core0", "mpls 16 tc 5", "result: sent by core0")  # fmt: skip
    wrong += expect(gateway, f"{UP} ttl 1", "answered", "its TTL ends here", "icmp type 11 code 0", "result: answered by cpe0")
    wrong += expect(gateway, f"{UP} size 1522", "sent", "made these of it", "packet 3", "fragment at")
    wrong += expect(gateway, "cpe0 128.257 10.0.0.9 -> 198.18.0.1", "dropped", "result: dropped by classify: spoofed")
    wrong += expect(gateway, "cpe0 5.5 10.0.0.9 -> 198.18.0.1", "dropped", "classify: unknown_subscriber")
    wrong += expect(gateway, "cpe0 128.257 10.0.0.1 -> 9.9.9.9", "answered", "no route leads where it goes", "icmp type 3 code 0")
    wrong += expect(gateway, "core0 mpls 16 gre 1 8.8.8.8 -> 10.0.0.1", "sent", "profile home: 10Mbit/s down",
                    "best effort, queue 0", "8100 257")  # fmt: skip
    # CPEs of cpe1 have not been heard: asked for, and asked for again, as nobody has really asked
    for _ in range(2):
        wrong += expect(gateway, "core1 gre 32768 8.8.8.8 -> 10.0.128.0", "dropped", "who has 10.0.128.0", "arp: unresolved")
    for _ in range(2):
        wrong += expect(gateway, "cpe1 128.256 arp-reply 10.0.128.0 -> 100.64.0.2", "consumed", "would learn the MAC 02:00:00:00:00:01")
    steps = gateway.explain(UP)["steps"]
    if [s["task"] for s in steps] != ["classify", "qos_up", "decap", "route", "gre_up", "mpls_up"]:
        wrong.append(f"steps: {steps}")
    if steps[-1]["ends"][0]["port"] != "core0" or not steps[0]["notes"][0].startswith("subscriber 2"):
        wrong.append(f"steps: {steps}")
    nothing(wrong)


def test_it_follows_changes(gateway):
    """What was changed a moment ago is what is explained."""
    gateway.ask(cmd="set-dscp", scheduler="access", direction="up", dscp=46, **{"class": "be"}, queue=3)
    gateway.ask(cmd="set-profile", subscriber=2, profile="slow")
    nothing(expect(gateway, f"{UP} dscp 46", "sent", "best effort, queue 3 of pipe 1", "profile slow: 1Mbit/s up"))


def test_wrong_requests(gateway):
    wrong = []
    for frame, reason in (
        ("cpe7 1.1.1.1 -> 2.2.2.2", "there is no port 'cpe7': did you mean 'cpe0'?"),
        (f"{UP} dcsp 1", "did you mean 'dscp'?"),
        (f"{UP} size 63", "size 63: expected 64 or more"),
        ("core0 mpls 16 gre 1 8.8.8.8 -> 10.0.0.1 size 77", "size 77: expected 78 or more"),
        ("cpe0 gre 1 8.8.8.8 -> 10.0.0.1", "no route has a tunnel by port cpe0"),
        ("", "expected PORT first"),
        (7, "key 'frame': value '7': expected a string"),
    ):
        got = gateway.explain(frame)
        if reason not in got.get("error", ""):
            wrong.append(f"{frame}: {got}")
    nothing(wrong)


def pcapng(frame):
    """A pcapng file with one packet: section, interface, enhanced packet block."""
    size = len(frame) + -len(frame) % 4
    block = struct.pack("<IIIII", 0, 0, 0, len(frame), len(frame)) + frame.ljust(size, b"\0")
    section = struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28)
    interface = struct.pack("<IIHHII", 1, 20, 1, 0, 0, 20)
    return section + interface + struct.pack("<II", 6, len(block) + 12) + block + struct.pack("<I", len(block) + 12)


def test_vbngctl(gateway, folder):
    """vbngctl: exit statuses, JSON, files."""
    wrong = []
    frame = fr.from_cpe(SUB, ip(SUB.ip, "198.18.0.1"))
    paths = [os.path.join(folder, name) for name in ("a.pcap", "b.pcapng", "none.pcap", "c")]
    write_pcap(paths[0], [frame, b"no"])
    with open(paths[1], "wb") as f:
        f.write(pcapng(frame))
    write_pcap(paths[2], [])
    with open(paths[3], "wb") as f:
        f.write(b"no pcap at all")
    for args, status, said in (
        ((UP,), 0, "result: sent by core0"),
        (("cpe0 128.257 10.0.0.9 → 198.18.0.1",), 5, "spoofed"),
        ((UP, "--json"), 0, '"result": "sent"'),
        (("--pcap", paths[0], "cpe0"), 0, "10.0.0.1 -> 198.18.0.1"),
        (("--pcap", paths[1], "cpe0"), 0, "10.0.0.1 -> 198.18.0.1"),
        (("--pcap", paths[2], "cpe0"), 1, "there is no frame"),
        (("--pcap", paths[3], "cpe0"), 1, "neither pcap nor pcapng"),
        ((), 1, "expected a FRAME"),
        (("cpe0",), 1, "expected SOURCE -> DESTINATION"),
    ):
        got, out, err = gateway.ctl("explain", *args)
        if got != status or said not in out + err:
            wrong.append(f"explain {args}: {got} {out}{err}")
    nothing(wrong)


def test_nothing_was_counted_learned_or_sent(gateway):
    wrong = gateway.end()
    counted = gateway.counted()
    if any(counted.values()):
        wrong.append(f"to ask has left traces: {counted}")
    nothing(wrong)


def test_under_load(vbng, folder):
    """Asking while packets are shaped loses none of them."""
    gateway = load.Gateway(vbng, folder)
    client = gateway.wait_until_up()
    try:
        texts = [client.ask(cmd="explain", frame=f"cpe0 128.{256 + i % 32} 10.0.0.{i % 32} -> 198.18.0.1")
                 for i in range(64)]  # fmt: skip
    finally:
        wrong = gateway.end()
    wrong += [f"answered: {t}" for t in texts if t.get("result") != "sent"][:3]
    report = gateway.report()
    wrong += [] if report["ledger"]["balances"] else [f"the ledger does not balance: {report['ledger']}"]
    drops = {(t["name"], r) for t in report["tasks"] for r, n in t["drops"].items() if n}
    wrong += [f"dropped: {d}" for d in drops if d[1] not in ("queue_full", "overload", "link_full")]
    if not any("best effort, queue 0 holds" in t["text"] for t in texts):
        wrong.append("no depth of a queue is told")
    nothing(wrong)


def test_offline(vbng):
    """Without a gateway: exit statuses."""
    wrong = []
    for frame, status, said in (
        (UP, 0, "result: sent by core0"),
        (f"{UP} ttl 0", 5, "result: answered by cpe0"),
        ("cpe0 5.5 1.1.1.1 -> 2.2.2.2", 5, "result: dropped by classify: unknown_subscriber"),
        ("cpe0 1.1.1.1", 2, "--explain: '' after the source address"),
    ):
        done = subprocess.run([vbng, "--explain", frame, CONFIG], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=limit(60))  # fmt: skip
        if done.returncode != status or said not in done.stdout:
            wrong.append(f"{frame}: {done.returncode} {done.stdout}")
    nothing(wrong)


def test_copies_of_the_routes(vbng):
    """The socket in whose copy a core looks is said where there are several."""
    two = os.path.join(TOP, "tests", "control", "updates.cfg")
    for frame, config, copies in (("cpe1 10.20 10.0.2.0 -> 198.18.0.1", two, ["looks in the routes of socket 1"]), (UP, CONFIG, [])):
        done = subprocess.run([vbng, "--explain", frame, config], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=limit(60))
        assert re.findall("looks in .*", done.stdout) == copies, done.stdout


def test_documented(vbng):
    """The commands in doc/explain.md print what stands there."""
    with open(os.path.join(TOP, "doc", "explain.md")) as f:
        examples = re.findall(r"^\$ (vbng --explain [^\n]*)\n(.*?)^```", f.read(), re.S | re.M)
    wrong = [] if examples else ["there are no examples"]
    for command, expected in examples:
        done = subprocess.run([vbng, *shlex.split(command)[1:]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=limit(60), cwd=TOP)  # fmt: skip
        if done.stdout != expected:
            wrong.append(f"{command}\n{done.stdout}")
    nothing(wrong)


def headers6():
    """Frames of IPv6 as Scapy makes them, and their headers in words behind Ethernet's."""
    ip = IPv6(src="2400:cb00::1", dst="2001:db8::5", hlim=7, tc=0xB8, fl=0xABCDE)
    words = "ipv6 2400:cb00::1 -> 2001:db8::5 hop limit 7 dscp 46 flow abcde"
    udp = UDP(sport=1, dport=2)
    errors = ((ICMPv6DestUnreach(code=3), "destination unreachable code 3"), (ICMPv6PacketTooBig(mtu=1400), "packet too big code 0 mtu 1400"),
              (ICMPv6TimeExceeded(), "time exceeded code 0"), (ICMPv6ParamProblem(code=1), "parameter problem code 1"))
    infos = ((ICMPv6EchoRequest(), "echo request"), (ICMPv6EchoReply(), "echo reply"), (ICMPv6ND_RS(), "router solicitation"),
             (ICMPv6ND_RA(), "router advertisement"), (ICMPv6ND_NS(tgt="fe80::7"), "neighbour solicitation for fe80::7"),
             (ICMPv6ND_NA(tgt="2001:db8::5"), "neighbour advertisement for 2001:db8::5"), (ICMPv6ND_Redirect(), "redirect"),
             (ICMPv6Unknown(type=200, code=9), "type 200 code 9"))
    yield ip / udp, f"{words} | udp 1 -> 2"
    yield IPv6(src="::", dst="ff02::1") / TCP(sport=1, dport=2), "ipv6 :: -> ff02::1 hop limit 64 | tcp 1 -> 2"
    for message, said in errors + infos:
        yield ip / message, f"{words} | icmpv6 {said}"
    yield ip / IPv6ExtHdrHopByHop() / IPv6ExtHdrDestOpt() / udp, f"{words} | hop-by-hop options | destination options | udp 1 -> 2"
    yield ip / IPv6ExtHdrRouting(addresses=["::1"]) / IPv6ExtHdrFragment(m=1) / udp, f"{words} | routing header | fragment at 0+ | udp 1 -> 2"
    yield ip / IPv6ExtHdrFragment(offset=3) / udp, f"{words} | fragment at 24"
    yield ip / AH(nh=17, payloadlen=4, icv=bytes(12)) / udp, f"{words} | authentication header | udp 1 -> 2"
    yield IPv6(raw(ip / Raw(bytes(3)))[:40]), f"{words}"
    cut = raw(ip / IPv6ExtHdrDestOpt() / udp)
    yield Raw(cut[:44]), f"{words} | destination options, malformed"
    yield Raw(cut[:39]), "ipv6, malformed"


def test_headers_of_ipv6(vbng, folder):
    """Plain, below labels, and in a tunnel."""
    config = os.path.join(folder, "ipv6.cfg")
    gateway = cases_ipv6.Traffic6("explain").gateway
    gateway.devices = {port: f"net_null{i}" for i, port in enumerate(fr.PORTS)}
    with open(config, "w") as f:
        f.write(gateway(folder))
    wrong = []
    for n, (packet, words) in enumerate(headers6()):
        packet = raw(packet)
        ways = ((b"", cases_ipv6.ETH_IPV6, ""), (fr.labels((17, 60, 1)), fr.ETH_MPLS, "mpls 17 tc 1 ttl 60 | "),
                (raw(IP(src="192.0.2.2", dst="192.0.2.1", proto=47, len=24 + len(packet))) + bytes.fromhex("000086dd"), fr.ETH_IPV4,
                 "ipv4 192.0.2.2 -> 192.0.2.1 ttl 64 | gre | "))
        for before, kind, said in ways if n < 2 else ways[:1]:
            frame = fr.ether(fr.GATEWAY_MAC["core0"], fr.NEIGHBOUR_MAC["core0"], kind, before + packet)
            done = subprocess.run([vbng, "--explain", f"core0 hex {frame.hex(' ')}", config], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, timeout=limit(60))  # fmt: skip
            expected = f"| {said}{words} | {len(frame) + 4} B"
            if expected not in done.stdout:
                wrong.append(f"{expected}: {done.stdout}")
    nothing(wrong)


def test_ipv6_to_the_core(vbng, folder):
    """Of a delegated prefix by its route, spoofed, and too big for the next hop: each with what became of it, and why."""
    gateway = cases_ipv6_core.Core6("explain", addresses6={"core0": ["2400:cb00:c::1"]}).gateway
    gateway.devices = {port: f"net_null{i}" for i, port in enumerate(fr.PORTS)}
    config = os.path.join(folder, "ipv6.cfg")
    with open(config, "w") as f:
        f.write(gateway(folder))
    own, other, far = cases_ipv6.delegated(cases_ipv6.SUB, 9), cases_ipv6.delegated(cases_ipv6.OTHER), cases_ipv6_core.TUNNELLED
    wrong = []
    for packet, status, said in (
        (cases_ipv6.packet6(own, far), 0, ("route 2400:cb00::/32: next hop", f"| gre key 2 | ipv6 {own} -> {far} hop limit 63", "result: sent by core0")),
        (cases_ipv6.packet6(other, far), 5, ("drops it: spoofed", "result: dropped by classify: spoofed")),
        (cases_ipv6.packet6(own, far, size=1469 - 48), 5, ("to the slow path: it is too big", f"| ipv6 2400:cb00:c::1 -> {own} hop limit 64",
                                                           "packet too big code 0 mtu 1468", "result: answered by cpe0")),
        (cases_ipv6.packet6(own, "2400:cb00:c::1"), 5, ("route 2400:cb00:c::1/128: ", "destination unreachable code 4", "result: answered by cpe0")),
    ):
        frame = cases_ipv6.from_cpe(cases_ipv6.SUB, packet)
        done = subprocess.run([vbng, "--explain", f"cpe0 hex {frame.hex(' ')}", config], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=limit(60))  # fmt: skip
        missing = [text for text in said if text not in done.stdout]
        if done.returncode != status or missing:
            wrong.append(f"{missing}: {done.returncode} {done.stdout}")
    nothing(wrong)


def test_tunnel_of_ipv6(vbng, folder):
    """Into one and out of it, as the route has it; from a stranger."""
    gateway = cases_tunnel6.Over6("explain").gateway
    gateway.devices = {port: f"net_null{i}" for i, port in enumerate(fr.PORTS)}
    config = os.path.join(folder, "tunnel.cfg")
    with open(config, "w") as f:
        f.write(gateway(folder))
    ends, wrong = "2400:cb00:c::1 -> 2400:cb00:f::1", []
    for words, status, said in (
        ("cpe0 128.263 10.0.0.7 -> 198.51.100.9 dscp 46", 0,
         (f"GRE {ends}, label 16", f"| mpls 16 tc 5 ttl 64 | ipv6 {ends} hop limit 64", "| gre key 7 | ipv4 10.0.0.7 -> 198.51.100.9 ttl 63",
          "result: sent by core0")),
        ("core0 gre 7 tunnel 2400:cb00:f::1 -> 2400:cb00:c::1 8.8.8.8 -> 10.0.0.7", 0, ("ipv6 2400:cb00:f::1 -> 2400:cb00:c::1 hop limit 64 | gre key 7", "result: sent by cpe0")),
        ("core0 gre 7 tunnel 2400::1 -> 2400:cb00:c::1 8.8.8.8 -> 10.0.0.7", 5, ("result: dropped by gre_down: unknown_far_end",)),
    ):
        done = subprocess.run([vbng, "--explain", words, config], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=limit(60))
        missing = [text for text in said if text not in done.stdout]
        if done.returncode != status or missing:
            wrong.append(f"{missing}: {done.returncode} {done.stdout}")
    nothing(wrong)


def test_next_hop_of_ipv6(vbng, folder):
    """It is asked for its MAC, whichever family the packet is of; what it says is not believed unasked, and changes nothing here."""
    case = cases_nd_core.next_hop("explain", "fe80::5", ipv6=True, gre=False, mpls=False)
    case.gateway.devices = {port: f"net_null{i}" for i, port in enumerate(fr.PORTS)}
    config = os.path.join(folder, "via.cfg")
    with open(config, "w") as f:
        f.write(case.gateway(folder))
    sub, wrong = cases_nd_core.SUB, []
    for port, frame, status, said in (
        ("cpe0", fr.from_cpe(sub, ip(sub.ip, "203.0.113.7")), 5, ("MAC of fe80::5 not known", "to the slow path", "neighbour solicitation")),
        ("cpe0", cases_ipv6.from_cpe(sub, cases_ipv6.packet6(cases_ipv6.wan(sub), "2400:cb02::7")), 5, ("MAC of fe80::5 not known",)),
        ("core0", cases_nd_core.core_tells("core0", "fe80::5"), 5, ("drops it: nd_unsolicited",)),
    ):
        done = subprocess.run([vbng, "--explain", f"{port} hex {frame.hex(' ')}", config], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=limit(60))  # fmt: skip
        missing = [text for text in said if text not in done.stdout]
        if done.returncode != status or missing:
            wrong.append(f"{missing}: {done.returncode} {done.stdout}")
    nothing(wrong)


def test_ipv6(vbng, folder):
    """Frames of IPv6: from a delegated prefix, from another subscriber's, to a subscriber, and too big for his port."""
    gateway = cases_ipv6.Traffic6("explain").gateway
    gateway.devices = {port: f"net_null{i}" for i, port in enumerate(fr.PORTS)}
    config = os.path.join(folder, "ipv6.cfg")
    with open(config, "w") as f:
        f.write(gateway(folder))
    own, other = cases_ipv6.delegated(cases_ipv6.SUB), cases_ipv6.wan(cases_ipv6.OTHER)
    who = "subscriber 3: cpe0 128.258, 10.0.0.2/32, 2001:db8:0:2::/64, delegated 2001:db8:8000:200::/56, GRE key 2, MAC 02:c0:00:00:00:02\n"
    wrong = []
    for port, frame, status, said in (
        ("cpe0", cases_ipv6.from_cpe(cases_ipv6.SUB, cases_ipv6.packet6(own, cases_ipv6.SERVER)), 5, "result: dropped by arp: no_gateway_address"),
        ("cpe0", cases_ipv6.from_cpe(cases_ipv6.SUB, cases_ipv6.packet6(other, cases_ipv6.SERVER)), 5, "result: dropped by classify: spoofed"),
        ("core0", cases_ipv6.from_core(cases_ipv6.packet6(cases_ipv6.SERVER, own)), 0, "result: sent by cpe0"),
        ("core0", cases_ipv6.from_core(cases_ipv6.packet6(cases_ipv6.SERVER, own, size=1500)), 5, "result: dropped by arp: no_gateway_address"),
    ):
        done = subprocess.run([vbng, "--explain", f"{port} hex {frame.hex(' ')}", config], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=limit(60))  # fmt: skip
        if done.returncode != status or said not in done.stdout or who not in done.stdout:
            wrong.append(f"{said}: {done.returncode} {done.stdout}")
    nothing(wrong)
