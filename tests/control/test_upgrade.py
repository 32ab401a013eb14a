# SPDX-License-Identifier: BSD-3-Clause
"""What doc/upgrading.md says of a state file that the new vbng does not read: its commands bring the changes back."""

import json
import pathlib
import re
import subprocess

import pytest

from tests.common import need
from tests.common.limits import limit
from tests.common.verdict import nothing
from tests.control import load

DOCUMENT = pathlib.Path(__file__).resolve().parent.parent.parent / "doc/upgrading.md"
CHANGES = [{"cmd": "remove-subscribers", "subscribers": ["cpe0 128.300"]}, {"cmd": "set-profiles", "changes": [["cpe0 128.256", "home-50M"]]}]
GONE = {"cmd": "set-profiles", "changes": [["cpe0 128.257", "gone"]]}
OTHER = json.dumps({"vbng_state": 999, "name": "qos-load", "saved": 1795290189, "changes": [*CHANGES, GONE], "cpes": [], "nexthops": [], "sum": "0"})
FORMAT_1 = "\n".join(json.dumps(line, separators=(",", ":")) for line in ({"vbng_state": 1, "name": "qos-load", "saved": 1795290189}, *CHANGES, GONE, {"end": 3}))


@pytest.mark.parametrize("text, reads", [(OTHER + "\n", "jq -c '.changes[]' "), (FORMAT_1 + "\n", "grep '^{\"cmd\"' ")], ids=["another", "lines"])
def test_changes_of_a_state_of_another_format_come_back(vbng, folder, text, reads):
    need.program(reads.split()[0])
    commands = next(block for block in re.findall(r"^```\n(.*?)^```", DOCUMENT.read_text(), re.M | re.S) if block.startswith("jq "))
    state = folder / "state"
    state.write_text(text)
    gateway = load.Gateway(vbng, folder, "1kpps", ["--state", str(state)])
    try:
        client = gateway.wait_until_up()
        assert (folder / "state.unusable").read_text() == text
        assert client.ask(cmd="show-changes")["requests"] == []
        script = commands.replace("jq -c '.changes[]' ", reads).replace("/var/lib/vbng/state", str(state)).replace("/run/vbng/control.sock", str(gateway.path))
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=limit(30))
        assert done.returncode == 0 and [('"error"' in line) for line in done.stdout.splitlines()] == [False, False, True], done.stdout + done.stderr
        assert client.ask(cmd="show-changes")["requests"] == CHANGES
        client.close()
    finally:
        wrong = gateway.end()
    nothing(wrong)
