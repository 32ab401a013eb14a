# SPDX-License-Identifier: BSD-3-Clause
"""SR-IOV: the adapter of vbng-lab switch, and vbng on virtual functions of the igb that QEMU emulates, in a guest with an IOMMU."""

import os
import shlex

import pytest

from tests.common import guests, need
from tests.nic.functions import FUNCTIONS
from tests.vm import cells, inside
from vbnglab.vm import image

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODULES = ("af_packet", "vfio_iommu_type1", "vfio_pci", "igb")
# The IOMMU maps what has an address of 48 bits, as ordinary memory has.
IOMMU = ("-device", "intel-iommu,caching-mode=on,aw-bits=48")
# A page for each of the two processes, so that all of its packets lie in one: on_huge_pages().
KERNEL, MEMORY_MIB = "intel_iommu=on iommu=pt default_hugepagesz=1G hugepagesz=1G hugepages=2", 6144
SECONDS = {"row": cells.SECONDS}  # for a boot and a scenario, where it is not as usual
pytestmark = pytest.mark.limit(cells.SECONDS + 60)


def nic(i):
    """An igb behind a bridge of its own, whose cable leads nowhere."""
    return ("-device", f"pcie-root-port,id=slot{i},bus=pcie.0,chassis={i + 1},slot={i + 1}", "-netdev", f"hubport,id=n{i},hubid={i}",
            "-device", f"igb,netdev=n{i},mac=52:54:00:00:00:{i + 1:02x},bus=slot{i}")  # fmt: skip


@pytest.mark.parametrize("scenario", list(FUNCTIONS))
def test_virtual_functions(folder, scenario):
    need.root("the guest's share of all files")
    need.program("dpdk-devbind.py", "dpdk")
    guests.model("igb")
    program = os.environ.get("VBNG_GUEST") or image.portable_vbng()
    guests.needed(program)
    command = shlex.join(["/usr/bin/python3", "-m", "tests.nic.functions", scenario, program, "/tmp/functions"])
    script = f"mkdir /tmp/functions; cd {TOP} && PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=tools:. {command}\nstatus=$?; dmesg | tail -20; exit $status\n"
    devices = (*IOMMU, *(word for i in range(len(FUNCTIONS[scenario])) for word in nic(i)))
    try:
        done = inside.run(folder, MODULES, script, devices, MEMORY_MIB, KERNEL, SECONDS.get(scenario, inside.SECONDS))
    except image.KernelError as e:
        need.skip(str(e))
    print(done.output)
    assert done.status == 0, f"{done.output[-4000:]}\n{done.console[-2000:]}"
