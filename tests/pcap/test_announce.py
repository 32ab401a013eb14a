# SPDX-License-Identifier: BSD-3-Clause
"""What the gateway says of itself unasked, against frames that Scapy has built: gratuitous ARP, and the advertisements of a router or of a neighbour, once on
each subscriber's link after the start, and once more when the port's link comes up again. A run has to take longer than 16 s for it."""

import collections
import json
import subprocess
import time

import pytest

from tests.common import need
from tests.common.limits import limit

need.module("scapy", "python3-scapy")

from tests.common.verdict import nothing  # noqa: E402
from tests.pcap import frames as fr  # noqa: E402
from tests.pcap.cases_ipv6 import ETH_IPV6, Traffic6, wan  # noqa: E402
from tests.pcap.cases_nd import ALL_NODES, ALL_NODES_MAC, advert, ours, router_advert  # noqa: E402
from tests.pcap.frames import Subscriber  # noqa: E402
from tests.pcap.gateway import Gateway  # noqa: E402
from tests.pcap.harness import run_case  # noqa: E402

pytestmark = [pytest.mark.long, pytest.mark.limit(300)]

N = 256  # of each access port; there is room for 64 more of both
SUBSCRIBERS = [Subscriber(access, i) for access in range(2) for i in range(N)]


def gratuitous(sub):
    mac, address = fr.GATEWAY_MAC[sub.port], fr.GATEWAY_IP[sub.port]
    return fr.to_cpe(sub, fr.arp(1, mac, address, "00:00:00:00:00:00", address), dst=fr.BROADCAST, ethertype=fr.ETH_ARP)


def neighbour_advert(sub):
    return fr.to_cpe(sub, advert(ours(sub), ours(sub), ALL_NODES, fr.GATEWAY_MAC[sub.port], r=1, s=0, o=1), dst=ALL_NODES_MAC, ethertype=ETH_IPV6)


def judge(kinds, enough):
    """A judge of what was sent: enough() of how many subscribers got how many frames of each kind, {kind: {times: subscribers}}; nothing else is there."""

    def judged(sent):
        found, wrong = {}, []
        left = {port: collections.Counter(frames) for port, frames in sent.items()}
        for make in kinds:
            times = [left[sub.port].pop(make(sub), 0) for sub in SUBSCRIBERS]
            found[make.__name__] = dict(collections.Counter(times))
        wrong += [f"{port}: {sum(frames.values())} frames that nobody expects, as {next(iter(frames)).hex()}" for port, frames in left.items() if frames]
        return wrong + ([] if enough(found) else [f"not what is to be sent: {found}"])

    return judged


def advertised(sub):
    return router_advert(sub, ALL_NODES, wan(sub, "::"))


def test_with_router_advertisements(vbng, folder):
    """In a round of 4 s each has one gratuitous ARP; his router advertisement comes again in the next."""
    case = Traffic6("announce-ra", ra=True, params={"arp": 'ra_interval = "4s";'}, subscribers=N)
    case.durations = ["22s"]
    case.judge = judge((gratuitous, advertised), lambda found: found["gratuitous"] == {1: 2 * N} and set(found["advertised"]) <= {1, 2})
    nothing(run_case(vbng, case, folder / case.name)[0])


def test_without(vbng, folder):
    """Spread over a minute: of six seconds of it some are seen, and far from all."""
    case = Traffic6("announce-na", subscribers=N)
    case.durations = ["22s"]
    case.judge = judge((gratuitous, neighbour_advert), lambda found: found["gratuitous"] == found["neighbour_advert"]
                       and set(found["gratuitous"]) == {0, 1} and 20 < found["gratuitous"][1] < N // 2)
    nothing(run_case(vbng, case, folder / case.name)[0])


def announcements(report):
    return next(task["stats"]["announcements"] for task in report["tasks"] if task["name"] == "arp")


def test_link_comes_up_again(vbng, folder):
    """Those of the port are told once more, and nobody else."""
    need.root("net_tap makes an interface")
    name = "vbngannounce0"
    gateway = Gateway(ra=True, gre=False, mpls=False, ipv6=True, params={"arp": 'ra_interval = "4s";'}, devices={
        port: f"net_tap0,iface={name}" if port == "cpe0" else f"net_null{k},no-rx=1" for k, port in enumerate(fr.PORTS)}, subscribers=N)
    path, report = folder / "case.cfg", folder / "report.json"
    path.write_text(gateway(folder))
    running = subprocess.Popen([vbng, "--quiet", "--share-cpus", "--duration", "32s", "--report", report, path],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        time.sleep(22)  # the first round is over after 20
        for state in ("down", "up"):
            subprocess.run(["ip", "link", "set", name, state], check=True)
            time.sleep(2)
        said = running.communicate(timeout=limit(60))[1]
    finally:
        running.kill()
    assert running.returncode == 0 and "port cpe0: its link is up again" in said, said
    found = json.loads(report.read_text())
    assert announcements(found) == 2 * N + N
    assert found["ledger"]["balances"] is True, found["ledger"]
