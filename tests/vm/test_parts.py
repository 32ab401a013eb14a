# SPDX-License-Identifier: BSD-3-Clause
"""What vbng-lab vm decides and writes, without booting anything."""

import copy
import io
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import pytest

from tests.common.limits import limit
from vbnglab.lab import chain, ovs
from vbnglab.vm import image, qemu, topology
from vbnglab.vm.qemu import Port, Sizes, Spec, SpecError
from vbnglab.vm.topology import Topology, TopologyError

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CONFIG = os.path.join(TOP, "cfg", "bng-vm.cfg")


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="vbng-vm-unit-")
        self.addCleanup(shutil.rmtree, self.folder)

    def write(self, name, data):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(data if isinstance(data, bytes) else data.encode())
        return path


class TopologyTest(Folder):
    """A host of 2 sockets with 2 cores of 2 threads, numbered as Linux does: CPU n and n + 4 are siblings."""

    def setUp(self):
        super().setUp()
        for cpu in range(8):
            self.write(f"cpu{cpu}/topology/physical_package_id", f"{cpu % 4 // 2}\n")
            self.write(f"cpu{cpu}/topology/core_id", f"{cpu % 2}\n")

    def of(self, *cpus):
        shape, order = topology.of_cpus(list(cpus), self.folder)
        return str(shape), order

    def test_from_cpus(self):
        self.assertEqual(self.of(0, 4), ("1x1x2", [0, 4]))
        self.assertEqual(self.of(0, 1), ("1x2x1", [0, 1]))
        self.assertEqual(self.of(5, 0, 1, 4), ("1x2x2", [0, 4, 1, 5]))
        self.assertEqual(self.of(2, 0), ("2x1x1", [0, 2]))
        self.assertEqual(self.of(*range(8)), ("2x2x2", [0, 4, 1, 5, 2, 6, 3, 7]))

    def test_uneven_cpus(self):
        for cpus in ((0, 4, 1), (0, 1, 2), (0, 4, 2, 3)):
            with self.assertRaisesRegex(TopologyError, "--topology"):
                self.of(*cpus)
        with self.assertRaisesRegex(TopologyError, "no CPU 8"):
            self.of(0, 8)

    def test_what_a_guest_believes_wrongly(self):
        def told(text, *cpus):
            return topology.differences(topology.parse(text), list(cpus), self.folder)

        self.assertEqual(told("2x2x2", 0, 4, 1, 5, 2, 6, 3, 7), [])
        self.assertRegex(" ".join(told("1x2x1", 0, 4)), "^vCPUs 0 and 1 are not on one core to the guest")
        self.assertRegex(" ".join(told("1x2x1", 0, 2)), "^vCPUs 0 and 1 are on one socket to the guest, but CPUs 0 and 2 are not")

    def test_texts(self):
        self.assertEqual(topology.parse("2x10x2"), Topology(2, 10, 2))
        self.assertEqual(topology.parse_cpus("2-4,12"), [2, 3, 4, 12])
        for text in ("", "2", "0x1x1", "1x2x", "1x2x2x2", "axbxc"):
            self.assertRaises(TopologyError, topology.parse, text)
        for text in ("", "a", "3-1", "1,,2", "1,1"):
            self.assertRaises(TopologyError, topology.parse_cpus, text)


class SpecTest(Folder):
    def test_ports(self):
        self.assertEqual(qemu.parse_port("vhost:/a/b.sock"), Port("vhost", "/a/b.sock", False))
        self.assertEqual(qemu.parse_port("vhost:/a/b.sock,server"), Port("vhost", "/a/b.sock", True))
        self.assertEqual(qemu.parse_port("tap:t0"), Port("tap", "t0"))
        self.assertEqual(qemu.parse_port("tap:t0,nic=virtio,queues=4"), Port("tap", "t0", queues=4))
        self.assertEqual(qemu.parse_port("dgram:/a,nic=e1000e,node=1"), Port("dgram", "/a", nic="e1000e", node=1))
        for text in ("", "vhost", "vhost:", "tap:t0,server", "pci:0", "vhost:/a,both", "vhost:/" + 107 * "a", "vhost:/a,nic=e1000e", "tap:t0,nic=ne2000",
                     "dgram:/a,queues=2", "tap:t0,nic=e1000e,queues=2", "tap:t0,queues=9", "tap:t0,node=8", "tap:t0,speed=1", "dgram:/" + 103 * "a"):
            self.assertRaises(SpecError, qemu.parse_port, text)

    def test_what_cannot_be(self):
        config, two = self.write("a.cfg", ""), [Port("tap", "t0"), Port("tap", "t0")]
        for words, spec in (
            ("no such configuration", Spec(config + "x")),
            ("same socket", Spec(config, two)),
            ("16 ports", Spec(config, [Port("tap", f"t{i}") for i in range(16)])),
            ("port at node 1, and a guest of 1x2x1 has 1", Spec(config, [Port("tap", "t0", node=1)])),
            ("1 CPUs to pin to, and 2 vCPUs", Spec(config, cpus=[0])),
        ):
            with self.assertRaisesRegex(SpecError, words):
                spec.check()

    def test_accelerator(self):
        intel, guest = self.write("vmx", "flags : fpu vmx sse\n"), self.write("none", "flags : fpu vmxx sse\n")
        kvm, absent = self.write("kvm", ""), os.path.join(self.folder, "nokvm")
        self.assertEqual(qemu.choose_accelerator("auto", intel, kvm)[0], "kvm")
        self.assertEqual(qemu.choose_accelerator("tcg", intel, kvm)[0], "tcg")
        self.assertRegex(" ".join(qemu.choose_accelerator("auto", guest, kvm)), "tcg .*neither vmx nor svm")
        self.assertRegex(" ".join(qemu.choose_accelerator("auto", intel, absent)), "tcg .*nokvm")
        self.assertRaises(SpecError, qemu.choose_accelerator, "kvm", guest, kvm)

    def test_command(self):
        prepared = image.Image("vmlinuz", "base", "6.1", False)
        spec = Spec("a.cfg", [Port("vhost", "/s"), Port("vhost", "/t", True), Port("tap", "t0")], Topology(2, 2, 2))
        words = qemu.command(spec, Sizes(1024, 2, 100), prepared, "initrd", "tcg", {"out": "/o", "config": "/c,d"}, "con", "qmp")
        text = " ".join(words)
        for part in (
            "path=/s,reconnect=1", "path=/t,server=on,wait=off", "tap,id=n2,ifname=t0,script=no,downscript=no", "vectors=0",
            "addr=0x12", "sockets=2,cores=2,threads=2", "memory-backend-memfd,id=mem1,size=512M,share=on", "cpu,node-id=1,socket-id=1",
            "path=/o,mount_tag=out,security_model=none", "path=/c,,d,mount_tag=config,security_model=none,readonly=on",
        ):  # fmt: skip
            self.assertIn(part, text)
        self.assertEqual(qemu.pci_address(2), "0000:00:12.0")
        # an igb is behind a bridge: its functions are numbered beyond the first bus
        ports = [qemu.parse_port(f"dgram:/tmp/{i},nic={nic}") for i, nic in enumerate(("igb", "e1000e", "igb"))]
        self.assertEqual([qemu.pci_address(i, ports) for i in range(3)], ["0000:01:00.0", "0000:00:11.0", "0000:02:00.0"])

    def test_command_with_other_nics(self):
        """Ports at NUMA nodes are behind bridges, in the order in which the firmware numbers their buses; the IOMMU comes before all devices."""
        prepared = image.Image("vmlinuz", "base", "6.1", False)
        ports = [Port("dgram", "/s", nic="e1000e", node=1), Port("tap", "t0", queues=4), Port("dgram", "/t", nic="vmxnet3", node=1), Port("dgram", "/u", nic="e1000e", node=0)]
        spec = Spec("a.cfg", ports, Topology(2, 2, 1), driver="vfio-pci", inventory=True)
        words = qemu.command(spec, Sizes(1024, 2, 100), prepared, "initrd", "tcg", {"out": "/o"}, "con", "qmp")
        text = " ".join(words)
        for part in ("local.type=unix,local.path=/s,remote.type=unix,remote.path=/s.peer", "e1000e,netdev=n0,mac=52:54:00:00:00:01,bus=slot0", "queues=4", "mq=on",
                     "vmxnet3,netdev=n2", "pxb-pcie,id=node1,bus=pcie.0,bus_nr=48,numa_node=1", "intel_iommu=on"):  # fmt: skip
            self.assertIn(part, text)
        self.assertLess(words.index("intel-iommu"), min(i for i, w in enumerate(words) if "netdev=" in w))
        self.assertEqual([qemu.pci_address(i, ports) for i in range(4)], ["0000:31:00.0", "0000:00:11.0", "0000:32:00.0", "0000:19:00.0"])
        script = qemu.guest_script(spec, Sizes(1024, 2, 100))
        self.assertIn("driver=vfio-pci\ninventory=yes\n", script)
        self.assertIn("ports='0000:31:00.0 0000:00:11.0 0000:32:00.0 0000:19:00.0'", script)

    def test_script_is_quoted(self):
        script = qemu.guest_script(Spec("/x/a b.cfg", arguments=("--set", "a.b='c'"), seconds=1.5), Sizes(512, 2, 7))
        done = subprocess.run(["sh", "-c", script.replace("exec ", "printf '%s|' ") + "vbng; echo $hugepages"],
                              capture_output=True, text=True)  # fmt: skip
        self.assertTrue(done.stdout.endswith("--duration|1500ms|--set|a.b='c'|/config/cfg/a b.cfg|7\n"), done)


class ImageTest(Folder):
    def test_cpio(self):
        library = self.write("lib/libx.so.1.2", b"\1\2\3\0")
        link = os.path.join(self.folder, "lib/libx.so.1")
        os.symlink("libx.so.1.2", link)
        out = io.BytesIO()
        archive = image.Cpio(out)
        archive.file("etc/a", b"text\n", 0o644)
        archive.copy_shared([link, library])
        archive.end()
        if not os.path.exists(image.BUSYBOX):
            self.skipTest("busybox-static is not installed")
        root = os.path.join(self.folder, "root")
        os.mkdir(root)
        subprocess.run([image.BUSYBOX, "cpio", "-id"], stderr=subprocess.DEVNULL, input=out.getvalue(), cwd=root, check=True)
        with open(f"{root}/etc/a") as f:
            self.assertEqual(f.read(), "text\n")
        self.assertEqual(os.readlink(root + link), os.path.realpath(library))
        with open(root + os.path.realpath(library), "rb") as f:
            self.assertEqual(f.read(), b"\1\2\3\0")

    def test_modules_in_the_order_of_their_needs(self):
        needs = {"a": "b,c-d", "b": "c-d", "c_d": "", "unused": "a"}
        paths = {m: self.write(f"{m}.ko", f"ELF\0license=GPL\0depends={d}\0name={m}\0") for m, d in needs.items()}
        self.assertEqual(image._load_order(("a", "builtin"), paths), ["c_d", "b", "a"])

    def test_a_program_without_dpdk(self):
        with self.assertRaisesRegex(image.ImageError, "DPDK"):
            image.drivers(image.libraries("/bin/ls"))


def report(**ports):
    """A report in which each port has sent and received (in this order) so many packets."""
    ledger = {"balances": True}
    keys = {"rx_missed": 0, "rx_errors": 0}
    return {"ledger": ledger, "ports": [{"name": n, "tx_packets": t, "rx_packets": r, **keys} for n, (t, r) in ports.items()]}


class AccountTest(unittest.TestCase):
    """100 packets to the gateway, of which the switch drops 10; 90 back."""

    tester = report(t_p=(100, 90))
    gateway = report(p=(90, 90))
    switch = {"t_p": {"rx_packets": 100, "rx_drop": 0, "tx_packets": 90, "tx_drop": 0},
              "p": {"rx_packets": 90, "rx_drop": 0, "tx_packets": 90, "tx_drop": 10}}  # fmt: skip

    def faults(self, change):
        parts = copy.deepcopy((self.tester, self.gateway, self.switch))
        change(*parts)
        return chain.account(*parts, ports=("p",))

    def test_balances(self):
        self.assertEqual(self.faults(lambda t, g, s: None), [])
        direct = report(t_p=(100, 90)), report(p=(90, 100))
        self.assertEqual(chain.account(*direct, None, ports=("p",)), [])

    def test_one_packet_is_missed_anywhere(self):
        def at(which, *keys):
            def change(*parts):
                d = parts[which]
                for k in keys[:-1]:
                    d = d[k]
                d[keys[-1]] += 1
            return change

        for place in ((0, "ports", 0, "tx_packets"), (0, "ports", 0, "rx_packets"), (1, "ports", 0, "tx_packets"),
                      (1, "ports", 0, "rx_packets"), (2, "p", "tx_drop"), (2, "t_p", "rx_packets"), (2, "p", "rx_packets")):  # fmt: skip
            self.assertTrue(self.faults(at(*place)), place)

    def test_what_a_switch_loses_inside(self):
        switch = copy.deepcopy(self.switch)
        switch["p"]["tx_drop"] -= 3
        self.assertEqual(chain.account(self.tester, self.gateway, switch, 3, ports=("p",)), [])
        for inside in (0, 2, 4):
            self.assertTrue(chain.account(self.tester, self.gateway, switch, inside, ports=("p",)))

    def test_a_ledger_that_does_not_balance(self):
        def change(tester, gateway, switch):
            gateway["ledger"]["balances"] = False

        self.assertRegex(self.faults(change)[0], "gateway's ledger")

    def test_streams(self):
        good = {"name": "up0", "sent": 9, "received": 9, "wrong": {"key": 0}, "duplicates": 0, "unstamped": 0, "strangers": 0}
        self.assertEqual(chain.stream_faults([good]), [])
        for bad in ({"received": 0}, {"wrong": {"key": 1}}, {"duplicates": 1}, {"unstamped": 1}, {"strangers": 1}):
            self.assertEqual(len(chain.stream_faults([good | bad])), 1, bad)


class Slow(chain.Tester):
    """A tester whose ledger, asked again and again, says so many received of 9 sent, then None: its process has ended. No process."""

    def __init__(self, *received):
        self.received = list(received)

    def ask(self, *requests):
        if requests[0]["cmd"] != "show-ledger":
            return None
        received = self.received.pop(0) if len(self.received) > 1 else self.received[0]
        if received is None:
            raise OSError("gone")
        return {"ledger": {"sent": 9, "received": received}}


@pytest.fixture
def in_a_hurry(monkeypatch):
    monkeypatch.setattr(chain, "SETTLE_SECONDS", 0)
    monkeypatch.setattr(chain, "PATIENCE_SECONDS", 0.3)


@pytest.mark.parametrize("received, left", [((0, 0, 5, 5, 9, 99), [99]), ((0, 0, 5), [5])], ids=["all come late", "some are lost"])
def test_the_tester_waits_for_what_is_held(in_a_hurry, received, left):
    """By a gateway that gets no CPU for longer than the packets take otherwise."""
    tester = Slow(*received)
    assert tester.send(0) and tester.received == left


def test_the_tester_dies_while_it_waits(in_a_hurry):
    assert not Slow(0, None).send(0)


class OvsTest(unittest.TestCase):
    def test_bridges(self):
        switch = ovs.OvsDpdk("/nonexistent")
        for p in "abcde":
            switch.add_port(p)
        switch.connect("a", "b")
        switch.connect("c", "d", "learn")
        switch.connect("d", "e", "learn")
        self.assertEqual([ports for ports, _ in switch._bridges()], [["a", "b"], ["c", "d", "e"]])
        self.assertRaises(ValueError, switch.connect, "a", "b", "flood")

    def test_roles(self):
        port = ovs.OvsDpdk("/d").add_port("a")
        self.assertEqual(port.device_arguments, "path=/d/a.sock,server=1")
        self.assertEqual(port.guest_port, "vhost:/d/a.sock,server")


def test_why_there_is_no_kernel(monkeypatch, folder):
    """Each way is told that failed: with apt's own lists, then with new ones."""
    def apt(words, _, options=()):
        known = "Depends: linux-image-6.1.0-1-amd64" if "depends" in words and not options else ""
        return subprocess.CompletedProcess(words, 100, known, "no route to the mirror")

    monkeypatch.setattr(image, "_apt", apt)
    with pytest.raises(image.KernelError, match="no route to the mirror; apt knows no package linux-image-amd64; is a Debian mirror in reach"):
        image._download(str(folder))


@pytest.mark.parametrize("words, arguments", [
    ("no such configuration", ["run", "/nonexistent.cfg"]),
    ("is no port", ["run", CONFIG, "--port", "pci:1"]),
    ("is no topology", ["run", CONFIG, "--topology", "2"]),
    ("has no CPU 4095", ["run", CONFIG, "--pin", "4095"]),
    ("is no list of CPUs", ["run", CONFIG, "--pin", "x"]),
    ("expected 0.001 to 86400", ["run", CONFIG, "--duration", "x"]),
    ("expected 0.001 to 86400", ["demo", "--duration", "0"]),
    ("required", []),
])
def test_errors_of_the_command_line(words, arguments):
    done = subprocess.run([sys.executable, "-m", "vbnglab", "vm", *arguments], capture_output=True, text=True, timeout=limit(60))
    assert (done.returncode, words in done.stderr) == (2, True), done.stderr
