# SPDX-License-Identifier: BSD-3-Clause
"""What adapters read from the answers of their switches. The answers are in the formats of the switches' sources: VPP's
src/vnet/interface_format.c and src/vlib/error.c, BESS's bessctl/commands.py; the numbers are made up."""

import os

import pytest

from tests.common.verdict import nothing
from vbnglab.lab import ovs
from vbnglab.switches import bench, configs, scenarios
from vbnglab.switches.adapters import ALL, sriov
from vbnglab.switches.adapters.base import SwitchError

VPP_INTERFACE = """\
              Name               Idx    State  MTU (L3/IP4/IP6/MPLS)     Counter          Count     
VirtualEthernet0/0/0              1      up          9000/0/0/0     rx packets                  1000
                                                                    rx bytes                   64000
                                                                    tx packets                   950
                                                                    tx bytes                   60800
                                                                    drops                         40
VirtualEthernet0/0/1              2      up          9000/0/0/0     rx packets                   960
                                                                    rx bytes                   61440
                                                                    tx packets                   970
                                                                    tx bytes                   62080
                                                                    drops                         10
                                                                    rx-miss                        5
local0                            0     down          0/0/0/0       drops                          0
memif1/2                          3      up          9000/0/0/0     tx packets                     7
                                                                    tx bytes                     448
                                                                    rx-no-buf                      3
"""
VPP_ERRORS = """\
   Count                    Node                  Reason
        30              l2-output                 L2 output packets
        12         VirtualEthernet0/0/0-tx        tx packet drops (no available descriptors)
         8         VirtualEthernet0/0/0-tx        vhost vring not ready
         2                 memif1/2-tx            no free tx slots
"""
VPP_HARDWARE = """\
              Name                Idx   Link  Hardware
VirtualEthernet0/0/0               1     up   VirtualEthernet0/0/0
  Link speed: unknown
  Ethernet address 02:fe:00:00:00:01
VirtualEthernet0/0/1               2    down  VirtualEthernet0/0/1
  Link speed: unknown
memif1/2                           3     up   memif1/2
  Link speed: unknown
"""
BESS_PORT = """\
  p0           Driver PMDPort    HWaddr 00:00:00:00:00:00  MTU 1500  
               Speed 10,000Mbps  Link UP    Duplex FULL  Autoneg ON   
       Inc/RX  packets: 1,234,567           bytes: 79,012,288          
               dropped: 12                  
       Out/TX  packets: 1,000               bytes: 64,000              
               dropped: 3,456               

  p1           Driver PMDPort    HWaddr 00:00:00:00:00:00  MTU 1500  
               Speed 10,000Mbps  Link DOWN  Duplex FULL  Autoneg ON   
       Inc/RX  packets: 0                   bytes: 0                   
               dropped: 0                   
       Out/TX  packets: 5                   bytes: 320                 
               dropped: 0                   
"""


def answering(name, answers, ports):
    """An adapter with ports, whose commands are answered: {words at the end of the command: answer}."""
    class Answers(ALL[name]):
        def run(self, command):
            return next(text for words, text in answers.items() if " ".join(command).endswith(words))

    switch = Answers("/run/lab/x")
    for port, kind in ports:
        switch.add_port(port, kind)
    return switch


def vpp(hardware=VPP_HARDWARE):
    return answering("vpp", {"show interface": VPP_INTERFACE, "show errors": VPP_ERRORS, "show hardware-interfaces": hardware},
                     [("a", "vhost"), ("b", "vhost"), ("c", "memif")])


def test_vpp_counts_each_packet_once():
    """What was dropped after it was received is in "rx packets" and not beside them; what could not be sent was not sent."""
    assert vpp().counters() == {"a": {"rx_packets": 1000, "rx_drop": 0, "tx_packets": 930, "tx_drop": 20},
                                "b": {"rx_packets": 960, "rx_drop": 5, "tx_packets": 970, "tx_drop": 0},
                                "c": {"rx_packets": 0, "rx_drop": 3, "tx_packets": 5, "tx_drop": 2}}
    assert vpp().lost_inside() == {"drops": 30}


def test_vpp_is_up_when_all_links_are():
    assert not vpp().up()
    assert vpp(VPP_HARDWARE.replace("down", "up  ")).up()
    assert not vpp(VPP_HARDWARE.split("memif")[0].replace("down", "up  ")).up(), "a port that is not there"


@pytest.mark.parametrize("said, word", [
    ("VirtualEthernet0/0/0\nset interface rx-mode: unknown input `x'\n", "unknown input"),
    ("exec: /run/lab/setup.vpp: No such file or directory\nfailed\n", "failed"),
    ("VirtualEthernet0/0/0\n", None),
])
def test_vpp_says_what_is_wrong_in_words_only(folder, said, word):
    """The CLI's status is 0, whatever it says; here echo is the CLI."""
    switch = ALL["vpp"](str(folder))
    command = ["printf", said, "exec"]
    if word is None:
        assert "VirtualEthernet" in switch.run(command)
        return
    with pytest.raises(SwitchError, match=word):
        switch.run(command)


def test_vpp_is_set_up_when_its_socket_is_there():
    """startup-config is read seconds after the socket is there; nothing may depend on it."""
    switch = ALL["vpp"]("/run/lab/vpp")
    switch.add_port("a")
    switch.add_port("b")
    switch.connect("a", "b")
    assert "startup-config" not in switch.render()
    assert switch.render().splitlines()[-1] == "vppctl -s /run/lab/vpp/cli.sock exec /run/lab/vpp/setup.vpp"


def bess(text=BESS_PORT):
    return answering("bess", {"show port": text}, [("a", "vhost"), ("b", "vhost")])


def test_bess_drops_are_on_lines_of_their_own():
    assert bess().counters() == {"a": {"rx_packets": 1234567, "rx_drop": 12, "tx_packets": 1000, "tx_drop": 3456},
                                 "b": {"rx_packets": 0, "rx_drop": 0, "tx_packets": 5, "tx_drop": 0}}


def test_bess_is_up_when_all_links_are():
    assert not bess().up()
    assert bess(BESS_PORT.replace("Link DOWN", "Link UP  ")).up()
    assert not bess(BESS_PORT.split("  p1")[0]).up(), "a port that is not there"


# --- SR-IOV ---

LINK = """[{"ifname": "ens1f0", "vfinfo_list": [
  {"vf": 0, "link_type": "ether", "address": "02:11:22:33:44:55", "vlan_list": [{}], "spoofchk": true, "trust": false},
  {"vf": 1, "link_type": "ether", "address": "00:00:00:00:00:00", "vlan_list": [{}], "spoofchk": false, "trust": true}]}]"""
FUNCTIONS = ["0000:05:02.0", "0000:05:02.1", *(f"0000:05:03.{i}" for i in range(6))]


@pytest.fixture
def functions(monkeypatch, folder):
    """SR-IOV adapter whose commands are recorded. The first function has the kernel's driver, the second none."""
    (folder / "devices" / FUNCTIONS[0]).mkdir(parents=True)
    (folder / "drivers" / "iavf").mkdir(parents=True)
    (folder / "devices" / FUNCTIONS[0] / "driver").symlink_to(folder / "drivers" / "iavf")
    monkeypatch.setattr(sriov, "DEVICES", str(folder / "devices"))
    monkeypatch.setattr(sriov.Sriov, "probe", classmethod(lambda _: ("a NIC", "")))
    said = []

    def run(_, command):
        said.append(" ".join(command))
        return LINK if command[1:2] == ["-j"] else ""

    monkeypatch.setattr(sriov.Sriov, "run", run)
    switch = sriov.Sriov(str(folder), interface="ens1f0", functions={"ens1f0": FUNCTIONS})
    switch.said = said
    return switch


OVS_RXQ = """\
pmd thread numa_id 0 core_id 0:
  isolated : false
  port: a                 queue-id:  0 (enabled)   pmd usage: NOT AVAIL
  port: b                 queue-id:  0 (disabled)  pmd usage: NOT AVAIL
  overhead: NOT AVAIL
"""


@pytest.mark.parametrize("said, up", [
    pytest.param(OVS_RXQ.replace("disabled", "enabled"), True, id="all"),
    pytest.param(OVS_RXQ, False, id="one without its peer"),
    pytest.param("\n".join(line for line in OVS_RXQ.splitlines() if " b " not in line), False, id="one that was taken away"),
])
def test_open_vswitch_is_up_when_it_reads_all_ports(monkeypatch, said, up):
    """A port that is just given its peer's rings is taken from the threads, and what is sent there then is lost."""
    made = ovs.OvsDpdk("/run/lab/x")
    for name in ("a", "b"):
        made.add_port(name)
    made.add_device("nic", "0000:05:00.0")
    monkeypatch.setattr(made, "_run", lambda *_: said)
    assert made.up() == up


def test_functions_have_the_addresses_that_are_sent_to(functions):
    """Each function has the MAC address to which the other end sends, the gateway's ports theirs."""
    bench.wire(functions, scenarios.ALL["v2v"](1), bench.Setup("v2v", mode="learn"))
    words = [" ".join(c) for c in functions.before()]
    (up, down) = configs.MACS["up"][1], configs.MACS["down"][1]
    assert f"ip link set ens1f0 vf 0 mac {down}" in words and f"ip link set ens1f0 vf 1 mac {up}" in words, words


def test_the_gateway_behind_functions(functions):
    """The gateway rewrites MAC addresses; VNFs that hand frames on do not."""
    bench.wire(functions, scenarios.ALL["bng"](1), bench.Setup("bng", mode="learn"))
    numbers = {p.name: FUNCTIONS.index(p.at) for p in functions.ports.values()}
    words = [" ".join(c) for c in functions.before()]
    wanted = {**{p: mac for p, (mac, _) in configs.ADDRESSES.items()}, "t_core0": "02:dd:00:00:00:00", "t_cpe1": "02:c1:00:00:00:00"}
    nothing([f"{p}: {mac}" for p, mac in wanted.items() if f"ip link set ens1f0 vf {numbers[p]} mac {mac}" not in words])


def test_functions_of_two_nics(folder):
    """The NICs take turns by connections, each of which is within one, for nothing leads from one to the other; each is told of its own functions."""
    names = ("ens1f0", "ens1f1")
    two = sriov.Sriov(str(folder), interface=",".join(names), functions={name: [f"{name}.{i}" for i in range(4)] for name in names})
    bench.wire(two, scenarios.ALL["bng"](1), bench.Setup("bng", mode="learn"))
    at = {name: p.at.partition(".")[::2] for name, p in two.ports.items()}
    assert sorted(".".join(a) for a in at.values()) == [f"{name}.{i}" for name in names for i in range(4)]
    nothing([f"{a} and {b}" for a, b, _ in two.connections if at[a][0] != at[b][0]])
    words = [" ".join(c) for c in two.before()]
    nothing([f"{p}: {mac}" for p, (mac, _) in configs.ADDRESSES.items() if f"ip link set {at[p][0]} vf {at[p][1]} mac {mac}" not in words])


def test_functions_that_are_not_there(folder, monkeypatch):
    monkeypatch.setattr(sriov, "CLASS_NET", str(folder))
    with pytest.raises(SwitchError, match="ens1f0 has no virtual function 0: echo N >.*/ens1f0/device/sriov_numvfs, or name another NIC in .SRIOV_PF, too"):
        bench.wire(sriov.Sriov(str(folder), interface="ens1f0"), scenarios.ALL["v2v"](1), bench.Setup("v2v", mode="learn"))


def test_functions_are_given_back(functions):
    """At the end each has the driver and the settings that it had; a switch that was not started gives nothing back."""
    assert functions.undo() == []
    bench.wire(functions, scenarios.ALL["v2v"](1), bench.Setup("v2v", mode="learn"))
    functions.start()
    assert "dpdk-devbind.py --bind=vfio-pci 0000:05:02.0 0000:05:02.1" in functions.said
    back = [" ".join(c) for c in functions.undo()]
    assert back == [
        "dpdk-devbind.py --bind=iavf 0000:05:02.0", "ip link set ens1f0 vf 0 mac 02:11:22:33:44:55", "ip link set ens1f0 vf 0 spoofchk on",
        "ip link set ens1f0 vf 0 trust off", "ip link set ens1f0 vf 0 vlan 0",
        "dpdk-devbind.py --unbind 0000:05:02.1", "ip link set ens1f0 vf 1 mac 00:00:00:00:00:00", "ip link set ens1f0 vf 1 spoofchk off",
        "ip link set ens1f0 vf 1 trust on", "ip link set ens1f0 vf 1 vlan 0"], back  # fmt: skip
    assert functions.undo() == [], "once only"


def test_addresses_of_the_far_ends():
    """They are those of the configurations that the gateway and the tester have."""
    home = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "cfg", "common")
    text = "".join(open(os.path.join(home, name), encoding="utf-8").read() for name in ("subscribers.cfg", "routes.cfg"))
    macs = configs.far_macs()
    nothing([f"{port}: {m[0]}" for port, m in macs.items() if f'mac = "{m[0]}"' not in text])
    assert configs.far_macs(one=True) == {port: m[:1] for port, m in macs.items()}
    assert 'gre_key = "0-32767"' in text and len(macs["t_cpe0"]) == len(set(macs["t_cpe0"])) == 32768 and macs["t_cpe0"][-1] == "02:c0:00:00:7f:ff"
