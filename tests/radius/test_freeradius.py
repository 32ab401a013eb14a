# SPDX-License-Identifier: BSD-3-Clause
"""The RADIUS library against a real FreeRADIUS, and changes by its radclient."""

import time

import pytest

from tests.common import need
from tests.radius.freeradius import COA_SECRET, freeradius, free_ports, radclient, version
from tests.radius.probe import probe

START, STOP, INTERIM, ON = 1, 2, 3, 7
IMPATIENT = {"timeout_ms": 200, "retries": 1, "dead_ms": 600000}  # for servers that do not answer


@pytest.fixture(scope="module")
def server(module_folder):
    with freeradius(module_folder / "radius") as s:
        yield s


def test_accept_with_all(build, server):
    with probe(build, [server.probed()]) as p:
        answer = p.ask("access", name="full", password="right")
    assert answer == {
        "tag": 1, "outcome": "accepted", "ipv4": 0x0A010203, "ipv6": "2001:db8:1:2::/64", "delegated": "2001:db8:aa00::/56",
        "pool": "homes", "pool6": "homes6", "profile": "gold", "message": "welcome", "classes": "\x19\x07class",
        "session": 3600, "idle": 600, "interim": 300}


@pytest.mark.parametrize("chap", [False, True], ids=["pap", "chap"])
def test_accept_and_reject(build, server, chap):
    with probe(build, [server.probed()]) as p:
        assert p.ask("access", name="plain", password="right", chap=chap)["outcome"] == "accepted"
        assert p.ask("access", name="plain", password="wrong", chap=chap)["outcome"] == "rejected"
        assert p.ask("access", name="nobody", password="right", chap=chap)["outcome"] == "rejected"


def test_passwords_of_all_blocks(build, server):
    """A wrong password of each length is a reject, not a request that the server cannot read."""
    with probe(build, [server.probed()]) as p:
        for n in (0, 1, 15, 16, 17, 127, 128):
            assert p.ask("access", name="plain", password="x" * n)["outcome"] == "rejected"


def test_service_that_is_not_offered(build, server):
    with probe(build, [server.probed()]) as p:
        assert p.ask("access", name="login", password="right")["outcome"] == "unusable"


def test_wrong_secret(build, server):
    """The server does not answer who does not sign with its secret."""
    with probe(build, [server.probed("wrong")], **IMPATIENT) as p:
        assert p.ask("access", name="plain", password="right")["outcome"] == "no answer"
        assert p.state()[0]["authentication"]["dead"] is True


def test_failover(build, server, folder):
    with freeradius(folder / "first") as first:
        with probe(build, [first.probed(), server.probed()]) as p:
            assert p.ask("access", name="plain", password="right")["outcome"] == "accepted"
            assert p.state()[0]["authentication"]["rtt_us_max"] > 0
        with probe(build, [first.probed(), server.probed()], timeout_ms=100, retries=5, dead_ms=600000) as p:
            first.stop()
            assert p.ask("access", name="plain", password="right")["outcome"] == "accepted"
            state = p.state()
            assert state[0]["authentication"]["dead"] is True
            assert state[1]["authentication"]["rtt_us_max"] > 0


def test_unsigned_answers(build, folder):
    """An accept without Message-Authenticator, as an older server sends it, is none."""
    need.program("freeradius")
    if version() >= (3, 2, 5):
        need.skip("this FreeRADIUS signs all answers")
    with freeradius(folder / "unsigned", signs=False) as s, probe(build, [s.probed()], **IMPATIENT) as p:
        assert p.ask("access", name="plain", password="right")["outcome"] == "no answer"
        assert p.state()[0]["authentication"]["no_message_authenticators"] == 2


def number(record, name):
    """A 64-bit counter of a record, from its two halves."""
    return int(record[name.replace("Octets", "Gigawords")]) << 32 | int(record[name])


def test_accounting(build, folder):
    octets = [0x123456789A, 0x1_0000_0000, 0xFFFF_FFFF, 0x7FFF_FFFF_FFFF]
    with freeradius(folder / "radius") as s, probe(build, [s.probed()]) as p:
        p.ask("account", status=ON, time=1700000000)
        for status in (START, INTERIM, STOP):
            p.ask("account", name="user", session="17", status=status, octets=octets, time=1700000000 + status)
        records = s.records()
    assert [r["Acct-Status-Type"] for r in records] == ["Accounting-On", "Start", "Interim-Update", "Stop"]
    assert "User-Name" not in records[0]
    for r in records[1:]:
        assert (r["User-Name"], r["Acct-Session-Id"]) == ("user", "17")
        assert (r["NAS-Identifier"], r["NAS-IP-Address"]) == ("probe", "192.0.2.1")
        assert (r["NAS-Port-Id"], r["NAS-Port-Type"]) == ("cpe0 128.256", "PPPoEoQinQ")
        assert (r["Calling-Station-Id"], r["Called-Station-Id"]) == ("02:00:00:00:00:01", "02:00:00:00:00:02")
        assert (r["Framed-IP-Address"], r["Framed-Protocol"]) == ("10.0.0.1", "PPP")
        assert bytes.fromhex(r["ADSL-Agent-Circuit-Id"][2:]) == b"cpe0 128.256 circuit"
        assert bytes.fromhex(r["ADSL-Agent-Remote-Id"][2:]) == b"remote"
        assert bytes.fromhex(r["Class"][2:]) == b"class"
    assert "Acct-Input-Octets" not in records[1]
    for r in records[2:]:
        assert number(r, "Acct-Input-Octets") == octets[0] + octets[2]
        assert number(r, "Acct-Output-Octets") == octets[1] + octets[3]
        assert number(r, "ERX-IPv6-Acct-Input-Octets") == octets[2]
        assert number(r, "ERX-IPv6-Acct-Output-Octets") == octets[3]
        assert r["Acct-Session-Time"] == "90"
    assert records[3]["Acct-Terminate-Cause"] == "User-Request"


def test_accounting_outlasts_the_server(build, folder):
    """Records that were made while the server was down arrive when it is up."""
    with freeradius(folder / "radius") as s:
        s.stop()
        with probe(build, [s.probed()], timeout_ms=100, retries=1, dead_ms=300) as p:
            for tag in range(20):
                p.say(cmd="account", tag=100 + tag, name="user", session=str(tag), status=START, time=1700000000)
            assert p.hear(1) is None
            s.start()
            taken = {p.hear()["tag"] for _ in range(20)}
        assert taken == {100 + tag for tag in range(20)}
        assert {r["Acct-Session-Id"] for r in s.records()} == {str(tag) for tag in range(20)}


# --- changes ---


def test_changes(build):
    port, = free_ports(1)
    at = {"Event-Timestamp": int(time.time()), "Message-Authenticator": "0x00"}
    with probe(build, coa=port, coa_secret=COA_SECRET) as p:
        said = radclient(port, "coa", {**at, "Acct-Session-Id": '"17"', "Filter-Id": '"gold"'})
        assert "Received CoA-ACK" in said, said
        assert p.hear() == {"change": True, "session": "17", "profile": "gold"}
        said = radclient(port, "disconnect", {**at, "Acct-Session-Id": '"17"'})
        assert "Received Disconnect-ACK" in said, said
        assert p.hear() == {"change": False, "session": "17", "profile": ""}
        said = radclient(port, "disconnect", {**at, "Acct-Session-Id": '"18"'})
        assert "Received Disconnect-NAK" in said and "Session-Context-Not-Found" in said, said
        said = radclient(port, "coa", {**at, "Acct-Session-Id": '"17"', "NAS-Identifier": '"other"'})
        assert "NAS-Identification-Mismatch" in said, said
        said = radclient(port, "coa", {**at, "Acct-Session-Id": '"17"', "Cisco-AVPair": '"x"'})
        assert "Unsupported-Attribute" in said, said


def test_changes_that_are_discarded(build):
    port, = free_ports(1)
    with probe(build, coa=port, coa_secret=COA_SECRET) as p:
        old = {"Acct-Session-Id": '"17"', "Event-Timestamp": int(time.time()) - 400}
        assert "No reply from server" in radclient(port, "disconnect", old)
        new = {"Acct-Session-Id": '"17"', "Event-Timestamp": int(time.time())}
        assert "No reply from server" in radclient(port, "disconnect", new, "wrong")
        assert p.state() == []
