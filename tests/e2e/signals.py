# SPDX-License-Identifier: BSD-3-Clause
"""SIGINT and SIGTERM at any moment end the program cleanly."""

import fcntl
import os
import random
import signal
import time

from tests.common.limits import limit
from tests.e2e import process

CONFIGURATION = "bng-4port.cfg"
SEED = 20130  # the moments are random, and the same in every run
LIMIT = 30  # s; a drain of 1 s, and a shared machine


def interrupted(ctx, sig, delay):
    r = process.Run(ctx, "--quiet", "--share-cpus", f"cfg/{CONFIGURATION}")
    time.sleep(delay)
    r.process.send_signal(sig)
    status = r.end(LIMIT)
    wrong = []
    # before main() has installed its handler the default one ends the process
    early = delay < 0.1 and status == -sig
    if status != 0 and not early:
        wrong.append(f"exit status {status} after {sig.name} at {delay:.3f} s: {r.err or r.out}")
    left = process.runtime_folder_left(r.pid)
    if left:
        wrong.append(f"left behind after {sig.name} at {delay:.3f} s: {left}")
    return wrong


def twice(ctx):
    """A second signal during the drain changes nothing."""
    r = process.Run(ctx, "--quiet", "--share-cpus", f"cfg/{CONFIGURATION}")
    time.sleep(1.5)
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGINT):
        r.process.send_signal(sig)
        time.sleep(0.01)
    status = r.end(LIMIT)
    return [f"exit status {status}: {r.err}"] if status != 0 else []


def killed(ctx):
    """What killed ones leave behind goes at the next start; what another process holds, or is not ours, stays."""
    left = []
    for delay in (0.15, 1.5):  # while it starts, and when it runs
        r = process.Run(ctx, "--quiet", "--share-cpus", f"cfg/{CONFIGURATION}")
        end = time.monotonic() + limit(LIMIT)
        # A folder without this file stays: it may be of a process of another container, which is about to make it.
        while not any(os.path.exists(f"{f}/config") for f in process.runtime_folder_left(r.pid)) and time.monotonic() < end:
            time.sleep(0.005)
        time.sleep(delay)
        r.process.kill()
        r.end(LIMIT)
        left += process.runtime_folder_left(r.pid)
    if len(left) != 2:
        return [f"only {left} were left: this test has nothing to see"]
    root, dead = os.path.dirname(left[0]), left[0].rpartition("-")[2]
    other = os.path.join(root, f"vbng-{dead}-other")  # somebody's who names it otherwise
    held = left.pop()
    os.makedirs(other)
    try:
        with open(os.path.join(held, "config"), "r+b") as f:
            fcntl.lockf(f, fcntl.LOCK_EX)
            status = process.Run(ctx, "--quiet", "--share-cpus", "--duration", "100ms", f"cfg/{CONFIGURATION}").end(LIMIT)
            wrong = [] if status == 0 else [f"exit status {status}"]
            wrong += [f"still there: {folder}" for folder in left if os.path.exists(folder)]
            wrong += [f"taken away: {folder}" for folder in (held, other) if not os.path.exists(folder)]
    finally:
        os.rmdir(other)
    process.Run(ctx, "--quiet", "--share-cpus", "--duration", "100ms", f"cfg/{CONFIGURATION}").end(LIMIT)
    return wrong + ([f"still there: {held}"] if os.path.exists(held) else [])


def tests():
    """(title, function of a context) of each case."""
    if CONFIGURATION not in process.configurations():
        return
    rng = random.Random(SEED)
    for sig in (signal.SIGINT, signal.SIGTERM):
        # most moments of a start are within the first second
        delays = [0.0, 0.02, *(rng.uniform(0, 0.8) for _ in range(4)), *(rng.uniform(0.8, 2.0) for _ in range(2))]
        for delay in delays:
            yield f"{sig.name} after {delay:.3f} s", lambda ctx, sig=sig, delay=delay: interrupted(ctx, sig, delay)
    yield "a second signal while stopping", twice
    yield "what killed ones leave", killed
