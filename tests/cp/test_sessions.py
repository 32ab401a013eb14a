# SPDX-License-Identifier: BSD-3-Clause
"""vbng-lab sessions: vbng, vbng-cp, FreeRADIUS and many CPEs, whose accounts of the same octets are equal."""

import os
import pathlib
import re
import signal
import subprocess

import pytest

from tests.common import need
from tests.common.limits import limit
from vbnglab.cpe.load import PROTOCOLS
from vbnglab.lab import kea
from vbnglab.lab.failure import Failure
from vbnglab.sessions import servers

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
LAB = TOP / "tools" / "vbng-lab"


@pytest.fixture
def environment(build):
    path = build / "src/cp/vbng-cp"
    if not path.exists():
        need.skip("vbng-cp is not built here (Debian package libsqlite3-dev)")
    return {**os.environ, "VBNG_CP": str(path), "PATH": os.environ["PATH"] + ":/usr/sbin"}


@pytest.fixture
def sessions(vbng, run, environment):
    """A function: run the command."""
    def call(*words):
        done = run(LAB, "sessions", "--vbng", vbng, *words, env=environment)
        if "no network namespace can be made here" in done.stderr:
            need.skip(done.stderr.strip())
        assert done.returncode == 0 and "all is right" in done.stdout, done.stdout + done.stderr
        return done.stdout

    return call


def octets(printed):
    """{name: the pairs of numbers} of the table of octets; those of before the CPEs leave first."""
    found = {}
    for name, up, down in re.findall(r"^(the CPEs|vbng's \w+|RADIUS) +(\d+) +(\d+)$", printed, re.M):
        found.setdefault(name, []).append((int(up), int(down)))
    return found


def test_with_radius(sessions):
    """Each octet of 20 CPEs with both families is told four times."""
    need.program("freeradius")
    printed = sessions("--lines", "20", "--pings", "2")
    assert "20 of 20 sessions" in printed and "pings: 80 sent, 80 answered, 0 lost" in printed
    assert "records of RADIUS: 1 Accounting-On, 20 Start, 20 Stop" in printed
    pings = 20 * 2 * (84 + 104)
    found = octets(printed)
    assert found["the CPEs"][0] == found["vbng's subscribers"][0] == (pings, pings)
    assert found["the CPEs"][1] == found["vbng's ledger"][0] == found["RADIUS"][0] == (pings + 20 * 328, pings)  # DHCPRELEASE is to the gateway


def test_relay(sessions):
    """Kea's own files say the same leases as vbng-cp and 20 CPEs, and none in the end; RADIUS is told of each octet all the same."""
    need.program("freeradius")
    for family in (4, 6):
        need.program(f"kea-dhcp{family}", f"kea-dhcp{family}-server")
    printed = sessions("--lines", "20", "--pings", "1", "--relay")
    assert "20 of 20 sessions" in printed and "20 Start, 20 Stop" in printed
    assert re.findall(r"^(Kea's lease files|vbng-cp's sessions|the CPEs) +(\d+) +(\d+) +(\d+)$", printed, re.M) == [
        (who, "20", "20", "20") for who in ("Kea's lease files", "vbng-cp's sessions", "the CPEs")]
    assert re.search(r"^Kea's lease files +0$", printed, re.M)
    found = octets(printed)
    assert found["the CPEs"][1] == found["RADIUS"][0]


def test_leases_that_differ():
    """Each that not all name is found."""
    leases = {"IPv4": {("02:00:00:01:00:01", "10.64.0.10")}, "IPv6": set(), "prefixes": {("02:00:00:01:00:01", "2001:db8::/56")}}
    other = {**leases, "IPv4": {("02:00:00:01:00:01", "10.64.0.11")}}
    assert servers.compare({"Kea": leases, "the CPEs": leases})[1] == []
    assert servers.compare({"Kea": leases, "vbng-cp": leases, "the CPEs": other})[1] == [
        "Kea and the CPEs differ in 2 leases: 10.64.0.10 of 02:00:00:01:00:01, 10.64.0.11 of 02:00:00:01:00:01"]


def test_relay_refused(monkeypatch):
    """Where there is no Kea, and for who needs none."""
    with pytest.raises(Failure, match="PPPoE gives addresses by itself"):
        servers.families(PROTOCOLS["pppoe-dual"])
    monkeypatch.setattr(kea.shutil, "which", lambda *_, **__: None)
    with pytest.raises(Failure, match=r"kea-dhcp4 is not installed \(Debian package kea-dhcp4-server\)"):
        servers.families(PROTOCOLS["dual"])


@pytest.mark.long
@pytest.mark.parametrize("protocol", ["ipoe", "pppoe", "pppoe-dual"])
def test_without_radius(sessions, protocol):
    printed = sessions("--lines", "300", "--protocol", protocol, "--without-radius")
    assert "300 of 300 sessions" in printed and "RADIUS" not in printed


@pytest.mark.long
def test_pppoe_with_radius(sessions):
    """In PPPoE sessions each octet is told four times, too; a PADT is no packet of IP."""
    need.program("freeradius")
    pings = 20 * (84 + 104)
    found = octets(sessions("--lines", "20", "--pings", "1", "--protocol", "pppoe-dual"))
    assert {sums for all_sums in found.values() for sums in all_sums} == {(pings, pings)} and len(found) == 4


@pytest.mark.long
def test_demo(run, environment):
    """The one command, twice."""
    need.program("freeradius")
    for _ in range(2):
        done = run(TOP / "tools/demo", "sessions", env=environment, timeout=600)
        assert done.returncode == 0 and "1000 of 1000 sessions" in done.stdout and "all is right" in done.stdout, done.stdout + done.stderr


@pytest.mark.long
def test_stay(vbng, environment):
    """Until Ctrl-C, and what it prints for another terminal is right."""
    need.program("freeradius")
    process = subprocess.Popen([LAB, "sessions", "--vbng", vbng, "--lines", "9", "--stay"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               env=environment)
    try:
        told = []
        for line in process.stdout:
            told.append(line)
            if "vbng-lab top" in line:
                break
        export = next(line for line in told if line.startswith("export "))
        ask = next(line for line in told if re.match("vbngctl sessions 02:", line)).split("#")[0]
        done = subprocess.run(["sh", "-c", f"{export}{TOP}/tools/{ask}; {TOP}/tools/vbngctl disconnect line 1.2"], capture_output=True, text=True,
                              timeout=limit(30), check=False)
        assert done.returncode == 0 and "line 1.9" in done.stdout, done
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=limit(60))
        assert process.returncode == 0, "".join(told) + rest
    finally:
        process.kill()
        process.wait()
