# SPDX-License-Identifier: BSD-3-Clause
"""What a service manager hears of vbng, and what the journal gets, by a manager and a journal of the test's own."""

import os
import pathlib
import re
import signal
import socket
import subprocess
import time

import pytest

from tests.common.limits import limit

CONFIG = pathlib.Path(__file__).resolve().parent.parent.parent / "cfg" / "bng-4port.cfg"


class Manager:
    """A socket of a service manager, and a vbng that was told of it."""

    def __init__(self, vbng, folder, *options, watchdog=None):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(folder / "notify"))
        self.stderr = open(folder / "stderr", "w+", encoding="utf-8")
        stream = os.fstat(self.stderr.fileno())
        more = {"NOTIFY_SOCKET": str(folder / "notify"), "JOURNAL_STREAM": f"{stream.st_dev}:{stream.st_ino}", "XDG_RUNTIME_DIR": str(folder)}
        if watchdog is not None:
            more["WATCHDOG_USEC"] = str(round(watchdog * 1e6))
        self.vbng = subprocess.Popen([vbng, "--quiet", "--share-cpus", "--set", "idle=sleep", *options], stdout=subprocess.DEVNULL,
                                     stderr=self.stderr, env={**os.environ, **more}, cwd=folder)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.vbng.poll() is None:
            os.kill(self.vbng.pid, signal.SIGCONT)
            self.vbng.kill()
        self.vbng.wait()
        self.socket.close()
        self.stderr.close()

    def hears(self, seconds):
        """The next message as a dictionary; None if there is none for so long, or vbng has ended."""
        end = time.monotonic() + seconds
        self.socket.settimeout(0.05)
        while True:
            try:
                return dict(line.split("=", 1) for line in self.socket.recv(4096).decode().splitlines())
            except TimeoutError:
                if time.monotonic() > end or self.vbng.poll() is not None:
                    return None

    def said(self):
        """What is in the journal."""
        self.stderr.seek(0)
        return self.stderr.read()


def test_ready_is_said_when_packets_are_forwarded(vbng, folder):
    control = folder / "control"
    with Manager(vbng, folder, "--control", control, CONFIG) as m:
        ready = m.hears(limit(60))
        assert ready == {"READY": "1", "STATUS": "forwarding: 8 ports, 65536 subscribers, 2 cores"}, m.said()
        assert control.is_socket()
        m.vbng.send_signal(signal.SIGTERM)
        stopping = m.hears(limit(20))
        assert stopping["STOPPING"] == "1" and int(stopping["EXTEND_TIMEOUT_USEC"]) == 11_000_000
        assert m.vbng.wait(limit(30)) == 0
        assert m.hears(0) is None


def test_the_watchdog_hears_of_cores_that_go_on(vbng, folder):
    """Each half of its time; nothing from a process that is stopped."""
    with Manager(vbng, folder, CONFIG, watchdog=0.4) as m:
        assert m.hears(limit(60))["READY"] == "1", m.said()
        for _ in range(5):
            assert m.hears(limit(10)) == {"WATCHDOG": "1"}
        os.kill(m.vbng.pid, signal.SIGSTOP)
        while m.hears(0.3):
            pass
        assert m.hears(1) is None
        os.kill(m.vbng.pid, signal.SIGCONT)
        assert m.hears(limit(10)) == {"WATCHDOG": "1"}


@pytest.mark.parametrize("config, status, says", [
    ("none.cfg", 1, r"<3>none.cfg: error: cannot be read"),
    ("wrong.cfg", 1, r"<3>wrong.cfg:1: error: "),
    ("late.cfg", 3, r"<3>vbng: error: .*no-such-nic"),
])  # fmt: skip
def test_who_dies_was_never_ready(vbng, folder, config, status, says):
    (folder / "wrong.cfg").write_text("nonsense = 1;\n")
    text = (CONFIG.parent / "bng-veth.cfg").read_text()
    (folder / "late.cfg").write_text(text.replace("iface=cpe0", "iface=no-such-nic"))
    (folder / "common").symlink_to(CONFIG.parent / "common")
    with Manager(vbng, folder, config) as m:
        assert m.hears(limit(60)) is None
        assert m.vbng.wait(limit(30)) == status, m.said()
        assert re.search("^" + says, m.said(), re.M), m.said()


def test_warnings_have_their_level(vbng, folder):
    with Manager(vbng, folder, "--check", CONFIG.parent / "qos-minimal-fig7.cfg") as m:
        assert m.vbng.wait(limit(30)) == 0
        assert re.match(r"<4>.*warning: ", m.said()), m.said()


def test_no_level_where_stderr_is_no_journal(vbng, folder, run):
    done = run(vbng, "--check", folder / "none.cfg", env={**os.environ, "JOURNAL_STREAM": "1:2"})
    assert done.stderr == f"{folder}/none.cfg: error: cannot be read: No such file or directory\n"
