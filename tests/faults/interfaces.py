# SPDX-License-Identifier: BSD-3-Clause
"""Faults on kernel interfaces, in a network namespace of their own: the part that is outside."""

import json
import os
import subprocess
import sys

from tests.common.limits import limit
from tests.e2e import veth
from tests.faults.lab import HERE, Row

LIMIT = 100  # s


def inside(ctx, name):
    """Rows of a test of inside.py, or why it is skipped."""
    command = veth.namespace()
    if command is None:
        return "no network namespace with veth pairs can be made here"
    done = subprocess.run([*command, sys.executable, os.path.join(HERE, "inside.py"), ctx.binary, ctx.folder, name],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=limit(LIMIT))  # fmt: skip
    try:
        return [Row(**row) for row in json.loads(done.stdout)]
    except ValueError:
        return [Row(name, wrong=[done.stdout + done.stderr])]


TESTS = [
    ("port down and up", True, lambda ctx: inside(ctx, "port_down")),
    ("killed, learned MACs", True, lambda ctx: inside(ctx, "killed")),
]
