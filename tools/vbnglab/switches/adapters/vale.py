# SPDX-License-Identifier: BSD-3-Clause
"""VALE, and mSwitch with its default lookup, of netmap: a bridge valeN: for each connection, to which the ends of veth
pairs are attached."""

from .base import installed
from .kernel import KernelSwitch, module


class Vale(KernelSwitch):
    name, title = "vale", "VALE / mSwitch"
    modes = ("learn",)
    needs = "netmap (github.com/luigirizzo/netmap): module and vale-ctl"

    @classmethod
    def kernel(cls):
        if not module("netmap"):
            return None, f"the kernel's module netmap is not loaded ({cls.needs})"
        path, why = installed("vale-ctl", cls.needs)
        return ("netmap", "") if path else (None, why)

    def wiring(self):
        return [self.inside("vale-ctl", "-a", f"vale{i}:{p.at}") for i, pair in enumerate(self.pairs()) for p in pair]

    def undo(self):
        detach = [self.inside("vale-ctl", "-d", f"vale{i}:{p}") for i, c in enumerate(self.connections)
                  for p in (self.ports[c[0]].at, self.ports[c[1]].at)]  # fmt: skip
        return [*detach, *super().undo()]
