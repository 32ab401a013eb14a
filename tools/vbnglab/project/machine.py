# SPDX-License-Identifier: BSD-3-Clause
"""Machines and ports that a projection is for."""

import argparse
import re
from dataclasses import dataclass

WIRE = 20  # bytes of a frame's preamble, start and gap


@dataclass(frozen=True)
class Cpu:
    """One socket. bandwidth: bytes a second of its memory, channels times their rate; None: unknown."""

    name: str
    cores: int
    hz: float
    bandwidth: float | None


# Base clocks, and memory as the manufacturers say: nothing here was measured.
MODELS = {c.name: c for c in (
    Cpu("xeon-e5-2680v2", 10, 2.8e9, 59.7e9),  # 4 x DDR3-1866
    Cpu("xeon-6252n", 24, 2.3e9, 140.8e9),  # 6 x DDR4-2933
    Cpu("xeon-6338n", 32, 2.2e9, 170.6e9),  # 8 x DDR4-2666
    Cpu("xeon-8480+", 56, 2.0e9, 307.2e9),  # 8 x DDR5-4800
    Cpu("epyc-7763", 64, 2.45e9, 204.8e9),  # 8 x DDR4-3200
    Cpu("epyc-9554", 64, 3.1e9, 460.8e9),  # 12 x DDR5-4800
)}  # fmt: skip


def cpu(text):
    """A model, or "CORESxGHZ", "CORESxGHZ@GB/S" of memory. Raises argparse.ArgumentTypeError."""
    if text in MODELS:
        return MODELS[text]
    found = re.fullmatch(r"(\d+)x(\d+(?:\.\d+)?)(?:@(\d+(?:\.\d+)?))?", text)
    if not found or not 1 <= int(found[1]) <= 1024 or not 0.1 <= float(found[2]) <= 10 or found[3] and float(found[3]) == 0:
        raise argparse.ArgumentTypeError(f"{text!r}: expected one of {', '.join(MODELS)}, or CORESxGHZ@GB/S such as 64x2.6@200")
    return Cpu(text, int(found[1]), float(found[2]) * 1e9, float(found[3]) * 1e9 if found[3] else None)


@dataclass(frozen=True)
class Ports:
    """How many, half of them on each side, and bit/s of each."""

    number: int
    rate: float

    def pps(self, access, core):
        """Packets per second through the gateway both ways, for frames of so many bytes with FCS on the sides."""
        return self.number * self.rate / 8 / (max(access, core) + WIRE)


def ports(text):
    """Ports of "4x100G". Raises argparse.ArgumentTypeError."""
    found = re.fullmatch(r"(\d+)x(\d+(?:\.\d+)?)G", text)
    if not found or not 2 <= int(found[1]) <= 32 or int(found[1]) % 2 or not 0 < float(found[2]) <= 800:
        raise argparse.ArgumentTypeError(f"{text!r}: expected an even number of ports, half of them on each side, and their rate, such as 4x100G")
    return Ports(int(found[1]), float(found[2]) * 1e9)


def core_counts(text):
    """Numbers of cores of "1,2,4,64". Raises argparse.ArgumentTypeError."""
    if not re.fullmatch(r"\d+(,\d+)*", text) or not all(1 <= int(n) <= 1024 for n in text.split(",")):
        raise argparse.ArgumentTypeError(f"{text!r}: expected numbers of cores from 1 to 1024, such as 1,2,4,64")
    return sorted({int(n) for n in text.split(",")})
