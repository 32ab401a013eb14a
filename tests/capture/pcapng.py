# SPDX-License-Identifier: BSD-3-Clause
"""Reads a pcapng file by the letter of draft-ietf-opsawg-pcapng, and nothing that it does not need."""

import struct

SECTION, INTERFACE, STATISTICS, PACKET = 0x0A0D0D0A, 1, 5, 6
DIRECTIONS = {0: "", 1: "in", 2: "out"}  # epb_flags, bits 0 and 1


class Packet:
    def __init__(self, interface, ns, frame, length, options):
        self.interface, self.ns, self.frame, self.length = interface, ns, frame, length
        self.direction = DIRECTIONS[struct.unpack("<I", options.get(2, bytes(4)))[0] & 3]
        self.comment = options.get(1, b"").decode()


class File:
    """interfaces: names; packets in the order of the file; statistics: by name."""

    def __init__(self, path):
        with open(path, "rb") as f:
            self.data = f.read()
        self.interfaces, self.packets, self.statistics, self.comment = [], [], {}, ""
        for kind, body in self.blocks():
            self.take(kind, body)

    def blocks(self):
        at = 0
        while at < len(self.data):
            kind, length = struct.unpack_from("<II", self.data, at)
            if length % 4 or struct.unpack_from("<I", self.data, at + length - 4)[0] != length:
                raise ValueError(f"the block at {at} has no right end")
            yield kind, self.data[at + 8 : at + length - 4]
            at += length

    def take(self, kind, body):
        if kind == SECTION:
            if struct.unpack_from("<IHH", body) != (0x1A2B3C4D, 1, 0):
                raise ValueError("no section header of version 1.0")
            self.comment = options_of(body[16:]).get(1, b"").decode()
        elif kind == INTERFACE:
            options = options_of(body[8:])
            if struct.unpack_from("<H", body)[0] != 1 or options[9] != b"\x09":
                raise ValueError("an interface is not Ethernet, or does not count nanoseconds")
            self.interfaces.append(options[2].decode())
        elif kind == PACKET:
            number, high, low, kept, length = struct.unpack_from("<IIIII", body)
            options = options_of(body[20 + (kept + 3) // 4 * 4 :])
            frame = body[20 : 20 + kept]
            self.packets.append(Packet(self.interfaces[number], high << 32 | low, frame, length, options))
        elif kind == STATISTICS:
            options = options_of(body[12:])
            names = {4: "received", 5: "dropped", 6: "accepted", 8: "delivered"}
            values = {name: struct.unpack("<Q", options[code])[0] for code, name in names.items()}
            self.statistics[self.interfaces[struct.unpack_from("<I", body)[0]]] = values
        else:
            raise ValueError(f"a block of type {kind:#x}")

    def at(self, interface, direction):
        """Packets of an interface, in one direction: "in", "out", "" of drops."""
        return [p for p in self.packets if (p.interface, p.direction) == (interface, direction)]


def options_of(data):
    options = {}
    while len(data) >= 4:
        code, length = struct.unpack_from("<HH", data)
        if code == 0:
            break
        options[code] = data[4 : 4 + length]
        data = data[4 + (length + 3) // 4 * 4 :]
    return options
