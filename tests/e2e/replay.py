# SPDX-License-Identifier: BSD-3-Clause
"""The example of doc/pcap.md: its input is what its maker makes, and its output dissects."""

import filecmp
import os
import shutil
import subprocess
import sys

from tests.common.limits import limit
from tests.e2e import process

INPUTS = ("cpe0-in.pcap", "core0-in.pcap")
OUTPUTS = {"cpe0-out.pcap": 9, "core0-out.pcap": 6}  # packets; doc/pcap.md shows them
MAKER = os.path.join(process.TOP, "tests", "pcap", "make_example.py")


def same_as_made(ctx):
    done = subprocess.run([sys.executable, MAKER, ctx.folder], stderr=subprocess.PIPE, text=True, timeout=limit(60))
    if "No module named 'scapy'" in done.stderr:
        return "Scapy is not installed"
    if done.returncode != 0:
        return [done.stderr]
    kept = os.path.join(process.CFG_DIR, "pcap")
    return [f"cfg/pcap/{f} is not what make_example.py writes" for f in INPUTS
            if not filecmp.cmp(os.path.join(kept, f), ctx.path(f), shallow=False)]  # fmt: skip


def replay(ctx):
    for f in INPUTS:
        shutil.copy(os.path.join(process.CFG_DIR, "pcap", f), ctx.folder)
    command = [ctx.binary, "--quiet", "--duration", "300ms", os.path.join(process.CFG_DIR, "bng-pcap.cfg")]
    done = subprocess.run(command, cwd=ctx.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=limit(60))
    if done.returncode != 0:
        return [f"exit status {done.returncode}: {done.stderr}"]
    if shutil.which("tshark") is None:
        return "tshark is not installed"
    wrong = []
    for f, expected in OUTPUTS.items():
        for what, words, n in (("packets", [], expected), ("malformed packets", ["-o", "ip.check_checksum:TRUE", "-Y",
                               "_ws.malformed || _ws.expert.severity == error"], 0)):  # fmt: skip
            lines = subprocess.run(["tshark", "-r", ctx.path(f), *words], stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, text=True, timeout=limit(60)).stdout.splitlines()  # fmt: skip
            if len(lines) != n:
                wrong.append(f"{f}: {len(lines)} {what} instead of {n}")
                wrong += lines
    return wrong


def tests():
    """(title, function of a context) of each case."""
    yield "the replay of doc/pcap.md", replay
    yield "its input is what make_example.py makes", same_as_made
