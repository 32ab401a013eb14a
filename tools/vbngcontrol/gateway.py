# SPDX-License-Identifier: BSD-3-Clause
"""A connection to the control socket of a running vbng."""

import json
import socket

PAGE = 1000  # entries in one answer
BATCH = 10000  # changes in one request
LONGEST = 1000000  # bytes of a list in a request


class Refused(Exception):
    """What was asked for was not done; the text says why."""


class Gateway:
    """A connection: a request at a time."""

    def __init__(self, path, timeout):
        self.path, self.timeout = path, timeout
        self.socket = socket.socket(socket.AF_UNIX)
        try:
            self.socket.connect(path)
        except OSError as e:
            self.socket.close()
            raise Refused(f"cannot connect to {path}: {e.strerror}; is this what a running vbng was given as --control?") from None
        self.socket.settimeout(timeout)
        self.file = self.socket.makefile("rb")

    def close(self):
        self.file.close()
        self.socket.close()

    def ask(self, cmd, **keys):
        """The answer to one request, without "ok". Raises Refused, OSError."""
        self.socket.sendall(json.dumps({"cmd": cmd, **keys}).encode() + b"\n")
        line = self.file.readline()
        if not line:
            raise Refused("vbng closed the connection")
        answer = json.loads(line)
        if "error" in answer:
            raise Refused(answer["error"])
        answer.pop("ok")
        return answer

    def pages(self, cmd, key):
        """Yield the answers to a request for a list that comes in pages."""
        first, total = 1, 1
        while first <= total:
            answer = self.ask(cmd, first=first, count=PAGE)
            yield answer[key], answer
            first += PAGE
            total = answer["total"]


def _cut(entries):
    """Yield lists of entries that fit into a request each."""
    batch, size = [], 0
    for entry in entries:
        length = len(json.dumps(entry)) + 2
        if batch and (len(batch) == BATCH or size + length > LONGEST):
            yield batch
            batch, size = [], 0
        batch.append(entry)
        size += length
    yield batch


def in_batches(gw, cmd, key, entries):
    """How many were changed by a list that may be longer than a request. Each request is done as a whole or not at all."""
    done = 0
    for batch in _cut(entries):
        try:
            gw.ask(cmd, **{key: batch})
        except Refused as e:
            raise Refused(f"{e} ({done} were changed before)") from e
        done += len(batch)
    return done
