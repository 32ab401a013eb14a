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


def _cell(s, column):
    """What a column says of a session; its IPv6 is the address that its client was given, else the prefix of its link."""
    if column == "line":
        return _line(s)
    if column == "ipv6":
        return s["ipv6_address"] or s["ipv6"]
    if column == "until":
        ends = [s[key] for key in ("expires", "expires6") if s[key]]
        return _time(max(ends))[:19] if ends else None
    return s[column]


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
    columns = ("line", "state", "kind", "mac", "ipv4", "ipv6", "delegated", "until", "pool", "pool6", "profile", "session", "user")
    if not any(s["pool6"] for s in found):
        columns = tuple(c for c in columns if c not in ("ipv6", "delegated", "pool6"))
    table(columns, [tuple(_cell(s, c) for c in columns) for s in found])
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
