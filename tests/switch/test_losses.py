# SPDX-License-Identifier: BSD-3-Clause
"""Where the packets of a trial were lost: all who count some are heard, and what nobody counted is said, too."""

import json

from vbnglab.switches import adapters, losses, scenarios

LINK = {"rx": {"packets": 0, "dropped": 0, "errors": 0}, "tx": {"packets": 0, "dropped": 0, "errors": 0}}


def port(name, missed=0, errors=0):
    return {"name": name, "rx_missed": missed, "rx_errors": errors}


def found(lost=100, counters=None, inside=(), drops=()):
    """The places of a trial of loopback: 7 were not taken from the generator, 20 found the VNF's ring full and 30 the tester's, where one was damaged."""
    reports = {"tester": {"tasks": [{"name": "gen_cpe0", "drops": {"link_full": 7}}], "ports": [port("t0"), port("t1", 30, 1)]},
               "vnf1": {"tasks": [], "ports": [port("v1a", 20), port("v1b")]}}
    return losses.places(scenarios.loopback(1), reports, counters, dict(inside), ["gen_cpe0"], {"lost": lost, "drops": dict(drops)})


def test_all_who_count_are_heard():
    counters = {"v1a": {"rx_packets": 9, "rx_drop": 0, "tx_packets": 9, "tx_drop": 5}, "t0": {"rx_packets": 9, "rx_drop": 4, "tx_packets": 0, "tx_drop": 0}}
    assert found(100, counters, {"drops": 3}, {"vnf1.forward_v1a.link_full": 2}) == {
        "in a full queue into the switch": 7, "by the switch, to v1a": 5, "by the switch, from t0": 4, "inside the switch": 3,
        "by vnf1.forward_v1a.link_full": 2, "in the ring of t1": 30, "in the ring of v1a": 20, "received with an error by t1": 1, losses.UNKNOWN: 28}  # fmt: skip
    assert losses.UNKNOWN not in found(58)


def test_what_is_said_of_several_trials():
    """The share of all packets, the largest first, and no place in which next to nothing was lost; nothing of trials that do not say it."""
    ring, full = "in the ring of t1", "in a full queue into the switch"
    trials = [{"offered": 1000, "lost_at": {ring: 50}}, {"offered": 1000, "lost_at": {ring: 70, full: 300, losses.UNKNOWN: 1}}, {"ok": True}]
    assert losses.words(trials) == f"lost: 15 % {full}, 6 % {ring}"
    assert losses.words(trials[2:]) == losses.words([{"offered": 1000, "lost_at": {}}]) == ""


def test_a_full_backlog_of_the_kernel():
    """It is counted by the end that sends: by the VNF's, outside the switch's namespace, where the packet was not received yet."""
    class Answers(adapters.ALL["linux-bridge"]):
        def run(self, command):
            names = [p.at for p in self.ports.values()] if "-n" in command else [self._far(p.number) for p in self.ports.values()]
            dropped = {name: n for name, n in zip(names, (3, 0) if "-n" in command else (5, 0))}
            return json.dumps([{"ifname": "lo"}, *({"ifname": n, "stats64": {**LINK, "tx": {**LINK["tx"], "dropped": dropped[n]}}} for n in names)])

    switch = Answers("/run/lab/x")
    switch.add_port("a")
    switch.add_port("b")
    none = {"rx_packets": 0, "rx_drop": 0, "tx_packets": 0, "tx_drop": 0}
    assert switch.counters() == {"a": {**none, "rx_drop": 5, "tx_drop": 3}, "b": none}
