# SPDX-License-Identifier: BSD-3-Clause
"""Queue disciplines of a subscriber's best-effort class: those that a vbng has, and the text that configures each."""

import json

from ..lab import run
from ..lab.failure import Failure

FRAME = 1526  # bytes of a full-sized packet of either family with two VLAN tags and FCS
BLOAT = 0.15  # seconds that a full queue takes to leave: what a line without queue management has


def packets(rate):
    """A queue of BLOAT seconds at a rate (bit/s) in full-sized frames, as a power of two."""
    n = 16
    while n < rate * BLOAT / 8 / FRAME and n < 8192:
        n *= 2
    return n


def _red(n):
    return f"queue = {4 * n}; red = {{ min = {min(max(n // 8, 2), 340)}; max = {min(max(3 * n // 8, 6), 1022)}; }};"


# name: the keys of the class, from the length of a queue of BLOAT seconds
KNOWN = {
    "tail": lambda n: f"queue = {n}; aqm = \"none\";",
    "red": _red,
    "pie": lambda n: f"queue = {4 * n}; pie = {{ }};",
    "codel": lambda n: f"queue = {4 * n}; codel = {{ }};",
    "l4s": lambda n: f"queue = {4 * n}; l4s = {{ }};",
}


def own(text):
    """(name, keys) of an argument NAME=KEYS, or (name, None) of a NAME."""
    name, equals, keys = text.partition("=")
    if not name or (equals and not keys.strip()):
        raise ValueError(text)
    return name, keys if equals else None


def available(vbng):
    """Names of the disciplines of KNOWN that a program has: each but tail drop has a drop reason of its name in the type of task qos of
    `vbng --help json`. Raises Failure."""
    status, out, err = run.query(["--help", "json"], vbng)
    if status != 0:
        raise Failure(f"vbng --help json: {err.strip() or status}")
    reasons = {d["name"] for task in json.loads(out)["tasks"] if task["type"] == "qos" for d in task["drops"]}
    return [name for name in KNOWN if name == "tail" or name in reasons]


def chosen(texts, vbng):
    """{name: function of the length that returns the keys} of what --discipline said; all that the program has where it said nothing. Raises
    Failure for a name that neither is known nor comes with keys."""
    there = available(vbng)
    found = {}
    for name, keys in map(own, texts or there):
        if keys is not None:
            found[name] = lambda _, keys=keys: keys
        elif name in there:
            found[name] = KNOWN[name]
        else:
            raise Failure(f"{name}: this vbng has {', '.join(there)}; another one is said with its keys, as {name}='queue = 64;'")
    return found
