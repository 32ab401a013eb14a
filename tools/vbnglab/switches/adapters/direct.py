# SPDX-License-Identifier: BSD-3-Clause
"""No switch: the two ports of a connection are the two ends of a memif. The baseline, and what generator and VNFs can
do at most."""

import os
from dataclasses import replace

from .base import Port, Switch
from .dpdk_app import dpdk_version


class Direct(Switch):
    name, title = "direct", "no switch (memif)"
    kinds = ("memif",)
    modes = ("patch", "learn")
    own_cpu = False

    @classmethod
    def probe(cls):
        return f"DPDK {dpdk_version() or 'unknown'}", ""

    def attach(self, name, kind, number, device):
        return Port(name, kind, number, "", os.path.join(self.folder, f"{name}.sock"), "server")

    def connect(self, a, b, mode="patch"):
        """Record a connection, which decides the devices: the first port makes the socket."""
        super().connect(a, b, mode)
        for name, role in ((a, "server"), (b, "client")):
            port = self.ports[name]
            path = self.ports[a].at
            self.ports[name] = replace(port, at=path, role=role, device=(
                f"net_memif{port.number},role={role},id=0,socket={path},socket-abstract=no"))
