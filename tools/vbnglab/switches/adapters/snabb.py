# SPDX-License-Identifier: BSD-3-Clause
"""Snabb: a program in Lua that joins apps VhostUser by links. It connects to the sockets that the VNFs make, offers
virtio without VIRTIO_F_VERSION_1, and takes memory that does not grow. It would reserve huge pages one by one as it
runs, and leave them: here they are there before, and given back."""

import os
import re

from ...lab import hugepages, run
from .base import Switch, SwitchError, version_of
from .dpdk_app import vhost_port

PAGES, PORT_PAGES = 16, 12  # number of huge pages of 2 MiB: twice what fills all links
# DPDK 22.11 sends a device without VIRTIO_F_VERSION_1 no VHOST_USER_SET_FEATURES when it first connects, and Snabb ends at the
# first packet: so it is told what both have, VIRTIO_NET_F_MRG_RXBUF and VIRTIO_RING_F_INDIRECT_DESC. And it looks for
# requests twice a second, of which a port needs many, one after the other: here every 10 ms.
# A VNF that a Snabb was joined to before asks for the state of its queues before it gives them, and nil ends Snabb, too.
# So does VHOST_USER_SET_VRING_ERR, which QEMU sends from 7.2 on with a descriptor to be told of errors by; and work at a port whose queues QEMU has
# enabled, or kicked one of them, before it has said where both are.
# Packets are made before the start, a full link of them for each port: it would make them at the first ones that come, and take none for 60 ms.
RUN = """function vhost:set_vring_err(_, fds, n)
   for i = 0, n - 1 do require("ffi").C.close(fds[i]) end
end
for _, name in ipairs({"pull", "push"}) do
   local work = vhost[name]
   vhost[name] = function (self)
      if not self.connected or self.dev:ready() then work(self) end
   end
end
local kick = vhost.set_vring_kick
function vhost:set_vring_kick(...)
   kick(self, ...)
   if self.dev:ready() then io.stderr:write("up: ", self.socket_path, "\\n") end
end
app.configure(c)
local packet, held = require("core.packet"), {}
for _, port in pairs(app.app_table) do
   port.dev:set_features(0x10008000)
   for _, queue in pairs(port.dev.virtq) do queue.avail = 0 end
   for _ = 1, 1024 do table.insert(held, packet.allocate()) end
   port.process_qemu_timer = require("core.timer").new("requests", function () port:process_qemu_requests() end, 1e7)
end
for _, p in ipairs(held) do packet.free(p) end
app.main()
"""


class Snabb(Switch):
    name, title = "snabb", "Snabb"
    needs = "snabb (github.com/snabbco/snabb)"
    forgets = False
    modern = False
    vnf_memory = "static"
    lead = 0.5

    @classmethod
    def probe(cls):
        version, why = version_of("snabb", cls.needs, pattern=re.compile(r"snabb (\S+)"))
        if version and os.geteuid() != 0:
            return None, "Snabb reserves huge pages, which needs root"
        return version, why

    def attach(self, name, kind, number, device):
        return vhost_port(self.folder, name, number, vnf_server=True)

    def _links(self):
        """[(from, to)] of Ports, both ways."""
        return [way for a, b in self.pairs() for way in ((a, b), (b, a))]

    def files(self):
        lines = ['local app, config = require("core.app"), require("core.config")',
                 'local vhost = require("apps.vhost.vhost_user").VhostUser', "local c = config.new()"]  # fmt: skip
        for p in self.ports.values():
            lines.append(f'config.app(c, "p{p.number}", vhost, {{socket_path = "{p.at}", is_server = false}})')
        lines += [f'config.link(c, "p{a.number}.tx -> p{b.number}.rx")' for a, b in self._links()]
        return {"switch.lua": "\n".join(lines) + "\n" + RUN}

    def daemon(self):
        """The command, in a mount namespace, with which the hugetlbfs that Snabb mounts ends."""
        return ["unshare", "-m", "sh", "-c", 'mkdir -p /run/snabb && mount -t tmpfs none /run/snabb && exec "$@"', "sh",
                "env", f"SNABB_SHM_ROOT={self.folder}/shm", "SNABB_SHM_KEEP=1",
                "taskset", "-c", str(self.cpus[0]), "snabb", "snsh", f"{self.folder}/switch.lua"]  # fmt: skip

    _before = 0  # length of the output of earlier starts
    _pages = None  # the context in which the huge pages are reserved

    def _start(self):
        self._pages = hugepages.Reserved("2M", PAGES + PORT_PAGES * len(self.ports))
        try:
            self._pages.__enter__()
        except hugepages.NoPages as e:
            raise SwitchError(f"{self.title}: {e}") from None
        self._before = len(run.text_of(self._output))
        super()._start()

    def up(self):
        """Tell whether both queues of each port have been given: until then what its peer sends waits in the ring, or is dropped there."""
        said = run.text_of(self._output)[self._before:].splitlines()
        return all(f"up: {p.at}" in said for p in self.ports.values())

    def _count(self, a, b, name):
        """A counter of the link from a to b, which is a file of 8 bytes."""
        try:
            with open(f"{self.folder}/shm/{self.pids[0]}/links/p{a.number}.tx -> p{b.number}.rx/{name}.counter", "rb") as f:
                return int.from_bytes(f.read(8), "little")
        except OSError as e:
            raise SwitchError(f"{self.title}'s counters: {e}") from None

    def counters(self):
        """Counters of the links: what goes into one is what its port has received, what comes out is what the peer sends."""
        out = {p.name: {} for p in self.ports.values()}
        for a, b in self._links():
            out[a.name].update(rx_packets=self._count(a, b, "txpackets"), rx_drop=self._count(a, b, "txdrop"))
            out[b.name].update(tx_packets=self._count(a, b, "rxpackets"), tx_drop=0)
        return out

    def undo(self):
        marks = [f"/tmp/vhost_features_{p.at.replace('/', '__')}" for p in self.ports.values()]
        return [["rm", "-rf", f"{self.folder}/shm", *marks]]

    def stop(self):
        super().stop()
        pages, self._pages = self._pages, None
        if pages is not None:
            pages.__exit__()
