# SPDX-License-Identifier: BSD-3-Clause
"""A real FreeRADIUS in a folder of its own, at free ports of 127.0.0.1."""

import contextlib
import pathlib
import re
import socket
import subprocess
import time

from tests.common import need
from tests.common.limits import limit

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

CONF = """
name = radiusd
prefix = /usr
libdir = {libdir}
logdir = {folder}
run_dir = {folder}
raddbdir = {folder}
max_request_time = 30
max_requests = 16384
hostname_lookups = no
security {{
    max_attributes = 200
    reject_delay = 0
    status_server = yes
    allow_vulnerable_openssl = yes
}}
client tests {{
    ipaddr = 127.0.0.1
    secret = "{secret}"
    require_message_authenticator = yes
}}
modules {{
    files {{
        usersfile = {folder}/users
    }}
    pap {{
    }}
    chap {{
    }}
    detail {{
        filename = {folder}/detail
    }}
}}
server tests {{
    listen {{
        type = auth
        ipaddr = 127.0.0.1
        port = {authentication}
    }}
    listen {{
        type = acct
        ipaddr = 127.0.0.1
        port = {accounting}
    }}
    authorize {{
        chap
        files
        pap
    }}
    authenticate {{
        Auth-Type PAP {{
            pap
        }}
        Auth-Type CHAP {{
            chap
        }}
    }}
    post-auth {{
        {sign}
        Post-Auth-Type REJECT {{
            {sign}
        }}
    }}
    accounting {{
        detail
    }}
}}
"""

# Before 3.2.5 FreeRADIUS signs answers only where it is told to.
SIGN = "update reply {\n Message-Authenticator := 0x00\n }"


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


class FreeRadius:
    def __init__(self, folder, signs=True, users=USERS):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(exist_ok=True)
        self.authentication, self.accounting = free_ports(2)
        self.process = None
        libdir = next(pathlib.Path("/usr/lib").glob("**/rlm_files.so")).parent
        (self.folder / "users").write_text(users)
        (self.folder / "radiusd.conf").write_text(CONF.format(
            folder=self.folder, libdir=libdir, secret=SECRET, authentication=self.authentication, accounting=self.accounting,
            sign=SIGN if signs else ""))

    def start(self):
        """Returns when it takes requests."""
        path = self.folder / "log"
        end = time.monotonic() + limit(30)
        with open(path, "wb") as log:
            self.process = subprocess.Popen(["freeradius", "-X", "-d", self.folder], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        while "Ready to process requests" not in path.read_text(errors="replace"):
            assert self.process.poll() is None and time.monotonic() < end, path.read_text(errors="replace")[-3000:]
            time.sleep(0.02)

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait(limit(20))
            self.process = None

    def probed(self, secret=SECRET):
        """What a probe has to know of it."""
        return {"authentication": self.authentication, "accounting": self.accounting, "secret": secret}

    def records(self):
        """The accounting records that it has written: names and texts of each."""
        path = self.folder / "detail"
        text = path.read_text() if path.exists() else ""
        return [dict(re.findall(r"^\t(\S+) = \"?(.*?)\"?$", record, re.MULTILINE)) for record in text.split("\n\n") if record.strip()]


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
    """What radclient prints of a request of these attributes: the code of the answer and its attributes."""
    need.program("radclient", "freeradius-utils")
    text = "".join(f"{name} = {value}\n" for name, value in attributes.items())
    run = subprocess.run(["radclient", "-x", "-r", "1", "-t", "2", f"127.0.0.1:{port}", command, secret], input=text, text=True,
                         capture_output=True, timeout=limit(30), check=False)
    return run.stdout + run.stderr
