# SPDX-License-Identifier: BSD-3-Clause
"""Frames of PPPoE sessions that gen has made, as Scapy reads them, and what the gateway and --explain make of them."""

import os
from ipaddress import IPv6Address

from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.layers.ppp import PPP, PPPoE
from scapy.utils import checksum, rdpcap, wrpcap

from tests.e2e import process
from tests.pcap.frames import GATEWAY_MAC, MIN_FRAME, Subscriber

GENERATOR = """
name = "cpes"; memory = "no-huge"; pools = { default = { mbufs = "16K"; }; };
ports = ( { name = "t"; device = "net_pcap0,rx_pcap=HERE/none.pcap,tx_pcap=HERE/made.pcap"; } );
tasks = (
  { name = "own"; type = "gen"; to = "t"; rate = "20kpps"; streams = ( { name = "ipv4"; template = "TEMPLATES/cpe0-pppoe.tmpl"; count = "60"; },
                                                                       { name = "ipv6"; template = "TEMPLATES/cpe0-ipv6-pppoe.tmpl"; count = "60"; } ); },
  { name = "mixed"; type = "gen"; to = "t"; rate = "20kpps"; size = "83:1,594:1,1522:1"; streams = (
      { name = "ipv4"; template = "TEMPLATES/cpe0-pppoe.tmpl"; count = "60"; }, { name = "ipv6"; template = "TEMPLATES/cpe0-ipv6-pppoe.tmpl"; count = "60"; } ); }
);
layout = ( { core = "0"; tasks = ["own", "mixed"]; } );
"""
FRAMES = 240
GATEWAY = """
name = "bras"; memory = "no-huge"; pools = { default = { mbufs = "16K"; }; };
ports = ( { name = "cpe0"; device = "net_pcap0,rx_pcap=HERE/made.pcap,tx_pcap=HERE/down.pcap"; mac = "02:b0:00:00:00:00"; },
          { name = "core0"; device = "net_pcap1,rx_pcap=HERE/none.pcap,tx_pcap=HERE/up.pcap"; mac = "02:b0:00:00:01:00"; } );
subscribers = ( { port = "cpe0"; svlan = "128-255"; cvlan = "256-511"; ipv4 = "10.0.0.0/17"; delegated = "2001:db8::/41";
                  pppoe = { session = "1-32768"; mac = "02:c0:00:00:00:00"; }; } );
routes = ( { prefix = "0.0.0.0/0"; port = "core0"; mac = "02:dd:00:00:00:00"; }, { prefix = "::/0"; port = "core0"; mac = "02:dd:00:00:00:00"; } );
tasks = ( { name = "classify"; type = "classify"; from = "cpe0"; to = "decap"; },
          { name = "decap"; type = "qinq_decap"; to = "route"; }, { name = "route"; type = "route"; to = "core0"; } );
layout = ( { core = "0"; tasks = ["classify", "decap", "route"]; } );
"""


def run(ctx, name, text):
    """What is wrong with a run of a configuration in the test's folder."""
    text = text.replace("HERE", ctx.folder).replace("TEMPLATES", os.path.join(process.TOP, "pkt_templates"))
    r = process.run(ctx, "--quiet", "--duration", "300ms", ctx.write(name, text), report=True)
    return process.ledger_faults(r.report()) if r.status == 0 else [f"{name}: exit status {r.status}: {r.err or r.out}"]


def judged(frame):
    """What is wrong with a frame of the session of the subscriber whose MAC it has, and its packet."""
    i = int(frame.src.replace(":", "")[-4:], 16)
    sub = Subscriber(0, i)
    outer, inner, session = frame.payload, frame.payload.payload, frame[PPPoE]
    packet = session.getlayer(IP) or session.getlayer(IPv6)
    length = packet.len if IP in session else packet.plen + 40
    same = {
        "MACs": ((frame.src, frame.dst), (sub.mac, GATEWAY_MAC["cpe0"])),
        "tags": ((frame.type, outer.vlan, outer.type, inner.vlan, inner.type), (0x88A8, sub.svlan, 0x8100, sub.cvlan, 0x8864)),
        "PPPoE": ((session.version, session.type, session.code, session.sessionid), (1, 1, 0, 1 + i)),
        "protocol": (session[PPP].proto, 0x21 if IP in session else 0x57),
        "source": (packet.src, sub.ip if IP in session else str(IPv6Address(f"2001:db8:{i >> 8:x}:{(i & 255) << 8:x}:0:0:0:1"))),
        "length": (session.len, length + 2),
        "frame": (len(frame), max(MIN_FRAME, 22 + 6 + session.len)),
        "UDP": (packet[UDP].len, length - (20 if IP in session else 40)),
    }
    wrong = [f"{what}: {found} instead of {right}" for what, (found, right) in same.items() if found != right]
    if IP in session and checksum(bytes(packet)[:20]) != 0:
        wrong.append(f"checksum {packet.chksum:#x}")
    return wrong, bytes(packet)[:length]


def passed_on(packet):
    """What is behind the addresses of the frame by which a router passes the packet on."""
    one = IP(packet) if packet[0] >> 4 == 4 else IPv6(packet)
    if IP in one:
        one.ttl -= 1
        del one.chksum
    else:
        one.hlim -= 1
    return bytes(one).ljust(MIN_FRAME - 14, b"\0")


def made(ctx):
    """Each frame is what Scapy thinks of its subscriber; the gateway sends each packet on, and --explain says the same of one of each family."""
    wrpcap(ctx.path("none.pcap"), [], linktype=1)
    wrong = run(ctx, "cpes.cfg", GENERATOR)
    if wrong:
        return wrong
    frames = list(rdpcap(ctx.path("made.pcap")))
    found = [judged(frame) for frame in frames]
    wrong += [one for faults, _ in found for one in faults][:20]
    packets = [packet for _, packet in found]
    if len(frames) != FRAMES or len({frame.src for frame in frames}) < FRAMES // 2:
        wrong.append(f"{len(frames)} frames of {len({frame.src for frame in frames})} subscribers")
    if {len(frame) for frame in frames} != {60, 78, 79, 590, 1518}:
        wrong.append(f"sizes {sorted({len(frame) for frame in frames})}")
    wrong += run(ctx, "bras.cfg", GATEWAY)
    sent = sorted(bytes(Ether(bytes(frame)).payload) for frame in rdpcap(ctx.path("up.pcap")))
    if sorted(passed_on(packet) for packet in packets) != sent:
        wrong.append(f"{len(sent)} packets left, which are not those of the {len(frames)} frames")
    for family in (4, 6):
        n = next(n for n, packet in enumerate(packets) if packet[0] >> 4 == family)
        r = process.run(ctx, "--explain", f"cpe0 hex {bytes(frames[n]).hex()}", ctx.path("bras.cfg"))
        if f"pppoe session {frames[n][PPPoE].sessionid} | ipv{family}" not in r.out or "result: sent by core0" not in r.out:
            wrong.append(f"--explain of IPv{family}: {r.out} {r.err}")
    return wrong


def tests():
    """(title, function of a context) of each case."""
    yield "frames of PPPoE sessions that gen makes", made
