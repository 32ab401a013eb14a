# SPDX-License-Identifier: BSD-3-Clause
"""Cores of this machine, or of one that is only described, as far as layouts are about them."""

import glob
import os
import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Core:
    """A physical core: its socket, its number within it, and how many hardware threads it has."""

    socket: int
    number: int
    threads: int

    def name(self, thread=0):
        """Name in a layout: "3s0", or "3s0h" for the SMT sibling."""
        return f"{self.number}s{self.socket}{'h' if thread else ''}"


def parse(spec):
    """All cores of "2x10x2": sockets x cores per socket x threads per core."""
    match = re.fullmatch(r"(\d+)x(\d+)x(\d+)", spec)
    if not match or 0 in map(int, match.groups()):
        raise ValueError(f"topology {spec!r}: expected sockets x cores x threads, for example 2x10x2")
    sockets, cores, threads = map(int, match.groups())
    return [Core(s, c, threads) for s in range(sockets) for c in range(cores)]


def _read(path):
    with open(path, encoding="ascii") as f:
        return f.read()


def live(root="/sys/devices/system/cpu"):
    """All cores of this machine, numbered within their socket as vbng does: from 0, without gaps."""
    threads = {}
    for d in sorted(glob.glob(os.path.join(root, "cpu[0-9]*"))):
        try:
            siblings = re.split("[-,]", _read(f"{d}/topology/thread_siblings_list"))
            # core_id may repeat in another die: the first sibling names the core
            key = (int(_read(f"{d}/topology/physical_package_id")), int(_read(f"{d}/topology/core_id")), int(siblings[0]))
        except OSError:  # the CPU is offline
            continue
        threads[key] = threads.get(key, 0) + 1
    sockets = sorted({package for package, *_ in threads})
    return [Core(sockets.index(package), n, threads[key]) for package in sockets
            for n, key in enumerate(sorted(k for k in threads if k[0] == package))]


def describe(cores):
    """Cores in words: "2 cores", "2 sockets of 10 cores of 2 threads"."""
    sockets = len({c.socket for c in cores})
    each = len(cores) // sockets
    threads = f" of {cores[0].threads} threads" if cores[0].threads > 1 else ""
    return (f"{sockets} sockets of " if sockets > 1 else "") + f"{each} core{'s' * (each != 1)}" + threads
