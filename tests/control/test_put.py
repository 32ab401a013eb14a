# SPDX-License-Identifier: BSD-3-Clause
"""Requests of a control plane: it says who is to be there until it is so, and finds its subscribers again after reloads and restarts."""

import pytest

from tests.control.test_ipv6 import DUAL, Gateway


@pytest.fixture
def gateway(vbng, folder):
    g = Gateway(vbng, folder, DUAL)
    try:
        yield g
    finally:
        g.stop()


def entry(cvlan, **other):
    return {"port": "cpe0", "svlan": 10, "cvlan": cvlan, "ipv4": f"10.7.0.{cvlan}/32", "profile": "home"} | other


def line(cvlan):
    return f"cpe0 10.{cvlan}"


def put(gateway, *entries, **keys):
    answer = gateway.ask("put-subscribers", subscribers=list(entries), **keys)
    assert answer.get("ok") and len(answer["results"]) == len(entries), answer
    was = [r["was"] for r in answer["results"]]
    assert [answer[k] for k in ("changed", "equal", "refused")] == [
        was.count("added") + was.count("changed"), was.count("equal"), was.count("refused")], answer
    return answer["results"]


def was(results):
    return [r["was"] for r in results]


def listed(gateway, **keys):
    return {s["cvlan"]: s for s in gateway.ask("list-subscribers", **keys)["subscribers"]}


def test_each_by_himself(gateway):
    """New ones are added, whatever is wrong with others, and each is told what became of him; again they are equal."""
    three = [entry(51), entry(52, ipv6="2001:db8:7::/64", mac="02:00:00:00:00:52", name="Smith"), entry(53)]
    first = put(gateway, *three)
    assert was(first) == ["added"] * 3 and len({r["id"] for r in first}) == 3
    again = put(gateway, *three)
    assert was(again) == ["equal"] * 3 and [r["id"] for r in again] == [r["id"] for r in first]
    assert gateway.ask("show-subscriber", subscriber=line(52))["subscriber"]["id"] == first[1]["id"]
    mixed = put(gateway, entry(60), entry(51, ipv4="10.7.0.99/32"), entry(61, ipv4="10.7.0.53/32"), entry(52), entry(53), entry(62), entry(62),
                entry(63, svlan=4000), entry(1), entry(64))  # fmt: skip
    assert was(mixed) == ["added", "changed", "refused", "changed", "equal", "added", "refused", "added", "refused", "added"]
    assert mixed[2]["error"] == (
        "key 'ipv4': value '10.7.0.53/32': overlaps with a subscriber's, added while running (cpe0 10.53, 10.7.0.53/32)"), mixed[2]
    assert "already a subscriber's" in mixed[8]["error"], mixed[8]
    assert set(listed(gateway)) == {51, 52, 53, 60, 62, 63, 64}
    assert "subscribers" in gateway.ask("put-subscribers", subscribers=[])["error"]
    wrong = put(gateway, {"port": "cpe0"}, entry(70), entry(71, ipv4="x"), entry(72, profile="none"), "?")
    assert was(wrong) == ["refused", "added", "refused", "refused", "refused"]
    assert [key in r["error"] for key, r in zip(("svlan", "", "ipv4", "profile", "object"), wrong) if r["was"] == "refused"] == [True] * 4, wrong


def test_changed_in_place(gateway):
    """Who is there becomes as the entry says, with the same id; two may change what they have with each other; what is another's is refused."""
    six = {"ipv6": "2001:db8:7:1::/64", "mac": "02:00:00:00:00:51"}
    first = put(gateway, entry(51), entry(52, delegated="2001:db8:8:100::/56", mac="02:00:00:00:00:52"), entry(53))
    a, b = entry(51, name="A", delegated="2001:db8:8:100::/56", **six), entry(52, ipv4="10.7.0.99/32")
    again = put(gateway, a, b)
    assert was(again) == ["changed"] * 2 and [r["id"] for r in again] == [r["id"] for r in first[:2]]
    found = listed(gateway)
    assert {key: found[51][key] for key in a} == a and {key: found[52][key] for key in b} == b and "delegated" not in found[52]
    assert gateway.ask("find-subscribers", text="2001:db8:8:1ff::1")["subscribers"][0]["cvlan"] == 51
    assert not gateway.ask("find-subscribers", text="10.7.0.52")["subscribers"]
    assert was(put(gateway, entry(51, ipv4="10.7.0.99/32", name="A"), entry(52, ipv4="10.7.0.51/32"))) == ["changed"] * 2, "they exchange addresses"
    refused = put(gateway, entry(51, ipv4="10.7.0.53/32"), entry(52, ipv4="10.0.0.1/32"), entry(53, delegated="2001:db8:2::/48", mac="02:00:00:00:00:53"))
    assert was(refused) == ["refused"] * 3 and all("overlaps with a subscriber's" in r["error"] for r in refused), refused
    assert was(put(gateway, entry(53, ipv4="10.7.3.0/29"), entry(51, gre_key=7))) == ["different"] * 2
    assert was(put(gateway, entry(51, ipv4="10.7.0.99/32", name="A"), entry(52, ipv4="10.7.0.51/32"), entry(53))) == ["equal"] * 3, "nothing has changed"


def test_clashes_of_two_kinds(gateway):
    """One entry with another of its list, and one with somebody who was added before: the gateway has died of that."""
    assert gateway.ask("add-subscriber", **entry(51))["ok"]
    error = gateway.ask("add-subscribers", subscribers=[entry(61), entry(61), entry(62, ipv4="10.7.0.51/32")])["error"]
    assert error.startswith("subscribers[1]: key 'svlan': value '10' with C-VLAN 61"), error


def test_no_room(gateway):
    """Where there is no room for all of the new ones each is told so, and none is there by halves."""
    many = [entry(n % 200 + 1, svlan=11 + n // 200, ipv4=f"10.8.{n // 200}.{n % 200}/32") for n in range(5000)]
    results = put(gateway, *many)
    assert set(was(results)) == {"refused"} and not listed(gateway)
    assert all(r["error"] == results[0]["error"] for r in results)


def test_the_list(gateway):
    """Pages of those whom the control plane has put, as it has put them; with those of the file if it asks."""
    want = {n: entry(n, ipv4=f"10.7.0.{n}/32") for n in range(51, 61)}
    put(gateway, *want.values())
    got, first = {}, 1
    while first is not None:
        page = gateway.ask("list-subscribers", first=first, count=3)
        got |= {s["cvlan"]: s for s in page["subscribers"]}
        assert len(page["subscribers"]) <= 3
        first = page["next"]
    for cvlan, s in got.items():
        counters = [s.pop(way) for way in ("up", "down")]
        assert counters == [{"packets": 0, "bytes": 0}] * 2 and s.pop("dynamic") is True and s.pop("id") > 4
        assert s == want[cvlan]
    assert set(got) == set(want)
    everybody = listed(gateway, all=True)
    assert {n for n, s in everybody.items() if not s["dynamic"]} == {1, 2, 3, 4} and set(everybody) == set(want) | {1, 2, 3, 4}


def test_remove_those_who_are_there(gateway):
    put(gateway, entry(51), entry(52))
    names = [line(51), line(77), line(52), 12345]
    assert "there is none" in gateway.ask("remove-subscribers", subscribers=names)["error"] and len(listed(gateway)) == 2
    assert gateway.ask("remove-subscribers", subscribers=names, if_there=True) == {"ok": True, "changed": 2}
    assert gateway.ask("remove-subscribers", subscribers=names, if_there=True) == {"ok": True, "changed": 0}
    assert "expected" in gateway.ask("remove-subscribers", subscribers=["?"], if_there=True)["error"]
    assert not listed(gateway)


def test_a_reload_leaves_them_alone(gateway):
    """But for one whose line the file has now; those that were added otherwise go."""
    put(gateway, entry(51), entry(52))
    assert was(put(gateway, entry(53), dynamic=False)) == ["added"]
    answer = gateway.ask("reload")
    assert answer["subscribers"] == {"added": 0, "removed": 1, "changed": 0}, answer
    assert set(listed(gateway, all=True)) == {1, 2, 3, 4, 51, 52}
    own = '{ port = "cpe0"; svlan = 10; cvlan = 51; ipv4 = "10.9.0.51"; profile = "home"; }'
    assert DUAL.count("subscribers = (") == 1
    gateway.write(DUAL.replace("subscribers = (", f"subscribers = ( {own},"))
    answer = gateway.ask("reload")
    assert answer["subscribers"] == {"added": 1, "removed": 1, "changed": 0}, answer
    found = listed(gateway, all=True)
    assert (found[51]["dynamic"], found[51]["ipv4"], found[52]["dynamic"]) == (False, "10.9.0.51/32", True)
    assert was(put(gateway, entry(51), entry(52))) == ["refused", "equal"]


def test_a_punt_socket_waits_for_a_restart(gateway):
    gateway.write('punt_socket = "/nonexistent/punt.sock";' + DUAL)
    answer = gateway.ask("reload", dry_run=True)
    assert answer["restart"] == ["configuration: punt_socket"], answer


def test_they_survive(gateway):
    """A restart and a kill bring them back, and they are dynamic then; one that does not fit any more costs no other his place."""
    put(gateway, entry(51), entry(52), entry(53))
    assert gateway.ask("show-changes")["requests"] == [{"cmd": "put-subscribers", "subscribers": [entry(51), entry(52), entry(53)]}]
    gateway.stop()
    gateway.start()
    assert set(listed(gateway)) == {51, 52, 53} and was(put(gateway, entry(51))) == ["equal"]
    gateway.stop()
    gateway.write(DUAL.replace("subscribers = (", 'subscribers = ( { port = "cpe0"; svlan = 10; cvlan = 52; ipv4 = "10.9.0.52"; profile = "home"; },'))
    gateway.start()
    assert set(listed(gateway)) == {51, 53} and set(listed(gateway, all=True)) == {1, 2, 3, 4, 51, 52, 53}


def in_session(cvlan, session=0x1234, **other):
    pppoe = {"session": session, "mac": f"02:00:00:00:00:{cvlan:02x}", "mtu": 1492, "magic": 0xCAFE0000 + cvlan} | other.pop("pppoe", {})
    return entry(cvlan, pppoe=pppoe, **other)


def test_what_makes_him_a_subscriber(gateway):
    """His session is shown: its kind and number, by whom it is, and since when where somebody counts; one by one, found, and in the table."""
    put(gateway, entry(51), in_session(52))
    put(gateway, in_session(53), dynamic=False)
    of = {"kind": "static", "by": "configuration", "id": None, "mtu": None, "since": None}
    expected = {1: of, 51: of | {"kind": "ipoe", "by": "control plane"}, 52: of | {"kind": "pppoe", "by": "control plane", "id": 0x1234, "mtu": 1492},
                53: of | {"kind": "pppoe", "id": 0x1234, "mtu": 1492}}
    assert {n: gateway.ask("show-subscriber", subscriber=line(n))["subscriber"]["session"] for n in expected} == expected
    assert {n: gateway.ask("find-subscribers", text=line(n))["subscribers"][0]["session"] for n in expected} == expected
    page = gateway.ask("show-subscribers", first=1, count=100)
    names = page["header"].split(",")
    rows = {int(r["cvlan"]): r for r in (dict(zip(names, row.split(","))) for row in page["rows"])}
    assert {n: (rows[n]["session"], rows[n]["session_by"], rows[n]["session_id"], rows[n]["session_since"]) for n in (1, 51, 52)} == {
        1: ("static", "configuration", "", ""), 51: ("ipoe", "control plane", "", ""), 52: ("pppoe", "control plane", "4660", "")}


def test_pppoe_sessions(gateway):
    """A session is put, listed and kept as it was said; another one on the line is another subscriber; its MAC is the CPE's."""
    assert was(put(gateway, in_session(51), in_session(52, ipv6="2001:db8:7::/64"))) == ["added"] * 2
    assert was(put(gateway, in_session(51), in_session(52, ipv6="2001:db8:7::/64"))) == ["equal"] * 2
    assert listed(gateway)[51]["pppoe"] == in_session(51)["pppoe"] and "mac" not in listed(gateway)[51]
    assert was(put(gateway, in_session(51, ipv6="2001:db8:8::/64"))) == ["changed"], "IPV6CP may be later than IPCP"
    for other in ({"session": 7}, {"mac": "02:00:00:00:00:77"}, {"mtu": 1400}, {"magic": 1}):
        assert was(put(gateway, in_session(51, ipv6="2001:db8:8::/64", pppoe=other))) == ["different"], other
    assert was(put(gateway, entry(51))) == ["different"] and was(put(gateway, in_session(54))) == ["added"]
    shown = gateway.ask("show-subscriber", subscriber=line(51))["subscriber"]
    assert (shown["mac"], shown["mac_is"]) == ("02:00:00:00:00:33", "configured")
    assert "PPPoE session" in gateway.ask("set-mac", subscriber=line(51), mac="02:00:00:00:00:99")["error"]
    wrong = [({"session": 0}, "key 'session'"), ({"session": 65535}, "key 'session'"), ({"mac": "x"}, "key 'mac'"), ({"mtu": 1493}, "key 'mtu'"),
             ({"colour": 1}, "key 'colour': unknown in a PPPoE session")]  # fmt: skip
    for change, message in wrong:
        refused = put(gateway, in_session(60, pppoe=change))
        assert was(refused) == ["refused"] and message in refused[0]["error"], refused
    refused = put(gateway, entry(60, pppoe=7), in_session(60, mac="02:00:00:00:00:60"))
    assert was(refused) == ["refused"] * 2 and "expected a group" in refused[0]["error"] and "in pppoe alone" in refused[1]["error"], refused
    before = listed(gateway)
    gateway.stop()
    gateway.start()
    assert listed(gateway) == before and was(put(gateway, in_session(54))) == ["equal"]
    own = '{ port = "cpe0"; svlan = 10; cvlan = 61; ipv4 = "10.9.0.61/32"; profile = "home"; pppoe = { session = %d; mac = "02:00:00:00:00:61"; }; }'
    for session, changes in ((8, (1, 0)), (8, (0, 0)), (9, (1, 1))):
        gateway.write(DUAL.replace("subscribers = (", f"subscribers = ( {own % session},"))
        answer = gateway.ask("reload")["subscribers"]
        assert (answer["added"], answer["removed"]) == changes, answer
    assert listed(gateway, all=True)[61]["pppoe"] == {"session": 9, "mac": "02:00:00:00:00:61", "mtu": 1492}
