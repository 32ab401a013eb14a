# SPDX-License-Identifier: BSD-3-Clause
"""vbng-lab switch row: the table of what there is, and of why there is nothing."""

import argparse

import pytest

from tests.switch.bed import installed
from vbnglab import cli
from vbnglab.switches import adapters, row


def entry(pps=None, why="", guest=None):
    figures = [{"size": "64", "direction": "up", "rplus": {"pps": {"median": pps, "min": pps / 2, "max": pps * 1.5}}}] if pps else []
    return {"state": "measured" if pps else "failed", "why": why, "guest": guest, "result": {"figures": figures, "trials": []}}


def result(shared=False, **switches):
    return {"shared": shared, "tuple": {"size": "64"}, "switches": {name.replace("_", "-"): e for name, e in switches.items()}}


def table(*found):
    return [[c.strip() for c in line.strip("| ").split(" | ")] for line in row.text(*found).splitlines()[2:]]


def test_each_cell_has_a_figure_or_a_reason():
    absent = "bessctl is not in PATH (a|b)"
    found = {("v2v", "host"): result(testpmd=entry(2e6), bess=entry(why=absent)),
             ("loopback", "host"): result(True, testpmd=entry(1e6), bess=entry(why=absent)),
             ("loopback", "guest"): result(testpmd=entry(why="vnf1 did not start: no kernel\nsecond line"), bess=entry(why=absent, guest="TCG (no vmx)"))}
    cells = row.cells("loopback-guest,p2p-host,v2v-host,loopback-host")
    assert table(found, ["testpmd", "bess"], cells) == [
        ["switch", "p2p, host", "v2v, host", "loopback, host", "loopback, guest"], ["---"] * 5,
        [adapters.ALL["testpmd"].title, row.AS_V2V, "2 (1–3)", "1 (0.5–1.5)",
         "vnf1 did not start: no kernel"],
        [adapters.ALL["bess"].title, row.AS_V2V, "bessctl is not in PATH (a\\|b)", row.AGAIN, row.AGAIN]]
    said = row.text(found, ["testpmd"], cells).splitlines()[0]
    assert "64 B; function only" in said and said.endswith("guests: TCG (no vmx)")


def test_a_cell_that_there_is_not():
    with pytest.raises(argparse.ArgumentTypeError, match="no cell v2v-guest: choose of p2p-host, "):
        row.cells("v2v-host,v2v-guest")


def test_a_row(own_network, vbng, folder, capsys):
    """Two cells of a switch that is here, one that it has not, and one of a switch that cannot carry it."""
    installed(adapters.ALL["ip-forward"])
    status = cli.main(["switch", "row", "--switch", "ip-forward,direct", "--only", "v2v-host,bng-host,bng-guest", "--quick", "--seconds", "0.3", "--max-trials", "2",
                       "--vbng", str(vbng), "--out", str(folder / "row")])  # fmt: skip
    said = [[c.strip() for c in line.strip("| ").split(" | ")] for line in capsys.readouterr().out.splitlines()[4:]]
    assert status == 0 and [r[0] for r in said] == [adapters.ALL[n].title for n in ("ip-forward", "direct")], said
    assert "(" in said[0][1] and "it cannot carry the gateway's VLAN tags" in said[0][2] and said[0][3] == row.AGAIN, said
    assert "(" in said[1][1] and "(" in said[1][2] and "no ports for a guest" in said[1][3], said
    assert (folder / "row/v2v-host/result.json").exists()
