# SPDX-License-Identifier: BSD-3-Clause
"""kill -9 and a new start: what the state file brings back, and state files that are no good."""

import json
import os
import shutil
import signal
import time

from tests.common.small_disk import small_disk
from tests.control import load
from tests.e2e import process
from tests.faults.lab import Row, Vbng

CHANGES = (
    {"cmd": "set-profile", "subscriber": "cpe0 128.256", "profile": "home-50M"},
    {"cmd": "set-profile", "subscriber": "cpe0 190.500", "profile": "home-10M"},
    {"cmd": "set-dscp", "scheduler": "acc", "direction": "up", "dscp": 46, "class": "be", "queue": 2},
    {"cmd": "remove-subscriber", "subscriber": "cpe0 128.300"},
    {"cmd": "add-subscriber", "port": "cpe0", "svlan": 300, "cvlan": 5, "ipv4": "10.1.0.1", "gre_key": 70000,
     "mac": "02:c0:00:01:00:00", "profile": "home-10M", "name": "Bäckerei \"Krümel\", Hof"},
    {"cmd": "set-name", "subscriber": "cpe0 128.256", "name": "<b>Zoo</b>"},
    {"cmd": "add-route", "prefix": "203.0.113.0/24", "port": "core0", "mac": "02:dd:00:00:00:00", "gre": "203.0.113.9"},
)  # fmt: skip
FORMAT_1 = b"""{"vbng_state":1,"name":"qos-load","saved":1795290189}
{"cmd":"set-dscp","scheduler":"acc","direction":"up","dscp":46,"class":"be","queue":2}
{"cpe":"cpe0 128.256","mac":"02:00:00:00:00:01","ip":"10.0.0.0","age":3}
{"end":3,"sum":"9f5c1d0c6a2b3e44"}
"""
ROOM = ("--set", "max_subscribers=16400", "--set", "max_routes=8")


def wait_until(true, seconds=10):
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def profiles(client):
    """Of two that were changed, one that was not, one that was added; of one who is gone: None."""
    answers = [client.ask(cmd="show-subscriber", subscriber=f"cpe0 {s}")
               for s in ("128.256", "190.500", "128.257", "300.5", "128.300")]  # fmt: skip
    return [a["subscriber"]["profile"] if "ok" in a else None for a in answers]


def saved_changes(path):
    """The requests in a state file."""
    with open(path) as f:
        return sorted(json.dumps(request) for request in json.load(f)["changes"])


def changes_come_back(ctx):
    """Live changes, kill -9 under load, a new start, and a clean stop and start after that."""
    row = Row("kill -9 under load, started again with --state: live changes")
    state, config = ctx.path("state"), load.write(ctx.folder, "20kpps")
    with Vbng(ctx, "--share-cpus", *ROOM, "--state", state, config, control=True, report=False) as v:
        client = v.client()
        for change in CHANGES:
            answer = client.ask(**change)
            row.expect("ok" in answer, f"{change}: {answer}")
        want = profiles(client)
        row.expect(want == ["home-50M", "home-10M", "home-100k", "home-10M", None], f"{want}")
        last = CHANGES[-1]["prefix"]  # a file has all that came before it, too
        row.expect(wait_until(lambda: os.path.exists(state) and any(last in c for c in saved_changes(state))), "it does not save the last change")
        v.process.send_signal(signal.SIGKILL)
        v.end()
    changes = saved_changes(state)
    for end in ("kill -9", "SIGTERM"):
        with Vbng(ctx, "--share-cpus", *ROOM, "--state", state, config, control=True) as v:
            row.expect(profiles(v.client()) == want, f"after {end}: {profiles(v.client())}")
            row.saw = v.line("changes and") or row.saw
            row.expect(f" {len(changes)} changes and 0 learned" in row.saw, f"after {end}: {v.log()}")
            row.expect(saved_changes(state) == changes, f"after {end}: {saved_changes(state)}, not {changes}")
            row.expect(v.wait_for_packets("sink", 1000), "packets do not flow")
            v.stop(row)
    row.saw = row.saw.replace(state, "FILE")
    row.lost = "what the process held: nobody is left to count it; its peers count what they sent"
    row.recovery = "by itself at the next start: changes up to about 1 s before the kill"
    return [row]


def start_with(ctx, text, *options, config=None):
    """A short run on a state file of that text. Returns what it said, and its exit status."""
    state = ctx.path("state")
    with open(state, "wb") as f:
        f.write(text)
    r = process.run(ctx, "--quiet", "--share-cpus", "--duration", "20ms", "--state", state, *options, config)
    return r.err, r.status


def good_state(ctx, config):
    """The bytes of a state file with a change."""
    with Vbng(ctx, "--share-cpus", "--state", ctx.path("state"), config, control=True, report=False) as v:
        v.client().ask(**CHANGES[2])
        v.process.send_signal(signal.SIGTERM)
        v.end()
    with open(ctx.path("state"), "rb") as f:
        return f.read()


def bad_files(ctx, kinds):
    config = load.write(ctx.folder, "1kpps")
    good = good_state(ctx, config)
    cases = {
        "cut off": (good[:-20], "cut off or damaged", True),
        "a byte is wrong": (good.replace(b'"dscp":46', b'"dscp":47'), "cut off or damaged", True),
        "empty": (b"", "it is empty", True),
        "of another configuration": (good.replace(b"qos-load", b"other", 1), 'of another configuration, "other"', True),
        "of format 1, which was lines": (FORMAT_1, "of format 1, which this vbng does not read", True),
        "no state file": (b"root:x:0:0\n" * 9, "no state file of vbng", False),
    }
    rows = []
    for kind in kinds:
        text, words, aside = cases[kind]
        row = Row(f"state file: {kind}")
        said, status = start_with(ctx, text, config=config)
        row.saw = next((line for line in said.splitlines() if words in line), "").removeprefix("vbng: ").replace(ctx.path("state"), "FILE")
        row.expect(row.saw and status == 0, f"exit status {status}: {said}")
        kept = ctx.path("state") + (".unusable" if aside else "")
        with open(kept, "rb") as f:
            row.expect(f.read() == text, f"{kept} is not what it was")
        if aside:
            with open(ctx.path("state"), "rb") as f:
                row.expect(b'"vbng_state":2,"name":"qos-load"' in f.read(), "the new one is no state file")
        row.lost, row.recovery = "0", "it starts as configured; the file is kept" + (" aside" if aside else ", and nothing saved")
        rows.append(row)
    return rows


def no_room(ctx):
    """The file system is full; then there is room again."""
    row = Row("state file: no room on its file system (tmpfs of 64 KiB)")
    with small_disk("64k") as disk:
        if disk is None:
            return "needs root, to mount a file system"
        state, config = os.path.join(disk.folder, "state"), load.write(ctx.folder, "20kpps")
        with Vbng(ctx, "--share-cpus", "--state", state, config, control=True) as v:
            client = v.client()
            disk.fill()
            client.ask(**CHANGES[0])
            row.saw = v.line("No space left on device")
            row.expect(row.saw, f"it is not said: {v.log()}")
            shutil.copy(state, ctx.path("whole"))
            disk.make_room()
            row.recovery = v.line("is written again", 12)
            row.expect(row.recovery, "it is not written again")
            v.stop(row)
        with open(ctx.path("whole")) as f:
            row.expect(f.read().rstrip().endswith('"}'), "the old file is not whole")
        with open(state) as f:
            row.expect("home-50M" in f.read(), "the change is not saved")
    row.saw, row.recovery = (text.replace(state, "FILE") for text in (row.saw, row.recovery))
    row.lost = "0; the file of before stays whole"
    return [row]


TESTS = [
    ("killed, live changes", True, changes_come_back),
    ("state file is damaged", True, lambda ctx: bad_files(ctx, ("cut off", "of another configuration"))),
    ("state file is no good otherwise", False,
     lambda ctx: bad_files(ctx, ("a byte is wrong", "empty", "of format 1, which was lines", "no state file"))),
    ("state file has no room", False, no_room),
]  # fmt: skip
