# SPDX-License-Identifier: BSD-3-Clause
"""Pings and TCP of both families through a subscriber's 10 Mbit/s, in both directions; the CPE has its IPv6 address by router advertisements
alone. Runs in a network namespace of its own, as slaac_inside does, of which the interfaces are.

usage: -m tests.e2e.tcp_inside BINARY FOLDER [iperf3]
       -m tests.e2e.tcp_inside serve
       -m tests.e2e.tcp_inside send|receive ADDRESS WANTED
"""

import json
import os
import socket
import subprocess
import sys
import time

from tests.common.limits import limit
from tests.container.namespaces import Namespace
from tests.e2e import process, slaac_inside
from tests.e2e.slaac_inside import CPE, GATEWAY_CORE, GATEWAY_LINE, HOST, PREFIX, SERVER, inside

RATE = 10_000_000
IPERF = ("iperf3", "--json")
IPERF_TURNS = 4  # of two seconds: the machine may be away in one
CPE4, LINE4, CORE4, SERVER4 = "10.60.0.2", "10.60.0.1", "10.61.0.1", "10.61.0.2"
PORT, PIECE, WINDOW = 5001, 1 << 15, 1.0
FRAME = 1500 + 22 + 4  # what the shaper counts of a full packet: both tags and the FCS, too
SEGMENT = {4: 1500 - 20 - 32, 6: 1500 - 40 - 32}  # TCP's header has a time stamp
ENOUGH = 0.95
ALLOWED = slaac_inside.ALLOWED | {f"qos_{direction}.{reason}" for direction in ("up", "down") for reason in ("queue_full", "codel")}

CONFIGURATION = f"""
name = "tcp";
memory = "no-huge";
idle = "sleep";
pools = {{ default = {{ mbufs = "8K"; }}; }};
ports = (
    {{ name = "line"; device = "net_af_packet0,iface=gw-line"; mac = "{GATEWAY_LINE}"; addresses = ["{LINE4}"]; }},
    {{ name = "core"; device = "net_af_packet1,iface=gw-core"; mac = "{GATEWAY_CORE}"; addresses = ["{CORE4}"]; }}
);
qos = {{
    profiles = {{ home = {{ rate = "{RATE}bit/s"; }}; }};
    schedulers = {{ access = {{ ports = "line"; classes = ( {{ class = "be"; queue = 64; }} ); }}; }};
}};
subscribers = ( {{ port = "line"; svlan = 4000; cvlan = 1; ipv4 = "{CPE4}"; ipv6 = "{PREFIX}"; profile = "home"; }} );
routes = ( {{ prefix = "0.0.0.0/0"; port = "core"; mac = "{HOST}"; }}, {{ prefix = "::/0"; port = "core"; mac = "{HOST}"; }} );
tasks = (
    {{ name = "classify"; type = "classify"; from = "line"; scheduler = "access"; to = "qos_up"; punt = "arp"; }},
    {{ name = "qos_up"; type = "qos"; scheduler = "access"; direction = "up"; to = "decap"; }},
    {{ name = "decap"; type = "qinq_decap"; to = "route"; }},
    {{ name = "route"; type = "route"; to = "core"; punt = "arp"; }},
    {{ name = "find"; type = "classify"; match = "ipv4"; from = "core"; scheduler = "access"; to = "encap"; punt = "arp"; }},
    {{ name = "encap"; type = "qinq_encap"; to = "qos_down"; punt = "arp"; }},
    {{ name = "qos_down"; type = "qos"; scheduler = "access"; direction = "down"; to = "line"; }},
    {{ name = "arp"; type = "arp"; to = ["line", "core"]; ra_interval = "30min"; }}
);
layout = ( {{ core = "0"; tasks = ["classify", "qos_up", "decap", "route", "find", "encap", "qos_down", "arp"]; }} );
"""


def family_of(address):
    return 6 if ":" in address else 4


def ceiling(address):
    """Bytes of payload a second that the rate has room for."""
    return RATE / 8 * SEGMENT[family_of(address)] / FRAME


def best_window(s, wanted):
    """The most bytes a second that came in a span of a WINDOW, which ends as soon as they are as many as wanted."""
    best, end = 0.0, time.monotonic() + limit(15)
    while best < wanted and time.monotonic() < end:
        got, since = 0, time.monotonic()
        while (now := time.monotonic()) - since < WINDOW:
            got += len(s.recv(PIECE))
        best = max(best, got / (now - since))
    return best


def push(s):
    """Send until the other end has enough."""
    try:
        while True:
            s.sendall(bytes(PIECE))
    except OSError:
        pass


def serve():
    """A server of the core: who says s wants to send, who says r with a figure to receive."""
    listener = socket.create_server(("::", PORT), family=socket.AF_INET6, dualstack_ipv6=True)
    while True:
        s = listener.accept()[0]
        with s:
            s.settimeout(limit(20))
            words = s.makefile("rb", buffering=0).readline().split()
            if words[0] == b"r":
                push(s)
            else:
                s.sendall(json.dumps(best_window(s, float(words[1]))).encode() + b"\n")


def stream(what, address, wanted):
    """What the receiving end of a stream says, in bytes a second."""
    with socket.create_connection((address, PORT), timeout=limit(20)) as s:
        s.sendall(f"{'s' if what == 'send' else 'r'} {wanted}\n".encode())
        if what == "receive":
            return best_window(s, wanted)
        s.setblocking(False)
        answer = b""
        while not answer.endswith(b"\n"):
            try:
                s.send(bytes(PIECE))
            except BlockingIOError:
                time.sleep(0.005)
            try:
                answer += s.recv(100)
            except BlockingIOError:
                pass
        return float(answer)


def set_up4(cpe, core):
    core.run("ip", "addr", "add", f"{SERVER4}/24", "dev", "far-core")
    core.run("ip", "route", "add", "10.60.0.0/24", "via", CORE4, "dev", "far-core")
    cpe.run("ip", "addr", "add", f"{CPE4}/24", "dev", "wan")
    cpe.run("ip", "route", "add", "default", "via", LINE4, "dev", "wan")


def streams(cpe, server):
    """What is wrong with TCP of both families in both directions. Prints what was reached."""
    wrong = []
    for address in (SERVER4, SERVER):
        for what in ("receive", "send"):
            most = ceiling(address)
            said = inside(cpe, sys.executable, "-m", "tests.e2e.tcp_inside", what, address, str(ENOUGH * most))
            share = float(said) / most if said else 0
            print(f"IPv{family_of(address)}, the CPE would {what}: {share:.3f} of {most * 8 / 1e6:.2f} Mbit/s")
            if not ENOUGH <= share <= 1.1:
                wrong.append(f"IPv{family_of(address)}, {what}: TCP has {share:.3f} of what its rate has room for")
    return wrong + ([] if server.poll() is None else ["the server in the core has ended"])


def iperf(cpe, address, back):
    """The best of a few turns of iperf3, as a share of what the rate has room for; it stops at enough."""
    best = 0.0
    for _ in range(IPERF_TURNS):
        said = json.loads(inside(cpe, *IPERF, "--client", address, "--time", "2", "--omit", "1", *back) or "{}")
        got = said.get("end", {}).get("sum_received", {}).get("bits_per_second", 0)
        best = max(best, got / 8 / ceiling(address))
        if best >= ENOUGH:
            break
    return best


def iperf_streams(cpe, core):
    """The same of iperf3's TCP."""
    wrong = []
    server = subprocess.Popen(["nsenter", "-t", str(core.pid), "-n", IPERF[0], "--server"], stdout=subprocess.DEVNULL)
    try:
        for address, back in ((SERVER4, ["--reverse"]), (SERVER, ["--reverse"]), (SERVER4, []), (SERVER, [])):
            share = iperf(cpe, address, back)
            print(f"iperf3, IPv{family_of(address)}, {'down' if back else 'up'}: {share:.3f} of what the rate has room for")
            if not ENOUGH <= share <= 1.1:
                wrong.append(f"iperf3 {' '.join(back)} of IPv{family_of(address)}: {share:.3f} of what its rate has room for")
    finally:
        server.kill()
        server.wait()
    return wrong


def judge(cpe, core, with_iperf):
    """What is wrong with the CPE's address, and with what it does then."""
    if not slaac_inside.found_itself(cpe)[0]:
        return ["the CPE has found no address of IPv6"]
    server = subprocess.Popen(["nsenter", "-t", str(core.pid), "-n", sys.executable, "-m", "tests.e2e.tcp_inside", "serve"])
    try:
        for address in (SERVER4, SERVER):
            if not slaac_inside.pings(cpe, address):
                return [f"the core does not answer the CPE's pings to {address}"]
        return iperf_streams(cpe, core) if with_iperf else streams(cpe, server)
    finally:
        server.kill()
        server.wait()


def counters(report):
    """What is wrong with the ledger, drops, and the counters of both families."""
    wrong = process.ledger_faults(report)
    drops = {f"{t['name']}.{name}": n for t in report["tasks"] for name, n in t["drops"].items() if n}
    if set(drops) - ALLOWED:
        wrong.append(f"drops that nothing explains: {drops}")
    for direction in ("up", "down"):
        for family, address in (("ipv4", SERVER4), ("ipv6", SERVER)):
            octets = report["directions"][direction][f"{family}_bytes"]
            if octets < ENOUGH * WINDOW * ceiling(address):
                wrong.append(f"{direction} {family}: {octets} bytes counted")
    return wrong


def main(binary, folder, with_iperf=None):
    ctx = process.Context(binary, folder)
    with Namespace() as cpe, Namespace() as core:
        relay = slaac_inside.Relay(slaac_inside.make_interfaces(cpe, core))
        gateway = slaac_inside.start(ctx, CONFIGURATION)
        relay.start()
        slaac_inside.set_up(cpe, core)
        set_up4(cpe, core)
        wrong = judge(cpe, core, with_iperf)
        gateway.process.terminate()
        if gateway.end(30) == 0:
            wrong += counters(gateway.report())
        else:
            wrong.append(f"exit status {gateway.status}: {gateway.err}")
        relay.ends = True
        relay.join()
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve()
    elif sys.argv[1] in ("send", "receive"):
        print(stream(sys.argv[1], sys.argv[2], float(sys.argv[3])))
    else:
        sys.exit(main(*sys.argv[1:]))
