# SPDX-License-Identifier: BSD-3-Clause
"""How many routes change in a second while packets go there, by how many there are: doc/scale.md. None of the packets may be lost.

    /usr/bin/python3 -m tests.growth.routes --routes 1000000 --hops 16 --batch 1
    /usr/bin/python3 -m tests.growth.routes --routes 1000000 --hops 60000 --batch 1000
    /usr/bin/python3 -m tests.growth.routes --hops 40000 --come-and-go     # a removal, then an addition, in turn
    /usr/bin/python3 -m tests.growth.routes --hops 40000 --via fe80::2     # next hops by neighbour discovery
"""

import argparse
import ipaddress
import json
import os
import subprocess
import sys
import tempfile
import time

from tests.growth.control import Client

BUSY = 65536  # /24s to which packets go, and whose routes change
MAC, GATEWAY = "02:dd:00:00:00:00", "02:b0:00:00:01:00"
LINK_LOCAL = "fe80::b0:ff:fe00:100"  # of GATEWAY
FILES = {
    "up.tmpl": """
size 100
var to 0-16777215 random
ether src 02:c0:00:00:00:00 dst 02:b0:00:00:00:00
vlan tpid 0x88a8 id 1
vlan id 1
ipv4 src 10.0.0.1 dst 32.0.0.0 + to
udp src 1024 dst 2048
payload 00
""",
    # the neighbour says who it is, by ARP or neighbour discovery; believed where it was asked
    "answer.tmpl": """
size {size}
padding 0
ether src {mac} dst {gateway} type {type}
payload {answer}
""",
    "routes.cfg": """
name = "routes"; memory = "no-huge"; idle = "sleep"; drain = "3s"; max_routes = "{room}";
pools = {{ default = {{ mbufs = "64K"; data_room = "384"; overcommit = true; }}; }};
ports = (
    {{ name = "cpe0"; device = "wire:cpe0"; mac = "02:b0:00:00:00:00"; mtu = 200; on_full = "wait"; }},
    {{ name = "core0"; device = "wire:core0"; mac = "02:b0:00:00:01:00"; mtu = 200; addresses = "192.0.2.1"; on_full = "wait"; }},
    {{ name = "t_cpe0"; device = "wire:cpe0"; mtu = 200; on_full = "wait"; }},
    {{ name = "t_core0"; device = "wire:core0"; mtu = 200; on_full = "wait"; }}
);
subscribers = ( {{ port = "cpe0"; svlan = 1; cvlan = 1; ipv4 = "10.0.0.1"; mac = "02:c0:00:00:00:00"; }} );
routes = ( {{ prefix = "32.0.0.0/8"; port = "core0"; mac = "{mac}"; mpls = 16; }},
           {{ prefix = "32.0.0.0/24"; count = {routes}; port = "core0"; mac = "{mac}"; mpls = 16; }},
           {{ prefix = "203.0.113.0/24"; nexthops = ( {{ port = "core0"; via = "{via}"; mpls = 17; }},
                                                     {{ port = "core0"; via = "{via}"; mpls = 18; }} ); }} );
tasks = (
    {{ name = "classify"; type = "classify"; from = "cpe0"; to = "decap"; punt = "arp"; shed = 0; }},
    {{ name = "decap"; type = "qinq_decap"; to = "route"; }},
    {{ name = "route"; type = "route"; to = "mpls_up"; punt = "arp"; }},
    {{ name = "mpls_up"; type = "mpls_push"; to = "core0"; }},
    {{ name = "mpls_down"; type = "mpls_pop"; from = "core0"; to = "gre_down"; punt = "arp"; shed = 0; }},
    {{ name = "gre_down"; type = "gre_decap"; to = "encap"; punt = "arp"; shed = 0; }},
    {{ name = "encap"; type = "qinq_encap"; to = "cpe0"; punt = "arp"; }},
    {{ name = "arp"; type = "arp"; to = ["cpe0", "core0"]; }},
    {{ name = "up"; type = "gen"; template = "up.tmpl"; rate = "{rate}"; to = "t_cpe0"; }},
    {{ name = "answers"; type = "gen"; template = "answer.tmpl"; rate = "20pps"; to = "t_core0"; }},
    {{ name = "sink_core"; type = "sink"; from = "t_core0"; }},
    {{ name = "sink_cpe"; type = "sink"; from = "t_cpe0"; }}
);
layout = ( {{ core = "0"; tasks = ["classify", "decap", "route", "mpls_up", "mpls_down", "gre_down", "encap", "arp"]; }},
           {{ core = "1"; tasks = ["up", "answers", "sink_core", "sink_cpe"]; }} );
""",
}


def answer(via):
    """EtherType and payload of what the neighbour with an address says."""
    mac, via = bytes.fromhex(MAC.replace(":", "")), ipaddress.ip_address(via)
    if via.version == 4:
        return "0x0806", bytes.fromhex("0001080006040002") + mac + via.packed + bytes.fromhex("02b000000100c0000201") + bytes(18)
    to, nd = ipaddress.ip_address(LINK_LOCAL).packed, bytes.fromhex("88000000 60000000") + via.packed + b"\2\1" + mac
    total = sum(int.from_bytes(part[i:i + 2], "big") for part in (via.packed, to, nd) for i in range(0, len(part), 2)) + len(nd) + 58
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    nd = nd[:2] + (0xffff - total).to_bytes(2, "big") + nd[4:]
    return "0x86dd", bytes.fromhex("60000000") + len(nd).to_bytes(2, "big") + b"\x3a\xff" + via.packed + to + nd


def start(args, folder):
    ether_type, payload = answer(args.via)
    for name, text in FILES.items():
        if name != "up.tmpl":
            text = text.format(routes=args.routes, room=min(args.routes + BUSY, 1 << 20), rate=args.rate, mac=MAC, gateway=GATEWAY,
                               via=args.via, type=ether_type, answer=payload.hex(), size=14 + len(payload) + 4)
        with open(f"{folder}/{name}", "w", encoding="ascii") as f:
            f.write(text)
    with open(f"{folder}/log", "wb") as log:
        process = subprocess.Popen([args.vbng, "-q", "--share-cpus", "--topology", "1x2x1", "--control", f"{folder}/control", "--report",
                                    f"{folder}/report", f"{folder}/routes.cfg"], stdout=log, stderr=log)
    for _ in range(1200):
        if process.poll() is not None:
            break
        try:
            return process, Client(f"{folder}/control")
        except OSError:
            time.sleep(0.1)
    process.terminate()
    with open(f"{folder}/log", encoding="utf-8") as f:
        return sys.exit(f.read())


def changed(at, args):
    """Change number at: routes one after the other, round by round to other next hops."""
    route, label = at % BUSY, 32 + (at + at // BUSY * 7) % args.hops
    return {"prefix": f"32.{route >> 8}.{route & 255}.0/24", "port": "core0", "via": args.via, "mpls": label}


def change(client, routes, come_and_go):
    """Make requests; return how many changes these were."""
    many = "s" if len(routes) > 1 else ""
    body = {"routes": routes} if many else routes[0]
    if not come_and_go:
        client.ask(cmd=f"change-route{many}", **body)
        return len(routes)
    prefixes = [r["prefix"] for r in routes]
    client.ask(cmd=f"remove-route{many}", **({"routes": prefixes} if many else {"prefix": prefixes[0]}))
    client.ask(cmd=f"add-route{many}", **body)
    return 2 * len(routes)


def run(client, args):
    """Changes a second."""
    while not all(hop["resolved"] for hop in client.ask(cmd="show-routes", first=args.routes + 2, count=1)["routes"][0]["nexthops"]):
        time.sleep(0.1)
    at, done, begin = 0, 0, time.monotonic()
    while time.monotonic() - begin < args.seconds:
        done += change(client, [changed(at + i, args) for i in range(args.batch)], args.come_and_go)
        at += args.batch
    return done / (time.monotonic() - begin)


def account(report):
    """Packets sent, and what is wrong with them."""
    tasks = {t["name"]: t for t in report["tasks"]}
    drops = {f"{t['name']} {reason}": n for t in report["tasks"] for reason, n in t["drops"].items()
             if n and reason not in ("arp_unsolicited", "nd_unsolicited")}  # answers before a question
    wrong = ([] if report["ledger"]["balances"] else ["the ledger does not balance"]) + [f"dropped: {what} {n}" for what, n in drops.items()]
    arrived = tasks["sink_core"]["consumed"]
    if arrived < tasks["up"]["sent"]:
        wrong.append(f"{arrived} of {tasks['up']['sent']} arrived")
    return tasks["up"]["sent"], wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vbng", default=os.environ.get("VBNG", "build/vbng"))
    parser.add_argument("--routes", type=int, default=1000000)
    parser.add_argument("--hops", type=int, default=16, help="next hops that they lead to, of one neighbour, in turn; at most as many routes as may be added")
    parser.add_argument("--batch", type=int, default=1, help="changes in a request")
    parser.add_argument("--come-and-go", action="store_true", help="routes are removed and added, in turn; packets to them go another way meanwhile")
    parser.add_argument("--via", default="192.0.2.2", help="the neighbour: an address of IPv4 or IPv6")
    parser.add_argument("--rate", default="20kpps", help="of the packets")
    parser.add_argument("--seconds", type=float, default=5)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        process, client = start(args, folder)
        try:
            rate = run(client, args)
        finally:
            process.terminate()
            process.wait()
        with open(f"{folder}/report", encoding="utf-8") as f:
            sent, wrong = account(json.load(f))
    print(f"{args.routes} routes, {args.hops} next hops, {args.batch} at a time: {rate:.0f} changes a second; {sent} packets meanwhile: "
          + ("; ".join(wrong) or "none lost"))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
