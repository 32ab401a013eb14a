# SPDX-License-Identifier: BSD-3-Clause
"""What --explain says of frames in PPPoE sessions."""

import os
import subprocess

from tests.common import need

need.module("scapy", "python3-scapy")

from tests.common.limits import limit  # noqa: E402
from tests.common.verdict import nothing  # noqa: E402
from tests.pcap import cases_ipv6, cases_pppoe, frames as fr  # noqa: E402


def test_pppoe(vbng, folder):
    """Frames in words are in the session of their line, and said so on the way there and back; what is none of it is dropped."""
    gateway = cases_pppoe.Pppoe("explain", gre=False, mpls=False, routes=cases_ipv6.TO_SERVER).gateway
    gateway.devices = {port: f"net_null{i}" for i, port in enumerate(fr.PORTS)}
    config = os.path.join(folder, "pppoe.cfg")
    with open(config, "w") as f:
        f.write(gateway(folder))
    sub, own6, server6 = cases_pppoe.SUB, cases_ipv6.wan(cases_pppoe.SUB), cases_ipv6.SERVER
    line, session = f"cpe0 {sub.svlan}.{sub.cvlan}", f"pppoe session {sub.session} | "
    lcp = cases_pppoe.from_cpe(sub, b"\x09\x01\x00\x08abcd", cases_pppoe.LCP)
    wrong = []
    for text, status, expected in (
        (f"{line} {sub.ip} -> 198.18.0.1", 0, (f"| {session}ipv4 {sub.ip} -> 198.18.0.1", "result: sent by core0")),
        (f"{line} {own6} -> {server6}", 0, (f"| {session}ipv6 {own6} -> {server6}", "result: sent by core1")),
        (f"core0 198.18.0.1 -> {sub.ip} size 200", 0, (f"| {session}ipv4 198.18.0.1 -> {sub.ip} ttl 63", "| 216 B", "result: sent by cpe0")),
        (f"cpe0 hex {lcp.hex(' ')}", 5, (f"| {session}ppp c021 (lcp)", "result: dropped by classify: ppp_control")),
        (f"cpe0 hex {lcp[:24].hex(' ')}", 5, ("| pppoe, malformed", "result: dropped by classify: bad_pppoe")),
    ):
        done = subprocess.run([vbng, "--explain", text, config], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=limit(60), check=False)
        if done.returncode != status or any(e not in done.stdout for e in expected):
            wrong.append(f"{text}: status {done.returncode}, expected {expected}: {done.stdout}")
    nothing(wrong)
