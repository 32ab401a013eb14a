#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""All frames of tests/pcap, and some more, for the program truth: explain against the data path, frame by frame.

usage: truth.py TRUTH [--keep DIR]
Each case of tests/pcap brings its gateway and its frames: cases with the same gateway are one run. Then frames of all
cases go to gateways with schedulers, rings and several workers.
"""

import argparse
import os
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(TOP, "tests", "pcap")]

try:
    import scapy  # noqa: F401
except ImportError:
    print("SKIP all: Scapy is not installed (Debian package python3-scapy)")
    sys.exit(77)

import cases  # noqa: E402
import frames  # noqa: E402
import traffic  # noqa: E402
from frames import PORTS  # noqa: E402

# Fewer of what is alike: Scapy takes its time.
del cases.cases_upstream.SUBSCRIBERS[::3]

# What tests/pcap expects to come out is not asked for here, and takes Scapy most of its time.
frames.forwarded = lambda packet, **_: packet
traffic.Traffic.core_frame = traffic.Traffic.access_frame = lambda *_, **__: b""

# The same addressing plan, whole: schedulers in both directions on one core; rings, and workers behind load balancers.
WHOLE = ("tests/fuzz/gateway.cfg", "cfg/bng-qos-4port-pipeline.cfg")
SHARE = 7  # each of those gets every seventh frame of all cases


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


def write(path, records):
    with open(path, "wb") as f:
        f.writelines(records)
    return path


def main():
    parser = argparse.ArgumentParser(description="explain against the data path")
    parser.add_argument("truth")
    parser.add_argument("--keep", metavar="DIR", help="keep configurations and frames there")
    args = parser.parse_args()
    folder = args.keep or tempfile.mkdtemp(prefix="vbng-explain-")
    os.makedirs(folder, exist_ok=True)
    pairs, everything = [], []
    try:
        for k, (config, records) in enumerate(groups().items()):
            path = os.path.join(folder, f"{k}.cfg")
            with open(path, "w") as f:
                f.write(config)
            pairs += [path, write(os.path.join(folder, f"{k}.frames"), records)]
            everything += records
        some = write(os.path.join(folder, "some.frames"), [*too_big(), *everything[::SHARE]])
        runs = [pairs] + [[os.path.join(TOP, config), some] for config in WHOLE]
        return max(abs(subprocess.run([args.truth, *run], timeout=280).returncode) for run in runs)
    finally:
        if not args.keep:
            shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
