# SPDX-License-Identifier: BSD-3-Clause
"""Runs one case through the real binary: input pcaps, a configuration, output pcaps, the report."""

import json
import os
import struct
import subprocess

from tests.common.limits import limit
from tests.pcap.frames import PORTS

PCAP_HEADER = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)  # Ethernet


def write_pcap(path, frames):
    with open(path, "wb") as f:
        f.write(PCAP_HEADER)
        for k, frame in enumerate(frames):
            f.write(struct.pack("<IIII", 1, k, len(frame), len(frame)) + frame)


def read_pcap(path):
    with open(path, "rb") as f:
        data = f.read()
    magic = struct.unpack_from("<I", data)[0] if len(data) >= 24 else 0
    if magic not in (0xA1B2C3D4, 0xA1B23C4D):
        raise ValueError(f"{path} is no pcap file")
    frames, at = [], 24
    while at < len(data):
        _, _, caplen, length = struct.unpack_from("<IIII", data, at)
        if caplen != length:
            raise ValueError(f"{path}: a frame is cut off")
        frames.append(data[at + 16 : at + 16 + caplen])
        at += 16 + caplen
    return frames


class Case:
    """Frames in, frames that must come out, drops that must be counted. Everything else must be zero."""

    def __init__(self, name, config):
        self.name = name
        self.config = config  # function: folder of the run -> text of the configuration
        self.inputs = {p: [] for p in PORTS}
        self.expect = {p: [] for p in PORTS}
        self.drops = {}
        self.durations = ["60ms"]  # of the run; the next one only where packets were left inside
        self.any_order = False  # where two directions meet on one port, only the set is known
        self.normal = None  # a function: a frame that was sent -> without what no model foretells
        self.judge = None  # a function: frames sent by port -> what is wrong with them; instead of what is expected
        self.dissect = True  # False: an output carries what a CPE made malformed, on purpose

    def send(self, port, *frames):
        self.inputs[port].extend(frames)

    def receive(self, port, *frames):
        self.expect[port].extend(frames)

    def drop(self, task, reason, n=1):
        if n:
            self.drops[(task, reason)] = self.drops.get((task, reason), 0) + n


def hexdump(frame):
    return " ".join(frame[i : i + 4].hex() for i in range(0, len(frame), 4))


def compare(port, expected, got):
    """The first difference of the frames of a port, in words; None if there is none."""
    for k, (e, g) in enumerate(zip(expected, got)):
        if e == g:
            continue
        at = next((i for i in range(min(len(e), len(g))) if e[i] != g[i]), min(len(e), len(g)))
        return (
            f"{port}: frame {k} of {len(expected)} differs from byte {at} on\n"
            f"  expected {len(e):4} {hexdump(e)}\n  got      {len(g):4} {hexdump(g)}"
        )
    if len(got) > len(expected):
        return f"{port}: {len(got)} frames instead of {len(expected)}; the first too many:\n  {hexdump(got[len(expected)])}"
    if len(got) < len(expected):
        return f"{port}: {len(got)} frames instead of {len(expected)}; the first missing:\n  {hexdump(expected[len(got)])}"
    return None


def check_drops(case, report):
    """Differences between the drops expected and those counted."""
    counted = {
        (task["name"], reason): n for task in report["tasks"] for reason, n in task["drops"].items() if n != 0
    }
    wrong = []
    for key in sorted(set(counted) | set(case.drops)):
        if counted.get(key, 0) != case.drops.get(key, 0):
            wrong.append(f"drops {key[0]}.{key[1]}: {counted.get(key, 0)} instead of {case.drops.get(key, 0)}")
    return wrong


def check_ledger(case, report):
    wrong = []
    ledger = report["ledger"]
    if ledger["balances"] is not True:
        wrong.append(f"the ledger does not balance: {ledger}")
    for port in report["ports"]:
        n = len(case.inputs[port["name"]])
        if port["rx_packets"] != n:
            wrong.append(f"{port['name']}: {port['rx_packets']} packets received instead of {n}")
    if ledger["held"] != 0:
        wrong.append(f"{ledger['held']} packets were left inside")
    return wrong


def run_case(binary, case, folder, timeout=60, wrapper=()):
    """Run it in a folder of its own, and once more for longer where packets were left inside, as on a machine that gave the run no
    CPU. Returns (list of differences, frames sent by port)."""
    for duration in case.durations:
        wrong, sent, held = run_once(binary, case, folder, duration, timeout, wrapper)
        if held == 0:
            break
    return wrong, sent


def run_once(binary, case, folder, duration, timeout, wrapper):
    """One run. Returns (list of differences, frames sent by port, packets left inside)."""
    os.makedirs(folder, exist_ok=True)
    for port in PORTS:
        write_pcap(os.path.join(folder, f"{port}-in.pcap"), case.inputs[port])
    path = os.path.join(folder, "case.cfg")
    with open(path, "w") as f:
        f.write(case.config(folder))
    report_path = os.path.join(folder, "report.json")
    command = [*wrapper, binary, "--quiet", "--share-cpus", "--duration", duration, "--report", report_path, path]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=limit(timeout))
    except subprocess.TimeoutExpired:
        return [f"still running after {limit(timeout):.0f} s"], {}, 0
    said = "\n".join((done.stderr.strip().splitlines() or done.stdout.strip().splitlines())[-12:])
    if done.returncode != 0 and not os.path.exists(report_path):
        return [f"exit status {done.returncode}: {said}"], {}, 0
    with open(report_path) as f:
        report = json.load(f)
    wrong = [f"exit status {done.returncode}: {said}"] if done.returncode != 0 else []
    wrong += check_ledger(case, report) + check_drops(case, report)
    sent = {port: read_pcap(os.path.join(folder, f"{port}-out.pcap")) for port in PORTS}
    if case.normal is not None:
        sent = {port: [case.normal(frame) for frame in frames] for port, frames in sent.items()}
    if case.judge is not None:
        return wrong + case.judge(sent), sent, report["ledger"]["held"]
    for port in PORTS:
        order = sorted if case.any_order else list
        difference = compare(port, order(case.expect[port]), order(sent[port]))
        if difference:
            wrong.append(difference)
    return wrong, sent, report["ledger"]["held"]
