# SPDX-License-Identifier: BSD-3-Clause
"""DPDK's telemetry socket of a running vbng: doc/telemetry.md."""

import glob
import json
import os
import socket
import struct
import time
import urllib.parse

from .failure import Failure
from .schema import Schema

RUN_DIRS = ("/var/run/dpdk", "/run/vbng/dpdk", os.path.expanduser("~/.local/run/dpdk"), f"/run/user/{os.getuid()}/dpdk")
SOCKET = "dpdk_telemetry.v2"
TIMEOUT = 5  # seconds
CLIENTS = 10  # that DPDK serves at a time; it hangs up on others without a word
PATIENCE = 1  # seconds until one of them may have gone: DPDK notices the end of a client a moment after it
LABELS = 8  # in one answer, however long they are


class Unreachable(Failure):
    """No vbng answers; the text says what was tried."""


class Busy(Unreachable):
    """A vbng is there, but serves as many clients as it can."""


def find_socket():
    """Path of the telemetry socket of the only vbng that runs. Raises Unreachable if there is none, or more than one."""
    found = [path for folder in RUN_DIRS for path in glob.glob(f"{folder}/vbng-*/{SOCKET}") if answers(path)]
    if len(found) != 1:
        what = "no vbng runs here" if not found else "several run: " + ", ".join(found)
        raise Unreachable(f"{what}; say --telemetry PATH (FILE_PREFIX/{SOCKET} in DPDK's run-time folder)")
    return found[0]


def answers(path):
    """Tell whether a process listens there; one that was killed leaves its socket behind."""
    try:
        Telemetry(path).close()
    except Busy:
        return True
    except Unreachable:
        return False
    return True


def in_rows(flat, keys):
    """Cut a list into rows of as many figures as there are keys."""
    return [flat[i : i + len(keys)] for i in range(0, len(flat), len(keys))]


class Telemetry:
    """A connection to a telemetry socket: a command is a packet, and so is its answer."""

    def __init__(self, path):
        end = time.monotonic() + PATIENCE
        while not (text := self.connect(path)):
            self.close()
            if time.monotonic() > end:
                raise Busy(f"{path}: {CLIENTS} clients are served already, DPDK takes no more: end one (vbng-lab top, exporter, web)")
            time.sleep(PATIENCE / 50)
        try:
            greeting = json.loads(text)
            self.room = greeting["max_output_len"]
            self.dpdk = greeting.get("version", "").removeprefix("DPDK ")
        except (KeyError, ValueError) as e:
            self.close()
            raise Unreachable(f"{path}: this is no telemetry socket of DPDK: {text[:40]}") from e

    def connect(self, path):
        """The greeting; nothing where it hangs up. Raises Unreachable."""
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # DPDK lets one client wait to be accepted; more of them wait in connect(), which Python's own timeout would not allow.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", TIMEOUT, 0))
        try:
            self.socket.connect(path)
            self.socket.settimeout(TIMEOUT)
            return self.socket.recv(1024)
        except OSError as e:
            self.close()
            raise Unreachable(f"{path}: {e}") from e

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def ask(self, command):
        """Answer of a command, without the command's name; None where it is refused. Raises Unreachable."""
        try:
            self.socket.send(command.encode())
            answer = json.loads(self.socket.recv(self.room))
        except (OSError, ValueError) as e:
            raise Unreachable(f"{command}: {e}") from e
        return answer.get(command.split(",")[0])

    def count(self, group):
        """Number of objects of a group; 0 where there is no such group."""
        rows = self.ask(f"/vbng/{group}")
        return 0 if rows is None else rows["count"]

    def must(self, command):
        """Answer of a command that is never refused. Raises Unreachable when there is none, as when the gateway is ending."""
        answer = self.ask(command)
        if answer is None:
            raise Unreachable(f"{command}: the gateway does not answer (any more)")
        return answer

    def names(self, group):
        """Names of all objects of a group, by number; "" for a number that is free."""
        return self.in_pieces(lambda first: self.must(f"/vbng/{group}/list,{first}"), self.count(group))

    def objects(self, group):
        """{name: {key: figure}} of all objects of a group."""
        return {name: self.must(f"/vbng/{group}/get,{i}") for i, name in enumerate(self.names(group))}

    def keys(self, group):
        """Keys of the figures of a group; None where there is no such group."""
        head = self.ask(f"/vbng/{group}")
        return None if head is None else [key for key in head if key != "count" and not key.endswith("_")]

    def page(self, group, first):
        """[(name, row of figures)] of as many objects as an answer holds, from number first on."""
        lines = (line.split(",") for line in self.must(f"/vbng/{group}/page,{first}").splitlines())
        return [(name, list(map(int, row))) for name, *row in lines]

    def rows(self, group):
        """(keys, [(name, row of figures)]) of all objects of a group; no keys where there is no such group."""
        return self.keys(group), self.in_pieces(lambda first: self.page(group, first), self.count(group))

    def top(self, group, keys, key, first=0):
        """(how many there are, [(number, name, row)]) with the greatest figure of a key, from rank first on."""
        answer = self.must(f"/vbng/{group}/top,{key},{first}")
        return answer["count"], list(zip(answer["numbers"], answer["names"], in_rows(answer["rows"], keys)))

    def labels(self, group, numbers):
        """What people call the objects of these numbers, in their order; "": nothing."""
        found = []
        for i in range(0, len(numbers), LABELS):
            lines = self.must(f"/vbng/{group}/labels,{','.join(map(str, numbers[i : i + LABELS]))}")
            found += map(urllib.parse.unquote, lines.split("\n")[:-1])
        return found

    def labelled(self, group):
        """Yield (number, what people call it) of all objects that have such a name."""
        first = 0
        while lines := self.ask(f"/vbng/{group}/labelled,{first}"):
            for line in lines.splitlines():
                number, _, label = line.partition(",")
                first = int(number) + 1
                yield int(number), urllib.parse.unquote(label)

    def find(self, group, text):
        """Numbers of the objects that a text may mean: an id, address, MAC, key, circuit, profile, or a part of a name."""
        found, first = [], "0"
        while first:
            first, _, numbers = self.must(f"/vbng/{group}/find,{first},{urllib.parse.quote(text)}").partition("\n")
            found += map(int, filter(None, numbers.split(",")))
        return found

    def document(self, name):
        """A JSON document that is answered in pieces."""
        text = ""
        while piece := self.must(f"/vbng/{name}/json,{len(text.encode())}"):
            text += piece
        if not text:
            raise Unreachable("the gateway is ending")
        return json.loads(text)

    def plan(self):
        """The plan, as vbng --plan=json prints it."""
        return self.document("plan")

    def schema(self):
        """What it says of types of task, as a Schema."""
        return Schema(self.document("schema"))

    @staticmethod
    def in_pieces(ask, count):
        """Collect what comes in several answers, each from a number on; a group may become smaller meanwhile."""
        found = []
        while len(found) < count:
            more = ask(len(found))
            if not more:
                break
            found += more
        return found
