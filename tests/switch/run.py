#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""vbng behind the switches that are installed here: each packet is found again on its way through all processes; and
switches and VNFs that go and come back.

usage: run.py BINARY [--filter NAME]
"""

import argparse
import os
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(TOP, "tools"), os.path.join(TOP, "tests", "container"), os.path.join(TOP, "tests", "pcap")]

import restart  # noqa: E402
from namespaces import enter  # noqa: E402
from tally import Tally  # noqa: E402
from vbnglab import rig, scenarios, switches, switchlab  # noqa: E402

LOAD, SECONDS, SETTLE = 2000.0, 0.4, 0.6  # packets per second: everything shares two CPUs
ATTEMPTS, ENOUGH = 3, 100  # packets

# switch, scenario, number, mode, kind of the ports that stand for NICs
FORWARD = (
    ("direct", "loopback", 2, "patch", None),
    ("testpmd", "loopback", 1, "patch", "vhost"),
    ("testpmd", "chain", 1, "patch", None),  # with the gateway
    ("basicfwd", "loopback", 2, "patch", None),
    ("ovs-dpdk", "loopback", 1, "patch", None),  # the gateway behind it: tests/vm
    ("ovs-dpdk", "v2v", 1, "learn", None),
    ("linux-bridge", "loopback", 1, "patch", None),
    ("linux-bridge", "bng", 1, "learn", None),
    ("ip-forward", "loopback", 2, "learn", None),
    ("testpmd", "pairs", 4, "patch", None),
    ("snabb", "bng", 1, "patch", None),  # these where someone has brought them
    ("fastclick", "bng", 1, "patch", None),
)


def judge(one, row):
    """What is wrong with a trial."""
    if not row["ok"]:
        return [row["error"]]
    inside = sum(row["lost_inside"].values())
    sent, dropped = row["generator"]["sent"], sum(row["drops"].values())  # some are too early for a memif, which connects when it likes
    lost = sent - row["received"]
    wrong = [f"lost {lost} of {sent}, {dropped} dropped by VNFs {row['drops']}, {inside} by the switch"] if lost != inside + dropped else []
    if sent < ENOUGH:
        wrong.append(f"only {sent} packets were sent")
    wrong += [f"{n} {kind}" for kind, n in row["errors"].items()]
    if one.switch.name == "direct":
        return wrong  # no switch, no counters
    return wrong + scenarios.account(one.topology, one.last["reports"], one.last["counters"], inside)


def forward(binary, name, scenario, number, mode, kind):
    """Both ways, or all ways, through a scenario."""
    adapter = switches.ALL[name]
    setup = switchlab.Setup(scenario, number, mode, phy_kind=kind)
    with tempfile.TemporaryDirectory(prefix="vbng-switch-") as folder:
        one = switchlab.make(adapter, setup, folder, restart.cpus(), binary)
        one.settle = SETTLE
        direction = "both" if "both" in one.generators else "all"
        size = rig.Size(128, 152) if scenario in scenarios.GATEWAY else rig.Size(64, 64)
        try:
            for _ in range(ATTEMPTS):  # a tester that got no CPU sends too little, or leaves too early
                wrong = judge(one, switchlab.take(one, rig.Request("rplus", direction, size, LOAD, SECONDS)))
                if not wrong:
                    break
        finally:
            shutil.rmtree(one.switch.folder, ignore_errors=True)
    return wrong


def cases(binary):
    for name, scenario, number, mode, kind in FORWARD:
        title = f"{name}: {scenario}{f' of {number}' if scenario in scenarios.COUNTED else ''}, {mode}{f', {kind}' if kind else ''}"
        yield name, title, lambda a=(name, scenario, number, mode, kind): forward(binary, *a)
    yield from restart.cases(binary)


def main():
    parser = argparse.ArgumentParser(description="vbng behind software switches")
    parser.add_argument("binary")
    parser.add_argument("--filter", default="", help="run only tests whose name contains this")
    args = parser.parse_args()
    why = enter()
    if why:
        print(f"SKIP all: {why}\n0 passed, 0 failed, 1 skipped")
        return 77
    tally = Tally()
    for name, title, what in cases(os.path.abspath(args.binary)):
        if args.filter not in title:
            continue
        version, why = switches.ALL[name].probe()
        if version is None:
            tally.skip(title, why)
        else:
            tally.result(title, what())
    status = tally.end()
    return 77 if status == 0 and tally.passed == 0 else status


if __name__ == "__main__":
    sys.exit(main())
