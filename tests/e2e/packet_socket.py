# SPDX-License-Identifier: BSD-3-Clause
"""Raw frames on a kernel interface, with the outer VLAN tag that the kernel takes off put back."""

import socket
import struct
import time

ETH_P_ALL = 0x0003
SOL_PACKET, PACKET_AUXDATA = 263, 8
PACKET_OUTGOING = 4
STATUS_VLAN_VALID, STATUS_VLAN_TPID_VALID = 1 << 4, 1 << 6


class PacketSocket:
    def __init__(self, interface):
        self.s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self.s.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        self.s.bind((interface, 0))

    def send(self, frame):
        self.s.send(frame)

    def receive(self, seconds):
        """The next frame that arrives within a time, or None."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.s.settimeout(left)
            try:
                frame, ancillary, _, address = self.s.recvmsg(65536, 256)
            except socket.timeout:
                return None
            if address[2] != PACKET_OUTGOING:
                return self.with_tag(frame, ancillary)
        return None

    @staticmethod
    def with_tag(frame, ancillary):
        for level, kind, data in ancillary:
            if level != SOL_PACKET or kind != PACKET_AUXDATA:
                continue
            status, _, _, _, _, tci, tpid = struct.unpack_from("=IIIHHHH", data)
            if status & STATUS_VLAN_VALID:
                tpid = tpid if status & STATUS_VLAN_TPID_VALID else 0x8100
                return frame[:12] + struct.pack("!HH", tpid, tci) + frame[12:]
        return frame
