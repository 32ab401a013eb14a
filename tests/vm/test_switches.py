# SPDX-License-Identifier: BSD-3-Clause
"""Switches for which this machine's kernel has no module, in a guest with Debian's kernel: their tests of tests/switch, by the shipped adapters."""

import os
import re
import shlex
import shutil

import pytest

from tests.common import guests, need
from tests.common.limits import slowness
from tests.vm import inside
from vbnglab.vm import image

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OPENVSWITCH = ("crc32c_generic", "cryptomgr", "af_packet", "veth", "bridge", "openvswitch", "sch_fq")  # in this order: libcrc32c asks for crc32c
NETMAP = ("af_packet", "veth", "sch_fq")
NO_MODULE = 77
SLOWNESS = 8  # of all that is emulated, beside this machine's own
pytestmark = [pytest.mark.limit(600), pytest.mark.long]


def passes(build, folder, name, modules, before=""):
    """Run all tests of this switch in a guest with these modules, after these commands, which may end with NO_MODULE."""
    need.root("the guest's share of all files")
    program = guests.program(build)
    guests.needed(program)
    command = ["/usr/bin/python3", os.path.join(TOP, "tests", "run.py"), program, build, "-k", name, os.path.join(TOP, "tests/switch/test_forward.py")]
    script = f"{before}cd /tmp && VBNG_TEST_LONG=1 VBNG_TEST_SLOWNESS={SLOWNESS * slowness():.1f} exec {shlex.join(map(str, command))}\n"
    try:
        done = inside.run(folder, modules, script)
    except image.KernelError as e:
        need.skip(str(e))
    print(done.output)
    if done.status == NO_MODULE:
        need.skip(done.output.strip())
    assert done.status == 0, f"{done.output[-4000:]}\n{done.console[-2000:]}"
    assert re.search(r"[1-9]\d* passed", done.output) and "skipped" not in done.output, done.output[-4000:]


def test_open_vswitch_of_the_kernel(build, folder):
    need.program("ovs-vsctl", "openvswitch-switch")
    passes(build, folder, "ovs-kernel", OPENVSWITCH)


def test_vale(build, folder):
    """Netmap's module has to be built for Debian's kernel, and installed below /lib/modules."""
    if shutil.which("vale-ctl") is None:
        need.skip("vale-ctl is not installed (github.com/luigirizzo/netmap)")
    module = "$(find /lib/modules/$(uname -r) -name netmap.ko | head -n 1)"
    passes(build, folder, "vale", NETMAP, f'm={module}; [ "$m" ] || {{ echo "no netmap.ko for Linux $(uname -r)"; exit {NO_MODULE}; }}; insmod "$m"\n')
