# SPDX-License-Identifier: BSD-3-Clause
"""Runs in a network namespace of its own, with vbng and vbng-cp: a CPE that is ISC's dhclient, twice, with the kernel's stack gets its
addresses of IPv4 and IPv6 and a delegated prefix, reaches the core with each, and notices nothing when either is killed.

usage: -m tests.cp.dhclient VBNG VBNG-CP FOLDER [relay]      relay: Kea gives it all
       -m tests.cp.dhclient echo | ask SOURCE...    the host of the core, and who asks it
"""

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time

from tests.common.limits import limit
from tests.container.namespaces import Namespace, answer
from tests.e2e import process
from tests.e2e.slaac_inside import CPE, GATEWAY_AT_CORE, GATEWAY_CORE, GATEWAY_LINE, HOST, Relay, inside, make_interfaces

LEASE_S = 10
# A lost request is said again in a second or two: by default in ten or more, when the lease is over, and a busy machine loses one at each kill.
CLIENT = "initial-interval 1; backoff-cutoff 2;\n"
ECHO_PORT = 7
SO_NO_CHECK = 11  # a packet socket on a veth pair sees checksums that nobody has reckoned yet: UDP goes without
GATEWAY, SERVER, SERVER6 = "10.64.0.1", "198.18.0.2", "2001:db8:c0::2"
USER_PLANE = f"""
name = "dhclient"; memory = "no-huge"; idle = "sleep"; max_subscribers = 100; max_prefixes = 200; punt_socket = "FOLDER/punt";
pools = {{ default = {{ mbufs = "8K"; }}; }};
ports = (
    {{ name = "line"; device = "net_af_packet0,iface=gw-line"; mac = "{GATEWAY_LINE}"; addresses = "{GATEWAY}"; }},
    {{ name = "core"; device = "net_af_packet1,iface=gw-core"; mac = "{GATEWAY_CORE}"; addresses = "198.18.0.1"; }}
);
routes = ( {{ prefix = "198.18.0.0/15"; port = "core"; mac = "{HOST}"; }}, {{ prefix = "2001:db8:c0::/48"; port = "core"; mac = "{HOST}"; }} );
tasks = (
    {{ name = "classify"; type = "classify"; from = "line"; to = "decap"; punt = "arp"; }},
    {{ name = "decap"; type = "qinq_decap"; to = "route"; }},
    {{ name = "route"; type = "route"; to = "core"; punt = "arp"; }},
    {{ name = "find"; type = "classify"; match = "ipv4"; from = "core"; to = "encap"; punt = "arp"; }},
    {{ name = "encap"; type = "qinq_encap"; to = "line"; punt = "arp"; }},
    {{ name = "arp"; type = "arp"; to = ["line", "core"]; }}
);
layout = ( {{ core = "0"; tasks = ["classify", "decap", "route", "find", "encap", "arp"]; }} );
"""
CONTROL_PLANE = f"""
control_socket = "FOLDER/control"; punt_socket = "FOLDER/punt"; store = "FOLDER/store";
pools = ( {{ name = "homes"; prefix = "10.64.0.0/24"; gateway = "{GATEWAY}"; lease_time = "{LEASE_S}s"; }} );
pools6 = ( {{ name = "homes6"; wan = "2001:db8:100::/48"; delegated = "2001:db8:8000::/36"; }} );
access = ( {{ port = "line"; svlan = 4000; pool = "homes"; pool6 = "homes6"; }} );
"""
RELAYED = f"""
control_socket = "FOLDER/control"; punt_socket = "FOLDER/punt"; store = "FOLDER/store";
relays = ( {{ name = "kea"; servers = "127.0.0.1"; giaddr = "127.0.0.2"; }},
           {{ name = "kea6"; servers = "::1"; source = "::1"; source_port = 1547; }} );
pools = ( {{ name = "homes"; prefix = "10.64.0.0/24"; gateway = "{GATEWAY}"; relay = "kea"; }} );
pools6 = ( {{ name = "homes6"; wan = "2001:db8:100::/48"; delegated = "2001:db8:8000::/36"; relay = "kea6"; }} );
access = ( {{ port = "line"; svlan = 4000; pool = "homes"; pool6 = "homes6"; }} );
"""
KEA4 = {"valid-lifetime": LEASE_S, "subnet4": [{"id": 1, "subnet": "10.64.0.0/24", "pools": [{"pool": "10.64.0.10 - 10.64.0.20"}],
                                                "option-data": [{"name": "routers", "data": GATEWAY}]}]}
KEA6 = {"subnet6": [{"id": 1, "subnet": "2001:db8:100::/48", "pools": [{"pool": "2001:db8:100::10-2001:db8:100::20"}],
                     "pd-pools": [{"prefix": "2001:db8:8000::", "prefix-len": 36, "delegated-len": 56}]}]}
SCRIPT = """#!/bin/sh
# what Debian's does, but for /etc
case $reason in
BOUND | RENEW | REBIND | REBOOT)
    ip -4 addr flush dev "$interface"
    ip addr add "$new_ip_address/$new_subnet_mask" dev "$interface"
    ip route add default via "$new_routers" ;;
EXPIRE | FAIL | RELEASE | STOP) ip -4 addr flush dev "$interface" ;;
esac
echo "$reason" >>FOLDER/reasons
"""
SCRIPT6 = """#!/bin/sh
case $reason in
BOUND6 | RENEW6 | REBIND6)
    [ -z "$new_ip6_address" ] || ip addr replace "$new_ip6_address/128" dev "$interface" nodad
    [ -z "$new_ip6_prefix" ] || ip addr replace "${new_ip6_prefix%/*}1/128" dev lo nodad
    [ -z "$new_ip6_address" ] || echo "$new_ip6_address" >FOLDER/address6
    [ -z "$new_ip6_prefix" ] || echo "$new_ip6_prefix" >FOLDER/prefix6 ;;
esac
echo "$reason" >>FOLDER/reasons
"""


def echo():
    """Answer everybody."""
    sockets = [socket.socket(family, socket.SOCK_DGRAM) for family in (socket.AF_INET, socket.AF_INET6)]
    sockets[0].setsockopt(socket.SOL_SOCKET, SO_NO_CHECK, 1)
    sockets[1].setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    for s in sockets:
        s.bind(("", ECHO_PORT))
    while True:
        for s in select.select(sockets, [], [])[0]:
            s.sendto(*s.recvfrom(2048))


def ask(source):
    """Whether the host of the core answers an address of the CPE within a second."""
    family, server = (socket.AF_INET6, SERVER6) if ":" in source else (socket.AF_INET, SERVER)
    with socket.socket(family, socket.SOCK_DGRAM) as s:
        s.settimeout(0.2)
        s.bind((source, 0))
        for i in range(5):
            try:
                s.sendto(bytes([i]), (server, ECHO_PORT))
                s.recv(10)
                return 0
            except OSError:
                time.sleep(0.01)
    return 1


class Case:
    """Both programs, the CPE and a host of the core."""

    def __init__(self, vbng, vbng_cp, folder, cpe, core, control_plane):
        self.ctx, self.vbng_cp, self.folder, self.cpe, self.core = process.Context(vbng, folder), vbng_cp, folder, cpe, core
        self.configs = [self.ctx.write(name, text.replace("FOLDER", folder))
                        for name, text in (("bng.cfg", USER_PLANE), ("cp.cfg", control_plane))]
        self.ctx.write("dhclient.conf", CLIENT)
        self.log = open(self.ctx.path("log"), "w+", encoding="utf-8")  # noqa: SIM115
        self.user_plane = self.control_plane = None
        self.clients = []
        self.wrong = []

    def start_user_plane(self):
        self.user_plane = process.Run(self.ctx, "--quiet", "--share-cpus", "--control", self.ctx.path("control"), self.configs[0], report=True)

    def start_control_plane(self):
        self.control_plane = subprocess.Popen([self.vbng_cp, self.configs[1]], stderr=self.log, preexec_fn=process.end_with_parent)

    def dhclient(self, family, *options):
        """The command that runs a client of a family."""
        both = ["-N", "-P"] if family == 6 else []  # IA_NA and IA_PD
        return ["nsenter", "-t", str(self.cpe.pid), "-n", "dhclient", f"-{family}", *both, *options, "-sf", self.ctx.path(f"script{family}"), "-lf",
                self.ctx.path(f"leases{family}"), "-pf", self.ctx.path(f"pid{family}"), "-cf", self.ctx.path("dhclient.conf"), "wan"]

    def has_link_local(self):
        """The CPE's kernel has made sure that its address is nobody else's: dhclient -6 gives up without one."""
        links = json.loads(inside(self.cpe, "ip", "-6", "-j", "addr", "show", "dev", "wan", "scope", "link", "-tentative") or "[]")
        return any(link.get("addr_info") for link in links)

    def start_clients(self):
        self.until("the CPE gets no link-local address", self.has_link_local)
        for family, script in ((4, SCRIPT), (6, SCRIPT6)):
            os.chmod(self.ctx.write(f"script{family}", script.replace("FOLDER", self.folder)), 0o755)
        self.clients = [self.start_client(4), self.start_client(6)]

    def start_client(self, family):
        return subprocess.Popen(self.dhclient(family, "-d"), stdout=subprocess.DEVNULL, stderr=self.log, preexec_fn=process.end_with_parent)

    def restart_client6(self, when):
        """A CPE that was without power finds what it had. Its client would not renew in time for a test: it says a lost Renew again after 10 s
        (RFC 8415 section 7.6)."""
        before = self.reasons("REBIND6")
        self.clients[1].kill()
        self.clients[1].wait()
        self.clients[1] = self.start_client(6)
        self.until(f"{when}: the leases of IPv6 are not bound again", lambda: self.reasons("REBIND6") >= before + 2)

    def release(self):
        for client in self.clients:
            client.terminate()
            client.wait()
        for family in (4, 6):
            subprocess.run(self.dhclient(family, "-r"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)

    def until(self, what, condition, seconds=30):
        """Whether a condition becomes true; if not, what is wrong."""
        end = time.monotonic() + limit(seconds)
        while not condition():
            if time.monotonic() > end:
                self.wrong.append(what)
                return False
            time.sleep(0.1)
        return True

    def addresses(self):
        """The CPE's: of IPv4, of IA_NA, and the first of the delegated prefix; None while one is not there."""
        links = json.loads(inside(self.cpe, "ip", "-4", "-j", "addr", "show", "dev", "wan") or "[]")
        ipv4 = next((a["local"] for link in links for a in link.get("addr_info", [])), None)
        found = [ipv4]
        for name in ("address6", "prefix6"):
            try:
                with open(self.ctx.path(name), encoding="ascii") as f:
                    found.append(f.read().strip().replace("::/56", "::1"))
            except FileNotFoundError:
                found.append(None)
        return found if all(found) else None

    def reaches_core(self):
        """With each of them; by one process, for a lease may end while several begin."""
        sources = self.addresses()
        return sources is not None and inside(self.cpe, sys.executable, "-m", "tests.cp.dhclient", "ask", *sources) is not None

    def reasons(self, reason):
        try:
            with open(self.ctx.path("reasons"), encoding="ascii") as f:
                return f.read().split().count(reason)
        except FileNotFoundError:
            return 0

    def logged(self, text):
        with open(self.ctx.path("log"), encoding="utf-8") as f:
            return text in f.read()

    def renews(self, when):
        """The lease of IPv4 is renewed once more, which is at half of it, those of IPv6 are bound again, and the core is still reached."""
        before = self.reasons("RENEW")
        if self.until(f"{when}: the lease is not renewed", lambda: self.reasons("RENEW") > before, 3 * LEASE_S):
            self.restart_client6(when)
            self.until(f"{when}: the core cannot be reached", self.reaches_core, 10)
        counts = {r: self.reasons(r) for r in ("BOUND", "BOUND6", "EXPIRE", "EXPIRE6", "REBOOT")}
        if counts != {"BOUND": 1, "BOUND6": 2, "EXPIRE": 0, "EXPIRE6": 0, "REBOOT": 0}:
            self.wrong.append(f"{when}: a client had to ask again: {counts}")

    def judge(self):
        self.start_user_plane()
        self.start_control_plane()
        self.start_clients()
        if not self.until("the clients get not all addresses", self.addresses):
            return
        first = self.addresses()
        self.until("the core cannot be reached", self.reaches_core)
        self.renews("undisturbed")
        self.control_plane.kill()
        self.control_plane.wait()
        if not self.reaches_core():
            self.wrong.append("without a control plane the core cannot be reached")
        self.start_control_plane()
        self.renews("after the control plane was killed")
        self.user_plane.process.kill()
        self.user_plane.end()
        self.start_user_plane()
        self.renews("after the user plane was killed")
        if self.addresses() != first:
            self.wrong.append(f"the clients had {first} and have {self.addresses()}")
        self.release()
        self.until("the first release is not noticed", lambda: self.logged(f"{first[0]} ends: released"))
        self.until("the last release is not noticed", lambda: self.logged("/56: released"))

    def end(self):
        for p in (*self.clients, self.control_plane):
            if p is not None and p.poll() is None:
                p.terminate()
                p.wait(limit(10))
        if self.user_plane is not None:
            self.user_plane.process.send_signal(signal.SIGTERM)
            status = self.user_plane.end(30)
            self.wrong += process.ledger_faults(self.user_plane.report()) if status == 0 else [f"vbng: status {status}: {self.user_plane.err}"]
        if self.wrong:
            self.log.seek(0)
            self.wrong.append(self.log.read())


def case(vbng, vbng_cp, folder, relayed=None):
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        return "there is no /dev/net/tun here"
    if not relayed:
        return lines(vbng, vbng_cp, folder, CONTROL_PLANE)
    from tests.cp.kea import Kea  # what the others need not have

    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    with contextlib.ExitStack() as servers:
        for family, port, config in ((4, 67, KEA4), (6, 547, KEA6)):
            servers.callback(Kea(folder, family, port, **config).close)
        return lines(vbng, vbng_cp, folder, RELAYED)


def lines(vbng, vbng_cp, folder, control_plane):
    with Namespace() as cpe, Namespace() as core:
        relay = Relay(make_interfaces(cpe, core))
        with open("/proc/sys/net/ipv6/conf/lo/disable_ipv6", "w", encoding="ascii") as f:
            f.write("0")  # the servers' host is this one
        relay.start()
        core.run("ip", "link", "set", "far-core", "up")
        core.run("ip", "addr", "add", f"{SERVER}/24", "dev", "far-core")
        core.run("ip", "route", "add", "10.64.0.0/24", "via", "198.18.0.1", "dev", "far-core")
        core.run("sh", "-c", "echo 0 >/proc/sys/net/ipv6/conf/far-core/disable_ipv6")
        core.run("ip", "addr", "add", f"{SERVER6}/64", "dev", "far-core", "nodad")
        core.run("ip", "route", "add", "2001:db8::/32", "via", GATEWAY_AT_CORE, "dev", "far-core")
        for name, value in (("disable_ipv6", 0), ("accept_ra", 2), ("autoconf", 1), ("addr_gen_mode", 0)):
            cpe.run("sh", "-c", f"echo {value} >/proc/sys/net/ipv6/conf/wan/{name}")
        cpe.run("sh", "-c", "echo 0 >/proc/sys/net/ipv6/conf/lo/disable_ipv6")
        cpe.run("ip", "link", "set", "lo", "up")
        cpe.run("ip", "link", "set", "wan", "address", CPE, "up")
        done = Case(vbng, vbng_cp, folder, cpe, core, control_plane)
        host = subprocess.Popen(["nsenter", "-t", str(core.pid), "-n", sys.executable, "-m", "tests.cp.dhclient", "echo"],
                                preexec_fn=process.end_with_parent)
        try:
            done.judge()
        finally:
            done.end()
            host.kill()
            host.wait()
            relay.ends = True
            relay.join()
    return done.wrong


if __name__ == "__main__":
    if sys.argv[1:] == ["echo"]:
        echo()
    if sys.argv[1:2] == ["ask"]:
        sys.exit(any(ask(source) for source in sys.argv[2:]))
    sys.exit(answer(case, *sys.argv[1:]))
