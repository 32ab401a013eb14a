# SPDX-License-Identifier: BSD-3-Clause
"""vbng-lab switch row: the table of what there is, and of why there is nothing."""

import argparse
import re

import pytest

from tests.switch.bed import installed
from vbnglab import cli
from vbnglab.switches import adapters, row


def entry(pps=None, why="", guest=None, late=()):
    """late: (share of R+, its p50 and p99 in ns)."""
    latency = [{"share": share, "streams": {"probe": {"p50": {"median": p50}, "p99": {"median": p99}}}} for share, p50, p99 in late]
    figures = [{"size": "64", "direction": "up", "rplus": {"pps": {"median": pps, "min": pps / 2, "max": pps * 1.5}}, "latency": latency}] if pps else []
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


def test_latency_is_a_table_below():
    """With the same cells; a load at which it was not measured has a dash, and so has a cell without figures. Without any there is one table."""
    late = ((0.1, 5000.0, 12300.0), (0.99, 70000.0, 2.5e6))
    found = {("v2v", "host"): result(testpmd=entry(2e6, late=late), bess=entry(why="not here")), ("loopback", "host"): result(testpmd=entry(1e6), bess=entry(3e6))}
    cells = row.cells("p2p-host,v2v-host,loopback-host")
    lines = row.text(found, ["testpmd", "bess"], cells).splitlines()
    assert lines[6] == "" and lines[7].startswith("latency in µs, p50/p99 at 0.10, 0.50, 0.99 of this R+"), lines
    below = [[c.strip() for c in line.strip("| ").split(" | ")] for line in lines[9:]]
    assert below == [["switch", "p2p, host", "v2v, host", "loopback, host"], ["---"] * 4, [adapters.ALL["testpmd"].title, "-", "5/12.3, -, 70/2500", "-"],
                     [adapters.ALL["bess"].title, "-", "-", "-"]]  # fmt: skip
    del found["v2v", "host"]
    assert "latency" not in row.text(found, ["testpmd", "bess"], row.cells("loopback-host"))


def test_a_cell_that_there_is_not():
    with pytest.raises(argparse.ArgumentTypeError, match="no cell v2v-guest: choose of p2p-host, "):
        row.cells("v2v-host,v2v-guest")


def test_a_cpuset_is_for_containers(capsys):
    with pytest.raises(SystemExit, match="2"):
        cli.main(["switch", "run", "p2p", "--switch", "testpmd", "--cpuset"])
    assert "--cpuset is for containers: say --vnf-in container, too" in capsys.readouterr().err


def row_of(capsys, vbng, folder, name, cells):
    """The cells of a switch's row, and those of its row in the table of latency. The run is for function only."""
    status = cli.main(["switch", "row", "--switch", name, "--only", cells, "--quick", "--latency", "--seconds", "0.3", "--max-trials", "2", "--vbng", str(vbng),
                       "--out", str(folder / "row")])  # fmt: skip
    lines = capsys.readouterr().out.splitlines()
    said, late = ([c.strip() for c in line.strip("| ").split(" | ")] for line in (lines[4], lines[-1]))
    assert status == 0 and said[0] == late[0] == adapters.ALL[name].title, lines
    return said[1:], [bool(re.fullmatch(r"([\d.e+]+/[\d.e+]+(, |$)){3}", c)) for c in late[1:]]


def test_a_row(own_network, vbng, folder, capsys):
    """A cell that is measured, with its latency, and one that there is not."""
    said, late = row_of(capsys, vbng, folder, "direct", "v2v-host,bng-guest")
    assert "(" in said[0] and "no ports for a guest" in said[1] and late == [True, False], (said, late)
    assert (folder / "row/v2v-host/result.json").exists()


@pytest.mark.long
def test_a_row_of_a_switch_that_cannot_carry_it(own_network, vbng, folder, capsys):
    installed(adapters.ALL["ip-forward"])
    said, late = row_of(capsys, vbng, folder, "ip-forward", "v2v-host,bng-host,bng-guest")
    assert "(" in said[0] and "it cannot carry the gateway's VLAN tags" in said[1] and said[2] == row.AGAIN and late == [True, False, False], (said, late)
