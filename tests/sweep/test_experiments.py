# SPDX-License-Identifier: BSD-3-Clause
"""Each experiment of the paper, with --quick: it runs, or is refused with the reason, and leaves figures and pictures."""

import json
import os
import subprocess
import sys
import tempfile

import pytest

from tests.common import need
from tests.common.limits import limit
from tests.pcap.sanitizer import address_sanitizer
from vbnglab import cli
from vbnglab.lab import topology
from vbnglab.sweep import advise, outcome

pytestmark = pytest.mark.limit(300)
REFUSED = 3
INCOMPLETE = 4
ENOUGH = 200_000  # packets after which most subscribers have had one in most queues
try:
    import matplotlib  # noqa: F401
    PICTURES = True
except ImportError:
    PICTURES = False


@pytest.fixture(scope="module", autouse=True)
def two_cpus():
    if len(os.sched_getaffinity(0)) < 2:
        need.skip("the experiments need two CPUs")


def test_pictures_are_looked_for():
    """The other tests look for pictures where they can be drawn."""
    need.module("matplotlib", "python3-matplotlib")


def experiment(vbng, folder, name, *more):
    return subprocess.run([sys.executable, "-m", "vbnglab", "experiment", name, "--quick", "--vbng", vbng, "--out", folder, *more],
                          capture_output=True, text=True, timeout=limit(200))


def ran(vbng, name, pictures, *more):
    """Run an experiment; returns (its JSON, what it printed)."""
    with tempfile.TemporaryDirectory(prefix="vbng-experiment-") as folder:
        done = experiment(vbng, folder, name, *more)
        with open(os.path.join(folder, f"{pictures[0]}.json"), encoding="utf-8") as f:
            result = json.load(f)
        lacking = len(advise.usable(result["rows"])) < len(result["rows"])  # with --quick there is one run of each point
        assert done.returncode == (INCOMPLETE if lacking else 0), done.stdout + done.stderr
        assert lacking == ("no figure: " in done.stdout), done.stdout
        for path in (os.path.join(folder, f"{p}.{form}") for p in pictures for form in ("svg", "png")):
            assert not PICTURES or os.path.getsize(path) > 5000, path
        return result, done.stdout


def alive(rows):
    assert rows, "no rows"
    for r in rows:
        assert r["ok"] and r["why"], r
        assert r["disturbed"] or r["pps"] > 0 and r["cycles"] > 0, r


def test_table2(vbng):
    """The arithmetic, and two sizes of packets between wires."""
    result, text = ran(vbng, "table2", ["table2"])
    alive(result["rows"])
    assert len(result["rows"]) == 2 and "51.02           51.02" in text, text
    assert "need two cards of two ports each" in text, text


def test_fig6(vbng):
    """Refused on one socket with the reason; its layouts are right for a machine with two. With --quick it runs what one socket has."""
    with tempfile.TemporaryDirectory(prefix="vbng-experiment-") as folder:
        done = experiment(vbng, folder, "fig6", "--topology", "1x8x2")
        assert done.returncode == REFUSED and "this machine has one" in done.stderr, done.stderr
        done = experiment(vbng, folder, "fig6", "--topology", "2x10x2")
        right, wrong = done.stdout.splitlines()
        assert right.startswith("right-socket: 1s0 classify") and wrong.startswith("wrong-socket: 1s1 classify"), done.stdout


def test_fig6_quick(vbng):
    """One socket is enough to see that it works: the other one's bar is refused, in words and in the picture."""
    if len({c.socket for c in topology.live()}) > 1:
        pytest.skip("this machine has two sockets")
    result, text = ran(vbng, "fig6", ["fig6"])
    alive(result["rows"])
    assert {r["layout"] for r in result["rows"]} == {"right-socket"}, result["rows"]
    assert "wrong-socket   refused: it compares two sockets, and this machine has one" in text, text


def test_disturbed(vbng, tmp_path, monkeypatch, capsys):
    """Where every run was disturbed the picture says so, and so does the status. No core can have as much of its CPU as is asked for here."""
    monkeypatch.setattr(outcome, "DISTURBED", 2.0)
    assert cli.main(["experiment", "table2", "--quick", "--vbng", vbng, "--out", str(tmp_path)]) == INCOMPLETE
    said = capsys.readouterr().out
    assert "no figure: wires, 64-78: disturbed\nno figure: wires, 1494-1518: disturbed\n" in said, said
    if PICTURES:
        assert (tmp_path / "table2.svg").read_text().count("<!-- no figure: disturbed -->") == 2


@pytest.mark.long
def test_fig10(vbng):
    """Five layouts or more run on two CPUs; what cannot is named."""
    result, text = ran(vbng, "fig10", ["fig10"])
    alive(result["rows"])
    names = {r["layout"] for r in result["rows"]}
    assert {"one-core", "rx-qos", "qos-tx", "qos-alone", "qos-minimal-split"} <= names, names
    assert result["paper"]["mpps"]["smt-rx-qos"] == 8.65
    for x in result["layouts"]:
        assert (x["name"] in names) != bool(x["refused"]), x
        assert not x["refused"] or f"{x['name']:<17} refused: {x['refused']}" in text, text


@pytest.mark.long
def test_fig11(vbng):
    """Two sizes of mbufs; Fig. 12 comes with it."""
    result, text = ran(vbng, "fig11", ["fig11", "fig12"])
    alive(result["rows"])
    assert len({r["data_room"] for r in result["rows"]}) == 2 and "data TLB:" in text, text
    assert all(r["held"] >= 0 for r in result["rows"])


@pytest.mark.long
def test_sec3e(vbng):
    """A stream into one queue of each subscriber uses one queue in six, and less memory."""
    result, text = ran(vbng, "sec3e", ["sec3e"], "--set", "pools.default.mbufs=32768")  # fewer start sooner
    alive(result["rows"])
    random, one = used = result["utilisation"]
    assert random["queues"] == one["queues"] == 6 * 32768 and one["queues_used"] <= 32768, used
    if min(random["packets"], one["packets"]) < ENOUGH:
        print(f"     the machine is too busy to fill queues: {used}")
    else:
        assert one["queues_used"] > 0.9 * 32768 and random["queues_used"] > 2 * 32768, used
        if address_sanitizer(vbng):
            print("     what memory is touched is not looked at: AddressSanitizer's own, which grows with the packets, is in it")
        else:
            assert one["touched_mib"] is None or one["touched_mib"] < random["touched_mib"], used
    assert "519 562 587 562" in text and "memory channels" in text, text


def test_fig5(vbng):
    """A vbng that fails is reported with its exit status; tests/qos/fig5.py runs the real one."""
    with tempfile.TemporaryDirectory(prefix="vbng-experiment-") as folder:
        done = experiment(vbng, folder, "fig5", "--vbng", "/bin/false")
        assert done.returncode == REFUSED and "/bin/false" in done.stderr and "exit status 1" in done.stderr, done.stderr
