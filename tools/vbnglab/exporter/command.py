# SPDX-License-Identifier: BSD-3-Clause
"""Metrics of a running vbng for Prometheus, by way of DPDK's telemetry socket.

  vbng-lab exporter                        serve http://127.0.0.1:9791/metrics
  vbng-lab exporter --once                 print them and end
  curl 'localhost:9791/metrics?subscribers=1'   with the series of each subscriber
"""

import http.server
import sys
import urllib.parse

from ..lab.options import add_telemetry, between
from ..lab.telemetry import Telemetry, Unreachable, find_socket
from .metrics import CONTENT_TYPE, OPENMETRICS, collect

DEFAULT_PORT = 9791


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers GET /metrics."""

    path_of_socket = None

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        if url.path != "/metrics":
            self.send_error(404, "only /metrics is here")
            return
        openmetrics = OPENMETRICS in self.headers.get("Accept", "")
        subscribers = urllib.parse.parse_qs(url.query).get("subscribers") == ["1"]
        try:
            with Telemetry(self.path_of_socket or find_socket()) as telemetry:
                body = collect(telemetry, subscribers, openmetrics).encode()
        except Unreachable as e:
            self.send_error(503, str(e))
            return
        self.send_response(200)
        self.send_header("Content-Type", CONTENT_TYPE[openmetrics])
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Log no request."""


def configure(p):
    """Its options."""
    p.description = __doc__
    add_telemetry(p)
    p.add_argument("--listen", metavar="ADDRESS", default="127.0.0.1", help="address to serve on (default: %(default)s)")
    p.add_argument("--port", type=between(0, 65535, int), metavar="PORT", default=DEFAULT_PORT, help="port to serve on (default: %(default)s)")
    p.add_argument("--once", action="store_true", help="print the metrics and end")
    p.add_argument("--openmetrics", action="store_true", help="with --once: print the form of OpenMetrics")
    p.add_argument("--subscribers", action="store_true", help="with --once: print the metrics of each subscriber, too")


def run(args):
    """Serve until a signal, or print once."""
    if args.once:
        with Telemetry(args.socket or find_socket()) as telemetry:
            sys.stdout.write(collect(telemetry, args.subscribers, args.openmetrics))
        return 0
    Handler.path_of_socket = args.socket
    with http.server.HTTPServer((args.listen, args.port), Handler) as server:
        print(f"http://{args.listen}:{server.server_port}/metrics", flush=True)
        server.serve_forever()

