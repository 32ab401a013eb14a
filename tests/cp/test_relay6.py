# SPDX-License-Identifier: BSD-3-Clause
"""vbng-cp as a relay of DHCPv6: to ISC Kea, while either is killed, and with IPv4 of a pool beside it."""


import pytest

from tests.cp.client import ControlPlane, Client
from tests.cp.client6 import (
    DHCP6_Confirm, DHCP6_Decline, DHCP6_InfoRequest, DHCP6_Rebind, DHCP6_Release, DHCP6_Renew, DHCP6_Request, DHCP6_Solicit, DHCP6OptDNSServers,
    DHCP6OptIA_NA, DHCP6OptIA_PD, DHCP6OptOptReq, DHCP6OptRapidCommit, DHCP6OptServerId, Client6, address_of, leases, prefix_of, status_of)
from tests.cp.kea import Kea, free_port
from tests.cp.test_relay import until

CONFIG = """
control_socket = "CONTROL";
punt_socket = "PUNT";
store = "STORE";
relays = ( { name = "kea6"; servers = SERVERS; port = KEAPORT; source = "::1"; source_port = OWNPORT; node = "bng1"; RELAY } );
pools = ( { name = "homes"; prefix = "10.64.0.0/24"; gateway = "10.64.0.1"; } );
pools6 = ( { name = "homes6"; wan = "2001:db8:100::/48"; delegated = "2001:db8:8000::/48"; relay = "kea6"; } );
access = ( { port = "cpe0"; svlan = "100-199"; cvlan = "1-4094"; pool = "homes"; pool6 = "homes6"; profile = "home-50M"; } );
"""
DEFAULTS = {"RELAY": "", "SERVERS": '"::1"'}
SUBNET = {"id": 1, "subnet": "2001:db8:100::/48", "pools": [{"pool": "2001:db8:100::10-2001:db8:100::ffff"}],
          "pd-pools": [{"prefix": "2001:db8:8000::", "prefix-len": 48, "delegated-len": 56}], "rapid-commit": True}
NO_BINDING = 3


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return str(tmp_path_factory.mktemp("r"))


@pytest.fixture(scope="module")
def kea(place):
    line = {"name": "line", "test": "relay6[0].option[18].hex == 'bng1 eth cpe0:100.7' and substring(relay6[0].option[37].hex, 4, all) == 'cpe0 100.7'",
            "option-data": [{"name": "dns-servers", "data": "2001:db8::7"}]}
    server = Kea(place, 6, **{"preferred-lifetime": 500, "valid-lifetime": 600, "subnet6": [SUBNET], "client-classes": [line],
                           "option-data": [{"name": "dns-servers", "data": "2001:db8::53"}]})
    yield server
    server.close()


@pytest.fixture(scope="module")
def cp(build, place, kea):
    plane = ControlPlane(build, place, CONFIG, KEAPORT=str(kea.port), OWNPORT=str(free_port("::1")), **DEFAULTS)
    yield plane
    plane.close()


def has(kea, address):
    row = kea.leases().get(address.split("/")[0])
    return row is not None and row["valid_lifetime"] != "0" and row["state"] == "0"


def test_an_address_and_a_prefix(cp, kea):
    """What Kea gives is forwarded for before the client is told it, for as long as Kea says."""
    client = Client6(cp, 1)
    reply = client.get()
    assert client.address.startswith("2001:db8:100:") and client.prefix.endswith("/56")
    assert client.row() == (None, client.address, client.prefix)
    assert leases(reply, DHCP6OptIA_NA) == [(client.address, 500, 600)] and leases(reply, DHCP6OptIA_PD) == [(client.prefix, 500, 600)]
    assert has(kea, client.address) and has(kea, client.prefix)
    client.ask(DHCP6_Renew, *client.own())
    assert client.row() == (None, client.address, client.prefix)
    client.ask(DHCP6_Release, *client.own())
    until(lambda: client.row() is None and not has(kea, client.address) and not has(kea, client.prefix))


def test_the_server_knows_the_line(cp):
    """By interface id and remote id."""
    for number, dns in ((5, "2001:db8::53"), (6, "2001:db8::7")):
        client = Client6(cp, number)
        assert client.get(client.na(), DHCP6OptOptReq(reqopts=[23]))[DHCP6OptDNSServers].dnsservers == [dns]


def test_two_messages(cp):
    client = Client6(cp, 2)
    client.say(DHCP6_Solicit, DHCP6OptRapidCommit(), client.na(), client.pd())
    client.take(client.hear())
    assert client.row() == (None, client.address, client.prefix)


def test_one_after_the_other(cp, kea):
    """A prefix alone; then an address; then each is given back."""
    client = Client6(cp, 3)
    client.get(client.pd())
    prefix = client.prefix
    assert client.row() == (None, None, prefix)
    client.take(client.ask(DHCP6_Request, client.na()))
    address = client.address
    assert client.row() == (None, address, prefix)
    client.ask(DHCP6_Release, client.pd(prefix))
    until(lambda: client.row() == (None, address, None) and not has(kea, prefix))
    assert has(kea, address)
    client.ask(DHCP6_Decline, client.na(address))
    until(lambda: client.row() is None and kea.leases()[address]["state"] == "1")


def test_without_a_lease(cp):
    client = Client6(cp, 4)
    client.say(DHCP6_InfoRequest, DHCP6OptOptReq(reqopts=[23]))
    assert client.hear()[DHCP6OptDNSServers].dnsservers == ["2001:db8::53"]
    client.say(DHCP6_Confirm, client.na("2001:db8:999::1"))
    assert status_of(client.hear()) == 4  # NotOnLink
    client.say(DHCP6_Renew, client.na("2001:db8:100::9"), server=b"\0\2\0\0\0\1abc")
    client.hears_nothing(0.1)  # Kea is another one
    assert client.row() is None
    client.say(DHCP6_Rebind, client.na("2001:db8:100::8888"))
    client.take(client.hear())  # Kea lets a client keep an address that is free
    assert client.row() == (None, "2001:db8:100::8888", None)


def test_several_of_a_kind(cp):
    client = Client6(cp, 7)
    client.say(DHCP6_Solicit, client.na(), client.na(iaid=99))
    client.hears_nothing(0.1)


def test_both_families(cp):
    client, four = Client6(cp, 8), Client(cp, 8)
    four.get()
    client.get()
    assert client.row() == (four.address, client.address, client.prefix)
    four.say("release", ("server_id", "10.64.0.1"), ciaddr=four.address)
    until(lambda: client.row() == (None, client.address, client.prefix))


def test_disconnected(cp, kea):
    """The server is told in the client's name."""
    client = Client6(cp, 9)
    client.get()
    assert cp.ask(cmd="disconnect", session="cpe0 100.10")["ok"]
    until(lambda: client.row() is None and not has(kea, client.address) and not has(kea, client.prefix))


def test_either_is_killed(cp, kea):
    client, other = Client6(cp, 20), Client6(cp, 21)
    client.get()
    row = client.row()
    other.server = other.solicit()[DHCP6OptServerId].duid
    cp.kill()
    cp.start()
    assert client.row() == row
    other.take(other.ask(DHCP6_Request, other.na(), other.pd()))  # the offer of before is the server's
    kea.kill()
    client.say(DHCP6_Renew, *client.own(), server=client.server)
    client.hears_nothing(0.1)
    assert client.row() == row
    kea.start()
    reply = client.ask(DHCP6_Renew, *client.own())
    assert (address_of(reply), prefix_of(reply)) == (client.address, client.prefix)
    third = Client6(cp, 22)
    third.get()
    assert len({c.address for c in (client, other, third)}) == len({c.prefix for c in (client, other, third)}) == 3
    cp.kill()
    cp.start()
    assert cp.ask(cmd="disconnect", session="cpe0 100.21")["ok"]
    until(lambda: not has(kea, client.address) and not has(kea, client.prefix))
