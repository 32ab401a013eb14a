# SPDX-License-Identifier: BSD-3-Clause
"""The program radius_probe, which asks RADIUS servers and takes changes as it is told."""

import contextlib
import itertools
import json
import select
import subprocess

from tests.common.limits import limit

PATIENT = {"timeout_ms": 1000, "retries": 5, "dead_ms": 60000}  # no server is so slow


class Probe:
    def __init__(self, process):
        self.process = process
        self.tags = itertools.count(1)

    def say(self, **request):
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()

    def hear(self, seconds=60):
        """The next object that it says, or None."""
        if not select.select([self.process.stdout], [], [], limit(seconds))[0]:
            return None
        return json.loads(self.process.stdout.readline())

    def ask(self, cmd, **request):
        """What becomes of a request."""
        tag = next(self.tags)
        self.say(cmd=cmd, tag=tag, **request)
        answer = self.hear()
        assert answer is not None and answer["tag"] == tag, f"{request}: {answer}"
        return answer

    def state(self):
        self.say(cmd="state")
        return self.hear()["state"]


@contextlib.contextmanager
def probe(build, servers=(), **config):
    """A probe with these servers, each an object of its configuration."""
    with subprocess.Popen([build / "tests/radius/radius_probe"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        p = Probe(process)
        try:
            p.say(servers=list(servers), **{**PATIENT, **config})
            assert p.hear() == {"ready": True}
            yield p
        finally:
            process.stdin.close()
            process.wait(limit(20))
