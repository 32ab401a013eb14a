# SPDX-License-Identifier: BSD-3-Clause
"""vbng-cp as a proxy of DHCPv6: short leases of its own towards the client, the long one of the server behind, which it renews itself."""

import time

import pytest

from tests.common.limits import limit
from tests.cp.client import ControlPlane
from tests.cp.client6 import (
    DHCP6_Advertise, DHCP6_Rebind, DHCP6_Release, DHCP6_Renew, DHCP6_Reply, DHCP6_Request, DHCP6_Solicit, DHCP6OptClientId, DHCP6OptDNSServers,
    DHCP6OptIA_NA, DHCP6OptIA_PD, DHCP6OptIAAddress, DHCP6OptIAPrefix, DHCP6OptServerId, Client6, find_ia, leases, status_of)
from tests.cp.kea import Kea, free_port
from tests.cp.test_relay import until
from tests.cp.test_relay6 import CONFIG, DEFAULTS, NO_BINDING, SUBNET, has
from tests.cp.test_relay6_rules import ADDRESS, PREFIX, Server6, na, pd, server  # noqa: F401

OWN = (DHCP6OptIA_NA, DHCP6OptIA_PD)
DNS = DHCP6OptDNSServers(dnsservers=["2001:db8::53"])


@pytest.fixture
def proxy(control_plane, server):  # noqa: F811
    """A function: start vbng-cp with this client_lease."""
    server.reply_port = free_port("::1")

    def start(client_lease):
        values = DEFAULTS | {"RELAY": f'client_lease = "{client_lease}";'}
        return control_plane(text=CONFIG, KEAPORT=str(server.port), OWNPORT=str(server.reply_port), **values)

    return start


def told(reply):
    """{(preferred, valid, T1, T2)} of all that an answer gives."""
    return {(preferred, valid, find_ia(reply, ia).T1, find_ia(reply, ia).T2) for ia in OWN for _, preferred, valid in leases(reply, ia)}


def valid(times):
    return {t[1] for t in times}.pop()


def lease(client, server, valid=600, kind=DHCP6_Request):  # noqa: F811
    """Get a lease of the server, by two messages. Returns what the client hears."""
    client.say(kind, client.na(), client.pd(), server=server.duid)
    outer, q = server.hear(kind)
    server.answer(outer, q, DHCP6_Reply, na(ADDRESS, valid=valid), pd(valid=valid), DNS)
    client.server, client.address, client.prefix = server.duid, ADDRESS, PREFIX
    return client.hear()


def renews(client, kind=DHCP6_Renew):
    """Renew, and be told for how long, by the server's name."""
    client.say(kind, *client.own(), server=client.server if kind is DHCP6_Renew else None)
    reply = client.hear()
    assert bytes(reply[DHCP6OptServerId].duid)[-6:] == b"server" and reply[DHCP6OptDNSServers].dnsservers == ["2001:db8::53"]
    assert [a for ia in OWN for a, _, _ in leases(reply, ia)] == [ADDRESS, PREFIX]
    return told(reply)


def test_a_short_lease(proxy, server):  # noqa: F811
    """The client renews and rebinds with the gateway, and the server hears nothing of it, but of the end."""
    cp = proxy("20s")
    client = Client6(cp, 1)
    client.say(DHCP6_Solicit, client.na(), client.pd())
    outer, q = server.hear(DHCP6_Solicit)
    server.answer(outer, q, DHCP6_Advertise, na(ADDRESS), pd(valid=8))
    assert told(client.hear(DHCP6_Advertise)) == {(20, 20, 10, 16), (8, 8, 10, 16)}
    assert told(lease(client, server)) == {(20, 20, 10, 16)}
    assert client.row() == (None, ADDRESS, PREFIX)
    assert [renews(client, kind) for kind in (DHCP6_Renew, DHCP6_Rebind, DHCP6_Renew)] == [{(20, 20, 10, 16)}] * 3
    client.say(DHCP6_Renew, client.na(ADDRESS), server=client.server)
    assert told(client.hear()) == {(20, 20, 10, 16)}
    server.hears_nothing()
    client.ask(DHCP6_Release, *client.own())
    _, q = server.hear(DHCP6_Release)
    assert (q[DHCP6OptIAAddress].addr, q[DHCP6OptIAPrefix].prefix) == (ADDRESS, PREFIX.split("/", maxsplit=1)[0])
    assert client.row() is None


def test_a_client_that_has_gone(proxy, server):  # noqa: F811
    """Its lease is the server's again long before that ends, also when vbng-cp was away meanwhile."""
    cp = proxy("1s")
    client = Client6(cp, 1)
    lease(client, server)
    server.hear(DHCP6_Release)
    assert client.row() is None
    lease(client, server)
    cp.kill()
    cp.start()
    _, q = server.hear(DHCP6_Release)
    assert DHCP6OptIAAddress in q and DHCP6OptIAPrefix in q
    until(lambda: client.row() is None)


def test_what_the_gateway_does_not_know(proxy, server):  # noqa: F811
    """Is asked of the server: an association that the line has not, another server's, and all after a restart."""
    cp = proxy("1min")
    client = Client6(cp, 1)
    lease(client, server)
    client.say(DHCP6_Renew, client.na(ADDRESS), client.pd(iaid=77), server=client.server)
    outer, q = server.hear(DHCP6_Renew)
    server.answer(outer, q, DHCP6_Reply, na(ADDRESS), DHCP6OptIA_PD(iaid=77))
    client.hear()
    client.say(DHCP6_Renew, *client.own(), server=b"\0\2\0\0\0\1other")
    server.hear(DHCP6_Renew)
    cp.kill()
    cp.start()
    client.say(DHCP6_Renew, *client.own(), server=client.server)
    outer, q = server.hear(DHCP6_Renew)
    server.answer(outer, q, DHCP6_Reply, na(ADDRESS), pd(), DNS)
    assert told(client.hear()) == {(60, 60, 30, 48)}
    assert renews(client) == {(60, 60, 30, 48)}
    server.hears_nothing()


def renewed(client, server, kind, seconds=20):  # noqa: F811
    """What the gateway says to the server when T1 or T2 of its lease is over."""
    end = time.monotonic() + limit(seconds)
    while time.monotonic() < end:
        renews(client)
        try:
            return server.hear(kind, 0.1)
        except TimeoutError:
            continue
    raise AssertionError("the gateway does not renew")


def server_lease(valid, preferred=None, t1=300, t2=600):
    """Of both kinds."""
    both = na(ADDRESS, valid=valid), pd(valid=valid)
    for ia, leases_of in zip(both, (both[0].ianaopts, both[1].iapdopt)):
        ia.T1, ia.T2 = t1, t2
        leases_of[0].preflft = preferred or valid
    return (*both, DNS)


def begin(cp, server, t2=600):  # noqa: F811
    """A client with a lease that is to be renewed at once, for half of the preferred lifetime is over."""
    client = Client6(cp, 1)
    client.say(DHCP6_Request, client.na(), client.pd(), server=server.duid)
    outer, q = server.hear(DHCP6_Request)
    server.answer(outer, q, DHCP6_Reply, *server_lease(3600, 1, 0, t2))
    client.server, client.address, client.prefix = server.duid, ADDRESS, PREFIX
    client.hear()
    return client


def test_the_lease_of_the_server(proxy, server):  # noqa: F811
    """It is renewed in the client's name, of whom an answer is none of the business; a refusal ends the session."""
    cp = proxy("5min")
    client = begin(cp, server)
    outer, q = renewed(client, server, DHCP6_Renew)
    assert outer.peeraddr == client.link and bytes(q[DHCP6OptClientId].duid) == bytes(client.duid)
    assert (q[DHCP6OptIAAddress].addr, q[DHCP6OptIAPrefix].plen, q[DHCP6OptServerId].duid is not None) == (ADDRESS, 56, True)
    assert bytes.fromhex("000800020000") in bytes(q)  # RFC 8415 section 18.2.4
    wrong = server_lease(200)
    for fields in ({"xid": 5}, {"by": b""}, {"peer": "fe80::9"}, {"duid": b"\0\2\0\0\0\1stranger"}):
        server.answer(outer, q, DHCP6_Reply, *wrong, **fields)
    assert valid(renews(client)) == 300
    outer, q = server.hear(DHCP6_Renew)  # it has not been answered yet
    server.answer(outer, q, DHCP6_Reply, *server_lease(200))
    until(lambda: valid(renews(client)) <= 200)
    server.hears_nothing()
    client.hears_nothing(0.05)
    assert "the server's lease is renewed" in str(cp.ask(cmd="show-sessions", text="cpe0 100.2"))


@pytest.mark.parametrize("answer, left", [
    ([na(status=NO_BINDING), pd()], (None, None, PREFIX)), ([na(status=NO_BINDING), pd(valid=0)], None),
    ([na("2001:db8:100::77"), pd()], None), ([na(ADDRESS), pd("2001:db8:9000::/56")], None)])
def test_what_the_server_takes_back(proxy, server, answer, left):  # noqa: F811
    cp = proxy("5min")
    client = begin(cp, server)
    outer, q = renewed(client, server, DHCP6_Renew)
    server.answer(outer, q, DHCP6_Reply, *answer)
    until(lambda: client.row() == left)
    if left:  # the client hears of it from the server
        client.say(DHCP6_Renew, *client.own(), server=client.server)
        outer, q = server.hear(DHCP6_Renew)
        server.answer(outer, q, DHCP6_Reply, *answer)
        assert status_of(client.hear(), DHCP6OptIA_NA) == NO_BINDING


def test_a_server_that_has_gone(proxy, server):  # noqa: F811
    """From T2 on all are asked; who knows nothing of the lease cannot end it, who knows may take it over."""
    cp = proxy("5min")
    client = begin(cp, server, 0)
    outer, q = renewed(client, server, DHCP6_Rebind)
    assert DHCP6OptServerId not in q
    server.answer(outer, q, DHCP6_Reply, na(status=NO_BINDING), pd(valid=0), by=b"\0\2\0\0\0\1another")
    assert valid(renews(client)) == 300
    outer, q = server.hear(DHCP6_Rebind)
    server.answer(outer, q, DHCP6_Reply, *server_lease(200), by=b"\0\2\0\0\0\1a-server")
    client.server = b"\0\2\0\0\0\1a-server"
    until(lambda: valid(renews(client, DHCP6_Rebind)) <= 200)
    assert client.row() == (None, ADDRESS, PREFIX)


def test_kea(build, tmp_path):
    """Whose lease is long, while the client's is short, and either is killed."""
    kea = Kea(str(tmp_path), 6, **{"valid-lifetime": 6000, "preferred-lifetime": 5000, "renew-timer": 2, "subnet6": [SUBNET]})
    cp = ControlPlane(build, str(tmp_path), CONFIG, KEAPORT=str(kea.port), OWNPORT=str(free_port("::1")),
                      **DEFAULTS | {"RELAY": 'client_lease = "1min";'})
    try:
        client = Client6(cp, 1)
        assert {(preferred, valid, t1) for preferred, valid, t1, _ in told(client.get())} == {(60, 60, 2)}
        assert kea.leases()[client.address]["valid_lifetime"] == "6000"
        kea.kill()
        client.ask(DHCP6_Renew, *client.own())  # answered here
        cp.kill()
        cp.start()
        client.say(DHCP6_Renew, *client.own(), server=client.server)
        client.hears_nothing(0.1)
        assert client.row() == (None, client.address, client.prefix)
        kea.start()
        client.ask(DHCP6_Renew, *client.own())
        was = kea.leases()[client.address]["expire"]

        def is_renewed():
            client.ask(DHCP6_Renew, *client.own())
            return kea.leases()[client.address]["expire"] > was

        until(is_renewed, 20)
        cp.kill()
        cp.start()
        assert client.row() == (None, client.address, client.prefix)
        client.ask(DHCP6_Release, *client.own())
        until(lambda: not has(kea, client.address) and not has(kea, client.prefix))
    finally:
        cp.close()
        kea.close()
