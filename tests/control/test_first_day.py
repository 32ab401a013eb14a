# SPDX-License-Identifier: BSD-3-Clause
"""What an operator changes on the first day needs no restart, though the configuration says nothing of room: a rate, a
subscriber, a route."""

import json
import os
import subprocess

import pytest

from tests.common.limits import limit
from tests.common.verdict import nothing
from tests.control import load

CONFIG = """
name = "first-day";
memory = "no-huge";
idle = "sleep";
ports = (
    { name = "cpe0"; device = "net_null0,no-rx=1"; mac = "02:b0:00:00:00:00"; },
    { name = "core0"; device = "net_null1,no-rx=1"; mac = "02:b0:00:00:01:00"; addresses = "192.0.2.1"; }
);
qos = {
    profiles = { home = { rate = "10M"; }; };
    dscp_maps = { ip = { default = { class = "be"; }; }; };
    schedulers = { acc = { backend = "BACKEND"; ports = "cpe0"; dscp_map = "ip"; rate = "1G";
                           classes = ( { class = "be"; queue = 64; } ); }; };
};
subscribers = ( { port = "cpe0"; svlan = "10"; cvlan = "1-4"; ipv4 = "10.0.0.0/30"; gre_key = "0-3"; profile = "home"; } );
routes = ( { prefix = "198.18.0.0/15"; port = "core0"; mac = "02:dd:00:00:00:00"; gre = "203.0.113.1"; mpls = 16; } );
tasks = (
    { name = "classify"; type = "classify"; from = "cpe0"; to = "qos_up"; scheduler = "acc"; punt = "arp"; },
    { name = "qos_up"; type = "qos"; scheduler = "acc"; direction = "up"; to = "decap"; },
    { name = "decap"; type = "qinq_decap"; to = "route"; },
    { name = "route"; type = "route"; to = "gre_up"; punt = "arp"; },
    { name = "gre_up"; type = "gre_encap"; to = "mpls_up"; },
    { name = "mpls_up"; type = "mpls_push"; to = "core0"; },
    { name = "mpls_down"; type = "mpls_pop"; from = "core0"; to = "gre_down"; punt = "arp"; },
    { name = "gre_down"; type = "gre_decap"; to = "encap"; scheduler = "acc"; punt = "arp"; },
    { name = "encap"; type = "qinq_encap"; to = "qos_down"; punt = "arp"; },
    { name = "qos_down"; type = "qos"; scheduler = "acc"; direction = "down"; to = "cpe0"; },
    { name = "arp"; type = "arp"; to = ["cpe0", "core0"]; }
);
layout = ( { core = "0"; tasks = ["classify", "qos_up", "decap", "route", "gre_up", "mpls_up", "mpls_down", "gre_down", "encap",
                                  "qos_down", "arp"]; } );
"""
RATE = ('rate = "10M"', 'rate = "20M"')
SUBSCRIBER = ("profile = \"home\"; } );",
              'profile = "home"; }, { port = "cpe0"; svlan = "10"; cvlan = "9"; ipv4 = "10.0.9.9"; gre_key = 9; profile = "home"; } );')
ROUTE = ("routes = (", 'routes = ( { prefix = "203.0.112.0/24"; port = "core0"; via = "192.0.2.2"; },')


class Gateway:
    """A vbng with a configuration that its operator edits."""

    def __init__(self, vbng, folder, text):
        self.config = os.path.join(folder, "bng.cfg")
        self.socket = os.path.join(folder, "s")
        self.text = text
        self.write()
        self.process = subprocess.Popen([vbng, "-q", "--share-cpus", "--control", self.socket, self.config],
                                        stderr=subprocess.PIPE, text=True)

    def write(self):
        with open(self.config, "w") as f:
            f.write(self.text)

    def edit(self, before, after):
        assert before in self.text
        self.text = self.text.replace(before, after)
        self.write()


@pytest.fixture(params=["wheel", "librte_sched"])
def gateway(request, vbng, folder):
    g = Gateway(vbng, folder, CONFIG.replace("BACKEND", request.param))
    try:
        g.client = load.wait_for(g.process, g.socket, 60)
        yield g
    finally:
        g.process.terminate()
        g.process.communicate(timeout=limit(60))


def test_a_rate_a_subscriber_and_a_route(gateway):
    """Each by an edited file and reload, which asks for no restart; and once more by single requests."""
    wrong = []
    for what, (before, after), count in (("rate", RATE, lambda a: a["profiles"]["changed"] == ["home"]),
                                         ("subscriber", SUBSCRIBER, lambda a: a["subscribers"]["added"] == 1),
                                         ("route", ROUTE, lambda a: a["routes"]["added"] == 1)):
        gateway.edit(before, after)
        answer = gateway.client.ask(cmd="reload")
        if not answer.get("ok") or not count(answer) or answer["restart"]:
            wrong.append(f"{what}: {answer}")
    shaped = gateway.client.ask(cmd="show-subscriber", subscriber="cpe0 10.9")["subscriber"]["shaped"]
    wrong += [f"{s}" for s in shaped if s["rate"] != 20_000_000]
    for cvlan in range(10, 60):  # a street of new subscribers
        answer = gateway.client.ask(cmd="add-subscriber", port="cpe0", svlan=10, cvlan=cvlan, ipv4=f"10.0.8.{cvlan}", profile="home")
        wrong += [] if answer.get("ok") else [f"{cvlan}: {answer}"]
    nothing(wrong[:5])


def test_a_prefix(gateway):
    """Who routes his prefix is kept as such; the same again, as another has been before."""
    wanted = {200: True, 201: None}
    for _ in range(3):
        for (cvlan, is_routed), ipv4 in zip(wanted.items(), ("10.0.9.8/29", "10.0.9.16/29")):
            keys = {"routed": True} if is_routed else {}
            answer = gateway.client.ask(cmd="add-subscriber", port="cpe0", svlan=10, cvlan=cvlan, ipv4=ipv4, profile="home", **keys)
            assert answer.get("ok"), answer
        changes = gateway.client.ask(cmd="show-changes")["requests"]
        told = {s["cvlan"]: s.get("routed") for r in changes for s in r.get("subscribers", ()) if isinstance(s, dict)}
        assert {cvlan: told.get(cvlan) for cvlan in wanted} == wanted, changes
        assert gateway.client.ask(cmd="show-subscriber", subscriber="cpe0 10.201")["subscriber"]["hosts"] == []
        for cvlan in wanted:
            assert gateway.client.ask(cmd="remove-subscriber", subscriber=f"cpe0 10.{cvlan}").get("ok")


def test_a_rate_often(gateway):
    """Each change of a profile takes a place; there are many more than a day has changes."""
    wrong = []
    for megabits in range(11, 51):
        gateway.edit('rate = "%dM"' % (megabits - 1), 'rate = "%dM"' % megabits)
        answer = gateway.client.ask(cmd="reload")
        wrong += [] if answer.get("ok") and not answer["restart"] else [f"{megabits}M: {answer}"]
    nothing(wrong[:5])


def plan_of(run, vbng, folder, text):
    path = os.path.join(folder, "bng.cfg")
    with open(path, "w") as f:
        f.write(text)
    answer = run(vbng, "--plan=json", path)
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)["memory"]


@pytest.mark.parametrize("backend", ["wheel", "librte_sched"])
def test_the_plan_says_what_room_costs(run, vbng, folder, backend):
    """spare is what the whole takes more than without any room."""
    text = CONFIG.replace("BACKEND", backend)
    tight = text.replace("qos = {", 'max_subscribers = 4; max_routes = 1;\nqos = { max_profiles = 1;')
    with_room, without = plan_of(run, vbng, folder, text), plan_of(run, vbng, folder, tight)
    assert with_room["spare"]["subscribers"] == 64 and with_room["spare"]["routes"] == 64 and with_room["spare"]["profiles"] == 255
    assert without["spare"] == {"subscribers": 0, "prefixes": 0, "routes": 0, "routes6": 0, "profiles": 0, "bytes": 0}
    pools = [m["mbufs_bytes"] for m in (with_room, without)]
    assert with_room["total_bytes"] - pools[0] - (without["total_bytes"] - pools[1]) == with_room["spare"]["bytes"]


def test_a_pool_of_no_given_size_holds_a_hundred_subscribers(run, vbng, folder):
    """The pool is made as large as the queues of 100 subscribers and of those who may come want it; a given size stays."""
    text = CONFIG.replace("BACKEND", "wheel").replace('cvlan = "1-4"; ipv4 = "10.0.0.0/30"; gre_key = "0-3"',
                                                      'cvlan = "1-100"; ipv4 = "10.0.0.0/25"; gre_key = "0-99"')
    text = text.replace("queue = 64", "queue = 128")
    pool = plan_of(run, vbng, folder, text)["pools"][0]
    assert pool["mbufs_queued"] == 2 * 100 * 4 * 128 and pool["mbufs"] >= pool["mbufs_needed"] + 2 * 64 * 4 * 128
    path = os.path.join(folder, "small.cfg")
    with open(path, "w") as f:
        f.write(text.replace("qos = {", 'pools = { default = { mbufs = "64K"; }; };\nqos = {'))
    answer = run(vbng, "--check", path)
    assert answer.returncode == 1 and "pool 'default' has 65536 mbufs" in answer.stderr
