# SPDX-License-Identifier: BSD-3-Clause
"""HTTP servers of the lab: they show a running vbng, and nothing that they are asked can change anything.

Who may ask: they listen on loopback, and take requests only under a name that DNS cannot give to somebody else's address, so that a
page of another site in the same browser cannot read them (DNS rebinding). No client can keep others out: each of a few connections has
a thread, and a request must have arrived as a whole in a given time.
"""

import http.server
import ipaddress
import json
import re
import socket
import sys
import threading
import time
import urllib.parse

from .failure import Failure
from .options import between
from .telemetry import Unreachable

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
MOST_CONNECTIONS = 32
DEADLINE = 20  # seconds from when a request may begin to its end, and that an answer may take to be taken away


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


def is_address(host):
    """Tell whether a text is an IP address, which no name server can give to another host."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def host_of(header):
    """The host that a Host header names, without port and brackets; None where it is malformed (RFC 9110 section 7.2)."""
    found = re.fullmatch(r"(?:\[([0-9A-Fa-f:.]{2,45})\]|([0-9A-Za-z.-]{1,253}))(?::[0-9]{1,5})?", header or "")
    return (found[1] or found[2]).lower() if found else None


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


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers GET and HEAD; a subclass has answer() and, where it has any, more headers."""

    protocol_version = "HTTP/1.1"
    sys_version = ""
    timeout = DEADLINE
    headers_too = {}  # headers that each answer has beside HEADERS

    def answer(self, path, query):
        """Send the answer to a path with send() or send_json(). query: the text behind the question mark. Raises BadQuery, Unreachable."""
        raise NotImplementedError

    def handle_one_request(self):
        self.server.waits_for_request(self.connection)
        super().handle_one_request()

    def parse_request(self):
        parsed = super().parse_request()
        self.server.has_request(self.connection)
        return parsed

    def do_GET(self):
        host = host_of(self.headers.get("Host"))
        if len(self.headers.get_all("Host", [])) != 1 or host is None or not self.server.serves(host):
            self.send_json(421, {"error": f"this name is not served here: use the address that {self.server_version} has printed"})
            return
        path, _, query = self.path.partition("?")
        try:
            self.answer(path, query)
        except BadQuery as e:
            self.send_json(400, {"error": str(e)})
        except Unreachable as e:
            self.send_json(503, {"error": str(e)})

    do_HEAD = do_GET

    def _refuse(self):
        self.close_connection = True  # its body is not read
        self.send_json(405, {"error": "nothing can be changed here: GET only"}, {"Allow": "GET, HEAD", "Connection": "close"})

    do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_TRACE = do_CONNECT = _refuse

    def send_json(self, status, value, more=None):
        """Answer with a value as JSON. more: further headers."""
        self.send(status, "application/json", json.dumps(value, separators=(",", ":")).encode(), more)

    def send(self, status, kind, body, more=None):
        """Answer with bytes of a media type. more: further headers."""
        self.send_response(status)
        for key, value in {"Content-Type": kind, "Content-Length": str(len(body)), **HEADERS, **self.headers_too, **(more or {})}.items():
            self.send_header(key, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_):
        """Log no request."""


class Server(http.server.ThreadingHTTPServer):
    """An HTTP server with a thread for each of a few connections."""

    daemon_threads = True

    def __init__(self, address, handler, exposed=False, names=()):
        """address: (IP address, port). exposed: any IP address is right in a Host header. names: so are these names."""
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self.exposed, self.names = exposed, {n.lower() for n in names}
        self.slots = threading.BoundedSemaphore(MOST_CONNECTIONS)
        self.deadlines, self.deadlines_lock = {}, threading.Lock()
        super().__init__(address, handler)

    def serves(self, host):
        """Tell whether requests under a host name are answered: loopback, a name that was given, and where exposed any address."""
        return is_loopback(host) or host in self.names or (self.exposed and is_address(host))

    def waits_for_request(self, connection):
        """Close a connection unless has_request() is called for it in time: one byte after the other holds no thread for long."""
        with self.deadlines_lock:
            self.deadlines[connection] = time.monotonic() + DEADLINE

    def has_request(self, connection):
        """End what waits_for_request() began."""
        with self.deadlines_lock:
            self.deadlines.pop(connection, None)

    def service_actions(self):
        now = time.monotonic()
        with self.deadlines_lock:
            late = [c for c, end in self.deadlines.items() if end < now]
            for connection in late:
                del self.deadlines[connection]
        for connection in late:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # the client has closed it

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

    def shutdown_request(self, request):
        self.has_request(request)
        super().shutdown_request(request)

    def handle_error(self, request, client_address):
        """Report an error, except that of a client that has gone away."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


def add_listen(parser, port):
    """Add the options of where and for whom to serve. port: the default."""
    parser.add_argument("--listen", default="127.0.0.1", metavar="ADDRESS", help="address to serve on (default: %(default)s)")
    parser.add_argument("--port", type=between(0, 65535, int), metavar="PORT", default=port,
                        help="port to serve on; 0: any that is free (default: %(default)s)")
    parser.add_argument("--expose", action="store_true", help="serve on an address that others reach: there is neither password nor encryption")
    parser.add_argument("--host", action="append", default=[], metavar="NAME",
                        help="answer also requests to this name, as behind a proxy or by the name of the machine; may be repeated")


def listen(args, make):
    """Return the server that make((address, port)) makes. args: those of add_listen(). Raises Failure where it cannot listen there; ends the
    program with status 2 where it should not."""
    if not is_address(args.listen):
        args.parser.error("--listen: expected an IP address")
    if not is_loopback(args.listen):
        if not args.expose:
            args.parser.error(f"--listen {args.listen}: who reaches this address sees all subscribers; better: "
                              f"ssh -L {args.port}:127.0.0.1:{args.port} HOST; or say --expose, too")
        print(f"{args.parser.prog}: who reaches {args.listen} sees all subscribers: there is neither password nor encryption", file=sys.stderr)
    try:
        return make((args.listen, args.port))
    except OSError as e:
        raise Failure(f"{args.listen} port {args.port}: {e.strerror}") from None


def url(args, server):
    """The URL at which a server of listen() is found."""
    host = f"[{args.listen}]" if ":" in args.listen else args.listen
    return f"http://{host}:{server.server_port}/"
