# SPDX-License-Identifier: BSD-3-Clause
"""Metrics of a running vbng for Prometheus, by way of DPDK's telemetry socket, and of the vbng-cp beside it.

  vbng-lab exporter                        serve http://127.0.0.1:9791/metrics
  vbng-lab exporter --once                 print them and end
  curl 'localhost:9791/metrics?subscribers=1'   with the series of each subscriber
"""

import inspect
import sys

from ..lab.controlplane import add_control_plane, find
from ..lab.options import add_telemetry
from ..lab.serve import add_listen, listen, url
from ..lab.telemetry import Telemetry, find_socket
from .controlplane import families
from .metrics import collect, encoder
from .server import Server

DEFAULT_PORT = 9791


def configure(p):
    """Its options."""
    p.description = inspect.cleandoc(__doc__)  # which Python 3.13 does by itself
    add_telemetry(p)
    add_control_plane(p)
    add_listen(p, DEFAULT_PORT)
    p.add_argument("--once", action="store_true", help="print the metrics and end")
    p.add_argument("--openmetrics", action="store_true", help="with --once: print the form of OpenMetrics")
    p.add_argument("--subscribers", action="store_true", help="with --once: print the metrics of each subscriber, too")


def run(args):
    """Serve until a signal, or print once."""
    encode, _ = encoder("application/openmetrics-text" if args.openmetrics else "")
    if args.once:
        control_plane = find(args.control_plane)
        with Telemetry(args.socket or find_socket()) as telemetry:
            sys.stdout.write(collect(telemetry, args.subscribers, encode, families(control_plane) if control_plane else ()).decode())
        return 0
    server = listen(args, lambda address: Server(address, args.socket, args.expose, args.host, args.control_plane))
    print(f"{url(args, server)}metrics", flush=True)
    with server:
        server.serve_forever()
