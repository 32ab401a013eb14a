# SPDX-License-Identifier: BSD-3-Clause
"""The testers of vbng-lab switch without a switch: in whose mbufs the frames stay, as the plan of their configuration says."""

import json

import pytest

from tests.common.verdict import nothing
from tests.switch.test_adapters import adapter
from vbnglab.switches import bench, configs, scenarios

KEPT = ("v2v", "loopback", "pairs")


@pytest.mark.parametrize("scenario", [*KEPT, "bng"])
@pytest.mark.parametrize("name", ["testpmd", "direct", "linux-bridge", "alone"])
def test_whose_frames_stay(name, scenario, run, vbng, folder):
    """A switch only reads what the generators send, by whatever device; in the tester's own memory, where wires join them, a frame is everybody's. The
    probes, and all that send to a gateway, have the mbufs into which the ports receive."""
    switch, topology = bench.Alone("/run/lab/x") if name == "alone" else adapter(name), scenarios.ALL[scenario](1)
    if name == "alone":
        topology = bench.alone(topology)
    bench.wire(switch, topology, bench.Setup(scenario, 1, switch.modes[0]))
    cpus = dict.fromkeys(["tester", *(v.name for v in topology.vnfs)], 0)
    done = run(vbng, "--plan=json", configs.write(str(folder), scenario, topology, switch, cpus, "sleep")["tester"])
    assert done.returncode == 0, done.stderr
    kept = {i["instance"]: i["keeps_frames"] for i in json.loads(done.stdout)["instances"] if i["type"] == "gen"}
    assert any(g.startswith("gen_") for g in kept)
    nothing([f"{g}: {kept[g]}" for g in kept if kept[g] != (g.startswith("gen_") and name != "alone" and scenario in KEPT)])
