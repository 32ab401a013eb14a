# SPDX-License-Identifier: BSD-3-Clause
"""What tests of a guest with Debian's kernel and this machine's files ask of the machine."""

import os

import pytest

from tests.common import need
from tests.common.limits import limit
from tests.vm import inside
from vbnglab.vm import guest, image, qemu


@pytest.fixture(autouse=True)
def boots_take_their_time(monkeypatch):
    """As much longer as the machine is slower."""
    monkeypatch.setattr(guest, "BOOT_SECONDS", {accel: limit(seconds) for accel, seconds in guest.BOOT_SECONDS.items()})


@pytest.fixture(scope="module")
def kernel(request):
    """The guest's, with the test's MODULES. Asked for before own_network, from which no mirror is in reach."""
    need.root("the guest's share of all files")
    if not os.path.exists("/dev/net/tun"):
        need.skip("there is no /dev/net/tun here")
    need.program(qemu.QEMU, "qemu-system-x86")
    need.program("busybox", "busybox-static")
    try:
        return image.kernel((*inside.BASE, *request.module.MODULES))
    except image.KernelError as e:
        need.skip(str(e))
