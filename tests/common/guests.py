# SPDX-License-Identifier: BSD-3-Clause
"""What tests with guests ask of the machine: QEMU, busybox, a kernel, and a vbng for the CPU that QEMU emulates."""

import json
import os
import subprocess

from tests.common import need
from vbnglab.vm import image, qemu


def program(build):
    """The program for any CPU: the build's own, or where that is another's, one compiled in half the time that a fast one takes."""
    with open(build / "meson-info/intro-buildoptions.json", encoding="utf-8") as f:
        options = {option["name"]: option["value"] for option in json.load(f)}
    if options["cpu"] == "generic" and options["b_sanitize"] == "none":
        return str(build / "vbng")
    return image.portable_vbng(str(build / "guest"), ("-Doptimization=1", "-Ddebug=false"))


def needed(vbng):
    """Make the image for a vbng. Skips where no guest can run."""
    need.program(qemu.QEMU, "qemu-system-x86")
    if not os.path.exists(image.BUSYBOX):
        need.skip("busybox is not installed (Debian package busybox-static)")
    try:
        return image.prepare(vbng)
    except image.KernelError as e:
        need.skip(str(e))


def model(nic):
    """Skips where this QEMU does not have a NIC: igb is there from QEMU 8 on."""
    need.program(qemu.QEMU, "qemu-system-x86")
    there = subprocess.run([qemu.QEMU, "-device", "help"], capture_output=True, text=True).stdout
    if f'name "{qemu.NICS[nic]}"' not in there:
        version = subprocess.run([qemu.QEMU, "--version"], capture_output=True, text=True).stdout.splitlines()[0]
        need.skip(f"no {nic} in {version}")
