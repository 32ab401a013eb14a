# SPDX-License-Identifier: BSD-3-Clause
"""Adapters without their switches: the configuration of each against a golden text, and what the contract refuses.

In the environment: VBNG_TEST_UPDATE=1 writes the golden texts again.
"""

import os
import socket
import sys

import pytest

from tests.common.verdict import nothing
from vbnglab.measure import rig
from vbnglab.switches import adapters, bench, configs, guests, output, scenarios
from vbnglab.switches.adapters.base import Port, Switch, SwitchError, version_of
from vbnglab.vm import qemu
from vbnglab.vm.topology import Topology

HERE = os.path.dirname(os.path.abspath(__file__))

GOLDEN = os.path.join(HERE, "golden")
NICS = ["0000:05:00.0,0000:08:00.0", "0000:05:00.1,0000:08:00.1"]


def adapter(name):
    """One in a folder that is the same everywhere."""
    more = {"interface": "ens1f0", "functions": {"ens1f0": [f"0000:05:02.{i}" for i in range(8)]}} if name == "sriov" else {}
    return adapters.ALL[name](f"/run/lab/{name}", **more)


def rendered(name, mode):
    """Two connections: between ports of the first kind, and between a second kind, or NICs, and the first."""
    switch = adapter(name)
    ports = ["a", "b", "c", "d"]
    for p in ports[:3]:
        switch.add_port(p)
    other = switch.kinds[-1]
    switch.add_port("d", other, NICS[0] if other == "nic" else None)
    if hasattr(switch, "behind"):
        for i, p in enumerate(ports):
            switch.behind(p, [f"02:c0:00:00:00:0{i}"])
    switch.connect("a", "b", mode)
    switch.connect("d", "c", mode)
    head = [f'# {p.name}: {p.kind}, VNF: {p.role}, device = "{p.device}"' for p in switch.ports.values()]
    return "\n".join([*head, switch.render()])


@pytest.mark.parametrize("name, mode", [(name, mode) for name, cls in adapters.ALL.items() for mode in cls.modes])
def test_configuration(name, mode, monkeypatch):
    monkeypatch.delenv("T4P4S", raising=False)  # the folder and the port of one that is here
    path, text = os.path.join(GOLDEN, f"{name}-{mode}.txt"), rendered(name, mode)
    if os.environ.get("VBNG_TEST_UPDATE"):
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
    with open(path, encoding="utf-8") as f:
        assert text == f.read()


def test_processes_of_a_lab_never_share_a_fanout_group():
    """net_af_packet joins the group (process id XOR interface index) mod 65536; EINVAL where another interface has it."""
    switch = adapter("ip-forward")
    indices = [switch.index(number) for number in range(16)]
    assert all(0 < i < 1 << 31 for i in indices)
    for pid in (1, 1000, 4095, 65535, 70000):
        groups = [[(p ^ i) & 0xFFFF for i in indices] for p in range(pid, pid + 24)]
        assert len({g for own in groups for g in own}) == sum(len(own) for own in groups)


def two(name="testpmd"):
    switch = adapter(name)
    switch.add_port("a")
    switch.add_port("b")
    return switch


def joined():
    switch = two()
    switch.connect("a", "b")
    return switch


def mixed():
    switch = adapter("ovs-dpdk")
    for p in "abcd":
        switch.add_port(p)
    switch.connect("a", "b", "patch")
    return switch


def wired(name, scenario, number=1, **more):
    switch = adapter(name)
    setup = bench.Setup(scenario, number, switch.modes[0], **more)
    bench.wire(switch, scenarios.ALL[scenario](number), setup)
    return switch


@pytest.mark.parametrize("what, word", [
    pytest.param(lambda: adapter("snabb").add_port("a", "memif"), "no ports of kind memif: choose vhost", id="a kind that the switch has not"),
    pytest.param(lambda: two().add_port("a"), "there already", id="a port twice"),
    pytest.param(lambda: adapter("testpmd").add_port("a", "nic"), "a device goes with kind nic", id="a NIC without a device"),
    pytest.param(lambda: adapter("testpmd").add_port("a", "nic", "0000:05:00.0"), "two PCI addresses", id="a NIC with one end"),
    pytest.param(lambda: two().connect("a", "b", "learn"), "no mode learn: choose patch", id="a mode that the switch has not"),
    pytest.param(lambda: mixed().connect("c", "d", "learn"), "the same mode", id="two modes"),
    pytest.param(lambda: two().connect("a", "x"), "no port x", id="a port that is not there"),
    pytest.param(lambda: joined().connect("b", "a"), "connected already", id="a port with two peers"),
    pytest.param(lambda: two().pairs(), "not connected: a, b", id="a port without a peer"),
    pytest.param(lambda: wired("ip-forward", "bng"), "cannot carry", id="a gateway behind a router"),
    pytest.param(lambda: wired("t4p4s", "loopback"), "do not change", id="a chain behind MAC addresses"),
    pytest.param(lambda: adapter("sriov").behind("a", configs.far_macs()["t_cpe0"]), "its own MAC address, and behind port a are 32768", id="a function of many"),
    pytest.param(lambda: wired("testpmd", "p2p", nics=(NICS[0],)), "not enough --nic", id="too few NICs"),
    pytest.param(lambda: wired("direct", "loopback", vnf_in="guest"), "they are of kind memif, and a guest takes vhost or tap", id="no port for a guest"),
    pytest.param(lambda: wired("sriov", "bng", vnf_in="container"), "they are of kind vf, and a container takes vhost, memif, veth", id="no port for a container"),
])  # fmt: skip
def test_refused(what, word):
    with pytest.raises(SwitchError) as e:
        what()
    assert word in str(e.value)


def test_a_switch_that_is_not_here():
    if adapters.ALL["snabb"].probe()[0]:
        pytest.skip("Snabb is installed here")
    with pytest.raises(SwitchError, match="Snabb: "):
        adapters.ALL["snabb"]("/tmp").start()


@pytest.mark.parametrize("name, program, prints, control", [("bess", "bessd", "bessd version 7", "bessctl"), ("vpp", "vpp", "vpp v7 built", "vppctl")])
def test_both_programs_are_needed(folder, monkeypatch, name, program, prints, control):
    """The switch, and what tells it its ports."""
    monkeypatch.setenv("PATH", str(folder))
    for path in (folder / program, folder / control):
        assert adapters.ALL[name].probe()[0] is None
        path.write_text(f"#!/bin/sh\necho {prints}\n")
        path.chmod(0o755)
    assert adapters.ALL[name].probe() == ("7", "")


def test_probe_says_why():
    nothing([f"{n}: no reason" for n, s in adapters.ALL.items() if s.probe()[0] is None and not s.probe()[1]])


def test_a_program_without_a_version():
    assert version_of("sh", "x", ("-c", "exit 1")) == ("unknown", "")


def test_the_two_ends_of_a_nic():
    assert wired("testpmd", "p2p", nics=tuple(NICS)).ports["t1"].device == "0000:08:00.1"


@pytest.mark.parametrize("name, kind, device", [("vpp", "vhost", "net_virtio_user"), ("linux-bridge", "tap", "net_af_packet")])
def test_ports_of_guests(name, kind, device, folder):
    """A guest's VNF has virtio devices at the PCI addresses that QEMU gives them, huge pages and one CPU; the tester stays what it was."""
    switch = wired(name, "chain", vnf_in="guest")
    topology = scenarios.ALL["chain"](1)
    assert {p: switch.ports[p].kind for v in topology.vnfs for p in v.ports} == dict.fromkeys((p for v in topology.vnfs for p in v.ports), kind)
    assert all(switch.ports[p].device.startswith(device) for p in topology.tester_ports)
    paths = configs.write(str(folder), "chain", topology, switch, {"tester": 1, "gateway": 1, "vnf1": 1}, "sleep", guest=True)
    texts = {process: open(path, encoding="utf-8").read() for process, path in paths.items()}
    for process in ("gateway", "vnf1"):
        assert 'memory = "hugepages"' in texts[process] and '{ core = "0";' in texts[process] and 'device = "0000:00:13.0"' in texts[process]
    assert 'memory = "no-huge"' in texts["tester"] and '{ core = "1";' in texts["tester"] and "0000:00" not in texts["tester"]
    nothing([f"{link} leads out of the folder that the guest has" for link in folder.rglob("*") if link.is_symlink()])


@pytest.mark.parametrize("name", ["sriov", "t4p4s"])
def test_subscribers_with_one_mac(name, folder, run, vbng):
    """Behind a port of a switch that takes one MAC address there: those of cfg/common otherwise, in all that gateway and tester have."""
    switch, topology = wired(name, "bng"), scenarios.ALL["bng"](1)
    paths = configs.write(str(folder), "bng", topology, switch, {"tester": 1, "gateway": 1}, "sleep")
    rows = (folder / "cfg" / configs.ONE_MAC).read_text(encoding="utf-8").splitlines()
    assert rows[1] == "cpe0,128,256,10.0.0.0,0,02:c0:00:00:00:00" and rows[-1] == "cpe1,255,511,10.0.255.255,65535,02:c1:00:00:00:00"
    assert len(rows) == 1 + 65536 and {row.rpartition(",")[2] for row in rows[1:]} == {"02:c0:00:00:00:00", "02:c1:00:00:00:00"}
    templates = [(t.name, t.read_text(encoding="utf-8")) for t in (folder / "pkt_templates").iterdir()]
    wrong = [f"{name}: {line}" for name, text in templates for line in text.splitlines() if line.startswith("ether src 02:c") and "+ user" in line]
    checks = [run(vbng, "--check", path) for path in paths.values()]
    nothing(wrong + [c.stderr for c in checks if c.returncode != 0])


@pytest.mark.parametrize("name, words", [("snabb", "disable-modern=on"), ("vpp", "disable-legacy=on")])
def test_virtio_of_guests(name, words):
    """A guest behind a switch without VIRTIO_F_VERSION_1 has legacy devices; QEMU starts no modern one there."""
    switch = wired(name, "loopback", vnf_in="guest")
    spec = qemu.Spec("x.cfg", [guests._port(switch.ports[p], switch) for p in ("v1a", "v1b")], Topology(1, 1, 1), [0])
    devices = [word for port in range(2) for word in qemu._port(port, spec.ports[port]) if word.startswith("virtio-net-pci")]
    assert len(devices) == 2 and all(words in d for d in devices), devices


@pytest.mark.parametrize("name, number", [(name, number) for name in scenarios.ALL for number in ((1, 2, 4) if name in scenarios.COUNTED else (1,))])
def test_topology(name, number):
    """Every port is joined once by the switch, and every stream's way can be walked from its port to its end."""
    t, wrong = scenarios.ALL[name](number), []
    linked = [p for link in t.links for p in link]
    if sorted(linked) != sorted(t.place):
        wrong.append(f"joined: {linked}")
    through = {**dict(w for v in t.vnfs for w in v.joined)}
    peer = {**dict(t.links), **{b: a for a, b in t.links}}
    for a, b in (*t.up, *t.down):
        at = peer[a]
        while at in through:
            at = peer[through[at]]
        if at != b:
            wrong.append(f"what {a} sends arrives at {at}, not at {b}")
    nothing(wrong)


class Dies(Switch):
    """A switch that says something and ends."""

    name = title = "dies"

    @classmethod
    def probe(cls):
        return "1", ""

    def attach(self, name, kind, number, device):
        return Port(name, kind, number, "")

    def daemon(self):
        return ["sh", "-c", "echo the reason; exit 3"]


@pytest.mark.parametrize("load, of_probes, of_generators", [(1e6, 5000, 497500), (4e4, 5000, 17500), (3000, 1500, 750)])
def test_probes_are_in_the_load(load, of_probes, of_generators):
    """They send what they are told, but for half of the load at most. Under saturation nobody heeds them."""
    one = bench.SwitchRig("x.cfg", generators={"up": ["gen_cpe0", "gen_cpe1"]}, probes={"up": ["probe_cpe0"]})
    settings = one.tester_settings(rig.Request("latency", "up", rig.Size(64, 64), load, 1.0, True))
    rates = {name: settings[f"{name}.rate"] for name in ("probe_cpe0", "gen_cpe0", "gen_cpe1")}
    assert rates == {"probe_cpe0": f"{of_probes:.3f}pps", **dict.fromkeys(("gen_cpe0", "gen_cpe1"), f"{of_generators:.3f}pps")}
    settings = one.tester_settings(rig.Request("rplus", "up", rig.Size(64, 64), None, 1.0))
    assert settings["gen_cpe0.rate"] == "100%" and "probe_cpe0.rate" not in settings and "probe_cpe0.start" in settings


def test_a_crash_is_told_with_its_last_lines(folder):
    with pytest.raises(SwitchError) as e:
        Dies(str(folder)).start()
    assert "ended with status 3), last lines:\nthe reason" in str(e.value)


SLOW = """
import os, socket, sys, time
path, deaf = sys.argv[1], float(sys.argv[2])
time.sleep(0.5)
with socket.socket(socket.AF_UNIX) as s:
    s.bind(path + ".new")
    if not deaf:
        s.listen()
    os.link(path + ".new", path)
    time.sleep(deaf)
    s.listen()
    time.sleep(60)
"""


class Slow(Dies):
    """A switch whose socket is there late, and that takes no path which is there."""

    deaf = 0.0  # seconds from then until it listens

    def ready_paths(self):
        return [f"{self.folder}/cli.sock"]

    def daemon(self):
        return [sys.executable, "-c", SLOW, *self.ready_paths(), str(self.deaf)]


def test_a_socket_that_a_killed_switch_has_left(folder):
    """It neither stops the next one from making it nor tells that this one is ready."""
    with socket.socket(socket.AF_UNIX) as left, Slow(str(folder)) as switch, socket.socket(socket.AF_UNIX) as caller:
        left.bind(switch.ready_paths()[0])
        switch.start()
        caller.connect(switch.ready_paths()[0])


class Deaf(Slow):
    """A switch that makes its socket some time before it listens, and is waited for as VPP is."""

    deaf, ready = 1.0, adapters.ALL["vpp"].ready


def test_a_socket_at_which_nobody_listens_yet(folder):
    with Deaf(str(folder)) as switch, socket.socket(socket.AF_UNIX) as caller:
        switch.start()
        caller.connect(switch.ready_paths()[0])


def made_up(scenario, name="x", size="64", cpu="A CPU", guest=None):
    """A result with one point."""
    figure = {"size": size, "direction": "up", "rplus": {"pps": {"median": 2e6, "min": 1e6, "max": 3e6}, "loss_ratio": 0.5, "used": 1},
              "latency": [{"share": 0.1, "streams": {"s": {"p50": {"median": 1500}, "p99": {"median": 2500}}}}]}
    trial = {"purpose": "rplus", "size": size, "direction": "up", "ok": True, "cpu": {"switch": 0.5, "machine": 1.5}}
    entry = {"title": "X", "version": "1", "mode": "patch", "guest": guest, "state": "measured", "why": "", "result": {"figures": [figure], "trials": [trial]}}
    dead = {"title": "Y", "version": None, "mode": "patch", "state": "rendered", "why": "not in PATH", "result": None}
    return {"scenario": scenario, "about": "x", "shared": True, "alone": entry, "switches": {name: entry, "y": dead}, "machine": {"cpu": cpu},
            "command": []}  # fmt: skip


def test_the_table():
    """The table of a made-up result, and of several as one."""
    text = output.text(made_up("p2p", guest="TCG (as asked)"))
    wrong = [f"'{w}' is not in the table:\n{text}" for w in ("2  ", "1–3", "50 %", "0.50", "1.50", "1.5/2.5", "not in PATH", "function only", "(VNFs in guests: TCG (as asked))") if w not in text]
    several = output.merge([made_up("pairs1"), made_up("pairs2"), made_up("pairs2", size="256"), made_up("pairs2", "z")])
    lines = [line.split()[:5] for line in output.text(output.merge([several])).splitlines()]
    for row in (["x", "pairs1", "patch", "64", "one"], ["x", "pairs2", "patch", "64", "one"], ["x", "pairs2", "patch", "256", "one"],
                ["z", "pairs2", "patch", "64", "one"]):  # fmt: skip
        wrong += [] if lines.count(row) == 1 else [f"{row} is not once in {lines}"]
    for name, entry in several["switches"].items():
        if entry["state"] == "measured" and len(output.ceilings(entry["alone"])) != len(entry["result"]["figures"]):
            wrong.append(f"{name}: not a ceiling for each point")
    nothing(wrong)


@pytest.mark.parametrize("parts, word", [
    pytest.param([made_up("p2p"), made_up("p2p")], "x was measured twice: p2p 64 one way", id="twice"),
    pytest.param([made_up("p2p"), made_up("p2v", cpu="another")], "different machines", id="of other machines"),
    pytest.param([made_up("loopback1-guest", guest="KVM"), made_up("loopback2-guest", guest="TCG")], "guests by KVM and by TCG", id="of other guests"),
])
def test_results_that_do_not_belong_together(parts, word):
    with pytest.raises(SwitchError) as e:
        output.merge(parts)
    assert word in str(e.value)
