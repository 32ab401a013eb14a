# SPDX-License-Identifier: BSD-3-Clause
"""Subscribers with IPv6 while vbng runs: they come, clash, are shown and found, survive a restart by the state file, and a reload."""

import os
import subprocess

import pytest

from tests.common.limits import limit
from tests.control import load
from tests.control.test_first_day import CONFIG

DUAL = CONFIG.replace("BACKEND", "wheel").replace(
    'ipv4 = "10.0.0.0/30";', 'ipv4 = "10.0.0.0/30"; ipv6 = "2001:db8:1::/48"; delegated = "2001:db8:2::/48";')
ONE = {"port": "cpe0", "svlan": 10, "profile": "home"}
SIX = {**ONE, "cvlan": 50, "mac": "02:00:00:00:00:50", "ipv6": "2001:db8:3::50", "delegated": "2001:db8:5::/48 2001:db8:6:100::/56"}


class Gateway:
    def __init__(self, vbng, folder, text):
        self.config, self.socket = os.path.join(folder, "bng.cfg"), os.path.join(folder, "s")
        self.command = [vbng, "-q", "--share-cpus", "--control", self.socket, "--state", os.path.join(folder, "state"), self.config]
        self.write(text)
        self.start()

    def write(self, text):
        with open(self.config, "w") as f:
            f.write(text)

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.client = load.wait_for(self.process, self.socket, 60)

    def stop(self):
        self.process.terminate()
        self.process.communicate(timeout=limit(60))

    def ask(self, cmd, **keys):
        return self.client.ask(cmd=cmd, **keys)


@pytest.fixture
def gateway(vbng, folder):
    g = Gateway(vbng, folder, DUAL)
    try:
        yield g
    finally:
        g.stop()


@pytest.fixture(scope="module")
def unchanged(vbng, module_folder):
    """One for all that is refused, after which it has no changes."""
    g = Gateway(vbng, module_folder, DUAL)
    try:
        yield g
    finally:
        g.stop()


def who(answer):
    return [s["cvlan"] for s in answer["subscribers"]]


def test_round_trip(gateway):
    """What is added is shown, found by any of its addresses, said by show-changes as it was asked for, and back after a restart."""
    first = gateway.ask("show-subscriber", subscriber=1)["subscriber"]
    assert (first["ipv4"], first["ipv6"], first["delegated"]) == ("10.0.0.0", "2001:db8:1::/64", "2001:db8:2::/56")
    assert gateway.ask("add-subscriber", **SIX)["ok"]
    for text, expected in (("2001:db8:3::50", [50]), ("2001:db8:3::51", []), ("2001:db8:5:ffff::1", [50]), ("2001:db8:6:1ff::", [50]),
                           ("2001:db8:6:200::", []), ("2001:db8::/32", [1, 2, 3, 4, 50]), ("2001:db8:2:300::/56", [4]), ("2001:db8:1:0::9", [1])):
        assert who(gateway.ask("find-subscribers", text=text)) == expected, text
    changes = gateway.ask("show-changes")["requests"]
    assert changes == [{"cmd": "add-subscribers", "subscribers": [SIX]}]
    shown = gateway.ask("show-subscriber", subscriber="cpe0 10.50")["subscriber"]
    assert (shown["ipv4"], shown["ipv6"], shown["delegated"]) == (None, SIX["ipv6"], SIX["delegated"])
    gateway.stop()
    gateway.start()
    assert gateway.ask("show-changes")["requests"] == changes
    assert who(gateway.ask("find-subscribers", text="2001:db8:6:100::1")) == [50]
    page = gateway.ask("show-subscribers", first=1, count=100)
    columns = page["header"].split(",")
    rows = {row.split(",")[columns.index("cvlan")]: row.split(",") for row in page["rows"]}
    assert [rows["50"][columns.index(c)] for c in ("ipv4", "ipv6", "delegated")] == ["", SIX["ipv6"], SIX["delegated"]]
    assert [(e["ipv4"], e["ipv6"]) for e in gateway.ask("show-arp")["entries"] if e.get("cvlan") == 50] == [(None, SIX["ipv6"])]
    assert gateway.ask("remove-subscriber", subscriber="cpe0 10.50")["ok"] and gateway.ask("show-changes")["requests"] == []
    assert gateway.ask("add-subscriber", **SIX)["ok"]  # his prefixes are free at once


@pytest.mark.parametrize("keys, message", [
    ({"ipv6": "2001:db8:1:2::/64"}, "key 'ipv6': value '2001:db8:1:2::/64': overlaps with a subscriber's"),
    ({"ipv6": "2001:db8:1:2::9"}, "key 'ipv6': value '2001:db8:1:2::9/128': overlaps with a subscriber's"),
    ({"ipv6": "2001:db8:2:1ff::/64"}, "key 'ipv6': value '2001:db8:2:1ff::/64': overlaps with a subscriber's"),
    ({"delegated": "2001:db8:1::/48"}, "key 'delegated': value '2001:db8:1::/48': overlaps with a subscriber's"),
    ({"delegated": "2001:db8:9::/56 2001:db8:2:300::/60"}, "key 'delegated': value '2001:db8:2:300::/60': overlaps with a subscriber's"),
    ({"delegated": "2001:db8:9::/56 2001:db8:9::/60"}, "key 'delegated': value '2001:db8:9::/60': overlaps with the same subscriber's"),
    ({"ipv6": "fe80::1"}, "key 'ipv6': value 'fe80::1': expected the IPv6 address of a host"),
    ({"ipv6": "2001:db8:9::/64", "ipv4": "10.0.9.0/29", "mac": None}, "key 'mac': missing"),
    ({"ipv4": None}, "key 'ipv4': missing"),
    ({"ipv6": "2001:db8:9::/64", "ipv6_len": 64}, "key 'ipv6_len': unknown in a request 'add-subscriber'"),
])
def test_refused(unchanged, keys, message):
    keys = {"ipv4": "10.0.9.9", **keys}
    answer = unchanged.ask("add-subscriber", **ONE, cvlan=60, **{k: v for k, v in keys.items() if v is not None})
    assert message in answer.get("error", ""), answer
    assert unchanged.ask("show-changes")["requests"] == []


def test_room(gateway):
    """Each of the 64 who may be added may have as many prefixes as anybody configured, 2; an address counts as two."""
    plan = [{**ONE, "cvlan": 100 + i, "ipv4": f"10.0.8.{i}", "ipv6": f"2001:db8:7::{i + 1:x}", "delegated": f"2001:db8:8:{i:x}00::/56"} for i in range(43)]
    answer = gateway.ask("add-subscribers", subscribers=plan)
    assert answer.get("error", "").endswith("there is room for 136 IPv6 prefixes, and 8 are there: max_prefixes says how many may be"), answer
    assert gateway.ask("add-subscribers", subscribers=plan[:42])["changed"] == 42
    assert who(gateway.ask("find-subscribers", text="2001:db8:7::2a")) == [141]
    assert gateway.ask("set-mac", subscriber="cpe0 10.100", mac=None)["ok"]
    assert gateway.ask("remove-subscriber", subscriber="cpe0 10.141")["ok"]
    assert gateway.ask("add-subscriber", **{**SIX, "delegated": "2001:db8:5::/48"})["ok"]
    assert gateway.ask("set-mac", subscriber="cpe0 10.50", mac=None)["ok"]  # neighbour discovery tells it


def test_reload(gateway):
    """Who has other prefixes in the file is replaced; who changed hands in one reload, too."""
    gateway.write(DUAL.replace("2001:db8:2::/48", "2001:db8:2:100::/56 2001:db8:f::/48").replace('"1-4"', '"1"').replace('"0-3"', "0")
                  .replace('10.0.0.0/30', '10.0.0.0/32'))
    answer = gateway.ask("reload")
    assert answer.get("ok") and answer["subscribers"] == {"added": 1, "removed": 4, "changed": 0}, answer
    assert who(gateway.ask("find-subscribers", text="2001:db8:2:100::1")) == [1]  # was that of the second
    gateway.write(DUAL)
    answer = gateway.ask("reload")
    assert answer.get("ok") and answer["subscribers"] == {"added": 4, "removed": 1, "changed": 0}, answer


def test_routes(gateway):
    """Those that come, lead elsewhere and go are shown, said by show-changes as they were asked for, and back after a restart and a reload."""
    way = {"port": "core0", "mac": "02:dd:00:00:00:00"}
    several = {"prefix": "2400:cb00::/32", "nexthops": [{**way, "mpls": 17}, {**way, "mpls": 18}]}
    one, other = ({"prefix": prefix, **way, "mpls": 19} for prefix in ("2400:cb00:1::/48", "2400:cb00:1::1/128"))
    assert gateway.ask("add-route", **several)["ok"]
    assert gateway.ask("add-routes", routes=[one, {**other, "mpls": 20}])["changed"] == 2
    assert gateway.ask("change-route", **other)["ok"]
    changes = gateway.ask("show-changes")["requests"]
    assert changes == [{"cmd": "add-routes", "routes": [several, one, other]}]
    gateway.stop()
    gateway.start()
    assert gateway.ask("show-changes")["requests"] == changes
    shown = {r["prefix"]: r for r in gateway.ask("show-routes", first=1, count=1000)["routes"]}
    assert [hop["mpls"] for hop in shown["2400:cb00::/32"]["nexthops"]] == [17, 18] and shown["2400:cb00:1::1/128"]["resolved"]
    assert gateway.ask("remove-routes", routes=["2400:cb00:1::1"])["changed"] == 1
    gateway.write(DUAL.replace("routes = (", 'routes = ( { prefix = "2400:cb00:1::/48"; port = "core0"; mac = "02:dd:00:00:00:00"; },'))
    answer = gateway.ask("reload")
    assert answer["routes"] == {"added": 0, "removed": 1, "changed": 1} and answer["restart"] == [], answer
    assert gateway.ask("show-changes")["requests"] == []
    plan = [{"prefix": f"2400:cb01:{i:x}::/48", **way} for i in range(64)]
    refused = gateway.ask("add-routes", routes=plan)["error"]
    assert refused.endswith("there is room for 64 routes of IPv6, and 1 are there: max_routes6 says how many may be"), refused
    assert gateway.ask("add-routes", routes=plan[1:])["changed"] == 63


def test_no_room_without_ipv6(vbng, folder):
    g = Gateway(vbng, folder, CONFIG.replace("BACKEND", "wheel"))
    try:
        answer = g.ask("add-route", prefix="2400:cb00::/32", port="core0", mac="02:dd:00:00:00:00")
        assert "there is room for 0 routes of IPv6" in answer["error"], answer
        assert "there is room for 0 IPv6 prefixes" in g.ask("add-subscriber", **SIX)["error"]
    finally:
        g.stop()
