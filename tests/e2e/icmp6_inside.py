# SPDX-License-Identifier: BSD-3-Clause
"""Runs in a network namespace of its own, as slaac_inside does: what the kernels of a CPE and of a host of the core make of the gateway's
ICMPv6: pings, traceroutes, path MTU discovery.

usage: -m tests.e2e.icmp6_inside BINARY FOLDER
       -m tests.e2e.icmp6_inside hop ADDRESS HOPS | mtu ADDRESS BYTES | receive ADDRESS BYTES | send ADDRESS BYTES
"""

import json
import socket
import struct
import subprocess
import sys
import time

from tests.common.limits import limit
from tests.container.namespaces import Namespace
from tests.e2e import process
from tests.e2e import slaac_inside as slaac
from tests.e2e.slaac_inside import GATEWAY_AT_CORE, GATEWAY_CORE, GATEWAY_LINE, PREFIX, SERVER

GATEWAY, PORT = "2001:db8:c0::1", 5001
GATEWAY4, CPE4, SERVER4 = "10.0.0.1", "10.0.0.2", "192.0.2.2"  # between the gateway and the core IPv4 goes by neighbours of IPv6 (RFC 8950)
LINE_MTU, CORE_MTU = 1400, 1300
IPV6_RECVERR, SO_EE_ORIGIN_ICMP6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO = 25, 3, 23, 2
TIME_EXCEEDED, UNREACHABLE, PORT_CODE = (3, 0), 1, 4

CONFIGURATION = f"""
name = "icmp6";
memory = "no-huge";
idle = "sleep";
pools = {{ default = {{ mbufs = "8K"; }}; }};
ports = (
    {{ name = "line"; device = "net_af_packet0,iface=gw-line"; mac = "{GATEWAY_LINE}"; mtu = {LINE_MTU}; addresses = "{GATEWAY4}"; }},
    {{ name = "core"; device = "net_af_packet1,iface=gw-core"; mac = "{GATEWAY_CORE}"; mtu = {CORE_MTU}; addresses = "{GATEWAY}"; }}
);
subscribers = ( {{ port = "line"; svlan = 4000; cvlan = 1; ipv4 = "{CPE4}"; ipv6 = "{PREFIX}"; }} );
routes = ( {{ prefix = "2001:db8:c0::/64"; port = "core"; via = "{SERVER}"; }}, {{ prefix = "{SERVER4}/32"; port = "core"; via = "{SERVER}"; }} );
tasks = (
    {{ name = "classify"; type = "classify"; from = "line"; to = "decap"; punt = "arp"; }},
    {{ name = "decap"; type = "qinq_decap"; to = "route"; }},
    {{ name = "route"; type = "route"; to = "core"; punt = "arp"; }},
    {{ name = "find"; type = "classify"; match = "ipv4"; from = "core"; to = "encap"; punt = "arp"; }},
    {{ name = "encap"; type = "qinq_encap"; to = "line"; punt = "arp"; }},
    {{ name = "arp"; type = "arp"; to = ["line", "core"]; route = "own_route"; ra_interval = "30min"; }},
    {{ name = "own_route"; type = "route"; to = "core"; }}
);
layout = ( {{ core = "0"; tasks = ["classify", "decap", "route", "find", "encap", "arp", "own_route"]; }} );
"""


# --- in the namespace of the CPE or of the host ---


def error_of(s):
    """(type, code, information, who says so) of the ICMPv6 error that a socket has got, or None."""
    try:
        control = s.recvmsg(2048, 2048, socket.MSG_ERRQUEUE)[1]
    except OSError:
        return None
    for level, kind, data in control:
        if (level, kind) == (socket.IPPROTO_IPV6, IPV6_RECVERR) and data[4] == SO_EE_ORIGIN_ICMP6:
            return data[5], data[6], struct.unpack_from("=I", data, 8)[0], socket.inet_ntop(socket.AF_INET6, data[24:40])
    return None


def provoke(address, hops=64, size=100):
    """The error about a datagram, sent until there is one."""
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:
        s.setsockopt(socket.IPPROTO_IPV6, IPV6_RECVERR, 1)
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS, hops)
        s.setsockopt(socket.IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO)
        end = time.monotonic() + limit(10)
        while time.monotonic() < end:
            try:
                s.sendto(bytes(size - 48), (address, 33434 + hops))
            except OSError:
                pass  # the error is in the queue
            time.sleep(0.1)
            if (error := error_of(s)) is not None:
                return error
    return None


def receive(address, size):
    """Takes so many bytes of a connection, and says so."""
    with socket.create_server((address, PORT), family=socket.AF_INET6) as server:
        connection = server.accept()[0]
        with connection:
            while size > 0 and (data := connection.recv(65536)):
                size -= len(data)
            connection.sendall(b"done" if size == 0 else b"less")


def send(address, size):
    end = time.monotonic() + limit(20)
    while True:
        try:
            s = socket.create_connection((address, PORT), timeout=limit(20))
            break
        except ConnectionRefusedError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)
    with s:
        s.sendall(bytes(size))
        return s.recv(4) == b"done"


def answer(what, address, number):
    if what == "receive":
        receive(address, number)
    elif what == "send":
        print(json.dumps(send(address, number)))
    else:
        print(json.dumps(provoke(address, **({"hops": number} if what == "hop" else {"size": number}))))


# --- around them ---


def asked(namespace, *words):
    printed = slaac.inside(namespace, sys.executable, "-m", "tests.e2e.icmp6_inside", *map(str, words))
    return json.loads(printed) if printed else None


def mtu_to(namespace, address):
    """What the kernel knows of the path."""
    route = json.loads(slaac.inside(namespace, "ip", "-6", "-j", "route", "get", address) or "[{}]")[0]
    return route.get("mtu") or next((m["mtu"] for m in route.get("metrics", []) if "mtu" in m), None)


def transfers(cpe, core):
    """TCP from the CPE, whose link takes more than the core."""
    taker = subprocess.Popen(["nsenter", "-t", str(core.pid), "-n", sys.executable, "-m", "tests.e2e.icmp6_inside", "receive", SERVER, "300000"])
    try:
        return asked(cpe, "send", SERVER, 300000)
    finally:
        taker.kill()
        taker.wait()


def judge(cpe, core):
    wrong = []
    addresses = slaac.found_itself(cpe)[0]
    if not addresses or not slaac.pings(core, addresses[0]):
        return ["the CPE has no address that answers"]
    for name, namespace, address in (("the CPE", cpe, "fe80::b0:ff:fe00:1%wan"), ("the CPE", cpe, GATEWAY),
                                     ("the CPE", cpe, SERVER4), ("the core", core, CPE4),
                                     ("the core", core, "fe80::b0:ff:fe00:2%far-core"), ("the core", core, GATEWAY)):  # fmt: skip
        if not slaac.pings(namespace, address):
            wrong.append(f"{address} answers no ping of {name}'s")
    for name, namespace, address, hops, expected in (
            ("the CPE", cpe, SERVER, 1, [*TIME_EXCEEDED, 0, GATEWAY]), ("the CPE", cpe, SERVER, 2, [UNREACHABLE, PORT_CODE, 0, SERVER]),
            ("the CPE", cpe, GATEWAY, 1, [UNREACHABLE, PORT_CODE, 0, GATEWAY]),
            ("the core", core, addresses[0], 1, [*TIME_EXCEEDED, 0, GATEWAY]),
            ("the core", core, addresses[0], 2, [UNREACHABLE, PORT_CODE, 0, addresses[0]]),
            ("the CPE", cpe, "2001:db8:c1::1", 9, [UNREACHABLE, 0, 0, GATEWAY])):  # fmt: skip
        got = asked(namespace, "hop", address, hops)
        if got != expected:
            wrong.append(f"{name} to {address} with {hops} hops: {got}, expected {expected}")
    for name, namespace, address, size, mtu in (("the CPE", cpe, SERVER, LINE_MTU, CORE_MTU), ("the core", core, addresses[0], 1450, LINE_MTU)):
        got = asked(namespace, "mtu", address, size)
        if got != [2, 0, mtu, GATEWAY]:
            wrong.append(f"{name} to {address} with {size} bytes: {got}")
        if mtu_to(namespace, address) != mtu:
            wrong.append(f"{name} knows the MTU {mtu_to(namespace, address)} to {address}, expected {mtu}")
    slaac.inside(cpe, "ip", "-6", "route", "flush", "cache")
    if not wrong and not transfers(cpe, core):
        wrong.append("TCP from the CPE does not find the path's MTU")
    return wrong


def main(binary, folder):
    ctx = process.Context(binary, folder)
    with Namespace() as cpe, Namespace() as core:
        relay = slaac.Relay(slaac.make_interfaces(cpe, core))
        gateway = slaac.start(ctx, CONFIGURATION)
        relay.start()
        slaac.set_up(cpe, core)
        cpe.run("ip", "addr", "add", f"{CPE4}/24", "dev", "wan")
        cpe.run("ip", "route", "add", "default", "via", GATEWAY4)
        core.run("ip", "addr", "add", f"{SERVER4}/32", "dev", "far-core")
        core.run("ip", "route", "add", "10.0.0.0/24", "via", "inet6", GATEWAY_AT_CORE, "dev", "far-core")
        wrong = judge(cpe, core)
        wrong += slaac.end(gateway)[1]
        relay.ends = True
        relay.join()
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    if sys.argv[1] in ("hop", "mtu", "receive", "send"):
        answer(sys.argv[1], sys.argv[2], int(sys.argv[3]))
        sys.exit(0)
    sys.exit(main(*sys.argv[1:]))
