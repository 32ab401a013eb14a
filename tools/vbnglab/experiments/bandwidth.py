# SPDX-License-Identifier: BSD-3-Clause
"""Bandwidth of each memory channel, from the counters of the memory controllers (Linux perf, uncore_imc). They belong to
the whole machine, so a guest does not see them."""

import glob
import os
import subprocess
from contextlib import contextmanager

DEVICES = "/sys/bus/event_source/devices"
LINE = 64  # bytes of a transfer


def controllers(root=DEVICES):
    """Names of the memory controllers' counters, one of each channel; [] where they cannot be read."""
    return sorted(os.path.basename(d) for d in glob.glob(os.path.join(root, "uncore_imc_[0-9]*")))


def command(names, seconds):
    """The command of perf that counts on the whole machine for so many seconds."""
    events = [f"{n}/cas_count_{way}/" for n in names for way in ("read", "write")]
    return ["perf", "stat", "-a", "-x", ",", *(a for e in events for a in ("-e", e)), "sleep", f"{seconds:g}"]


def parse(text, seconds):
    """{controller: MB/s} from what perf prints with -x. perf converts to MiB where the kernel tells it the scale; else
    the number is of lines."""
    found = {}
    for line in text.splitlines():
        fields = line.split(",")
        if len(fields) < 3 or "/cas_count_" not in fields[2]:
            continue
        try:
            amount = float(fields[0])
        except ValueError:  # <not counted>
            continue
        total = amount * (1 << 20) if fields[1] == "MiB" else amount * LINE
        name = fields[2].split("/")[0]
        found[name] = found.get(name, 0) + total / seconds / 1e6
    return found


@contextmanager
def measured(seconds, result):
    """A context that measures for so many seconds while its block runs; result, a dict, gets {controller: MB/s}."""
    names = controllers()
    process = subprocess.Popen(command(names, seconds), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        yield
        result.update(parse(process.communicate(timeout=seconds + 30)[1], seconds))
    finally:
        process.kill()
        process.wait()
