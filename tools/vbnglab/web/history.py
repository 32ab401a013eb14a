# SPDX-License-Identifier: BSD-3-Clause
"""Curves of the last hour, of bounded memory: a value for each step of ten seconds, and no more curves than there is room for."""

import array
import math
import threading

HOUR = 3600  # seconds
STEP = 10  # seconds, or one and a half intervals of the readings where that is longer
MOST = 2048  # curves of a History: 1.7 KiB each


def mean(before, count, value):
    """Combine the values of a step: their mean."""
    return before + (value - before) / (count + 1)


def greatest(before, count, value):
    """Combine the values of a step: the greatest of them."""
    return max(before, value) if count else value


class Curve:
    """The values of an hour in a ring."""

    def __init__(self, step, combine=mean):
        """step: seconds; combine: mean or greatest, of what is added in one step."""
        self.step, self.combine = step, combine
        self.ring = array.array("f", [math.nan]) * math.ceil(HOUR / step)
        self.last, self.count = -1, 0  # number of the newest step, and of the values that were added in it

    def add(self, at, value):
        """Add a value of a time (seconds), which does not go back."""
        n, now = len(self.ring), int(at // self.step)
        if now != self.last:
            for missed in range(max(self.last + 1, now - n + 1), now + 1):
                self.ring[missed % n] = math.nan
            self.last, self.count = now, 0
        self.ring[now % n] = self.combine(self.ring[now % n] if self.count else 0.0, self.count, value)
        self.count += 1

    def values(self, at):
        """The hour before a time, the oldest first, with four digits; None for a step in which nothing was added."""
        n, now = len(self.ring), int(at // self.step)
        found = (self.ring[k % n] if self.last - n < k <= self.last else math.nan for k in range(now - n + 1, now + 1))
        return [None if math.isnan(v) else float(f"{v:.4g}") for v in found]

    def over(self, at):
        """Tell whether nothing of the hour before a time is left."""
        return int(at // self.step) - self.last >= len(self.ring)


class History:
    """Curves by kind, name and key."""

    def __init__(self, interval):
        self.step = max(STEP, math.ceil(1.5 * interval))
        self.lock = threading.Lock()
        self.curves = {}

    def add(self, at, kind, name, key, value, combine=mean):
        """Add a value to a curve; a new one for which there is no room is left out."""
        with self.lock:
            curve = self.curves.get((kind, name, key))
            if curve is None:
                if len(self.curves) >= MOST:
                    self.curves = {k: c for k, c in self.curves.items() if not c.over(at)}
                if len(self.curves) >= MOST:
                    return
                curve = self.curves[kind, name, key] = Curve(self.step, combine)
            curve.add(at, value)

    def of(self, at, kind):
        """{name: {key: values}} of a kind, of the hour before a time."""
        found = {}
        with self.lock:
            for (k, name, key), curve in self.curves.items():
                if k == kind and not curve.over(at):
                    found.setdefault(name, {})[key] = curve.values(at)
        return found
