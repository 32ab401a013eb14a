# SPDX-License-Identifier: BSD-3-Clause
"""BESS: ports with net_vhost, joined by QueueInc and QueueOut."""

import os
import re

from .base import Switch, version_of
from .dpdk_app import nic_port, vhost_port


class Bess(Switch):
    name, title = "bess", "BESS"
    needs = "bessd and bessctl (github.com/NetSys/bess)"
    kinds = ("vhost", "nic")

    @classmethod
    def probe(cls):
        return version_of("bessd", cls.needs, pattern=re.compile(r"version (\S+)"))

    def attach(self, name, kind, number, device):
        return nic_port(name, number, device) if kind == "nic" else vhost_port(self.folder, name, number)

    def files(self):
        lines = []
        for p in self.ports.values():
            made = f"vdev='net_vhost{p.number},iface={p.at},queues=1'" if p.kind == "vhost" else f"pci='{p.at}'"
            lines.append(f"p{p.number}::PMDPort({made})")
        for a, b in self.pairs():
            lines += [f"QueueInc(port=p{x.number}, qid=0) -> QueueOut(port=p{y.number}, qid=0)" for x, y in ((a, b), (b, a))]
        return {"switch.bess": "\n".join(lines) + "\n"}

    def _port(self):
        """TCP port of the control interface of this switch."""
        return str(20000 + int(self.tag, 16) % 20000)

    def daemon(self):
        return ["bessd", "-f", "-p", self._port(), "-c", str(self.cpus[0]), "-m", str(self.memory_mib), "-i", f"{self.folder}/bessd.pid"]

    def ready_paths(self):
        return [f"{self.folder}/bessd.pid"]

    def _control(self, *words):
        return ["bessctl", "daemon", "connect", f"localhost:{self._port()}", "--", *words]

    def after(self):
        return [self._control("run", "file", os.path.join(self.folder, "switch.bess"))]

    def counters(self):
        """Counters from "show port", which prints the name of a port, then lines Inc/RX and Out/TX with packets and drops."""
        out, names, port = {}, {f"p{p.number}": p.name for p in self.ports.values()}, None
        for line in self.run(self._control("show", "port")).splitlines():
            head = re.match(r"\s*(p\d+)\b", line)
            port = names.get(head[1], port) if head else port
            match = re.search(r"(Inc/RX|Out/TX)\s+packets:\s*([\d,]+).*", line)
            drop = re.search(r"dropped:\s*([\d,]+)", line)
            if port and match:
                side = "rx" if match[1].startswith("Inc") else "tx"
                entry = out.setdefault(port, {"rx_packets": 0, "rx_drop": 0, "tx_packets": 0, "tx_drop": 0})
                entry[f"{side}_packets"] = int(match[2].replace(",", ""))
                entry[f"{side}_drop"] = int(drop[1].replace(",", "")) if drop else 0
        return out
