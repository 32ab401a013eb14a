# SPDX-License-Identifier: BSD-3-Clause
"""vbng-cp as a proxy of DHCPv4: short leases of its own towards the client, the long one of the server behind, which it renews itself."""

import time

import pytest

from tests.common.limits import limit
from tests.cp.client import ACK, BOOTP, GATEWAY, NAK, OFFER, Client, option
from tests.cp.test_relay import kind, until
from tests.cp.test_relay_rules import RELEASE, lease, relay, servers, suboptions  # noqa: F401

PROXY = 'send_to = "first"; client_lease = "{}";'


def renews(client, xid=9):
    """Renew, and be told for how long."""
    client.say("request", ciaddr=client.address, to=GATEWAY, xid=xid)
    reply = client.hear()
    assert (kind(reply), reply[BOOTP].xid, reply[BOOTP].ciaddr, reply[BOOTP].yiaddr) == (ACK, xid, client.address, client.address)
    assert option(reply, "server_id") == GATEWAY
    return option(reply, "lease_time")


def test_a_short_lease(relay, servers):  # noqa: F811
    """The client renews with the gateway, and the server hears nothing of it."""
    cp = relay(PROXY.format("20s"))
    client = Client(cp, 1)
    client.say("discover")
    q = servers[0].hear()
    servers[0].answer(q, "offer", "10.64.0.9", ("router", GATEWAY))
    offer = client.hear()
    assert (kind(offer), option(offer, "lease_time"), option(offer, "renewal_time"), option(offer, "router")) == (OFFER, 20, 10, GATEWAY)
    client.say("request", ("requested_addr", "10.64.0.9"), ("server_id", GATEWAY))
    servers[0].answer(servers[0].hear(), "ack", "10.64.0.9", ("router", GATEWAY))
    ack = client.hear()
    assert (kind(ack), option(ack, "lease_time"), ack[BOOTP].giaddr) == (ACK, 20, "0.0.0.0")
    client.address = "10.64.0.9"
    assert [renews(client, xid) for xid in (5, 6)] == [20, 20]
    servers[0].hears_nothing()
    client.say("release", ("server_id", GATEWAY), ciaddr=client.address, to=GATEWAY)
    assert kind(servers[0].hear()) == RELEASE


def test_a_client_that_has_gone(relay, servers):  # noqa: F811
    """Its address is the server's again long before the server's lease ends."""
    cp = relay(PROXY.format("1s"))
    client = Client(cp, 1)
    lease(client, servers[0], "10.64.0.9")
    q = servers[0].hear()
    assert (kind(q), q.ciaddr, option(q, "server_id")) == (RELEASE, "10.64.0.9", "127.0.0.5")
    assert client.line not in cp.up.rows


def renewed(client, server, seconds=10):
    """What the gateway says to the server when half of its lease is over."""
    end = time.monotonic() + limit(seconds)
    while time.monotonic() < end:
        renews(client)
        try:
            return server.hear(0.05)
        except TimeoutError:
            continue
    raise AssertionError("the gateway does not renew")


@pytest.mark.long
def test_the_lease_of_the_server(relay, servers):  # noqa: F811
    """It is renewed in the client's name; an answer is no client's, and a refusal ends the session."""
    cp = relay(PROXY.format("30s"))
    client, server = Client(cp, 1), servers[0]
    lease(client, server, "10.64.0.9", ("lease_time", 8), ("client_id", b"\1abc"))
    assert renews(client) <= 8
    q = renewed(client, server)
    assert (kind(q), q.ciaddr, q.giaddr, option(q, "server_id"), option(q, "client_id")) == (3, "10.64.0.9", "127.0.0.2", None, b"\1abc")
    assert (q.chaddr[:6].hex(":"), suboptions(q)[1]) == (client.mac, b"bng1 eth cpe0:100.2")
    server.answer(q, "ack", "10.64.0.9", ("lease_time", 100))
    until(lambda: renews(client) == 30)
    cp.kill()
    cp.start()  # it has to ask for what it says to the client
    client.say("request", ciaddr=client.address, to=GATEWAY)
    server.answer(server.hear(), "ack", "10.64.0.9", ("lease_time", 8))
    assert option(client.hear(), "lease_time") == 8
    server.answer(renewed(client, server), "nak", "0.0.0.0")
    until(lambda: client.line not in cp.up.rows)
    client.say("request", ciaddr=client.address, to=GATEWAY)
    server.answer(server.hear(), "nak", "0.0.0.0")
    assert kind(client.hear()) == NAK
