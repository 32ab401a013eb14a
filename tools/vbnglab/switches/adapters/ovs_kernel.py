# SPDX-License-Identifier: BSD-3-Clause
"""Open vSwitch with the datapath of the kernel, a bridge for each connection, in a namespace and with a database of its
own."""

import re

from .base import version_of
from .kernel import KernelSwitch, module

SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"


class OvsKernel(KernelSwitch):
    name, title = "ovs-kernel", "OvS (kernel)"
    needs = "Debian package openvswitch-switch, and the module openvswitch of the kernel"

    @classmethod
    def kernel(cls):
        if not module("openvswitch"):
            return None, "the kernel's module openvswitch is not loaded (modprobe openvswitch)"
        return version_of("ovs-vsctl", cls.needs, pattern=re.compile(r"Open vSwitch\) (\S+)"))

    def _db(self, *words):
        return ["ovs-vsctl", "--timeout=30", f"--db=unix:{self.folder}/db.sock", *words]

    def wiring(self):
        d = self.folder
        return [["rm", "-f", f"{d}/conf.db"], ["ovsdb-tool", "create", f"{d}/conf.db", SCHEMA],
                ["ovsdb-server", f"{d}/conf.db", f"--remote=punix:{d}/db.sock", f"--unixctl={d}/db.ctl", f"--pidfile={d}/db.pid",
                 f"--log-file={d}/db.log", "--detach", "--no-chdir"],
                self._db("--no-wait", "init")]  # fmt: skip

    def daemon(self):
        d = self.folder
        return self.inside("env", f"OVS_RUNDIR={d}", "ovs-vswitchd", f"unix:{d}/db.sock", f"--unixctl={d}/switch.ctl", f"--log-file={d}/switch.log")

    def ready_paths(self):
        return [f"{self.folder}/switch.ctl"]

    def after(self):
        out = []
        for i, (a, b) in enumerate(self.pairs()):
            bridge, socket = f"br{i}", f"unix:{self.folder}/br{i}.mgmt"
            out.append(["env", f"OVS_RUNDIR={self.folder}", *self._db("add-br", bridge, "--", "set", "bridge", bridge, "datapath_type=system")])
            for n, p in enumerate((a, b), 1):
                out.append(self._db("add-port", bridge, p.at, "--", "set", "Interface", p.at, f"ofport_request={n}"))
            if self.connections[i][2] == "patch":
                out += [["ovs-ofctl", "del-flows", socket], ["ovs-ofctl", "add-flow", socket, "in_port=1,actions=output:2"],
                        ["ovs-ofctl", "add-flow", socket, "in_port=2,actions=output:1"]]
        return out

    def undo(self):
        return [["ovs-appctl", "-t", f"{self.folder}/db.ctl", "exit"], *super().undo()]
