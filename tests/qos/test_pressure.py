# SPDX-License-Identifier: BSD-3-Clause
"""A slow wire behind a scheduler: what it cannot take waits in the scheduler, and nothing is lost behind it.

The wire is slow because it holds 64 packets and its reader sleeps when it finds none. To see that the test can fail, the
same runs with on_full = "drop"."""

import json
import os
import subprocess

import pytest

from tests.common.limits import limit
from tests.common.verdict import nothing
from tests.qos.classes import wrong_classes

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CONFIGURATION = """
name = "pressure"; memory = "no-huge"; topology = "1x8x1"; idle = "sleep"; drain = "5s";
pools = {{ default = {{ mbufs = "32K"; overcommit = true; }}; }};
ports = (
    {{ name = "in"; device = "wire:in"; mac = "02:b0:00:00:00:00"; }},
    {{ name = "out"; device = "wire:out"; on_full = "{full}"; }},
    {{ name = "t_in"; device = "wire:in"; }}, {{ name = "t_out"; device = "wire:out"; rx_desc = 64; }}
);
subscribers = ( {{ port = "in"; svlan = "128-255"; cvlan = "256-511"; ipv4 = "10.0.0.0/17"; profile = "p"; }} );
qos = {{ profiles = {{ p = {{ rate = "100M"; }}; }};
        schedulers = {{ s = {{ ports = "in"; classes = ( {{ class = "be"; queue = 64; }} ); }}; }}; }};
tasks = (
    {{ name = "classify"; type = "classify"; from = "in"; scheduler = "s"; to = "qos"; }},
    {{ name = "qos"; type = "qos"; scheduler = "s"; direction = "up"; to = "tx"; }},
    {{ name = "tx"; type = "forward"; to = "out"; ring = 128; on_full = "{full}"; }},
    {{ name = "gen"; type = "gen"; template = "{template}"; rate = "1Mpps"; to = "t_in"; }},
    {{ name = "sink"; type = "sink"; from = "t_out"; }}
);
layout = ( {layout}, {{ core = "3"; tasks = "gen"; }}, {{ core = "4"; tasks = "sink"; }} );
"""
LAYOUTS = {
    "qos and tx on one core": '{ core = "0"; tasks = ["classify", "qos", "tx"]; }',
    "a ring between them": '{ core = "0"; tasks = ["classify", "qos"]; }, { core = "1"; tasks = "tx"; }',
}


def run(vbng, folder, seconds, full, layout):
    path, report = os.path.join(folder, "pressure.cfg"), os.path.join(folder, "report.json")
    with open(path, "w") as f:
        f.write(CONFIGURATION.format(full=full, layout=layout, template=os.path.join(TOP, "pkt_templates/cpe0.tmpl")))
    done = subprocess.run([vbng, "--quiet", "--share-cpus", "--duration", f"{seconds}s", "--report", report, path],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=limit(60))
    assert done.returncode == 0, f"exit status {done.returncode}: {done.stdout}"
    with open(report) as f:
        r = json.load(f)
    tasks = {t["name"]: t for t in r["tasks"]}
    behind = tasks["qos"]["drops"]["link_full"] + tasks["tx"]["drops"]["link_full"]
    return r, tasks, behind


@pytest.mark.parametrize("full", ["wait", "drop"])
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=["one-core", "ring"])
def test_pressure(vbng, folder, layout, full):
    for seconds in (0.4, 2):  # where others have the CPUs a wire may be full later
        r, tasks, behind = run(vbng, folder, seconds, full, layout)
        stalled = tasks["qos"]["stalled"] + tasks["tx"]["stalled"]
        if behind > 0 or full == "wait" and stalled > 0:
            break
    wrong = wrong_classes(r)
    if r["ledger"]["balances"] is not True:
        wrong.append(f"the ledger does not balance: {r['ledger']}")
    if full == "wait" and behind != 0:
        wrong.append(f"{behind} packets lost behind the scheduler")
    if full == "wait" and stalled == 0:
        wrong.append("the wire was never full: nothing was tested")
    if full == "wait" and tasks["qos"]["sent"] != tasks["sink"]["consumed"]:
        wrong.append(f"{tasks['qos']['sent']} left the scheduler, {tasks['sink']['consumed']} arrived")
    if full == "drop" and behind == 0:
        wrong.append("nothing was lost without back-pressure either: nothing was tested")
    print(f"{tasks['qos']['sent']} packets scheduled, {behind} lost behind, {tasks['qos']['drops']['queue_full']} in full queues")
    nothing(wrong)
