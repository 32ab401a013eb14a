#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Adapters without their switches: the configuration of each against a golden text, and what the contract refuses.

usage: unit.py [--update]
"""

import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(TOP, "tools"), os.path.join(TOP, "tests", "pcap")]

from tally import Tally  # noqa: E402
from vbnglab import scenarios, switches, switchlab, switchlab_output  # noqa: E402
from vbnglab.switches.base import Port, Switch, SwitchError, version_of  # noqa: E402

GOLDEN = os.path.join(HERE, "golden")
NICS = ["0000:05:00.0,0000:08:00.0", "0000:05:00.1,0000:08:00.1"]


def adapter(name):
    """One in a folder that is the same everywhere."""
    more = {"interface": "ens1f0", "functions": [f"0000:05:02.{i}" for i in range(8)]} if name == "sriov" else {}
    return switches.ALL[name](f"/run/lab/{name}", **more)


def rendered(name, mode):
    """Two connections: between ports of the first kind, and between a second kind, or NICs, and the first."""
    switch = adapter(name)
    ports = ["a", "b", "c", "d"]
    for p in ports[:3]:
        switch.add_port(p)
    other = switch.kinds[-1]
    switch.add_port("d", other, NICS[0] if other == "nic" else None)
    if hasattr(switch, "behind"):
        for i, p in enumerate(ports):
            switch.behind(p, [f"02:c0:00:00:00:0{i}"])
    switch.connect("a", "b", mode)
    switch.connect("d", "c", mode)
    head = [f'# {p.name}: {p.kind}, VNF: {p.role}, device = "{p.device}"' for p in switch.ports.values()]
    return "\n".join([*head, switch.render()])


def golden(update):
    """{case: what is wrong}."""
    out = {}
    for name, cls in switches.ALL.items():
        for mode in cls.modes:
            path, text = os.path.join(GOLDEN, f"{name}-{mode}.txt"), rendered(name, mode)
            if update:
                with open(path, "w", encoding="utf-8") as f:
                    f.write(text)
            try:
                with open(path, encoding="utf-8") as f:
                    before = f.read()
            except OSError:
                before = ""
            differ = [f"{a!r} is now {b!r}" for a, b in zip(before.splitlines(), text.splitlines()) if a != b]
            out[f"{name}, {mode}: its configuration"] = differ if differ or before == text else ["another number of lines, or no golden text"]
    return out


def refused(what, word):
    """What is wrong with a call that must raise SwitchError with this word in it."""
    try:
        what()
    except SwitchError as e:
        return [] if word in str(e) else [f"'{e}' does not say '{word}'"]
    return [f"not refused: {word}"]


def two(name="testpmd"):
    switch = adapter(name)
    switch.add_port("a")
    switch.add_port("b")
    return switch


def contract():
    mixed = adapter("ovs-dpdk")
    for p in "abcd":
        mixed.add_port(p)
    mixed.connect("a", "b", "patch")
    joined = two()
    joined.connect("a", "b")
    return {
        "a kind that the switch has not": refused(lambda: adapter("snabb").add_port("a", "memif"), "no ports of kind memif: choose vhost"),
        "a port twice": refused(lambda: two().add_port("a"), "there already"),
        "a NIC without a device": refused(lambda: adapter("testpmd").add_port("a", "nic"), "a device goes with kind nic"),
        "a NIC with one end": refused(lambda: adapter("testpmd").add_port("a", "nic", "0000:05:00.0"), "two PCI addresses"),
        "a mode that the switch has not": refused(lambda: two().connect("a", "b", "learn"), "no mode learn: choose patch"),
        "two modes": refused(lambda: mixed.connect("c", "d", "learn"), "the same mode"),
        "a port that is not there": refused(lambda: two().connect("a", "x"), "no port x"),
        "a port with two peers": refused(lambda: joined.connect("b", "a"), "connected already"),
        "a port without a peer": refused(lambda: two().pairs(), "not connected: a, b"),
        "a switch that is not here": refused(lambda: switches.ALL["snabb"]("/tmp").start(), "Snabb: ") if not switches.ALL["snabb"].probe()[0] else [],
        "a gateway behind a router": refused(lambda: wired("ip-forward", "bng"), "cannot carry"),
        "a chain behind MAC addresses": refused(lambda: wired("t4p4s", "loopback"), "do not change"),
        "too few NICs": refused(lambda: wired("testpmd", "p2p", nics=(NICS[0],)), "not enough --nic"),
        "probe says why": [f"{n}: no reason" for n, s in switches.ALL.items() if s.probe()[0] is None and not s.probe()[1]],
        "a program without a version": [] if version_of("sh", "x", ("-c", "exit 1")) == ("unknown", "") else ["not unknown"],
        "a NIC's two ends": [] if wired("testpmd", "p2p", nics=tuple(NICS)).ports["t1"].device == "0000:08:00.1" else ["wrong end"],
    }  # fmt: skip


def wired(name, scenario, number=1, **more):
    switch = adapter(name)
    setup = switchlab.Setup(scenario, number, switch.modes[0], **more)
    switchlab.wire(switch, scenarios.ALL[scenario](number), setup)
    return switch


def topologies():
    """Every port is joined once by the switch, and every stream's way can be walked from its port to its end."""
    out = {}
    for name, make in scenarios.ALL.items():
        for number in (1, 2, 4) if name in scenarios.COUNTED else (1,):
            t, wrong = make(number), []
            linked = [p for link in t.links for p in link]
            if sorted(linked) != sorted(t.place):
                wrong.append(f"joined: {linked}")
            through = {**dict(w for v in t.vnfs for w in v.joined)}
            peer = {**dict(t.links), **{b: a for a, b in t.links}}
            for a, b in (*t.up, *t.down):
                at = peer[a]
                while at in through:
                    at = peer[through[at]]
                if at != b:
                    wrong.append(f"what {a} sends arrives at {at}, not at {b}")
            out[f"{name} {number}"] = wrong
    return out


class Dies(Switch):
    """A switch that says something and ends."""

    name = title = "dies"

    @classmethod
    def probe(cls):
        return "1", ""

    def attach(self, name, kind, number, device):
        return Port(name, kind, number, "")

    def daemon(self):
        return ["sh", "-c", "echo the reason; exit 3"]


def crash():
    with tempfile.TemporaryDirectory(prefix="vbng-switch-") as folder:
        return refused(Dies(folder).start, "ended with status 3), last lines:\nthe reason")


def made_up(scenario, name="x", size="64", cpu="A CPU"):
    """A result with one point."""
    figure = {"size": size, "direction": "up", "rplus": {"pps": {"median": 2e6, "min": 1e6, "max": 3e6}, "loss_ratio": 0.5, "used": 1},
              "latency": [{"share": 0.1, "streams": {"s": {"p50": {"median": 1500}, "p99": {"median": 2500}}}}]}
    trial = {"purpose": "rplus", "size": size, "direction": "up", "ok": True, "cpu": {"switch": 0.5, "machine": 1.5}}
    entry = {"title": "X", "version": "1", "mode": "patch", "state": "measured", "why": "", "result": {"figures": [figure], "trials": [trial]}}
    dead = {"title": "Y", "version": None, "mode": "patch", "state": "rendered", "why": "not in PATH", "result": None}
    return {"scenario": scenario, "about": "x", "shared": True, "alone": entry, "switches": {name: entry, "y": dead}, "machine": {"cpu": cpu},
            "command": []}  # fmt: skip


def output():
    """The table of a made-up result, and of several as one."""
    text = switchlab_output.text(made_up("p2p"))
    wrong = [f"'{w}' is not in the table:\n{text}" for w in ("2  ", "1–3", "50 %", "0.50", "1.50", "1.5/2.5", "not in PATH", "function only") if w not in text]
    several = switchlab_output.merge([made_up("pairs1"), made_up("pairs2"), made_up("pairs2", size="256"), made_up("pairs2", "z")])
    lines = [line.split()[:5] for line in switchlab_output.text(switchlab_output.merge([several])).splitlines()]
    for row in (["x", "pairs1", "patch", "64", "one"], ["x", "pairs2", "patch", "64", "one"], ["x", "pairs2", "patch", "256", "one"],
                ["z", "pairs2", "patch", "64", "one"]):  # fmt: skip
        wrong += [] if lines.count(row) == 1 else [f"{row} is not once in {lines}"]
    for name, entry in several["switches"].items():
        if entry["state"] == "measured" and len(switchlab_output.ceilings(entry["alone"])) != len(entry["result"]["figures"]):
            wrong.append(f"{name}: not a ceiling for each point")
    return wrong


def refused_merges():
    twice = [made_up("p2p"), made_up("p2p")]
    other = [made_up("p2p"), made_up("p2v", cpu="another")]
    return refused(lambda: switchlab_output.merge(twice), "x was measured twice: p2p 64 one way") + refused(
        lambda: switchlab_output.merge(other), "different machines")  # fmt: skip


def main():
    tally = Tally()
    for name, wrong in {**golden("--update" in sys.argv), **contract(), **topologies(), "the table": output(), "results that do not belong together": refused_merges(),
                        "a crash is told with its last lines": crash()}.items():
        tally.result(name, wrong)
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())
