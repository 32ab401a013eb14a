# SPDX-License-Identifier: BSD-3-Clause
"""DPDK's telemetry socket of a running vbng: doc/telemetry.md."""

import glob
import json
import os
import socket
import struct

RUN_DIRS = ("/var/run/dpdk", os.path.expanduser("~/.local/run/dpdk"), f"/run/user/{os.getuid()}/dpdk")
SOCKET = "dpdk_telemetry.v2"
TIMEOUT = 5  # seconds


class Unreachable(Exception):
    """No vbng, or none that answers."""


def find_socket():
    """The telemetry socket of the only vbng that runs."""
    found = [path for folder in RUN_DIRS for path in glob.glob(f"{folder}/vbng-*/{SOCKET}") if answers(path)]
    if len(found) != 1:
        what = "no vbng runs here" if not found else "several run: " + ", ".join(found)
        raise Unreachable(f"{what}; say --socket PATH (FILE_PREFIX/{SOCKET} in DPDK's run-time folder)")
    return found[0]


def answers(path):
    """Does somebody listen there? A process that was killed leaves its socket behind."""
    try:
        Telemetry(path).close()
    except Unreachable:
        return False
    return True


def in_rows(flat, keys):
    """Rows of as many figures as there are keys."""
    return [flat[i : i + len(keys)] for i in range(0, len(flat), len(keys))]


class Telemetry:
    """A connection to a telemetry socket: a command is a packet, and so is its answer."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # DPDK lets one client wait for its turn. The kernel has others wait for that, but not where Python keeps the time
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", TIMEOUT, 0))
        try:
            self.socket.connect(path)
            self.socket.settimeout(TIMEOUT)
            self.room = json.loads(self.socket.recv(1024))["max_output_len"]
        except (OSError, ValueError) as e:
            self.close()
            raise Unreachable(f"{path}: {e}") from e

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def ask(self, command):
        """What a command answers, without its name; None where it is refused."""
        try:
            self.socket.send(command.encode())
            answer = json.loads(self.socket.recv(self.room))
        except (OSError, ValueError) as e:
            raise Unreachable(f"{command}: {e}") from e
        return answer.get(command.split(",")[0])

    def count(self, group):
        """How many objects a group has; 0 where there is no such group."""
        rows = self.ask(f"/vbng/{group}")
        return 0 if rows is None else rows["count"]

    def must(self, command):
        """The same where an answer is expected: a gateway that ends has none."""
        answer = self.ask(command)
        if answer is None:
            raise Unreachable(f"{command}: the gateway does not answer (any more)")
        return answer

    def names(self, group):
        """The names of all objects of a group; "" where a number has none now."""
        return self.in_pieces(lambda first: self.must(f"/vbng/{group}/list,{first}"), self.count(group))

    def objects(self, group):
        """{name: {key: figure}} of all objects of a group."""
        return {name: self.must(f"/vbng/{group}/get,{i}") for i, name in enumerate(self.names(group))}

    def keys(self, group):
        """The keys of a row of figures; None where there is no such group."""
        head = self.ask(f"/vbng/{group}")
        return None if head is None else [key for key in head if key != "count" and not key.endswith("_")]

    def page(self, group, first):
        """[(name, row of figures)] from number first on, as many as an answer holds."""
        lines = (line.split(",") for line in self.must(f"/vbng/{group}/page,{first}").splitlines())
        return [(name, list(map(int, row))) for name, *row in lines]

    def rows(self, group):
        """(keys, [(name, row of figures)]) of all objects of a group; no keys where there is no such group."""
        return self.keys(group), self.in_pieces(lambda first: self.page(group, first), self.count(group))

    def top(self, group, keys, key, first=0):
        """(how many there are, [(number, name, row)]) with the greatest figure of a key, from rank first on."""
        answer = self.must(f"/vbng/{group}/top,{key},{first}")
        return answer["count"], list(zip(answer["numbers"], answer["names"], in_rows(answer["rows"], keys)))

    def plan(self):
        """The plan, as vbng --plan=json prints it."""
        text = ""
        while piece := self.must(f"/vbng/plan/json,{len(text.encode())}"):
            text += piece
        if not text:
            raise Unreachable("the gateway is ending")
        return json.loads(text)

    @staticmethod
    def in_pieces(ask, count):
        """All of what comes in pieces. A group may become smaller meanwhile."""
        found = []
        while len(found) < count:
            more = ask(len(found))
            if not more:
                break
            found += more
        return found
