# SPDX-License-Identifier: BSD-3-Clause
"""The command capture: into a file of vbng's, or to standard output for a live Wireshark."""

import os
import signal
import socket
import sys
import time

from .gateway import Gateway, Refused
from .output import show_json
from .who import subscriber

# Bounds of a capture that somebody looks at, where none is given: it ends with who looks.
LIVE = {"seconds": 3600, "packets": 1000000000, "bytes": 1 << 40}
PIECE = 1 << 16


def _state(gw):
    """Of the capture, when it has ended."""
    while (state := gw.ask("show-capture")["capture"])["running"]:
        time.sleep(0.1)
    return state


def _wanted(args):
    """The keys of the request, but for where the packets go."""
    tasks = args.task + (["*:drops"] if args.drops else [])
    some = {"ports": args.port, "tasks": tasks, "reasons": args.reason, "every": args.sample, "family": args.family}
    some |= {k: getattr(args, k) for k in ("seconds", "packets", "bytes", "snaplen")}
    if args.subscriber is not None:
        some["subscriber"] = subscriber(args.subscriber.split())
    return {k: v for k, v in some.items() if v}


def _tell(args, state, to):
    if args.json:
        show_json(state)
    else:
        print(f"{state['path'] or 'standard output'}: {state['packets']} packets, {state['bytes']} bytes in {state['seconds']:.1f} s ({state['ended_by']})", file=to)
    if state["lost"]:
        print(f"vbngctl: {state['lost']} of {state['taken']} packets found no room in the capture", file=sys.stderr)


def capture(gw, args):
    """Until it ends by itself, or Ctrl-C."""
    if args.output == "-":
        return _live(gw, args)
    path = os.path.abspath(args.output) if "/" in args.output else args.output
    gw.ask("start-capture", file=path, force=args.force, **_wanted(args))
    try:
        state = _state(gw)
    except KeyboardInterrupt:
        gw.ask("stop-capture")
        state = _state(gw)
    if state["error"]:
        raise Refused(f"{state['path']}: {state['error']}")
    _tell(args, state, sys.stdout)
    return 0


def _pass_on(stream):
    """Write what comes from vbng to standard output until its end. Ctrl-C and SIGTERM ask vbng for the end; who reads gets all up to it."""

    def end(*_):
        stream.socket.shutdown(socket.SHUT_WR)

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    stream.socket.settimeout(None)
    try:
        while piece := stream.file.read1(PIECE):
            sys.stdout.buffer.write(piece)
            sys.stdout.buffer.flush()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _live(gw, args):
    if args.json:
        raise Refused("--json: standard output has the packets")
    if sys.stdout.isatty():
        raise Refused("a capture is no text for a terminal: expected a pipe, such as: vbngctl capture -o - | wireshark -k -i -")
    stream = Gateway(gw.path, gw.timeout)
    try:
        stream.ask("start-capture", stream=True, **(LIVE | _wanted(args)))
        _pass_on(stream)
    finally:
        stream.close()
    state = _state(gw)
    if state["error"]:
        raise Refused(f"the capture: {state['error']}")
    _tell(args, state, sys.stderr)
    return 0
