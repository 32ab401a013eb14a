# SPDX-License-Identifier: BSD-3-Clause
"""Subscribers for the live page: searched, sorted and cut into pages by the gateway and here, so that a browser gets a page only."""

import threading

from ..lab.telemetry import Telemetry, Unreachable, find_socket

PAGE = 25
MOST_SORTED = 500  # found ones that are sorted by a figure; more are shown by id
SORTS = {"id": None, "rate": "bps", "drops": "drop_pps", "dropped": "drops", "delay": "sojourn_ns", "error": "error_ppm"}


def _value(key, row):
    """The figure of a subscriber that is sorted by, of both directions together."""
    return sum(value for name, value in row.items() if name == key or name.endswith("_" + key))


class Subscribers:
    """Pages of subscribers; questions are asked one after the other, on a connection of its own."""

    def __init__(self, path):
        self.path = path
        self.lock = threading.Lock()
        self.telemetry = self.keys = None

    def page(self, sort, page, search):
        """The answer of /api/subscribers: a page of those that were found. Raises Unreachable."""
        with self.lock:
            try:
                self._connect()
                rows, total, note = self._search(sort, page, search.strip()) if search.strip() else self._all(sort, page)
                labels = self.telemetry.labels("subscriber", [row["id"] - 1 for row in rows])
            except (Unreachable, LookupError, TypeError, ValueError) as e:
                self._close()
                raise Unreachable(str(e)) from e
            rows = [{**row, "label": label} for row, label in zip(rows, labels)]
            return {"sort": sort, "page": page, "size": PAGE, "total": total, "note": note, "drops": "up_drops" in self.keys, "rows": rows}

    def _connect(self):
        if self.telemetry is None:
            self.telemetry = Telemetry(self.path or find_socket())
            self.keys = self.telemetry.keys("subscriber")

    def _close(self):
        if self.telemetry is not None:
            self.telemetry.close()
        self.telemetry = None

    def _entry(self, number, name, row):
        return {"id": number + 1, "name": name, **dict(zip(self.keys, row))}

    def _all(self, sort, page):
        t, first, note = self.telemetry, page * PAGE, ""
        key = SORTS[sort]
        if key is not None and not any(k == key or k.endswith("_" + key) for k in self.keys):
            key, note = None, "This scheduler does not count drops by subscriber: sorted by id."
        if key is not None:
            total, found = t.top("subscriber", self.keys, key, first)
        else:
            total = t.count("subscriber")
            rows = t.in_pieces(lambda n: t.page("subscriber", first + n), min(PAGE, total - first))
            found = [(first + i, name, row) for i, (name, row) in enumerate(rows[:PAGE]) if name]
        return [self._entry(*f) for f in found], total, note

    def _search(self, sort, page, search):
        numbers, note = self.telemetry.find("subscriber", search), ""
        if sort == "id" or len(numbers) > MOST_SORTED:
            if sort != "id":
                note = f"More than {MOST_SORTED} are found: sorted by id."
            rows = [self._get(n) for n in numbers[page * PAGE : (page + 1) * PAGE]]
        else:
            rows = [row for row in map(self._get, numbers) if row]
            rows.sort(key=lambda row: -_value(SORTS[sort], row))
            rows = rows[page * PAGE : (page + 1) * PAGE]
        return [row for row in rows if row], len(numbers), note

    def _get(self, number):
        """A subscriber; None where the number is free."""
        figures = self.telemetry.ask(f"/vbng/subscriber/get,{number}")
        if figures is None:
            return None
        return {"id": number + 1, "name": self.telemetry.must(f"/vbng/subscriber/list,{number}")[0], **figures}
