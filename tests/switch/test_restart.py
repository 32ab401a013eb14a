# SPDX-License-Identifier: BSD-3-Clause
"""Who goes and comes back: the switch, its sockets with it, and the VNF. vbng runs on, counts, and is joined again."""

import contextlib
import os
import signal
import time

import pytest

from tests.common.limits import limit
from tests.common.verdict import nothing, unless
from tests.switch.bed import LIMIT, Bed, installed
from vbnglab.switches import adapters
from vbnglab.switches.adapters.base import SwitchError

TOLD = [f"port v1{x}: its peer {what}" for x in "ab" for what in ("has gone", "is back")]


def switch_restarts(bed):
    """Stopped, away for a while, started again."""
    wrong = bed.flows("at first")
    bed.switch.stop()
    time.sleep(0.4)
    if not bed.vnf.running.alive() or not bed.tester.running.alive():
        return [*wrong, "vbng ended with the switch", bed.vnf.running.output(), bed.tester.running.output()]
    bed.switch.start()
    return wrong + bed.flows("after the switch came back") + bed.ends(TOLD)


def switch_crashes(bed):
    """Killed; its adapter says how it ended, and it is started again."""
    wrong = bed.flows("at first")
    os.kill(bed.switch.pids[0], signal.SIGKILL)  # BESS handles others itself
    end = time.monotonic() + limit(LIMIT)
    while bed.switch.alive() and time.monotonic() < end:
        time.sleep(0.02)
    try:
        bed.switch.stats()
        wrong.append("a dead switch gives counters")
    except SwitchError as e:
        if "SIGKILL" not in str(e) or "last lines" not in str(e):
            wrong.append(f"a dead switch is told as: {e}")
    bed.switch.stop()
    bed.switch.start()
    return wrong + bed.flows("after the switch came back") + bed.ends(TOLD)


def vnf_crashes(bed):
    """The VNF is killed, and another one comes; the tester and the switch run on."""
    wrong = bed.flows("before the VNF was killed")
    os.kill(bed.vnf.running.pid, signal.SIGKILL)
    bed.vnf.running.finish()
    bed.vnf = bed.start_vnf()
    return wrong + bed.flows("after a killed VNF came back") + bed.ends([])


def vnf_restarts(bed):
    """The VNF is stopped, then another one is killed."""
    wrong = bed.flows("at first")
    first = bed.vnf.running.stop()
    bed.vnf = bed.start_vnf()
    return [first.error] * (not first.ok) + wrong + vnf_crashes(bed)


def server(name):
    """An adapter whose VNFs make the sockets."""
    class Client(adapters.ALL[name]):
        def __init__(self, folder, cpu, memory_mib=1024):
            super().__init__(folder, cpu, memory_mib, vnf_server=True)

    return Client


@pytest.mark.parametrize("what, adapter, kind", [
    pytest.param(what, adapter, kind, id=name, marks=unless(what is vnf_restarts)) for name, what, adapter, kind in (
        ("testpmd: switch restarts, VNF is server", switch_restarts, server("testpmd"), None),
        ("testpmd: switch crashes, VNF is client", switch_crashes, adapters.ALL["testpmd"], None),
        ("testpmd: switch restarts, tester by memif", switch_restarts, adapters.ALL["testpmd"], "memif"),
        ("ovs-dpdk: switch restarts", switch_restarts, adapters.ALL["ovs-dpdk"], None),
        ("testpmd: VNF restarts as client", vnf_restarts, adapters.ALL["testpmd"], None),
        ("testpmd: VNF crashes as server, tester by memif", vnf_crashes, server("testpmd"), "memif"),
        *((f"{name}: {what.__name__.replace('_', ' ')}, tester by {kind}", what, adapters.ALL[name], kind)
          for name, kind in (("bess", "vhost"), ("vpp", "vhost"), ("vpp", "memif"), ("snabb", "vhost"), ("fastclick", "vhost"), ("fastclick", "memif"))
          for what in (switch_restarts, switch_crashes, vnf_restarts)),
    )
])
def test_restart(own_network, vbng, folder, what, adapter, kind):
    installed(adapter)
    with contextlib.ExitStack() as stack:
        nothing(what(Bed(str(folder), vbng, adapter, kind, stack)))
