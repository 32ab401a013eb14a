#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Each way in which vbng can be run gives back, at its end, all memory that it has taken.

In a build with AddressSanitizer (tools/test --sanitize): a leak ends the process with LeakSanitizer's status.

usage: run.py VBNG b_sanitize
"""

import os
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(TOP, "tools"), os.path.join(TOP, "tests", "pcap")]

from tally import Tally  # noqa: E402
from vbnglab import chain  # noqa: E402

DEMO, BAD = os.path.join(TOP, "cfg", "bng-qos-4port.cfg"), os.path.join(TOP, "tests", "config", "bad")
LEAK = 23  # LeakSanitizer's exit status
SLOW = {f"gen_{port}.rate": "10kpps" for port in chain.PORTS} | {"idle": "sleep"}
SESSION = (
    {"cmd": "set-profile", "subscriber": 1, "profile": "home-10M"},
    {"cmd": "show-subscriber", "subscriber": 1},
    {"cmd": "show-subscribers", "first": 1, "count": 100},
    {"cmd": "show-qos"},
    {"cmd": "show-streams"},
    {"cmd": "show-sinks"},
    {"cmd": "remove-subscriber", "subscriber": 9},
    {"cmd": "reload"},
    {"cmd": "show-ledger"},
)


def asked(binary, *arguments, statuses=(0,)):
    """Run it to its end."""
    done = subprocess.run([binary, *arguments], capture_output=True, text=True, timeout=120, check=False)
    return [] if done.returncode in statuses else [f"exit status {done.returncode}: {done.stderr[-3000:]}"]


def bad_configurations(binary):
    """Of one in eight of them: errors are told, and what was read until then is given back."""
    names = sorted(name for name in os.listdir(BAD) if name.endswith(".cfg"))[::8]
    return [fault for name in names for fault in asked(binary, "--check", os.path.join(BAD, name), statuses=(0, 1))]


def session(binary):
    """Requests, right ones and one that is refused; then a signal."""
    with tempfile.TemporaryDirectory(prefix="vbng-leaks-") as folder, chain.Controlled("demo", DEMO, folder, SLOW, binary) as demo:
        wrong = []
        try:
            demo.ask(*SESSION)
        except OSError as e:
            wrong.append(str(e))
        try:
            demo.ask({"cmd": "set-profile", "subscriber": 1, "profile": "none"})
            wrong.append("a profile that is not there is taken")
        except OSError:
            pass
        if not demo.gone():
            os.kill(demo.running.pid, signal.SIGINT)
        result = demo.running.finish()
    return wrong + [result.error] * (not result.ok)


def tests(binary):
    yield "--check", lambda: asked(binary, "--check", DEMO)
    yield "configurations with errors", lambda: bad_configurations(binary)
    for form in ("text", "json", "dot"):
        yield f"--plan={form}", lambda form=form: asked(binary, f"--plan={form}", DEMO)
    for form in ("json", "tosca", "k8s"):
        yield f"--describe={form}", lambda form=form: asked(binary, f"--describe={form}", DEMO)
    pace = [word for key, value in SLOW.items() for word in ("--set", f"{key}={value}")]
    yield "a run", lambda: asked(binary, "--quiet", "--share-cpus", "--duration", "500ms", *pace, DEMO)
    yield "a session of the control socket", lambda: session(binary)


def main():
    binary, sanitize = os.path.abspath(sys.argv[1]), sys.argv[2]
    if "address" not in sanitize:
        print("SKIP all: not a build with AddressSanitizer; tools/test --sanitize makes one\n0 passed, 0 failed, 1 skipped")
        return 77
    os.environ["LSAN_OPTIONS"] = f"exitcode={LEAK}"
    tally = Tally()
    for name, test in tests(binary):
        tally.result(name, test())
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())
