# SPDX-License-Identifier: BSD-3-Clause
"""Sessions of a running vbng-cp, which may be there without a vbng and the other way: read while somebody looks at them."""

import threading
import time

from ..lab.controlplane import Absent, find, metrics
from ..lab.sessions import Sample, Sessions
from .state import HISTORY

GONE = 10  # intervals after which nobody looks any more, and rates begin anew


def _finite(rows):
    """Rows of figures without infinity, which JSON has not: "beyond" says which percentiles lie beyond the histogram's bounds."""
    for row in rows:
        beyond = [key for key, value in row.items() if value == float("inf")]
        yield {**row, **dict.fromkeys(beyond), "beyond": beyond}


def figures(sessions):
    """All figures, in types of JSON."""
    return {"kinds": sessions.kinds(), "lines": sessions.lines(), "failures": sessions.failures(), "pools": sessions.pools(),
            "radius": list(_finite(sessions.radius())), "relays": list(_finite(sessions.relays())), "store": list(_finite(sessions.store()))}


class ControlPlane:
    """The newest figures; path: of the control socket, or None, where it is looked for."""

    def __init__(self, path, interval):
        self.path, self.interval = path, interval
        self.lock = threading.Lock()
        self.before, self.newest, self.curve = None, None, []

    def get(self):
        """The answer of /api/sessions."""
        path = find(self.path)
        if path is None:
            return {"known": False, "error": None, "figures": None}
        with self.lock:
            now = time.monotonic()
            if self.before is not None and now - self.before.at > GONE * self.interval:
                self.before = self.newest = None
                self.curve = []
            try:
                if self.before is None or now - self.before.at >= 0.9 * self.interval:
                    self._read(path)
            except Absent as e:
                self.before = self.newest = None
                return {"known": True, "error": str(e), "figures": None}
            return {"known": True, "error": None, "figures": self.newest}

    def _read(self, path):
        sample = Sample(metrics(path), time.monotonic())
        if self.before is not None:
            self.newest = figures(Sessions(self.before, sample))
            self.curve = [*self.curve, sum(kind["begun_ps"] for kind in self.newest["kinds"])][-HISTORY:]
            self.newest["curve"] = self.curve
        self.before = sample
