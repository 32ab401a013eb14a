# SPDX-License-Identifier: BSD-3-Clause
"""A network namespace for the process of the tests, which all programs that they start inherit."""

import contextlib
import os
import subprocess

from vbnglab.lab.network import CLONE_NEWNET, call, enter


@contextlib.contextmanager
def own():
    """For as long as the block lasts this process is in a network namespace of its own, as root. Raises OSError where none, or
    no veth pair in it, can be made."""
    root = os.geteuid() == 0
    with open("/proc/self/ns/net", "rb") as before:
        enter()
        try:
            made = subprocess.run(["ip", "link", "add", "probe0", "type", "veth", "peer", "name", "probe1"], check=False,
                                  capture_output=True, text=True)  # fmt: skip
            if made.returncode != 0:
                raise OSError(f"no veth pair can be made: {made.stderr.strip()}")
            yield
        finally:
            if root:
                call("setns", before.fileno(), CLONE_NEWNET)
