# SPDX-License-Identifier: BSD-3-Clause
"""The tables that t4p4s is given: its controller, or one that stands in for it, reads them, and the tables of a program that stands in for l2fwd
send each frame where the scenario says. What starts both is tried with the two."""

import glob
import os
import socket
import subprocess
import threading
import time

import pytest

from tests.common import need
from tests.common.limits import limit
from tests.common.verdict import nothing
from tests.switch.t4p4s import Controller, Program
from vbnglab.switches import bench, configs, scenarios
from vbnglab.switches.adapters import ALL, t4p4s
from vbnglab.switches.adapters.base import SwitchError


def wired(folder, scenario="v2v", number=1):
    switch = ALL["t4p4s"](str(folder))
    bench.wire(switch, scenarios.ALL[scenario](number), bench.Setup(scenario, number, "learn"))
    return switch


def saved(folder, switch, change=lambda lines: lines):
    path = folder / "l2fwd.txt"
    path.write_text("\n".join(change(switch.files()["l2fwd.txt"].splitlines())) + "\n")
    return path


def taken(path):
    """A program that has taken what the stand-in of the controller makes of a file."""
    controller, program = Controller(path), Program()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        sender = threading.Thread(target=lambda: [ours.sendall(message) for message in controller.messages()], daemon=True)
        sender.start()
        program.take(theirs)
        sender.join()
    program.wrong += controller.wrong
    return program


def octets(mac):
    return bytes.fromhex(mac.replace(":", ""))


def judge(program, switch):
    """Both ways to the other end, and to nobody known: to all; nobody asks the controller."""
    numbers = {p.name: i for i, p in enumerate(switch.ordered())}
    assert program.wrong == []
    for direction, port in (("up", "t1"), ("down", "t0")):
        assert program.goes(*map(octets, configs.MACS[direction])) == (numbers[port], False), direction
    assert program.goes(octets("02:00:00:00:00:01"), octets("02:00:00:00:00:02")) == (None, False)


def test_tables_by_a_stand_in(folder):
    switch = wired(folder)
    judge(taken(saved(folder, switch)), switch)


def test_table_of_the_gateway(folder):
    """One address behind each port, so that the table has room."""
    switch = wired(folder, "bng")
    program, numbers = taken(saved(folder, switch)), {p.name: i for i, p in enumerate(switch.ordered())}
    assert program.wrong == []
    ports = {**configs.far_macs(one=True), **{port: [mac] for port, (mac, _) in configs.ADDRESSES.items()}}
    nothing([f"{mac} goes not to {port}" for port, (mac,) in ports.items() if program.goes(octets("02:00:00:00:00:01"), octets(mac)) != (numbers[port], False)])


def test_tables_by_its_controller(folder):
    if ALL["t4p4s"].probe()[0] is None:
        need.skip(ALL["t4p4s"].probe()[1])
    switch, program = wired(folder), Program()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = ["stdbuf", "-oL", os.path.join(os.environ["T4P4S"], t4p4s.CONTROLLER), str(port), str(saved(folder, switch))]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            end = time.monotonic() + limit(10)
            while time.monotonic() < end:
                try:
                    with socket.create_connection(("127.0.0.1", port), timeout=limit(10)) as connection:
                        program.take(connection)
                    break
                except ConnectionRefusedError:
                    time.sleep(0.05)
        finally:
            process.kill()
    judge(program, switch)


@pytest.mark.parametrize("change, word", [
    pytest.param(lambda lines: [line for line in lines if "TRANSLATION dmac" not in line], "no action .bcast of table dmac", id="a name as in the program"),
    pytest.param(lambda lines: [*lines, "MAC-FWD 02:c0:00:00:00 1"], "MAC-FWD 02:c0:00:00:00 1", id="a short address"),
    pytest.param(lambda lines: [*lines, *(f"MAC-FWD 02:c0:00:00:{i >> 8:02x}:{i & 255:02x} 1" for i in range(513))], "no room for more than 512", id="too many"),
    pytest.param(lambda lines: [*lines, f"TRANSLATION {'x' * 90} y"], "x" * 90, id="a long line"),
])
def test_tables_that_are_wrong(folder, change, word):
    """The stand-ins are no better than the real ones."""
    assert any(word in w for w in taken(saved(folder, wired(folder), change)).wrong)


def test_an_address_behind_two_ports(folder):
    with pytest.raises(SwitchError, match="behind r0 and r1"):
        wired(folder, "pairs", 2)


@pytest.fixture
def built(folder, monkeypatch):
    """A folder of t4p4s in which the stand-ins are built."""
    need.root("a network namespace")
    home = folder / "t4p4s"
    for name, role in ((t4p4s.PROGRAM, "program"), (t4p4s.CONTROLLER, "controller")):
        (home / name).parent.mkdir(parents=True)
        (home / name).write_text(f'#!/bin/sh\nexec python3 -m tests.switch.t4p4s {role} "$@"\n')
        (home / name).chmod(0o755)
    (home / t4p4s.DEFINITIONS).parent.mkdir()
    (home / t4p4s.DEFINITIONS).write_text("#pragma once\n#define T4P4S_CTL_PORT 50321\n")
    monkeypatch.setenv("T4P4S", str(home))
    monkeypatch.setenv("T4P4S_CTL_PORT", "50321")
    return home


def controllers():
    """Processes that are a controller here."""
    commands = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as f:
                commands.append(f.read())
        except OSError:  # it has ended
            continue
    return [c for c in commands if b"\0tests.switch.t4p4s\0controller\x0050321\0" in c]


def test_both_start_and_end_together(built, folder):
    """The program finds its controller, each time it is started, and the controller ends with it."""
    with wired(folder) as switch:
        for _ in range(2):
            switch.start()
            end = time.monotonic() + limit(20)
            while not switch.up() and switch.alive() and time.monotonic() < end:
                time.sleep(0.05)
            assert switch.up() and controllers(), switch.tail()
            switch.stop()
            while controllers() and time.monotonic() < end:
                time.sleep(0.05)
            assert not controllers(), "the controller is left"


@pytest.mark.parametrize("change, word", [
    pytest.param(lambda home: (home / t4p4s.PROGRAM).unlink(), t4p4s.PROGRAM, id="no program"),
    pytest.param(lambda home: (home / t4p4s.CONTROLLER).unlink(), t4p4s.CONTROLLER, id="no controller"),
    pytest.param(lambda home: (home / t4p4s.DEFINITIONS).write_text("#define T4P4S_CTL_PORT 0\n"), "no T4P4S_CTL_PORT", id="no control plane"),
])
def test_what_is_not_built(built, change, word):
    assert ALL["t4p4s"].probe() == ("unknown", "")
    change(built)
    version, why = ALL["t4p4s"].probe()
    assert version is None and word in why, why
