# SPDX-License-Identifier: BSD-3-Clause
"""Packets that lie in several mbufs pass tasks that read no headers beyond the first, and leave whole."""

import json

import pytest

from tests.pcap.harness import compare, read_pcap, write_pcap

CONFIG = """
memory = "no-huge";
idle = "sleep";
pools = { default = { mbufs = "8K"; data_room = %d; }; };
ports = ( { name = "in"; device = "net_pcap0,rx_pcap=HERE/in.pcap,tx_pcap=HERE/back.pcap"; },
          { name = "out"; device = "net_pcap1,rx_pcap=HERE/none.pcap,tx_pcap=HERE/out.pcap"; } );
tasks = ( %s );
"""
TASKS = {
    "forward": '{ name = "a"; type = "forward"; from = "in"; to = "out"; }',
    "impair": '{ name = "a"; type = "impair"; from = "in"; to = "out"; delay = "1ms"; }',
    "lb": '{ name = "a"; type = "lb"; from = "in"; to = "b"; }, { name = "b"; type = "forward"; to = "out"; }',
}
FRAMES = [bytes((i + k) & 255 for i in range(length)) for k, length in enumerate((60, 1700, 1920, 1921, 3840, 4000, 8000, 60))]


@pytest.mark.parametrize("tasks", list(TASKS))
def test_several_mbufs(vbng, run, folder, tasks):
    write_pcap(folder / "in.pcap", FRAMES)
    write_pcap(folder / "none.pcap", [])
    (folder / "segments.cfg").write_text((CONFIG % (2048, TASKS[tasks])).replace("HERE", str(folder)))
    run(vbng, "--duration", "200ms", "--report", str(folder / "report.json"), str(folder / "segments.cfg"))
    assert compare("out", FRAMES, read_pcap(folder / "out.pcap")) is None
    assert json.loads((folder / "report.json").read_text())["ledger"]["balances"]
