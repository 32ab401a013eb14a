# SPDX-License-Identifier: BSD-3-Clause
"""A FreeRADIUS of one's own, in a folder, at ports of 127.0.0.1, that writes down what it is told."""

import os
import pathlib
import re
import shutil
import subprocess
import time

from . import run
from .failure import Failure

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
    status_server = yes
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
    pap {{
    }}
    chap {{
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
SIGN = "update reply {\n Message-Authenticator := 0x00\n }"  # which before 3.2.5 it does only where it is told to


def program():
    """Its path. Raises Failure where it is missing."""
    found = next((path for name in NAMES if (path := shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin"))), None)
    if found is None:
        raise Failure("FreeRADIUS is not installed (Debian package freeradius)")
    return found


def _modules():
    """The folder with its modules."""
    for folder, _, names in os.walk("/usr/lib"):
        if "rlm_files.so" in names and "rlm_detail.so" in names:
            return folder
    raise Failure("FreeRADIUS' modules rlm_files.so and rlm_detail.so are not below /usr/lib (Debian package freeradius)")


class FreeRadius:
    """A server in a folder, made where it is missing. users: the text of its file of users; authentication, accounting: its ports; signs: its
    answers have a Message-Authenticator."""

    def __init__(self, folder, users, secret, authentication, accounting, signs=True):
        self.folder, self.authentication, self.accounting = pathlib.Path(folder), authentication, accounting
        self.log, self.process = self.folder / "log", None
        self.folder.mkdir(0o700, exist_ok=True)
        conf = CONF.format(folder=self.folder, libdir=_modules(), secret=secret, authentication=authentication, accounting=accounting,
                           sign=SIGN if signs else "")
        (self.folder / "users").write_text(users, encoding="utf-8")
        (self.folder / "radiusd.conf").write_text(conf, encoding="utf-8")

    def start(self, *options):
        """Start it; ready() waits for it. options: of its command line."""
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([program(), "-fxx", "-l", "stdout", "-n", "radiusd", "-d", self.folder, *options], stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log, process_group=0, preexec_fn=run.end_with_parent)

    def ready(self, seconds=START_S):
        """Wait until it takes requests. Raises Failure."""
        end = time.monotonic() + seconds
        while READY not in (said := run.text_of(self.log)):
            if self.process.poll() is not None or time.monotonic() > end:
                raise Failure(f"FreeRADIUS does not start: {said[-3000:].strip()}")
            time.sleep(0.02)

    def records(self):
        """The accounting records that it has written: names and texts of each."""
        try:
            text = (self.folder / "detail").read_text(encoding="utf-8")
        except FileNotFoundError:
            return []
        return [dict(re.findall(r"^\t(\S+) = \"?(.*?)\"?$", record, re.MULTILINE)) for record in text.split("\n\n") if record.strip()]

    def stop(self):
        """End it, if it runs."""
        run.end(self.process)

    def kill(self):
        """End it at once, if it runs."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()


def volumes(records):
    """{"up": octets, "down": octets} that the sessions of these records have had, of both families together; input is what came from the subscriber."""
    return {way: sum(int(r[f"Acct-{name}-Octets"]) + GIGA * int(r.get(f"Acct-{name}-Gigawords", 0)) for r in records)
            for way, name in (("up", "Input"), ("down", "Output"))}
