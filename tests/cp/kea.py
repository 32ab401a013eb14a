# SPDX-License-Identifier: BSD-3-Clause
"""ISC Kea on the loopback interface, as the server of DHCP behind vbng-cp."""

import csv
import json
import os
import shutil
import socket
import subprocess
import time

from tests.common import need
from tests.common.limits import limit


def free_port(address="127.0.0.1"):
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind((address, 0))
        return s.getsockname()[1]


def program(family):
    """Its path; skips where it is missing."""
    name = f"kea-dhcp{family}"
    path = shutil.which(name) or shutil.which(name, path="/usr/sbin")
    if path is None:
        need.skip(f"{name} is not here (Debian package {name}-server)")
    return path


def answers_any_port():
    """Does it take DHCPv4 of relays with a port of their own (RFC 8357)? 2.2.0 does; 2.6.3 drops it."""
    said = subprocess.run([program(4), "-v"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return tuple(int(n) for n in said.split()[0].split(".")) < (2, 3)


class Kea:
    """kea-dhcp4 on 127.0.0.1, or kea-dhcp6 on ::1, at a port of its own where none is said."""

    def __init__(self, folder, family=4, port=None, **config):
        self.program = program(family)
        address = "127.0.0.1" if family == 4 else "::1"
        self.port, self.started = port or free_port(address), f"DHCP{family}_STARTED"
        self.leases_file, self.log, self.config = (os.path.join(folder, f"kea{family}.{end}") for end in ("csv", "log", "json"))
        logger = {"name": f"kea-dhcp{family}", "severity": "INFO", "output_options": [{"output": self.log, "flush": True}]}
        database = {"type": "memfile", "persist": True, "name": self.leases_file, "lfc-interval": 0}
        interfaces = {"interfaces": [f"lo/{address}"]} | ({"dhcp-socket-type": "udp"} if family == 4 else {})
        whole = {"interfaces-config": interfaces, "lease-database": database, "loggers": [logger],
                 "expired-leases-processing": {"hold-reclaimed-time": 0, "reclaim-timer-wait-time": 1}, **config}
        if family == 6:
            whole["server-id"] = {"type": "EN", "enterprise-id": 1, "identifier": "0123456789abcdef", "persist": False}
        with open(self.config, "w", encoding="ascii") as f:
            json.dump({f"Dhcp{family}": whole}, f)
        # From 2.6.3 on leases and logs are where these say, and nowhere else.
        self.env = os.environ | {"KEA_PIDFILE_DIR": folder, "KEA_LOCKFILE_DIR": "none", "KEA_DHCP_DATA_DIR": folder, "KEA_LOG_FILE_DIR": folder}
        self.process = None
        self.start()

    def text(self):
        if not os.path.exists(self.log):
            return ""
        with open(self.log, encoding="utf-8") as f:
            return f.read()

    def start(self):
        before = self.text().count(self.started)
        self.process = subprocess.Popen([self.program, "-c", self.config, "-p", str(self.port)], env=self.env,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + limit(20)
        while self.text().count(self.started) == before:
            assert self.process.poll() is None and time.monotonic() < end, self.text()
            time.sleep(0.01)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(limit(10))
        finally:
            self.process.kill()

    def leases(self):
        """What its file says last of each address: {address: row}."""
        with open(self.leases_file, encoding="ascii") as f:
            return {row["address"]: row for row in csv.DictReader(f)}

    def has(self, address):
        """Is an address leased to somebody?"""
        row = self.leases().get(address)
        return row is not None and row["valid_lifetime"] != "0" and row["state"] == "0"
