# SPDX-License-Identifier: BSD-3-Clause
"""Datagrams in a circle, of flows.py, that a CPE in a guest sends from here on until it shall cease."""

import json
import sys
import time

from tests.common.limits import limit
from tests.vm import flows

FLOWS = f"{sys.executable} -I -S {flows.__file__}"


def until(what, condition, seconds=60):
    end = time.monotonic() + limit(seconds)
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.1)


class Circle:
    """Of a CPE, which is a network namespace of a guest, and has the folder of this name there; sources: its addresses."""

    def __init__(self, guest, name, sources):
        self.guest, self.name, self.sources = guest, name, sources

    def _path(self, name):
        return self.guest.folder / self.name / name

    def begin(self):
        """Datagrams from each of the addresses to the core and back; returns when they flow."""
        for name in ("stop", "flows", "result"):
            self._path(name).unlink(missing_ok=True)
        words = f"ip netns exec {self.name} {FLOWS} circle /out/{self.name} {' '.join(self.sources)}"
        self.guest.do(f"({words} >/out/{self.name}/new 2>&1; mv /out/{self.name}/new /out/{self.name}/result) </dev/null >/dev/null 2>&1 &")
        until(f"{self.name}: no datagrams come back", self._path("flows").exists)

    def cease(self):
        """What became of them: a text, and what is wrong."""
        self._path("stop").touch()
        until(f"{self.name}: the datagrams do not cease", self._path("result").exists)
        text = self._path("result").read_text()
        if not text.startswith("{"):  # it broke off
            return text, [text]
        found = json.loads(text)
        said = ", ".join(f"{source} {f['sent']} sent, {len(f['lost'])} lost, {len(f['late'])} out of order" for source, f in found.items())
        return said, [said] if any(f["lost"] or f["late"] for f in found.values()) else []
