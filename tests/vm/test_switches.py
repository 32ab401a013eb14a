# SPDX-License-Identifier: BSD-3-Clause
"""Switches for which this machine's kernel has no module, in a guest with Debian's kernel: their tests of tests/switch, by the shipped adapters, and their rows
of doc/switches.md's table."""

import os
import re
import shlex
import shutil

import pytest

from tests.common import guests, need
from tests.common.limits import slowness
from tests.vm import cells, inside
from vbnglab.vm import image

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OPENVSWITCH = ("crc32c_generic", "cryptomgr", "af_packet", "veth", "bridge", "openvswitch", "sch_fq")  # in this order: libcrc32c asks for crc32c
NETMAP = ("af_packet", "veth", "sch_fq")
NO_MODULE = 77
SLOWNESS = 8  # of all that is emulated, beside this machine's own
pytestmark = [pytest.mark.limit(cells.SECONDS + 60), pytest.mark.long]


def inside_passes(folder, modules, script):
    """What a script has printed in a guest with these modules, where it must succeed. It may end with NO_MODULE."""
    try:
        done = inside.run(folder, modules, script, seconds=cells.SECONDS)
    except image.KernelError as e:
        need.skip(str(e))
    print(done.output)
    if done.status == NO_MODULE:
        need.skip(done.output.strip())
    assert done.status == 0, f"{done.output[-4000:]}\n{done.console[-2000:]}"
    return done.output


def portable(build):
    """The program for the guest's CPU."""
    need.root("the guest's share of all files")
    program = guests.program(build)
    guests.needed(program)
    return program


def carries(build, folder, name, modules, before=""):
    """All tests of this switch pass, after these commands."""
    command = ["/usr/bin/python3", os.path.join(TOP, "tests", "run.py"), portable(build), build, "-k", name, os.path.join(TOP, "tests/switch/test_forward.py")]
    said = inside_passes(folder, modules, f"{before}cd /tmp && VBNG_TEST_LONG=1 VBNG_TEST_SLOWNESS={SLOWNESS * slowness():.1f} exec {shlex.join(map(str, command))}\n")
    assert re.search(r"[1-9]\d* passed", said) and "skipped" not in said, said[-4000:]


def has_a_row(build, folder, name, modules, before=""):
    """The row's command fills the cells, after these commands."""
    command = shlex.join(["/usr/bin/python3", "-m", "tests.vm.cells", name, portable(build), "/tmp"])
    inside_passes(folder, modules, f"{before}cd {TOP} && PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=tools:. exec {command}\n")


@pytest.mark.parametrize("proof", [carries, has_a_row])
def test_open_vswitch_of_the_kernel(build, folder, proof):
    need.program("ovs-vsctl", "openvswitch-switch")
    proof(build, folder, "ovs-kernel", OPENVSWITCH)


@pytest.mark.parametrize("proof", [carries, has_a_row])
def test_vale(build, folder, proof):
    """Netmap's module has to be built for Debian's kernel, and installed below /lib/modules."""
    if shutil.which("vale-ctl") is None:
        need.skip("vale-ctl is not installed (github.com/luigirizzo/netmap)")
    module = "$(find /lib/modules/$(uname -r) -name netmap.ko | head -n 1)"
    proof(build, folder, "vale", NETMAP, f'm={module}; [ "$m" ] || {{ echo "no netmap.ko for Linux $(uname -r)"; exit {NO_MODULE}; }}; insmod "$m"\n')
