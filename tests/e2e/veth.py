# SPDX-License-Identifier: BSD-3-Clause
"""The gateway on kernel interfaces: af_packet on veth pairs in a network namespace of its own."""

import os
import subprocess
import sys

from tests.common.limits import limit

INSIDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "veth_inside.py")


def namespace():
    """The command that makes a network namespace here, or None. As root without a user namespace."""
    for command in (["unshare", "-n"], ["unshare", "-Urn"]):
        try:
            made = subprocess.run(
                [*command, "ip", "link", "add", "probe0", "type", "veth", "peer", "name", "probe1"],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=limit(20),
            )  # fmt: skip
        except OSError:
            continue
        if made.returncode == 0:
            return command
    return None


def af_packet(ctx):
    command = namespace()
    if command is None:
        return "no network namespace with veth pairs can be made here"
    done = subprocess.run(
        [*command, sys.executable, INSIDE, ctx.binary, ctx.folder],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=limit(100),
    )  # fmt: skip
    return [] if done.returncode == 0 else [f"exit status {done.returncode}", *done.stdout.splitlines()]


def tests():
    """(title, function of a context) of each case."""
    yield "af_packet on veth pairs in a network namespace", af_packet
