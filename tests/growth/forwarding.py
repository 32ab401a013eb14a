# SPDX-License-Identifier: BSD-3-Clause
"""Packets of sessions that are up, while others come up: numbered, from CPEs to the core and back, by a process of its own."""

import multiprocessing
import struct
import time

from tests.common.limits import limit
from vbnglab.cpe.packets import IPV4, udp4, udp_data
from vbnglab.cpe.wire import Wire

CORE, CORE_MAC = bytes((192, 0, 2, 2)), bytes.fromhex("02d000000000")
UP, DOWN = (4001, 4002), (4002, 4001)  # ports of UDP
NUMBER = struct.Struct("!I")
TICK = 0.002  # seconds
QUIET = 5.0  # seconds without any: the rest is lost


class Forwarding:
    """So many packets a second up, and each back, through these CPEs' sessions, until end()."""

    def __init__(self, line, core, gateway, cpes, rate):
        context = multiprocessing.get_context("fork")
        self.stop, self.result = context.Event(), context.SimpleQueue()
        self.line, self.core, self.gateway, self.cpes, self.rate = line, core, gateway, cpes, rate
        self.process = context.Process(target=self._run, daemon=True)
        self.process.start()

    def end(self):
        """(packets sent up, arrived in the core, arrived back)"""
        self.stop.set()
        self.process.join(limit(60))
        assert self.process.exitcode == 0, "the process that sends packets has failed"
        return self.result.get()

    def _run(self):
        line, core = Wire(self.line), Wire(self.core)
        of, up, back = {cpe.key: cpe for cpe in self.cpes}, set(), set()
        sent, begun, last = 0, time.monotonic(), time.monotonic()
        while not self.stop.is_set() or (len(back) < sent and time.monotonic() < last + QUIET):
            for _ in range(sent, sent if self.stop.is_set() else int((time.monotonic() - begun) * self.rate)):
                cpe = self.cpes[sent % len(self.cpes)]
                protocol, address = cpe.source(4)
                line.send(protocol.wrap(udp4(address, CORE, UP, NUMBER.pack(sent))))
                sent += 1
            for frame in core.receive(TICK):
                data = udp_data(frame[14:], UP) if frame[12:14] == b"\x08\x00" else None
                if data:
                    up.add(NUMBER.unpack_from(data)[0])
                    core.send(self.gateway + CORE_MAC + b"\x08\x00" + udp4(CORE, frame[26:30], DOWN, data[:NUMBER.size]))
            for frame in line.receive(0):
                number = self._mine(of, frame)
                if number is not None:
                    back.add(number)
                    last = time.monotonic()
        self.result.put((sent, len(up), len(back)))

    @staticmethod
    def _mine(of, frame):
        """The number that a frame for one of the CPEs has; None of all others."""
        cpe = of.get(bytes((frame[14] & 15, frame[15], frame[18] & 15, frame[19]))) if len(frame) > 22 else None
        if cpe is None:
            return None
        kind, payload = cpe.inside(frame[20] << 8 | frame[21], frame[22:])
        data = udp_data(payload, DOWN) if kind == IPV4 and len(payload) >= 20 else None
        return NUMBER.unpack_from(data)[0] if data else None
