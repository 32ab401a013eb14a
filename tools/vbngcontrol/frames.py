# SPDX-License-Identifier: BSD-3-Clause
"""The command explain, and the files that it takes frames from."""

import struct

from .gateway import Refused
from .output import show_json

NOT_SENT = 5  # exit status
PCAP = (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1", b"\xa1\xb2\xc3\xd4", b"\xa1\xb2\x3c\x4d")
PCAPNG = b"\x0a\x0d\x0d\x0a"


def _pcapng_frames(data):
    """Frames of the packet blocks of a pcapng file."""
    order = "<" if data[8:12] == b"\x4d\x3c\x2b\x1a" else ">"
    at = 0
    while at + 12 <= len(data):
        kind, length = struct.unpack_from(order + "II", data, at)
        if kind == 6:  # enhanced
            (size,) = struct.unpack_from(order + "I", data, at + 20)
            yield data[at + 28 : at + 28 + size]
        elif kind == 3:  # simple
            yield data[at + 12 : at + length - 4]
        at += max(length, 12)


def _first_frame(path):
    """The first frame of a pcap or pcapng file, in hexadecimal digits."""
    with open(path, "rb") as f:
        data = f.read(1 << 20)
    magic = data[:4]
    if magic == PCAPNG:
        frame = next(_pcapng_frames(data), b"")
    elif magic in PCAP:
        size = int.from_bytes(data[32:36], "little" if magic[3] == 0xA1 else "big")
        frame = data[40 : 40 + size]
    else:
        raise Refused(f"{path}: neither pcap nor pcapng")
    if not frame:
        raise Refused(f"{path}: there is no frame in it")
    return frame.hex()


def explain(gw, args):
    """Exit status 5: the frame would not be sent."""
    if (args.frame is None) == (args.pcap is None):
        raise Refused("expected a FRAME in words, in quotation marks, or --pcap FILE PORT")
    frame = args.frame if args.pcap is None else f"{args.pcap[1]} hex {_first_frame(args.pcap[0])}"
    answer = gw.ask("explain", frame=frame)
    text = answer.pop("text")
    if args.json:
        show_json(answer)
    else:
        print(text, end="")
    return 0 if answer["result"] == "sent" else NOT_SENT
