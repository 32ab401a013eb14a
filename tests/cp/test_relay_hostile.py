# SPDX-License-Identifier: BSD-3-Clause
"""The relay of DHCPv4 where servers answer late, twice, or not at all."""

import time

from tests.cp.client import ACK, BOOTP, GATEWAY, OFFER, Client, option
from tests.cp.test_metrics import values
from tests.cp.test_relay import kind, until
from tests.cp.test_relay_rules import RELEASE, lease, relay, servers  # noqa: F401


def test_an_answer_that_comes_too_late(relay, servers):  # noqa: F811
    """For a session that has ended meanwhile: it does not begin again, and nothing is offered."""
    cp = relay('send_to = "first";')
    client, server = Client(cp, 1), servers[0]
    lease(client, server, "10.64.0.9")
    client.say("request", ciaddr="10.64.0.9", to=GATEWAY, xid=5)
    q = server.hear()
    assert cp.ask(cmd="disconnect", session="cpe0 100.2")["ok"]
    assert kind(server.hear()) == RELEASE
    server.answer(q, "ack", "10.64.0.9", ciaddr="10.64.0.9")
    client.hears_nothing(0.1)
    assert client.line not in cp.up.rows


def test_two_answers(relay, servers):  # noqa: F811
    """To one request, with two addresses: the first counts."""
    cp = relay('send_to = "first";')
    client, server = Client(cp, 1), servers[0]
    client.say("discover")
    q = server.hear()
    for address in ("10.64.0.9", "10.64.0.10"):
        server.answer(q, "offer", address)
    offer = client.hear()
    assert (kind(offer), offer[BOOTP].yiaddr) == (OFFER, "10.64.0.9")
    client.say("request", ("requested_addr", "10.64.0.9"), ("server_id", option(offer, "server_id")))
    q = server.hear()
    for answer, address in (("ack", "10.64.0.9"), ("ack", "10.64.0.10"), ("nak", "0.0.0.0")):
        server.answer(q, answer, address)
    ack = client.hear()
    assert (kind(ack), ack[BOOTP].yiaddr) == (ACK, "10.64.0.9")
    client.hears_nothing(0.1)
    assert cp.up.rows[client.line]["ipv4"] == "10.64.0.9"


def test_figures(relay, servers):  # noqa: F811
    """Of each server: what it was sent and has said, that it is dead, and that it lives again."""
    cp = relay('timeout = "10ms"; dead_time = "10ms";')

    def figures(server):
        found = values(cp)
        return [found[f"vbng_cp_relay_{name}"][("kea", server.address)] for name in ("messages_total", "answers_total", "unanswered", "deaths_total", "alive")]

    client = Client(cp, 1)
    for xid in range(1, 5):
        client.say("discover", xid=xid)
        servers[0].answer(servers[0].hear(), "offer", "10.64.0.9")
        q = servers[1].hear()
        assert kind(client.hear()) == OFFER
        time.sleep(0.01)  # the time of an answer
    assert (figures(servers[0]), figures(servers[1])) == ([4, 4, 0, 0, 1], [4, 0, 4, 1, 0])
    seconds = values(cp)["vbng_cp_relay_seconds"]
    assert [seconds[("kea", server.address)]["count"] for server in servers] == [4, 0]
    servers[1].answer(q, "offer", "10.64.0.10")
    until(lambda: figures(servers[1]) == [4, 1, 0, 1, 1])


def test_the_time_of_an_answer(relay, servers):  # noqa: F811
    """It is taken of a message that was said once, from then until the answer to that client."""
    cp = relay('send_to = "first"; timeout = "60s";')

    def seconds():
        return values(cp)["vbng_cp_relay_seconds"][("kea", servers[0].address)]

    one, other = Client(cp, 1), Client(cp, 2)
    one.say("discover")
    q = servers[0].hear()
    other.say("discover")
    servers[0].answer(servers[0].hear(), "offer", "10.64.0.10")
    assert kind(other.hear()) == OFFER and seconds()["count"] == 0
    time.sleep(0.05)  # what is measured
    servers[0].answer(q, "offer", "10.64.0.9")
    assert kind(one.hear()) == OFFER and seconds()["count"] == 1 and seconds()["sum"] >= 0.05
    other.say("discover")
    servers[0].hear()
    other.say("discover")  # again: which of both an answer is to, nobody knows
    servers[0].answer(servers[0].hear(), "offer", "10.64.0.10")
    assert kind(other.hear()) == OFFER and seconds()["count"] == 1


def test_what_is_not_answered_kills_nobody(relay, servers):  # noqa: F811
    """No server answers a RELEASE: it is not dead for that."""
    cp = relay('send_to = "first"; timeout = "10ms"; dead_time = "1h";')
    clients = [Client(cp, number) for number in range(1, 6)]
    for number, client in enumerate(clients[:4]):
        lease(client, servers[0], f"10.64.0.{number + 9}")
    for client in clients[:4]:
        client.say("release", ("server_id", GATEWAY), ciaddr=client.address, to=GATEWAY)
        assert kind(servers[0].hear()) == RELEASE
        time.sleep(0.01)  # the time of an answer
    until(lambda: not cp.up.rows)
    clients[4].say("discover")
    servers[0].hear()
    servers[1].hears_nothing()
