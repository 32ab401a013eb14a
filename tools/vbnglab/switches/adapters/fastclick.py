# SPDX-License-Identifier: BSD-3-Clause
"""FastClick: FromDPDKDevice to ToDPDKDevice, ports as virtual devices of its command line."""

import re

from .base import version_of
from .dpdk_app import DpdkSwitch


class FastClick(DpdkSwitch):
    name, title = "fastclick", "FastClick"
    needs = "click with --enable-dpdk (github.com/tbarbette/fastclick)"

    @classmethod
    def probe(cls):
        # unbuffered, as it may crash at its end with DPDK 22.11; Debian's package click is another program
        version, why = version_of("click", cls.needs, pattern=re.compile(r"FastClick\) (\S+)"), unbuffered=True)
        if version and not re.match(r"\d", version):
            return None, f"click is in PATH, but it is not FastClick ({cls.needs})"
        return version, why

    def files(self):
        lines = []
        for i in range(0, len(self.ordered()), 2):
            lines += [f"FromDPDKDevice({i}, PROMISC true) -> ToDPDKDevice({i + 1});", f"FromDPDKDevice({i + 1}, PROMISC true) -> ToDPDKDevice({i});"]
        return {"switch.click": "\n".join(lines) + "\n"}

    def daemon(self):
        return ["click", "--dpdk", *self.eal(["-l", str(self.cpus[0])]), "--", f"{self.folder}/switch.click"]
