# SPDX-License-Identifier: BSD-3-Clause
"""The scenarios in which switches are compared: which ports a switch has, what is at their other ends, and how they are
joined.

p2p, p2v, v2v and loopback are those of Zhang et al., *Comparing the Performance of State-of-the-Art Software
Switches for NFV*; pairs is that of Ara et al., *Framework for virtual networking*; bng and chain need a real VNF.
"""

from dataclasses import dataclass, field

TESTER = "tester"


@dataclass(frozen=True)
class Vnf:
    """A VNF between ports of the switch."""

    name: str
    ports: tuple  # names
    joined: tuple = ()  # ((from, to), ...): handed on unchanged; () for a gateway


@dataclass
class Topology:
    """The ports of a scenario, what is at them, and how they are joined. vbng's port has the same name."""

    place: dict  # port -> "phy" (stands for a NIC) or "vnf"
    links: list  # (port, port): joined by the switch
    vnfs: list = field(default_factory=list)
    up: list = field(default_factory=list)  # (from, to): ports of the tester, what is sent and where it must come back
    down: list = field(default_factory=list)

    @property
    def tester_ports(self):
        """Ports of the tester, in order."""
        taken = {p for v in self.vnfs for p in v.ports}
        return [p for p in self.place if p not in taken]

    def owner(self, port):
        """The owner of a port: the name of a VNF, or TESTER."""
        return next((v.name for v in self.vnfs if port in v.ports), TESTER)


def _two(a, b):
    return Topology({"t0": a, "t1": b}, [("t0", "t1")], up=[("t0", "t1")], down=[("t1", "t0")])


def _both_ways(a, b):
    return ((a, b), (b, a))


def p2p(_):
    """NIC to NIC: t0 - switch - t1"""
    return _two("phy", "phy")


def p2v(_):
    """NIC to VNF: t0 - switch - t1"""
    return _two("phy", "vnf")


def v2v(_):
    """VNF to VNF: t0 - switch - t1"""
    return _two("vnf", "vnf")


def loopback(n):
    """NIC, N VNFs one behind the other, NIC: t0 - switch - v1 - switch - v2 ... - switch - t1"""
    t = Topology({"t0": "phy"}, [], up=[("t0", "t1")], down=[("t1", "t0")])
    last = "t0"
    for i in range(1, n + 1):
        a, b = f"v{i}a", f"v{i}b"
        t.place.update({a: "vnf", b: "vnf"})
        t.links.append((last, a))
        t.vnfs.append(Vnf(f"vnf{i}", (a, b), _both_ways(a, b)))
        last = b
    t.place["t1"] = "phy"
    t.links.append((last, "t1"))
    return t


def circle(_):
    """A VNF alone, to whose one port the switch brings what leaves the other: v1a - switch - v1b (compare only)"""
    ports = ("v1a", "v1b")
    return Topology(dict.fromkeys(ports, "vnf"), [ports], [Vnf("vnf1", ports, _both_ways(*ports))])


def pairs(n):
    """N pairs of containers at one switch: s0 - switch - r0, s1 - switch - r1 ..."""
    t = Topology({}, [])
    for i in range(n):
        s, r = f"s{i}", f"r{i}"
        t.place.update({s: "vnf", r: "vnf"})
        t.links.append((s, r))
        t.up.append((s, r))
    return t


ACCESS, CORE = ("cpe0", "cpe1"), ("core0", "core1")


def bng(_):
    """The gateway behind the switch: t_cpe0, t_cpe1 - switch - gateway - switch - t_core0, t_core1"""
    ports = (*ACCESS, *CORE)
    return Topology({**{f"t_{p}": "phy" for p in ports}, **{p: "vnf" for p in ports}}, [(f"t_{p}", p) for p in ports],
                    [Vnf("gateway", ports)])


def chain(_):
    """The gateway and another VNF behind it: t_cpe - switch - gateway - switch - VNF - switch - t_core"""
    ports = (*ACCESS, *CORE)
    inner, outer = tuple(f"in{i}" for i in range(2)), tuple(f"out{i}" for i in range(2))
    joined = tuple(way for a, b in zip(inner, outer) for way in _both_ways(a, b))
    return Topology({**{f"t_{p}": "phy" for p in ports}, **{p: "vnf" for p in (*ports, *inner, *outer)}},
                    [(f"t_{p}", p) for p in ACCESS] + list(zip(CORE, inner)) + list(zip(outer, (f"t_{p}" for p in CORE))),
                    [Vnf("gateway", ports), Vnf("vnf1", (*inner, *outer), joined)])


ALL = {f.__name__: f for f in (p2p, p2v, v2v, loopback, pairs, bng, chain)}
CLOSED = {"circle": circle}  # scenarios without a tester, for compare
COUNTED = {"loopback", "pairs"}  # scenarios that have a number
GATEWAY = {"bng", "chain"}


def account(topology, reports, counters, inside=0):
    """List, as sentences, what does not balance between the processes ({owner: report}) and the counters of the switch, at loads
    at which nothing is lost between processes. inside: packets that the switch reports lost between its ports."""
    faults = [f"the ledger of {name} does not balance" for name, r in reports.items() if not r["ledger"]["balances"]]
    for port in topology.place:
        p = next(x for x in reports[topology.owner(port)]["ports"] if x["name"] == port)
        c = counters.get(port)
        if c is None:
            faults.append(f"the switch says nothing of port {port}")
            continue
        for what, sent, got in ((f"{port} to switch", p["tx_packets"], c["rx_packets"] + c["rx_drop"]),
                                (f"switch to {port}", c["tx_packets"], p["rx_packets"] + p["rx_missed"] + p["rx_errors"])):
            if sent != got:
                faults.append(f"{what}: {sent} sent, {got} received or dropped for a reason")
    gone = []
    for a, b in (way for link in topology.links for way in (link, link[::-1])):
        if a in counters and b in counters:
            sent, got = counters[a]["rx_packets"], counters[b]["tx_packets"] + counters[b]["tx_drop"]
            if sent != got:
                gone.append((sent - got, f"switch from {a} to {b}: {sent} taken, {got} handed on or dropped for a reason"))
    if any(n < 0 for n, _ in gone) or sum(n for n, _ in gone) != inside:
        faults += [what for _, what in gone] + [f"the switch says that it lost {inside} between its ports"]
    return faults
