# SPDX-License-Identifier: BSD-3-Clause
"""Curves of single subscribers: two minutes of who is looked at, and the last hour of who was looked at or stood out in it.

Nobody knows beforehand whose hour will be asked for, and nobody has room for all: every ten seconds the gateway is asked for the 25
with the greatest rate, drops, delay and shaping error, and for those whose page was open; the 512 of them that came last are kept.
"""

import collections
import contextlib
import threading
import time

from ..lab.telemetry import Telemetry, Unreachable, find_socket
from .distribution import at_limit
from .history import STEP, Curve, greatest, mean

MOST = 512  # subscribers whose hour is kept: 6 curves each, 6 MiB in all
MOST_ASKED = 64  # of them, who are read because their page was open
RECENT = 120  # seconds of the curve of one who is looked at
OFTEN = 0.5  # seconds between two readings of such a one, however many look
STANDS_OUT = ("bps", "drop_pps", "sojourn_ns", "error_ppm")  # keys by which the gateway ranks
WAYS = ("up", "down")
CURVES = {"bps": mean, "sojourn_ns": greatest, "drop_pps": mean}


class Watched:
    """A subscriber of whom something is kept."""

    def __init__(self, name):
        self.name = name
        self.asked = None  # when its page last was
        self.at, self.figures = None, {}
        self.recent = collections.deque(maxlen=int(RECENT / OFTEN) + 1)  # (when, values in the order of hour)
        self.hour = {f"{way}_{key}": Curve(STEP, combine) for way in WAYS for key, combine in CURVES.items()}

    def add(self, at, figures, looked_at=False):
        """Add a reading. Its rates are of the last second: the gateway looks at its subscribers once a second."""
        for key, curve in self.hour.items():
            if key in figures:
                curve.add(at, figures[key])
        if looked_at:
            self.recent.append((at, [figures.get(key) for key in self.hour]))
        self.at, self.figures = at, figures


class Watch:
    """The subscribers of whom something is kept. One thread reads who stands out, others ask for single ones."""

    def __init__(self, path, interval):
        self.path, self.interval = path, interval
        self.lock = threading.Lock()
        self.stop = threading.Event()
        self.telemetry = self.keys = None
        self.watched = collections.OrderedDict()  # by number, who was read last at the end

    def run(self):
        """Read who stands out, every ten seconds until stop is set."""
        while not self.stop.is_set():
            try:
                self.look()
            except Unreachable:
                pass  # who asks for a subscriber is told
            self.stop.wait(STEP - time.monotonic() % STEP)

    def look(self):
        """Read who stands out, and whose page was open in the last hour. Raises Unreachable."""
        with self._connected():
            read = set()
            for key in STANDS_OUT:
                if any(k == key or k.endswith("_" + key) for k in self.keys):
                    for number, name, row in self.telemetry.top("subscriber", self.keys, key)[1]:
                        if number not in read:
                            self._entry(number, name).add(time.monotonic(), dict(zip(self.keys, row)))
                            read.add(number)
            now = time.monotonic()
            for known in self.watched.values():
                if known.recent and now - known.asked > RECENT:
                    known.recent.clear()
            asked = [n for n, w in reversed(self.watched.items()) if w.asked is not None and now - w.asked < 3600]
            for number in asked[:MOST_ASKED]:
                if number not in read:
                    self._read(number)

    def subscriber(self, number):
        """The answer of /api/subscriber: what one gets now and got; None where the number is free. Raises Unreachable."""
        with self._connected():
            now, known = time.monotonic(), self.watched.get(number)
            if known is None or known.at is None or now - known.at >= max(OFTEN, self.interval / 2):
                known = self._read(number, looked_at=True)
            if known is None:
                return None
            known.asked = now
            recent = [(at - now, values) for at, values in known.recent if now - at <= RECENT]
            f = known.figures
            limited = {way: at_limit(f[f"{way}_bps"], f[f"{way}_rate"], f[f"{way}_shaped_ppm"], f.get(f"{way}_drop_pps", 0)) for way in WAYS}
            return {"id": number + 1, "name": known.name, "label": self.telemetry.labels("subscriber", [number])[0], "figures": f, "limited": limited, "drops": "up_drops" in self.keys, "period": self.interval,
                    "recent": {"seconds": [round(at, 2) for at, _ in recent],
                               **{key: [values[i] for _, values in recent] for i, key in enumerate(known.hour)}},
                    "hour": {"step": STEP, **{key: curve.values(now) for key, curve in known.hour.items()}}}

    @contextlib.contextmanager
    def _connected(self):
        """Hold the connection for a block; one in which something failed is closed, and the next block makes another."""
        with self.lock:
            try:
                if self.telemetry is None:
                    self.telemetry = Telemetry(self.path or find_socket())
                    self.keys = self.telemetry.keys("subscriber")
                yield
            except (Unreachable, LookupError, TypeError, ValueError) as e:
                if self.telemetry is not None:
                    self.telemetry.close()
                    self.telemetry = None
                raise e if isinstance(e, Unreachable) else Unreachable("the gateway ended while it was read") from e

    def _entry(self, number, name):
        """What is kept of a subscriber; new where the number was another's."""
        known = self.watched.get(number)
        if known is None or known.name != name:
            known = self.watched[number] = Watched(name)
        self.watched.move_to_end(number)
        while len(self.watched) > MOST:
            self.watched.popitem(last=False)
        return known

    def _read(self, number, looked_at=False):
        """Read one; None where the number is free."""
        figures = self.telemetry.ask(f"/vbng/subscriber/get,{number}")
        if figures is None:
            self.watched.pop(number, None)
            return None
        known = self._entry(number, self.telemetry.must(f"/vbng/subscriber/list,{number}")[0])
        known.add(time.monotonic(), figures, looked_at)
        return known
