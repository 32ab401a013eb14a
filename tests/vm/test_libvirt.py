# SPDX-License-Identifier: BSD-3-Clause
"""The domain that vbng-lab describe writes, under a libvirtd: it starts when its switch has connected, its ports are where the configuration has
them, it forwards, and goes on when the switch has been started again. It is emulated, so what names KVM is another word here; and it boots
the guest of vbng-lab vm in place of a disk."""

import dataclasses
import json
import os
import subprocess
import time
from xml.etree import ElementTree

import pytest

from tests.common import guests, need
from tests.common.limits import limit
from tests.common.verdict import nothing
from tests.vm.libvirt import Libvirt
from vbnglab.lab import chain
from vbnglab.vm import image, qemu
from vbnglab.vm.topology import Topology

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CONFIG = f"{TOP}/cfg/bng-vm.cfg"
TESTER = f"{TOP}/cfg/gen-vhost.cfg"
SECONDS, RATE = 3, "5kpps"
BOOT = 150  # s
ON_THE_FIRST_BUS = tuple(qemu.pci_address(n) for n in range(len(chain.PORTS)))
# Two of them functions of one device, as ports of a NIC are.
BEHIND_BRIDGES = ("0000:05:00.0", "0000:05:00.1", "0000:08:00.0", "0000:08:00.1")
CASES = {"one node": ("1x2x1", ON_THE_FIRST_BUS), "two nodes": ("2x1x1", BEHIND_BRIDGES)}
pytestmark = [pytest.mark.limit(500), pytest.mark.long]


@pytest.fixture(scope="module")
def guests_vbng(build):
    need.root("libvirtd")
    need.program("libvirtd", "libvirt-daemon")
    need.program("virsh", "libvirt-clients")
    need.program("qemu-img", "qemu-utils")
    program = guests.program(build)
    guests.needed(program)
    return program


@pytest.fixture
def libvirt(folder):
    with Libvirt(folder) as daemon:
        if daemon.why is not None and "libvirt_driver_qemu.so" in daemon.why:
            need.skip("libvirtd has no driver for QEMU (Debian package libvirt-daemon-driver-qemu)")
        assert daemon.why is None, daemon.why
        yield daemon


def free_huge_mib():
    with open("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", encoding="ascii") as f:
        return 2 * int(f.read())


class Guest:
    """The domain of a configuration, as it can be run here. Its results are in the folder out/, as those of vbng-lab vm are."""

    def __init__(self, folder, vbng, topology, devices, cpus):
        self.folder, self.out = folder, folder / "out"
        self.out.mkdir()
        settings = [word for port, device in zip(chain.PORTS, devices) for word in ("--set", f"ports.{port}.device={device}")]
        done = subprocess.run([f"{TOP}/tools/vbng-lab", "describe", "libvirt", "--vbng", vbng, "--topology", topology, "--sockets", folder,
                               "--image", folder / "disk.qcow2", "--cpus", ",".join(map(str, cpus)), *settings, CONFIG], capture_output=True, text=True)  # fmt: skip
        assert done.returncode == 0, done.stderr
        spec = qemu.Spec(CONFIG, [qemu.Port("vhost", f"{folder}/{p}.sock", True) for p in chain.PORTS], Topology(*map(int, topology.split("x"))))
        size = qemu.sizes(spec, vbng)  # of the ports where vbng-lab vm has them
        there = " ".join(qemu.pci_address(n) for n in range(len(spec.ports)))
        script = qemu.guest_script(dataclasses.replace(spec, arguments=tuple(settings)), size).replace(there, " ".join(devices))
        self._boot(done.stdout, vbng, script)

    def _boot(self, text, vbng, script):
        """Change what of the domain needs KVM, a disk with a system, or huge pages that are not there, and give it kernel, folders and console."""
        subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", self.folder / "disk.qcow2", "1M"], check=True)
        img = image.prepare(vbng)
        image.write_initrd(img, vbng, script, self.folder / "initrd")
        domain = ElementTree.fromstring(text)
        domain.set("type", "qemu")
        domain.find("cpu").set("mode", "maximum")
        if free_huge_mib() < int(domain.findtext("memory")):
            backing = domain.find("memoryBacking")
            backing.remove(backing.find("hugepages"))
        system = domain.find("os")
        system.remove(system.find("boot"))
        for tag, words in (("kernel", img.kernel), ("initrd", self.folder / "initrd"), ("cmdline", "console=ttyS0 panic=-1 quiet mitigations=off no_timer_check")):
            ElementTree.SubElement(system, tag).text = str(words)
        devices = domain.find("devices")
        for tag, path in (("out", self.out), ("config", f"{TOP}/cfg"), ("templates", f"{TOP}/pkt_templates")):
            share = ElementTree.SubElement(devices, "filesystem", type="mount", accessmode="passthrough")
            ElementTree.SubElement(share, "source", dir=str(path))
            ElementTree.SubElement(share, "target", dir=tag)
        devices.remove(devices.find("console"))
        serial = ElementTree.SubElement(devices, "serial", type="file")
        ElementTree.SubElement(serial, "source", path=str(self.folder / "console.log"))
        self.name, self.domain = domain.findtext("name"), self.folder / "domain.xml"
        self.domain.write_text(ElementTree.tostring(domain, encoding="unicode"))

    def wait(self, name, seconds):
        """Wait for a file of its results."""
        end = time.monotonic() + limit(seconds)
        while not (self.out / name).exists():
            assert time.monotonic() < end, f"no {name} of the guest: {self.console()}"
            time.sleep(0.1)

    def console(self):
        log = self.folder / "console.log"
        return log.read_text(errors="replace")[-3000:] if log.exists() else "nothing on its console"


class Switch(chain.Tester):
    """The tester as a switch that connects to the guest's sockets, and tries again until they are there."""

    def __init__(self, folder, vbng):
        super().__init__(TESTER, str(folder), RATE, vbng, {f"ports.t_{p}.device": f"net_vhost{n},iface={p}.sock,client=1" for n, p in enumerate(chain.PORTS)})


@pytest.mark.parametrize("case", CASES)
def test_it_forwards(libvirt, guests_vbng, vbng, folder, case):
    topology, devices = CASES[case]
    cpus = sorted(os.sched_getaffinity(0))
    pins = [cpus[0], cpus[-1]]
    guest = Guest(folder, guests_vbng, topology, devices, pins)
    libvirt.virsh("define", guest.domain)
    start = subprocess.Popen(libvirt.command("start", guest.name), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    testers = []
    for again in (False, True):  # the second one is the switch that was started again
        with Switch(folder, vbng) as tester:
            assert tester.ready(), tester.running.stop().error
            if not again:
                said = start.communicate(timeout=limit(60))[0]
                assert start.returncode == 0, said
                assert [line.split()[-1] for line in libvirt.virsh("vcpupin", guest.name).splitlines()[-len(pins) :]] == [str(p) for p in pins]
                guest.wait("sample.csv", BOOT)
            assert tester.send(SECONDS), tester.running.stop().error
            testers.append(tester.running.stop())
    (guest.out / "stop").touch()
    guest.wait("status", 60)
    report = json.loads((guest.out / "report.json").read_text())
    status = (guest.out / "status").read_text().strip()
    wrong = [f"status {status} of the guest's vbng: {guest.console()}"] if status != "0" else []
    for number, tester in enumerate(testers):
        wrong += [f"tester {number}: {fault}" for fault in ([] if tester.ok else [tester.error]) + chain.stream_faults(chain.streams(tester.report))]
    sent, received = (sum(t.report["ledger"][way] for t in testers) for way in ("sent", "received"))
    ledger = report["ledger"]
    if (ledger["received"], ledger["sent"]) != (sent, received) or not ledger["balances"]:
        wrong.append(f"the testers have sent {sent} and received {received}; the guest's ledger: {ledger}")
    nothing(wrong)
