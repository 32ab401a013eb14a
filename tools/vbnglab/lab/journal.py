# SPDX-License-Identifier: BSD-3-Clause
"""What a measurement has done so far, on disk: what a kill leaves behind, and what the same command goes on from."""

import collections
import json
import os

from .failure import Failure


class Lines:
    """Objects in a file, one a line as JSON. An object is on disk when add() returns; a line that a kill cut off is removed."""

    def __init__(self, path):
        self.path = path
        self.entries = []  # that the file held at first
        whole = 0
        try:
            with open(path, "rb") as f:
                for line in f:
                    if not line.endswith(b"\n"):
                        break
                    self.entries.append(json.loads(line))
                    whole += len(line)
        except FileNotFoundError:
            return
        except ValueError:
            pass  # what stands behind it is of no use
        os.truncate(path, whole)

    def add(self, entry):
        """Append an object."""
        with open(self.path, "a", encoding="utf-8") as f:
            f.write(json.dumps(entry, separators=(",", ":")) + "\n")
            f.flush()
            os.fsync(f.fileno())


class Mismatch(Failure):
    """The journal is of another measurement."""


class Journal:
    """The trials of a measurement, whose fingerprint is the first line.

    A measurement is repeated from its beginning with the answers of its journal, and comes to the point where it was ended: what is asked
    next follows from the answers alone. path None: nothing is kept. Raises Mismatch where the file has another fingerprint, unless fresh.
    """

    def __init__(self, path, fingerprint, fresh=False):
        self._lines, self._known = None, collections.defaultdict(collections.deque)
        self.recorded = 0  # trials of an earlier run
        if path is None:
            return
        if fresh and os.path.exists(path):
            os.remove(path)
        self._lines = Lines(path)
        if not self._lines.entries:
            self._lines.add({"fingerprint": fingerprint})
            return
        first, *trials = self._lines.entries
        theirs = first.get("fingerprint", {})
        if theirs != fingerprint:
            differ = sorted(k for k in {*theirs, *fingerprint} if theirs.get(k) != fingerprint.get(k))
            raise Mismatch(f"{path} is of another measurement (different: {', '.join(differ)}); say --fresh to begin anew, or another --out")
        for entry in trials:
            self._known[entry["key"]].append(entry["row"])
        self.recorded = len(trials)

    def known(self, key):
        """The next recorded trial of that key; None where there is none left."""
        return self._known[key].popleft() if self._known[key] else None

    def add(self, key, row):
        """Record a trial that has ended."""
        if self._lines is not None:
            self._lines.add({"key": key, "row": row})
