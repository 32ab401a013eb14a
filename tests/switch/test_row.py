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


@pytest.mark.limit(300)  # 30 trials, each of which starts all anew
def test_a_row(own_network, vbng, folder, capsys):
    """Two cells of a switch that is here, one that it has not, and one of a switch that cannot carry it. Latency of those that have figures."""
    installed(adapters.ALL["ip-forward"])
    status = cli.main(["switch", "row", "--switch", "ip-forward,direct", "--only", "v2v-host,bng-host,bng-guest", "--quick", "--latency", "--seconds", "0.3", "--max-trials", "2",
                       "--vbng", str(vbng), "--out", str(folder / "row")])  # fmt: skip
    lines = capsys.readouterr().out.splitlines()
    said, late = ([[c.strip() for c in line.strip("| ").split(" | ")] for line in part] for part in (lines[4:6], lines[-2:]))
    assert status == 0 and [r[0] for r in said] == [adapters.ALL[n].title for n in ("ip-forward", "direct")], said
    assert "(" in said[0][1] and "it cannot carry the gateway's VLAN tags" in said[0][2] and said[0][3] == row.AGAIN, said
    assert "(" in said[1][1] and "(" in said[1][2] and "no ports for a guest" in said[1][3], said
    assert [[bool(re.fullmatch(r"([\d.e+]+/[\d.e+]+(, |$)){3}", c)) for c in r[1:]] for r in late] == [[True, False, False], [True, True, False]], late
    assert (folder / "row/v2v-host/result.json").exists()
