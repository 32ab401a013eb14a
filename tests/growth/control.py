#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""How long clients of the control socket wait, and how fast subscribers come and go, by how many there are: doc/scale.md.

    tests/growth/control.py stall --subscribers 65536
    tests/growth/control.py slices --subscribers 1000000
    tests/growth/control.py churn --subscribers 4096 --rings 33 --batch 100
    tests/growth/control.py churn --subscribers 4096 --rings 33 --ahead 32     # sends so many pairs of requests before it reads the answers to the last ones
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time

CVLANS = 4096 - 2


def address(i):
    return f"{10 + (i >> 24)}.{i >> 16 & 255}.{i >> 8 & 255}.{i & 255}"


def circuit(i):
    return 1 + i // CVLANS, 1 + i % CVLANS


def layout(rings):
    """Rings: one from encap to qos_down, the others to workers behind the lb; 0: all is on one core."""
    front, back = ["classify", "qos_up", "spread", "mpls_down", "gre_down", "encap"], ["decap", "route", "gre_up", "mpls_up"]
    if rings == 0:
        cores = {"0": [*front, *back, "qos_down"]}
    else:
        cores = {"0": front, "1": ["qos_down"], f"2-{rings}" if rings > 2 else "2": back}
    return "( " + ", ".join(f'{{ core = "{core}"; tasks = {json.dumps(tasks)}; }}' for core, tasks in cores.items()) + " )"


def config(n, room, rings, csv):
    """A gateway with n subscribers, shaped both ways."""
    rows = ["port,svlan,cvlan,ipv4,gre_key,mac,profile"]
    rows += [f"cpe0,{circuit(i)[0]},{circuit(i)[1]},{address(i)},{i},02:c0:00:00:00:00,fast" for i in range(n)]
    with open(csv, "w", encoding="ascii") as f:
        f.write("\n".join(rows) + "\n")
    return f"""
name = "growth"; memory = "no-huge"; idle = "sleep"; max_subscribers = "{room}";
pools = {{ default = {{ mbufs = "128K"; data_room = "2304"; overcommit = true; }}; }};
ports = ( {{ name = "cpe0"; device = "net_null0,no-rx=1"; on_full = "wait"; }},
          {{ name = "core0"; device = "net_null1,no-rx=1"; on_full = "wait"; addresses = "192.0.2.1"; }} );
qos = {{ profiles = {{ fast = {{ rate = "50M"; }}; }};
        dscp_maps = {{ ip = {{ queues = (); default = {{ class = "be"; }}; }}; }};
        schedulers = {{ acc = {{ ports = "cpe0"; dscp_map = "ip"; rate = "10G";
            subports = ( {{ name = "all"; port = "cpe0"; svlan = "1-4094"; }} );
            classes = ( {{ class = "be"; queue = 4; }} ); }}; }}; }};
subscribers = ( {{ csv = "{csv}"; }} );
routes = ( {{ prefix = "198.18.0.0/15"; port = "core0"; mac = "02:dd:00:00:00:00"; gre = "203.0.113.1"; mpls = 16; }} );
tasks = (
    {{ name = "classify"; type = "classify"; from = "cpe0"; to = "qos_up"; scheduler = "acc"; }},
    {{ name = "qos_up"; type = "qos"; scheduler = "acc"; direction = "up"; to = "spread"; }},
    {{ name = "spread"; type = "lb"; to = "decap"; }},
    {{ name = "decap"; type = "qinq_decap"; to = "route"; }},
    {{ name = "route"; type = "route"; to = "gre_up"; }},
    {{ name = "gre_up"; type = "gre_encap"; to = "mpls_up"; }},
    {{ name = "mpls_up"; type = "mpls_push"; to = "core0"; }},
    {{ name = "mpls_down"; type = "mpls_pop"; from = "core0"; to = "gre_down"; }},
    {{ name = "gre_down"; type = "gre_decap"; to = "encap"; scheduler = "acc"; }},
    {{ name = "encap"; type = "qinq_encap"; to = "qos_down"; }},
    {{ name = "qos_down"; type = "qos"; scheduler = "acc"; direction = "down"; to = "cpe0"; }}
);
layout = {layout(rings)};
"""


class Client:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.file = self.socket.makefile("rb")

    def ask(self, **request):
        self.socket.sendall(json.dumps(request).encode() + b"\n")
        answer = json.loads(self.file.readline())
        if "error" in answer:
            sys.exit(f"{request['cmd']}: {answer['error']}")
        return answer

    def receive(self, n):
        """Answers to requests that were sent."""
        for _ in range(n):
            answer = self.file.readline()
            if b'"ok":true' not in answer:
                sys.exit(answer.decode())


def write(args, folder):
    path = f"{folder}/growth.cfg"
    with open(path, "w", encoding="utf-8") as f:
        f.write(config(args.subscribers, args.room or args.subscribers, args.rings, f"{folder}/subscribers.csv"))
    return path


def start(args, folder):
    path, control = write(args, folder), f"{folder}/control"
    log = open(f"{folder}/log", "wb")
    process = subprocess.Popen([args.vbng, "-q", "--share-cpus", "--control", control, path], stdout=log, stderr=log)
    for _ in range(1200):
        if process.poll() is not None:
            sys.exit(open(f"{folder}/log", encoding="utf-8").read())
        try:
            return process, Client(control)
        except OSError:
            time.sleep(0.1)
    process.terminate()
    return sys.exit("it does not answer")


def stall(client, args):
    """The longest waits for the answer to a small request, asked once a millisecond."""
    client.ask(cmd="show-subscriber", subscriber=1)  # the first waits for the start
    waits, end = [], time.monotonic() + args.seconds
    while time.monotonic() < end:
        begin = time.monotonic()
        client.ask(cmd="show-subscriber", subscriber=1)
        waits.append(time.monotonic() - begin)
        time.sleep(0.001)
    waits.sort(reverse=True)
    worst = [f"{1e3 * w:.2f}" for w in waits[:int(args.seconds)]]
    print(f"{args.subscribers} subscribers: of {len(waits)} requests the slowest waited, ms: {' '.join(worst)};"
          f" median {1e3 * waits[len(waits) // 2]:.3f}")


def slices(args, folder):
    """The time of the slices of a round of samples, from the first on, of which no line is cached."""
    write(args, folder)
    out = subprocess.run([os.path.join(os.path.dirname(args.vbng), "tests/control/test_samples"), f"{folder}/growth.cfg"], capture_output=True, text=True)
    print(f"{args.subscribers} subscribers: {out.stdout[out.stdout.index('bounded ...') + 11:].split(';')[0]}")


def pair(ids):
    """The requests, as text, that remove subscribers and add them again."""
    circuits = ["cpe0 {}.{}".format(*circuit(i)) for i in ids]
    entries = [dict(port="cpe0", svlan=circuit(i)[0], cvlan=circuit(i)[1], ipv4=address(i), gre_key=i, profile="fast", mac="02:c0:00:00:00:00")
               for i in ids]
    if len(ids) == 1:
        requests = dict(cmd="remove-subscriber", subscriber=circuits[0]), dict(cmd="add-subscriber", **entries[0])
    else:
        requests = dict(cmd="remove-subscribers", subscribers=circuits), dict(cmd="add-subscribers", subscribers=entries)
    return [json.dumps(r).encode() + b"\n" for r in requests]


def churn(client, args):
    """Remove and add subscribers, as many at a time as a batch has, at a table without room for more. The requests are written before: the
    client is to take little of the CPUs."""
    pairs = [pair(range(first, first + args.batch)) for first in range(0, args.subscribers - args.batch + 1, args.batch)]
    ahead = [b"".join(request for two in (pairs[(first + i) % len(pairs)] for i in range(args.ahead)) for request in two)
             for first in range(0, len(pairs), args.ahead or 1)]
    at, begin = 0, time.monotonic()
    while time.monotonic() - begin < args.seconds:
        if args.ahead == 0:
            for request in pairs[at % len(pairs)]:
                client.socket.sendall(request)
                client.receive(1)
            at += 1
            continue
        client.socket.sendall(ahead[at % len(ahead)])
        if at > 0:  # the answers of the last time: those of this time are made meanwhile
            client.receive(2 * args.ahead)
        at += 1
    if args.ahead > 0:
        client.receive(2 * args.ahead)
    seconds = time.monotonic() - begin
    done = at * (args.ahead or 1) * args.batch
    print(f"{args.subscribers} subscribers, {args.rings} rings, {args.batch} at a time, {args.ahead} ahead: {done / seconds:.0f} removed and added a second")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["stall", "slices", "churn"])
    parser.add_argument("--vbng", default=os.environ.get("VBNG", "build/vbng"))
    parser.add_argument("--subscribers", type=int, default=65536)
    parser.add_argument("--room", type=int, help="max_subscribers, default: no room for more")
    parser.add_argument("--rings", type=int, default=0, help="0, or 2 and more")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--ahead", type=int, default=0, help="pairs of requests that are sent before answers are read, default: each waits")
    parser.add_argument("--seconds", type=float, default=5)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if args.what == "slices":
            slices(args, folder)
            return
        process, client = start(args, folder)
        try:
            {"stall": stall, "churn": churn}[args.what](client, args)
        finally:
            process.terminate()
            process.wait()


if __name__ == "__main__":
    main()
