# SPDX-License-Identifier: BSD-3-Clause
"""vbng on NICs that QEMU emulates: each forwards both ways, every frame is right and counted, and what a NIC cannot do is said."""

import json
import os
import re
import sys

import pytest

from tests.common import guests, need
from tests.common.limits import limit
from tests.common.verdict import nothing
from vbnglab.vm import guest, image, qemu
from vbnglab.vm.topology import Topology

need.module("scapy", "python3-scapy")

from tests.nic import wire  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
GATEWAY, TWO, THREE, SPREAD, NODES = (os.path.join(HERE, f"{name}.cfg") for name in ("gateway", "two", "three", "spread", "nodes"))
VBNG = os.environ.get("VBNG_GUEST")  # for the guest's CPU; None: this tree's, built for any
FOUR = Topology(1, 4, 1)
BRIDGED = ("0000:00:10.0", "0000:01:00.0"), ("0000:00:11.0", "0000:02:00.0")  # addresses of ports that have bridges of their own
BOOTS = 3  # of guests that QEMU itself ends: on a busy machine that of Debian 13 dies now and then of an assertion in iotlb_to_section, its threads' affair
MTU, LONGEST = 9000, 8944  # the payload of the longest packet that fits into a tunnel
DATA_ROOM = {"virtio": 9216, "vmxnet3": 9216, "igb": 9344, "e1000e": 16512}  # for such an MTU (doc/plan.md)
ROUNDS = 2  # frames of each subscriber each way
pytestmark = pytest.mark.limit(400)


@pytest.fixture(scope="module", autouse=True)
def image_of_the_guest():
    """The image is there; skips where no guest can run."""
    guests.needed(VBNG or image.portable_vbng())


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """A guest may boot as much longer as this machine is slower."""
    monkeypatch.setattr(guest, "BOOT_SECONDS", {accel: limit(seconds) for accel, seconds in guest.BOOT_SECONDS.items()})


class Guest:
    """A guest with two ports and their far ends; its results after the block."""

    def __init__(self, folder, ends, options, config=GATEWAY, topology=FOUR, payload=40, **more):
        self.out, self.ends, self.payload = str(folder / "out"), ends, payload
        self.ports = [qemu.parse_port(end.option + options[i] if isinstance(options, list) else end.option + options) for i, end in enumerate(ends)]
        self.spec = qemu.Spec(config, self.ports, topology, **more)
        self.result = self.wrong = self.folder = None

    def _run(self, use):
        """Do use(vm), and end the guest; again where QEMU was ended by a signal."""
        for n in range(BOOTS):
            self.wrong, self.folder = [], f"{self.out}{n}"
            with guest.Vm(self.spec, folder=self.folder, vbng=VBNG) as vm:
                use(vm)
                self.result = vm.stop()
            if not self.result.error.startswith("QEMU ended with status -"):
                return
            print(self.result.error)

    def _exchange(self, vm):
        """Frames of all subscribers both ways, once vbng runs."""
        access, core = self.ends
        if not vm.ready():
            return
        for name, sender, receiver, make, read in (("up", access, core, wire.up, wire.subscriber_upstream),
                                                   ("down", core, access, wire.down, wire.subscriber_downstream)):
            frames = [make(n, self.payload) for _ in range(ROUNDS) for n in range(wire.SUBSCRIBERS)]
            found, strange = wire.exchange(sender, receiver, frames, read)
            if found != {n: ROUNDS for n in range(wire.SUBSCRIBERS)}:
                self.wrong.append(f"{name}: {sum(found.values())} of {len(frames)} frames came out, of {len(found)} subscribers")
            self.wrong += [f"{name}: {s}" for s in strange[:3]]

    def forward(self, told=()):
        """What is sent both ways comes out; each port must have sent and received as many frames, and the ledger balances."""
        count = ROUNDS * wire.SUBSCRIBERS
        self._run(self._exchange)
        if not self.result.ok:
            self.wrong.append(self.result.error)
            nothing(self.wrong)
        report = self.result.report
        if not report["ledger"]["balances"]:
            self.wrong.append(f"the ledger does not balance: {report['ledger']}")
        for p in report["ports"]:
            if (p["rx_packets"], p["tx_packets"], p["rx_missed"], p["rx_errors"], p["tx_errors"]) != (count, count, 0, 0, 0):
                self.wrong.append(f"port {p['name']}: {p}")
        self.wrong += [f"vbng did not say {words!r}:\n{self.result.log}" for words in told if not re.search(words, self.result.log)]
        nothing(self.wrong)
        return report

    def lose(self):
        """What is sent both ways does not come out. Returns the drops of each task; the ledger balances."""
        self._run(self._exchange)
        assert self.result.ok and self.result.report["ledger"]["balances"], self.result.error
        return {t["name"]: t["drops"] for t in self.result.report["tasks"]}

    def bursts(self):
        """How many rounds of each core moved packets."""
        return [c["rounds"] - c["empty_rounds"] for c in self.result.report["cores"]]

    def refused(self, *words):
        """vbng does not start, and says why."""
        self._run(guest.Vm.finish)
        result = self.result
        nothing([f"lacks {w!r}: {result.error}" for w in words if not re.search(w, result.error)] + (["it started"] if result.ok else []))


@pytest.fixture
def ends(folder):
    """Far ends of two ports."""
    made = [wire.Datagrams(folder / name) for name in ("cpe", "core")]
    yield made
    for end in made:
        end.close()


def changed(folder, config, *replacements):
    """A configuration in a copy of this folder, with texts of it and of what it includes replaced."""
    home = folder / "changed"
    home.mkdir()
    for name in os.listdir(HERE):
        if name.endswith((".cfg", ".inc")):
            with open(os.path.join(HERE, name), encoding="utf-8") as f:
                text = f.read()
            for old, new in replacements:
                text = text.replace(old, new)
            (home / name).write_text(text, encoding="utf-8")
    return str(home / os.path.basename(config))


def behind_bridges(folder):
    """GATEWAY with the addresses of such ports."""
    return changed(folder, GATEWAY, *BRIDGED)


def receiving(folder, receive):
    """TWO, whose access port has a receive of these keys."""
    return changed(folder, TWO, ('"02:b0:00:00:00:00"; }', f'"02:b0:00:00:00:00"; receive = {{ {receive} }}; }}'))


@pytest.mark.parametrize("nic", list(qemu.NICS))
def test_one_queue(folder, ends, nic):
    guests.model(nic)
    Guest(folder, ends, f",nic={nic}", config=behind_bridges(folder) if nic == "igb" else GATEWAY).forward()


def jumbo(folder, data_room, *more):
    """GATEWAY with such an MTU and buffers."""
    return changed(folder, GATEWAY, ('"16K"; }', f'"6K"; data_room = {data_room}; }}'), ("addresses", f"mtu = {MTU}; addresses"),
                   ('"02:b0:00:00:00:00"; }', f'"02:b0:00:00:00:00"; mtu = {MTU}; }}'), *more)  # fmt: skip


@pytest.mark.parametrize("nic", list(DATA_ROOM))
def test_jumbo_frames(folder, ends, nic):
    """Each in one buffer, which some NICs fill only in steps."""
    guests.model(nic)
    Guest(folder, ends, f",nic={nic}", config=jumbo(folder, DATA_ROOM[nic], *(BRIDGED if nic == "igb" else ())), payload=LONGEST).forward()


def test_jumbo_frames_in_two_buffers(folder, ends):
    """Drop, and are counted: of 9088 bytes an e1000e fills 8192."""
    drops = Guest(folder, ends, ",nic=e1000e", config=jumbo(folder, 9216), payload=LONGEST).lose()
    assert drops["classify"]["segmented"] > 0 and drops["gre_down"]["segmented"] > 0, drops


@pytest.mark.parametrize("nic", ["e1000e", "vmxnet3"])
def test_vfio_with_an_iommu(folder, ends, nic):
    """IOVAs that are no physical addresses: nothing passes that the IOMMU does not know."""
    Guest(folder, ends, f",nic={nic}", driver="vfio-pci").forward()


def test_queues_that_a_nic_lacks(folder, ends):
    """Its driver gives an e1000e two of each: said with file and line, and what does instead."""
    Guest(folder, ends, ",nic=e1000e", config=THREE).refused(r"ports\.inc:4: port cpe: 3 cores send to it, but the device has 2 transmit queue\(s\); "
                                                             "send by one task of type forward")


@pytest.mark.parametrize("nic, told", [("e1000e", r"port cpe has no RSS"), ("vmxnet3", r"port cpe: the device's RSS knows no VLAN tags")])
def test_two_queues(folder, ends, nic, told):
    """One has no RSS, the other RSS of IP only, which vbng says of the port whose frames have tags. How frames are spread is the device's affair (both give
    all to one queue, as emulated here), but none is lost."""
    made = Guest(folder, ends, f",nic={nic}", config=TWO)
    made.forward([rf"ports\.inc:4: {told}"])
    print(f"{nic}: bursts of the cores {made.bursts()}")


@pytest.mark.parametrize("nic", ["vmxnet3", "igb"])
def test_four_queues(folder, ends, nic):
    """The RSS of neither knows tags, which vbng says with the number of queues, and how to spread frames nevertheless. As emulated, an igb looks behind tags and
    spreads them over all queues, and a vmxnet3 has no RSS at all: the core of the first queue does all."""
    guests.model(nic)
    config = changed(folder, TWO, ('"1-2"', '"0-3"'), ('"16K"', '"32K"'), *(BRIDGED if nic == "igb" else ()))
    made = Guest(folder, ends, f",nic={nic}", config=config)
    made.forward([r"ports\.inc:4: port cpe: the device's RSS knows no VLAN tags: frames with two of them may all come to one of its 4 queues; if they do, "
                  "read it on one core and spread with a task of type lb"])
    print(f"{nic}: bursts of the cores {made.bursts()}")
    assert all(made.bursts()) or nic != "igb", made.bursts()


def test_one_queue_spread_by_lb(folder, ends):
    """What vbng says instead: every worker has its subscribers."""
    made = Guest(folder, ends, ",nic=vmxnet3", config=SPREAD)
    made.forward()
    print(f"bursts of the cores {made.bursts()}")
    assert all(made.bursts()), made.bursts()


def test_symmetric_rss(folder, ends):
    """vmxnet3 takes the key, and the nearest to VLAN tags, which its RSS does not know."""
    config = receiving(folder, 'by = "rss"; fields = ["ip", "s_vlan"]; symmetric = true; nearest = true;')
    Guest(folder, ends, ",nic=vmxnet3", config=config).forward([r'ports\.inc:4: port cpe: the device\'s RSS does not know s_vlan \(it knows ip, l4\); '
                                                                r'nearest: fields = \["ip"\]'])


REFUSED = {
    "rss": ("vmxnet3", 'by = "rss"; fields = ["ip", "s_vlan"];', "the device's RSS does not know s_vlan"),
    "rules": ("e1000e", 'by = "s_vlan"; queues = ( { name = "a"; }, { name = "b"; s_vlan = "200-255"; } );',
              "the device refuses rules for queue 'b': .*; nearest: read the port on one core and spread with a task of type lb"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_receive_that_a_nic_lacks(folder, ends, name):
    nic, receive, words = REFUSED[name]
    Guest(folder, ends, f",nic={nic}", config=receiving(folder, receive)).refused(rf"ports\.inc:4: port cpe: {words}")


@pytest.fixture
def taps():
    """Far ends of two ports with two queues each."""
    need.root("a tap interface")
    made = []
    try:
        for name in ("a", "b"):
            made.append(wire.Tap(f"vbn{os.getpid()}{name}", 2))
        yield made
    finally:
        for end in made:
            end.close()


def test_two_queues_of_virtio(folder, taps):
    """How frames are spread is the host's affair, which vbng says."""
    made = Guest(folder, taps, ",nic=virtio", config=TWO)
    made.forward([r"ports\.inc:4: port cpe has no RSS"])
    print(f"virtio: bursts of the cores {made.bursts()}")


def test_two_numa_nodes_and_sibling_threads(folder, ends, vbng, run):
    """A NIC at each node, its mbufs there, and routes at both, each read by a core of its node, the slow path on a sibling thread: vbng finds the CPUs of those places, though
    QEMU numbers siblings one after the other. What the guest's kernel says of its machine is what vbng-lab doctor finds fault with, or not."""
    made = Guest(folder, ends, [",nic=e1000e,node=0", ",nic=vmxnet3,node=1"], NODES, Topology(2, 2, 2), inventory=True)
    report = made.forward()
    machine = os.path.join(made.folder, "machine")

    def says(path):
        with open(os.path.join(machine, path), encoding="ascii") as f:
            return f.read().strip()

    assert [c["cpu"] for c in report["cores"]] == [2, 4, 5]  # 1s0, 0s1, 0s1h
    assert [(p["pool"], p["socket"]) for p in report["pools"]] == [("default.s0", 0), ("default.s1", 1)]
    assert [r["socket"] for r in report["routes"]] == [0, 1]
    assert "NUMA socket" not in made.result.log
    assert [says(f"sys/devices/system/node/node{n}/cpulist") for n in (0, 1)] == ["0-3", "4-7"]
    assert says("sys/devices/system/cpu/cpu5/topology/thread_siblings_list") == "4-5"
    needs = folder / "needs.json"
    needs.write_text(run(sys.executable, os.path.join(TOP, "tools", "vbng-lab"), "describe", "json", "--vbng", vbng, NODES).stdout)
    doctor = run(sys.executable, os.path.join(TOP, "tools", "vbng-lab"), "doctor", "--json", "--root", machine, needs)
    found = {(f["check"], f["level"]): f["found"] for f in json.loads(doctor.stdout)["findings"]}
    assert re.search(r"pages of 2 MiB free on node 0, \d+ of \d+ pages of 2 MiB free on node 1", found["hugepages", "ok"])
    assert "(0000:31:00.0) is on node 1, used by cores of node 0-1" in found["numa", "bad"]  # upstream sends to it from the other node


def test_a_core_of_the_other_node(folder, ends):
    """Reads a NIC, which vbng says with file and line, and has its mbufs at its own node."""
    config = changed(folder, NODES, ('core = "1s0"', 'core = "1s1"'))
    made = Guest(folder, ends, [",nic=e1000e,node=0", ",nic=vmxnet3,node=1"], config, Topology(2, 2, 2))
    report = made.forward([r"nodes\.cfg:11: port cpe: its NIC is on NUMA socket 0, but CPU 6, which reads it, on socket 1: .* read it on CPUs of socket 0"])
    assert [(p["pool"], p["socket"]) for p in report["pools"]] == [("default", 1)]
