# SPDX-License-Identifier: BSD-3-Clause
"""The commands that ask vbng-cp, on a control socket of its own."""

import datetime
import os

from .change import asks
from .gateway import Gateway, Refused
from .output import safe, show_json, table
from .who import subscriber

SOCKET = "VBNG_CP_SOCKET"


def connect(args, path=None):
    """A connection to vbng-cp. Raises Refused."""
    path = path or os.environ.get(SOCKET)
    if path is None:
        raise Refused(f"which vbng-cp? expected --socket PATH or ${SOCKET}")
    return Gateway(path, args.timeout)


def _time(seconds):
    return datetime.datetime.fromtimestamp(seconds).isoformat(sep=" ", timespec="milliseconds")


def _line(s):
    return f"{s['port']} {s['svlan']}.{s['cvlan']}"


def sessions(cp, args):
    """Lines that a text may mean, and what happened last on each where that was asked for or there is but one. Exit status 1: none."""
    found, first = [], 0
    while first is not None and len(found) < args.most:
        answer = cp.ask("show-sessions", text=" ".join(args.text), first=first)
        found += answer["sessions"]
        first = answer["next"]
    found = found[: args.most]
    if args.json:
        show_json(found)
        return 0 if found else 1
    table(("line", "state", "mac", "ipv4", "until", "pool", "profile"),
          [(_line(s), s["state"], s["mac"], s["ipv4"], s["expires"] and _time(s["expires"])[:19], s["pool"], s["profile"]) for s in found])
    if args.events or len(found) == 1:
        for s in found:
            print(f"\n{_line(s)}")
            for e in s["events"]:
                print(f"  {_time(e['time'])}  {safe(e['text'])}")
    return 0 if found else 1


def disconnect(cp, args):
    """End the session of a line."""
    args.session = subscriber(args.line)
    asks("disconnect", "session")(cp, args)
