# SPDX-License-Identifier: BSD-3-Clause
"""vbngctl at a running vbng-cp: sessions are found, their events say why, and they can be ended."""

import json
import os
import socket
import sys

import pytest

from tests.common import need
from tests.cp.client import NAK, Client, option
from vbngcontrol import schema as schemas

jsonschema = need.module("jsonschema", "python3-jsonschema")


@pytest.fixture
def ctl(cp, run, top):
    """A function: run vbngctl. Returns (status, stdout, stderr)."""

    def command(*words):
        done = run(sys.executable, top / "tools/vbngctl", *words, env={**os.environ, "VBNG_CP_SOCKET": cp.socket})
        return done.returncode, done.stdout, done.stderr

    return command


def found(ctl, *text):
    status, out, err = ctl("--json", "sessions", *text)
    assert status in (0, 1) and not err, err
    document = json.loads(out)
    with open(schemas.path(["sessions"]), encoding="utf-8") as f:
        jsonschema.validate(document, json.load(f), jsonschema.Draft202012Validator)
    assert status == (0 if document else 1)
    return sorted((s["port"], s["svlan"], s["cvlan"]) for s in document)


def test_sessions_are_found(cp, ctl):
    a, b, c = (Client(cp, n) for n in (1, 10, 4001))
    for client in (a, b):
        client.get()
    c.discover()
    assert found(ctl) == sorted([a.line, b.line, c.line])
    for text, wanted in ((a.mac, [a.line]), (b.address, [b.line]), ("100.2", [a.line]), ("up", [a.line, b.line]), ("offered", [c.line]),
                         ("cpe0 101", [c.line]), ("cpe0 100.2", [a.line]), ("cpe9", []), ("10.64.0.99", [])):
        assert found(ctl, *text.split()) == sorted(wanted), text
    status, out, _ = ctl("sessions", b.address)
    assert status == 0 and b.mac in out and f"up, {b.address}" in out and f"offered {b.address}" in out
    assert "home-50M" in ctl("sessions")[1]


def test_why_it_failed(cp, ctl):
    first = Client(cp, 1)
    first.get()
    second = Client(cp, 2, line=first.line)
    second.say("discover")
    second.hears_nothing()
    assert f"DISCOVER of {second.mac} ignored: another MAC has the line's session" in ctl("sessions", "100.2")[1]
    for _ in range(20):
        first.renew()
    assert len(json.loads(ctl("--json", "sessions")[1])[0]["events"]) <= 8


def test_disconnect(cp, ctl):
    client = Client(cp, 1)
    client.get()
    assert ctl("disconnect", "cpe0", "100.2") == (0, "", "")
    cp.until(lambda: not cp.up.rows)
    assert option(client.renew(), "message-type") == NAK
    for line in ("100.2", "100.9", "999.1", "x"):
        status, _, err = ctl("disconnect", "cpe0", line)
        assert status == 1 and "of a line with one" in err
    assert client.get()
    assert ctl("--json", "disconnect", "cpe0", "100.2")[0] == 0


def test_requests_that_are_none(cp, ctl):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(cp.socket)
        for request in (b"x", b"[]", b"{}", b'{"cmd": "reload"}', b'{"cmd": "show-sessions"}', b'{"cmd": "show-sessions", "text": 1}',
                        b'{"cmd": "show-sessions", "text": "", "first": -1}', b'{"cmd": "disconnect", "session": 7}', b"\xff" * 100):
            s.sendall(request + b"\n")
            assert "error" in json.loads(s.recv(65536)), request
        s.sendall(b'{"cmd": "show-status"}\n')
        status = json.loads(s.recv(65536))
    assert status["ok"] and status["pools"] == [{"name": "homes", "addresses": 254, "free": 253}]
    assert ctl("sessions", "x" * 80)[0] == 1
    assert os.stat(cp.socket).st_mode & 0o777 == 0o600
    assert Client(cp, 1).get()
