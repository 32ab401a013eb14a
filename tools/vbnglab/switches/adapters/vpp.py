# SPDX-License-Identifier: BSD-3-Clause
"""FD.io VPP, with vhost-user and memif, wired by l2patch or by bridge domains that learn."""

import re

from .base import Switch, version_of
from .dpdk_app import memif_port, nic_port, vhost_port

CONF = """unix {{
  nodaemon
  runtime-dir {folder}
  cli-listen {folder}/cli.sock
  log {folder}/vpp.log
  startup-config {folder}/setup.vpp
}}
api-segment {{ prefix {prefix} }}
cpu {{ main-core {cpu} }}
buffers {{ buffers-per-numa 65536 page-size default }}
{dpdk}
"""


class Vpp(Switch):
    name, title = "vpp", "VPP"
    needs = "packages vpp, vpp-plugin-core and vpp-plugin-dpdk of FD.io"
    kinds = ("vhost", "memif", "nic")
    modes = ("patch", "learn")

    @classmethod
    def probe(cls):
        return version_of("vpp", cls.needs, pattern=re.compile(r"vpp v(\S+)"))

    def attach(self, name, kind, number, device):
        if kind == "nic":
            return nic_port(name, number, device)
        if kind == "memif":
            return memif_port(self.folder, name, number)
        return vhost_port(self.folder, name, number)

    def _interfaces(self):
        """{port: (name in VPP, commands that make it)}."""
        out, vhosts = {}, 0
        for p in self.ports.values():
            if p.kind == "vhost":
                name = f"VirtualEthernet0/0/{vhosts}"
                vhosts += 1
                out[p.name] = name, [f"create vhost-user socket {p.at} server", f"set interface rx-mode {name} polling"]
            elif p.kind == "memif":
                name = f"memif1/{p.number}"
                out[p.name] = name, [f"create interface memif id {p.number} socket-id 1 master", f"set interface rx-mode {name} polling"]
            else:
                out[p.name] = f"nic{p.number}", []
        return out

    def files(self):
        nics = [p for p in self.ports.values() if p.kind == "nic"]
        devices = " ".join(f"dev {p.at} {{ name nic{p.number} }}" for p in nics)
        dpdk = f"dpdk {{ {devices} }}" if nics else "plugins { plugin dpdk_plugin.so { disable } }"
        interfaces, lines = self._interfaces(), []
        if any(p.kind == "memif" for p in self.ports.values()):
            lines.append(f"create memif socket id 1 filename {self.folder}/memif.sock")
        for name, commands in interfaces.values():
            lines += [*commands, f"set interface state {name} up"]
        for i, (a, b) in enumerate(self.pairs()):
            x, y = interfaces[a.name][0], interfaces[b.name][0]
            if self.connections[i][2] == "patch":
                lines += [f"test l2patch rx {x} tx {y}", f"test l2patch rx {y} tx {x}"]
            else:
                lines += [f"set interface l2 bridge {x} {i + 1}", f"set interface l2 bridge {y} {i + 1}"]
        conf = CONF.format(folder=self.folder, prefix=f"vb{self.tag}", cpu=self.cpus[0], dpdk=dpdk)
        return {"startup.conf": conf, "setup.vpp": "\n".join(lines) + "\n"}

    def daemon(self):
        return ["vpp", "-c", f"{self.folder}/startup.conf"]

    def ready_paths(self):
        return [f"{self.folder}/cli.sock"]

    def counters(self):
        """Counters from "show interface": a block of lines for each interface, which begins with its name."""
        names = {name: port for port, (name, _) in self._interfaces().items()}
        out, port = {}, None
        for line in self.run(["vppctl", "-s", f"{self.folder}/cli.sock", "show", "interface"]).splitlines():
            if line and not line[0].isspace():
                port = names.get(line.split()[0])
                if port:
                    out[port] = {"rx_packets": 0, "rx_drop": 0, "tx_packets": 0, "tx_drop": 0}
            match = re.search(r"\b(rx packets|tx packets|drops|rx-miss|tx-error)\s+(\d+)\s*$", line)
            if port and match:
                key = {"rx packets": "rx_packets", "tx packets": "tx_packets", "tx-error": "tx_drop"}.get(match[1], "rx_drop")
                out[port][key] += int(match[2])
        return out
