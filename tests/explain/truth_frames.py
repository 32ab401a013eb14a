#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes all frames of tests/pcap, and some more, with their gateways' configurations, for the program truth.

usage: truth_frames.py FOLDER

Each case of tests/pcap brings its gateway and its frames: cases with the same gateway share N.cfg and N.frames. Frames of all
cases, for gateways with schedulers, rings and several workers, are in some.frames. A process of its own, for it changes what
the cases of tests/pcap do.
"""

import os
import struct
import sys

from tests.pcap import cases, frames, traffic
from tests.pcap.frames import PORTS

# Fewer of what is alike: Scapy takes its time.
del cases.cases_upstream.SUBSCRIBERS[::3]

# What tests/pcap expects to come out is not asked for here, and takes Scapy most of its time.
frames.forwarded = lambda packet, **_: packet
traffic.Traffic.core_frame = traffic.Traffic.access_frame = lambda *_, **__: b""

SHARE = 7  # some.frames has every seventh frame of all cases


def record(port, frame):
    return struct.pack("<BxHxx", PORTS.index(port), len(frame)) + frame


def too_big():
    """For the schedulers, though not for the mbufs."""
    sub = frames.Subscriber(0, 7)
    for total in (1500, 1501, 1600, 2000):
        yield record(sub.port, frames.from_cpe(sub, frames.udp_of_length(sub.ip, "198.18.0.1", total)))


def groups():
    """(configuration, frames) of all cases, by configuration."""
    found = {}
    for case in cases.all_cases():
        found.setdefault(case.config("/nowhere"), []).extend(
            record(port, frame) for port in PORTS for frame in case.inputs[port]
        )
    return found


def main(folder):
    everything = []
    for k, (config, records) in enumerate(groups().items()):
        with open(os.path.join(folder, f"{k}.cfg"), "w", encoding="utf-8") as f:
            f.write(config)
        with open(os.path.join(folder, f"{k}.frames"), "wb") as f:
            f.writelines(records)
        everything += records
    with open(os.path.join(folder, "some.frames"), "wb") as f:
        f.writelines([*too_big(), *everything[::SHARE]])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
