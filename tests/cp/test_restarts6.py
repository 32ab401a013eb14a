# SPDX-License-Identifier: BSD-3-Clause
"""What survives of IPv6 when vbng-cp, the user plane or both are killed: all that was told to a client, and no prefix is given twice."""

import contextlib
import random
import sqlite3
import time

import pytest

from tests.cp.client import ACK, Client, Ether, option
from tests.cp.client6 import (
    DHCP6, DHCP6_Release, DHCP6_Renew, DHCP6_Reply, DHCP6_Request, DHCP6_Solicit, DHCP6OptIA_NA, DHCP6OptIA_PD, DHCP6OptRapidCommit,
    DHCP6OptServerId, Client6, DUID_LL, address_of, leases, link_of, prefix_of, status_of, with_ipv6)

NO_BINDING = 3


@pytest.fixture
def cp(control_plane):
    return control_plane(**with_ipv6())


def dual(cp, numbers):
    """Clients of both families, which have their leases."""
    clients = [(Client(cp, n), Client6(cp, n)) for n in numbers]
    for v4, v6 in clients:
        v4.get()
        v6.get()
    return clients


def renews(v4, v6):
    reply = v6.ask(DHCP6_Renew, *v6.own())
    return (option(v4.renew(), "message-type") == ACK and leases(reply, DHCP6OptIA_NA) == [(v6.address, 3600, 3600)]
            and leases(reply, DHCP6OptIA_PD) == [(v6.prefix, 3600, 3600)])


def test_the_control_plane_is_killed(cp):
    clients = dual(cp, range(1, 11))
    before, asked = dict(cp.up.rows), len(cp.up.requests)
    cp.kill()
    cp.start()
    assert cp.up.rows == before and [r["cmd"] for r, _ in cp.up.requests[asked:]] == ["list-subscribers"], "nothing was to be done"
    assert all(renews(v4, v6) for v4, v6 in clients)
    new = Client6(cp, 50)
    new.get()
    assert new.prefix not in {v6.prefix for _, v6 in clients} and link_of(new.address) not in {link_of(v6.address) for _, v6 in clients}
    other = clients[0][1]
    other.duid = DUID_LL(lladdr="02:00:00:00:99:99")
    assert status_of(other.ask(DHCP6_Renew, *other.own()), DHCP6OptIA_NA) == NO_BINDING, "whose lease it is was kept, too"


@pytest.mark.parametrize("keeps", [True, False])
def test_the_userplane_is_killed(cp, keeps):
    clients = dual(cp, range(1, 11))
    before = dict(cp.up.rows)
    cp.restart_userplane(keeps)
    cp.until(lambda: cp.up.rows == before)
    assert renews(*clients[0])


def test_a_lease_that_ended_meanwhile(control_plane):
    cp = control_plane(**with_ipv6(lease="1s"))
    (v4, v6), = dual(cp, [1])
    cp.kill()
    time.sleep(1.2)
    cp.start()
    cp.until(lambda: v6.row() == (v4.address, None, None))
    assert option(v4.renew(), "message-type") == ACK


def test_killed_between_offer_and_request(cp):
    client = Client6(cp, 1)
    offer = client.solicit()
    cp.kill()
    cp.start()
    client.server = offer[DHCP6OptServerId].duid
    client.take(client.ask(DHCP6_Request, client.na(address_of(offer)), client.pd(prefix_of(offer))))
    assert (client.address, client.prefix) == (address_of(offer), prefix_of(offer))


def test_a_reply_waits_for_both(cp):
    """Killed before the user plane has answered: the client was told nothing, and nothing is there twice."""
    client = Client6(cp, 1)
    offer = client.solicit()
    client.server = offer[DHCP6OptServerId].duid
    cp.up.hold.clear()
    client.say(DHCP6_Request, client.na(), client.pd(), server=client.server)
    client.hears_nothing()
    cp.kill()
    with contextlib.closing(sqlite3.connect(f"file:{cp.folder}/store.db?mode=ro", uri=True)) as store:
        (address, v6), = store.execute("SELECT address, v6 FROM session").fetchall()
        assert address is None and prefix_of(offer) in v6, "it was in the store before"
    cp.up.hold.set()
    cp.start()
    cp.until(lambda: client.row() == (None, link_of(address_of(offer)), prefix_of(offer)))
    client.take(client.ask(DHCP6_Request, client.na(), client.pd()))
    assert client.prefix == prefix_of(offer)


def test_a_store_of_before_ipv6(cp):
    """Sessions of IPv4 in a store of format 2 go on."""
    client = Client(cp, 1)
    client.get()
    cp.kill()
    with contextlib.closing(sqlite3.connect(f"{cp.folder}/store.db")) as store:
        names = [row[1] for row in store.execute("PRAGMA table_info(session)") if row[1] not in
                 ("port", "svlan", "cvlan", "mac", "address", "expires", "service")]
        for name in names:
            store.execute(f"ALTER TABLE session DROP COLUMN {name}")
        store.executescript("DROP TABLE value; PRAGMA user_version = 2;")
    cp.start()
    assert option(client.renew(), "message-type") == ACK
    v6 = Client6(cp, 1)
    v6.get()
    assert v6.row() == (client.address, link_of(v6.address), v6.prefix)


def test_pools_that_are_gone(cp):
    """What the configuration has no place for any more ends, and what it has goes on."""
    (v4, v6), (only,) = dual(cp, [1])[0], (Client6(cp, 2, line=("cpe0", 200, 1)),)
    only.get()
    cp.kill()
    with open(cp.config, encoding="ascii") as f:
        text = f.read()
    with open(cp.config, "w", encoding="ascii") as f:
        f.write(text.replace("2001:db8:", "2001:db9:"))
    cp.start()
    cp.until(lambda: list(cp.up.rows) == [v6.line] and v6.row() == (v4.address, None, None))
    cp.kill()
    with contextlib.closing(sqlite3.connect(f"file:{cp.folder}/store.db?mode=ro", uri=True)) as store:
        assert store.execute("SELECT address, v6 FROM session").fetchall() == [(v4.address, None)]
    cp.start()
    v6.get()
    assert v6.prefix.startswith("2001:db9:")


def test_killed_at_random_moments(control_plane):
    """Twenty clients and sixteen prefixes, so that they change hands at once: after each kill the user plane has what a client was told."""
    cp = control_plane(**with_ipv6(delegated_len=52))
    clients = {c.line: c for c in (Client6(cp, n) for n in range(1, 21))}
    chance, told, replies, rounds = random.Random(6), {}, 0, 0

    def delegated():
        return [row["delegated"] for row in cp.up.rows.values() if "delegated" in row]

    while rounds < 15 or (rounds < 60 and not (replies > 20 and len(delegated()) > 10)):  # a slow machine answers fewer before each kill
        rounds += 1
        for client in clients.values():
            what = chance.choice(("renew", "release", "wait")) if client.line in told else "ask"
            if what == "ask":
                client.say(DHCP6_Solicit, DHCP6OptRapidCommit(), client.na(), client.pd())
            elif what != "wait":
                client.say(DHCP6_Renew if what == "renew" else DHCP6_Release, *client.own(), server=client.server)
                if what == "release":
                    told.pop(client.line)
        time.sleep(chance.uniform(0, 0.03))
        cp.kill()
        while not cp.up.frames.empty():
            line, frame = cp.up.expect()
            reply, client = Ether(frame)[DHCP6_Reply], clients[line]
            assert status_of(reply, DHCP6OptIA_NA) is None if line in told else True, "the lease that it was told of is refused"
            if prefix_of(reply):
                client.take(reply)
                told[line] = (None, link_of(client.address), client.prefix)
                replies += 1
        cp.start()
        assert {line: clients[line].row() for line in told} == told
    assert replies > 20 and "is another's" not in cp.text()
    assert len(set(delegated())) == len(delegated()) > 10
