# SPDX-License-Identifier: BSD-3-Clause
"""Open vSwitch with DPDK, in a private folder: the adapter over vbnglab.ovs."""

import contextlib
import os

from ...lab import ovs
from .base import Switch
from .dpdk_app import nic_port, vhost_port


class Recorder(ovs.OvsDpdk):
    """A switch that records its commands instead of running them."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.lines = []

    def _daemon(self, name, command):
        self.lines.append([*command, "--no-chdir", f"--log-file={self.folder}/{name}.log", "--detach"])

    def _run(self, *command):
        if "get" not in command:  # a question
            self.lines.append(list(command))
        return ""

    def _wait_for(self, path):
        pass

    def record(self):
        """The commands."""
        self._start()
        return self.lines


class OvsDpdk(Switch):
    name, title = "ovs-dpdk", "OvS-DPDK"
    needs = "Debian package openvswitch-switch-dpdk"
    kinds = ("vhost", "nic")  # it sends to a memif by a second queue, which a peer with one core does not have
    modes = ("patch", "learn")
    lead = 0.5

    @classmethod
    def probe(cls):
        return ovs.probe()

    def attach(self, name, kind, number, device):
        if kind == "nic":
            return nic_port(name, number, device)
        return vhost_port(self.folder, name, number, vnf_server=True)

    def _fill(self, made):
        for p in self.ports.values():
            if p.kind == "vhost":
                made.add_port(p.name)
            else:
                made.add_device(p.name, p.at)
        for a, b, mode in self.connections:
            made.connect(a, b, mode)
        return made

    def before(self):
        """The commands of lab.ovs, which start() lets run there."""
        made = Recorder(self.folder, self.cpus, self.memory_mib)
        return [["export", f"OVS_RUNDIR={self.folder}"], *self._fill(made).record()]

    def render(self):
        return super().render().replace(f"--file-prefix=ovs{os.getpid()}", f"--file-prefix=vb{self.tag}")

    def _start(self):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(self.folder, "conf.db"))
        self._ovs = self._fill(ovs.OvsDpdk(self.folder, self.cpus, self.memory_mib))
        self._ovs.start()

    _ovs = None

    @property
    def pids(self):
        return self._ovs.pids if self._ovs else []

    def alive(self):
        return self._ovs is None or self._ovs.alive()

    def tail(self):
        return self._ovs.tail() if self._ovs else ""

    def counters(self):
        return self._ovs.stats()

    def up(self):
        return self._ovs.up()

    def lost_inside(self):
        return self._ovs.lost_inside()

    def stop(self):
        made, self._ovs = self._ovs, None
        if made is not None:
            made.stop()
