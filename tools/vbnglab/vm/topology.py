# SPDX-License-Identifier: BSD-3-Clause
"""Topology of a guest: sockets, cores and threads as it sees them, and the CPUs of the host behind them.

A guest that believes that two vCPUs are siblings of one core, or on one socket, when they are not, places its
threads wrongly: so the topology is taken from the CPUs that the vCPUs are pinned to, unless it is said.
"""

import re
from dataclasses import dataclass

from ..lab.failure import Failure

SYSFS = "/sys/devices/system/cpu"


class TopologyError(Failure):
    """The topology is impossible; the text says why."""

    status = 2


@dataclass(frozen=True)
class Topology:
    """Sockets, cores per socket, threads per core. vCPUs are numbered thread by thread, core by core."""

    sockets: int
    cores: int
    threads: int

    @property
    def vcpus(self):
        return self.sockets * self.cores * self.threads

    def __str__(self):
        return f"{self.sockets}x{self.cores}x{self.threads}"


def parse(text):
    """Read a topology such as "2x10x2", as vbng --topology does. Raises TopologyError."""
    match = re.fullmatch(r"([1-9]\d?)x([1-9]\d{0,2})x([1-9]\d?)", text)
    if not match:
        raise TopologyError(f"'{text}' is no topology; say sockets x cores x threads, for example 1x2x2")
    return Topology(*map(int, match.groups()))


def parse_cpus(text):
    """"2-5,12" -> [2, 3, 4, 5, 12]; the order counts."""
    out = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if first > last:
            raise TopologyError(f"'{text}' is no list of CPUs; say for example 2-5,12")
        out += range(first, last + 1)
    if len(set(out)) != len(out):
        raise TopologyError(f"'{text}' names a CPU twice")
    return out


def places(cpus, sysfs=SYSFS):
    """[(socket, core)] of CPUs of the host."""
    out = []
    for cpu in cpus:
        try:
            with open(f"{sysfs}/cpu{cpu}/topology/physical_package_id", encoding="ascii") as f:
                socket = int(f.read())
            with open(f"{sysfs}/cpu{cpu}/topology/core_id", encoding="ascii") as f:
                out.append((socket, int(f.read())))
        except OSError:
            raise TopologyError(f"this machine has no CPU {cpu}") from None
    return out


def of_cpus(cpus, sysfs=SYSFS):
    """Return (topology, CPUs in the order of the vCPUs) of a guest whose vCPUs run on these CPUs of the host. Raises TopologyError."""
    by_core = {}
    for cpu, place in sorted(zip(cpus, places(cpus, sysfs)), key=lambda c: (c[1], c[0])):
        by_core.setdefault(place, []).append(cpu)
    per_socket = {}
    for socket, _ in by_core:
        per_socket[socket] = per_socket.get(socket, 0) + 1
    threads, cores = {len(c) for c in by_core.values()}, set(per_socket.values())
    if len(threads) > 1 or len(cores) > 1:
        raise TopologyError(
            f"CPUs {','.join(map(str, cpus))} are {dict(sorted(by_core.items()))} as (socket, core): a guest has as many cores "
            "in each socket and threads in each core; choose other CPUs, or say --topology")
    return Topology(len(per_socket), cores.pop(), threads.pop()), [c for core in by_core.values() for c in core]


def differences(topology, cpus, sysfs=SYSFS):
    """List, as sentences, what a guest of this topology believes wrongly of the CPUs that its vCPUs run on."""
    real, out = places(cpus, sysfs), []
    believed = [(v // (topology.cores * topology.threads), v // topology.threads) for v in range(topology.vcpus)]
    for a in range(len(cpus)):
        for b in range(a + 1, len(cpus)):
            for what, same_guest, same_host in (
                ("on one core", believed[a] == believed[b], real[a] == real[b]),
                ("on one socket", believed[a][0] == believed[b][0], real[a][0] == real[b][0]),
            ):
                if same_guest != same_host:
                    out.append(f"vCPUs {a} and {b} are {'' if same_guest else 'not '}{what} to the guest, but CPUs "
                               f"{cpus[a]} and {cpus[b]} are {'' if same_host else 'not '}")
    return out
