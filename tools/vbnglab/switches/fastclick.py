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
        return version_of("click", cls.needs, pattern=re.compile(r"[Cc]lick\S* (?:version )?(\S+)"))

    def files(self):
        lines = []
        for i in range(0, len(self.ordered()), 2):
            lines += [f"FromDPDKDevice({i}, PROMISC true) -> ToDPDKDevice({i + 1});", f"FromDPDKDevice({i + 1}, PROMISC true) -> ToDPDKDevice({i});"]
        return {"switch.click": "\n".join(lines) + "\n"}

    def daemon(self):
        return ["click", "--dpdk", *self.eal(["-l", str(self.cpus[0])]), "--", f"{self.folder}/switch.click"]
