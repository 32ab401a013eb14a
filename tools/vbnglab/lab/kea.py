# SPDX-License-Identifier: BSD-3-Clause
"""ISC Kea in a folder of one's own: a server of DHCPv4 or DHCPv6 behind a relay."""

import csv
import json
import os
import shutil
import subprocess
import time

from . import run
from .failure import Failure

START_S = 20


def program(family):
    """Path of the server of a family, 4 or 6. Raises Failure where it is missing."""
    name = f"kea-dhcp{family}"
    found = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin")
    if found is None:
        raise Failure(f"ISC Kea's {name} is not installed (Debian package {name}-server)")
    return found


def version(family):
    """Of the program, as numbers."""
    said = subprocess.run([program(family), "-v"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return tuple(int(n) for n in said.split()[0].split("."))


class Kea:
    """kea-dhcp4 or kea-dhcp6, at an address of the loopback interface, with its leases in a file. name: of its files; config: keys of Dhcp4 or Dhcp6 beside
    those of that."""

    def __init__(self, folder, family, address, port, name=None, **config):
        self.address, self.port, self.started, self.process = address, port, f"DHCP{family}_STARTED", None
        stem = os.path.join(folder, name or f"kea{family}")
        self.leases_file, self.log, self.config = (f"{stem}.{end}" for end in ("csv", "log", "json"))
        # Debian's AppArmor profile, which is one of a path, lets the program read no configuration but its own.
        self.program = shutil.copy(program(family), stem)
        logger = {"name": f"kea-dhcp{family}", "severity": "INFO", "output_options": [{"output": self.log, "flush": True}]}
        database = {"type": "memfile", "persist": True, "name": self.leases_file, "lfc-interval": 0}
        interfaces = {"interfaces": [f"lo/{address}"]} | ({"dhcp-socket-type": "udp"} if family == 4 else {})
        whole = {"interfaces-config": interfaces, "lease-database": database, "loggers": [logger],
                 "expired-leases-processing": {"hold-reclaimed-time": 0, "reclaim-timer-wait-time": 1}, **config}
        if family == 6:
            whole.setdefault("server-id", {"type": "EN", "enterprise-id": 1, "identifier": "0123456789abcdef", "persist": False})
        with open(self.config, "w", encoding="ascii") as f:
            json.dump({f"Dhcp{family}": whole}, f)
        # From 2.6.3 on leases and logs are where these say, and nowhere else; a process id's file has the name of the configuration.
        self.env = os.environ | {"KEA_PIDFILE_DIR": folder, "KEA_LOCKFILE_DIR": "none", "KEA_DHCP_DATA_DIR": folder, "KEA_LOG_FILE_DIR": folder}

    def text(self):
        """Its log."""
        return run.text_of(self.log)

    def start(self):
        """Start it, with the leases that it has given before; ready() waits for it."""
        self.starts = self.text().count(self.started) + 1
        self.process = subprocess.Popen([self.program, "-c", self.config, "-p", str(self.port)], env=self.env, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, process_group=0, preexec_fn=run.end_with_parent)

    def ready(self, seconds=START_S):
        """Wait until it takes messages. Raises Failure."""
        end = time.monotonic() + seconds
        while (said := self.text()).count(self.started) < self.starts:
            if self.process.poll() is not None or time.monotonic() > end:
                raise Failure(f"Kea does not start: {said[-3000:].strip() or self.process.poll()}")
            time.sleep(0.01)

    def stop(self):
        """End it, if it runs."""
        run.end(self.process)

    def kill(self):
        """End it at once, if it runs."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def leases(self):
        """What its file says last of each address: {address: row}."""
        with open(self.leases_file, encoding="ascii") as f:
            return {row["address"]: row for row in csv.DictReader(f)}

    def held(self):
        """The rows of addresses and prefixes that somebody has."""
        return {address: row for address, row in self.leases().items() if row["valid_lifetime"] != "0" and row["state"] == "0"}

    def has(self, address):
        """Is an address leased to somebody?"""
        return address in self.held()
