# SPDX-License-Identifier: BSD-3-Clause
"""ISC Kea on the loopback interface, as the server of DHCP behind vbng-cp."""

import glob
import os
import socket

from tests.common import need
from tests.common.limits import limit
from vbnglab.lab import kea as lab
from vbnglab.lab.failure import Failure


def free_port(address="127.0.0.1"):
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind((address, 0))
        return s.getsockname()[1]


def need_kea(family):
    """Skips where it is missing."""
    try:
        lab.program(family)
    except Failure as e:
        need.skip(str(e))


def answers_any_port():
    """Does it take DHCPv4 of relays with a port of their own (RFC 8357)? 2.2.0 does; 2.6.3 drops it."""
    need_kea(4)
    return lab.version(4) < (2, 3)


def hooks(*names):
    """Libraries that it loads, as its configuration names them; skips where one is missing. names: of pairs (library, its parameters)."""
    folders = glob.glob("/usr/lib/*/kea/hooks") or ["/usr/lib/kea/hooks"]
    found = []
    for name, parameters in names:
        path = os.path.join(folders[0], f"libdhcp_{name}.so")
        if not os.path.exists(path):
            need.skip(f"Kea's {path} is not here (Debian package kea-common)")
        found.append({"library": path} | ({"parameters": parameters} if parameters else {}))
    return found


class Kea(lab.Kea):
    """As vbng-lab starts it: on 127.0.0.1 or ::1 where no address is said, at a port of its own where none is said."""

    def __init__(self, folder, family=4, port=None, address=None, **config):
        need_kea(family)
        address = address or ("127.0.0.1" if family == 4 else "::1")
        super().__init__(folder, family, address, port or free_port(address), **config)
        self.start()

    def start(self):
        """Returns when it takes messages."""
        super().start()
        self.ready(limit(20))

    def close(self):
        self.stop()
