# SPDX-License-Identifier: BSD-3-Clause
"""Who may use the control socket may still not make vbng replace its own files, wait for a pipe, or lock others out."""

import contextlib
import os
import subprocess
import time

import pytest

from tests.common.limits import limit
from tests.common.verdict import nothing
from tests.control import load

ROUND = 5  # seconds in which a request must be whole: ROUND_S of src/control/server.c
CONFIG = """
name = "small";
memory = "no-huge";
idle = "sleep";
pools = { default = { mbufs = "8K"; }; };
@include "ports.inc"
tasks = ( { name = "pass"; type = "forward"; from = "a"; to = "b"; }, { name = "end"; type = "sink"; from = "b"; } );
layout = ( { core = "0"; tasks = ["pass", "end"]; } );
"""
PORTS = 'ports = ( { name = "a"; device = "net_null0,no-rx=1"; }, { name = "b"; device = "net_null1,no-rx=1"; } );\n'


class Small:
    """A vbng that its folder is the working one of."""

    def __init__(self, vbng, folder, *options):
        self.folder = str(folder)
        for name, text in (("small.cfg", CONFIG), ("ports.inc", PORTS)):
            with open(self.path(name), "w") as f:
                f.write(text)
        self.process = subprocess.Popen([vbng, "-q", "--share-cpus", "--control", "s", *options, "small.cfg"], cwd=folder,
                                        stderr=subprocess.PIPE, text=True)
        self.client = load.wait_for(self.process, self.path("s"), 60)

    def path(self, *name):
        return os.path.join(self.folder, *name)

    def stop_capture(self):
        self.client.ask(cmd="stop-capture")
        while self.client.ask(cmd="show-capture")["capture"]["running"]:
            time.sleep(0.01)

    def end(self):
        self.process.terminate()
        _, err = self.process.communicate(timeout=limit(60))
        return [] if self.process.returncode == 0 else [f"status {self.process.returncode}: {err}"]


@pytest.fixture
def small(vbng, folder):
    s = Small(vbng, folder)
    try:
        yield s
    finally:
        nothing(s.end())


def read(path):
    with open(path, "rb") as f:
        return f.read()


def test_force_spares_what_is_no_capture(vbng, folder):
    """Files of the folder of captures: only a pcapng file is replaced, and only by force."""
    small = Small(vbng, folder, "--capture-dir", folder)
    wrong = []
    try:
        before = read(small.path("small.cfg"))
        os.mkfifo(small.path("pipe"))
        os.mkdir(small.path("folder"))
        os.symlink("small.cfg", small.path("link"))
        open(small.path("empty"), "w").close()
        for name, words in (("small.cfg", "no pcapng file"), ("empty", "no pcapng file"), ("pipe", "not a plain file"),
                            ("folder", "not a plain file"), ("link", "not a plain file"), ("s", "not a plain file")):
            answer = small.client.ask(cmd="start-capture", file=name, force=True)
            if words not in answer.get("error", ""):
                wrong.append(f"{name}: {answer}")
        if read(small.path("small.cfg")) != before:
            wrong.append("the configuration was replaced")
        for _ in range(2):  # the second replaces the first
            answer = small.client.ask(cmd="start-capture", file="one.pcapng", force=True)
            wrong += [] if answer.get("ok") else [f"a capture: {answer}"]
            small.stop_capture()
    finally:
        wrong += small.end()
    nothing(wrong)


def test_captures_have_a_folder_of_their_own(small):
    """Without --capture-dir nothing is written where vbng was started."""
    wrong = []
    answer = small.client.ask(cmd="start-capture", file="one.pcapng")
    if not answer.get("ok") or not os.path.exists(small.path("vbng-captures", "one.pcapng")):
        wrong.append(f"{answer}: {os.listdir(small.folder)}")
    if os.stat(small.path("vbng-captures")).st_mode & 0o777 != 0o700:
        wrong.append("others may use the folder")
    small.stop_capture()
    answer = small.client.ask(cmd="start-capture", file=small.path("small.cfg"), force=True)
    if "not in the folder of captures" not in answer.get("error", ""):
        wrong.append(f"{answer}")
    nothing(wrong)


def test_a_folder_of_captures_that_others_may_write_to(small):
    os.mkdir(small.path("vbng-captures"))
    os.chmod(small.path("vbng-captures"), 0o777)
    answer = small.client.ask(cmd="start-capture", file="one.pcapng")
    assert "others may write to it" in answer.get("error", ""), answer


def test_reload_waits_for_no_pipe(small):
    """A pipe in the place of each file that is read: nobody writes into it, and vbng answers at once."""
    os.mkfifo(small.path("pipe"))
    wrong = []

    def reload(text, words):
        with open(small.path("other.cfg"), "w") as f:
            f.write(text)
        answer = small.client.ask(cmd="reload", file=small.path("other.cfg"))
        if "no plain file" not in answer.get("error", "") or words not in answer["error"]:
            wrong.append(f"{words}: {answer}")

    for name in ("pipe", "s"):
        answer = small.client.ask(cmd="reload", file=small.path(name))
        if "plain file" not in answer.get("error", "") and "No such device" not in answer.get("error", ""):
            wrong.append(f"{name}: {answer}")
    wrong += [] if "plain file" in small.client.ask(cmd="reload", file="/dev/zero").get("error", "") else ["/dev/zero"]
    wrong += [] if "folder" in small.client.ask(cmd="reload", file=str(small.folder)).get("error", "") else ["a folder"]
    reload(CONFIG.replace("ports.inc", "pipe"), 'other.cfg:6: error: @include "pipe"')
    reload(CONFIG + 'subscribers = ( { csv = "pipe"; } );', "key 'csv'")
    reload(CONFIG.replace('{ name = "end"', '{ name = "g"; type = "gen"; template = "pipe"; rate = "1pps"; to = "a"; }, { name = "end"')
           .replace('["pass", "end"]', '["pass", "end", "g"]'), "pipe")
    answer = small.client.ask(cmd="reload")
    wrong += [] if answer.get("ok") else [f"a plain file: {answer}"]
    nothing(wrong)


def test_clients_that_trickle(small):
    """32 clients hold all places and send a byte each half second; then who comes later is served."""
    held = [small.client]
    for _ in range(31):
        held.append(load.Client(small.path("s")))
    small.client.send(b" ")
    end = time.monotonic() + ROUND + 2
    while time.monotonic() < end:
        for c in held:
            c.send(b" ")
        time.sleep(0.5)
    other = load.Client(small.path("s"))
    answer = other.ask(cmd="show-ledger")
    for c in (*held, other):
        c.close()
    assert answer.get("ok"), answer


def test_clients_that_trickle_an_answer_out(small):
    """The same by clients who take a few bytes of a long answer each half second."""
    held = [small.client]
    for _ in range(31):
        held.append(load.Client(small.path("s")))
    for c in held:
        c.socket.setblocking(False)
        try:
            while True:
                c.socket.send(b'{"cmd": "show-qos"}\n' * 50)
        except BlockingIOError:
            pass
    begin, answer = time.monotonic(), {}
    while not answer.get("ok") and time.monotonic() < begin + limit(ROUND + 2):
        for c in held:
            with contextlib.suppress(BlockingIOError):
                c.socket.recv(1)
        time.sleep(0.5)
        if time.monotonic() > begin + ROUND + 1:
            # who is refused may find the connection closed before he asks
            with contextlib.suppress(OSError), contextlib.closing(load.Client(small.path("s"))) as other:
                answer = other.ask(cmd="show-ledger")
    for c in held:
        c.close()
    assert answer.get("ok"), answer
