# SPDX-License-Identifier: BSD-3-Clause
"""The HTTP server of the live page: a few files, three JSON answers, and nothing that can change anything.

Who may ask: it listens on loopback, and takes requests only under a name that DNS cannot give to somebody else's address, so that a
page of another site in the same browser cannot read it (DNS rebinding).
"""

import http.server
import ipaddress
import json
import os
import re
import socket
import threading
import urllib.parse

from ..lab.telemetry import Unreachable
from .subscribers import SORTS

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "page")
TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
         ".svg": "image/svg+xml"}
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
                               "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
MOST_CONNECTIONS = 32
STILL = 20  # seconds after which a connection that says nothing is closed
MOST_PAGES = 10**6


class BadQuery(Exception):
    """A query is malformed; the text says what was expected."""


def is_loopback(host):
    """Tell whether a text is an address of loopback, or its name."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def host_of(header):
    """The host that a Host header names, without port and brackets; None where it is malformed."""
    found = re.fullmatch(r"(?:\[([0-9A-Fa-f:.]{2,45})\]|([0-9A-Za-z.-]{1,253}))(?::[0-9]{1,5})?", header or "")
    return (found[1] or found[2]).lower() if found else None


def is_address(host):
    """Tell whether a text is an IP address, which no name server can give to another host."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def files():
    """{path: (type, content)} of all files that are served, read once."""
    found = {}
    for name in sorted(os.listdir(FOLDER)):
        kind = TYPES.get(os.path.splitext(name)[1])
        if kind is not None:
            with open(os.path.join(FOLDER, name), "rb") as f:
                found["/" + name] = (kind, f.read())
    found["/"] = found.pop("/index.html")
    return found


def query_of(text, **expected):
    """{key: value} of a query string. expected: key=(default, function that converts the text); each key may come once. Raises BadQuery."""
    try:
        given = urllib.parse.parse_qsl(text, keep_blank_values=True, strict_parsing=bool(text), max_num_fields=8, errors="strict")
    except ValueError as e:
        raise BadQuery(f"query: {e}") from e
    values = {key: default for key, (default, _) in expected.items()}
    seen = set()
    for key, value in given:
        if key not in expected or key in seen:
            raise BadQuery(f"query: '{key[:20]}' is unknown or said twice; expected {', '.join(expected) or 'nothing'}")
        seen.add(key)
        values[key] = expected[key][1](value)
    return values


def _sort(text):
    if text not in SORTS:
        raise BadQuery(f"sort: expected one of {', '.join(SORTS)}")
    return text


def _page(text):
    if not re.fullmatch("[0-9]{1,7}", text) or int(text) > MOST_PAGES:
        raise BadQuery(f"page: expected a number, 0 to {MOST_PAGES}")
    return int(text)


def _search(text):
    if len(text) > 64 or not text.isprintable():
        raise BadQuery("search: expected an id, or a part of 'PORT SVLAN.CVLAN'; 64 characters at most")
    return text


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers GET and HEAD."""

    protocol_version = "HTTP/1.1"
    server_version, sys_version = "vbng-web", ""
    timeout = STILL

    def do_GET(self):
        host = host_of(self.headers.get("Host"))
        if len(self.headers.get_all("Host", [])) != 1 or host is None or not self.server.serves(host):
            self._json(421, {"error": "this name is not served here: use the address that vbng-web has printed"})
            return
        path, _, query = self.path.partition("?")
        answers = {"/api/state": self._state, "/api/plan": self._plan, "/api/subscribers": self._subscribers}
        try:
            if path in answers:
                self._json(*answers[path](query))
            elif path in self.server.files:
                self._send(200, *self.server.files[path])
            else:
                self._json(404, {"error": "there is nothing here; the page is /"})
        except BadQuery as e:
            self._json(400, {"error": str(e)})
        except Unreachable as e:
            self._json(503, {"error": str(e)})

    do_HEAD = do_GET

    def _refuse(self):
        self.close_connection = True  # its body is not read
        self._json(405, {"error": "nothing can be changed here: GET only"}, {"Allow": "GET, HEAD", "Connection": "close"})

    do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_TRACE = do_CONNECT = _refuse

    def _state(self, query):
        query_of(query)
        return 200, self.server.state.snapshot()

    def _plan(self, query):
        query_of(query)
        plan = self.server.state.planned()
        return (200, plan) if plan is not None else (503, {"error": "no vbng has been read yet"})

    def _subscribers(self, query):
        return 200, self.server.subscribers.page(**query_of(query, sort=("id", _sort), page=(0, _page), search=("", _search)))

    def _json(self, status, value, more=None):
        self._send(status, "application/json", json.dumps(value, separators=(",", ":")).encode(), more)

    def _send(self, status, kind, body, more=None):
        self.send_response(status)
        for key, value in {"Content-Type": kind, "Content-Length": str(len(body)), **HEADERS, **(more or {})}.items():
            self.send_header(key, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_):
        """Log no request."""


class Server(http.server.ThreadingHTTPServer):
    """An HTTP server with a thread for each of a few connections."""

    daemon_threads = True

    def __init__(self, address, state, subscribers, exposed=False):
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        super().__init__(address, Handler)
        self.state, self.subscribers, self.exposed = state, subscribers, exposed
        self.files = files()
        self.slots = threading.BoundedSemaphore(MOST_CONNECTIONS)

    def serves(self, host):
        """Tell whether requests under a host name are answered: any address is, and a name that DNS cannot give to another host."""
        return is_loopback(host) or (self.exposed and is_address(host))

    def process_request(self, request, client_address):
        if self.slots.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request, client_address):
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.slots.release()

    def handle_error(self, request, client_address):
        """Report an error, except that of a browser that has gone away."""
