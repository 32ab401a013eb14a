# SPDX-License-Identifier: BSD-3-Clause
"""Runs in a network namespace of its own, with vbng and vbng-cp: a CPE that is ISC's dhclient with the kernel's stack gets its address,
reaches the core, and notices nothing when either is killed.

usage: -m tests.cp.dhclient VBNG VBNG-CP FOLDER
       -m tests.cp.dhclient echo | ask    the host of the core, and who asks it
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time

from tests.common.limits import limit
from tests.container.namespaces import Namespace, answer
from tests.e2e import process
from tests.e2e.slaac_inside import CPE, GATEWAY_CORE, GATEWAY_LINE, HOST, Relay, inside, make_interfaces

LEASE_S = 6
ECHO_PORT = 7
SO_NO_CHECK = 11  # a packet socket on a veth pair sees checksums that nobody has reckoned yet: UDP goes without
GATEWAY, SERVER = "10.64.0.1", "198.18.0.2"
USER_PLANE = f"""
name = "dhclient"; memory = "no-huge"; idle = "sleep"; max_subscribers = 100; punt_socket = "FOLDER/punt";
pools = {{ default = {{ mbufs = "8K"; }}; }};
ports = (
    {{ name = "line"; device = "net_af_packet0,iface=gw-line"; mac = "{GATEWAY_LINE}"; addresses = "{GATEWAY}"; }},
    {{ name = "core"; device = "net_af_packet1,iface=gw-core"; mac = "{GATEWAY_CORE}"; addresses = "198.18.0.1"; }}
);
routes = ( {{ prefix = "198.18.0.0/15"; port = "core"; mac = "{HOST}"; }} );
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
access = ( {{ port = "line"; svlan = 4000; pool = "homes"; }} );
"""
SCRIPT = """#!/bin/sh
# what Debian's does, but for /etc
case $reason in
BOUND | RENEW | REBIND | REBOOT)
    ip addr flush dev "$interface"
    ip addr add "$new_ip_address/$new_subnet_mask" dev "$interface"
    ip route add default via "$new_routers" ;;
EXPIRE | FAIL | RELEASE | STOP) ip addr flush dev "$interface" ;;
esac
echo "$reason" >>FOLDER/reasons
"""


def echo():
    """Answer everybody."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.setsockopt(socket.SOL_SOCKET, SO_NO_CHECK, 1)
        s.bind(("", ECHO_PORT))
        while True:
            s.sendto(*s.recvfrom(2048))


def ask():
    """Whether the host of the core answers within a second."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(0.2)
        for i in range(5):
            try:
                s.sendto(bytes([i]), (SERVER, ECHO_PORT))
                s.recv(10)
                return 0
            except OSError:
                time.sleep(0.01)
    return 1


class Case:
    """Both programs, the CPE and a host of the core."""

    def __init__(self, vbng, vbng_cp, folder, cpe, core):
        self.ctx, self.vbng_cp, self.folder, self.cpe, self.core = process.Context(vbng, folder), vbng_cp, folder, cpe, core
        self.configs = [self.ctx.write(name, text.replace("FOLDER", folder))
                        for name, text in (("bng.cfg", USER_PLANE), ("cp.cfg", CONTROL_PLANE))]
        self.log = open(self.ctx.path("log"), "w+", encoding="utf-8")  # noqa: SIM115
        self.user_plane = self.control_plane = self.client = None
        self.wrong = []

    def start_user_plane(self):
        self.user_plane = process.Run(self.ctx, "--quiet", "--share-cpus", "--control", self.ctx.path("control"), self.configs[0], report=True)

    def start_control_plane(self):
        self.control_plane = subprocess.Popen([self.vbng_cp, self.configs[1]], stderr=self.log, preexec_fn=process.end_with_parent)

    def start_client(self):
        script = self.ctx.write("script", SCRIPT.replace("FOLDER", self.folder))
        os.chmod(script, 0o755)
        self.dhclient = ["nsenter", "-t", str(self.cpe.pid), "-n", "dhclient", "-4", "-d", "-sf", script, "-lf", self.ctx.path("leases"),
                         "-pf", self.ctx.path("pid"), "-cf", "/dev/null", "wan"]
        self.client = subprocess.Popen(self.dhclient, stdout=subprocess.DEVNULL, stderr=self.log, preexec_fn=process.end_with_parent)

    def until(self, what, condition, seconds=30):
        """Whether a condition becomes true; if not, what is wrong."""
        end = time.monotonic() + limit(seconds)
        while not condition():
            if time.monotonic() > end:
                self.wrong.append(what)
                return False
            time.sleep(0.1)
        return True

    def address(self):
        links = json.loads(inside(self.cpe, "ip", "-4", "-j", "addr", "show", "dev", "wan") or "[]")
        return next((a["local"] for link in links for a in link.get("addr_info", [])), None)

    def reaches_core(self):
        return inside(self.cpe, sys.executable, "-m", "tests.cp.dhclient", "ask") is not None

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
        """The client renews its lease once more, which is at half of it, and still reaches the core."""
        before = self.reasons("RENEW")
        if self.until(f"{when}: the lease is not renewed", lambda: self.reasons("RENEW") > before, 3 * LEASE_S):
            self.until(f"{when}: the core cannot be reached", self.reaches_core, 10)
        if self.reasons("BOUND") != 1 or self.reasons("EXPIRE") or self.reasons("REBOOT"):
            self.wrong.append(f"{when}: the client had to ask again")

    def judge(self):
        self.start_user_plane()
        self.start_control_plane()
        self.start_client()
        if not self.until("the client gets no address", self.address):
            return
        first = self.address()
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
        if self.address() != first:
            self.wrong.append(f"the client had {first} and has {self.address()}")
        self.client.terminate()
        self.client.wait()
        inside(self.cpe, *self.dhclient[4:6], "-r", *self.dhclient[7:])
        self.until("a release is not noticed", lambda: self.logged(f"ends, {first}: released"))

    def end(self):
        for p in (self.client, self.control_plane):
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


def case(vbng, vbng_cp, folder):
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        return "there is no /dev/net/tun here"
    with Namespace() as cpe, Namespace() as core:
        relay = Relay(make_interfaces(cpe, core))
        relay.start()
        core.run("ip", "link", "set", "far-core", "up")
        core.run("ip", "addr", "add", f"{SERVER}/24", "dev", "far-core")
        core.run("ip", "route", "add", "10.64.0.0/24", "via", "198.18.0.1", "dev", "far-core")
        cpe.run("ip", "link", "set", "wan", "address", CPE, "up")
        done = Case(vbng, vbng_cp, folder, cpe, core)
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
    if sys.argv[1:] == ["ask"]:
        sys.exit(ask())
    sys.exit(answer(case, *sys.argv[1:]))
