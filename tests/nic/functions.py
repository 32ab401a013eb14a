# SPDX-License-Identifier: BSD-3-Clause
"""In a guest: the adapter for SR-IOV against NICs with virtual functions. usage: functions.py SCENARIO VBNG FOLDER; status 0, or what is wrong.

v2v: the first port sends to the second and back, through the switch within one NIC, which goes by MAC addresses. bng: the gateway, each of whose
ports is within a NIC joined to one of the tester; more functions than one igb has, so that two NICs take turns. queues: one function sends frames with
two tags to another that several cores read. row: the table's row of doc/switches.md, which has figures or says why there is none.
"""

import json
import os
import shlex
import subprocess
import sys

from tests.vm import cells
from vbnglab.measure import rig
from vbnglab.switches import bench, configs, scenarios
from vbnglab.switches.adapters import sriov

FUNCTIONS = {"v2v": (2,), "bng": (4, 4), "queues": (2,), "row": (4, 4)}  # of each NIC
LOAD, SECONDS, SETTLE, ENOUGH = 500.0, 2.0, 8.0, 100
ROUNDS = 2  # in the second the functions were another process's before: their counters go on
MACS = {"v2v": [to for _, to in configs.MACS.values()],
        "bng": [*(mac for macs in configs.far_macs(one=True).values() for mac in macs), *(mac for mac, _ in configs.ADDRESSES.values())]}

PACKETS = 200
TAGGED = """size 128
var  user 0-1023 step 1
ether src 02:c0:00:00:00:0a dst 02:c0:00:00:00:0b
vlan  tpid 0x88a8 id 128 + user[9:8]
vlan  id 256 + user[7:0]
ipv4  src 10.0.0.0 + user dst 198.18.0.0 + user
udp   src 1024 dst 2048
payload 00
"""
READ = """name = "queues"; memory = "hugepages"; idle = "sleep"; topology = "1x4x1";
pools = {{ default = {{ mbufs = "16K"; }}; }};
ports = (
    {{ name = "a"; device = "{a}"; }},
    {{ name = "b"; device = "{b}"; {receive} }}
);
tasks = (
    {{ name = "gen"; type = "gen"; template = "tagged.tmpl"; rate = "100pps"; start = "2s"; count = {packets}; train = 1; to = "a"; }},
    {{ name = "sink"; type = "sink"; from = "b"; }}
);
layout = ( {{ core = "0"; tasks = ["gen"]; }}, {{ core = "{cores}"; tasks = ["sink"]; }} );
"""

LB = "with a task of type lb"  # what helps
REFUSED = (("1-3", "", "3 cores read it, but the device has 2 receive queue(s)"),
           ("1-2", 'receive = { by = "rss"; };', "the device has no RSS"),
           ("1-2", 'receive = { by = "s_vlan"; queues = ( { name = "x"; }, { name = "y"; s_vlan = "129-130"; } ); };',
            "the device refuses rules for queue 'y': Function not implemented"))


def on_huge_pages(vbng, folder):
    """A program that is vbng, on huge pages whatever its configuration says. QEMU's igb drops a frame that lies in two pages which the IOMMU maps to places
    apart from each other, as some small ones of "no-huge" are: it takes what it can map as one piece."""
    path = f"{folder}/vbng"
    with open(path, "w", encoding="utf-8") as f:
        f.write(f"""#!/bin/sh
for config; do :; done
[ ! -f "$config" ] || sed -i 's/^memory = "no-huge"/memory = "hugepages"/' "$config"
exec {shlex.quote(os.path.abspath(vbng))} "$@"
""")
    os.chmod(path, 0o755)
    return path


def settings(interfaces):
    """(MAC address, check of it, trust) of each function."""
    found = []
    for name in interfaces:
        (link,) = json.loads(subprocess.run(["ip", "-j", "link", "show", "dev", name], check=True, capture_output=True, text=True).stdout)
        found += [(vf["address"], vf["spoofchk"], vf["trust"]) for vf in link["vfinfo_list"]]
    return found


def drivers(switch):
    return [sriov.driver(p.at) for p in switch.ports.values()]


def prepare(numbers):
    """Make the functions. Returns the names of their NICs."""
    names = sorted(name for name in os.listdir(sriov.CLASS_NET) if os.path.exists(f"{sriov.CLASS_NET}/{name}/device/sriov_numvfs"))
    assert len(names) == len(numbers), names
    for name, number in zip(names, numbers):
        subprocess.run(["ip", "link", "set", name, "up"], check=True)
        with open(f"{sriov.CLASS_NET}/{name}/device/sriov_numvfs", "w", encoding="ascii") as f:
            f.write(str(number))
    return names


def unaccounted(one):
    """What is wrong between the processes: an igb counts for no function what it hands on, so each end of a connection is held against the other."""
    reports = one.last["reports"]
    ports = {p["name"]: p for r in reports.values() for p in r["ports"]}
    wrong = [f"the ledger of {name} does not balance: {r['ledger']}" for name, r in reports.items() if not r["ledger"]["balances"]]
    for link in one.topology.links:
        for a, b in (link, link[::-1]):
            if ports[a]["tx_packets"] != ports[b]["rx_packets"] + ports[b]["rx_missed"] + ports[b]["rx_errors"]:
                wrong.append(f"{a} to {b}: {ports[a]['tx_packets']} sent, {ports[b]['rx_packets']} received, {ports[b]['rx_missed']} missed")
    return wrong


def read_by(cores, switch, vbng, folder, receive=""):
    """(status, what vbng has said, its report or None) of a run in which so many cores read the second function."""
    a, b = switch.ports["t0"].at, switch.ports["t1"].at
    for name, text in (("tagged.tmpl", TAGGED), ("queues.cfg", READ.format(a=a, b=b, cores=cores, packets=PACKETS, receive=receive))):
        with open(f"{folder}/{name}", "w", encoding="utf-8") as f:
            f.write(text)
    report = f"{folder}/report.json"
    done = subprocess.run([vbng, "--share-cpus", "--quiet", "--duration", "12s", "--report", report, f"{folder}/queues.cfg"], capture_output=True, text=True)
    if done.returncode != 0:
        return done.returncode, done.stderr, None
    with open(report, encoding="utf-8") as f:
        return 0, done.stderr, json.load(f)


def queues(vbng, folder):
    """A function of an igb has two queues and no RSS, which vbng says; as emulated, all that it gets comes to the first one, and none is lost."""
    os.environ["SRIOV_PF"] = ",".join(prepare(FUNCTIONS["queues"]))
    with sriov.Sriov(folder) as switch:
        bench.wire(switch, scenarios.ALL["v2v"](1), bench.Setup("v2v", 1, "learn"))
        switch.start()
        for cores in ("1", "1-2"):
            status, said, report = read_by(cores, switch, vbng, folder)
            assert status == 0 and report["ledger"]["balances"] and report["ports"][1]["rx_packets"] == PACKETS, (said, report)
            bursts = [c["rounds"] - c["empty_rounds"] for c in report["cores"]][1:]
            assert bursts[0] > 0 and not any(bursts[1:]), bursts
        assert "queues.cfg:5: port b has no RSS: how it spreads packets over its 2 queues is the device's own way" in said, said
        print(f"two queues: bursts of the cores {bursts}, {said}")
        for cores, receive, words in REFUSED:
            status, said, _ = read_by(cores, switch, vbng, folder, receive)
            assert status != 0 and f"queues.cfg:5: port b: {words}; " in said and LB in said, said
            print(said)


def filled(vbng, folder):
    """The command of the table fills the cells of the row, which is printed."""
    os.environ["SRIOV_PF"] = ",".join(prepare(FUNCTIONS["row"]))
    cells.main("sriov", vbng, folder)


ALONE = {"queues": queues, "row": filled}


def main(scenario, vbng, folder):
    vbng = on_huge_pages(vbng, folder)
    if scenario in ALONE:
        return ALONE[scenario](vbng, folder)
    names = prepare(FUNCTIONS[scenario])
    os.environ["SRIOV_PF"] = ",".join(names)
    one = bench.make(sriov.Sriov, bench.Setup(scenario, 1, "learn"), folder, sorted(os.sched_getaffinity(0)), vbng)
    one.settle = SETTLE
    before = settings(names), drivers(one.switch)
    with one.switch:
        one.switch.start()
        used, bound = settings(names), drivers(one.switch)
    assert sorted(used) == sorted((mac, False, True) for mac in MACS[scenario]) and set(bound) == {"vfio-pci"}, (used, bound)
    after = settings(names), drivers(one.switch)
    assert after == before, f"{before} became {after}"
    size = rig.Size(64, 64) if scenario == "v2v" else rig.Size(128, 152)
    for n in range(ROUNDS):
        row = bench.take(one, rig.Request("rplus", "both", size, LOAD, SECONDS))
        assert row["ok"], row["error"]
        assert row["received"] == row["generator"]["sent"] >= ENOUGH and not row["errors"], row
        wrong = unaccounted(one)
        assert not wrong, wrong
        print(f"round {n + 1}: {row['received']} of {row['generator']['sent']} came back, through {len(one.switch.ports)} functions of {len(names)} NICs")
    assert (settings(names), drivers(one.switch)) == before


if __name__ == "__main__":
    main(*sys.argv[1:])
