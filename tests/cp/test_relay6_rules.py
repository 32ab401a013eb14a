# SPDX-License-Identifier: BSD-3-Clause
"""The relay of DHCPv6 beside a server of ours, made with Scapy: what it is sent, and which of its answers a client is told."""

import socket

import pytest

from tests.common.limits import limit
from tests.cp.client6 import (
    DHCP6_Advertise, DHCP6_InfoRequest, DHCP6_Release, DHCP6_Renew, DHCP6_Reply, DHCP6_Request, DHCP6_Solicit, DHCP6OptClientId,
    DHCP6OptDNSServers, DHCP6OptIA_NA, DHCP6OptIA_PD, DHCP6OptIAAddress, DHCP6OptIAPrefix, DHCP6OptServerId, DHCP6OptStatusCode, Client6)
from tests.cp.kea import free_port
from tests.cp.test_relay import until
from tests.cp.test_relay6 import CONFIG, DEFAULTS, NO_BINDING

from scapy.layers.dhcp6 import (  # noqa: E402
    DHCP6_RelayForward, DHCP6_RelayReply, DHCP6OptIfaceId, DHCP6OptRelayMsg, DHCP6OptRemoteID, DHCP6OptServerUnicast)

ADDRESS, PREFIX = "2001:db8:100::9", "2001:db8:8000:500::/56"


class Server6:
    def __init__(self):
        self.socket = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        self.socket.bind(("::1", 0))
        self.port, self.duid = self.socket.getsockname()[1], b"\0\2\0\0\0\1server"

    def hear(self, kind, seconds=5):
        """The message of a kind of a client in the RELAY-FORW that comes next."""
        self.socket.settimeout(limit(seconds))
        outer = DHCP6_RelayForward(self.socket.recv(4096))
        return outer, outer[DHCP6OptRelayMsg].message[kind]

    def hears_nothing(self, seconds=0.1):
        self.socket.settimeout(seconds)
        with pytest.raises(TimeoutError):
            self.socket.recv(4096)

    def answer(self, outer, q, kind, *options, xid=None, peer=None, circuit=None, duid=None, hops=0, type_=None, by=None):
        """Answer a message, as a right server does, but for what is said. by: its DUID; b"": none is said."""
        message = kind(trid=xid or q.trid) / DHCP6OptClientId(duid=duid or q[DHCP6OptClientId].duid)
        if by != b"":
            message /= DHCP6OptServerId(duid=by or self.duid)
        for o in options:
            message /= o
        reply = DHCP6_RelayReply(hopcount=hops, linkaddr=outer.linkaddr, peeraddr=peer or outer.peeraddr)
        reply /= DHCP6OptIfaceId(ifaceid=outer[DHCP6OptIfaceId].ifaceid if circuit is None else circuit) / DHCP6OptRelayMsg(message=message)
        data = bytes(reply)
        self.socket.sendto((bytes([type_]) if type_ else data[:1]) + data[1:], ("::1", self.reply_port))


def na(*addresses, valid=600, status=None):
    options = [DHCP6OptIAAddress(addr=a, preflft=valid, validlft=valid) for a in addresses]
    return DHCP6OptIA_NA(iaid=7, T1=300, T2=480, ianaopts=options + ([DHCP6OptStatusCode(statuscode=status)] if status else []))


def pd(prefix=PREFIX, valid=600):
    address, length = prefix.split("/")
    return DHCP6OptIA_PD(iaid=8, T1=300, T2=480, iapdopt=[DHCP6OptIAPrefix(prefix=address, plen=int(length), preflft=valid, validlft=valid)])


@pytest.fixture
def server():
    s = Server6()
    yield s
    s.socket.close()


@pytest.fixture
def cp(control_plane, server):
    server.reply_port = free_port("::1")
    return control_plane(text=CONFIG, KEAPORT=str(server.port), OWNPORT=str(server.reply_port), **DEFAULTS)


def lease(client, server, *given):
    """Get what a server gives, by two messages."""
    client.say(DHCP6_Request, client.na(), client.pd(), server=server.duid)
    outer, q = server.hear(DHCP6_Request)
    server.answer(outer, q, DHCP6_Reply, *given)
    client.server, client.address, client.prefix = server.duid, ADDRESS, PREFIX
    return client.hear()


def test_what_a_server_is_sent(cp, server):
    client = Client6(cp, 1)
    client.say(DHCP6_Solicit, client.na(), client.pd())
    outer, q = server.hear(DHCP6_Solicit)
    assert (outer.msgtype, outer.hopcount, outer.linkaddr, outer.peeraddr) == (12, 0, "2001:db8:100::", client.link)
    assert outer[DHCP6OptIfaceId].ifaceid == b"bng1 eth cpe0:100.2"
    assert (outer[DHCP6OptRemoteID].enterprisenum, outer[DHCP6OptRemoteID].remoteid) == (3561, b"cpe0 100.2")
    assert bytes.fromhex("008700020000") in bytes(outer)  # RFC 8357
    sent = client.frame(DHCP6_Solicit, client.na(), client.pd())[62:]
    assert bytes(q)[4:] == sent[4:]
    server.answer(outer, q, DHCP6_Advertise, na(ADDRESS), DHCP6OptServerUnicast(srvaddr="::1"), xid=q.trid)
    client.xid = q.trid
    heard = client.hear(DHCP6_Advertise)
    assert DHCP6OptServerUnicast not in heard and heard[DHCP6OptServerId].duid == DHCP6OptServerId(bytes(DHCP6OptServerId(duid=server.duid))).duid
    assert not cp.up.rows


def test_answers_that_are_not_passed_on(cp, server):
    client, other = Client6(cp, 1), Client6(cp, 2)
    lease(other, server, na("2001:db8:100::a"), pd("2001:db8:8000:600::/56"))
    client.say(DHCP6_Request, client.na(), client.pd(), server=server.duid)
    outer, q = server.hear(DHCP6_Request)
    for wrong in ({"xid": 5}, {"peer": "fe80::9"}, {"hops": 1}, {"type_": 12}, {"duid": other.duid}, {"circuit": b"bng1 eth cpe0:100.3"},
                  {"circuit": b""}, {"circuit": b"bng1 eth cpe0:100.99"}):
        server.answer(outer, q, DHCP6_Reply, na(ADDRESS), **wrong)
    server.answer(outer, q, DHCP6_Advertise, na(ADDRESS))
    server.socket.sendto(b"\x0d\0nonsense", ("::1", server.reply_port))
    for given in ([na("2001:db8:200::1")], [pd("2001:db8:8000::/57")], [pd("2001:db8:9000::/56")], [pd("2001:db8:8000:600::/56")],
                  [na(ADDRESS, "2001:db8:100::b")]):
        server.answer(outer, q, DHCP6_Reply, *given)
    client.hears_nothing(0.1)
    assert client.row() is None
    server.answer(outer, q, DHCP6_Reply, na(ADDRESS), pd())
    client.hear()
    assert client.row() == (None, ADDRESS, PREFIX)
    assert "refused: 2001:db8:8000:600::/56 of the server is another's" in cp.text() and "more than one address" in cp.text()


def test_a_lease_that_the_server_refuses(cp, server):
    client = Client6(cp, 1)
    lease(client, server, na(ADDRESS), pd())
    client.say(DHCP6_Renew, *client.own(), server=server.duid)
    outer, q = server.hear(DHCP6_Renew)
    server.answer(outer, q, DHCP6_Reply, na(status=NO_BINDING), pd())
    client.hear()
    until(lambda: client.row() == (None, None, PREFIX))
    client.say(DHCP6_Renew, client.pd(PREFIX), server=server.duid)
    outer, q = server.hear(DHCP6_Renew)
    server.answer(outer, q, DHCP6_Reply, pd(valid=0))
    client.hear()
    until(lambda: client.row() is None)


def test_a_lease_that_changes(cp, server):
    """The session of before ends, and is given back; the client asks again."""
    client = Client6(cp, 1)
    lease(client, server, na(ADDRESS), pd())
    client.say(DHCP6_Request, client.na(), client.pd(), server=server.duid)
    outer, q = server.hear(DHCP6_Request)
    server.answer(outer, q, DHCP6_Reply, na("2001:db8:100::b"), pd())
    until(lambda: client.row() is None)
    _, released = server.hear(DHCP6_Release)
    assert (released[DHCP6OptIAAddress].addr, released[DHCP6OptIAPrefix].prefix) == (ADDRESS, PREFIX.split("/", maxsplit=1)[0])
    server.hears_nothing()  # one message names both
    lease(client, server, na("2001:db8:100::b"), pd())
    assert client.row() == (None, "2001:db8:100::b", PREFIX)


@pytest.mark.parametrize("kind, told", [(DHCP6_Solicit, DHCP6_Advertise), (DHCP6_Request, DHCP6_Reply)])
def test_information_is_asked_for_meanwhile(cp, server, kind, told):
    """By the client or another host of the line, while a server is asked for a lease: each is told what was said to it, in either order."""
    client, dns = Client6(cp, 1), DHCP6OptDNSServers(dnsservers=["2001:db8::53"])
    for host, is_first in ((client, True), (client, False), (Client6(cp, 2, line=client.line), True)):
        client.say(kind, client.na(), client.pd(), server=server.duid if kind is DHCP6_Request else None)
        asked, outer, q = client.xid, *server.hear(kind)
        host.say(DHCP6_InfoRequest)
        informed, outer_info, info = host.xid, *server.hear(DHCP6_InfoRequest)

        def inform(host=host, outer=outer_info, info=info, informed=informed):
            server.answer(outer, info, DHCP6_Reply, dns)
            server.answer(outer, info, DHCP6_Reply, dns)  # nobody waits for it any more
            host.xid = informed
            assert host.hear()[DHCP6OptDNSServers].dnsservers == ["2001:db8::53"]

        if is_first:
            inform()
        server.answer(outer, q, told, na(ADDRESS), pd())
        client.xid = asked
        assert client.hear(told)[DHCP6OptIA_NA].iaid == 7
        if not is_first:
            inform()
    client.hears_nothing(0.1)
    assert client.row() == ((None, ADDRESS, PREFIX) if kind is DHCP6_Request else None)


def test_information_is_asked_for_while_the_user_plane_is_slow(cp, server):
    """What a server gave is told when that forwards for it, all the same."""
    client = Client6(cp, 1)
    client.say(DHCP6_Request, client.na(), client.pd(), server=server.duid)
    asked, outer, q = client.xid, *server.hear(DHCP6_Request)
    cp.up.hold.clear()
    try:
        server.answer(outer, q, DHCP6_Reply, na(ADDRESS), pd())
        cp.until(lambda: cp.ask(cmd="show-sessions", text="cpe0 100.2")["sessions"][0]["state"] == "starting")
        client.say(DHCP6_InfoRequest)
        outer, info = server.hear(DHCP6_InfoRequest)
    finally:
        cp.up.hold.set()
    client.xid, informed = asked, client.xid
    client.hear()
    assert client.row() == (None, ADDRESS, PREFIX)
    server.answer(outer, info, DHCP6_Reply)
    client.xid = informed
    client.hear()


def test_a_lease_ends(cp, server):
    client = Client6(cp, 1)
    lease(client, server, na(ADDRESS, valid=1), pd(valid=1))
    until(lambda: client.row() is None)
    server.hears_nothing()


def test_the_user_plane_refuses(cp, server):
    client = Client6(cp, 1)
    cp.up.refuse = lambda row: "no room"
    client.say(DHCP6_Request, client.na(), client.pd(), server=server.duid)
    outer, q = server.hear(DHCP6_Request)
    server.answer(outer, q, DHCP6_Reply, na(ADDRESS), pd())
    outer, released = server.hear(DHCP6_Release)
    assert outer.peeraddr == client.link and released[DHCP6OptServerId].duid == DHCP6OptServerId(bytes(DHCP6OptServerId(duid=server.duid))).duid
    client.hears_nothing(0.05)
