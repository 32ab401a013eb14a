# SPDX-License-Identifier: BSD-3-Clause
"""Both ends of the protocol between t4p4s' program l2fwd and its controller, as its sources have it (src/hardware_dep/shared/ctrl_plane:
messages.h, dpdk_l2fwd_controller.c, controller.c; examples/p4_14/l2fwd.p4_14): each can stand in for the real one.

usage: t4p4s.py controller PORT FILE, or t4p4s.py program EAL-OPTIONS -- OPTIONS, with the port in $T4P4S_CTL_PORT
"""

import os
import re
import socket
import struct
import sys
import time

VERSION, INITIALIZED, SET_DEFAULT, ADD_ENTRY, EXACT = 1, 5, 103, 104, 0
HEADER = struct.Struct("!BBHI")  # version, type, length with this header, transaction
ENTRY, DEFAULT = struct.Struct("!128sB3x"), struct.Struct("!128s")  # behind the header: table, number of fields; table
FIELD, ACTION, PARAMETER = struct.Struct("!128sBxH256s"), struct.Struct("!B128sB"), struct.Struct("!128sI128s")
LINE = 100  # bytes of a line that the controller reads at once
MAC = re.compile(r"MAC-FWD (\w\w):(\w\w):(\w\w):(\w\w):(\w\w):(\w\w) (\d+)")


def text(raw):
    return raw.split(b"\0")[0].decode()


class Controller:
    """The controller of l2fwd. wrong: lines that it cannot use."""

    def __init__(self, path):
        self.translations, self.wrong = {}, []
        with open(path, encoding="utf-8") as f:
            self.lines = f.read().splitlines()

    def _named(self, name):
        return self.translations.get(name, name).encode()

    @staticmethod
    def _message(kind, body=b""):
        return HEADER.pack(VERSION, kind, HEADER.size + len(body), 0) + body

    def _entry(self, table, field, mac, action, port=None):
        parameters = [] if port is None else [PARAMETER.pack(self._named("port"), 8, bytes([port]))]
        return self._message(ADD_ENTRY, ENTRY.pack(self._named(table), 1) + FIELD.pack(self._named(field), EXACT, 8 * len(mac), mac)
                             + ACTION.pack(0, self._named(action), len(parameters)) + b"".join(parameters))  # fmt: skip

    def messages(self):
        """What a switch is sent that connects."""
        for line in self.lines:
            words, mac = line.split(), MAC.fullmatch(line)
            if len(line) + 1 >= LINE:
                self.wrong.append(line)
            elif mac:
                address = bytes(int(octet, 16) for octet in mac.groups()[:6])
                yield self._entry("dmac", "ethernet.dstAddr", address, "forward", int(mac[7]))
                yield self._entry("smac", "ethernet.srcAddr", address, "_nop")
            elif words[:1] == ["TRANSLATION"] and len(words) == 3:
                self.translations[words[1]] = words[2]
            elif words[:1] == ["SET-DEFAULT"] and len(words) == 3:
                yield self._message(SET_DEFAULT, DEFAULT.pack(self._named(words[1])) + ACTION.pack(0, self._named(words[2]), 0) + bytes(2))
            else:
                self.wrong.append(line)
        yield self._message(INITIALIZED)


class Program:
    """The program l2fwd: its tables, by the names that the compiler gives them. wrong: what it would not know, or has no room for."""

    actions = {".smac": (".mac_learn", "._nop"), ".dmac": (".forward", ".bcast")}
    size = 512

    def __init__(self):
        self.tables, self.defaults, self.wrong, self.ready = {name: {} for name in self.actions}, {}, [], False

    def take(self, connection):
        """Take messages until the controller says that these are all."""
        while not self.ready:
            version, kind, length, _ = HEADER.unpack(connection.recv(HEADER.size, socket.MSG_WAITALL))
            body = connection.recv(length - HEADER.size, socket.MSG_WAITALL) if length > HEADER.size else b""
            if version != VERSION or kind not in (INITIALIZED, SET_DEFAULT, ADD_ENTRY):
                self.wrong.append(f"message {kind} of version {version}")
            elif kind == INITIALIZED:
                self.ready = True
            elif kind == SET_DEFAULT:
                self._default(body)
            else:
                self._add(body)

    def _known(self, table, action):
        if action in self.actions.get(table, ()):
            return True
        self.wrong.append(f"no action {action} of table {table}")
        return False

    def _default(self, body):
        table, (_, action, _) = text(body), ACTION.unpack_from(body, DEFAULT.size)
        if self._known(table, text(action)):
            self.defaults[table] = text(action)

    def _add(self, body):
        table, fields = ENTRY.unpack_from(body)
        _, kind, bits, value = FIELD.unpack_from(body, ENTRY.size)
        _, action, parameters = ACTION.unpack_from(body, ENTRY.size + FIELD.size)
        table, action = text(table), text(action)
        if not self._known(table, action):
            return
        if (fields, kind, bits) != (1, EXACT, 48) or parameters != (action == ".forward"):
            self.wrong.append(f"{table}: {fields} fields of {bits} bits, {parameters} parameters of {action}")
            return
        port = PARAMETER.unpack_from(body, ENTRY.size + FIELD.size + ACTION.size)[2][0] if parameters else None
        self.tables[table][value[:6]] = (action, port)
        if len(self.tables[table]) > self.size:
            self.wrong.append(f"{table} has no room for more than {self.size}")

    def goes(self, source, target):
        """Return (port, or None for all; whether the controller is asked about the source)."""
        asked = self.tables[".smac"].get(source, (self.defaults.get(".smac"), None))[0] == ".mac_learn"
        return self.tables[".dmac"].get(target, (self.defaults.get(".dmac"), None))[1], asked


def _be_controller(port, path):
    with socket.create_server(("127.0.0.1", int(port))) as server:
        connection, _ = server.accept()
        for message in Controller(path).messages():
            connection.sendall(message)
        time.sleep(600)


def _be_program(*arguments):
    program = Program()
    for iface in re.findall(r"iface=([^, ]+)", " ".join(arguments)):
        socket.socket(socket.AF_UNIX).bind(iface)
    with socket.create_connection(("127.0.0.1", int(os.environ["T4P4S_CTL_PORT"]))) as connection:
        program.take(connection)
        print("P4_FWD: entering main loop on lcore 0" if not program.wrong else program.wrong, flush=True)
        time.sleep(600)


if __name__ == "__main__":
    {"controller": _be_controller, "program": _be_program}[sys.argv[1]](*sys.argv[2:])
