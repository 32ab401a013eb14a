# SPDX-License-Identifier: BSD-3-Clause
"""Where the packets of a trial were lost, by all who count some: the tester's queues into the switch, the switch, the VNFs, and the rings of whoever
did not fetch what the switch had for them."""

from ..lab import run
from .scenarios import TESTER

LEAST = 1e-3  # share of all packets below which a place is not worth a word
MOST = 3  # places that are named
UNKNOWN = "counted nowhere"


def _add(out, place, packets):
    if packets > 0:
        out[place] = out.get(place, 0) + packets


def _switch(out, topology, counters, inside):
    for port in topology.place:
        c = counters.get(port) or {}
        _add(out, f"by the switch, from {port}", c.get("rx_drop", 0))
        _add(out, f"by the switch, to {port}", c.get("tx_drop", 0))
    _add(out, "inside the switch", sum(inside.values()))


def _rings(out, topology, reports):
    for owner, report in reports.items():
        for p in report["ports"]:
            if topology.owner(p["name"]) == owner:
                _add(out, f"in the ring of {p['name']}", p["rx_missed"])
                _add(out, f"received with an error by {p['name']}", p["rx_errors"])


def counted(topology, reports, counters, inside):
    """{place: packets} of what the switch, and rings of ports, have counted as lost. reports: {owner: what has its ports, as a report}; counters: of the
    switch, None where they were not read; inside: what the switch says that it has lost between its ports."""
    out = {}
    _switch(out, topology, counters or {}, inside)
    _rings(out, topology, reports)
    return out


def places(topology, reports, counters, inside, generators, row):
    """{place: packets} of a judged trial that is whole, the rest of its loss under UNKNOWN. generators: names of those that sent; the others as of counted()."""
    out = counted(topology, reports, counters, inside)
    for name in generators:
        _add(out, "in a full queue into the switch", run.task(reports[TESTER], name)["drops"].get("link_full", 0))
    for task, n in row["drops"].items():
        _add(out, f"by {task}", n)
    _add(out, UNKNOWN, row["lost"] - sum(out.values()))
    return out


def numbers(lost):
    """{place: packets} as text; "" where nothing was lost."""
    return ", ".join(f"{n} {place}" for place, n in lost.items())


def words(trials):
    """What the trials of a point lost, and where, as text; "" where it is next to nothing, or they are of a result that does not say it."""
    told, out = [t for t in trials if "lost_at" in t], {}
    offered = sum(t["offered"] for t in told)
    for t in told:
        for place, n in t["lost_at"].items():
            _add(out, place, n)
    shares = sorted(((n / offered, place) for place, n in out.items() if n >= LEAST * offered), reverse=True)
    named = ", ".join(f"{share * 100:.2g} % {place}" for share, place in shares[:MOST])
    return f"lost: {named}" if named else ""
