# SPDX-License-Identifier: BSD-3-Clause
"""Guests of vbng-lab vm: one that fails, one with a tap interface, the gateway with its tester, and behind Open vSwitch."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import warnings

import pytest

from tests.common import guests, need
from tests.common.limits import limit
from tests.common.verdict import nothing
from tests.e2e.packet_socket import PacketSocket
from vbnglab.lab import ovs
from vbnglab.vm import demo, image

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))

VM = os.path.join(TOP, "tools", "vm")
SECONDS, RATE = 3, "5kpps"  # of each of four streams: it is emulated, and everything shares two CPUs
FRAMES = 20
LIMIT = 200  # s
QEMU_CRASHED = f"QEMU ended with status {-signal.SIGSEGV}"
pytestmark = pytest.mark.limit(400)


@pytest.fixture(scope="module")
def guests_vbng(build):
    return guests.program(build)


@pytest.fixture(scope="module", autouse=True)
def image_of_the_guest(guests_vbng):
    """The image is there; skips where no guest can run."""
    guests.needed(guests_vbng)


@pytest.fixture(autouse=True)
def own_temporary_folder(folder, monkeypatch):
    """Folders of vbng-lab vm are made where other programs make none, and none is left behind by a test."""
    own = folder / "t"  # short: sockets are in it
    own.mkdir()
    monkeypatch.setenv("TMPDIR", str(own))
    monkeypatch.setattr(tempfile, "tempdir", None)
    yield
    nothing([f"left behind: {path}" for path in own.iterdir() if path.name.startswith(("vbng-vm-", "vbng-demo-"))])


def test_the_image_is_made_once(guests_vbng):
    """Made once, and found again; made again, without the kernel's package, when something has changed."""
    vbng, cache = guests_vbng, image.default_cache()
    with tempfile.TemporaryDirectory(prefix="vbng-vm-test-") as other:
        kernel = os.path.basename(image.prepare(vbng).kernel.rsplit("/", 1)[0])
        shutil.copytree(os.path.join(cache, kernel), os.path.join(other, kernel))
        first, second = (image.prepare(vbng, other) for _ in range(2))
    nothing([f"made {i.fresh}, expected {e}" for i, e in ((first, True), (second, False)) if i.fresh != e])


@pytest.mark.long
def test_a_guest_whose_vbng_does_not_start(guests_vbng, folder):
    """The exit status of the guest's vbng and its words are those of vbng-lab vm."""
    done = subprocess.run([VM, "run", os.path.join(TOP, "cfg", "bng-4port.cfg"), "--duration", "1", "--output", folder, "--vbng", guests_vbng,
                           "--", "--control", "/nonexistent/socket"], capture_output=True, text=True, timeout=limit(LIMIT))  # fmt: skip
    wrong = [f"exit status {done.returncode} instead of 3"] if done.returncode != 3 else []
    wrong += [f"stderr lacks '{w}'" for w in ("ended with status 3", "/nonexistent/socket", "console.log") if w not in done.stderr]
    nothing(wrong + [done.stderr] if wrong else [])


class Tap:
    """A tap interface, for as long as the block lasts."""

    name = f"vbt{os.getpid()}"

    def __enter__(self):
        made = subprocess.run(["ip", "tuntap", "add", self.name, "mode", "tap"], capture_output=True, text=True)
        self.why = made.stderr.strip() if made.returncode else None
        if self.why is None:
            with open(f"/proc/sys/net/ipv6/conf/{self.name}/disable_ipv6", "w") as f:
                f.write("1")  # no frames but ours
            subprocess.run(["ip", "link", "set", self.name, "up"], check=True)
        return self

    def __exit__(self, *_):
        if self.why is None:
            subprocess.run(["ip", "link", "del", self.name], check=True)

    def received(self):
        with open(f"/sys/class/net/{self.name}/statistics/rx_packets") as f:
            return int(f.read())


def wait_for(what, process):
    end = time.monotonic() + limit(LIMIT)
    while time.monotonic() < end and process.poll() is None:
        if what():
            return True
        time.sleep(0.1)
    return False


@pytest.mark.long
def test_a_guest_with_a_tap_interface(guests_vbng, folder):
    """Both directions by the kernel's counters; vCPUs pinned; Ctrl-C ends it with a report."""
    cpus = sorted(os.sched_getaffinity(0))[:2]
    report = os.path.join(folder, "tap.json")
    with Tap() as link:
        if link.why:
            need.skip(f"no tap interface can be made here: {link.why}")
        command = [VM, "run", os.path.join(HERE, "tap.cfg"), "--port", f"tap:{link.name}", "--report", report, "--output", folder, "--vbng", guests_vbng]
        if len(cpus) == 2:
            command += ["--topology", "1x2x1", "--pin", ",".join(map(str, cpus))]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        arrived = wait_for(lambda: link.received() >= 1000, process)
        sender = PacketSocket(link.name)
        for _ in range(FRAMES):
            sender.send(b"\xff" * 12 + b"\x88\xb5" + bytes(46))  # a local experiment's EtherType
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        out = process.communicate(timeout=limit(LIMIT))[0]
        if not arrived or process.returncode != 0:
            pytest.fail(f"exit status {process.returncode}, {link.received()} packets arrived\n{out}")
        with open(report) as f:
            port = json.load(f)["ports"][0]
        wrong = []
        if (port["tx_packets"], port["rx_packets"], link.received()) != (1000, FRAMES, 1000):
            wrong.append(f"sent and received: guest {port}, kernel received {link.received()}")
        if len(cpus) == 2 and f"vCPUs on CPUs {cpus}" not in out:
            wrong.append(f"not pinned: {out}")
    nothing(wrong)


@pytest.mark.parametrize("switch", ["none", pytest.param("ovs", marks=pytest.mark.long)])
def test_the_gateway_in_a_guest(vbng, guests_vbng, folder, switch):
    """Its tester is on the host: joined to it directly, or by Open vSwitch."""
    version, why = ovs.probe()
    if switch == "ovs" and version is None:
        need.skip(why)
    outcome = demo.demonstrate(SECONDS, RATE, switch, tester_vbng=vbng, vbng=guests_vbng, folder=str(folder))
    if any(QEMU_CRASHED in fault for fault in outcome.faults):  # seldom, in QEMU 7.2 beside other load: no fault of what it emulates for
        warnings.warn("; ".join(["QEMU crashed, and was started once more", *outcome.faults]), stacklevel=1)
        outcome = demo.demonstrate(SECONDS, RATE, switch, tester_vbng=vbng, vbng=guests_vbng, folder=str(folder))
    if outcome.ok:
        print("\n".join(outcome.table(SECONDS)))
    nothing(outcome.faults)
