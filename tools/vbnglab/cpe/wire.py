# SPDX-License-Identifier: BSD-3-Clause
"""Raw frames of a kernel interface, with the outer VLAN tag, which the kernel takes off, put back."""

import select
import socket
import struct

from ..lab.failure import Failure

# of <linux/if_ether.h>, <linux/if_packet.h>
ETH_P_ALL = 0x0003
SOL_PACKET, PACKET_AUXDATA, PACKET_IGNORE_OUTGOING = 263, 8, 23
TP_STATUS_VLAN_VALID, TP_STATUS_VLAN_TPID_VALID = 1 << 4, 1 << 6
AUXDATA = struct.Struct("=IIIHHHH")
TAG = struct.Struct("!HH")
BUFFER = 16 << 20  # octets of frames that nobody has taken yet
MOST_AT_ONCE = 256


def with_tag(frame, ancillary):
    """The frame as it was on the line."""
    for level, kind, data in ancillary:
        if level == SOL_PACKET and kind == PACKET_AUXDATA:
            status, _, _, _, _, tci, tpid = AUXDATA.unpack_from(data)
            if status & TP_STATUS_VLAN_VALID:
                return frame[:12] + TAG.pack(tpid if status & TP_STATUS_VLAN_TPID_VALID else 0x8100, tci) + frame[12:]
    return frame


class Wire:
    """An interface of this network namespace. Raises Failure where it cannot be had."""

    def __init__(self, interface):
        try:
            self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, 0)
            self.socket.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
            self.socket.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
            self.socket.bind((interface, ETH_P_ALL))
        except OSError as e:
            raise Failure(f"{interface}: {e.strerror or e}" + ("; frames of an interface need root, or CAP_NET_RAW" if isinstance(e, PermissionError) else "")) from e
        self.interface = interface
        self.poll = select.poll()
        self.poll.register(self.socket, select.POLLIN)

    def send(self, frame):
        """Send a frame; one for which there is no room is lost, as on a line. Raises Failure where the interface is down or gone."""
        try:
            self.socket.send(frame)
        except (BlockingIOError, InterruptedError):
            pass
        except OSError as e:
            if e.errno != 105:  # ENOBUFS
                raise Failure(f"{self.interface}: {e.strerror}") from e

    def receive(self, seconds):
        """Frames that are there, or that come within a time; at most MOST_AT_ONCE."""
        found = []
        if not self.poll.poll(seconds * 1000):
            return found
        try:
            while len(found) < MOST_AT_ONCE:
                frame, ancillary, _, _ = self.socket.recvmsg(2048, 64)
                found.append(with_tag(frame, ancillary))
        except BlockingIOError:
            pass
        except OSError as e:
            raise Failure(f"{self.interface}: {e.strerror}") from e
        return found
