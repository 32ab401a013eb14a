# SPDX-License-Identifier: BSD-3-Clause
"""VNFs of a scenario in guests of vbng-lab vm, one in each, in the place of processes of the host: behind vhost-user sockets, or at tap
interfaces where the kernel is the switch. A guest has one CPU, on which its vbng runs."""

import os

from ..lab import run
from ..lab.failure import Failure
from ..vm import image, qemu
from ..vm.guest import Vm, program
from ..vm.topology import Topology
from .adapters.base import SwitchError

KINDS = ("vhost", "tap")  # of ports that a guest can be at
CORE = "0"  # of a guest


def kind(switch):
    """The kind of the ports of a switch that VNFs in guests are at. Raises SwitchError where it has none."""
    found = next((k for k in switch.kinds if k in KINDS), None)
    if found is None:
        raise SwitchError(f"{switch.title} has no ports for a guest: they are of kind {' or '.join(switch.kinds)}, and a guest takes {' or '.join(KINDS)}")
    return found


def cpu():
    """How the CPU of guests is made, and why so: figures of an emulated one are none of KVM's."""
    accel, why = qemu.choose_accelerator()
    return f"{accel.upper()} ({why})"


def _port(port, switch):
    """What is behind a port of the guest: a Port of a switch."""
    return qemu.Port(port.kind, port.at, server=port.role == "server", legacy=not switch.modern)


class Guest:
    """A VNF in a guest, which boots at once. It answers what bench.SwitchRig asks of a VNF."""

    def __init__(self, vm):
        self._vm = vm

    @property
    def running(self):
        """The process, which is itself."""
        return self

    @property
    def pid(self):
        """Process id of QEMU."""
        return self._vm.pid

    def ready(self):
        """Wait until it forwards. Returns False if it does not; output() says why."""
        return self._vm.ready()

    def output(self):
        """Why it does not run, after which it has ended."""
        return self._vm.stop().error

    def stop(self):
        """End it. Returns a run.Result."""
        r = self._vm.stop()
        return run.Result(r.ok, r.status, r.error, r.report, r.command, r.wall)


class Guests:
    """Makes guests. Their program, vbng or else one that suits their CPU, and its image are there before the first trial: what makes them takes the
    CPUs of a switch that runs already. Raises SwitchError."""

    def __init__(self, vbng=None):
        try:
            self.vbng = program(qemu.choose_accelerator()[0], vbng)
            image.prepare(self.vbng)
        except Failure as e:
            raise SwitchError(str(e)) from e

    def start(self, name, config, switch, ports, cpu):
        """Start a VNF with a configuration at these Ports of a switch, on a CPU of the host. Raises SwitchError."""
        spec = qemu.Spec(config, [_port(p, switch) for p in ports], Topology(1, 1, 1), [cpu])
        try:
            return Guest(Vm(spec, os.path.join(switch.folder, f"{name}.guest"), vbng=self.vbng, within=switch.inside()))
        except Failure as e:
            raise SwitchError(f"{name}: {e}") from e
