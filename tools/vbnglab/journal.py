# SPDX-License-Identifier: BSD-3-Clause
"""The trials of a measurement on disk, one JSON line each, appended as they end: what a kill leaves behind.

A measurement is repeated from its beginning with the answers of its journal, and comes to the point where it was
ended: what is asked next follows from the answers alone.
"""

import collections
import json
import os


class Mismatch(Exception):
    """The journal is of another measurement."""


class Journal:
    """path None: kept nowhere."""

    def __init__(self, path, fingerprint, fresh=False):
        self.path, self._known, self._file = path, collections.defaultdict(collections.deque), None
        self.recorded = 0
        if path is None:
            return
        if fresh and os.path.exists(path):
            os.remove(path)
        whole = self._read(fingerprint) if os.path.exists(path) else 0
        self._file = open(path, "a", encoding="utf-8")
        self._file.truncate(whole)  # without the line that a kill cut off
        if whole == 0:
            self._append({"fingerprint": fingerprint})

    def _read(self, fingerprint):
        """Fills what is known. Returns the length of the whole lines."""
        whole = 0
        with open(self.path, "rb") as f:
            for number, line in enumerate(f):
                if not line.endswith(b"\n"):
                    break
                try:
                    entry = json.loads(line)
                except ValueError:
                    break
                if number == 0 and entry.get("fingerprint") != fingerprint:
                    differ = sorted(k for k in {*entry.get("fingerprint", {}), *fingerprint}
                                    if entry.get("fingerprint", {}).get(k) != fingerprint.get(k))
                    raise Mismatch(f"{self.path} is of another measurement (different: {', '.join(differ)}); "
                                   "say --fresh to begin anew, or another --out")
                if number > 0:
                    self._known[entry["key"]].append(entry["row"])
                    self.recorded += 1
                whole += len(line)
        return whole

    def _append(self, entry):
        json.dump(entry, self._file, separators=(",", ":"))
        self._file.write("\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def known(self, key):
        """The next trial of that name that was recorded before; None: none."""
        return self._known[key].popleft() if self._known[key] else None

    def add(self, key, row):
        """A trial has ended."""
        if self._file is not None:
            self._append({"key": key, "row": row})

    def close(self):
        """No more trials."""
        if self._file is not None:
            self._file.close()
            self._file = None
