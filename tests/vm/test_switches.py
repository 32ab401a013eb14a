# SPDX-License-Identifier: BSD-3-Clause
"""Switches for which this machine's kernel has no module, in a guest with Debian's kernel: their tests of tests/switch, by the shipped adapters."""

import os
import re
import shlex

import pytest

from tests.common import guests, need
from tests.vm import inside
from vbnglab.vm import image

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OPENVSWITCH = ("crc32c_generic", "cryptomgr", "af_packet", "veth", "bridge", "openvswitch", "sch_fq")  # in this order: libcrc32c asks for crc32c
SLOWNESS = "8"  # of all that is emulated
pytestmark = [pytest.mark.limit(600), pytest.mark.long]


def test_open_vswitch_of_the_kernel(build, folder):
    need.root("the guest's share of all files")
    need.program("ovs-vsctl", "openvswitch-switch")
    program = guests.program(build)
    guests.needed(program)
    command = ["/usr/bin/python3", os.path.join(TOP, "tests", "run.py"), program, build, "-k", "ovs-kernel", os.path.join(TOP, "tests/switch/test_forward.py")]
    script = f"cd /tmp && VBNG_TEST_LONG=1 VBNG_TEST_SLOWNESS={SLOWNESS} exec {shlex.join(map(str, command))}\n"
    try:
        done = inside.run(folder, OPENVSWITCH, script)
    except image.KernelError as e:
        need.skip(str(e))
    print(done.output)
    assert done.status == 0, f"{done.output[-4000:]}\n{done.console[-2000:]}"
    assert re.search(r"[1-9]\d* passed", done.output) and "skipped" not in done.output, done.output[-4000:]
