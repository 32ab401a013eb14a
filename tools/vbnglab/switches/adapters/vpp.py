# SPDX-License-Identifier: BSD-3-Clause
"""FD.io VPP, with vhost-user and memif, wired by l2patch or by bridge domains that learn.

VPP reads startup-config about two seconds after its CLI's socket is there, and nothing tells when it has. So the set-up is a file that
the CLI is told to execute; it answers when the sockets of the ports are there.
"""

import re
import socket

from .base import Switch, SwitchError, version_of
from .dpdk_app import memif_port, nic_port, vhost_port

CONF = """unix {{
  nodaemon
  runtime-dir {folder}
  cli-listen {folder}/cli.sock
  log {folder}/vpp.log
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
    lead = 1.0

    @classmethod
    def probe(cls):
        return version_of("vpp", cls.needs, pattern=re.compile(r"vpp v(\S+)"), beside=("vppctl",))

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

    def ready(self, path):
        """VPP binds the CLI's socket before it listens there, and refuses who calls between."""
        with socket.socket(socket.AF_UNIX) as caller:
            return caller.connect_ex(path) == 0

    def _cli(self, *words):
        return ["vppctl", "-s", f"{self.folder}/cli.sock", *words]

    def after(self):
        return [self._cli("exec", f"{self.folder}/setup.vpp")]

    def run(self, command):
        """Run a command. Returns its output. Raises SwitchError where it fails; the CLI says so in words only."""
        said = super().run(command)
        if "exec" in command and (wrong := re.search(r"^.*\b(unknown|invalid|error|failed|failure|not found)\b.*$", said, re.M | re.I)):
            raise SwitchError(f"{self.title}: {wrong[0].strip()}\n{self.tail()}")
        return said

    def up(self):
        """Tell whether all ports have their peers, from the column Link of "show hardware-interfaces"."""
        said = self.run(self._cli("show", "hardware-interfaces"))
        return all(re.search(rf"^{re.escape(name)}\s+\d+\s+up\b", said, re.M) for name, _ in self._interfaces().values())

    def _count(self):
        """{name in VPP: {counter: packets}} from "show interface": a block of lines for each interface, which begins with its name; a
        counter of 0 has no line."""
        out, block = {}, {}
        for line in self.run(self._cli("show", "interface")).splitlines():
            if line and not line[0].isspace():
                block = out.setdefault(line.split()[0], {})
            match = re.search(r"\b(rx packets|tx packets|drops|rx-miss|rx-error|rx-no-buf)\s+(\d+)\s*$", line)
            if match:
                block[match[1]] = int(match[2])
        return out

    def _unsent(self):
        """{name in VPP: packets that its transmit node has dropped} from "show errors"."""
        out = {}
        for line in self.run(self._cli("show", "errors")).splitlines():
            match = re.match(r"\s*(\d+)\s+(\S+)-tx\s", line)
            if match:
                out[match[2]] = out.get(match[2], 0) + int(match[1])
        return out

    def counters(self):
        """Counters of the ports. "rx packets" has what was dropped later, "tx packets" what the transmit node dropped; "rx-miss",
        "rx-error" and "rx-no-buf" are beside them."""
        count, unsent, out = self._count(), self._unsent(), {}
        for port, (name, _) in self._interfaces().items():
            c, lost = count.get(name), unsent.get(name, 0)
            if c is not None:
                out[port] = {"rx_packets": c.get("rx packets", 0), "rx_drop": sum(c.get(k, 0) for k in ("rx-miss", "rx-error", "rx-no-buf")),
                             "tx_packets": c.get("tx packets", 0) - lost, "tx_drop": lost}
        return out

    def lost_inside(self):
        """"drops" of the interfaces, but for those of vhost-user's transmit nodes, which are in them and in counters()."""
        count, unsent = self._count(), self._unsent()
        drops = sum(c.get("drops", 0) for c in count.values())
        return {"drops": drops - sum(unsent.get(name, 0) for name in count if name.startswith("VirtualEthernet"))}
