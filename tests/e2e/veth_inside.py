# SPDX-License-Identifier: BSD-3-Clause
"""Runs in a network namespace of its own: veth pairs, the gateway on one end of each, raw frames at the other.

usage: veth_inside.py BINARY FOLDER
"""

import signal
import subprocess
import sys
import time

from tests.common.limits import limit
from tests.e2e import process
from tests.e2e.packet_socket import PacketSocket
from tests.pcap import frames as fr
from tests.pcap.gateway import Gateway

START_LIMIT = 30  # s
FRAMES = 50


def command(*words):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


def make_interfaces():
    for scope in ("all", "default"):
        with open(f"/proc/sys/net/ipv6/conf/{scope}/disable_ipv6", "w") as f:
            f.write("1")  # no router solicitations among our frames
    for port in fr.PORTS:
        command("ip", "link", "add", f"gw-{port}", "mtu", "2000", "type", "veth",
                "peer", "name", f"far-{port}", "mtu", "2000")  # fmt: skip
        for end in ("gw", "far"):
            command("ip", "link", "set", f"{end}-{port}", "up")


def wait_for_gateway(gateway, far):
    """It runs when it answers ARP on the core side."""
    mac, ip = fr.NEIGHBOUR_MAC["core0"], fr.NEIGHBOUR_IP["core0"]
    question = fr.pad(fr.ether(fr.BROADCAST, mac, fr.ETH_ARP, fr.arp(1, mac, ip, "00:00:00:00:00:00", fr.GATEWAY_IP["core0"])))
    end = time.monotonic() + limit(START_LIMIT)
    while time.monotonic() < end and gateway.process.poll() is None:
        far.send(question)
        answer = far.receive(0.2)
        if answer and answer[12:14] == b"\x08\x06" and answer[20:22] == b"\0\2":
            while far.receive(0.3):  # answers to the other questions
                pass
            return True
    return False


def exchange(name, sender, receiver, pairs):
    """Send one after the other; what comes out must be what was expected, in order."""
    wrong = []
    for sent, expected in pairs:
        sender.send(sent)
        got = receiver.receive(5)
        if got != expected:
            wrong.append(f"{name}: expected {expected.hex(' ', 4)}\n     got {got.hex(' ', 4) if got else 'nothing'}")
            break
    return wrong


def upstream(access, core):
    """af_packet makes an outer 0x88a8 an 0x8100, which is accepted as well."""
    pairs = []
    for i in range(FRAMES):
        sub = fr.Subscriber(access, i)
        packet = fr.udp(sub.ip, fr.server(core, i), size=i * 20, seed=i)
        pairs.append((fr.from_cpe(sub, packet), fr.encapsulated(core, fr.forwarded(packet), sub.key)))
    return pairs


def downstream(access, core):
    pairs = []
    for i in range(FRAMES):
        sub = fr.Subscriber(access, i)
        packet = fr.udp(fr.server(core, i), sub.ip, size=i * 20, seed=i)
        frame = fr.from_core(core, packet, sub.key)
        pairs.append((frame, fr.to_cpe(sub, fr.forwarded(packet))))
    return pairs


def main(binary, folder):
    ctx = process.Context(binary, folder)
    make_interfaces()
    sockets = {port: PacketSocket(f"far-{port}") for port in fr.PORTS}
    devices = {p: f"net_af_packet{i},iface=gw-{p}" for i, p in enumerate(fr.PORTS)}
    path = ctx.write("veth.cfg", Gateway(devices=devices)(folder))
    gateway = process.Run(ctx, "--quiet", "--share-cpus", path, report=True)
    wrong = []
    if wait_for_gateway(gateway, sockets["core0"]):
        for access in (0, 1):
            for core in fr.CORE:
                a = f"cpe{access}"
                wrong += exchange(f"{a} to {core}", sockets[a], sockets[core], upstream(access, core))
                wrong += exchange(f"{core} to {a}", sockets[core], sockets[a], downstream(access, core))
    else:
        wrong.append("the gateway does not answer ARP")
    if gateway.process.poll() is None:
        gateway.process.send_signal(signal.SIGTERM)
    if gateway.end(30) != 0:
        wrong.append(f"exit status {gateway.status}: {gateway.err}")
    else:
        wrong += process.ledger_faults(gateway.report())
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
