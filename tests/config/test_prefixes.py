# SPDX-License-Identifier: BSD-3-Clause
"""1,048,576 dual-stack subscribers with a /64 for the link and four delegated /56 each, from ranges: --check takes them, --plan says their memory to the
byte, and the gateway starts with them in ordinary pages and finds each of the prefixes in both directions."""

import ipaddress
import json
import types

import pytest

from tests.common import need

need.module("scapy", "python3-scapy")

from scapy.compat import raw  # noqa: E402
from scapy.layers.inet import UDP  # noqa: E402
from scapy.layers.inet6 import IPv6  # noqa: E402

from tests.common.said import of_itself  # noqa: E402
from tests.common.verdict import nothing  # noqa: E402
from tests.pcap import frames as fr  # noqa: E402
from tests.pcap.harness import compare, read_pcap, write_pcap  # noqa: E402

pytestmark = pytest.mark.long

N, CVLANS, SVLAN, POOLS = 1 << 20, 2048, 1024, 4
PREFIXES = N * (1 + POOLS)
LINKS, DELEGATED = 0x20010DB8F0000000, [0x20010DB800000000 + (k << 28) for k in range(POOLS)]  # upper halves of pools
KIB = 1024
SERVER, MAC = "2400:cb00::1", fr.GATEWAY_MAC


def text(upper):
    return str(ipaddress.IPv6Address(upper << 64))


def config(folder):
    pools = " ".join(f"{text(upper)}/36" for upper in DELEGATED)
    return f"""
name = "prefixes"; memory = "no-huge"; idle = "sleep"; max_subscribers = "{N}";
pools = {{ default = {{ mbufs = "8K"; }}; }};
ports = ( {{ name = "cpe0"; device = "net_pcap0,rx_pcap={folder}/cpe0-in.pcap,tx_pcap={folder}/cpe0-out.pcap"; mac = "{MAC["cpe0"]}"; }},
          {{ name = "core0"; device = "net_pcap1,rx_pcap={folder}/core0-in.pcap,tx_pcap={folder}/core0-out.pcap"; mac = "{MAC["core0"]}"; }} );
subscribers = ( {{ port = "cpe0"; svlan = "{SVLAN}-{SVLAN + N // CVLANS - 1}"; cvlan = "1-{CVLANS}"; ipv4 = "10.0.0.0/12";
                  ipv6 = "{text(LINKS)}/44"; delegated = "{pools}"; mac = "02:c0:00:00:00:00"; }} );
routes = ( {{ prefix = "2400:cb00::/32"; port = "core0"; mac = "{fr.NEIGHBOUR_MAC["core0"]}"; }} );
tasks = ( {{ name = "classify"; type = "classify"; from = "cpe0"; to = "decap"; }},
          {{ name = "decap"; type = "qinq_decap"; to = "route"; }},
          {{ name = "route"; type = "route"; to = "core0"; }},
          {{ name = "find"; type = "classify"; match = "ipv4"; from = "core0"; to = "encap"; }},
          {{ name = "encap"; type = "qinq_encap"; to = "cpe0"; }} );
layout = ( {{ core = "0"; tasks = ["classify", "decap", "route", "find", "encap"]; }} );
"""


@pytest.fixture
def path(folder):
    written = folder / "prefixes.cfg"
    written.write_text(config(folder))
    return written


def test_memory_by_the_rules(vbng, run, path):
    """Accepted without a warning; and the table in doc/plan.md, calculated by hand."""
    checked = run(vbng, "--check", path)
    assert (checked.returncode, checked.stderr) == (0, ""), checked.stderr
    plan = json.loads(run(vbng, "--plan=json", path).stdout)
    assert plan["subscribers"] == N
    assert (plan["memory"]["spare"]["subscribers"], plan["memory"]["spare"]["prefixes"]) == (0, 0)
    vlans, addresses = N // CVLANS // 16, N >> 16  # pages of 65536 keys: 16 S-VLANs share one
    pages6, buckets = PREFIXES // 2048, PREFIXES // 4 + PREFIXES // 8 + 8
    records = N + 256 + 1  # 256 for those who were removed, and nobody's
    ipv4 = 68 * records + 3 * 768 * KIB + (vlans + addresses) * 256 * KIB
    lengths_and_common = 16 * KIB + 254 * 8
    ipv6 = 64 * (records + buckets) + lengths_and_common + pages6 * (16 * KIB + 64) + (4 * pages6 + 1) * 16
    assert plan["memory"]["subscribers_bytes"] == ipv4 + ipv6


def subscriber(i):
    return types.SimpleNamespace(i=i, port="cpe0", svlan=SVLAN + i // CVLANS, cvlan=1 + i % CVLANS, mac=f"02:c0:00:{i >> 16:02x}:{i >> 8 & 255:02x}:{i & 255:02x}")


def ends(i):
    """The first and the last address of each prefix of a subscriber."""
    prefixes = [((LINKS + i) << 64, 64)] + [((upper + (i << 8)) << 64, 56) for upper in DELEGATED]
    return [str(ipaddress.IPv6Address(at)) for prefix, length in prefixes for at in (prefix, prefix + (1 << 128 - length) - 1)]


def packet(src, dst, hops):
    return raw(IPv6(src=src, dst=dst, hlim=hops) / UDP(sport=40000, dport=40001) / fr.payload(12))


def from_core(src, dst):
    return fr.ether(MAC["core0"], fr.NEIGHBOUR_MAC["core0"], 0x86DD, packet(src, dst, 64))


@pytest.mark.limit(300)
def test_each_prefix_is_found(vbng, run, folder, path):
    """Those of the first, a middle and the last subscriber, by both ends; addresses beside the pools are nobody's, and a neighbour's prefix is spoofed."""
    sent, expected = {"cpe0": [], "core0": []}, {"cpe0": [], "core0": []}
    for sub in map(subscriber, (0, 1, N // 2 - 1, N - 1)):
        for address in ends(sub.i):
            sent["core0"].append(from_core(SERVER, address))
            expected["cpe0"].append(fr.to_cpe(sub, packet(SERVER, address, 63), ethertype=0x86DD))
            sent["cpe0"].append(fr.from_cpe(sub, packet(address, SERVER, 64), ethertype=0x86DD))
            expected["core0"].append(fr.ether(fr.NEIGHBOUR_MAC["core0"], MAC["core0"], 0x86DD, packet(address, SERVER, 63)))
    beside = [text(LINKS - 1), text(LINKS + N), text(DELEGATED[0] - 1), text(DELEGATED[-1] + (N << 8))]
    sent["core0"] += [from_core(SERVER, address) for address in beside]
    spoofed = [fr.from_cpe(subscriber(0), packet(address, SERVER, 64), ethertype=0x86DD) for address in ends(1) + beside]
    sent["cpe0"] += spoofed
    for port, frames in sent.items():
        write_pcap(folder / f"{port}-in.pcap", frames)
    done = run(vbng, "-q", "--share-cpus", "--duration", "1s", "--report", folder / "report.json", path, timeout=200)
    assert (done.returncode, of_itself(done.stderr)) == (0, ""), done.stderr
    report = json.loads((folder / "report.json").read_text())
    drops = {f"{task['name']}.{reason}": n for task in report["tasks"] for reason, n in task["drops"].items() if n}
    nothing([difference for port in sent if (difference := compare(port, expected[port], read_pcap(folder / f"{port}-out.pcap")))])
    assert drops == {"find.unknown_subscriber": len(beside), "classify.spoofed": len(spoofed)}
    assert report["ledger"]["balances"] is True and report["ledger"]["held"] == 0, report["ledger"]
