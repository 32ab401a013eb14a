# SPDX-License-Identifier: BSD-3-Clause
"""A pipeline that gets more than it can take, both ways: what is lost before its schedulers is of the lowest class.

A thin stream of the highest class (what comes of it while the system takes a core away must fit in a backlog) goes in beside
a flood of the lowest, up- and downstream, into the gateway over five cores that share what CPUs there are: so every ring before
a scheduler is full now and then. What a wire accepted of the high class must come out. To see that the test can fail, the same
with rings that drop."""

import json
import os
import subprocess

import pytest

from tests.common.limits import limit
from tests.common.verdict import nothing
from tests.qos.classes import wrong_classes

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
UP = """
size 128
var user 0-32767 random
var host 0-131071 random
ether src 02:c0:00:00:00:00 + user dst 02:b0:00:00:00:00
vlan tpid 0x88a8 id 128 + user[14:8]
vlan id 256 + user[7:0]
ipv4 src 10.0.0.0 + user dst 198.18.0.0 + host dscp {dscp}
udp src 1024 dst 2048
"""
DOWN = """
size 152
var user 0-65535 random
var host 0-65535 random
ether src 02:dd:00:00:00:00 dst 02:b0:00:00:01:00
mpls label 16
ipv4 src 203.0.113.1 dst 192.0.2.1
gre key user
ipv4 src 198.18.0.0 + host dst 10.0.0.0 + user dscp {dscp}
udp src 2048 dst 1024
"""
CONFIGURATION = """
name = "overload"; memory = "no-huge"; topology = "1x16x1"; idle = "sleep"; drain = "9s";
pools = { default = { mbufs = "64K"; overcommit = true; }; high = { mbufs = "24K"; overcommit = true; }; };
@include "common/ports-qos.cfg"
@include "common/qos.cfg"
@include "common/subscribers-qos.cfg"
@include "common/routes.cfg"
tasks = (
@include "common/pipeline-qos.cfg"
    ,
    { name = "high_up"; type = "gen"; template = "up46.tmpl"; rate = "2kpps"; stamp = true; pool = "high";
      to = "t_cpe0"; },
    { name = "low_up"; type = "gen"; template = "up0.tmpl"; rate = "10Mpps"; to = "t_cpe0"; },
    { name = "high_down"; type = "gen"; template = "down46.tmpl"; rate = "2kpps"; stamp = true; pool = "high";
      to = "t_core0"; },
    { name = "low_down"; type = "gen"; template = "down0.tmpl"; rate = "10Mpps"; to = "t_core0"; },
    { name = "sink"; type = "sink"; from = ["t_cpe0", "t_cpe1", "t_core0", "t_core1"]; stamps = true; }
);
layout = (
    { core = "0"; tasks = "classify"; }, { core = "1"; tasks = ["qos_up", "lb_up"]; },
    { core = "2"; tasks = ["mpls_down", "lb_down"]; },
    { core = "3-4"; tasks = ["decap", "route", "fragment", "gre_up", "mpls_up", "gre_down", "encap", "fragment_down"]; },
    { core = "5"; tasks = ["qos_down", "tx_core", "tx_cpe", "arp", "own_route", "own_gre", "own_mpls"]; },
    { core = "6"; tasks = ["high_up", "high_down", "low_up", "low_down", "sink"]; }
);
"""
SHORT = [f"--set={task}.ring=256" for task in ("decap", "gre_down", "qos_down")]  # full whenever a reader's core is away
DROPPING = [f"--set={task}.on_full=drop" for task in ("qos_up", "gre_down", "qos_down")]
WAYS = {"high_up": ("classify", "upstream"), "high_down": ("mpls_down", "downstream")}


def run(vbng, folder, seconds, options):
    path, report = os.path.join(folder, "overload.cfg"), os.path.join(folder, "report.json")
    done = subprocess.run([vbng, "--quiet", "--share-cpus", "--duration", f"{seconds}s", "--report", report, *SHORT, *options, path],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=limit(60))
    assert done.returncode == 0, f"exit status {done.returncode}: {done.stdout}"
    with open(report) as f:
        return json.load(f)


def lost(report):
    """Packets of the high class, each way, that a wire accepted and that did not come out."""
    tasks = {t["name"]: t for t in report["tasks"]}
    came = {s["name"].split("/")[0]: s["received"] for s in tasks["sink"]["measured"]["streams"]}
    return {name: tasks[name]["sent"] - came.get(name, 0) for name in WAYS}


@pytest.mark.parametrize("options", [[], DROPPING], ids=["rings-wait", "rings-drop"])
def test_overload(vbng, folder, options):
    os.symlink(os.path.join(TOP, "cfg/common"), folder / "common")
    (folder / "overload.cfg").write_text(CONFIGURATION)
    for name, text in (("up", UP), ("down", DOWN)):
        for dscp in (0, 46):
            (folder / f"{name}{dscp}.tmpl").write_text(text.format(dscp=dscp))
    for seconds in (1, 3, 9, 16):  # how the system shares its CPUs decides when rings fill: a longer run sees it, if this one did not
        report = run(vbng, folder, seconds, options)
        tasks = {t["name"]: t for t in report["tasks"]}
        missing, shed = lost(report), {name: tasks[reader]["drops"]["overload"] for name, (reader, _) in WAYS.items()}
        wrong = [] if report["ledger"]["balances"] is True else [f"the ledger does not balance: {report['ledger']}"]
        wrong += wrong_classes(report)
        for name, (_, way) in WAYS.items():
            sent = tasks[name]["sent"]
            if not options and missing[name] != 0:
                wrong.append(f"{way}: {missing[name]} of {sent} packets of the high class are lost")
            print(f"{way}: {missing[name]} of {sent} packets of the high class lost, {shed[name]} low ones shed, "
                  f"{tasks[name]['drops']['link_full']} not accepted")  # fmt: skip
        nothing(wrong)
        if min(tasks[name]["sent"] for name in WAYS) >= 1000 and (sum(missing.values()) if options else min(shed.values())) > 0:
            return
    pytest.fail(f"no overload came about in 16 s: {'nothing of the high class is lost where rings drop' if options else shed}")
