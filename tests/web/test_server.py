# SPDX-License-Identifier: BSD-3-Clause
"""The server of the live page, without a gateway: what it serves, to whom, and what it refuses."""

import contextlib
import http.client
import json
import os
import re
import socket
import subprocess
import sys
import threading

import pytest

from tests.common.limits import limit
from vbnglab.lab import serve
from vbnglab.lab.telemetry import Unreachable
from vbnglab.web import server as web_server

WEB = [sys.executable, "-m", "vbnglab", "web"]


class FakeState:
    def snapshot(self):
        return {"error": None, "age": 0.1, "period": 1.0, "plan": 1, "figures": {}}

    def planned(self):
        return None

    def history(self, kind):
        return {"kind": kind, "step": 10, "of": {}}


class FakeSubscribers:
    asked = None

    def page(self, **query):
        FakeSubscribers.asked = query
        if query["search"] == "gone":
            raise Unreachable("no vbng runs here")
        return {"rows": []}


class FakeWatch:
    def subscriber(self, number):
        return {"id": number + 1} if number < 9 else None


class FakeDistribution:
    def get(self):
        raise Unreachable("no vbng runs here")


class FakeControlPlane:
    def get(self):
        return {"known": False, "error": None, "figures": None}


class Asked:
    """A server, and requests to it."""

    def __init__(self, server):
        self.port = server.server_port

    def ask(self, path, method="GET", host="localhost", more=()):
        """(status, headers, body). The path goes as it is."""
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=limit(10))
        c.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for value in [host] if isinstance(host, str) else host or ():
            c.putheader("Host", value)
        for key, value in more:
            c.putheader(key, value)
        c.endheaders()
        answer = c.getresponse()
        body = answer.read()
        c.close()
        return answer.status, answer.headers, body


@contextlib.contextmanager
def serving(exposed):
    server = web_server.Server(("127.0.0.1", 0), FakeState(), FakeSubscribers(), FakeWatch(), FakeDistribution(), FakeControlPlane(), exposed)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield Asked(server)
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def server():
    with serving(exposed=False) as asked:
        yield asked


def test_every_file_comes_with_its_type_and_no_foreign_source(server):
    for name in ["", *os.listdir(web_server.FOLDER)]:
        status, headers, body = server.ask("/" + name if name != "index.html" else "/")
        assert status == 200, name
        assert int(headers["Content-Length"]) == len(body)
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert (headers["X-Content-Type-Options"], headers["Cache-Control"]) == ("nosniff", "no-store")
        urls = [u for u in re.findall(rb"https?://[^\"')\s]+", body) if not u.startswith(b"http://www.w3.org/")]
        assert urls == [], name
        assert not re.search(rb"innerHTML|document\.write|\beval\b", body)


def test_nothing_else_is_there(server):
    for path in ("/x", "/../web_server.py", "/..%2fweb_server.py", "/%2e%2e/%2e%2e/README.md", "//etc/passwd", "/etc/passwd", "/app.js/",
                 "/app.js%00", "/.", "/api", "/api/", "/api/state/", "/index.html/../app.js", "http://localhost/app.js", "*", "/app.js/../app.js"):
        status, headers, body = server.ask(path)
        assert status == 404, path
        assert "error" in json.loads(body)
        assert "Content-Security-Policy" in headers


def test_a_name_that_may_be_anybodys_is_not_served(server):
    for host in ("evil.example", "localhost.evil.example", "evil.example:80", "", "127.0.0.1.evil.example", "10.0.0.1", "0.0.0.0",
                 "[::2]", "localhost:1:2", "localhost/", "a b", None, ["localhost", "evil.example"], ["localhost", "localhost"]):
        assert server.ask("/api/state", host=host)[0] == 421, host
    for host in ("localhost", "LOCALHOST:80", "127.0.0.1", "127.0.0.1:9792", "[::1]", "[::1]:9792"):
        assert server.ask("/api/state", host=host)[0] == 200, host


def test_nothing_can_be_changed(server):
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"):
        status, headers, _ = server.ask("/api/state", method=method)
        assert (status, headers["Allow"]) == (405, "GET, HEAD"), method
    assert server.ask("/", method="BREW")[0] == 501
    status, headers, body = server.ask("/", method="HEAD")
    assert (status, body) == (200, b"")
    assert int(headers["Content-Length"]) > 1000


def test_queries(server):
    assert server.ask("/api/subscribers")[0] == 200
    assert FakeSubscribers.asked == {"sort": "id", "page": 0, "search": ""}
    assert server.ask("/api/subscribers?sort=rate&page=17&search=cpe0+128.")[0] == 200
    assert FakeSubscribers.asked == {"sort": "rate", "page": 17, "search": "cpe0 128."}
    for query in ("sort=none", "sort=", "sort=id&sort=id", "page=-1", "page=1e3", "page=", "page=99999999", "page=%31%30x", "size=9", "x", "x=1",
                  "search=" + "x" * 65, "search=%00", "search=%ff", "&".join(f"a{i}=1" for i in range(20)), "page=0&page=0", "="):
        status, _, body = server.ask("/api/subscribers?" + query)
        assert status == 400, query
        assert "error" in json.loads(body)
    assert server.ask("/api/state?x=1")[0] == 400
    assert server.ask("/api/subscribers?search=gone")[0] == 503
    assert server.ask("/api/plan")[0] == 503


def test_queries_of_one_subscriber_and_of_the_hour(server):
    status, _, body = server.ask("/api/subscriber?id=9")
    assert (status, json.loads(body)) == (200, {"id": 9})
    assert server.ask("/api/subscriber?id=10")[0] == 404
    for query in ("", "id=", "id=0", "id=-1", "id=1e3", "id=99999999", "id=1&id=1", "x=1", "id=%00"):
        assert server.ask("/api/subscriber?" + query)[0] == 400, query
    assert json.loads(server.ask("/api/history")[2])["kind"] == "gateway"
    for kind in ("gateway", "port", "core", "qos", "drops"):
        assert json.loads(server.ask("/api/history?kind=" + kind)[2])["kind"] == kind
    for query in ("kind=", "kind=x", "kind=port&kind=port", "x=1"):
        assert server.ask("/api/history?" + query)[0] == 400, query
    assert server.ask("/api/distribution")[0] == 503
    assert server.ask("/api/distribution?x=1")[0] == 400
    assert json.loads(server.ask("/api/sessions")[2])["known"] is False
    assert server.ask("/api/sessions?x=1")[0] == 400


def test_what_is_no_http(server):
    for text in (b"\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9\r\n\r\n", b"\x16\x03\x01" * 50 + b"\r\n\r\n", b"GET /" + b"a" * 70000 + b" HTTP/1.1\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", server.port), 10) as s:
            s.sendall(text)
            s.shutdown(socket.SHUT_WR)
            while s.recv(65536):
                pass
    assert server.ask("/")[0] == 200


def test_more_connections_than_there_is_room_for(server):
    held = [socket.create_connection(("127.0.0.1", server.port), 10) for _ in range(serve.MOST_CONNECTIONS)]
    try:
        with pytest.raises((http.client.RemoteDisconnected, ConnectionError)):
            server.ask("/")
    finally:
        for s in held:
            s.close()


def test_on_an_address_that_others_reach():
    """An address in the Host header is right, a name is not."""
    with serving(exposed=True) as server:
        assert server.ask("/", host="192.0.2.1:80")[0] == 200
        assert server.ask("/", host="evil.example")[0] == 421


def test_who_it_refuses_to_serve():
    for args, word in ((["--listen", "0.0.0.0"], "--expose"), (["--listen", "::"], "--expose"), (["--listen", "192.0.2.1"], "--expose"),
                       (["--listen", "host"], "IP address"), (["--port", "70000"], "--port"), (["--interval", "0"], "--interval"),
                       (["--interval", "nan"], "--interval")):
        out = subprocess.run([*WEB, *args], capture_output=True, text=True, timeout=limit(20))
        assert out.returncode == 2, args
        assert word in out.stderr


def test_exposed_with_a_warning():
    p = subprocess.Popen([*WEB, "--listen", "0.0.0.0", "--port", "0", "--expose"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert p.stdout.readline().startswith("http://0.0.0.0:")
    p.terminate()
    assert "neither password nor encryption" in p.communicate(timeout=limit(10))[1]
