# SPDX-License-Identifier: BSD-3-Clause
"""Runs in a network namespace of its own: the gateway on veth pairs, raw frames at their other ends.

usage: inside.py BINARY FOLDER TEST
"""

import dataclasses
import json
import os
import signal
import sys
import time

from tests.e2e import veth_inside
from tests.e2e.packet_socket import PacketSocket
from tests.e2e.process import Context
from tests.faults import lab
from tests.faults.lab import Row, Vbng
from tests.pcap import frames as fr
from tests.pcap.gateway import Gateway

FRAMES, LOST = 20, 30


def start(ctx, *options, **changes):
    """The gateway, as soon as it answers."""
    devices = {p: f"net_af_packet{i},iface=gw-{p}" for i, p in enumerate(fr.PORTS)}
    config = ctx.write("veth.cfg", Gateway(devices=devices, **changes)(ctx.folder))
    v = Vbng(ctx, "--share-cpus", *options, config, control=True)
    v.client().close()
    return v


def count(socket, wanted, seconds):
    """How many of the wanted frames arrive within a time; ends early when all have."""
    left, got, end = list(wanted), 0, time.monotonic() + seconds
    while left and (frame := socket.receive(max(end - time.monotonic(), 0.001))) is not None:
        if frame in left:
            left.remove(frame)
            got += 1
    return got


def count_both(socket, new, old, seconds):
    """The same for two lists."""
    got, end = set(), time.monotonic() + seconds
    while not got.issuperset(new + old) and (frame := socket.receive(max(end - time.monotonic(), 0.001))) is not None:
        got.add(frame)
    return len(got.intersection(new)), len(got.intersection(old))


def up_pairs(first, n):
    """(sent, expected) of n packets of one subscriber to core0, that differ."""
    sub, pairs = fr.Subscriber(0, 1), []
    for i in range(first, first + n):
        packet = fr.udp(sub.ip, fr.server("core0", 1), size=100, seed=i)
        pairs.append((fr.from_cpe(sub, packet), fr.encapsulated("core0", fr.forwarded(packet), sub.key)))
    return pairs


def down_pairs(first, n):
    sub, pairs = fr.Subscriber(0, 1), []
    for i in range(first, first + n):
        packet = fr.udp(fr.server("core0", 1), sub.ip, size=100, seed=i)
        pairs.append((fr.from_core("core0", packet, sub.key), fr.to_cpe(sub, fr.forwarded(packet))))
    return pairs


def exchange(sender, receiver, pairs, seconds=3):
    """How many of the packets come out as they should."""
    for sent, _ in pairs:
        sender.send(sent)
    return count(receiver, [expected for _, expected in pairs], seconds)


def port_down(ctx, sockets):
    """The interface of a core port goes down and comes up again, while packets are to leave by it."""
    row = Row("port down and up: the kernel interface of a net_af_packet port")
    cpe, core = sockets["cpe0"], sockets["core0"]
    with start(ctx) as v:
        row.expect(exchange(cpe, core, up_pairs(0, FRAMES)) == FRAMES, "not all arrive before")
        lab.shell("ip", "link", "set", "gw-core0", "down")
        exchange(cpe, core, up_pairs(100, LOST), 0.3)
        row.saw = v.line("port core0: its device fails to send")
        row.expect(row.saw, f"it is not said: {v.log()}")
        errors = v.ask("/vbng/port/get,core0")["tx_errors"]
        row.expect(errors == LOST, f"telemetry has {errors} tx_errors, not {LOST}")
        lab.shell("ip", "link", "set", "gw-core0", "up")
        # the kernel's first answer after that is still of the time before
        exchange(cpe, core, [(sent, b"") for sent, _ in up_pairs(300, 1)], 0.2)
        for sent, _ in up_pairs(200, FRAMES):
            cpe.send(sent)
        old, new = ([expected for _, expected in up_pairs(*which)] for which in ((100, LOST), (200, FRAMES)))
        got, late = count_both(core, new, old, 1)
        row.expect(got == FRAMES, f"{got} of {FRAMES} arrive afterwards")
        row.recovery = v.line("port core0: its device has not failed")
        report = v.stop(row)
    if report is not None:
        lost = lab.port(report, "core0")["tx_lost"]
        row.expect(lost == LOST + 1, f"{lost} counted as lost, {LOST} and one were sent there")
        row.lost = f"{lost} (port tx_lost); {late} of them were left in the kernel's ring, and it sent them late"
    return [row]


def teach(sockets):
    """A CPE asks the gateway for its MAC, and so tells its own; a next hop is asked then for what it claims, and answers."""
    sub, nobody = fr.Subscriber(0, 1), "00:00:00:00:00:00"
    question = fr.arp(1, sub.mac, sub.ip, nobody, fr.GATEWAY_IP["cpe0"])
    sockets["cpe0"].send(fr.pad(fr.tagged(fr.BROADCAST, sub.mac, sub, question, fr.ETH_ARP)))
    core, mac, ip = sockets["core0"], fr.NEIGHBOUR_MAC["core0"], fr.NEIGHBOUR_IP["core0"]
    our_mac, our_ip = fr.GATEWAY_MAC["core0"], fr.GATEWAY_IP["core0"]
    core.send(fr.pad(fr.ether(fr.BROADCAST, mac, fr.ETH_ARP, fr.arp(1, mac, ip, nobody, our_ip))))
    asked = fr.pad(fr.ether(fr.BROADCAST, our_mac, fr.ETH_ARP, fr.arp(1, our_mac, our_ip, nobody, ip)))
    if count(core, [asked], 3) == 1:
        core.send(fr.pad(fr.ether(our_mac, mac, fr.ETH_ARP, fr.arp(2, mac, ip, our_mac, our_ip))))


def wait_for_saved(path, words):
    """Until the state file has all the words."""
    end = time.monotonic() + 15
    while time.monotonic() < end:
        with open(path) as f:
            text = f.read()
        if all(w in text for w in words):
            return True
        time.sleep(0.05)
    return False


def killed(ctx, sockets):
    """kill -9 after it has learned MACs: the next one has them at once with --state, and without must ask first."""
    row = Row("kill -9, started again with --state: learned MACs")
    cpe, core, state = sockets["cpe0"], sockets["core0"], ctx.path("state")
    learning = {"static_cpe": False, "static_core": False}
    with start(ctx, "--state", state, **learning) as v:
        teach(sockets)
        macs = (fr.Subscriber(0, 1).mac, fr.NEIGHBOUR_MAC["core0"])
        row.expect(wait_for_saved(state, macs), "the MACs are not in the state file")
        row.expect(exchange(core, cpe, down_pairs(0, FRAMES)) == FRAMES, "not all arrive before")
        v.process.send_signal(signal.SIGKILL)
        v.end()
    gone = exchange(core, cpe, down_pairs(100, LOST), 0.1)
    row.expect(gone == 0, "packets arrive though nobody forwards")
    began = time.monotonic()
    with start(ctx, "--state", state, **learning) as v:
        up = time.monotonic() - began
        row.saw = v.line("learned MACs are back")
        row.expect("2 learned MACs" in row.saw, f"not both are back: {v.log()}")
        down, upwards = exchange(core, cpe, down_pairs(200, FRAMES)), exchange(cpe, core, up_pairs(300, FRAMES))
        row.expect(down == upwards == FRAMES, f"of {FRAMES} each {down} and {upwards} are forwarded at once")
        v.stop(row)
    os.unlink(state)
    with start(ctx, "--state", state, **learning) as v:
        first = exchange(core, cpe, down_pairs(400, FRAMES), 0.5)
        row.expect(first == 0, "it knows MACs without the file")
        v.stop(row)
    row.saw = row.saw.replace(ctx.path("state"), "FILE")
    row.lost = f"those of the time between: {LOST} of {LOST} sent to nobody; after it 0"
    row.recovery = f"forwards {up:.1f} s after the start, without asking by ARP"
    return [row]


def main(binary, folder, name):
    ctx = Context(binary, folder)
    veth_inside.make_interfaces()
    sockets = {port: PacketSocket(f"far-{port}") for port in fr.PORTS}
    rows = {"port_down": port_down, "killed": killed}[name](ctx, sockets)
    print(json.dumps([dataclasses.asdict(r) for r in rows]))


if __name__ == "__main__":
    main(*sys.argv[1:])
