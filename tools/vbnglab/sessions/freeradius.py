# SPDX-License-Identifier: BSD-3-Clause
"""A FreeRADIUS of one's own, in a folder, at addresses of this network namespace: it lets everybody in, and writes down what it is told."""

import os
import re
import shutil
import subprocess
import time

from ..lab.failure import Failure
from ..lab.run import end_with_parent

SECRET, PASSWORD = "a secret of the demonstration", "vbng"
AUTHENTICATION, ACCOUNTING = 1812, 1813  # the network namespace is our own
NAMES = ("freeradius", "radiusd")
READY = "Ready to process requests"
GIGA = 1 << 32
START_S = 20
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
    status_server = no
    allow_vulnerable_openssl = yes
}}
client gateway {{
    ipaddr = 127.0.0.1
    secret = "{secret}"
    require_message_authenticator = yes
}}
modules {{
    files {{
        usersfile = {folder}/users
    }}
    detail {{
        filename = {folder}/detail
    }}
}}
server sessions {{
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
        files
    }}
    post-auth {{
        update reply {{
            Message-Authenticator := 0x00
        }}
    }}
    accounting {{
        detail
    }}
}}
"""


def program():
    """Its path. Raises Failure where it is missing."""
    found = next((path for name in NAMES if (path := shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin"))), None)
    if found is None:
        raise Failure("FreeRADIUS is not installed (Debian package freeradius); --without-radius does without it")
    return found


def _modules():
    """The folder with its modules."""
    for folder, _, names in os.walk("/usr/lib"):
        if "rlm_files.so" in names and "rlm_detail.so" in names:
            return folder
    raise Failure("FreeRADIUS' modules rlm_files.so and rlm_detail.so are not below /usr/lib (Debian package freeradius)")


class FreeRadius:
    """A server that runs from here to stop(). users: the text of its file of users."""

    def __init__(self, folder, users):
        self.folder = os.path.join(folder, "radius")
        os.mkdir(self.folder, 0o700)
        for name, text in (("users", users), ("radiusd.conf", CONF.format(folder=self.folder, libdir=_modules(), secret=SECRET,
                                                                         authentication=AUTHENTICATION, accounting=ACCOUNTING))):
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as f:
                f.write(text)
        self.log = os.path.join(self.folder, "log")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([program(), "-fxx", "-l", "stdout", "-n", "radiusd", "-d", self.folder], stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log, process_group=0, preexec_fn=end_with_parent)

    def ready(self):
        """Wait until it takes requests. Raises Failure."""
        end = time.monotonic() + START_S
        while READY not in (said := self._said()):
            if self.process.poll() is not None or time.monotonic() > end:
                raise Failure(f"FreeRADIUS does not start: {said[-1000:].strip()}")
            time.sleep(0.02)

    def _said(self):
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return f.read()

    def records(self):
        """The accounting records that it has written: names and texts of each."""
        try:
            with open(os.path.join(self.folder, "detail"), encoding="utf-8") as f:
                text = f.read()
        except FileNotFoundError:
            return []
        return [dict(re.findall(r"^\t(\S+) = \"?(.*?)\"?$", record, re.MULTILINE)) for record in text.split("\n\n") if record.strip()]

    def stop(self):
        """End it."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def volumes(records):
    """{"up": octets, "down": octets} that the sessions of these records have had, of both families together; input is what came from the subscriber."""
    return {way: sum(int(r[f"Acct-{name}-Octets"]) + GIGA * int(r.get(f"Acct-{name}-Gigawords", 0)) for r in records)
            for way, name in (("up", "Input"), ("down", "Output"))}
