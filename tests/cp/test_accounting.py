# SPDX-License-Identifier: BSD-3-Clause
"""Accounting with a real FreeRADIUS, beside a user plane of ours whose counters are what we say, while any of them is killed."""

import contextlib
import sqlite3
import threading
import time

import pytest

from tests.common import need
from tests.common.limits import limit
from tests.cp.client import ACK, BOOTP, Client, option
from tests.cp.client6 import DHCP6_Request, DHCP6OptServerId, Client6, with_ipv6
from tests.radius.freeradius import SECRET, freeradius

need.program("freeradius")

USERS = "".join(f'02:00:00:00:00:{n:02x} Cleartext-Password := "vbng"\n    Class = "of {n}"\n\n' for n in range(1, 10))
RADIUS = """
radius = {{
    nas_identifier = "bng1"; timeout = "1s"; retries = 1; dead_time = "100ms"; password = "vbng"; accounting = true;
    interim_interval = "{interim}"; count_interval = "100ms";
    servers = ( {{ address = "127.0.0.1"; secret = "{secret}"; authentication_port = {authentication}; accounting_port = {accounting}; }} );
}};
"""
GIGA = 1 << 32
SINCE = 1 << 60  # from which on a user plane counts a subscriber, in us: later than all sessions


@pytest.fixture
def server(folder):
    with freeradius(folder / "radius", users=USERS) as s:
        yield s


def section(server, interim="0s"):
    return RADIUS.format(interim=interim, secret=SECRET, authentication=server.authentication, accounting=server.accounting)


@pytest.fixture
def cp(control_plane, server):
    return control_plane(EXTRA=section(server))


def of(server, kind):
    return [r for r in server.records() if r["Acct-Status-Type"] == kind]


def until(cp, server, kind, n):
    cp.until(lambda: len(of(server, kind)) >= n)
    return of(server, kind)


def volume(record, way):
    """(octets, packets) of both families, and those of IPv6 among them."""
    octets = int(record[f"Acct-{way}-Octets"]) + GIGA * int(record.get(f"Acct-{way}-Gigawords", 0))
    six = int(record[f"ERX-IPv6-Acct-{way}-Octets"]) + GIGA * int(record.get(f"ERX-IPv6-Acct-{way}-Gigawords", 0))
    return octets, int(record[f"Acct-{way}-Packets"]), six


def eventually(condition):
    end = time.monotonic() + limit(10)
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def release(client):
    client.say("release", ("server_id", client.server), ciaddr=client.address)


def count(cp, client, since, octets):
    """What the user plane says from now on, and has said: octets up of IPv4, of IPv6, down of both."""
    up4, up6, down4, down6 = octets
    cp.up.octets[client.line] = [since, up4 // 100, up4, up6 // 100, up6, down4 // 100, down4, down6 // 100, down6]


def until_read(cp):
    """Until the user plane has been asked for counters twice more: what it says now was taken."""
    def read():
        return len([1 for r, _ in cp.up.requests if r["cmd"] == "subscriber-octets"])
    before = read()
    cp.until(lambda: read() >= before + 2)


def test_start_and_stop(cp, server):
    """A session's records name it alike; the stop has the octets of when the user plane removed it, 64 bits, by family."""
    client = Client(cp, 1)
    client.get()
    [start] = until(cp, server, "Start", 1)
    count(cp, client, 5, (3 * GIGA + 700, 200, 5 * GIGA + 100, GIGA + 900))
    release(client)
    [stop] = until(cp, server, "Stop", 1)
    assert start["Acct-Session-Id"] == stop["Acct-Session-Id"] and start["User-Name"] == stop["User-Name"] == client.mac
    for record in (start, stop):
        assert (record["NAS-Port-Id"], record["Framed-IP-Address"], record["NAS-Identifier"]) == ("cpe0 100.2", client.address, "bng1")
        assert "Class" in record
    assert volume(stop, "Input") == (3 * GIGA + 900, (3 * GIGA + 700) // 100 + 2 & GIGA - 1, 200)
    assert volume(stop, "Output")[::2] == (6 * GIGA + 1000, GIGA + 900)
    assert stop["Acct-Terminate-Cause"] == "User-Request"
    cp.process.terminate()
    cp.process.wait()
    with contextlib.closing(sqlite3.connect(f"file:{cp.folder}/store.db?mode=ro", uri=True)) as store:
        assert store.execute("SELECT * FROM account").fetchall() == [], "nothing is left to be told"
    cp.start()


def test_the_control_plane_is_killed(cp, server):
    """The sums go on: with the counters of the same subscriber, and with those of another who has his line."""
    client = Client(cp, 2)
    client.get()
    until(cp, server, "Start", 1)
    count(cp, client, 5, (1000, 0, 2000, 0))
    until_read(cp)
    cp.kill()
    count(cp, client, 5, (1500, 0, 2500, 0))
    cp.start()
    until_read(cp)
    count(cp, client, 9, (70, 0, 80, 0))  # vbng was started again
    until_read(cp)
    release(client)
    [stop] = until(cp, server, "Stop", 1)
    assert volume(stop, "Input")[0] == 1570 and volume(stop, "Output")[0] == 2580
    assert len(of(server, "Start")) == len(of(server, "Accounting-On")) == 1


@pytest.mark.parametrize("there, octets", [("still", 5000), ("removed", 4000), ("restarted", 3000)])
def test_killed_before_the_userplane_has_answered(cp, server, there, octets):
    """The session has ended in the store. Where the user plane has it still, or has removed it although nobody heard its answer, the end is accounted for with
    all that was counted; where it was restarted, with what was read last."""
    client = Client(cp, 3)
    client.get()
    until(cp, server, "Start", 1)
    count(cp, client, 5, (3000, 0, 0, 0))
    until_read(cp)
    row = cp.up.rows[client.line]
    cp.up.hold.clear()
    count(cp, client, 5, (4000, 0, 0, 0))
    release(client)
    cp.until(lambda: "ends" in cp.text())
    for _ in range(2):  # the second is answered in a turn behind that which has committed the end
        cp.ask(cmd="show-status")
    cp.kill()
    cp.up.hold.set()
    eventually(lambda: cp.up.idle)
    cp.up.rows.pop(client.line, None)
    if there == "still":
        cp.up.rows[client.line] = row
        count(cp, client, 5, (5000, 0, 0, 0))
    elif there == "restarted":
        cp.up.kept.clear()
    else:
        assert cp.up.kept[client.line][2:4] == [40, 4000]
    cp.start()
    [stop] = until(cp, server, "Stop", 1)
    assert volume(stop, "Input")[0] == octets and stop["Acct-Terminate-Cause"] == "User-Request"


@pytest.fixture
def dual(control_plane, server):
    """vbng-cp, and the lease of IPv4 of a line on which IPv6 is offered. The user plane has counted 3000 octets, which were read, and 1000 more."""
    cp = control_plane(**with_ipv6(section(server)))
    four, six = Client(cp, 6), Client6(cp, 6)
    four.get()
    until(cp, server, "Start", 1)
    count(cp, four, SINCE, (3000, 0, 0, 0))
    until_read(cp)
    count(cp, four, SINCE, (4000, 0, 0, 0))
    six.server = six.solicit()[DHCP6OptServerId].duid
    return cp, four, six


def put_anew(cp, six):
    """Have the line get IPv6, for which the user plane has to remove its subscriber first: that it is asked for, and waits."""
    def hold(row):
        cp.up.hold.clear()

    cp.up.fixed.add(six.line)
    cp.up.refuse = hold
    six.say(DHCP6_Request, six.na(), six.pd(), server=six.server)
    cp.until(lambda: not cp.up.hold.is_set())
    cp.up.refuse = None
    for _ in range(3):  # turns of vbng-cp: it hears the answer, and asks for more
        cp.ask(cmd="show-status")
        time.sleep(0.05)
    assert six.line in cp.up.rows and six.line in cp.up.fixed


def octets_of_end(cp, server):
    """Of the session's record, of which there is one alone."""
    assert cp.ask(cmd="disconnect", session="cpe0 100.7")["ok"]
    [stop] = until(cp, server, "Stop", 1)
    assert len(of(server, "Start")) == 1
    return volume(stop, "Input")[0]


@pytest.mark.parametrize("killed", ["never", "before it hears of the removal", "when he is put again"])
def test_a_subscriber_is_put_anew(dual, server, killed):
    """His octets of before are the session's, whenever vbng-cp is killed, and before he is read again."""
    cp, four, six = dual
    put_anew(cp, six)
    if killed == "before it hears of the removal":
        cp.kill()
        cp.up.hold.set()
        eventually(lambda: cp.up.idle)
        assert six.line not in cp.up.rows and cp.up.kept[six.line][2:4] == [40, 4000]
        cp.start()
    else:
        cp.up.hold.set()
        six.hear()
        if killed == "when he is put again":
            cp.kill()
            cp.start()
    cp.until(lambda: "delegated" in cp.up.rows.get(six.line, {}))
    count(cp, four, SINCE + 9, (70, 0, 0, 0))
    until_read(cp)
    assert octets_of_end(cp, server) == 4070


def test_a_session_ends_while_it_is_put_anew(dual, server):
    cp, four, six = dual
    put_anew(cp, six)
    assert cp.ask(cmd="disconnect", session="cpe0 100.7")["ok"]
    cp.up.hold.set()
    [stop] = until(cp, server, "Stop", 1)
    assert volume(stop, "Input")[0] == 4000
    cp.until(lambda: six.line not in cp.up.rows)


def test_a_subscriber_has_what_is_not_his(dual, server):
    """He is removed when vbng-cp has come back, and put again: his octets are the session's all the same."""
    cp, four, six = dual
    cp.kill()
    cp.up.rows[four.line]["delegated"] = "2001:db8:8000::/48"
    cp.start()
    cp.until(lambda: "delegated" not in cp.up.rows.get(four.line, {"delegated": ""}))
    count(cp, four, SINCE + 9, (70, 0, 0, 0))
    until_read(cp)
    assert octets_of_end(cp, server) == 4070


def test_the_user_plane_was_restarted_before_the_kill(dual, server):
    """What was counted before its restart is in the store when that is noticed, and not with the next record."""
    cp, four, six = dual
    until_read(cp)
    count(cp, four, SINCE + 9, (70, 0, 0, 0))
    until_read(cp)
    cp.kill()
    cp.start()
    assert octets_of_end(cp, server) == 4070


def test_a_session_begins_where_another_has_not_ended(cp, server):
    """Of the same client, with the same address, before vbng-cp knows what the user plane has: both are accounted for, and the second goes on."""
    client, answers = Client(cp, 7), cp.up._list_subscribers
    client.get()
    until(cp, server, "Start", 1)
    row = cp.up.rows[client.line]
    count(cp, client, SINCE, (3000, 0, 0, 0))
    cp.up.hold.clear()
    release(client)
    for _ in range(3):
        cp.ask(cmd="show-status")
        time.sleep(0.05)
    cp.kill()
    cp.up.hold.set()
    eventually(lambda: cp.up.idle)
    cp.up.rows[client.line] = row
    count(cp, client, SINCE, (3000, 0, 0, 0))
    cp.up._list_subscribers = lambda request: {"ok": True, "subscribers": [], "next": 1}  # nothing is said yet
    starting = threading.Thread(target=cp.start)
    starting.start()
    eventually(lambda: cp.up.punt is not None)
    client.say("discover")
    offer = client.hear()
    client.say("request", ("requested_addr", offer[BOOTP].yiaddr), ("server_id", option(offer, "server_id")))
    cp.until(lambda: cp.ask(cmd="show-sessions", text="cpe0 100.8")["sessions"][0]["state"] == "starting")
    cp.up._list_subscribers = answers
    starting.join()
    assert option(client.hear(), "message-type") == ACK and offer[BOOTP].yiaddr == row["ipv4"]
    [stop] = until(cp, server, "Stop", 1)
    until(cp, server, "Start", 2)
    assert volume(stop, "Input")[0] == 3000
    cp.until(lambda: client.line in cp.up.rows)


def test_who_else_has_the_line(dual, server):
    """A subscriber whom an operator has put there instead stays, and ends the session."""
    cp, four, six = dual
    cp.kill()
    mine = cp.up.rows[four.line] | {"name": "mine"}
    cp.up.rows[four.line] = mine
    cp.up.refuse = lambda row: "it is configured"
    cp.start()
    [stop] = until(cp, server, "Stop", 1)
    assert stop["Acct-Terminate-Cause"] == "NAS-Error" and cp.up.rows[four.line] is mine


def test_no_server_answers(control_plane, server):
    """Records wait in the store: the start, the last interim one of those that were due, then the end; in their order, and once each."""
    cp = control_plane(EXTRA=section(server, "1s"))
    client = Client(cp, 4)
    client.get()
    until(cp, server, "Start", 1)
    count(cp, client, 5, (100, 0, 0, 0))
    [first, *_] = until(cp, server, "Interim-Update", 1)
    assert volume(first, "Input")[0] == 100
    server.stop()
    count(cp, client, 5, (300, 0, 0, 0))
    until_read(cp)
    release(client)
    cp.until(lambda: not cp.up.rows)
    cp.kill()
    cp.start()
    server.start()
    [stop] = until(cp, server, "Stop", 1)
    assert volume(stop, "Input")[0] == 300 and len(of(server, "Start")) == 1
    assert {r["Acct-Session-Id"] for r in server.records() if "Acct-Session-Id" in r} == {stop["Acct-Session-Id"]}


def test_a_renewal_is_no_session(cp, server):
    client = Client(cp, 5)
    client.get()
    assert option(client.renew(), "message-type") == ACK
    until(cp, server, "Start", 1)
    until_read(cp)
    assert [r["Acct-Status-Type"] for r in server.records()] == ["Accounting-On", "Start"]
