# SPDX-License-Identifier: BSD-3-Clause
"""Malformed packets by Scapy: answers that are signed by the right secret, and requests for changes."""

import contextlib
import hashlib
import hmac
import socket
import time

import pytest

from tests.common import need
from tests.common.limits import limit
from tests.radius.freeradius import free_ports
from tests.radius.probe import probe

radius = need.module("scapy.layers.radius", "python3-scapy")
raw = need.module("scapy.compat", "python3-scapy").raw

SECRET = b"secret"
ACCEPT, COA = 2, 43
MESSAGE_AUTHENTICATOR = bytes([80, 18]) + bytes(16)


def packet(code, number, authenticator, attributes, length=None):
    header = radius.Radius(code=code, id=number, len=20 + len(attributes) if length is None else length, authenticator=authenticator)
    return raw(header)[:20] + attributes


def signed_answer(request, attributes, length=None, padding=b""):
    """The accept of a request, right but for what its attributes and its length say."""
    unsigned = packet(ACCEPT, request.id, request.authenticator, MESSAGE_AUTHENTICATOR + attributes, length)
    digest = hmac.new(SECRET, unsigned, "md5").digest()
    signed = unsigned[:22] + digest + unsigned[38:]
    return signed[:4] + hashlib.md5(signed + SECRET).digest() + signed[20:] + padding


def attribute(kind, value):
    return raw(radius.RadiusAttribute(type=kind, len=2 + len(value)))[:2] + value


class Server:
    """Answers each Access-Request as the test says."""

    def __init__(self, stack):
        self.socket = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        self.socket.bind(("127.0.0.1", 0))
        self.socket.settimeout(limit(20))

    def request(self):
        data, self.peer = self.socket.recvfrom(4096)
        return radius.Radius(data)

    def answer(self, data):
        self.socket.sendto(data, self.peer)


@pytest.fixture
def asked(build):
    """A probe that has asked, the server, and the request as Scapy reads it."""
    with contextlib.ExitStack() as stack:
        server = Server(stack)
        port = server.socket.getsockname()[1]
        p = stack.enter_context(probe(build, [{"authentication": port, "accounting": port, "secret": SECRET.decode()}]))

        def ask():
            p.say(cmd="access", tag=1, name="user", password="x")
            return server.request()

        yield p, server, ask


def test_request_as_scapy_reads_it(asked):
    p, server, ask = asked
    request = ask()
    kinds = [a.type for a in request.attributes]
    assert kinds[0] == 80 and kinds.count(80) == 1
    data = raw(request)
    zeroed = data[:22] + bytes(16) + data[38:]
    assert hmac.new(SECRET, zeroed, "md5").digest() == data[22:38]
    server.answer(signed_answer(request, attribute(11, b"gold")))
    answer = p.hear()
    assert (answer["outcome"], answer["profile"]) == ("accepted", "gold")


def test_answers_that_are_no_packets(asked):
    """They are discarded, and the request goes on waiting for a right one."""
    p, server, ask = asked
    request = ask()
    right = signed_answer(request, attribute(11, b"gold"))
    wrong = [right[:n] for n in range(len(right))]
    wrong += [signed_answer(request, attributes) for attributes in (
        b"\x0b", b"\x0b\x00", b"\x0b\x01", b"\x0b\x03", b"\x0b\xffgold", attribute(11, b"gold") + b"\x00", b"\x1a\x00" + bytes(4))]
    wrong += [signed_answer(request, b"", length) for length in (0, 19, 37, 39, 4097, 65535)]
    for data in wrong:
        server.answer(data)
    server.answer(signed_answer(request, attribute(11, b"gold"), padding=b"padding"))
    answer = p.hear()
    assert (answer["outcome"], answer["profile"]) == ("accepted", "gold")
    assert p.state()[0]["authentication"]["malformed"] == len(wrong)


@pytest.mark.parametrize("kind", [6, 8, 27, 28, 85, 97, 123, 168])
def test_values_of_wrong_lengths(asked, kind):
    """An accept with a value that cannot be is none."""
    p, server, ask = asked
    for value in (b"", b"\x00", b"\x00\x00\x00", b"\x00\x00\x00\x00\x02", b"\x00\xff" + bytes(16), bytes(20), bytes(253)):
        server.answer(signed_answer(ask(), attribute(kind, value)))
        assert p.hear()["outcome"] == "unusable", value


def test_attributes_that_nobody_knows(asked):
    p, server, ask = asked
    for kind in (0, 26, 95, 241, 255):
        server.answer(signed_answer(ask(), attribute(kind, b"\x01\x02") + attribute(26, bytes(6)) + attribute(26, b"\x00\x00\x0d\xe9\x01\xff")))
        assert p.hear()["outcome"] == "accepted"


def test_changes_that_are_no_packets(build):
    port, = free_ports(1)
    at = attribute(55, int(time.time()).to_bytes(4, "big"))
    session = attribute(44, b"17")

    def signed(attributes, length=None, code=COA):
        data = packet(code, 9, bytes(16), attributes, length)
        return data[:4] + hashlib.md5(data + SECRET).digest() + data[20:]

    with probe(build, coa=port, coa_secret=SECRET.decode()) as p, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(limit(20))
        s.connect(("127.0.0.1", port))
        right = signed(at + session)
        for data in [right[:n] for n in range(len(right))] + [
                signed(at + session + b"\x0b"), signed(at + session + b"\x0b\x00"), signed(at + b"\x2c\xff17"), signed(at + session, 4097),
                signed(at + session, code=1), signed(at + session, code=41), signed(attribute(55, b"\x00") + session)]:
            s.send(data)
        s.send(right)
        assert s.recv(4096)[0] == COA + 1
        assert p.hear() == {"change": True, "session": "17", "profile": ""}
        assert p.state() == []
