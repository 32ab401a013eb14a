# SPDX-License-Identifier: BSD-3-Clause
"""The gateway in a virtual machine, its tester on the host, with or without a switch between them."""

import os
import shutil
import tempfile
from dataclasses import dataclass, field

from ..lab import chain, run
from ..lab.chain import PORTS, Tester
from ..lab.ovs import OvsDpdk, SwitchError
from ..lab.places import CONFIGURATIONS
from .guest import Vm, VmResult
from .qemu import Spec, parse_port


@dataclass(frozen=True)
class Outcome:
    """Outcome of a demonstration."""

    tester: run.Result | None
    guest: VmResult | None
    switch: dict | None  # {port: its counters}; None: no switch
    inside: int = 0  # packets that the switch has lost and counts at no port
    faults: list = field(default_factory=list)  # what is wrong, as sentences

    @property
    def ok(self):
        return not self.faults

    def table(self, seconds):
        """Lines for a terminal, where the outcome is ok."""
        return chain.table(self.tester.report, self.guest.report, self.switch, seconds, self.inside)


def _behind_switch(folder, spec, seconds, rate, options, vbng):
    with OvsDpdk(os.path.join(folder, "ovs")) as switch:
        attached = {p: switch.add_port(p) for p in PORTS}
        for p in PORTS:
            switch.add_port(f"t_{p}")
            switch.connect(p, f"t_{p}")
        switch.start()
        with Tester(f"{CONFIGURATIONS}/gen-virtio-user.cfg", switch.folder, rate, vbng) as tester:
            with Vm(spec([parse_port(attached[p].guest_port) for p in PORTS]), **options) as vm:
                sent = vm.ready(tester.gone) and tester.send(seconds)
                # read while all run, as Open vSwitch resets the counters of a port whose peer leaves
                counters, inside = (switch.stats(), sum(switch.lost_inside().values())) if sent else (None, 0)
                return tester.running.stop(), vm.stop(), counters, inside, sent


def _direct(folder, spec, seconds, rate, options, vbng):
    with Tester(f"{CONFIGURATIONS}/gen-vhost.cfg", folder, rate, vbng) as tester:
        with Vm(spec([parse_port(f"vhost:{folder}/{p}.sock") for p in PORTS]), **options) as vm:
            sent = vm.ready(tester.gone) and tester.send(seconds)
            return tester.running.stop(), vm.stop(), None, 0, sent


def demonstrate(seconds, rate="20kpps", switch="ovs", config=None, tester_vbng=None, **options):
    """Run the demonstration. switch: "ovs" or "none". options: folder, cache, accel, vbng of Vm. Returns an Outcome. Raises
    ImageError, SpecError or SwitchError where it cannot begin."""
    config = config or os.path.join(CONFIGURATIONS, "bng-vm.cfg")
    folder = tempfile.mkdtemp(prefix="vbng-demo-")
    try:
        way = _behind_switch if switch == "ovs" else _direct
        tester, guest, counters, inside, sent = way(
            folder, lambda ports: Spec(config, ports), seconds, rate, options, tester_vbng)
    except SwitchError as e:
        return Outcome(None, None, None, faults=[str(e)])
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    faults = [f"{name}: {r.error}" for name, r in (("guest", guest), ("tester", tester)) if not r.ok]
    if not faults and not sent:
        faults.append("the tester did not answer on its control socket")
    if not faults:
        faults = chain.account(tester.report, guest.report, counters, inside)
        faults += chain.stream_faults(chain.streams(tester.report))
    return Outcome(tester, guest, counters, inside, faults)
