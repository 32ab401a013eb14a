# SPDX-License-Identifier: BSD-3-Clause
"""What the tasks of type account count of each subscriber: all of them together are what the gateway took from subscribers and what arrived
at them, in octets and in packets, by family, whatever was dropped between."""

import os
import subprocess
import time

import pytest

from tests.control import load, offered

CONFIG = """
name = "octets"; memory = "no-huge"; drain = "2s"; max_subscribers = 256; max_prefixes = 512;
pools = { default = { mbufs = "16K"; overcommit = true; }; };
ports = (
    { name = "cpe0"; device = "wire:cpe0"; mac = "02:b0:00:00:00:00"; on_full = "wait"; },
    { name = "core0"; device = "wire:core0"; mac = "02:b0:00:00:01:00"; addresses = "192.0.2.1"; on_full = "wait"; },
    { name = "t_cpe0"; device = "wire:cpe0"; on_full = "wait"; },
    { name = "t_core0"; device = "wire:core0"; on_full = "wait"; }
);
qos = {
    profiles = { slow = { rate = "200k"; }; };
    dscp_maps = { ip = { default = { class = "be"; }; }; };
    schedulers = { acc = { ports = "cpe0"; dscp_map = "ip"; rate = "1G"; classes = ( { class = "be"; queue = 16; aqm = "none"; } ); }; };
};
subscribers = ( { port = "cpe0"; svlan = "128"; cvlan = "256-287"; ipv4 = "10.0.0.0/27"; delegated = "2001:db8::/51";
                  mac = "02:c0:00:00:00:00"; profile = "slow"; } );
routes = ( { prefix = "0.0.0.0/0"; port = "core0"; mac = "02:dd:00:00:00:00"; }, { prefix = "::/0"; port = "core0"; mac = "02:dd:00:00:00:00"; } );
tasks = (
    { name = "classify"; type = "classify"; from = "cpe0"; to = "count_up"; scheduler = "acc"; },
    { name = "count_up"; type = "account"; direction = "up"; to = "qos_up"; },
    { name = "qos_up"; type = "qos"; scheduler = "acc"; direction = "up"; to = "decap"; },
    { name = "decap"; type = "qinq_decap"; to = "route"; },
    { name = "route"; type = "route"; to = "core0"; },
    { name = "find"; type = "classify"; match = "ipv4"; from = "core0"; to = "encap"; scheduler = "acc"; },
    { name = "encap"; type = "qinq_encap"; to = "qos_down"; },
    { name = "qos_down"; type = "qos"; scheduler = "acc"; direction = "down"; to = "count_down"; },
    { name = "count_down"; type = "account"; direction = "down"; to = "cpe0"; },
    { name = "gen_up"; type = "gen"; template = "up.tmpl"; rate = "4kpps"; to = "t_cpe0"; },
    { name = "gen_up6"; type = "gen"; template = "up6.tmpl"; rate = "4kpps"; to = "t_cpe0"; },
    { name = "gen_spoof"; type = "gen"; template = "spoof.tmpl"; rate = "1kpps"; to = "t_cpe0"; },
    { name = "gen_down"; type = "gen"; template = "down.tmpl"; rate = "4kpps"; to = "t_core0"; },
    { name = "gen_down6"; type = "gen"; template = "down6.tmpl"; rate = "4kpps"; to = "t_core0"; },
    { name = "sink_up"; type = "sink"; from = "t_core0"; },
    { name = "sink_down"; type = "sink"; from = "t_cpe0"; }
);
layout = (
    { core = "0"; tasks = ["classify", "count_up", "qos_up", "decap", "route"]; },
    { core = "1"; tasks = ["find", "encap", "qos_down", "count_down"]; },
    { core = "2"; tasks = ["gen_up", "gen_up6", "gen_spoof", "gen_down", "gen_down6", "sink_up", "sink_down"]; }
);
"""
LINE = "ether src 02:c0:00:00:00:00 + user dst 02:b0:00:00:00:00\nvlan tpid 0x88a8 id 128\nvlan id 256 + user\n"
CORE = "ether src 02:dd:00:00:00:00 dst 02:b0:00:00:01:00\n"
USER = "var user 0-31 random\n"
BEHIND = "udp src 1024 dst 2048\npayload 00\n"
TEMPLATES = {
    "up.tmpl": f"size 300\n{USER}{LINE}ipv4 src 10.0.0.0 + user dst 198.18.0.1\n{BEHIND}",
    "up6.tmpl": f"size 400\n{USER}{LINE}ipv6 src 2001:db8::1/56 + user dst 2400::1\n{BEHIND}",
    "spoof.tmpl": f"size 300\n{USER}{LINE}ipv4 src 10.9.0.0 + user dst 198.18.0.1\n{BEHIND}",
    "down.tmpl": f"size 64\n{USER}{CORE}ipv4 src 198.18.0.1 dst 10.0.0.0 + user\n{BEHIND}",
    "down6.tmpl": f"size 700\n{USER}{CORE}ipv6 src 2400::1 dst 2001:db8::1/56 + user\n{BEHIND}",
}
GENERATORS = {"up4": "gen_up", "up6": "gen_up6", "down4": "gen_down", "down6": "gen_down6", "spoofed": "gen_spoof"}
PADDED = 60  # octets of a tagged frame with a packet of 28
ENOUGH = 2000  # packets of each
WAYS = ("up4", "up6", "down4", "down6")


class Gateway:
    def __init__(self, vbng, folder):
        offered.write(folder, {"octets.cfg": CONFIG, **TEMPLATES})
        self.path = os.path.join(folder, "s")
        command = [vbng, "-q", "--share-cpus", "--control", self.path, os.path.join(folder, "octets.cfg")]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.client = load.wait_for(self.process, self.path, 60)

    def ask(self, cmd, **keys):
        return self.client.ask(cmd=cmd, **keys)

    def tasks(self):
        return {t["name"]: t for t in self.ask("show-tasks")["tasks"]}

    def until_all_is_sent(self):
        """Enough has been offered, and nothing is on its way. Returns how much of what."""
        offered_enough = False
        while True:
            ledger, tasks = self.ask("show-ledger")["ledger"], self.tasks()  # in this order: what the ledger held is in no task's figures
            sent = {what: tasks[name]["sent"] for what, name in GENERATORS.items()}
            if offered_enough and ledger["held"] == 0 and ledger["under_way"] == 0:
                return tasks, sent
            if not offered_enough and min(sent[way] for way in WAYS) >= ENOUGH:
                for task in GENERATORS.values():
                    self.ask("stop-stream", task=task)
                offered_enough = True
            time.sleep(0.01)

    def rows(self):
        """{id: {way: (packets, octets)}} of everybody."""
        answer = self.ask("subscriber-octets", all=True, count=20)
        rows = answer["octets"]
        while answer["next"] is not None:
            answer = self.ask("subscriber-octets", all=True, first=answer["next"], count=20)
            rows += answer["octets"]
        return {row[0]: volumes(row) for row in rows}


def volumes(row):
    assert len(row) == 10, row
    return {way: (row[2 + 2 * i], row[3 + 2 * i]) for i, way in enumerate(WAYS)}


def total(rows):
    return {way: tuple(sum(v[way][i] for v in rows.values()) for i in range(2)) for way in WAYS}


@pytest.fixture(scope="module")
def gateway(vbng, tmp_path_factory):
    g = Gateway(vbng, str(tmp_path_factory.mktemp("octets")))
    try:
        yield g
    finally:
        g.process.terminate()
        g.process.communicate()


def test_sums_are_the_ledgers(gateway):
    """Up is what was accepted, whatever the scheduler drops behind; down is what leaves the scheduler. Padding counts nowhere."""
    tasks, sent = gateway.until_all_is_sent()
    rows = gateway.rows()
    assert len(rows) == 32
    got = total(rows)
    up = gateway.ask("show-directions")["directions"]["up"]
    assert got["up4"] == (up["ipv4_packets"], up["ipv4_bytes"]) == (sent["up4"], sent["up4"] * (300 - 4 - 22))
    assert got["up6"] == (up["ipv6_packets"], up["ipv6_bytes"]) == (sent["up6"], sent["up6"] * (400 - 4 - 22))
    down = gateway.ask("show-directions")["directions"]["down"]
    dropped = sum(tasks["qos_down"]["drops"].values())
    assert dropped > 100 and sum(tasks["qos_up"]["drops"].values()) > 100 and sum(tasks["classify"]["drops"].values()) == sent["spoofed"] > 0
    assert got["down4"][0] + got["down6"][0] == down["ipv4_packets"] + down["ipv6_packets"] - dropped == tasks["sink_down"]["consumed"]
    assert got["down4"][1] == got["down4"][0] * 28 and got["down6"][1] == got["down6"][0] * (700 - 4 - 14)
    on_wire = {p["name"]: p for p in gateway.ask("show-ports")["ports"]}["cpe0"]["tx_bytes"]
    assert on_wire == got["down4"][0] * PADDED + got["down6"][1] + 22 * got["down6"][0]


def test_a_subscriber_who_goes_and_comes(gateway):
    """His last octets are said when he goes, as often as one asks; who comes under his id begins at 0."""
    gateway.until_all_is_sent()
    before = gateway.ask("subscriber-octets", all=True, first=1, count=1)["octets"][0]
    assert volumes(before)["up4"][0] > 0
    answer = gateway.ask("remove-subscribers", subscribers=["cpe0 128.256", "cpe0 128.999"], if_there=True, octets=True)
    assert answer == {"ok": True, "changed": 1, "octets": [before, None]}
    again = gateway.ask("remove-subscribers", subscribers=["cpe0 128.999", "cpe0 128.256", 999], if_there=True, octets=True)
    assert again == {"ok": True, "changed": 0, "octets": [None, before, None]}, "who did not hear the answer asks again"
    new = {"port": "cpe0", "svlan": 129, "cvlan": 1, "ipv4": "10.0.0.0", "profile": "slow"}
    assert gateway.ask("put-subscribers", subscribers=[new])["results"] == [{"was": "added", "id": 1}]
    assert gateway.ask("put-subscribers", subscribers=[new | {"name": "x"}])["results"] == [{"was": "changed", "id": 1}]
    [row] = gateway.ask("subscriber-octets")["octets"]
    assert row[0] == 1 and row[1] > before[1] and row[2:] == [0] * 8
    assert gateway.ask("show-subscriber", subscriber=1)["subscriber"]["session"] == {
        "kind": "ipoe", "by": "control plane", "id": None, "mtu": None, "since": row[1]}
