# SPDX-License-Identifier: BSD-3-Clause
"""A DHCP client made with Scapy, and a vbng-cp beside a user plane to try it on."""

import json
import os
import queue
import socket
import subprocess
import time

from tests.common import need
from tests.common.limits import limit
from tests.cp.userplane import UserPlane

need.module("scapy", "python3-scapy")
from scapy.layers.dhcp import BOOTP, DHCP, dhcp_request  # noqa: E402,F401
from scapy.layers.inet import IP, UDP  # noqa: E402
from scapy.layers.l2 import Ether  # noqa: E402

PORT_MAC = "02:b0:00:00:00:00"
GATEWAY = "10.64.0.1"
CONFIG = """
control_socket = "CONTROL";
punt_socket = "PUNT";
store = "STORE";
offer_time = "OFFER";
pools = (
    { name = "homes"; prefix = "10.64.0.0/24"; gateway = "10.64.0.1"; last = "LAST"; dns = ["192.0.2.53", "192.0.2.54"];
      domain = "example.net"; lease_time = "LEASE"; declined_time = "DECLINED"; }
);
access = ( { port = "cpe0"; svlan = "100-199"; cvlan = "1-4094"; pool = "homes"; profile = "home-50M"; POOL6 } ACCESS );
EXTRA
"""
DEFAULTS = {"EXTRA": "", "POOL6": "", "ACCESS": "", "LEASE": "1h", "OFFER": "60s", "DECLINED": "10min", "LAST": "10.64.0.254"}


def program(build):
    path = build / "src/cp/vbng-cp"
    if not path.exists():
        need.skip("vbng-cp is not built here (Debian package libsqlite3-dev)")
    return str(path)


class ControlPlane:
    """vbng-cp, beside a user plane of ours."""

    def __init__(self, build, folder, text=CONFIG, **values):
        self.program, self.folder = program(build), folder
        self.config, self.log = os.path.join(folder, "cp.cfg"), os.path.join(folder, "log")
        self.socket = os.path.join(folder, "s")
        self.up = UserPlane(folder, {"cpe0": PORT_MAC})
        paths = {"CONTROL": self.up.control_path, "PUNT": self.up.punt_path, "STORE": os.path.join(folder, "store.db")}
        for key, value in (DEFAULTS | paths | values).items():
            text = text.replace(key, value)
        with open(self.config, "w", encoding="ascii") as f:
            f.write(text)
        self.process = None
        self.start()

    def start(self):
        before = self.compared
        with open(self.log, "a", encoding="ascii") as log:
            self.process = subprocess.Popen([self.program, "--control", self.socket, self.config], stderr=log)
        self.ready(before)

    def ready(self, before):
        """Wait until it is connected, and has compared once more than before."""
        self.until(lambda: self.up.punt is not None and self.compared > before)

    @property
    def compared(self):
        return len([1 for request, answer in self.up.requests if request["cmd"] == "list-subscribers" and answer["next"] is None])

    def ask(self, **request):
        """What its control socket answers."""
        with socket.socket(socket.AF_UNIX) as s, s.makefile("rb") as answers:
            s.settimeout(limit(20))
            s.connect(self.socket)
            s.sendall(json.dumps(request).encode() + b"\n")
            return json.loads(answers.readline())

    def until(self, condition, seconds=10):
        end = time.monotonic() + limit(seconds)
        while not condition():
            assert self.process.poll() is None, self.text()
            assert time.monotonic() < end, self.text()
            time.sleep(0.01)

    def text(self):
        with open(self.log, encoding="ascii") as f:
            return f.read()

    def kill(self):
        """As kill -9 does; its connections are closed then."""
        self.process.kill()
        self.process.wait()
        end = time.monotonic() + limit(10)
        while self.up.hold.is_set() and self.up.punt is not None and time.monotonic() < end:
            time.sleep(0.005)

    def restart_userplane(self, keeps):
        """Kill the user plane and start another, with the same subscribers or none."""
        rows = self.up.rows if keeps else {}
        self.up.stop()
        self.up = UserPlane(self.folder, {"cpe0": PORT_MAC})
        self.up.rows = rows
        self.ready(0)

    def close(self):
        self.process.terminate()
        try:
            status = self.process.wait(limit(10))
        finally:
            self.process.kill()
            self.up.stop()
        assert status == 0, self.text()


class Client:
    """One CPE on a line."""

    def __init__(self, cp, number, line=None):
        self.cp = cp
        self.mac = f"02:00:00:00:{number >> 8:02x}:{number & 255:02x}"
        self.line = line or ("cpe0", 100 + number // 4000, 1 + number % 4000)
        self.address, self.server = "0.0.0.0", None

    def frame(self, kind, *options, xid=1, flags=0, ciaddr="0.0.0.0", to="255.255.255.255", giaddr="0.0.0.0", **fields):
        chaddr = bytes.fromhex(self.mac.replace(":", "")) + bytes(10)
        return bytes(Ether(src=self.mac, dst="ff:ff:ff:ff:ff:ff") / IP(src=ciaddr, dst=to) / UDP(sport=68, dport=67)
                     / BOOTP(chaddr=chaddr, xid=xid, flags=flags, ciaddr=ciaddr, giaddr=giaddr, **fields)
                     / DHCP(options=[("message-type", kind), *options, "end"]))

    def say(self, kind, *options, **fields):
        self.cp.up.send(self.line, self.frame(kind, *options, **fields))

    def hear(self, seconds=5):
        """The next reply, as Scapy understands it; it is for this line."""
        line, frame = self.cp.up.expect(limit(seconds))
        assert line == self.line
        reply = Ether(frame)
        assert reply.src == PORT_MAC
        for layer in (IP, UDP):  # their checksums are right
            again = Ether(frame)
            given = again[layer].chksum
            del again[layer].chksum
            assert Ether(bytes(again))[layer].chksum == given
        return reply

    def hears_nothing(self, seconds=0.3):
        try:
            line, frame = self.cp.up.expect(seconds)
        except queue.Empty:
            return
        raise AssertionError(f"{line} was sent {Ether(frame).summary()}")

    def discover(self, *options, **fields):
        self.say("discover", *options, **fields)
        return self.hear()

    def request(self, offer, *options, **fields):
        """Take an offer. Returns the answer."""
        self.say("request", ("requested_addr", offer[BOOTP].yiaddr), ("server_id", option(offer, "server_id")), *options, **fields)
        answer = self.hear()
        if option(answer, "message-type") == ACK:
            self.address, self.server = answer[BOOTP].yiaddr, option(answer, "server_id")
        return answer

    def get(self):
        """Get an address."""
        answer = self.request(self.discover())
        assert option(answer, "message-type") == ACK
        return self.address

    def renew(self):
        self.say("request", ciaddr=self.address, to=self.server)
        return self.hear()


OFFER, ACK, NAK = 2, 5, 6


def option(reply, name):
    """The value of an option: its only one, a tuple of several, or None."""
    for o in reply[DHCP].options:
        if o[0] == name:
            return o[1] if len(o) == 2 else o[1:]
    return None
