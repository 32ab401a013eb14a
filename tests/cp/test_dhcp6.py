# SPDX-License-Identifier: BSD-3-Clause
"""The DHCPv6 server against Scapy: RFC 8415 message by message, beside IPv4 and without it."""

import time

import pytest

from tests.cp.client import ACK, Client, option
from tests.cp.client6 import (
    DHCP6_Advertise, DHCP6_Confirm, DHCP6_Decline, DHCP6_InfoRequest, DHCP6_Rebind, DHCP6_Release, DHCP6_Renew, DHCP6_Request, DHCP6_Solicit,
    DHCP6OptDNSDomains, DHCP6OptDNSServers, DHCP6OptIA_NA, DHCP6OptIA_PD, DHCP6OptIA_TA, DHCP6OptIAAddress, DHCP6OptInfoRefreshTime,
    DHCP6OptOptReq, DHCP6OptRapidCommit, DHCP6OptServerId, Client6, DHCP6, DUID_LL, address_of, leases, link_of, prefix_of, status_of,
    with_ipv6)

SUCCESS, NO_ADDRS, NO_BINDING, NOT_ON_LINK, NO_PREFIX = 0, 2, 3, 4, 6


@pytest.fixture
def cp(control_plane):
    return control_plane(**with_ipv6())


def test_four_messages(cp):
    """An offer is no session; the reply says what the user plane then has."""
    client = Client6(cp, 1)
    offer = client.solicit()
    assert not cp.up.rows
    client.server = offer[DHCP6OptServerId].duid
    reply = client.take(client.ask(DHCP6_Request, client.na(), client.pd()))
    assert (address_of(offer), prefix_of(offer)) == (client.address, client.prefix)
    assert client.address.startswith("2001:db8:100:") and client.prefix.startswith("2001:db8:8000:") and client.prefix.endswith("/56")
    assert client.row() == (None, link_of(client.address), client.prefix)
    for kind in (DHCP6OptIA_NA, DHCP6OptIA_PD):
        assert leases(reply, kind)[0][1:] == (3600, 3600)
        assert (reply[kind].T1, reply[kind].T2) == (1800, 2880) and status_of(reply, kind) is None
    again = client.solicit()
    assert (address_of(again), prefix_of(again)) == (client.address, client.prefix), "who has it is offered it"


def test_two_messages(cp):
    client = Client6(cp, 1)
    client.say(DHCP6_Solicit, DHCP6OptRapidCommit(), client.na(), client.pd())
    reply = client.take(client.hear())
    assert DHCP6OptRapidCommit in reply
    assert client.row() == (None, link_of(client.address), client.prefix)
    assert leases(client.ask(DHCP6_Renew, *client.own()), DHCP6OptIA_NA)[0][0] == client.address


def test_both_families_are_one_session(cp):
    """In either order; each ends by itself, and the session with the last."""
    first4, first6 = Client(cp, 1), Client6(cp, 1)
    first4.get()
    first6.get()
    assert first6.row() == (first4.address, link_of(first6.address), first6.prefix)
    then6, then4 = Client6(cp, 2), Client(cp, 2)
    then6.get()
    then4.get()
    assert then6.row() == (then4.address, link_of(then6.address), then6.prefix)
    assert len({first6.prefix, then6.prefix, link_of(first6.address), link_of(then6.address)}) == 4
    first4.say("release", ("server_id", first4.server), ciaddr=first4.address)
    cp.until(lambda: first6.row()[0] is None)
    assert first6.row() == (None, link_of(first6.address), first6.prefix)
    assert status_of(first6.ask(DHCP6_Renew, *first6.own()), DHCP6OptIA_NA) is None
    then6.ask(DHCP6_Release, *then6.own())
    cp.until(lambda: then6.row() == (then4.address, None, None))
    assert option(then4.renew(), "message-type") == ACK
    first6.ask(DHCP6_Release, *first6.own())
    cp.until(lambda: first6.row() is None)
    assert len([1 for r, _ in cp.up.requests if r["cmd"] == "remove-subscribers"]) == 1


def test_a_line_of_ipv6_alone(cp):
    client = Client6(cp, 1, line=("cpe0", 200, 5))
    client.get()
    assert client.row() == (None, link_of(client.address), client.prefix)
    other = Client(cp, 2, line=("cpe0", 201, 5))
    other.say("discover")
    other.hears_nothing()


def test_one_of_both(cp):
    """A client that asks for a prefix alone gets no address, but a link for advertisements; the other is added later, and taken back."""
    client = Client6(cp, 1)
    client.get(client.pd())
    assert client.address is None and client.row()[1] is not None and client.row()[2] == client.prefix
    link, prefix = client.row()[1:]
    reply = client.take(client.ask(DHCP6_Request, client.na(), client.pd()))
    assert link_of(client.address) == link and client.prefix == prefix and len(leases(reply, DHCP6OptIA_PD)) == 1
    client.ask(DHCP6_Release, client.pd(client.prefix))
    cp.until(lambda: client.row()[2] is None)
    assert client.row()[1] == link
    reply = client.ask(DHCP6_Renew, client.na(client.address), client.pd(prefix))
    assert status_of(reply, DHCP6OptIA_NA) is None and status_of(reply, DHCP6OptIA_PD) == NO_BINDING
    assert prefix_of(client.take(client.ask(DHCP6_Request, client.na(), client.pd()))) == prefix
    assert client.row() == (None, link, prefix)
    alone = Client6(cp, 2)
    alone.get(alone.na())
    assert alone.prefix is None and alone.row() == (None, link_of(alone.address), None)


def test_options(cp):
    """What is asked for of RFC 3646, and nothing else; INFORMATION-REQUEST needs no session, and no DUID."""
    client = Client6(cp, 1)
    plain = client.solicit()
    assert DHCP6OptDNSServers not in plain and DHCP6OptDNSDomains not in plain
    offer = client.solicit(client.na(), DHCP6OptOptReq(reqopts=[24, 23, 82, 31]))
    assert offer[DHCP6OptDNSServers].dnsservers == ["2001:db8::53", "2001:db8::54"]
    assert [d.strip(".") for d in offer[DHCP6OptDNSDomains].dnsdomains] == ["example.net"]
    stranger = Client6(cp, 2)
    stranger.cp.up.send(stranger.line, stranger.frame(DHCP6_InfoRequest, DHCP6OptOptReq(reqopts=[23, 32]), duid=False), DHCP6)
    line, frame = cp.up.expect()
    assert line == stranger.line and b"\x00\x17\x00\x20" in frame and b"\x00\x20\x00\x04" + (3600).to_bytes(4, "big") in frame
    stranger.say(DHCP6_InfoRequest, DHCP6OptOptReq(reqopts=[23, 32]))
    assert stranger.hear()[DHCP6OptInfoRefreshTime].reftime == 3600
    stranger.say(DHCP6_InfoRequest, stranger.na())
    stranger.hears_nothing()  # RFC 8415 section 16.12


def test_renew_and_rebind(cp):
    client, stranger = Client6(cp, 1), Client6(cp, 2)
    client.get()
    both = (DHCP6OptIA_NA, DHCP6OptIA_PD)
    assert all(leases(client.ask(DHCP6_Renew, *client.own()), kind)[0][1:] == (3600, 3600) for kind in both)
    client.say(DHCP6_Rebind, *client.own())
    assert all(leases(client.hear(), kind)[0][2] == 3600 for kind in both[:1])
    stranger.server = client.server
    reply = stranger.ask(DHCP6_Renew, *client.own())  # another line's
    assert [status_of(reply, kind) for kind in both] == [NO_BINDING, NO_BINDING]
    assert not leases(reply, DHCP6OptIA_NA)
    stranger.say(DHCP6_Rebind, *client.own())
    reply = stranger.hear()
    assert [leases(reply, kind)[0][1:] for kind in both] == [(0, 0), (0, 0)]
    reply = client.ask(DHCP6_Renew, client.na(client.address, "2001:db8:100::bad"), client.na(iaid=99), client.pd("2001:db8:9::/56"))
    assert dict((a, valid) for a, _, valid in leases(reply, (DHCP6OptIA_NA, 7))) == {client.address: 3600, "2001:db8:100::bad": 0}
    assert status_of(reply, (DHCP6OptIA_NA, 99)) == NO_BINDING
    assert dict((a, valid) for a, _, valid in leases(reply, DHCP6OptIA_PD)) == {client.prefix: 3600, "2001:db8:9::/56": 0}
    client.duid = DUID_LL(lladdr="02:00:00:00:99:99")  # another client on the same port of the same line
    assert status_of(client.ask(DHCP6_Renew, *client.own()), DHCP6OptIA_NA) == NO_BINDING
    assert len([1 for r, _ in cp.up.requests if r["cmd"] == "put-subscribers"]) == 1


def test_another_name_takes_the_line_over(cp):
    """A CPE that has got a new DUID or IAID, as after a reset, has what it had."""
    client = Client6(cp, 1)
    client.get()
    before = client.address, client.prefix
    client.duid, client.iaid = DUID_LL(lladdr="02:00:00:00:88:88"), 1000
    client.get()
    assert (client.address, client.prefix) == before
    assert status_of(client.ask(DHCP6_Renew, *client.own()), DHCP6OptIA_NA) is None


def test_release(cp):
    client, other = Client6(cp, 1), Client6(cp, 2)
    client.get()
    other.server = client.server
    reply = other.ask(DHCP6_Release, *client.own())
    assert status_of(reply, DHCP6OptIA_NA) == NO_BINDING
    client.say(DHCP6_Release, *client.own(), server=DUID_LL(lladdr="02:00:00:00:77:77"))
    client.hears_nothing()  # another server's
    assert client.row()
    reply = client.ask(DHCP6_Release, *client.own())
    assert status_of(reply) == SUCCESS and DHCP6OptIA_NA not in reply
    cp.until(lambda: not cp.up.rows)
    before = client.address, client.prefix
    assert status_of(client.ask(DHCP6_Release, *client.own()), DHCP6OptIA_PD) == NO_BINDING
    client.get()
    assert (client.address, client.prefix) == before, "a line gets what it had"


def test_decline(cp):
    client = Client6(cp, 1)
    client.get()
    declined = client.address
    reply = client.ask(DHCP6_Decline, client.na(declined))
    assert status_of(reply) == SUCCESS and client.row()[2] == client.prefix
    client.take(client.ask(DHCP6_Request, client.na(), client.pd()))
    assert client.address != declined and link_of(client.address) == link_of(declined)


def test_confirm(cp):
    client, stranger = Client6(cp, 1), Client6(cp, 2)
    client.get()
    client.say(DHCP6_Confirm, client.na(client.address))
    assert status_of(client.hear()) == SUCCESS
    client.say(DHCP6_Confirm, client.na(client.address, "2001:db8:ffff::1"))
    assert status_of(client.hear()) == NOT_ON_LINK
    stranger.say(DHCP6_Confirm, stranger.na(client.address))
    assert status_of(stranger.hear()) == NOT_ON_LINK
    client.say(DHCP6_Confirm, client.na())
    client.hears_nothing()  # RFC 8415 section 18.3.3


def test_what_there_is_none_of(control_plane):
    cp = control_plane(**with_ipv6(wan_len=63, delegated_len=56))  # two links, one prefix
    first, second, third = (Client6(cp, n) for n in (1, 2, 3))
    first.get()
    offer = second.solicit()
    assert address_of(offer) and status_of(offer, DHCP6OptIA_PD) == NO_PREFIX
    second.get()
    assert second.prefix is None and second.row() == (None, link_of(second.address), None)
    offer = third.solicit()
    assert (status_of(offer, DHCP6OptIA_NA), status_of(offer, DHCP6OptIA_PD)) == (NO_ADDRS, NO_PREFIX)
    third.say(DHCP6_Solicit, DHCP6OptRapidCommit(), third.na(), third.pd())
    assert status_of(third.hear(), DHCP6OptIA_NA) == NO_ADDRS
    assert "pool homes6 has no free" in cp.text()
    first.ask(DHCP6_Release, *first.own())
    cp.until(lambda: first.row() is None)
    third.get()
    assert third.prefix == first.prefix


def test_one_of_each_kind(cp):
    client = Client6(cp, 1)
    offer = client.solicit(client.na(), client.na(iaid=70), client.pd(), client.pd(iaid=80), DHCP6OptIA_TA(iaid=3))
    assert len(leases(offer, (DHCP6OptIA_NA, 7))) == len(leases(offer, (DHCP6OptIA_PD, 8))) == 1
    assert status_of(offer, (DHCP6OptIA_NA, 70)) == NO_ADDRS and status_of(offer, (DHCP6OptIA_PD, 80)) == NO_PREFIX
    assert status_of(offer, DHCP6OptIA_TA) == NO_ADDRS


def test_what_the_client_asks_for(cp):
    """An address and a prefix of its wish, if they are free; in REQUEST one that is not on the link is an error."""
    client, other = Client6(cp, 1), Client6(cp, 2)
    wish = "2001:db8:100:77::abcd", "2001:db8:8000:4200::/56"
    client.get(client.na(wish[0]), client.pd(wish[1]))
    assert (client.address, client.prefix) == wish
    offer = other.solicit(other.na(wish[0]), other.pd(wish[1]))
    assert address_of(offer) != wish[0] and prefix_of(offer) != wish[1]
    other.server = client.server
    reply = other.ask(DHCP6_Request, other.na("2001:db8:ffff::1"), other.pd())
    assert status_of(reply, DHCP6OptIA_NA) == NOT_ON_LINK and prefix_of(reply) == prefix_of(offer)
    assert other.row()[2] == prefix_of(offer)


def test_leases_and_offers_expire(control_plane):
    """IPv6's lease ends alone, and a prefix that nobody took is another's."""
    cp = control_plane(**with_ipv6(lease="1s", wan_len=64, delegated_len=56, OFFER="1s"))
    holder, client4, client = Client6(cp, 1), Client(cp, 2), Client6(cp, 2)
    holder.solicit()
    client4.get()
    assert status_of(client.solicit(), DHCP6OptIA_NA) == NO_ADDRS
    cp.until(lambda: address_of(client.solicit()))
    client.get()
    assert client.row() == (client4.address, link_of(client.address), client.prefix)
    cp.until(lambda: client.row() == (client4.address, None, None))
    assert "lease expired" in cp.text()
    assert option(client4.renew(), "message-type") == ACK


def test_a_line_has_one_client(cp):
    first = Client6(cp, 1)
    first.get()
    second, second4 = Client6(cp, 2, line=first.line), Client(cp, 2, line=first.line)
    second.say(DHCP6_Solicit, second.na())
    second.hears_nothing()
    second4.say("discover")
    second4.hears_nothing()
    second.say(DHCP6_Release, *first.own(), server=first.server)
    second.hears_nothing()
    assert first.row()


def test_what_is_not_for_it(cp):
    """Messages without or with names that they may not have, from elsewhere, damaged, and truncated at each byte: silence."""
    client = Client6(cp, 1)
    server = client.solicit()[DHCP6OptServerId].duid
    for kind, options in ((DHCP6_Solicit, {"server": server}), (DHCP6_Solicit, {"duid": False}), (DHCP6_Request, {}),
                          (DHCP6_Renew, {"server": server, "duid": False}), (DHCP6_Rebind, {"server": server}),
                          (DHCP6_Solicit, {"source": "2001:db8:100::1"}), (DHCP6_Solicit, {"msgtype": 2}), (DHCP6_Solicit, {"msgtype": 12})):
        client.say(kind, client.na(), **options)
    client.say(DHCP6_Solicit)  # asks for nothing
    Client6(cp, 9, line=("cpe0", 99, 1)).say(DHCP6_Solicit, client.na())  # no line of the configuration
    whole = client.frame(DHCP6_Solicit, client.na("2001:db8:100::1"), client.pd("2001:db8:8000::/56"), DHCP6OptOptReq(reqopts=[23]))
    for n in range(len(whole)):
        cp.up.send(client.line, whole[:n], DHCP6)
    for i in range(12, 62):  # no bit of the headers changes without notice, but for traffic class, flow label and hop limit
        if i not in (14, 15, 16, 17, 21):
            cp.up.send(client.line, whole[:i] + bytes([whole[i] ^ 4]) + whole[i + 1:], DHCP6)
    client.hears_nothing()
    cp.up.send(client.line, whole + bytes(8), DHCP6)  # Ethernet's padding
    assert address_of(client.hear(DHCP6_Advertise))


def test_truncated_options_with_a_right_checksum(cp):
    """The same, but each truncated message is a datagram of its own, with its own length and checksum."""
    from scapy.layers.inet import UDP
    from scapy.layers.inet6 import IPv6

    from tests.cp.client import Ether

    client = Client6(cp, 1)
    whole = Ether(client.frame(DHCP6_Solicit, client.na("2001:db8:100::1"), client.pd("2001:db8:8000::/56"), DHCP6OptOptReq(reqopts=[23])))
    data, answered = bytes(whole[UDP].payload), []
    header = Ether(src=client.mac, dst=whole.dst) / IPv6(src=client.link, dst="ff02::1:2") / UDP(sport=546, dport=547)
    for n in range(len(data)):
        cp.up.send(client.line, bytes(header / data[:n]), DHCP6)
    time.sleep(0.3)
    while not cp.up.frames.empty():
        answered.append(cp.up.expect())
    ends = 3  # behind the IA_NA, behind the IA_PD, and behind the list: whole messages, the last of which is not sent
    assert len(answered) == ends - 1
    assert client.get()


def test_the_userplane_refuses(cp):
    """IPv6 that vbng has no room for ends, and nobody is told of it; IPv4 that was there stays. Later there is room."""
    client, dual4, dual = Client6(cp, 1), Client(cp, 2), Client6(cp, 2)
    dual4.get()
    cp.up.refuse = lambda row: "there is no room for its IPv6" if "delegated" in row else None
    for c in (client, dual):
        c.say(DHCP6_Request, c.na(), c.pd(), server=c.solicit()[DHCP6OptServerId].duid)
        c.hears_nothing()
    assert "there is no room for its IPv6" in cp.text()
    assert list(cp.up.rows) == [dual.line] and dual.row() == (dual4.address, None, None)
    assert option(dual4.renew(), "message-type") == ACK
    cp.up.refuse = None
    for c in (client, dual):
        c.get()
        assert c.row()[2] == c.prefix


def test_the_servers_name_lasts(control_plane):
    cp = control_plane(**with_ipv6())
    client = Client6(cp, 1)
    client.get()
    cp.kill()
    cp.start()
    assert bytes(Client6(cp, 2).solicit()[DHCP6OptServerId].duid) == bytes(client.server) != b""
    assert leases(client.ask(DHCP6_Renew, *client.own()), DHCP6OptIA_NA)[0][0] == client.address
    assert DHCP6OptIAAddress in client.ask(DHCP6_Renew, *client.own())
