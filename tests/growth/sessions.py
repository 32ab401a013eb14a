# SPDX-License-Identifier: BSD-3-Clause
"""How many sessions vbng and vbng-cp begin in a second: CPEs on lines of QinQ, as many as --lines, of which --window ask at a time.

    sudo /usr/bin/python3 -m tests.growth.sessions --lines 10000
    sudo /usr/bin/python3 -m tests.growth.sessions --lines 10000 --kills 10     # of vbng-cp, at random moments
    sudo /usr/bin/python3 -m tests.growth.sessions --lines 10000 --dual         # IPv4, then an address and a prefix of IPv6 by DHCPv6
    sudo /usr/bin/python3 -m tests.growth.sessions --lines 10000 --radius       # a FreeRADIUS is asked for each

The client makes its frames and reads the answers by itself: it shares no code with vbng-cp. It fails if an address is told to two
CPEs, if one that was told is not what vbng forwards for, or if not all get one. Needs root, for interfaces in a namespace of its own.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

from tests.container.namespaces import enter
from tests.e2e import process
from tests.e2e.packet_socket import PacketSocket

TOP = process.TOP
GATEWAY, GATEWAY_MAC = "10.64.0.1", "02:b0:00:00:00:00"
DISCOVER, OFFER, REQUEST, ACK = 1, 2, 3, 5
SOLICIT, ADVERTISE, REQUEST6, REPLY = 1, 2, 3, 7
CLIENT_ID, SERVER_ID, IA_NA, IA_PD, IA_ADDRESS, IA_PREFIX = 1, 2, 3, 25, 5, 26  # options of DHCPv6
AGAIN_S = 2  # after which a CPE that was not answered asks again
USER_PLANE = f"""
name = "sessions"; memory = "no-huge"; idle = "sleep"; max_subscribers = LINES; max_prefixes = PREFIXES; punt_socket = "FOLDER/punt";
pools = {{ default = {{ mbufs = "32K"; }}; }};
ports = ( {{ name = "line"; device = "net_af_packet0,iface=gw-line"; mac = "{GATEWAY_MAC}"; addresses = "{GATEWAY}"; }},
          {{ name = "core"; device = "net_null0,no-rx=1"; addresses = "192.0.2.1"; }} );
routes = ( {{ prefix = "0.0.0.0/0"; port = "core"; mac = "02:d0:00:00:00:00"; }} );
tasks = (
    {{ name = "classify"; type = "classify"; from = "line"; to = "decap"; punt = "arp"; }},
    {{ name = "decap"; type = "qinq_decap"; to = "route"; }},
    {{ name = "route"; type = "route"; to = "core"; punt = "arp"; }},
    {{ name = "find"; type = "classify"; match = "ipv4"; from = "core"; to = "encap"; punt = "arp"; }},
    {{ name = "encap"; type = "qinq_encap"; to = "line"; punt = "arp"; }},
    {{ name = "arp"; type = "arp"; to = ["line", "core"]; punt_rate = 100000; }}
);
layout = ( {{ core = "0"; tasks = ["classify", "decap", "route", "find", "encap", "arp"]; }} );
"""
CONTROL_PLANE = f"""
control_socket = "FOLDER/control"; punt_socket = "FOLDER/punt"; store = "FOLDER/store"; max_lines = "128K";
pools = ( {{ name = "homes"; prefix = "10.64.0.0/14"; gateway = "{GATEWAY}"; }} );
pools6 = ( {{ name = "homes6"; wan = "2001:db8::/46"; delegated = "2001:db9::/32"; }} );
access = ( {{ port = "line"; pool = "homes"; pool6 = "homes6"; }} );
"""
RADIUS = """
radius = {{ nas_identifier = "bng1"; password = "vbng"; servers = ( {{ address = "127.0.0.1"; secret = "{}"; authentication_port = {}; }} ); }};
"""


def option6(code, data):
    return struct.pack("!HH", code, len(data)) + data


def options6(data):
    """[(code, value)] of options of DHCPv6."""
    found = []
    while len(data) >= 4:
        code, n = struct.unpack("!HH", data[:4])
        found.append((code, data[4:4 + n]))
        data = data[4 + n:]
    return found


def leases6(data, code, ia_code):
    """What the options of an identity association of DHCPv6 give: addresses or prefixes, in bytes."""
    ias = [options6(value[12:]) for c, value in options6(data) if c == ia_code]
    return [value for found in ias for c, value in found if c == code]


class Cpe:
    """One line and its client."""

    def __init__(self, number):
        self.tags = struct.pack("!HHHH", 0x88A8, 1 + number // 4000, 0x8100, 1 + number % 4000)
        self.line = f"{1 + number // 4000}.{1 + number % 4000}"
        self.mac = struct.pack("!HI", 0x0200, number)
        self.number, self.address, self.asked = number, None, 0.0
        self.link = self.prefix = None  # of IPv6: the /64 of its address, and what is delegated; in bytes

    def frame(self, kind, options=b""):
        bootp = struct.pack("!BBBBIHH16s16s192sI", 1, 1, 6, 0, self.number, 0, 0, bytes(16), self.mac, bytes(192), 0x63825363)
        data = bootp + bytes([53, 1, kind]) + options + b"\xff"
        data += bytes(max(0, 300 - len(data)))
        ip = struct.pack("!BBHHHBBHII", 0x45, 0, 28 + len(data), 0, 0, 64, 17, 0, 0, 0xFFFFFFFF)
        total = sum(struct.unpack("!10H", ip))
        total = (total & 0xFFFF) + (total >> 16)
        ip = ip[:10] + struct.pack("!H", ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF) + ip[12:]
        return b"\xff" * 6 + self.mac + self.tags + b"\x08\x00" + ip + struct.pack("!HHHH", 68, 67, 8 + len(data), 0) + data


    def frame6(self, kind, options=b""):
        ias = b"".join(option6(code, struct.pack("!III", self.number, 0, 0)) for code in (IA_NA, IA_PD))
        data = struct.pack("!I", kind << 24 | self.number) + option6(CLIENT_ID, b"\0\3\0\1" + self.mac) + ias + options
        source = b"\xfe\x80" + bytes(6) + b"\0\0" + self.mac
        to = bytes.fromhex("ff02" + "00" * 11 + "010002")
        udp = struct.pack("!HHHH", 546, 547, 8 + len(data), 0) + data
        total = sum(struct.unpack(f"!{(33 + len(udp)) // 2}H", source + to + udp + bytes(len(udp) % 2))) + len(udp) + 17
        total = (total & 0xFFFF) + (total >> 16)
        udp = udp[:6] + struct.pack("!H", ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF or 0xFFFF) + udp[8:]
        ip = struct.pack("!IHBB", 6 << 28, len(udp), 17, 1) + source + to
        return b"\x33\x33\0\1\0\2" + self.mac + self.tags + b"\x86\xdd" + ip + udp


def read6(frame):
    """(number of the CPE, kind, server's identifier, link, delegated prefix) of an answer of DHCPv6, or None."""
    if len(frame) < 74 or frame[20:22] != b"\x86\xdd" or frame[28] != 17 or frame[62:66] != struct.pack("!HH", 547, 546):
        return None
    head, = struct.unpack("!I", frame[70:74])
    server = next((value for code, value in options6(frame[74:]) if code == SERVER_ID), None)
    address, prefix = leases6(frame[74:], IA_ADDRESS, IA_NA), leases6(frame[74:], IA_PREFIX, IA_PD)
    return head & 0xFFFFFF, head >> 24, server, address[0][:8] if address else None, prefix[0][9:17] if prefix else None


def read(frame):
    """(number of the CPE, kind, its address in 4 bytes, the server's) of an answer, or None."""
    if len(frame) < 50 + 240 or frame[20:22] != b"\x08\x00" or frame[31] != 17 or frame[42:46] != b"\0\x43\0\x44":
        return None
    bootp, options, i = frame[50:], {}, 240
    while i + 1 < len(bootp) and bootp[i] != 255:
        if bootp[i] == 0:
            i += 1
            continue
        options[bootp[i]] = bootp[i + 2:i + 2 + bootp[i + 1]]
        i += 2 + bootp[i + 1]
    number = struct.unpack("!I", bootp[4:8])[0]
    return number, options[53][0], bootp[16:20], options.get(54)


class Load:
    """All CPEs; at most window of them have asked and were not acknowledged."""

    def __init__(self, lines, window, dual=False):
        self.cpes, self.window, self.dual = [Cpe(n) for n in range(lines)], window, dual
        self.waiting = collections.OrderedDict()  # those that have asked, the one that asked first in front
        self.holder, self.next, self.up, self.again, self.wrong = {}, 0, 0, 0, []
        self.line = PacketSocket("far-line")
        self.line.s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 << 20)

    def say(self, cpe, frame):
        cpe.asked = time.monotonic()
        self.waiting[cpe.number] = cpe
        self.waiting.move_to_end(cpe.number)
        self.line.send(frame)

    def ask(self, cpe, kind, options=b""):
        self.say(cpe, cpe.frame(kind, options))

    def begin(self, cpe):
        """The first message of what the CPE has not."""
        self.say(cpe, cpe.frame(DISCOVER) if cpe.address is None else cpe.frame6(SOLICIT))

    def told(self, cpe, what, name):
        """A CPE is told what no other has."""
        other = self.holder.setdefault(what, cpe.number)
        if other != cpe.number:
            self.wrong.append(f"{name} was told to {cpe.line} and {self.cpes[other].line}")

    def is_up(self, cpe):
        self.waiting.pop(cpe.number, None)
        self.up += 1

    def take6(self, frame):
        answer = read6(frame)
        if answer is None or self.cpes[answer[0]].prefix is not None:
            return
        number, kind, server, link, prefix = answer
        cpe = self.cpes[number]
        if frame[12:20] != cpe.tags:
            self.wrong.append(f"an answer for {cpe.line} is on another line")
        if link is None or prefix is None:
            self.wrong.append(f"{cpe.line} is told that there is none")
        elif kind == ADVERTISE:
            self.say(cpe, cpe.frame6(REQUEST6, option6(SERVER_ID, server)))
        elif kind == REPLY:
            for what in (link, prefix):
                self.told(cpe, what, what.hex())
            cpe.link, cpe.prefix = link, prefix
            self.is_up(cpe)

    def take(self, frame):
        answer = read(frame)
        if answer is None:
            self.take6(frame)
        if answer is None or self.cpes[answer[0]].address is not None:
            return
        number, kind, address, server = answer
        cpe = self.cpes[number]
        if frame[12:20] != cpe.tags:
            self.wrong.append(f"an answer for {cpe.line} is on another line")
        if kind == OFFER:
            self.ask(cpe, REQUEST, b"\x32\x04" + address + b"\x36\x04" + server)
        elif kind == ACK:
            self.told(cpe, address, socket.inet_ntoa(address))
            cpe.address = address
            if self.dual:
                self.begin(cpe)
            else:
                self.is_up(cpe)

    def step(self):
        while self.next < len(self.cpes) and len(self.waiting) < self.window:
            self.begin(self.cpes[self.next])
            self.next += 1
        frame = self.line.receive(0.01)
        if frame is not None:
            self.take(frame)
        while self.waiting and time.monotonic() - (cpe := next(iter(self.waiting.values()))).asked > AGAIN_S:
            self.again += 1
            self.begin(cpe)


def upper(text):
    """The upper half of a prefix of IPv6 in bytes; None of None."""
    return text and socket.inet_pton(socket.AF_INET6, text.split("/")[0])[:8]


def forwarded(path):
    """{line: (address, link, delegated prefix)} of all subscribers of vbng."""
    found, first = {}, 1
    with socket.socket(socket.AF_UNIX) as s, s.makefile("rb") as f:
        s.connect(path)
        while first is not None:
            s.sendall(json.dumps({"cmd": "list-subscribers", "first": first, "count": 1000}).encode() + b"\n")
            answer = json.loads(f.readline())
            found.update((f"{r['svlan']}.{r['cvlan']}", (socket.inet_aton(r["ipv4"].removesuffix("/32")), upper(r.get("ipv6")),
                                                         upper(r.get("delegated")))) for r in answer["subscribers"])
            first = answer["next"]
    return found


def start(vbng_cp, config, log):
    return subprocess.Popen([vbng_cp, config], stderr=log, preexec_fn=process.end_with_parent)


def measure(args, folder, radius=""):
    """What is wrong, after it has printed the figures. radius: a section of the control plane's configuration."""
    ctx = process.Context(args.build + "/vbng", folder)
    user, control = (ctx.write(name, text.replace("FOLDER", folder).replace("LINES", str(args.lines)).replace("PREFIXES", str(2 * args.lines)))
                     for name, text in (("bng.cfg", USER_PLANE), ("cp.cfg", CONTROL_PLANE + radius)))
    subprocess.run(["ip", "link", "add", "gw-line", "type", "veth", "peer", "name", "far-line"], check=True)
    for end in ("gw-line", "far-line"):
        subprocess.run(["ip", "link", "set", end, "up"], check=True)
    log = open(ctx.path("log"), "w", encoding="utf-8")  # noqa: SIM115
    vbng = process.Run(ctx, "--quiet", "--share-cpus", "--control", ctx.path("control"), user, report=True)
    vbng_cp = start(args.build + "/src/cp/vbng-cp", control, log)
    load, moments = Load(args.lines, args.window, args.dual), random.Random(args.seed)
    kills = sorted(moments.uniform(0.1, 0.9) for _ in range(args.kills))  # shares of the lines that are up then
    while not load.up and not load.wrong:
        load.step()
    before, begun, cpu = load.up, time.monotonic(), time.process_time()
    while load.up < args.lines and not load.wrong and time.monotonic() - begun < args.seconds:
        load.step()
        if kills and load.up >= kills[0] * args.lines:
            kills.pop(0)
            vbng_cp.kill()
            vbng_cp.wait()
            vbng_cp = start(args.build + "/src/cp/vbng-cp", control, log)
    seconds = time.monotonic() - begun
    there = forwarded(ctx.path("control"))
    lost = [c.line for c in load.cpes if c.address is not None and there.get(c.line, ())[:1 + 2 * (c.prefix is not None)]
            != (c.address, c.link, c.prefix)[:1 + 2 * (c.prefix is not None)]]
    load.wrong += [f"{len(lost)} lines were told an address that vbng does not forward for: {lost[:5]}"] if lost else []
    load.wrong += [f"{args.lines - load.up} have no address after {seconds:.0f} s"] if load.up < args.lines else []
    with open(f"/proc/{vbng_cp.pid}/status", encoding="ascii") as f:
        memory = next(int(line.split()[1]) for line in f if line.startswith("VmRSS"))
    with open(f"/proc/{vbng_cp.pid}/stat", encoding="ascii") as f:
        ticks = sum(map(int, f.read().rsplit(")", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")
    print(f"{load.up} sessions, {(load.up - before) / seconds:.0f} a second; {load.again} asked again; {args.kills} kills; "
          f"vbng-cp: {ticks:.1f} s of CPU, {memory} KiB; client: {time.process_time() - cpu:.1f} s of CPU; in all {seconds:.1f} s")
    vbng_cp.terminate()
    vbng_cp.wait()
    vbng.process.send_signal(signal.SIGTERM)
    if vbng.end(60) != 0:
        return [*load.wrong, f"vbng: {vbng.err}"]
    report = vbng.report()
    drops = {f"{t['name']}.{reason}": n for t in report["tasks"] for reason, n in t["drops"].items() if n}
    stats = next(t["stats"] for t in report["tasks"] if t["name"] == "arp")
    print(f"vbng: drops {drops}, to the control plane {stats['to_control_plane']}, from it {stats['from_control_plane']}, "
          f"lost {stats['control_plane_lost']}")
    return load.wrong + process.ledger_faults(report)


def measure_with_radius(args, folder):
    """The same, with a FreeRADIUS that lets everybody in."""
    from tests.radius.freeradius import SECRET, freeradius  # what the others need not have

    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    with freeradius(pathlib.Path(folder) / "radius", users="DEFAULT Auth-Type := Accept\n") as server:
        return measure(args, folder, RADIUS.format(SECRET, server.authentication))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=10000)
    parser.add_argument("--window", type=int, default=256)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--dual", action="store_true")
    parser.add_argument("--radius", action="store_true")
    parser.add_argument("--seconds", type=int, default=300, help="the longest time that it may take")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--build", default=os.path.join(TOP, "build"))
    args = parser.parse_args()
    os.environ["PYTHONPATH"] = TOP  # for this file as a program, there
    why = enter()
    if why:
        sys.exit(why)
    with tempfile.TemporaryDirectory(prefix="vbng-") as folder:
        wrong = (measure_with_radius if args.radius else measure)(args, folder)
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
