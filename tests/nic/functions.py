# SPDX-License-Identifier: BSD-3-Clause
"""In a guest: the adapter for SR-IOV against NICs with virtual functions. usage: functions.py SCENARIO VBNG FOLDER; status 0, or what is wrong.

v2v: the first port sends to the second and back, through the switch within one NIC, which goes by MAC addresses. bng: the gateway, each of whose
ports is within a NIC joined to one of the tester; more functions than one igb has, so that two NICs take turns.
"""

import json
import os
import subprocess
import sys

from vbnglab.measure import rig
from vbnglab.switches import bench, configs
from vbnglab.switches.adapters import sriov

FUNCTIONS = {"v2v": (2,), "bng": (4, 4)}  # of each NIC
LOAD, SECONDS, SETTLE, ENOUGH = 500.0, 2.0, 8.0, 100
ROUNDS = 2  # in the second the functions were another process's before: their counters go on
MACS = {"v2v": [to for _, to in configs.MACS.values()],
        "bng": [*(mac for macs in configs.far_macs(one=True).values() for mac in macs), *(mac for mac, _ in configs.ADDRESSES.values())]}


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


def main(scenario, vbng, folder):
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
