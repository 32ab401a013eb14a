# SPDX-License-Identifier: BSD-3-Clause
"""Each way in which vbng can be run gives back, at its end, all memory that it has taken.

In a build with AddressSanitizer (tools/test --sanitize): a leak ends the process with LeakSanitizer's status."""

import os
import pathlib
import shutil
import signal
import subprocess

import pytest

from tests.common.limits import limit
from tests.common.verdict import nothing, params
from tests.config import suite
from tests.pcap.sanitizer import address_sanitizer
from vbnglab.lab import chain

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))

DEMO, BAD = os.path.join(TOP, "cfg", "bng-qos-4port.cfg"), pathlib.Path(TOP, "tests", "config", "bad")
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


@pytest.fixture(scope="module", autouse=True)
def sanitized(vbng):
    """Leaks are found in a build with AddressSanitizer alone, and end the process with a status that nothing else has."""
    if not address_sanitizer(vbng):
        pytest.skip("not a build with AddressSanitizer; tools/test --sanitize makes one")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LSAN_OPTIONS", f"exitcode={LEAK}")
        yield


def asked(binary, *arguments, statuses=(0,), folder=None):
    """Run it to its end."""
    done = subprocess.run([binary, *arguments], capture_output=True, text=True, errors="replace", timeout=limit(60), check=False, cwd=folder)
    return [] if done.returncode in statuses else [f"exit status {done.returncode}: {done.stderr[-3000:]}"]


def bad_configurations():
    """One in eight of the must-fail configurations."""
    return [case for path in sorted(BAD.glob("*.suite")) for case in suite.read(path)][::8]


def session(binary, folder):
    """Requests, right ones and one that is refused; then a signal."""
    with chain.Controlled("demo", DEMO, str(folder), SLOW, binary) as demo:
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


PACE = [word for key, value in SLOW.items() for word in ("--set", f"{key}={value}")]
RUNS = (("--check", ["--check"]), ("--plan=text", ["--plan=text"]), ("--plan=json", ["--plan=json"]),
        ("a run", ["--quiet", "--share-cpus", "--duration", "500ms", *PACE]))  # fmt: skip


@pytest.mark.parametrize("name, options", params(RUNS))
def test_run(vbng, name, options):
    nothing(asked(vbng, *options, DEMO))


@pytest.mark.parametrize("case", bad_configurations(), ids=lambda case: case.name)
def test_configuration_with_errors(vbng, folder, case):
    """Errors are told, and what was read until then is given back."""
    shutil.copytree(BAD / "parts", folder / "parts")
    case.write(folder)
    nothing(asked(vbng, "--check", *case.args, case.config, statuses=(1,), folder=folder))


def test_session_of_the_control_socket(vbng, folder):
    nothing(session(vbng, folder))
