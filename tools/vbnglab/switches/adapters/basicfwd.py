# SPDX-License-Identifier: BSD-3-Clause
"""basicfwd, DPDK's skeleton example: ports in pairs, nothing else. Built here from the sources of the package."""

import os
import shlex

from .base import SwitchError, installed
from .dpdk_app import DpdkSwitch, dpdk_version

SOURCE = "/usr/share/dpdk/examples/skeleton/basicfwd.c"


class Basicfwd(DpdkSwitch):
    name, title = "basicfwd", "basicfwd"
    needs = "Debian packages dpdk-doc, gcc and libdpdk-dev"

    @classmethod
    def probe(cls):
        if not os.path.exists(SOURCE):
            return None, f"{SOURCE} is not there ({cls.needs})"
        for program in ("gcc", "pkg-config"):
            if installed(program, cls.needs)[0] is None:
                return None, installed(program, cls.needs)[1]
        version = dpdk_version()
        return (f"DPDK {version}", "") if version else (None, f"pkg-config does not know libdpdk ({cls.needs})")

    def program(self):
        """Path of the program, which is built from DPDK's examples."""
        return os.path.join(self.folder, "basicfwd")

    def before(self):
        there = f"test -x {shlex.quote(self.program())}"
        build = f"{there} || gcc -O3 $(pkg-config --cflags libdpdk) {SOURCE} -o {shlex.quote(self.program())} $(pkg-config --libs libdpdk)"
        return [["sh", "-c", build]]

    def daemon(self):
        if len(self.ports) < 2 or len(self.ports) % 2:
            raise SwitchError(f"basicfwd takes ports in pairs, not {len(self.ports)}")
        return [self.program(), *self.eal(["-l", str(self.cpus[0])])]
