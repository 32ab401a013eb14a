# SPDX-License-Identifier: BSD-3-Clause
"""The text of a picture, line by line, for a plan that has each kind of link."""

import copy

import pytest
from vbnglab.describe import dot


def instance(task, kind, core, worker=None, receives=(), outputs=()):
    name = task if worker is None else f"{task}.{worker}"
    return {"instance": name, "task": task, "type": kind, "core": core, "receives": list(receives), "outputs": list(outputs)}


def output(name, *destinations):
    return {"name": name, "destinations": list(destinations)}


def call(name):
    return {"kind": "call", "instance": name}


def ring(name, number):
    return {"kind": "ring", "instance": name, "ring": number}


def port(name, rx, tx, **more):
    return {"port": name, "rx_queues": rx, "tx_queues": tx, **more}


def core(number, cpu, *instances):
    return {"core": number, "cpu": cpu, "socket": 0, "instances": list(instances)}


PLAN = {
    "name": 'a "quoted\\name"',
    "cores": [core(1, 4, "c.0", "s.0"), core(2, 5, "c.1", "s.1"), core(3, 6, "tx", "end")],
    "instances": [
        instance("c", "classify", 1, 0, [{"port": "p0", "queue": 0}], [output("to", ring("tx", 0)), output("punt", call("s.0"))]),
        instance("s", "sink", 1, 0),
        instance("c", "classify", 2, 1, [{"port": "p0", "queue": 1}], [output("to", ring("tx", 0)), output("punt", ring("end", 1))]),
        instance("s", "sink", 2, 1),
        instance("tx", "tx", 3, outputs=[output("to", {"kind": "port", "port": "w0", "queue": 0})]),
        instance("end", "sink", 3, receives=[{"port": "w1", "queue": 0}]),
    ],
    "rings": [{"ring": 0, "size": 512, "producing_cores": 2}, {"ring": 1, "size": 64, "producing_cores": 1}],
    "ports": [port("p0", 2, 0), port("w0", 0, 1, peer="w1"), port("w1", 1, 0, peer="w0")],
}


@pytest.mark.parametrize("line", [
    r'  label="a \"quoted\\name\"";',
    '    label="core 3: CPU 6, socket 0";',
    r'    i0 [label="c.0\n(classify)"];',
    '    i4 [label="tx"];',
    '  rx0 [label="p0 rx", shape=cds, style=filled, fillcolor="#d5e8d4"];',
    '  rx0 -> i2 [label="queue 1", weight=4];',
    '  rx2 -> i5 [label="", weight=4];',
    '  i2 -> i4 [label="ring 512 MP", style="bold,dashed", weight=4];',
    '  i0 -> i1 [label="punt", color=gray55, fontcolor=gray40, fontsize=8, penwidth=1, weight=0];',
    r'  i2 -> i5 [label="punt\nring 64 SP", style="bold,dashed", color=gray55, fontcolor=gray40, fontsize=8, penwidth=1, weight=0];',
    '  i4 -> tx1 [label="", weight=4];',
    '  tx1 -> rx2 [style=dotted, color="#5a8a55"];',
])
def test_line(line):
    assert line in dot.write(PLAN).splitlines()


def test_what_is_not_used_is_not_drawn():
    """Neither queues that a port does not have, nor the way of a wire on which nothing is sent."""
    text = dot.write(PLAN)
    assert "tx0" not in text and "rx1" not in text and "tx2" not in text


def test_queues_of_a_port_that_has_several():
    plan = copy.deepcopy(PLAN)
    plan["ports"][1]["tx_queues"] = 2
    assert '  i4 -> tx1 [label="queue 0", weight=4];' in dot.write(plan).splitlines()
