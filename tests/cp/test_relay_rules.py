# SPDX-License-Identifier: BSD-3-Clause
"""The relay of DHCPv4 beside servers of ours, made with Scapy: what they are sent, and which of their answers a client is told."""

import socket
import time

import pytest

from tests.common.limits import limit
from tests.cp.client import ACK, BOOTP, DHCP, GATEWAY, NAK, OFFER, Client, option
from tests.cp.kea import free_port
from tests.cp.test_relay import CONFIG, DEFAULTS, kind, until

GIADDR = "127.0.0.2"
RELEASE = 7


class Server:
    """A server of DHCP that says what a test wants."""

    def __init__(self, address, port):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((address, port))
        self.address = address

    def hear(self, seconds=5):
        self.socket.settimeout(limit(seconds))
        return BOOTP(self.socket.recv(4096))

    def hears_nothing(self, seconds=0.1):
        self.socket.settimeout(seconds)
        with pytest.raises(TimeoutError):
            self.socket.recv(4096)

    def answer(self, q, kind, address, *options, socket=None, port=None, relay=None, **fields):
        """Answer a message, as a right server does, but for what is said."""
        given = next((o for o in q[DHCP].options if o[0] == "relay_agent_information"), None)
        relay = given if relay is None else ("relay_agent_information", relay)
        values = {"op": 2, "xid": q.xid, "yiaddr": address, "giaddr": q.giaddr, "chaddr": q.chaddr, "flags": q.flags} | fields
        options = [("message-type", kind), ("server_id", self.address), ("lease_time", 600), *options]
        message = BOOTP(**values) / DHCP(options=[*({o[0]: o for o in options}.values()), relay, "end"])
        (socket or self.socket).sendto(bytes(message), (GIADDR, port or self.reply_port))


@pytest.fixture
def servers(build):
    port = free_port()
    both = [Server(address, port) for address in ("127.0.0.5", "127.0.0.6")]
    yield both
    for server in both:
        server.socket.close()


@pytest.fixture
def relay(control_plane, servers):
    """A function: start vbng-cp with these servers and more keys of the relay."""
    own = free_port()

    def start(keys="", **values):
        text = CONFIG.replace('"127.0.0.1"', '["127.0.0.5", "127.0.0.6"]')
        values = {"KEAPORT": str(servers[0].socket.getsockname()[1]), "OWNPORT": str(own), **DEFAULTS, "RELAY": keys, **values}
        for server in servers:
            server.reply_port = own
        return control_plane(text=text, **values)

    return start


def lease(client, server, address, *options, others=(), **fields):
    """Get an address of a server, of which the others get all, too. Returns its last request."""
    client.say("discover", *options, **fields)
    for other in others:
        other.hear()
    server.answer(server.hear(), "offer", address)
    offer = client.hear()
    client.say("request", ("requested_addr", address), ("server_id", option(offer, "server_id")), *options, **fields)
    for other in others:
        other.hear()
    q = server.hear()
    server.answer(q, "ack", address, *(o for o in options if o[0] == "lease_time"))
    assert kind(client.hear()) == ACK
    client.address, client.server = address, GATEWAY
    return q


def suboptions(q):
    data, found = option(q, "relay_agent_information"), {}
    while data:
        found[data[0]], data = data[2:2 + data[1]], data[2 + data[1]:]
    return found


def test_what_servers_are_sent(relay, servers):
    cp = relay()
    client = Client(cp, 1)
    client.say("discover", ("vendor_class_id", b"box"), ("param_req_list", [1, 3]), (82, b"\1\4mine"), xid=77, flags=0x8000)
    heard = [s.hear() for s in servers]
    for q in heard:
        assert (q.op, q.xid, q.hops, q.giaddr, int(q.flags)) == (1, 77, 1, GIADDR, 0x8000)
        assert [o[0] for o in q[DHCP].options if isinstance(o, tuple)] == [
            "message-type", "vendor_class_id", "param_req_list", "relay_agent_information"]
        assert suboptions(q) == {1: b"bng1 eth cpe0:100.2", 2: b"cpe0 100.2", 5: bytes([10, 64, 0, 1]), 10: b"\0", 19: b""}
    for server, address in zip(servers, ("10.64.0.9", "10.64.0.10")):
        server.answer(heard[0], "offer", address)
    offer = client.hear()
    assert (offer[BOOTP].yiaddr, option(offer, "server_id"), option(offer, "relay_agent_information")) == ("10.64.0.9", GATEWAY, b"\1\4mine")
    client.hears_nothing(0.1)  # the second offer would look as if it were of the same server
    client.say("request", ("requested_addr", "10.64.0.9"), ("server_id", GATEWAY))
    assert [option(s.hear(), "server_id") for s in servers] == ["127.0.0.5"] * 2


def test_renewal(relay, servers):
    """To the server that has given the lease, until the client asks everybody."""
    cp = relay()
    client = Client(cp, 1)
    lease(client, servers[1], "10.64.0.9", others=servers[:1])
    client.say("request", ciaddr="10.64.0.9", to=GATEWAY)
    q = servers[1].hear()
    assert (q.ciaddr, option(q, "server_id"), suboptions(q)[10]) == ("10.64.0.9", None, b"\x80")
    servers[0].hears_nothing()
    servers[0].answer(q, "nak", "0.0.0.0")  # it knows nothing of it
    servers[1].answer(q, "ack", "10.64.0.9", ciaddr="10.64.0.9")
    ack = client.hear()
    assert (kind(ack), option(ack, "server_id")) == (ACK, GATEWAY)
    client.say("request", ciaddr="10.64.0.9")
    q = servers[0].hear()
    servers[1].hear()
    servers[0].answer(q, "ack", "10.64.0.9")  # it has been told by the other one
    assert kind(client.hear()) == ACK
    client.say("request", ciaddr="10.64.0.9", to=GATEWAY)
    servers[0].answer(servers[0].hear(), "nak", "0.0.0.0")
    assert kind(client.hear()) == NAK
    until(lambda: client.line not in cp.up.rows)
    servers[0].hears_nothing()  # nothing is released that the server has taken


@pytest.mark.parametrize("send_to", ["all", "first"])
def test_renewal_where_the_server_is_dead(relay, servers, send_to):
    """Another one that lives is asked; where it knows nothing of the lease, that stays."""
    cp = relay(f'send_to = "{send_to}"; timeout = "10ms"; dead_time = "1h";')
    client = Client(cp, 1)
    lease(client, servers[0], "10.64.0.9", others=servers[1:] if send_to == "all" else ())
    for xid in range(2, 5):
        client.say("request", ciaddr="10.64.0.9", to=GATEWAY, xid=xid)
        servers[0].hear()
        time.sleep(0.01)  # the time of an answer
    servers[1].hears_nothing()
    client.say("request", ciaddr="10.64.0.9", to=GATEWAY, xid=5)
    servers[1].answer(servers[1].hear(), "nak", "0.0.0.0")
    client.hears_nothing(0.1)
    client.say("request", ciaddr="10.64.0.9", to=GATEWAY, xid=6)
    servers[1].answer(servers[1].hear(), "ack", "10.64.0.9", ciaddr="10.64.0.9")
    assert kind(client.hear()) == ACK and cp.up.rows[client.line]["ipv4"] == "10.64.0.9"


def test_answers_that_are_not_passed_on(relay, servers):
    cp = relay()
    client, other, server = Client(cp, 1), Client(cp, 2), servers[0]
    lease(other, server, "10.64.0.20", others=servers[1:])
    client.say("discover", xid=5)
    q = server.hear()
    servers[1].hear()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        stranger.bind(("127.0.0.7", 0))
        server.answer(q, "offer", "10.64.0.9", socket=stranger)
    server.answer(q, "offer", "10.64.0.9", xid=6)
    server.answer(q, "offer", "10.64.0.9", op=1)
    server.answer(q, "offer", "10.64.0.9", giaddr="127.0.0.3")
    server.answer(q, "offer", "10.64.0.9", chaddr=b"\2\0\0\0\0\2" + bytes(10))
    for circuit in (b"bng1 eth cpe0:100.3", b"bng1 eth cpe0:100.9", b"bng2 eth cpe0:100.2", b"bng1 eth cpe9:100.2", b"bng1 eth cpe0", b""):
        server.answer(q, "offer", "10.64.0.9", relay=bytes([1, len(circuit)]) + circuit)
    server.answer(q, "offer", "10.64.0.9", relay=b"\1\xff")
    server.answer(q, "ack", "10.64.0.9")
    server.answer(q, "offer", "0.0.0.0")
    server.socket.sendto(b"nonsense", (GIADDR, server.reply_port))
    server.answer(q, "offer", "10.64.1.9")  # not of the pool
    server.answer(q, "offer", GATEWAY)
    server.answer(q, "offer", "10.64.0.20")  # of a session
    client.hears_nothing()
    server.answer(q, "offer", "10.64.0.9")
    assert kind(client.hear()) == OFFER
    assert "refused: 10.64.0.20 of server 127.0.0.5 is another's, or not of the pool" in cp.text()


def test_lease_ends(relay, servers):
    """Of both: nothing has to be given back."""
    cp = relay()
    client = Client(cp, 1)
    lease(client, servers[0], "10.64.0.9", ("lease_time", 1), others=servers[1:])
    until(lambda: client.line not in cp.up.rows)
    servers[0].hears_nothing()
    assert "lease expired" in cp.text()


def test_disconnected(relay, servers):
    """The server is told in the client's name, after a restart, too."""
    cp = relay()
    client = Client(cp, 1)
    lease(client, servers[0], "10.64.0.9", ("client_id", b"\1abc"), others=servers[1:])
    cp.kill()
    cp.start()
    assert cp.ask(cmd="disconnect", session="cpe0 100.2")["ok"]
    q = servers[0].hear()
    assert (kind(q), q.ciaddr, option(q, "server_id"), option(q, "client_id")) == (RELEASE, "10.64.0.9", "127.0.0.5", b"\1abc")
    assert (q.chaddr[:6].hex(":"), q.giaddr, suboptions(q)[1]) == (client.mac, GIADDR, b"bng1 eth cpe0:100.2")
    assert client.line not in cp.up.rows
    servers[1].hears_nothing()


def test_failover(relay, servers):
    """To the first one that lives; a dead one is heard of when it speaks again."""
    cp = relay('send_to = "first"; timeout = "10ms"; dead_time = "1h";')
    clients = [Client(cp, i) for i in range(1, 7)]
    for client in clients[:3]:
        client.say("discover")
        servers[0].hear()
        time.sleep(0.02)
    servers[1].hears_nothing()
    clients[3].say("discover")
    q = servers[1].hear()
    servers[0].hears_nothing()
    assert "server 127.0.0.5 does not answer" in cp.text()
    servers[1].answer(q, "offer", "10.64.0.9")
    offer = clients[3].hear()
    servers[0].answer(q, "offer", "10.64.0.10")
    time.sleep(0.05)
    clients[4].say("discover")
    servers[0].hear()
    clients[3].say("request", ("requested_addr", "10.64.0.9"), ("server_id", option(offer, "server_id")))
    assert option(servers[1].hear(), "server_id") == "127.0.0.6"  # whose offer it is
    servers[0].hears_nothing()


def test_option_82_is_refused(relay, servers):
    cp = relay('option82 = "refuse"; send_to = "first";')
    client = Client(cp, 1)
    client.say("discover", (82, b"\1\4mine"))
    servers[0].hears_nothing()
    client.say("discover")
    assert servers[0].hear().xid == 1


def test_information(relay, servers):
    cp = relay('send_to = "first";')
    client = Client(cp, 1)
    lease(client, servers[0], "10.64.0.9")
    client.say("inform", ciaddr="10.64.0.9", to=GATEWAY)
    servers[0].answer(servers[0].hear(), "ack", "0.0.0.0", ciaddr="10.64.0.9")
    assert kind(client.hear()) == ACK
    assert cp.up.rows[client.line]["ipv4"] == "10.64.0.9"


def test_another_address(relay, servers):
    """A client that begins anew, and is given another address: its session of before ends first."""
    cp = relay('send_to = "first";')
    client = Client(cp, 1)
    lease(client, servers[0], "10.64.0.9")
    client.say("discover")
    servers[0].answer(servers[0].hear(), "offer", "10.64.0.10")
    until(lambda: client.line not in cp.up.rows)
    assert kind(servers[0].hear()) == RELEASE
    lease(client, servers[0], "10.64.0.10")
    assert cp.up.rows[client.line]["ipv4"] == "10.64.0.10"


def test_the_user_plane_refuses(relay, servers):
    """Then the client is told nothing, and the server gets its lease back."""
    cp = relay('send_to = "first";')
    client = Client(cp, 1)
    cp.up.refuse = lambda row: "no room"
    client.say("discover")
    servers[0].answer(servers[0].hear(), "offer", "10.64.0.9")
    client.hear()
    client.say("request", ("requested_addr", "10.64.0.9"), ("server_id", GATEWAY))
    servers[0].answer(servers[0].hear(), "ack", "10.64.0.9")
    assert kind(servers[0].hear()) == RELEASE
    client.hears_nothing(0.05)


def test_it_does_not_start_without_its_address(relay, run, folder):
    cp = relay()
    text = open(cp.config, encoding="ascii").read().replace(GIADDR, "192.0.2.77").replace("store.db", "other.db")
    (folder / "other.cfg").write_text(text)
    result = run(cp.program, folder / "other.cfg")
    assert result.returncode == 3 and "relay kea: 192.0.2.77 port" in result.stderr
