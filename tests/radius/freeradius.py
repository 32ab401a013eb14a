# SPDX-License-Identifier: BSD-3-Clause
"""A real FreeRADIUS in a folder of its own, at free ports of 127.0.0.1."""

import contextlib
import re
import socket
import subprocess

from tests.common import need
from tests.common.limits import limit
from vbnglab.lab import freeradius as lab

SECRET = "a secret of the tests"
COA_SECRET = "another secret"

USERS = """
full Cleartext-Password := "right"
    Framed-IP-Address = 10.1.2.3,
    Framed-IPv6-Prefix = 2001:db8:1:2::/64,
    Delegated-IPv6-Prefix = 2001:db8:aa00::/56,
    Framed-Pool = "homes",
    Framed-IPv6-Pool = "homes6",
    Filter-Id = "gold",
    Class = "class",
    Session-Timeout = 3600,
    Idle-Timeout = 600,
    Acct-Interim-Interval = 300,
    Reply-Message = "welcome"

plain Cleartext-Password := "right"

login Cleartext-Password := "right"
    Service-Type = Login-User
"""


def free_ports(n):
    """Ports that nobody has; somebody might take one before the server does."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) for _ in range(n)]
        for s in sockets:
            s.bind(("127.0.0.1", 0))
        return [s.getsockname()[1] for s in sockets]


def version():
    """Of the program, as numbers."""
    out = subprocess.run(["freeradius", "-v"], capture_output=True, text=True, timeout=limit(20), check=True).stdout
    return tuple(int(n) for n in re.search(r"Version (\d+)\.(\d+)\.(\d+)", out).groups())


class FreeRadius(lab.FreeRadius):
    """As vbng-lab starts it; it ends as if its machine did."""

    def __init__(self, folder, signs=True, users=USERS):
        super().__init__(folder, users, SECRET, *free_ports(2), signs=signs)

    def start(self):
        """Returns when it takes requests, one at a time."""
        super().start("-s")
        self.ready(limit(30))

    def stop(self):
        self.kill()

    def probed(self, secret=SECRET):
        """What a probe has to know of it."""
        return {"authentication": self.authentication, "accounting": self.accounting, "secret": secret}


@contextlib.contextmanager
def freeradius(folder, **options):
    """A server that runs. Skips where it is not installed."""
    need.program("freeradius")
    server = FreeRadius(folder, **options)
    try:
        server.start()
        yield server
    finally:
        server.stop()


def radclient(port, command, attributes, secret=COA_SECRET):
    """What radclient prints of a request of these attributes: the code of the answer and its attributes.

    It asks three times. When asked once, radclient 3.2.7 (Debian 13) ends without waiting for the answer if it loses its CPU after sending; a server that
    has answered answers a repeated request alike (RFC 5080 section 2.2.2)."""
    need.program("radclient", "freeradius-utils")
    text = "".join(f"{name} = {value}\n" for name, value in attributes.items())
    run = subprocess.run(["radclient", "-x", "-r", "3", "-t", "2", f"127.0.0.1:{port}", command, secret], input=text, text=True,
                         capture_output=True, timeout=limit(30), check=False)
    return run.stdout + run.stderr
