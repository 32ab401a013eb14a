# SPDX-License-Identifier: BSD-3-Clause
"""ISC's perfdhcp as the CPEs of vbng and vbng-cp: how many sessions a second an independent client gets.

    sudo /usr/bin/python3 -m tests.cp.perfdhcp 4 --clients 1000               # all ask at once: perfdhcp's avalanche
    sudo /usr/bin/python3 -m tests.cp.perfdhcp 6 --clients 1000 --rate 500    # an address and a prefix, so many that begin a second

perfdhcp speaks by UDP, and as a relay where it is DHCPv4; vbng-cp takes what comes on a line. Between them is an access node, which puts what a client says on a
line of its own, by the MAC that it says, and brings the answers back. Needs root, for interfaces in a network namespace of its own.
"""

import argparse
import os
import re
import select
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time

from tests.container.namespaces import enter

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NODE4, CLIENT4, NODE6, CLIENT6 = "127.0.0.9", "127.0.0.8", "2001:db8:e::9", "2001:db8:e::8"
NOBODY, EVERYBODY = bytes(4), b"\xff" * 4
SERVERS, SERVERS_MAC = socket.inet_pton(socket.AF_INET6, "ff02::1:2"), b"\x33\x33\0\1\0\2"
TPID, LINES_OF_SVLAN = 0x88A8, 4000
BUFFER = 16 << 20
CLIENT_ID = 1  # option of DHCPv6
DUID_LL, DUID_LLT = 3, 1
EXCHANGES = {4: ("DISCOVER-OFFER", "REQUEST-ACK"), 6: ("SOLICIT-ADVERTISE", "REQUEST-REPLY")}


def mac_of_duid(message):
    """The MAC in the DUID of a client of DHCPv6."""
    at = 4
    while at + 4 <= len(message):
        code, n = struct.unpack_from("!HH", message, at)
        if code == CLIENT_ID:
            duid = message[at + 4:at + 4 + n]
            return duid[8:14] if duid[1] == DUID_LLT else duid[4:10]
        at += 4 + n
    raise ValueError("a client without DUID")


class Node:
    """The access node: datagrams of perfdhcp on one side, lines of QinQ on the other."""

    def __init__(self, family, wire):
        from vbnglab.cpe import packets

        self.family, self.wire, self.packets = family, wire, packets
        self.socket = socket.socket(socket.AF_INET if family == 4 else socket.AF_INET6, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
        self.socket.bind((NODE4, 67) if family == 4 else (NODE6, 547))
        self.socket.setblocking(False)
        self.lines, self.clients, self.wrong, self.told = {}, {}, [], {}

    def line(self, mac):
        """The tags of a client's line."""
        if mac not in self.lines:
            n = len(self.lines)
            self.lines[mac] = struct.pack("!HHHH", TPID, 1 + n // LINES_OF_SVLAN, 0x8100, 1 + n % LINES_OF_SVLAN)
            self.clients[self.lines[mac][2:4] + self.lines[mac][6:8]] = mac
        return self.lines[mac]

    def up(self, message):
        """What a client says, as it would on its line: a relay's marks are taken off."""
        p = self.packets
        if self.family == 4:
            mac = message[28:34]
            message = message[:3] + b"\0" + message[4:24] + NOBODY + message[28:]
            packet, kind, to = p.udp4(NOBODY, EVERYBODY, (68, 67), message), p.IPV4, b"\xff" * 6
        else:
            mac = mac_of_duid(message)
            packet, kind, to = p.udp6(b"\xfe\x80" + bytes(6) + b"\0\0" + mac, SERVERS, (546, 547), message), p.IPV6, SERVERS_MAC
        self.wire.send(to + mac + self.line(mac) + struct.pack("!H", kind) + packet)

    def down(self, frame):
        """What the gateway answers; all else is not for perfdhcp."""
        mac = self.clients.get(frame[14:16] + frame[18:20])
        payload = frame[22:]
        if mac is None or frame[20:22] not in (b"\x08\0", b"\x86\xdd") or payload[0] >> 4 != self.family:
            return
        message = self.packets.udp_data(payload, (67, 68) if self.family == 4 else (547, 546))
        if message is None:
            return
        if frame[:6] not in (mac, b"\xff" * 6):
            self.wrong.append(f"an answer for {frame[:6].hex(':')} is on the line of {mac.hex(':')}")
        if self.family == 4:
            self.note(mac, message)
            message = message[:24] + socket.inet_aton(CLIENT4) + message[28:]
        self.socket.sendto(message, (CLIENT4, 67) if self.family == 4 else (CLIENT6, 546))

    def note(self, mac, message):
        """An address is offered or given to one client alone."""
        address = message[16:20]
        if self.told.setdefault(address, mac) != mac and address != NOBODY:
            self.wrong.append(f"{socket.inet_ntoa(address)} was told to {mac.hex(':')} and {self.told[address].hex(':')}")

    def carry(self, process, seconds):
        """Until perfdhcp ends."""
        poll, end = select.poll(), time.monotonic() + seconds
        for s in (self.socket, self.wire.socket):
            poll.register(s, select.POLLIN)
        while process.poll() is None and time.monotonic() < end:
            poll.poll(10)
            for frame in self.wire.receive(0):
                self.down(frame)
            try:
                for _ in range(256):
                    self.up(self.socket.recv(4096))
            except BlockingIOError:
                pass


def figures(said, family):
    """{exchange: (sent, received, mean seconds)} of perfdhcp's report."""
    found = {}
    for name in EXCHANGES[family]:
        part = said[said.index(f"***Statistics for: {name}***"):]
        found[name] = (int(re.search(r"sent packets: (\d+)", part)[1]), int(re.search(r"received packets: (\d+)", part)[1]),
                       float(re.search(r"avg delay: ([\d.]+)", part)[1]) / 1000 if "avg delay" in part else None)
    return found


def pace(said):
    """Of its report, how fast sessions began."""
    took = re.search(r"It took (\d+):(\d+):([\d.]+) to provision (\d+) clients", said)
    if took:
        seconds = 3600 * int(took[1]) + 60 * int(took[2]) + float(took[3])
        return f"{int(took[4]) / seconds:.0f} a second, all within {seconds:.2f} s"
    rate = re.search(r"Rate: ([\d.]+) 4-way", said)
    return f"{float(rate[1]):.0f} a second" if rate else "perfdhcp has given up"


def measure(family, clients, rate, folder, vbng=None):
    """({exchange: its figures}, sessions that are up, what is wrong, what perfdhcp has said)."""
    from tests.common.limits import limit
    from vbnglab.cpe.wire import Wire
    from vbnglab.lab.network import ip, sysctl
    from vbnglab.sessions.gateway import LINES, Gateway, make_interfaces

    make_interfaces()
    sysctl("ipv6/conf/lo/disable_ipv6", 0)
    for address in (f"{CLIENT4}/8", f"{NODE6}/128", f"{CLIENT6}/128"):
        ip("addr", "add", address, "dev", "lo", *(["nodad"] if ":" in address else []))
    gateway, wrong = Gateway(folder, clients, False, vbng=vbng), []
    try:
        gateway.ready()
        node = Node(family, Wire(LINES))
        how = ["-r", str(rate), "-n", str(clients), "-n", str(clients), "-W", "500000"] if rate else ["--scenario", "avalanche"]
        ends = ["-4", "-l", CLIENT4, NODE4] if family == 4 else ["-6", "-e", "address-and-prefix", "-l", CLIENT6, NODE6]
        with open(os.path.join(folder, "perfdhcp"), "w+b") as out:
            perfdhcp = subprocess.Popen([shutil.which("perfdhcp"), *ends[:-1], "-R", str(clients), *how, ends[-1]], stdout=out, stderr=out)
            node.carry(perfdhcp, limit(60))
            if perfdhcp.poll() is None:
                perfdhcp.kill()
                wrong.append("perfdhcp does not end")
            status = perfdhcp.wait()
            out.seek(0)
            said = out.read().decode()
        up = gateway.status()["lines"]["up"]
        wrong += node.wrong + ([f"{up} sessions of {len(node.lines)} clients"] if up != len(node.lines) else [])
        wrong += [f"perfdhcp: status {status}"] if status else []
    finally:
        result = gateway.stop()
    if result.report is None or not result.report["ledger"]["balances"]:
        wrong.append(f"vbng: {result.error or result.report['ledger']}")
    return figures(said, family) if "***Statistics for:" in said else {}, up, wrong, said


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("family", type=int, choices=(4, 6))
    p.add_argument("--clients", type=int, default=1000)
    p.add_argument("--rate", type=int, help="clients that begin a second; all at once where it is not given")
    p.add_argument("--vbng")
    args = p.parse_args()
    os.environ["PYTHONPATH"] = os.pathsep.join((TOP, os.path.join(TOP, "tools")))  # for this file as a program, there
    why = enter()
    if why:
        print(why)
        return 77
    with tempfile.TemporaryDirectory(prefix="vbng-") as folder:
        found, up, wrong, said = measure(args.family, args.clients, args.rate, folder, args.vbng)
    for name, (sent, received, mean) in found.items():
        print(f"{name}: {sent} sent, {received} answered" + (f", {mean * 1000:.1f} ms on average" if mean else ""))
    print(f"{up} sessions, {pace(said)}")
    print("\n".join([*wrong, said] if wrong else []))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
