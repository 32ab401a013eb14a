# SPDX-License-Identifier: BSD-3-Clause
"""Snabb: a program in Lua that joins apps VhostUser by links. It is the client of the sockets, and starts when the VNFs
have made them; it takes legacy virtio features and memory that does not grow."""

from .base import Switch, version_of
from .dpdk_app import vhost_port


class Snabb(Switch):
    name, title = "snabb", "Snabb"
    needs = "snabb (github.com/snabbco/snabb)"
    after_vnf = True
    vnf_memory = "static"

    @classmethod
    def probe(cls):
        return version_of("snabb", cls.needs)

    def attach(self, name, kind, number, device):
        return vhost_port(self.folder, name, number, vnf_server=True)

    def files(self):
        lines = ['local app, config = require("core.app"), require("core.config")',
                 'local vhost = require("apps.vhost.vhost_user").VhostUser', "local c = config.new()"]  # fmt: skip
        for p in self.ports.values():
            lines.append(f'config.app(c, "p{p.number}", vhost, {{socket_path = "{p.at}", is_server = false}})')
        for a, b in self.pairs():
            lines += [f'config.link(c, "p{a.number}.tx -> p{b.number}.rx")', f'config.link(c, "p{b.number}.tx -> p{a.number}.rx")']
        return {"switch.lua": "\n".join([*lines, "app.configure(c)", "app.main()"]) + "\n"}

    def daemon(self):
        return ["taskset", "-c", str(self.cpus[0]), "snabb", "snsh", f"{self.folder}/switch.lua"]
