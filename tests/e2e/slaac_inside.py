# SPDX-License-Identifier: BSD-3-Clause
"""Runs in a network namespace of its own, where the gateway is; the CPE and a host of the core are the kernel's stacks in two more.

The kernel need not know VLANs: a relay, the access network, gives what the CPE's interface sends two tags.

usage: -m tests.e2e.slaac_inside BINARY FOLDER
       -m tests.e2e.slaac_inside ping ADDRESS SECONDS
"""

import fcntl
import ipaddress
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

from vbnglab.lab import network

from tests.common.limits import limit
from tests.container.namespaces import Namespace
from tests.control import load
from tests.e2e import process
from tests.e2e.packet_socket import PacketSocket

TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000
TAGS = bytes.fromhex("88a80fa081000001")  # 4000.1
GATEWAY_LINE, GATEWAY_CORE, HOST, CPE = "02:b0:00:00:00:01", "02:b0:00:00:00:02", "02:d0:00:00:00:01", "02:c0:00:00:00:01"
PREFIX, SERVER, GATEWAY_AT_CORE = "2001:db8:6000::/64", "2001:db8:c0::2", "fe80::b0:ff:fe00:2"
HOST_AT_CORE = "fe80::d0:ff:fe00:1"  # a next hop, which neighbour discovery resolves
ECHO_REQUEST, ECHO_REPLY, ECHO_REQUEST4, ECHO_REPLY4 = 128, 129, 8, 0
# what the kernels send besides: MLD, probes of their own addresses, solicitations of routers of the core
ALLOWED = {"classify.ipv6_link_local", "find.ipv6_link_local", "arp.nd_foreign", "arp.unresolved", "arp.no_answer"}
HEARD_UNBOUND = {"classify.not_qinq", "find.not_ipv4"}  # the other port's, where both kernels know their ways while a gateway starts

CONFIGURATION = f"""
name = "slaac";
memory = "no-huge";
idle = "sleep";
pools = {{ default = {{ mbufs = "8K"; }}; }};
ports = (
    {{ name = "line"; device = "net_af_packet0,iface=gw-line"; mac = "{GATEWAY_LINE}"; }},
    {{ name = "core"; device = "net_af_packet1,iface=gw-core"; mac = "{GATEWAY_CORE}"; }}
);
subscribers = ( {{ port = "line"; svlan = 4000; cvlan = 1; ipv6 = "{PREFIX}"; }} );
routes = ( {{ prefix = "::/0"; port = "core"; via = "{HOST_AT_CORE}"; }} );
tasks = (
    {{ name = "classify"; type = "classify"; from = "line"; to = "decap"; punt = "arp"; }},
    {{ name = "decap"; type = "qinq_decap"; to = "route"; }},
    {{ name = "route"; type = "route"; to = "core"; punt = "arp"; }},
    {{ name = "find"; type = "classify"; match = "ipv4"; from = "core"; to = "encap"; punt = "arp"; }},
    {{ name = "encap"; type = "qinq_encap"; to = "line"; punt = "arp"; }},
    {{ name = "arp"; type = "arp"; to = ["line", "core"]; ra_interval = "30min"; }}
);
layout = ( {{ core = "0"; tasks = ["classify", "decap", "route", "find", "encap", "arp"]; }} );
"""


def command(*words):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


def tap(name):
    """A file descriptor whose reads and writes are frames of an interface of this name."""
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI))
    return fd


def make_cables(core):
    """The gateway's two ports here, far-line at the other end of one, and far-core of the other, in the core's namespace."""
    for scope in ("all", "default"):
        with open(f"/proc/sys/net/ipv6/conf/{scope}/disable_ipv6", "w", encoding="ascii") as f:
            f.write("1")  # nothing of this namespace's own among the frames
    for port in ("line", "core"):
        command("ip", "link", "add", f"gw-{port}", "mtu", "2000", "type", "veth", "peer", "name", f"far-{port}", "mtu", "2000")
        command("ip", "link", "set", f"gw-{port}", "up")
    network.plain("far-core")  # what a host leaves to its NIC is not there
    command("ip", "link", "set", "far-line", "up")
    command("ip", "link", "set", "far-core", "address", HOST, "netns", str(core.pid))


def make_interfaces(cpe, core):
    make_cables(core)
    fd = tap("wan")
    command("ip", "link", "set", "wan", "address", CPE, "netns", str(cpe.pid))
    return fd


def is_tagged(frame):
    """With the CPE's tags, whatever the priority is."""
    return frame[12:20] == TAGS[:2] + bytes([frame[14] & 0xE0 | TAGS[2]]) + TAGS[3:6] + bytes([frame[18] & 0xE0 | TAGS[6]]) + TAGS[7:]


class Relay(threading.Thread):
    """The access network: it tags what the CPE sends, and takes the tags off what comes for the CPE."""

    def __init__(self, fd):
        super().__init__(daemon=True)
        self.fd, self.line = fd, PacketSocket("far-line")
        self.ends = False

    def run(self):
        while not self.ends:
            ready = select.select([self.fd, self.line.s], [], [], 0.1)[0]
            if self.fd in ready:
                frame = os.read(self.fd, 4096)
                self.line.send(frame[:12] + TAGS + frame[12:])
            if self.line.s in ready and (frame := self.line.receive(0.01)) and is_tagged(frame):
                os.write(self.fd, frame[:12] + frame[20:])


def checksum(data):
    """RFC 1071, of an even number of bytes."""
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF


def request(is_ipv6, sequence):
    """An echo request; the kernel makes the checksum of ICMPv6."""
    message = struct.pack("!BBHHH", ECHO_REQUEST if is_ipv6 else ECHO_REQUEST4, 0, 0, os.getpid() & 0xFFFF, sequence) + bytes(56)
    return message if is_ipv6 else message[:2] + struct.pack("!H", checksum(message)) + message[4:]


def ping(address, seconds):
    """Whether an address of either family answers within so many seconds."""
    is_ipv6 = ":" in address
    family, protocol = (socket.AF_INET6, socket.IPPROTO_ICMPV6) if is_ipv6 else (socket.AF_INET, socket.IPPROTO_ICMP)
    with socket.socket(family, socket.SOCK_RAW, protocol) as s:
        end = time.monotonic() + seconds
        for sequence in range(1 << 16):
            try:
                s.sendto(request(is_ipv6, sequence), (address, 0))
            except OSError:
                pass  # no address or no route yet
            heard = time.monotonic() + 0.2
            while (left := heard - time.monotonic()) > 0:
                s.settimeout(left)
                try:
                    data, source = s.recvfrom(2048)
                except OSError:
                    break
                data = data if is_ipv6 else data[(data[0] & 15) * 4 :]
                if data[0] == (ECHO_REPLY if is_ipv6 else ECHO_REPLY4) and source[0] == address.split("%")[0] and data[4:6] == struct.pack("!H", os.getpid() & 0xFFFF):
                    return True
            if time.monotonic() > end:
                return False
    return False


def inside(namespace, *words):
    """What a command in a namespace prints, or None."""
    done = subprocess.run(["nsenter", "-t", str(namespace.pid), "-n", *words], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def pings(namespace, address):
    return inside(namespace, sys.executable, "-m", "tests.e2e.slaac_inside", "ping", address, str(limit(20))) is not None


def set_up(cpe, core):
    core.run("sh", "-c", "echo 0 >/proc/sys/net/ipv6/conf/far-core/disable_ipv6")
    core.run("ip", "link", "set", "far-core", "up")
    core.run("ip", "addr", "add", f"{SERVER}/64", "dev", "far-core", "nodad")
    core.run("ip", "route", "add", PREFIX, "via", GATEWAY_AT_CORE, "dev", "far-core")
    for name, value in (("disable_ipv6", 0), ("accept_ra", 2), ("autoconf", 1), ("addr_gen_mode", 0)):
        cpe.run("sh", "-c", f"echo {value} >/proc/sys/net/ipv6/conf/wan/{name}")
    cpe.run("ip", "link", "set", "wan", "mtu", "1500", "up")


def found_itself(cpe):
    """The addresses that the CPE has made of the prefix, when they are no longer tentative, and its default routes, when there are some."""
    end = time.monotonic() + limit(20)
    while time.monotonic() < end:
        links = json.loads(inside(cpe, "ip", "-6", "-j", "addr", "show", "dev", "wan", "scope", "global") or "[]")
        addresses = [a["local"] for link in links for a in link.get("addr_info", []) if a.get("dynamic") and not a.get("tentative")]
        routes = json.loads(inside(cpe, "ip", "-6", "-j", "route", "show", "default") or "[]")
        if addresses and routes:
            return addresses, routes
        time.sleep(0.1)
    return [], []


def judge(cpe, core):
    wrong = []
    addresses, routes = found_itself(cpe)
    if not addresses or any(ipaddress.ip_address(a) not in ipaddress.ip_network(PREFIX) for a in addresses):
        wrong.append(f"the CPE has the addresses {addresses}, expected some of {PREFIX}")
    if [r.get("gateway") for r in routes] != ["fe80::b0:ff:fe00:1"]:
        wrong.append(f"the CPE's default routes are {routes}")
    if not wrong and not pings(cpe, SERVER):
        wrong.append("the core does not answer the CPE's pings")
    if not wrong and not pings(core, addresses[0]):
        wrong.append("the CPE does not answer the core's pings")
    return wrong


def start(ctx, configuration, *options):
    """A gateway whose ports are open. A packet socket hears all interfaces until it is bound, so that frames which are sent before are another port's, too."""
    gateway = process.Run(ctx, "--quiet", "--share-cpus", "--control", ctx.path("control"), *options, ctx.write("gateway.cfg", configuration), report=True)
    load.wait_for(gateway.process, ctx.path("control"), 30)
    return gateway


def end(gateway, allowed=ALLOWED):
    """(the figures of the task arp, what is wrong) of a run that is over. allowed: drops that may be."""
    if gateway.process.poll() is None:
        gateway.process.send_signal(signal.SIGTERM)
    if gateway.end(30) != 0:
        return {}, [f"exit status {gateway.status}: {gateway.err}"]
    report = gateway.report()
    wrong = process.ledger_faults(report)
    drops = {f"{t['name']}.{name}": n for t in report["tasks"] for name, n in t["drops"].items() if n}
    if set(drops) - allowed:
        wrong.append(f"drops that nothing explains: {drops}")
    return next(t["stats"] for t in report["tasks"] if t["name"] == "arp"), wrong


def restarted(ctx, cpe, core):
    """A gateway that begins again knows the CPE and the next hop by its state, and asks nobody; the state has the MACs with addresses of IPv6."""
    wrong = []
    with open(ctx.path("state"), encoding="utf-8") as f:
        state = json.load(f)
    cpes, nexthops = ([entry.split() for entry in state[what]] for what in ("cpes", "nexthops"))
    if [entry[:3] for entry in nexthops] != [["core", HOST, HOST_AT_CORE]]:
        wrong.append(f"the state has the next hops {nexthops}")
    if [entry[:3] for entry in cpes] != [["line", "4000.1", CPE]] or ":" not in cpes[0][3]:
        wrong.append(f"the state has the CPEs {cpes}")
    gateway = start(ctx, CONFIGURATION, "--state", ctx.path("state"))
    if not pings(core, found_itself(cpe)[0][0]):
        wrong.append("the CPE does not answer the core's pings after a restart")
    figures, faults = end(gateway, ALLOWED | HEARD_UNBOUND)
    if figures.get("requests") != 0:
        wrong.append(f"the gateway has asked after a restart: {figures}")
    return wrong + faults


def main(binary, folder):
    ctx = process.Context(binary, folder)
    with Namespace() as cpe, Namespace() as core:
        relay = Relay(make_interfaces(cpe, core))
        gateway = start(ctx, CONFIGURATION, "--state", ctx.path("state"))
        relay.start()
        set_up(cpe, core)
        wrong = judge(cpe, core)
        figures, faults = end(gateway)
        wrong += faults
        if not wrong and figures["router_advertisements"] < 1:
            wrong.append(f"the figures of the task arp are {figures}")
        if not wrong:
            wrong = restarted(ctx, cpe, core)
        relay.ends = True
        relay.join()
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    if sys.argv[1] == "ping":
        sys.exit(0 if ping(sys.argv[2], float(sys.argv[3])) else 1)
    sys.exit(main(*sys.argv[1:]))
