# SPDX-License-Identifier: BSD-3-Clause
"""Runs in a network namespace of its own, where the gateway is; a CPE in a PPPoE session and a host of the core are the kernel's stacks in
two more. This program is the CPE's PPP (the kernel need not know it), the access network, and the control plane.

usage: -m tests.e2e.pppoe_inside BINARY FOLDER
       -m tests.e2e.pppoe_inside serve
       -m tests.e2e.pppoe_inside fetch ADDRESS
"""

import fcntl
import hashlib
import json
import os
import select
import socket
import struct
import subprocess
import sys
import threading
import time

from scapy.layers.ppp import PPP_LCP_Echo, PPPoE
from scapy.packet import Raw

from tests.common.limits import limit
from tests.container.namespaces import Namespace
from tests.control import load, punting
from tests.e2e import process
from tests.e2e.packet_socket import PacketSocket
from tests.e2e.slaac_inside import CPE, GATEWAY_CORE, GATEWAY_LINE, HOST, IFF_NO_PI, TAGS, TUNSETIFF, command, end, inside, is_tagged, make_cables

IFF_TUN = 0x0001
SESSION, MAGIC_OURS, MAGIC_CPE = 0x1234, 0xCAFE0001, 0xBEEF0002
OF_SESSION, IPV4, IPV6, LCP = b"\x88\x64", 0x0021, 0x0057, 0xC021
CPE4, CPE6, SERVER4, SERVER6 = "10.64.0.7", "2001:db8:6000::7", "192.0.2.2", "2001:db8:c0::2"
GATEWAY4, GATEWAY6 = "192.0.2.1", "fe80::b0:ff:fe00:2"
PORT, SIZE, SEED = 8080, 300000, b"0123456789abcdef"
MSS = {"10.": 1492 - 40, "200": 1492 - 60}  # by the first letters of an address
ECHO_S = 1

CONFIGURATION = """
name = "pppoe"; memory = "no-huge"; idle = "sleep"; punt_socket = "{folder}/punt.sock"; max_subscribers = 16; max_prefixes = 16;
pools = {{ default = {{ mbufs = "8K"; }}; }};
ports = (
    {{ name = "line"; device = "net_af_packet0,iface=gw-line"; mac = "{line}"; addresses = "10.64.0.1"; }},
    {{ name = "core"; device = "net_af_packet1,iface=gw-core"; mac = "{core}"; addresses = "{gateway4}"; }}
);
routes = ( {{ prefix = "0.0.0.0/0"; port = "core"; mac = "{host}"; }}, {{ prefix = "::/0"; port = "core"; mac = "{host}"; }} );
tasks = (
    {{ name = "classify"; type = "classify"; from = "line"; to = "decap"; punt = "arp"; }},
    {{ name = "decap"; type = "qinq_decap"; to = "route"; }},
    {{ name = "route"; type = "route"; to = "core"; punt = "arp"; }},
    {{ name = "find"; type = "classify"; match = "ipv4"; from = "core"; to = "encap"; punt = "arp"; }},
    {{ name = "encap"; type = "qinq_encap"; to = "line"; punt = "arp"; }},
    {{ name = "arp"; type = "arp"; to = ["line", "core"]; ra = false; echo = "{echo}s"; }}
);
layout = ( {{ core = "0"; tasks = ["classify", "decap", "route", "find", "encap", "arp"]; }} );
"""
SUBSCRIBER = {"port": "line", "svlan": 4000, "cvlan": 1, "ipv4": CPE4 + "/32", "ipv6": "2001:db8:6000::/64",
              "pppoe": {"session": SESSION, "mac": CPE, "mtu": 1492, "magic": MAGIC_OURS}}
# what the kernels send besides: MLD, probes of their own addresses, a solicitation of routers, and what is sent before there is a subscriber
ALLOWED = {"classify.ipv6_link_local", "find.ipv6_link_local", "arp.nd_foreign", "classify.unknown_subscriber", "arp.ra_off"}


def mac_bytes(mac):
    return bytes.fromhex(mac.replace(":", ""))


def session_frame(packet, protocol):
    """What a CPE sends, by Scapy's header of PPPoE."""
    payload = bytes(PPPoE(sessionid=SESSION) / Raw(protocol.to_bytes(2, "big") + packet))
    return mac_bytes(GATEWAY_LINE) + mac_bytes(CPE) + TAGS + OF_SESSION + payload


class Ppp(threading.Thread):
    """The CPE's end: what its interface sends goes into the session, what comes in it to the interface. Echoes are answered as long as it
    is alive; what is wrong with a frame is in wrong."""

    def __init__(self, fd):
        super().__init__(daemon=True)
        self.fd, self.line, self.ends, self.alive = fd, PacketSocket("far-line"), False, True
        self.wrong, self.asked, self.answers = [], [], []

    def run(self):
        while not self.ends:
            ready = select.select([self.fd, self.line.s], [], [], 0.1)[0]
            if self.fd in ready:
                packet = os.read(self.fd, 4096)
                self.line.send(session_frame(packet, IPV6 if packet[0] >> 4 == 6 else IPV4))
            if self.line.s in ready and (frame := self.line.receive(0.01)) and frame[6:12] == mac_bytes(GATEWAY_LINE):
                self.receive(frame)

    def receive(self, frame):
        pppoe = PPPoE(frame[22:])
        body = frame[30 : 28 + pppoe.len]
        if not is_tagged(frame) or frame[:6] != mac_bytes(CPE) or frame[20:22] != OF_SESSION or pppoe.sessionid != SESSION or pppoe.code != 0:
            self.wrong.append(f"a frame of no session: {frame.hex()}")
        elif frame[28:30] == LCP.to_bytes(2, "big"):
            self.lcp(PPP_LCP_Echo(body))
        elif frame[28:30] in (IPV4.to_bytes(2, "big"), IPV6.to_bytes(2, "big")) and self.alive:
            os.write(self.fd, body)

    def lcp(self, echo):
        if echo.code == 10:
            self.answers.append((echo.id, echo.magic_number, echo.data))
            return
        self.asked.append((echo.code, echo.magic_number))
        if self.alive:
            self.line.send(session_frame(bytes(PPP_LCP_Echo(code=10, id=echo.id, magic_number=MAGIC_CPE)), LCP))

    def ask(self, number, data):
        self.line.send(session_frame(bytes(PPP_LCP_Echo(code=9, id=number, magic_number=MAGIC_CPE, data=data)), LCP))


def make_interfaces(cpe, core):
    make_cables(core)
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", b"ppp0", IFF_TUN | IFF_NO_PI))
    command("ip", "link", "set", "ppp0", "netns", str(cpe.pid))
    for namespace, interface in ((cpe, "ppp0"), (core, "far-core")):
        namespace.run("sh", "-c", f"echo 0 >/proc/sys/net/ipv6/conf/{interface}/disable_ipv6; echo 0 >/proc/sys/net/ipv4/tcp_timestamps")
        namespace.run("ip", "link", "set", interface, "mtu", "1500", "up")
    cpe.run("ip", "addr", "add", CPE4, "dev", "ppp0")
    cpe.run("ip", "addr", "add", CPE6 + "/128", "dev", "ppp0", "nodad")
    core.run("ip", "addr", "add", SERVER4 + "/24", "dev", "far-core")
    core.run("ip", "addr", "add", SERVER6 + "/64", "dev", "far-core", "nodad")
    cpe.run("ip", "route", "add", "default", "dev", "ppp0")
    cpe.run("ip", "-6", "route", "add", "default", "dev", "ppp0")
    core.run("ip", "route", "add", CPE4, "via", GATEWAY4)
    core.run("ip", "-6", "route", "add", CPE6, "via", GATEWAY6, "dev", "far-core")
    return fd


def segment_size(s):
    return s.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG)


def data():
    return (SEED * (SIZE // len(SEED) + 1))[:SIZE]


def serve():
    """Says its segment size to each client, then all that it has, and takes as much."""
    with socket.create_server(("::", PORT), family=socket.AF_INET6, dualstack_ipv6=True) as server:
        print("ready", flush=True)
        while True:
            client = server.accept()[0]
            with client:
                client.sendall(segment_size(client).to_bytes(4, "big") + data())
                got = bytearray()
                while len(got) < SIZE and (part := client.recv(65536)):
                    got += part
                client.sendall(hashlib.sha256(got).digest())


def fetch(address):
    with socket.create_connection((address, PORT), timeout=limit(20)) as s:
        own, got = segment_size(s), bytearray()
        while len(got) < SIZE + 4 and (part := s.recv(65536)):
            got += part
        s.sendall(data())
        theirs = s.recv(32, socket.MSG_WAITALL)
    whole = got[4:] == data() and theirs == hashlib.sha256(data()).digest()
    print(json.dumps({"own": own, "theirs": int.from_bytes(got[:4], "big"), "whole": whole}))


def fetched(cpe, address):
    out = inside(cpe, sys.executable, "-m", "tests.e2e.pppoe_inside", "fetch", address)
    return json.loads(out) if out else None


def server_in(core):
    run = subprocess.Popen(["nsenter", "-t", str(core.pid), "-n", sys.executable, "-m", "tests.e2e.pppoe_inside", "serve"], stdout=subprocess.PIPE)
    run.stdout.readline()
    return run


def wait_until(true, seconds):
    finish = time.monotonic() + limit(seconds)
    while not true() and time.monotonic() < finish:
        time.sleep(0.01)
    return true()


def judge_echoes(ppp, client):
    """The CPE's requests are answered here, with their data; this end asks; a CPE that does not answer is reported by its last request."""
    wrong = []
    if not wait_until(lambda: len(ppp.asked) >= 2, 10) or set(ppp.asked) != {(9, MAGIC_OURS)}:
        wrong.append(f"the CPE was asked {ppp.asked}")
    ppp.ask(77, b"hello")
    if not wait_until(lambda: ppp.answers, 10) or ppp.answers != [(77, MAGIC_OURS, b"hello")]:
        wrong.append(f"the CPE's request was answered {ppp.answers}")
    if (m := client.receive(0.1)) is not None:
        wrong.append(f"the control plane got {m} of a CPE that answers")
    ppp.alive = False
    m = client.receive(20)
    if not m or (m.kind, m.session, m.svlan, m.cvlan) != (4, SESSION, 4000, 1) or PPP_LCP_Echo(m.frame[22:]).code != 9:
        wrong.append(f"the control plane got {m} of a CPE that is gone")
    ppp.alive = True
    return wrong


def judge(cpe, ppp, control, client):
    wrong = []
    answer = control.ask(cmd="put-subscribers", subscribers=[SUBSCRIBER])
    if [r["was"] for r in answer.get("results", [])] != ["added"]:
        return [f"put-subscribers: {answer}"]
    for address in (SERVER4, SERVER6):
        got, expected = fetched(cpe, address), MSS["200" if ":" in address else "10."]
        if got != {"own": expected, "theirs": expected, "whole": True}:
            wrong.append(f"TCP to {address}: {got}, expected segments of {expected} bytes both ways")
    return wrong + ppp.wrong + judge_echoes(ppp, client)


def main(binary, folder):
    ctx = process.Context(binary, folder)
    text = CONFIGURATION.format(folder=folder, line=GATEWAY_LINE, core=GATEWAY_CORE, host=HOST, gateway4=GATEWAY4, echo=ECHO_S)
    with Namespace() as cpe, Namespace() as core:
        ppp = Ppp(make_interfaces(cpe, core))
        gateway = process.Run(ctx, "--quiet", "--share-cpus", "--control", ctx.path("s"), ctx.write("pppoe.cfg", text), report=True)
        control = load.wait_for(gateway.process, ctx.path("s"), 30)
        client = punting.connect(ctx.path("punt.sock"))[0]
        punting_is_told = client.receive(0.1)  # of no other port
        ppp.start()
        server = server_in(core)
        wrong = judge(cpe, ppp, control, client)
        server.kill()
        server.wait()
        figures, faults = end(gateway, ALLOWED)
        wrong += faults + ([] if punting_is_told is None else [f"a second hello: {punting_is_told}"])
        if not wrong and (figures["ppp_echo_answered"] != 1 or figures["ppp_echo_requests"] < 4 or figures["ppp_echo_unanswered"] < 1):
            wrong.append(f"the figures of the task arp are {figures}")
        ppp.ends = True
        ppp.join()
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve()
    elif sys.argv[1] == "fetch":
        fetch(sys.argv[2])
    else:
        sys.exit(main(*sys.argv[1:]))
