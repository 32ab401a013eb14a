# SPDX-License-Identifier: BSD-3-Clause
"""How the subscribers are distributed over the share of their rate that they use, and over their delay; and who is at the limit."""

import bisect
import math
import threading
import time

from ..lab.telemetry import Telemetry, Unreachable, find_socket

# Upper bounds, included; the last group has the rest.
SHARES = (0, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98)
DELAYS = (0, 1e6, 5e6, 20e6, 50e6, 100e6, 500e6)  # ns
MOST_LIMITED = 100  # who are named
OLD = 5.0  # seconds that an answer is good for, and ten times as long as it took to read
WAYS = ("up", "down")


def at_limit(bps, rate, shaped, drops):
    """Tell whether a subscriber got no more than it may have: the shaper held it back during all of the last second (shaped is not 0), it
    used more than 98 % of its rate, or packets of it were dropped."""
    return shaped != 0 or drops > 0 or 0 < rate * SHARES[-1] < bps


class Way:
    """A direction, counted subscriber by subscriber."""

    def __init__(self):
        self.shares, self.delays = [0] * (len(SHARES) + 1), [0] * (len(DELAYS) + 1)
        self.limited = self.dropping = 0

    def add(self, bps, rate, delay, shaped, drops):
        """Count one. Returns whether it is at its limit."""
        if rate > 0:
            self.shares[bisect.bisect_left(SHARES, bps / rate)] += 1
        self.delays[bisect.bisect_left(DELAYS, delay if bps > 0 else 0)] += 1
        limited = at_limit(bps, rate, shaped, drops)
        self.limited += limited
        self.dropping += drops > 0
        return limited


def distribute(keys, rows):
    """The distribution of subscribers. keys: of the figures; rows: [(name, figures)], with no name where the number is free."""
    columns = {way: [keys.index(f"{way}_{key}") for key in ("bps", "rate", "sojourn_ns", "shaped_ppm")] +
                    [keys.index(f"{way}_drop_pps") if f"{way}_drop_pps" in keys else None] for way in WAYS}
    ways, limited, total = {way: Way() for way in WAYS}, [], 0
    for number, (name, row) in enumerate(rows):
        if not name:
            continue
        total += 1
        for way, (bps, rate, delay, shaped, drops) in columns.items():
            dropped = row[drops] if drops is not None else 0
            if ways[way].add(row[bps], row[rate], row[delay], row[shaped], dropped):
                limited.append({"id": number + 1, "name": name, "way": way, "bps": row[bps], "rate": row[rate], "sojourn_ns": row[delay],
                                "drop_pps": dropped})
    limited.sort(key=lambda s: (-s["sojourn_ns"], -s["bps"]))
    return {"total": total, "shares": SHARES, "delays": DELAYS, "drops": "up_drop_pps" in keys, "ways": {way: vars(w) for way, w in ways.items()},
            "limited": limited[:MOST_LIMITED]}


class Distribution:
    """The distribution of a running vbng, read when it is asked for, and at most so often that the reading takes a tenth of the time."""

    def __init__(self, path):
        self.path = path
        self.lock = threading.Lock()
        self.newest, self.until = None, -math.inf

    def get(self):
        """The answer of /api/distribution. Raises Unreachable."""
        with self.lock:
            began = time.monotonic()
            if began >= self.until:
                try:
                    with Telemetry(self.path or find_socket()) as telemetry:
                        keys, rows = telemetry.rows("subscriber")
                    self.newest = distribute(keys, rows)
                except (LookupError, TypeError, ValueError, AttributeError) as e:
                    raise Unreachable("the gateway ended while it was read") from e
                now = time.monotonic()
                self.newest["again"] = round(max(OLD, 10 * (now - began)), 1)
                self.until = now + self.newest["again"]
            return self.newest
