#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes what the fuzz targets begin with: the frames of the pcap tests, which Scapy made, the must-fail configurations with their
tables, and one of each kind of text.

usage: make_seeds.py FOLDER
"""

import json
import os
import pathlib
import struct
import sys

from tests.config import suite
from tests.pcap import frames as fr
from tests.pcap.cases import all_cases

HERE = pathlib.Path(__file__).resolve().parent

PARSERS = {"labels": 0, "header": 1, "tunnel": 2, "arp": 3, "probe": 4, "header6": 5, "neighbour": 6, "message": 7, "line": 8, "session": 9}  # of fuzz_frame.c
REQUESTS = (
    {"cmd": "set-profile", "subscriber": 17, "profile": "slow"},
    {"cmd": "set-profile", "subscriber": "cpe0 128.256", "profile": "home"},
    {"cmd": "set-profiles", "changes": [[1, "slow"], ["cpe1 129.300", "home"]]},
    {"cmd": "set-subport-rate", "scheduler": "access", "subport": "left", "direction": "up", "rate": "1.5G"},
    {"cmd": "set-dscp", "scheduler": "access", "direction": "down", "dscp": 46, "class": "be", "queue": 1},
    {"cmd": "show-subscriber", "subscriber": 1},
    {"cmd": "show-subscribers", "first": 1, "count": 5},
    {"cmd": "add-subscriber", "port": "cpe0", "svlan": 10, "cvlan": 50, "mac": "02:00:00:00:00:50", "profile": "slow", "ipv6": "2001:db8:6::/64",
     "delegated": "2001:db8:6:100::/56 2001:db8:7::/48"},
    {"cmd": "add-route", "prefix": "2400:cb09::/32", "port": "core1", "via": "fe80::9"},
    {"cmd": "find-subscribers", "text": "2001:db8:0:1::1"},
    {"cmd": "show-qos"},
    {"cmd": "show-ledger"},
)
CSV = (
    "port,svlan,cvlan,ipv4,gre_key,mac,profile,ipv6,delegated\n"
    "cpe0,128,256,10.0.0.1,1,02:c0:00:00:00:01,slow,2001:db8:1::/64,2001:db8:100::/56 2001:db8:200::/48\n"
    '# a comment\n"cpe1", 128,257,10.0.0.8/29,2,,fast,,\n'
    "cpe1,128,258,,3,,fast,2001:db8:2::9,\n"
)

RADIUS = (
    ("accept", 2, bytes.fromhex("0606" "00000002" "0806" "0a010203" "6112" "0040" "20010db8000100020000000000000000"
                                "7b0a" "0038" "20010db8aa00" "5806" "706f6f6c" "0b06" "676f6c64" "1907" "636c617373" "1b06" "00000e10")),
    ("reject", 3, bytes.fromhex("1204" "6e6f")),
    ("change", 43, bytes.fromhex("2c04" "3137" "3706" "6543211f" "2106" "70726f78" "0b06" "676f6c64" "5506" "0000012c")),
    ("disconnect", 40, bytes.fromhex("0105" "757372" "5706" "63706530" "0806" "0a010203")),
)

# Packets of a PPP link as fuzz_ppp.c reads them: the index of the protocol, and the packet.
PPP = (
    ("options", ((0, "0101001601 0405d4 0304c023 050611223344 0702"), (0, "03010012 010405dc 0305c22305 050600000000"))),
    ("pap", ((0, "02010012 010405d4 0304c023 050601020304"), (0, "01010004"), (1, "0105000e 0475736572 0461626364"),
             (3, "01010010 030600000000 810600000000"), (3, "0102000a 03060a400002"), (4, "0101000e 010a0200000000000009"),
             (3, "0201000a 03060a400001"), (0, "09050008 11223344"), (5, "01010004"), (0, "05090004"))),
    ("chap", ((0, "03010009 0305c22305"), (0, "02020013 010405d4 0305c22305 050601020304"), (0, "01010004"),
              (2, "02010019 10 000102030405060708090a0b0c0d0e0f 61646d6d"), (0, "0809000c 8021 0101000a 0306"))),
)
PADR = "02b000000000 020000000001 8863 1119 0000 0033 0101 0000 0103 0004 deadbeef 0120 0002 05dc 0105 0016 00000de9 0106 6c696e6520 31 0208 637573746f6d6572"

EXPLAINED = (
    "cpe0 128.256 10.0.0.0 -> 198.18.0.1 dscp 46 ttl 1 df size 1522 pcp 5 udp 1 -> 2",
    "core0 mpls 16 17 label-ttl 9 gre 17 tunnel 203.0.113.1 -> 192.0.2.1 8.8.8.8 -> 10.0.0.17 tcp",
    "cpe0 128.256 arp 10.0.0.0 -> 100.64.0.1 from 02:00:00:00:00:01",
    "cpe0 128.256 2001:db8:8000:9::1 -> 2400:cb00::1 dscp 46 size 1522 tcp 1 -> 2",
    "core0 mpls 16 gre 0 2400:cb00::1 -> 2001:db8:0:0::1 ttl 1 icmp",
    "core1 hex 02b00000010102dd0000000108004500",
)


def graph_input(case):
    """The frames that a case sends, as fuzz_graph.c reads them."""
    rows = b""
    for port, frames in case.inputs.items():
        for frame in frames:
            rows += struct.pack("<BH", fr.PORTS.index(port), len(frame)) + frame
    return rows


def dhcp4(*options, **fields):
    """A frame of a DHCP client."""
    from scapy.layers.dhcp import BOOTP, DHCP
    from scapy.layers.inet import IP, UDP
    from scapy.layers.l2 import Ether

    return bytes(Ether(dst="ff:ff:ff:ff:ff:ff") / IP(src="0.0.0.0", dst="255.255.255.255") / UDP(sport=68, dport=67)
                 / BOOTP(chaddr=b"\2\0\0\0\0\1" + bytes(10), xid=1, **fields) / DHCP(options=[*options, "end"]))


def dhcp6(kind):
    """A frame of a DHCPv6 client that names what it had."""
    from scapy.layers.dhcp6 import (DHCP6OptClientId, DHCP6OptIA_NA, DHCP6OptIA_PD, DHCP6OptIAAddress, DHCP6OptIAPrefix, DHCP6OptOptReq,
                                    DHCP6OptStatusCode, DUID_LL)
    from scapy.layers.inet import UDP
    from scapy.layers.inet6 import IPv6
    from scapy.layers.l2 import Ether

    return bytes(Ether(dst="33:33:00:01:00:02") / IPv6(src="fe80::1", dst="ff02::1:2") / UDP(sport=546, dport=547) / kind(trid=1)
                 / DHCP6OptClientId(duid=DUID_LL(lladdr="02:00:00:00:00:01")) / DHCP6OptOptReq(reqopts=[23, 24])
                 / DHCP6OptIA_NA(iaid=7, ianaopts=[DHCP6OptIAAddress(addr="2001:db8::9"), DHCP6OptStatusCode()])
                 / DHCP6OptIA_PD(iaid=8, iapdopt=[DHCP6OptIAPrefix(prefix="2001:db8::", plen=56)]))


def seeds():
    """(target, name, bytes) of each."""
    from scapy.layers.inet import TCP
    from scapy.layers.dhcp6 import DHCP6_Confirm, DHCP6_Rebind, DHCP6_Release, DHCP6_Solicit

    for case in all_cases():
        data = graph_input(case)
        if 0 < len(data) <= 4096:
            yield "graph", case.name, data
    ip = fr.ip_bytes(fr.udp("10.0.0.1", "198.18.0.1"))
    yield "frame", "header", bytes([PARSERS["header"]]) + ip
    yield "frame", "labels", bytes([PARSERS["labels"]]) + bytes.fromhex("0000104000002040000031ff") + ip
    yield "frame", "tunnel", bytes([PARSERS["tunnel"]]) + bytes.fromhex("b00008000000000000000001000000070000") + ip
    yield "frame", "arp", bytes([PARSERS["arp"]]) + bytes.fromhex("0001080006040001") + bytes(20)
    yield "frame", "probe", bytes([PARSERS["probe"]]) + bytes(50) + bytes.fromhex("9d56426e") + bytes(20)
    ip6 = "60b00000{:04x}{:02x}40" + "20010db8000000000000000000000001" + "20010db8000100000000000000000002"
    yield "frame", "header6", bytes([PARSERS["header6"]]) + bytes.fromhex(ip6.format(8, 17)) + bytes(8)
    chain = bytes.fromhex("2b00000000000000" "2c00000000000000" "3c00000100000000" "1100000000000000") + bytes(8)
    yield "frame", "extensions6", bytes([PARSERS["header6"]]) + bytes.fromhex(ip6.format(len(chain), 0)) + chain
    solicit = bytes.fromhex("8700000000000000" + "fe80000000000000" + "0000000000000001" + "0e01000000000000" + "0101020000000001")
    yield "frame", "neighbour", bytes([PARSERS["neighbour"]]) + bytes.fromhex(ip6.format(len(solicit), 58))[:7] + b"\xff" + (
        bytes.fromhex(ip6.format(0, 0))[8:] + solicit)
    message = struct.pack("=IHHIIHHB3xQ32s", 0x31504256, 64, 60, 0, 0, 128, 256, 1, 0, b"cpe0") + bytes(60)
    yield "frame", "message", bytes([PARSERS["message"]]) + message
    tags = bytes(12) + bytes.fromhex("88a8008081000100")
    dhcp = bytes.fromhex("45000024000000004011000000000000ffffffff00440043001000000101060000000000")
    yield "frame", "dhcp", bytes([PARSERS["line"]]) + tags + b"\x08\0" + dhcp[:10] + b"\x7a\xca" + dhcp[12:]
    yield "frame", "dhcp6", bytes([PARSERS["line"]]) + tags + b"\x86\xdd" + bytes.fromhex(ip6.format(16, 17) + "0222022300100000") + bytes(8)
    syn = fr.raw(fr.IP(src="20.0.0.1", dst="10.0.0.5") / TCP(flags="S", options=[("NOP", None), ("MSS", 1460)]))
    for what, protocol, body in (("syn", 0x21, syn), ("syn6", 0x57, bytes.fromhex(ip6.format(28, 6)) + syn[20:]),
                                 ("echo", 0xC021, bytes.fromhex("0901000800000007"))):
        yield "frame", f"session {what}", bytes([PARSERS["session"]]) + struct.pack(">HHHH", 0x1100, 7, len(body) + 2, protocol) + body
    yield "frame", "padi", bytes([PARSERS["line"]]) + tags + bytes.fromhex("8863110900000000") + bytes(40)
    for path in sorted((HERE.parents[1] / "pkt_templates").glob("c*0*.tmpl")):
        yield "template", path.stem, b"T" + path.read_bytes()
    pcap = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1) + struct.pack("<IIII", 0, 0, 60, 60) + bytes(60)
    yield "template", "pcap", b"P" + pcap
    for path in sorted((HERE.parent / "config/bad").glob("*.suite")):
        for case in suite.read(path):
            yield "config", case.name, case.files[case.config]
            for name in case.files:
                if name.endswith(".csv"):
                    yield "csv", case.name, case.files[name]
    yield "config", "gateway", (HERE / "gateway.cfg").read_bytes()
    yield "csv", "table", CSV.encode()
    for request in REQUESTS:
        yield "control", request["cmd"], json.dumps(request).encode()
    discover = dhcp4(("message-type", "discover"), ("param_req_list", [1, 3, 6]), ("client_id", b"\1abcdef"), (82, b"\1\4line"))
    yield "dhcp4", "discover", b"\0" + discover
    yield "dhcp4", "message", b"\1" + discover[42:]
    yield "dhcp4", "overload", b"\3" + dhcp4(("message-type", "request"), (52, b"\3"), file=b"\x32\4\x0a\0\0\1\xff" + bytes(121))[42:]
    circuit = b"\1\x13bng1 eth cpe0:100.7"
    yield "dhcp4", "relayed", b"\1" + dhcp4(("message-type", "ack"), ("server_id", "10.0.0.1"), ("lease_time", 60), (82, circuit))[42:]
    yield "ppp", "padr", b"\0" + bytes.fromhex(PADR)
    for name, packets in PPP:
        texts = [(protocol, bytes.fromhex(text)) for protocol, text in packets]
        yield "ppp", name, b"\1" + b"".join(struct.pack(">BH", protocol, len(packet)) + packet for protocol, packet in texts)
    yield "dhcp6", "solicit", b"\0" + dhcp6(DHCP6_Solicit)
    for kind in (DHCP6_Solicit, DHCP6_Rebind, DHCP6_Release, DHCP6_Confirm):
        yield "dhcp6", kind.__name__, b"\1" + dhcp6(kind)[62:]
        yield "dhcp6", kind.__name__ + " without a lease", b"\3" + dhcp6(kind)[62:]
    inner = dhcp6(DHCP6_Solicit)[62:]
    yield "dhcp6", "relayed", b"\1\x0d\0" + bytes(32) + b"\0\x12\0\4line\0\x09" + struct.pack(">H", len(inner)) + inner
    for i, frame in enumerate(EXPLAINED):
        yield "control", f"explain {i}", json.dumps({"cmd": "explain", "frame": frame}).encode()
    for name, code, attributes in RADIUS:
        yield "radius", name, bytes([code, 1]) + struct.pack(">H", 20 + len(attributes)) + bytes(16) + attributes


def main(folder):
    for target, name, data in seeds():
        os.makedirs(os.path.join(folder, target), exist_ok=True)
        with open(os.path.join(folder, target, name.replace(" ", "-").replace("/", "-")), "wb") as file:
            file.write(data)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
