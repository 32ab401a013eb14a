# SPDX-License-Identifier: BSD-3-Clause
"""Time limits that follow the machine: one that is slow, or busy with other work, gets longer ones.

A loop of known work is timed once, on as many CPUs as a test may use and by the clock on the wall, so that CPUs which others use
count as slow ones. Each limit of a test is written for a quiet machine and multiplied by the factor that the loop measured. A limit
ends a test that hangs; it never says that something is fast enough.

usage: limits.py [SECONDS]    prints the factor, or the limit that stands for so many seconds, rounded up
"""

import math
import os
import subprocess
import sys
import time

VARIABLE = "VBNG_TEST_SLOWNESS"  # keeps the factor for child processes; set by hand, it overrides the measurement
LOOP = "def loop():\n    for _ in range({}):\n        pass\nloop()"
ROUNDS = 8_000_000
PROCESSES = min(os.cpu_count(), 4)
QUIET_SECONDS = 0.25  # for PROCESSES with ROUNDS each, on the slowest machine that the limits are written for
GREATEST = 20.0


def measure():
    """How many times slower than QUIET_SECONDS the loops are now: 1.0 to GREATEST."""
    start = time.monotonic()
    loops = [subprocess.Popen([sys.executable, "-SEc", LOOP.format(ROUNDS)]) for _ in range(PROCESSES)]
    for loop in loops:
        loop.wait()
    return min(max((time.monotonic() - start) / QUIET_SECONDS, 1.0), GREATEST)


def slowness():
    """The factor of this session, measured by the first call in it. Raises ValueError if VARIABLE is set to no number."""
    if VARIABLE not in os.environ:
        os.environ[VARIABLE] = f"{measure():.2f}"
    return float(os.environ[VARIABLE])


def limit(seconds):
    """The time limit, in seconds, that stands for so many on a quiet machine."""
    return seconds * slowness()


if __name__ == "__main__":
    print(math.ceil(limit(float(sys.argv[1]))) if len(sys.argv) > 1 else f"{slowness():.2f}")
