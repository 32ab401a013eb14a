# SPDX-License-Identifier: BSD-3-Clause
"""A live page of a running vbng on loopback: pipeline, ports, cores, schedulers, drops by reason, sessions, subscribers. doc/web.md.

  vbng-lab web                          http://127.0.0.1:9792/ of the only vbng that runs
  ssh -L 9792:127.0.0.1:9792 HOST       to see it from elsewhere
"""

import inspect
import threading

from ..lab.controlplane import add_control_plane
from ..lab.options import add_telemetry, between
from ..lab.serve import add_listen, listen, url
from .distribution import Distribution
from .server import Server
from .sessions import ControlPlane
from .state import State
from .subscribers import Subscribers
from .watch import Watch

DEFAULT_PORT = 9792


def configure(p):
    """Its options."""
    p.description = inspect.cleandoc(__doc__)  # which Python 3.13 does by itself
    add_telemetry(p)
    add_control_plane(p)
    add_listen(p, DEFAULT_PORT)
    p.add_argument("--interval", type=between(0.1, 60), default=1.0, metavar="SECONDS", help="time between two readings (default: %(default)s)")


def run(args):
    """Serve until a signal."""
    state, watch = State(args.socket, args.interval), Watch(args.socket, args.interval)
    control_plane = ControlPlane(args.control_plane, args.interval)
    server = listen(args, lambda address: Server(address, state, Subscribers(args.socket), watch, Distribution(args.socket), control_plane, args.expose, args.host))
    for reader in (state, watch):
        threading.Thread(target=reader.run, daemon=True).start()
    print(url(args, server), flush=True)
    with server:
        server.serve_forever()
