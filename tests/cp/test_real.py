# SPDX-License-Identifier: BSD-3-Clause
"""All of it for real: a CPE on a line of vbng, vbng-cp behind its sockets, and FreeRADIUS, which lets the CPE in, changes its profile under
load, and ends its session."""

import json
import os
import signal
import socket
import subprocess
import threading
import time

import pytest

from tests.common import need

need.module("scapy", "python3-scapy")

from scapy.layers.dhcp import BOOTP, DHCP  # noqa: E402
from scapy.layers.inet import IP, UDP  # noqa: E402
from scapy.layers.l2 import Ether  # noqa: E402

from tests.common.limits import limit  # noqa: E402
from tests.cp.client import ACK, OFFER, option, program  # noqa: E402
from tests.e2e import process  # noqa: E402
from tests.e2e.packet_socket import PacketSocket  # noqa: E402
from tests.radius.freeradius import COA_SECRET, SECRET, free_ports, freeradius, radclient  # noqa: E402

GATEWAY, CORE, HOST, CPE = "02:b0:00:00:00:01", "02:b0:00:00:00:02", "02:d0:00:00:00:01", "02:00:00:00:00:01"
TAGS = bytes.fromhex("88a8006481000007")  # 100.7
FRAMES, IN_FLIGHT = 1000, 40

USERPLANE = f"""
name = "real"; memory = "no-huge"; idle = "sleep"; max_subscribers = "64"; max_routes = "16";
punt_socket = "FOLDER/p";
pools = {{ default = {{ mbufs = "16K"; overcommit = true; }}; }};
ports = (
    {{ name = "line"; device = "net_af_packet0,iface=gw-line"; mac = "{GATEWAY}"; addresses = "10.64.0.1"; on_full = "wait"; }},
    {{ name = "core"; device = "net_af_packet1,iface=gw-core"; mac = "{CORE}"; addresses = "192.0.2.1"; on_full = "wait"; }}
);
qos = {{
    profiles = {{ home-50M = {{ rate = "50M"; }}; gold = {{ rate = "200M"; }}; silver = {{ rate = "100M"; }}; }};
    dscp_maps = {{ ip = {{ queues = ( {{ dscp = "46"; class = "0"; }} ); default = {{ class = "be"; }}; }}; }};
    schedulers = {{ acc = {{ ports = "line"; dscp_map = "ip"; rate = "1G"; subports = ( {{ name = "all"; port = "line"; svlan = "1-4094"; }} );
        classes = ( {{ class = "0"; queue = 64; }}, {{ class = "be"; queue = 64; }} ); }}; }};
}};
routes = ( {{ prefix = "0.0.0.0/0"; port = "core"; mac = "{HOST}"; }} );
tasks = (
    {{ name = "classify"; type = "classify"; from = "line"; to = "count_up"; scheduler = "acc"; punt = "arp"; }},
    {{ name = "count_up"; type = "account"; direction = "up"; to = "up"; }},
    {{ name = "up"; type = "qos"; scheduler = "acc"; direction = "up"; to = "decap"; }},
    {{ name = "decap"; type = "qinq_decap"; to = "route"; }},
    {{ name = "route"; type = "route"; to = "core"; punt = "arp"; }},
    {{ name = "find"; type = "classify"; match = "ipv4"; from = "core"; to = "encap"; scheduler = "acc"; punt = "arp"; }},
    {{ name = "encap"; type = "qinq_encap"; to = "down"; punt = "arp"; }},
    {{ name = "down"; type = "qos"; scheduler = "acc"; direction = "down"; to = "count_down"; }},
    {{ name = "count_down"; type = "account"; direction = "down"; to = "line"; }},
    {{ name = "arp"; type = "arp"; to = ["line", "core"]; ra = false; }}
);
layout = ( {{ core = "0"; tasks = ["classify", "count_up", "up", "decap", "route", "find", "encap", "down", "count_down", "arp"]; }} );
"""

CONTROL_PLANE = f"""
control_socket = "FOLDER/c"; punt_socket = "FOLDER/p"; store = "FOLDER/store.db";
pools = ( {{ name = "homes"; prefix = "10.64.0.0/24"; gateway = "10.64.0.1"; }} );
access = ( {{ port = "line"; svlan = 100; pool = "homes"; profile = "home-50M"; }} );
radius = {{
    nas_identifier = "bng1"; timeout = "5s"; password = "vbng"; accounting = true;
    servers = ( {{ address = "127.0.0.1"; secret = "{SECRET}"; authentication_port = PORT; accounting_port = ACCOUNTING; }} );
    coa = {{ address = "127.0.0.1"; port = COA; clients = ( {{ address = "127.0.0.1"; secret = "{COA_SECRET}"; }} ); }};
}};
"""

USERS = f"""
{CPE} Cleartext-Password := "vbng"
    Filter-Id = "gold",
    Framed-IP-Address = 10.64.0.77
"""


@pytest.fixture(autouse=True)
def network(own_network):
    for scope in ("all", "default"):
        with open(f"/proc/sys/net/ipv6/conf/{scope}/disable_ipv6", "w", encoding="ascii") as f:
            f.write("1")
    commands = ["link set lo up"]
    for port in ("line", "core"):
        commands += [f"link add gw-{port} mtu 2000 type veth peer name far-{port} mtu 2000", f"link set gw-{port} up",
                     f"link set far-{port} up"]
    for words in commands:
        subprocess.run(["ip", *words.split(" ")], check=True)


class Gateway:
    """vbng and vbng-cp; what is wrong with the end of vbng is in wrong."""

    def __init__(self, vbng, build, folder, server, coa, extra=""):
        self.folder = str(folder)
        self.ctx, self.program = process.Context(vbng, self.folder), program(build)
        text = CONTROL_PLANE.replace("FOLDER", self.folder).replace("PORT", str(server.authentication)).replace("ACCOUNTING", str(server.accounting))
        text = text.replace("COA", str(coa))
        self.configs = [self.ctx.write("vbng.cfg", USERPLANE.replace("FOLDER", self.folder)), self.ctx.write("cp.cfg", text + extra)]
        self.log = self.ctx.path("log")
        self.start_userplane()
        self.start_controlplane()

    def start_userplane(self):
        self.run = process.Run(self.ctx, "--quiet", "--share-cpus", "--control", self.ctx.path("c"), self.configs[0], report=True)

    def restart_userplane(self):
        """Kill vbng, and wait until vbng-cp has told another of the session."""
        before = self.compared
        self.run.process.kill()
        self.run.process.wait()
        self.start_userplane()
        self.until(lambda: self.compared > before and self.subscriber())

    def start_controlplane(self):
        before = self.compared
        with open(self.log, "ab") as log:
            self.cp = subprocess.Popen([self.program, self.configs[1]], stderr=log)
        self.until(lambda: self.compared > before)

    @property
    def compared(self):
        return self.text().count("compared with vbng") if os.path.exists(self.log) else 0

    def text(self):
        with open(self.log, encoding="utf-8") as f:
            return f.read()

    def until(self, condition):
        end = time.monotonic() + limit(60)
        while not condition():
            assert self.cp.poll() is None and time.monotonic() < end, self.text()
            assert self.run.process.poll() is None, self.end()
            time.sleep(0.02)

    def ask(self, **request):
        """What vbng's control socket answers."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
            s.settimeout(limit(20))
            s.connect(os.path.join(self.folder, "c"))
            s.sendall(json.dumps(request).encode() + b"\n")
            return json.loads(s.makefile().readline())

    def subscriber(self):
        found = self.ask(cmd="list-subscribers")["subscribers"]
        return found[0] if found else None

    def end(self):
        """What is wrong with the ledger."""
        self.cp.terminate()
        self.cp.wait(limit(20))
        self.run.process.send_signal(signal.SIGTERM)
        if self.run.end(30) != 0:
            return [f"exit status {self.run.status}: {self.run.err}"]
        return process.ledger_faults(self.run.report())


class Cpe:
    def __init__(self):
        self.line, self.core = PacketSocket("far-line"), PacketSocket("far-core")
        self.address = "0.0.0.0"

    def send(self, frame):
        raw = bytes(frame)
        self.line.send(raw[:12] + TAGS + raw[12:])

    def dhcp(self, kind, wanted, *options):
        """The answer of a kind to a message, which is repeated, as by a real client, until there is one."""
        message = (Ether(src=CPE, dst="ff:ff:ff:ff:ff:ff") / IP(src="0.0.0.0", dst="255.255.255.255") / UDP(sport=68, dport=67)
                   / BOOTP(chaddr=bytes.fromhex(CPE.replace(":", "")), xid=7) / DHCP(options=[("message-type", kind), *options, "end"]))
        end = time.monotonic() + limit(30)
        while time.monotonic() < end:
            self.send(message)
            while frame := self.line.receive(1):
                reply = Ether(frame[:12] + frame[20:])
                if frame[12:20] == TAGS and DHCP in reply and option(reply, "message-type") == wanted:
                    return reply
        raise AssertionError("no answer")

    def get(self):
        """Get an address by DHCP."""
        offer = self.dhcp("discover", OFFER)
        ack = self.dhcp("request", ACK, ("requested_addr", offer[BOOTP].yiaddr), ("server_id", option(offer, "server_id")))
        self.address = ack[BOOTP].yiaddr

    def upload(self, n, seconds=5):
        """Send n frames, with so many in flight that no buffer is too small. Returns the numbers of those that arrive at the core."""
        arrived = []
        frame = bytes(Ether(src=CPE, dst=GATEWAY) / IP(src=self.address, dst="198.18.0.1") / UDP(sport=1, dport=2) / bytes(200))
        for i in range(n):
            self.send(frame[:42] + i.to_bytes(4, "big") + frame[46:])
            if i % IN_FLIGHT == IN_FLIGHT - 1 or i == n - 1:
                while len(arrived) <= i and (got := self.core.receive(limit(seconds))):
                    if got[30:34] == bytes([198, 18, 0, 1]):
                        arrived.append(int.from_bytes(got[42:46], "big"))
        return arrived


@pytest.mark.limit(240)
def test_a_session_from_begin_to_end(vbng, build, folder):
    """FreeRADIUS gives the profile and the address; a CoA-Request changes the profile while frames flow, and none is lost or overtaken; a
    Disconnect-Request ends the session, whose octets FreeRADIUS is told to the byte. The ledger balances."""
    coa, = free_ports(1)
    with freeradius(folder / "radius", users=USERS) as server:
        gateway, cpe = Gateway(vbng, build, folder, server, coa), Cpe()
        try:
            cpe.get()
            assert cpe.address == "10.64.0.77" and gateway.subscriber()["profile"] == "gold"

            said = []
            at = {"Event-Timestamp": int(time.time()), "Calling-Station-Id": f'"{CPE}"'}

            def change():
                for profile in ("silver", "gold", "home-50M"):
                    said.append(radclient(coa, "coa", {**at, "Filter-Id": f'"{profile}"'}))

            changing = threading.Thread(target=change)
            changing.start()
            sent, arrived = 0, []
            while changing.is_alive() or sent == 0:
                arrived += [sent + i for i in cpe.upload(FRAMES)]
                sent += FRAMES
            changing.join()
            assert arrived == list(range(sent)), f"{sent} sent, {len(arrived)} arrived"
            assert all("Received CoA-ACK" in s for s in said), said
            assert gateway.subscriber()["profile"] == "home-50M"

            said = radclient(coa, "disconnect", at)
            assert "Received Disconnect-ACK" in said, said
            gateway.until(lambda: gateway.subscriber() is None)
            gateway.until(lambda: [r["Acct-Status-Type"] for r in server.records()] == ["Accounting-On", "Start", "Stop"])
            up = gateway.ask(cmd="show-directions")["directions"]["up"]
            _, start, stop = server.records()
            assert start["Acct-Session-Id"] == stop["Acct-Session-Id"] and stop["Acct-Terminate-Cause"] == "Admin-Reset"
            assert (int(stop["Acct-Input-Octets"]), int(stop["Acct-Input-Packets"])) == (up["ipv4_bytes"], up["ipv4_packets"])
            assert up["ipv4_packets"] == sent and int(stop["Acct-Output-Octets"]) == 0
            assert cpe.upload(1, 0.1) == []
        finally:
            wrong = gateway.end()
    assert wrong == []
