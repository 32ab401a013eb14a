# SPDX-License-Identifier: BSD-3-Clause
"""A live page of a running vbng on loopback: pipeline, ports, cores, schedulers, drops by reason, subscribers. doc/web.md.

  vbng-lab web                          http://127.0.0.1:9792/ of the only vbng that runs
  ssh -L 9792:127.0.0.1:9792 HOST       to see it from elsewhere
"""

import sys
import threading

from ..lab.failure import Failure
from ..lab.options import add_telemetry, between
from .server import Server, is_address, is_loopback
from .state import State
from .subscribers import Subscribers

DEFAULT_PORT = 9792


def configure(p):
    """Its options."""
    p.description = __doc__
    add_telemetry(p)
    p.add_argument("--listen", default="127.0.0.1", metavar="ADDRESS", help="address to serve on (default: %(default)s)")
    p.add_argument("--port", type=between(0, 65535, int), metavar="PORT", default=DEFAULT_PORT, help="port to serve on; 0: any that is free (default: %(default)s)")
    p.add_argument("--interval", type=between(0.1, 60), default=1.0, metavar="SECONDS", help="time between two readings (default: %(default)s)")
    p.add_argument("--expose", action="store_true", help="serve on an address that others reach: there is neither password nor encryption")


def run(args):
    """Serve until a signal."""
    if not is_address(args.listen):
        args.parser.error("--listen: expected an IP address")
    if not is_loopback(args.listen):
        if not args.expose:
            args.parser.error(f"--listen {args.listen}: who reaches this address sees all subscribers; better: "
                              f"ssh -L {args.port}:127.0.0.1:{args.port} HOST; or say --expose, too")
        print(f"vbng-lab web: who reaches {args.listen} sees all subscribers: there is neither password nor encryption", file=sys.stderr)
    state = State(args.socket, args.interval)
    try:
        server = Server((args.listen, args.port), state, Subscribers(args.socket), args.expose)
    except OSError as e:
        raise Failure(f"{args.listen} port {args.port}: {e.strerror}") from None
    threading.Thread(target=state.run, daemon=True).start()
    host = f"[{args.listen}]" if ":" in args.listen else args.listen
    print(f"http://{host}:{server.server_port}/", flush=True)
    with server:
        server.serve_forever()

