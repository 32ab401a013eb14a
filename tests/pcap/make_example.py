#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the input of cfg/bng-pcap.cfg: what a few CPEs and a core router may send, good and bad.

usage: make_example.py FOLDER
"""

import os
import sys

from tests.pcap import frames as fr
from tests.pcap.cases_arp import cpe_arp
from tests.pcap.cases_icmp import ping
from tests.pcap.frames import Subscriber, server
from tests.pcap.harness import write_pcap


def from_cpes():
    one, two = Subscriber(0, 1), Subscriber(0, 300)
    ours = fr.GATEWAY_IP["cpe0"]
    return [
        cpe_arp(one, 1, ours),  # answered
        fr.from_cpe(one, ping(one.ip, ours)),  # answered
        fr.from_cpe(one, fr.udp(one.ip, server("core0", 10))),
        fr.from_cpe(one, fr.udp(one.ip, server("core1", 20), size=500, tos=0xB8), pcp=5),  # EF: label TC 5
        fr.from_cpe(two, fr.udp(two.ip, server("core0", 30), size=1000), tpid=fr.TPID_8100),
        fr.from_cpe(two, fr.udp_of_length(two.ip, server("core0", 40), 1500)),  # becomes two fragments
        fr.from_cpe(two, fr.udp_of_length(two.ip, server("core0", 40), 1500, flags="DF")),  # fragmentation needed
        fr.from_cpe(two, fr.udp(two.ip, server("core0", 50), ttl=1)),  # time exceeded
        fr.from_cpe(two, fr.udp(one.ip, server("core0", 60))),  # dropped: spoofed
        fr.from_cpe(Subscriber(0, 1), fr.udp(one.ip, "8.8.8.8")),  # dropped: no route
    ]


def from_router():
    one, two = Subscriber(0, 1), Subscriber(0, 300)
    core = "core0"
    packet = fr.udp(server(core, 10), one.ip)
    return [
        fr.from_core(core, packet, key=one.key),
        fr.from_core(core, fr.udp(server(core, 30), two.ip, size=1000, tos=0xB8), key=two.key),  # priority 5
        fr.from_core(core, packet, key=one.key, stack=((100, 64), (200, 64), (0, 64))),
        fr.from_core(core, packet, key=one.key, stack=(), checksum=True, sequence=7),
        fr.from_core(core, fr.udp(server(core, 50), two.ip, ttl=1), key=two.key),  # time exceeded
        fr.from_core(core, packet, key=40000),  # dropped: unknown key
        fr.from_core(core, packet, key=two.key),  # dropped: another subscriber's key
        fr.from_core(core, packet, key=one.key)[:70],  # dropped: cut off
    ]


def main(folder):
    write_pcap(os.path.join(folder, "cpe0-in.pcap"), from_cpes())
    write_pcap(os.path.join(folder, "core0-in.pcap"), from_router())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
