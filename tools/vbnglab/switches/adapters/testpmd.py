# SPDX-License-Identifier: BSD-3-Clause
"""testpmd of DPDK with net_vhost: the reference, as little between two ports as can be."""

from .base import installed
from .dpdk_app import QUEUE, DpdkSwitch, dpdk_version

PORT_MBUFS = 4096  # mbufs for each port; more would take time at the start


class Testpmd(DpdkSwitch):
    name, title = "testpmd", "testpmd"
    needs = "Debian package dpdk-dev"

    @classmethod
    def probe(cls):
        path, why = installed("dpdk-testpmd", cls.needs)
        return (f"DPDK {dpdk_version() or 'unknown'}", "") if path else (None, why)

    def daemon(self):
        cpu = self.cpus[0]
        # both threads on one CPU, as the first only waits for commands
        return ["dpdk-testpmd", *self.eal(["--lcores", f"0@{cpu},1@{cpu}"]), "--", "--auto-start", "--forward-mode=io",
                "--port-topology=paired", f"--total-num-mbufs={PORT_MBUFS * len(self.ports)}", "--no-mlockall", f"--rxd={QUEUE}", f"--txd={QUEUE}"]
