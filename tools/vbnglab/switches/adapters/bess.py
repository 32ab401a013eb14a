# SPDX-License-Identifier: BSD-3-Clause
"""BESS: ports with net_vhost, joined by QueueInc and QueueOut.

Without huge pages (-m 0) its packet buffers, 262144 unless told otherwise, would not fit. Its gRPC server listens at a socket of the folder:
the file with the process id is there before it listens, and TCP needs a loopback interface that is up.
"""

import os
import re

from .base import Switch, version_of
from .dpdk_app import nic_port, vhost_port


BUFFERS = 65536  # packet buffers, a power of 2: 160 MiB of ordinary memory


class Bess(Switch):
    name, title = "bess", "BESS"
    needs = "bessd and bessctl (github.com/NetSys/bess)"
    kinds = ("vhost", "nic")
    lead = 1.0  # bessctl takes half a second to answer

    @classmethod
    def probe(cls):
        return version_of("bessd", cls.needs, pattern=re.compile(r"version (\S+)"), beside=("bessctl",))

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

    def daemon(self):
        return ["bessd", "-f", "-grpc_url", f"unix:{self.folder}/bess.sock", "-c", str(self.cpus[0]), "-m", "0", "-buffers", str(BUFFERS),
                "-i", f"{self.folder}/bessd.pid"]  # fmt: skip

    def ready_paths(self):
        return [f"{self.folder}/bess.sock"]

    def _control(self, *words):
        return ["bessctl", "daemon", "connect", f"unix:{self.folder}/bess.sock", "--", *words]

    def after(self):
        return [self._control("run", "file", os.path.join(self.folder, "switch.bess"))]

    def _blocks(self):
        """{port: lines} of "show port", where a block of lines for each port begins with its name."""
        out, names, block = {}, {f"p{p.number}": p.name for p in self.ports.values()}, []
        for line in self.run(self._control("show", "port")).splitlines():
            head = re.match(r"\s*(\S+)\s+Driver\b", line)
            if head:
                block = out.setdefault(names.get(head[1]), [])
            block.append(line)
        return {port: lines for port, lines in out.items() if port}

    def up(self):
        """Tell whether all ports have their peers."""
        blocks = self._blocks()
        return len(blocks) == len(self.ports) and all(any(re.search(r"\bLink UP\b", line) for line in b) for b in blocks.values())

    def counters(self):
        """Counters from lines "Inc/RX packets: N bytes: N" and "Out/TX packets: ...", each with a line "dropped: N" behind it."""
        out = {}
        for port, lines in self._blocks().items():
            entry, side = out.setdefault(port, {"rx_packets": 0, "rx_drop": 0, "tx_packets": 0, "tx_drop": 0}), "rx"
            for line in lines:
                match = re.search(r"(Inc/RX|Out/TX)\s+packets:\s*([\d,]+)", line)
                drop = re.search(r"dropped:\s*([\d,]+)", line)
                if match:
                    side = "rx" if match[1].startswith("Inc") else "tx"
                    entry[f"{side}_packets"] = int(match[2].replace(",", ""))
                if drop:
                    entry[f"{side}_drop"] = int(drop[1].replace(",", ""))
        return out
