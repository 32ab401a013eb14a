# SPDX-License-Identifier: BSD-3-Clause
"""In a guest: the adapter for SR-IOV against a NIC with virtual functions. usage: functions.py VBNG FOLDER; status 0, or what is wrong.

Its first port sends to the second and back, through the switch within the NIC, which goes by MAC addresses.
"""

import json
import os
import subprocess
import sys

from vbnglab.measure import rig
from vbnglab.switches import bench
from vbnglab.switches.adapters import sriov

FUNCTIONS, LOAD, SECONDS, SETTLE, ENOUGH = 2, 500.0, 2.0, 8.0, 100
ROUNDS = 2  # in the second the functions were another process's before: their counters go on


def settings(interface):
    """(MAC address, check of it, trust) of each function."""
    (link,) = json.loads(subprocess.run(["ip", "-j", "link", "show", "dev", interface], check=True, capture_output=True, text=True).stdout)
    return [(vf["address"], vf["spoofchk"], vf["trust"]) for vf in link["vfinfo_list"]]


def drivers(switch):
    return [sriov.driver(p.at) for p in switch.ports.values()]


def main(vbng, folder):
    interface = next(name for name in os.listdir(sriov.CLASS_NET) if os.path.exists(f"{sriov.CLASS_NET}/{name}/device/sriov_numvfs"))
    subprocess.run(["ip", "link", "set", interface, "up"], check=True)
    with open(f"{sriov.CLASS_NET}/{interface}/device/sriov_numvfs", "w", encoding="ascii") as f:
        f.write(str(FUNCTIONS))
    os.environ["SRIOV_PF"] = interface
    one = bench.make(sriov.Sriov, bench.Setup("v2v", 1, "learn"), folder, sorted(os.sched_getaffinity(0)), vbng)
    one.settle = SETTLE
    before = settings(interface), drivers(one.switch)
    with one.switch:
        one.switch.start()
        used = settings(interface), drivers(one.switch)
    assert used == ([("02:c0:00:00:00:0a", False, True), ("02:c0:00:00:00:0b", False, True)], ["vfio-pci"] * FUNCTIONS), used
    after = settings(interface), drivers(one.switch)
    assert after == before, f"{before} became {after}"
    for n in range(ROUNDS):
        row = bench.take(one, rig.Request("rplus", "both", rig.Size(64, 64), LOAD, SECONDS))
        assert row["ok"], row["error"]
        assert row["received"] == row["generator"]["sent"] >= ENOUGH, row
        print(f"round {n + 1}: {row['received']} of {row['generator']['sent']} came back")
    assert (settings(interface), drivers(one.switch)) == before


if __name__ == "__main__":
    main(*sys.argv[1:])
