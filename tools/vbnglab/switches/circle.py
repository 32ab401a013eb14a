# SPDX-License-Identifier: BSD-3-Clause
"""A closed loop: a VNF hands on what comes in by each of its two ports to the other one, and the switch joins these two. So PACKETS go round for ever,
without a tester: switch and VNF have a CPU each where there are two, and what goes round in a second tells what both take for a packet.
"""

import shutil
import tempfile
import time

from ..lab import chain
from . import bench, configs, losses, pmd, scenarios
from .adapters.base import SwitchError

LEAD = 0.3  # seconds from the start of a VNF after which the first packet is let in, at least
PACKETS = 512  # in the circle, half of them each way: less than a queue holds, so that none is lost


class Lost(SwitchError):
    """Packets that were lost, as by a port of the switch that was not up yet."""


class Vbng(chain.Controlled):
    """vbng as that VNF, which lets the packets in by itself when a time has passed."""

    def fill(self):
        """Wait until they are in."""
        end = time.monotonic() + bench.READY_SECONDS
        while self.inside() < PACKETS and time.monotonic() < end:
            time.sleep(0.02)

    def ports_report(self):
        """What its ports have counted."""
        return self.ask({"cmd": "show-ports"})["ports"]

    def received(self):
        """Packets received by all ports."""
        return sum(p["rx_packets"] for p in self.ports_report())

    def inside(self):
        """Packets that it has let into the circle, and not dropped."""
        ledger = self.ask({"cmd": "show-ledger"})["ledger"]
        return ledger["created"] - ledger["dropped"]


class Circle:
    """A switch, and in turn each program as the VNF."""

    def __init__(self, adapter, setup, folder, cpus, vbng=None):
        """folder: for its configurations. cpus: of the switch, then of the VNF. Raises SwitchError where the scenario is not for the switch."""
        self.switch = adapter(tempfile.mkdtemp(prefix="vbng-lab-"), cpus[:1])
        self._vbng = vbng
        self.look = lambda: None  # called at both ends of the time that counts
        try:
            self._topology = scenarios.circle(setup.number)
            bench.wire(self.switch, self._topology, setup)
            (self._vnf,) = self._topology.vnfs
            self.where, self.shared = bench.placement(self.switch, self._topology, cpus)
            self._cpu = self.where[self._vnf.name]
            self._config = configs.write_circle(folder, self._vnf, self.switch, self._cpu, PACKETS)
        except BaseException:
            shutil.rmtree(self.switch.folder, ignore_errors=True)
            raise

    def _start(self, program, size, lead):
        if program == "vbng":
            settings = {f"{task}.{key}": value for task in configs.FILLS for key, value in (("size", size), ("start", f"{round(lead * 1000)}ms"))}
            return Vbng(self._vnf.name, self._config, self.switch.folder, settings, self._vbng)
        ports = [self.switch.ports[p] for p in self._vnf.ports]
        return pmd.Testpmd(self._vnf.name, ports, self._cpu, self.switch.folder, size=size, burst=PACKETS // len(ports))

    def pps(self, program, size, seconds):
        """Packets per second that the VNF receives by both ports together. program: "vbng" or "testpmd"; size: of a frame with FCS. Raises SwitchError, also
        where one was lost each time."""
        for patience in bench.PATIENCE:
            try:
                return self._pps(program, size, seconds, patience)
            except Lost as e:
                lost = e
        raise lost

    def _pps(self, program, size, seconds, patience):
        lead = patience * max(self.switch.lead, LEAD)
        self.switch.clean()
        vnf = None
        try:
            self.switch.start()
            vnf = self._start(program, size, lead)
            if not vnf.ready():
                raise SwitchError(f"{program} did not start: {vnf.running.output().strip()[-1000:]}")
            self._join(lead)
            vnf.fill()
            figure = pmd.steady(vnf.received, seconds, program, self.switch, self.look)
            self._whole(vnf.inside(), vnf.ports_report())
            return figure
        except OSError as e:
            raise SwitchError(f"{program}: {e}") from None
        finally:
            if vnf is not None:
                vnf.running.stop()
            self.switch.stop()

    def _join(self, lead):
        """Wait until all ports of the switch are up, and take packets."""
        end = time.monotonic() + bench.READY_SECONDS
        while not self.switch.up():
            if time.monotonic() > end:
                raise SwitchError(f"{self.switch.title}: a port is not up after {bench.READY_SECONDS:g} s")
            time.sleep(0.02)
        time.sleep(lead)

    def _whole(self, inside, ports):
        """Raise Lost where not all packets go round. inside: those that were let in; ports: of the VNF, what they have counted."""
        lost = losses.counted(self._topology, {self._vnf.name: {"ports": ports}}, self.switch.stats(), self.switch.lost_inside())
        if lost or inside != PACKETS:
            raise Lost(f"{inside} packets of {PACKETS} were let into the circle, and lost were {losses.numbers(lost) or 'none'}")
