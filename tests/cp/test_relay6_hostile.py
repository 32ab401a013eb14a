# SPDX-License-Identifier: BSD-3-Clause
"""The relay of DHCPv6 among strangers: clients that speak in another's name, and servers that say what they must not."""

import pytest

from tests.cp.client import Client
from tests.cp.client6 import (
    DHCP6_Confirm, DHCP6_Decline, DHCP6_Rebind, DHCP6_Release, DHCP6_Renew, DHCP6_Reply, DHCP6_Request, DHCP6_Solicit, DHCP6OptIA_NA,
    DHCP6OptIA_PD, DHCP6OptIAAddress, DHCP6OptIAPrefix, DHCP6OptRapidCommit, Client6, status_of)
from tests.cp.test_relay import until
from tests.cp.test_relay6 import NO_BINDING
from tests.cp.test_relay6_rules import ADDRESS, PREFIX, cp, lease, na, pd, server  # noqa: F401

OTHER = "2001:db8:8000:600::/56"
STRANGER = b"\0\2\0\0\0\1another"


def asks(client, server, kind=DHCP6_Request, *options, named=True):  # noqa: F811
    """Say something, of which the server hears."""
    client.say(kind, *(options or (client.na(), client.pd())), server=server.duid if named else None)
    return server.hear(kind)


def test_what_is_not_the_lines_is_not_given_back(cp, server):  # noqa: F811
    """By a client that calls itself as another line's does, which anybody may: a server would believe it."""
    victim, client = Client6(cp, 1), Client6(cp, 2)
    lease(victim, server, na(ADDRESS), pd())
    client.duid = victim.duid
    for kind, options in ((DHCP6_Release, victim.own()), (DHCP6_Decline, victim.own()[:1])):
        client.say(kind, *options, server=server.duid)
        answer = client.hear()
        assert status_of(answer) == 0 and status_of(answer, DHCP6OptIA_NA) == NO_BINDING
        server.hears_nothing()
    outer, q = asks(client, server, DHCP6_Request, client.na())
    server.answer(outer, q, DHCP6_Reply, na("2001:db8:100::a"))
    client.hear()
    client.say(DHCP6_Release, client.na("2001:db8:100::a"), client.pd(PREFIX), server=server.duid)
    assert status_of(client.hear(), DHCP6OptIA_PD) == NO_BINDING
    _, released = server.hear(DHCP6_Release)
    assert released[DHCP6OptIAAddress].addr == "2001:db8:100::a" and DHCP6OptIA_PD not in released
    assert victim.row() == (None, ADDRESS, PREFIX) and client.row() is None


def test_given_back_in_parts(cp, server):  # noqa: F811
    """The server hears of each when the user plane has forgotten it, and once."""
    client = Client6(cp, 1)
    lease(client, server, na(ADDRESS), pd())
    assert status_of(client.ask(DHCP6_Release, client.pd(PREFIX))) == 0
    _, q = server.hear(DHCP6_Release)
    assert q[DHCP6OptIAPrefix].prefix == PREFIX.split("/", maxsplit=1)[0] and DHCP6OptIA_NA not in q
    assert client.row() == (None, ADDRESS, None)
    assert status_of(client.ask(DHCP6_Decline, client.na(ADDRESS))) == 0
    _, q = server.hear(DHCP6_Decline)
    assert q[DHCP6OptIAAddress].addr == ADDRESS
    until(lambda: client.row() is None)
    server.hears_nothing()


def test_an_address_of_another_line(cp, server):  # noqa: F811
    """That a server gives twice: the second line does not get it, and loses nothing that it has, of either family."""
    first, second, four = Client6(cp, 1), Client6(cp, 2), Client(cp, 2)
    lease(first, server, na(ADDRESS), pd())
    four.get()
    outer, q = asks(second, server, DHCP6_Request, second.pd())
    server.answer(outer, q, DHCP6_Reply, pd(OTHER))
    second.hear()
    outer, q = asks(second, server, DHCP6_Request, second.na())
    server.answer(outer, q, DHCP6_Reply, na(ADDRESS))
    second.hears_nothing(0.1)
    assert second.row() == (four.address, None, OTHER) and first.row() == (None, ADDRESS, PREFIX)
    assert f"refused: {ADDRESS}/128 of the server is another's" in cp.text()
    first.ask(DHCP6_Release, first.na(ADDRESS))
    server.hear(DHCP6_Release)
    outer, q = asks(second, server, DHCP6_Request, second.na())
    server.answer(outer, q, DHCP6_Reply, na(ADDRESS))
    second.hear()
    assert second.row() == (four.address, ADDRESS, OTHER)


def test_an_answer_that_comes_too_late(cp, server):  # noqa: F811
    """For a session that has ended meanwhile: it does not begin again."""
    client = Client6(cp, 1)
    lease(client, server, na(ADDRESS), pd())
    outer, q = asks(client, server, DHCP6_Renew, client.na(ADDRESS), client.pd(PREFIX))
    assert cp.ask(cmd="disconnect", session="cpe0 100.2")["ok"]
    server.hear(DHCP6_Release)
    assert client.row() is None
    server.answer(outer, q, DHCP6_Reply, na(ADDRESS), pd())
    client.hears_nothing(0.1)
    assert client.row() is None


def test_answers_of_another_server(cp, server):  # noqa: F811
    """Who does not say who he is, or is not who is asked; who knows of no lease that he has not given."""
    client = Client6(cp, 1)
    outer, q = asks(client, server)
    for by in (b"", STRANGER):
        server.answer(outer, q, DHCP6_Reply, na(ADDRESS), pd(), by=by)
    client.hears_nothing(0.1)
    server.answer(outer, q, DHCP6_Reply, na(ADDRESS), pd())
    client.server, client.address, client.prefix = server.duid, ADDRESS, PREFIX
    client.hear()
    server.answer(outer, q, DHCP6_Reply, na(ADDRESS), pd(OTHER))  # said twice, in two ways
    outer, q = asks(client, server, DHCP6_Rebind, *client.own(), named=False)
    server.answer(outer, q, DHCP6_Reply, na(status=NO_BINDING), pd(valid=0), by=STRANGER)
    client.hears_nothing(0.1)
    assert client.row() == (None, ADDRESS, PREFIX)
    server.answer(outer, q, DHCP6_Reply, na(ADDRESS), pd(), by=STRANGER)  # which has taken over
    client.hear()
    client.say(DHCP6_Confirm, client.na(ADDRESS))
    outer, q = server.hear(DHCP6_Confirm)
    server.answer(outer, q, DHCP6_Reply)
    client.hear()


def test_what_was_not_asked_for(cp, server):  # noqa: F811
    """A lease at once, a prefix beside the address, another identity association: no line has it."""
    client = Client6(cp, 1)
    outer, q = asks(client, server, DHCP6_Solicit, client.na(), named=False)
    server.answer(outer, q, DHCP6_Reply, na(ADDRESS), DHCP6OptRapidCommit())
    client.hears_nothing(0.1)
    assert client.row() is None
    outer, q = asks(client, server, DHCP6_Request, client.na())
    server.answer(outer, q, DHCP6_Reply, na(ADDRESS), pd())
    client.hear()
    assert client.row() == (None, ADDRESS, None)
    outer, q = asks(client, server, DHCP6_Request, client.pd(iaid=99))
    server.answer(outer, q, DHCP6_Reply, pd())
    client.hear()
    assert client.row() == (None, ADDRESS, None)
