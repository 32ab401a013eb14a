# SPDX-License-Identifier: BSD-3-Clause
"""vbng-cp as a relay of DHCPv4: to ISC Kea, while either is killed."""

import time

import pytest

from tests.common.limits import limit
from tests.cp.client import ACK, BOOTP, GATEWAY, NAK, OFFER, Client, ControlPlane, option
from tests.cp.kea import Kea

CONFIG = """
control_socket = "CONTROL";
punt_socket = "PUNT";
store = "STORE";
offer_time = "OFFER";
relays = ( { name = "kea"; servers = "127.0.0.1"; port = KEAPORT; giaddr = "127.0.0.2"; source_port = OWNPORT; node = "bng1"; RELAY } );
pools = ( { name = "homes"; prefix = "10.64.0.0/24"; gateway = "10.64.0.1"; relay = "kea"; } );
access = ( { port = "cpe0"; svlan = "100-199"; cvlan = "1-4094"; pool = "homes"; profile = "home-50M"; } );
EXTRA
"""
DEFAULTS = {"RELAY": "", "EXTRA": ""}
LEASE = 600
SUBNET = {"id": 1, "subnet": "10.64.0.0/24", "pools": [{"pool": "10.64.0.10 - 10.64.0.40"}],
          "option-data": [{"name": "routers", "data": GATEWAY}, {"name": "domain-name-servers", "data": "192.0.2.53"}],
          "reservations": [{"circuit-id": "'bng1 eth cpe0:100.7'", "ip-address": "10.64.0.77"}]}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return str(tmp_path_factory.mktemp("r"))


@pytest.fixture(scope="module")
def kea(place, relay_port):
    server = Kea(place, **{"valid-lifetime": LEASE, "authoritative": True, "subnet4": [SUBNET], "host-reservation-identifiers": ["circuit-id"]})
    yield server
    server.close()


@pytest.fixture(scope="module")
def cp(build, place, kea, relay_port):
    plane = ControlPlane(build, place, CONFIG, KEAPORT=str(kea.port), OWNPORT=relay_port, **DEFAULTS)
    yield plane
    plane.close()


def until(condition, seconds=5):
    end = time.monotonic() + limit(seconds)
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def kind(reply):
    return option(reply, "message-type")


def test_an_address(cp, kea):
    """What Kea gives is told as the gateway's, and forwarded for before that."""
    client = Client(cp, 1)
    offer = client.discover(xid=7)
    assert (kind(offer), option(offer, "server_id"), offer[BOOTP].xid) == (OFFER, GATEWAY, 7)
    assert client.line not in cp.up.rows
    ack = client.request(offer, xid=8)
    assert cp.up.rows[client.line]["ipv4"] == client.address == ack[BOOTP].yiaddr
    assert (kind(ack), option(ack, "server_id"), option(ack, "lease_time")) == (ACK, GATEWAY, LEASE)
    assert (option(ack, "router"), option(ack, "name_server")) == (GATEWAY, "192.0.2.53")
    assert option(ack, "relay_agent_information") is None
    assert kea.leases()[client.address]["hwaddr"] == client.mac
    assert (cp.up.rows[client.line]["mac"], cp.up.rows[client.line]["profile"]) == (client.mac, "home-50M")


def test_the_server_knows_the_line(cp):
    """A reservation for the circuit id of TR-101."""
    assert Client(cp, 6).get() == "10.64.0.77"


def test_renewal_and_release(cp, kea):
    client = Client(cp, 2)
    client.get()
    assert kind(client.renew()) == ACK  # by unicast to the gateway
    client.say("release", ("server_id", GATEWAY), ciaddr=client.address, to=GATEWAY)
    until(lambda: client.line not in cp.up.rows)
    until(lambda: not kea.has(client.address))


def test_refused(cp):
    """Kea refuses an address that is of no subnet of its own; a lease that it has given goes on."""
    client = Client(cp, 3)
    client.say("request", ("requested_addr", "10.99.0.9"))
    assert kind(client.hear()) == NAK
    client.get()
    assert kind(client.renew()) == ACK


def test_declined(cp, kea):
    client = Client(cp, 4)
    first = client.get()
    client.say("decline", ("requested_addr", first), ("server_id", GATEWAY))
    until(lambda: client.line not in cp.up.rows)
    until(lambda: kea.leases()[first]["state"] == "1")  # declined
    assert client.get() != first


def test_option_82_of_the_access_side(cp):
    """What a client says of its line is not passed on; a node before the gateway gets its own back."""
    client = Client(cp, 7)
    offer = client.discover((82, b"\1\x13bng1 eth cpe0:100.7"))
    assert offer[BOOTP].yiaddr != "10.64.0.77"
    assert option(offer, "relay_agent_information") == b"\1\x13bng1 eth cpe0:100.7"


def test_another_client_of_the_line(cp):
    client = Client(cp, 8)
    other = Client(cp, 9, line=client.line)
    client.get()
    other.say("discover")
    other.hears_nothing()


def test_kea_is_killed(cp, kea):
    clients = [Client(cp, i) for i in range(10, 13)]
    for client in clients:
        client.get()
    kea.kill()
    late = Client(cp, 14)
    late.say("discover")
    late.hears_nothing(0.1)
    assert all(cp.up.rows[c.line]["ipv4"] == c.address for c in clients)
    kea.start()
    for client in clients:
        assert kind(client.renew()) == ACK
    assert late.get() not in {c.address for c in clients}


def test_it_is_killed(cp, kea):
    """Sessions are of the store; a request of before goes on with the server."""
    client, other, third = Client(cp, 20), Client(cp, 21), Client(cp, 22)
    client.get()
    offer = other.discover()
    cp.kill()
    cp.start()
    assert cp.up.rows[client.line]["ipv4"] == client.address
    assert kind(client.renew()) == ACK
    other.say("request", ("requested_addr", offer[BOOTP].yiaddr), ("server_id", GATEWAY))
    answer = other.hear()  # Kea has no lease for it, and says so
    assert kind(answer) == NAK
    assert len({client.address, other.get(), third.get()}) == 3
    client.say("release", ("server_id", GATEWAY), ciaddr=client.address, to=GATEWAY)
    until(lambda: not kea.has(client.address))
