# SPDX-License-Identifier: BSD-3-Clause
"""The DHCP server against Scapy: RFC 2131 state by state."""

import time

from tests.cp.client import ACK, BOOTP, DHCP, GATEWAY, IP, NAK, OFFER, UDP, Client, Ether, option

EVERYBODY = "ff:ff:ff:ff:ff:ff"


def kind(reply):
    return option(reply, "message-type")


def row(cp, client):
    return cp.up.rows.get(client.line)


def test_an_address_is_offered_and_given(cp):
    client = Client(cp, 1)
    offer = client.discover(xid=0x11223344)
    assert kind(offer) == OFFER and offer[BOOTP].xid == 0x11223344
    assert not cp.up.rows, "an offer is no session"
    ack = client.request(offer)
    assert kind(ack) == ACK and ack[BOOTP].yiaddr == offer[BOOTP].yiaddr
    assert row(cp, client) == {"port": "cpe0", "svlan": 100, "cvlan": 2, "ipv4": client.address, "mac": client.mac,
                               "profile": "home-50M", "name": "ipoe cpe0 100.2"}
    assert {name: option(ack, name) for name in ("server_id", "subnet_mask", "router", "lease_time", "renewal_time", "rebinding_time",
                                                 "broadcast_address", "domain", "name_server")} == {
        "server_id": GATEWAY, "subnet_mask": "255.255.255.0", "router": GATEWAY, "lease_time": 3600, "renewal_time": 1800,
        "rebinding_time": 3150, "broadcast_address": "10.64.0.255", "domain": b"example.net",
        "name_server": ("192.0.2.53", "192.0.2.54")}


def test_where_replies_go(cp):
    """RFC 2131 section 4.1: to the MAC and the new address, or to everybody where the client wants that."""
    unicast = Client(cp, 1).discover()
    assert (unicast.dst, unicast[IP].dst, unicast[IP].src) == ("02:00:00:00:00:01", unicast[BOOTP].yiaddr, GATEWAY)
    assert (unicast[UDP].sport, unicast[UDP].dport) == (67, 68)
    broadcast = Client(cp, 2).discover(flags=0x8000)
    assert (broadcast.dst, broadcast[IP].dst) == (EVERYBODY, "255.255.255.255")
    assert len(bytes(unicast[BOOTP])) >= 300


def test_what_the_client_asks_for(cp):
    """Option 55, in its order, and the mask before the router; options 61 and 82 are repeated, 82 as the last."""
    agent = b"\x01\x04line\x02\x02me"
    offer = Client(cp, 1).discover(("param_req_list", [6, 3, 1]), ("client_id", b"\x01abcdef"), (82, agent))
    names = [o[0] for o in offer[DHCP].options if isinstance(o, tuple)]
    assert names == ["message-type", "server_id", "lease_time", "name_server", "subnet_mask", "router", "renewal_time",
                     "rebinding_time", "client_id", "relay_agent_information"]
    assert option(offer, "client_id") == b"\x01abcdef"
    assert bytes(option(offer, "relay_agent_information")) == agent


def test_options_beyond_what_fits(cp):
    """A client that takes 576 bytes gets what does not fit into the options in file (option 52), or not at all."""
    name, agent = b"\x01" + b"c" * 150, b"\x01\x6e" + b"l" * 110
    offer = Client(cp, 1).discover(("client_id", name), (82, agent))
    assert option(offer, "dhcp-option-overload") == 1 and len(bytes(offer[IP])) <= 576
    assert bytes(offer[BOOTP])[108:236] == bytes([82, len(agent)]) + agent + b"\xff" + bytes(125 - len(agent))
    roomy = Client(cp, 2).discover(("client_id", name), (82, agent), ("max_dhcp_size", 1500))
    assert bytes(option(roomy, "relay_agent_information")) == agent and bytes(roomy[BOOTP])[44:236] == bytes(192)
    long = Client(cp, 3).discover(("client_id", name), (82, agent + b"\x02\x50" + bytes(80)))
    assert option(long, "dhcp-option-overload") is None and option(long, "relay_agent_information") is None
    assert bytes(option(long, "client_id")) == name


def test_options_in_file_and_sname_are_read(cp):
    file = bytes([50, 4, 10, 64, 0, 77, 255]) + bytes(121)
    client = Client(cp, 1)
    assert client.discover((52, b"\x01"), file=file)[BOOTP].yiaddr == "10.64.0.77"


def test_the_address_that_is_asked_for(cp):
    assert Client(cp, 1).discover(("requested_addr", "10.64.0.200"))[BOOTP].yiaddr == "10.64.0.200"
    assert Client(cp, 2).discover(("requested_addr", "10.64.0.200"))[BOOTP].yiaddr != "10.64.0.200", "it is another's"
    for address in (GATEWAY, "10.64.0.0", "10.64.0.255", "10.65.0.1", "0.0.0.0"):
        got = Client(cp, 3).discover(("requested_addr", address))[BOOTP].yiaddr
        assert got.startswith("10.64.0.") and got not in (GATEWAY, "10.64.0.0", "10.64.0.255")


def test_renewing_and_rebinding(control_plane):
    cp = control_plane(LEASE="3s")
    client = Client(cp, 1)
    client.get()
    for _ in range(3):
        time.sleep(1.3)
        ack = client.renew()
        assert kind(ack) == ACK and ack[BOOTP].yiaddr == ack[BOOTP].ciaddr == client.address == ack[IP].dst
    client.say("request", ciaddr=client.address)  # to everybody
    assert kind(client.hear()) == ACK
    assert row(cp, client)
    assert len([r for r, _ in cp.up.requests if r["cmd"] == "put-subscribers"]) == 1


def test_init_reboot(cp):
    client, stranger = Client(cp, 1), Client(cp, 2)
    client.get()
    client.say("request", ("requested_addr", client.address))
    assert kind(client.hear()) == ACK
    client.say("request", ("requested_addr", "10.64.0.99"))
    nak = client.hear()
    assert kind(nak) == NAK and nak.dst == EVERYBODY and nak[BOOTP].yiaddr == "0.0.0.0" and option(nak, "server_id") == GATEWAY
    stranger.say("request", ("requested_addr", "10.64.0.99"))
    stranger.hears_nothing()  # RFC 2131 section 4.3.2: no record of the client
    stranger.say("request", ("requested_addr", "192.0.2.9"))
    assert kind(stranger.hear()) == NAK, "wrong network"


def test_requests_for_what_was_not_offered(cp):
    a, b = Client(cp, 1), Client(cp, 2)
    a.get()
    offer = b.discover()
    b.say("request", ("requested_addr", a.address), ("server_id", GATEWAY))
    assert kind(b.hear()) == NAK
    b.say("request", ("requested_addr", offer[BOOTP].yiaddr), ("server_id", "192.0.2.1"))
    b.hears_nothing()  # another server's
    b.say("request", ciaddr=a.address, to=GATEWAY)
    assert kind(b.hear()) == NAK
    assert list(cp.up.rows) == [a.line]


def test_release(cp):
    client, other = Client(cp, 1), Client(cp, 2)
    address = client.get()
    other.say("release", ("server_id", GATEWAY), ciaddr=address)  # from another line
    client.say("release", ("server_id", "192.0.2.1"), ciaddr=address)  # for another server
    assert kind(client.renew()) == ACK
    client.say("release", ("server_id", GATEWAY), ciaddr=address)
    cp.until(lambda: not cp.up.rows)
    assert kind(client.renew()) == NAK
    assert client.get() == address, "a line gets the address that it had"


def test_decline(control_plane):
    cp = control_plane(DECLINED="1500ms", LAST="10.64.0.3")
    client = Client(cp, 1)
    declined = client.get()
    client.say("decline", ("requested_addr", declined), ("server_id", GATEWAY))
    cp.until(lambda: not cp.up.rows)
    assert client.get() != declined
    other = Client(cp, 2)
    other.say("discover")
    other.hears_nothing()  # only the declined one is left
    time.sleep(1.5)
    assert other.get() == declined


def test_inform(cp):
    client = Client(cp, 1)
    client.say("inform", ciaddr="10.64.0.9")
    client.hears_nothing()  # no session
    client.get()
    client.say("inform", ciaddr=client.address)
    ack = client.hear()
    assert kind(ack) == ACK and ack[BOOTP].yiaddr == "0.0.0.0" and option(ack, "lease_time") is None
    assert option(ack, "router") == GATEWAY and ack[IP].dst == client.address


def test_leases_and_offers_expire(control_plane):
    cp = control_plane(LEASE="1s", OFFER="1s", LAST="10.64.0.2")
    a, b, c = (Client(cp, n) for n in (1, 2, 3))
    a.discover()
    b.say("discover")
    b.hears_nothing()  # the only address is offered to a
    cp.until(lambda: "has no free address" in cp.text())
    time.sleep(1)
    b.get()
    cp.until(lambda: not cp.up.rows)
    assert "lease expired" in cp.text()
    assert c.get() == b.address


def test_a_line_has_one_session(cp):
    first = Client(cp, 1)
    second = Client(cp, 2, line=first.line)
    assert second.discover()[BOOTP].yiaddr == first.discover()[BOOTP].yiaddr, "a line is offered one address"
    first.get()
    second.say("discover")
    second.hears_nothing()
    second.say("release", ("server_id", GATEWAY), ciaddr=first.address)
    assert kind(first.renew()) == ACK
    assert len(cp.up.rows) == 1


def test_what_is_not_for_it(cp):
    Client(cp, 1, line=("cpe0", 99, 1)).say("discover")  # no line of the configuration
    Client(cp, 1, line=("cpe1", 100, 1)).say("discover")
    client = Client(cp, 2)
    client.say("discover", giaddr="10.64.0.9")  # from a relay
    client.say("offer")
    client.say("discover", op=2)
    client.say("discover", htype=6)
    frame = client.frame("discover")
    for damage in (frame[:-100], frame[:30], b"", frame[:14] + b"\x60" + frame[15:], frame[:50] + b"\xff" + frame[51:]):
        cp.up.send(client.line, damage)
    client.hears_nothing()
    assert client.get()


def test_the_userplane_refuses(cp):
    """One of a list is refused: the others get their sessions, and nobody is told an address that does not work."""
    clients = [Client(cp, n) for n in range(1, 21)]
    bad = clients[7]
    offers = [c.discover() for c in clients]
    cp.up.refuse = lambda row: "his VLAN is closed" if row["mac"] == bad.mac else None
    cp.up.hold.clear()
    for client, offer in zip(clients, offers):
        client.say("request", ("requested_addr", offer[BOOTP].yiaddr), ("server_id", GATEWAY))
    bad.hears_nothing()
    cp.up.hold.set()
    acks = {Ether(cp.up.expect()[1])[BOOTP].chaddr[:6].hex(":") for _ in range(19)}
    assert acks == {c.mac for c in clients} - {bad.mac}
    bad.hears_nothing()
    assert "his VLAN is closed" in cp.text()
    cp.up.refuse = None
    assert bad.get()
