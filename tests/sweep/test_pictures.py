# SPDX-License-Identifier: BSD-3-Clause
"""Pictures and tables of made-up results: what has no figure is drawn and named as such, nothing hides anything, and a busy
machine's Fig. 5 is told from a good one."""

import json
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from tests.common import need
from vbnglab.experiments import fig5, fig6, fig10, fig11, sec3e, table2
from vbnglab.sweep import advise, output, pictures
from vbnglab.sweep.layouts import Layout

INCOMPLETE = 4
PLAN = {"memory": {"pools": [{"pool": "default", "of": "default", "data_room": 2176, "mbufs": 131072, "mbufs_needed": 1000}]}}
LAYOUTS = [Layout("qos-tx", "", plan=PLAN), Layout("qos-minimal-split", "", plan=PLAN), Layout("pipeline", "", refused="too few cores")]
USED = [{"stream": s, "ok": True, "queues_used": 9, "queues": 10, "touched_mib": m, "error": ""} for s, m in zip(sec3e.STREAMS, (165, 158))]


def row(layout, pps, variant=None, room=2176, disturbed=False, ok=True):
    return {"round": 1, "variant": variant, "layout": layout, "data_room": room, "mbufs": None, "ok": ok, "error": "" if ok else "exit status 1",
            "pps": pps, "cycles": 500.0, "held": 12.0, "limit": "core", "why": "limited by core 1", "shared_cpus": False, "disturbed": disturbed}


@pytest.fixture
def drawn(monkeypatch):
    """The figures that were saved, by name."""
    need.module("matplotlib", "python3-matplotlib")
    found = {}
    monkeypatch.setattr(pictures, "save", lambda figure, folder, name: found.setdefault(name, figure) and [name])
    yield found
    for figure in found.values():
        pictures.pyplot().close(figure)


def words(figure):
    return [t.get_text() for a in figure.axes for t in a.texts]


def draw_all(disturbed):
    """Draw each kind of picture; disturbed: whether the runs of one point are."""
    experiment = SimpleNamespace(folder="unused")
    rooms = [row(x.name, 9e6, "4K", room, disturbed and room == 8192) for x in LAYOUTS[:2] for room in (2176, 8192)]
    fig10.picture(experiment, rooms, LAYOUTS)
    fig11.picture(experiment, rooms, LAYOUTS, [], "pps", "fig11", "throughput (Mpps)", 1e-6)
    output.picture(SimpleNamespace(pool="default", config="x.cfg"), rooms, LAYOUTS, "unused")
    sec3e.picture(experiment, [row("qos-tx", 9e6, s, disturbed=disturbed and s == "random") for s in sec3e.STREAMS], USED)
    table2.picture(experiment, [row("own", 9e6, "wires, 64-78"), row("own", 3e6, "wires, 256-280", disturbed=disturbed)])
    right, wrong = Layout("right-socket", ""), Layout("wrong-socket", "", refused="one socket")
    fig6.picture(experiment, [row("right-socket", 9e6, disturbed=disturbed)], [right, wrong])


def test_legends_hide_nothing(drawn):
    """No legend lies over axes, over the labels of axes, or over another legend."""
    draw_all(False)
    assert set(drawn) == {"fig10", "fig11", "sweep", "sec3e", "table2", "fig6"}
    for name, figure in drawn.items():
        figure.canvas.draw()
        legends = [a.get_legend().get_window_extent() for a in figure.axes if a.get_legend()]
        assert legends or name == "fig6", name
        for box in legends:
            for a in figure.axes:
                assert not box.overlaps(a.get_window_extent()), (name, "axes")
                assert not box.overlaps(a.xaxis.get_tightbbox(figure.canvas.get_renderer())), (name, "labels")
            assert sum(box.overlaps(other) for other in legends) == 1, (name, "legends")


def test_disturbed_is_drawn(drawn):
    """A point whose runs were all disturbed has words in the place of a bar, or a mark on the axis of a line; so has what was refused."""
    draw_all(True)
    for name in ("fig10", "sweep", "sec3e", "table2", "fig6"):
        assert "no figure: disturbed" in words(drawn[name]), name
    assert "no figure: one socket" in words(drawn["fig6"])
    assert "no figure: disturbed" in [t.get_text() for t in drawn["fig11"].axes[0].get_legend().get_texts()]


def test_nothing_is_drawn_for_what_is_not_known(drawn):
    """A run that died used no queues and no memory: that is no bar of zero."""
    used = [{**USED[0], "ok": False, "error": "signal 9", "queues_used": 0, "queues": 0}, {**USED[1], "touched_mib": None}]
    sec3e.picture(SimpleNamespace(folder="unused"), [row("qos-tx", 9e6, s) for s in sec3e.STREAMS], used)
    said = [t.get_text() for t in drawn["sec3e"].axes[2].texts]
    assert said == ["no figure: died", "no figure: died", "no figure: the kernel does not tell"], said
    assert len(drawn["sec3e"].axes[2].patches) == 1


def test_missing():
    """What has no figure is named by what tells it from the others."""
    rows = [row("a", 1e6), row("b", 1e6, disturbed=True), row("b", 1e6, disturbed=True), row("c", 0, ok=False)]
    assert advise.missing(rows) == ["b: disturbed", "c: died"]
    assert advise.missing([*rows, row("b", 1e6)]) == ["c: died"]
    assert advise.missing([row("a", 1e6, "4K"), row("a", 1e6, "2M", 8192, True)]) == ["8192 bytes, 2M: disturbed"]
    assert advise.missing([]) == []


def test_columns():
    """The columns of the table stand below each other, however long a layout's name is."""
    lines = output.table([row("qos-tx", 9e6), row("qos-minimal-split", 8e6), row("one-core", 1e6, disturbed=True)], LAYOUTS)
    head, *rows = lines
    limit = head.index("limit")
    assert [r[limit:].split()[0] for r in rows[:3]] == ["limited", "limited", "disturbed:"], lines
    assert all(r[limit - 1] == r[limit - 2] == " " for r in rows[:3]), lines
    assert rows[3] == "pipeline          refused: too few cores", lines


# --- Fig. 5 ---

def token_bucket(shares=None, late=0.0):
    """Samples of an ideal shaper. shares: what comes in each phase in units of the rate (default: as wanted). late: seconds in which
    nothing comes at the start of each phase."""
    samples, came, sent, dropped, tokens, queue, begun = [], 0.0, 0, 0, fig5.BUCKET / 2, 0, 0.003
    shares = shares or [p[2] for p in fig5.PHASES]
    step = 0.001
    for i in range(int((fig5.END + 0.1) / step)):
        t = i * step
        share = next((s for s, (begin, length, *_) in zip(shares, fig5.PHASES) if begin + late <= t < begin + length), 0)
        before, came = int(came), came + share * fig5.RATE / 8 / fig5.FRAME * step
        tokens = min(fig5.BUCKET, tokens + fig5.RATE / 8 * step)
        queue += int(came) - before
        if queue > fig5.QUEUE:
            dropped, queue = dropped + queue - fig5.QUEUE, fig5.QUEUE
        go = min(queue, int(tokens / fig5.FRAME))
        tokens, queue, sent = tokens - go * fig5.FRAME, queue - go, sent + go
        if i % 5 == 0:
            samples.append((begun + t, int(came), sent, dropped, queue))
    return samples


def test_fig5_reached():
    """An ideal shaper reaches all phases, and all of the ten numbers."""
    found = fig5.judge(token_bucket())
    assert found.lacking == [], found.lacking
    assert [round(p.came / fig5.RATE, 1) for p in found.phases] == [p[2] for p in fig5.PHASES]


@pytest.mark.parametrize("index, share, lacking", [
    (3, 1.2, ["over rate at 800 ms", "(5)", "(6)", "(7)", "(8)"]),
    (2, 0.8, ["at rate at 500 ms", "(4)"]),
    (6, 2.0, ["burst at 1950 ms"]),
    (7, 0.3, ["idle at 1990 ms"]),
])
def test_fig5_not_reached(index, share, lacking):
    """Where something else came in than a phase wants, it and its numbers were not reached."""
    shares = [p[2] for p in fig5.PHASES]
    shares[index] = share
    assert fig5.judge(token_bucket(shares)).lacking == lacking


def test_fig5_dip():
    """A generator that is away for 60 ms at the start of each phase has not reached the phases, though the mean of most may do."""
    assert {"under rate at 500 ms", "at rate at 500 ms"} & set(fig5.judge(token_bucket(late=0.06)).lacking)


def test_fig5_no_samples():
    """No samples are no picture."""
    with pytest.raises(fig5.Refused, match="no samples"):
        fig5.judge([])


@pytest.mark.parametrize("good", [0, 2])
def test_fig5_command(tmp_path, good):
    """A busy machine's picture says so, and the command ends with its own status; where a later run is good, it is drawn. The vbng here is a
    script that writes samples. good: the number of the run that is good; 0: none."""
    need.module("matplotlib", "python3-matplotlib")
    shares = [p[2] for p in fig5.PHASES]
    shares[3] = 1.2
    for name, samples in (("bad", token_bucket(shares)), ("good", token_bucket())):
        with open(tmp_path / f"{name}.csv", "w", encoding="ascii") as f:
            print("seconds,task,in,sent,dropped,held", *(f"{s[0]},qos,{s[1]},{s[2]},{s[3]},{s[4]}" for s in samples), sep="\n", file=f)
    fake = tmp_path / "vbng"
    fake.write_text("#!/bin/sh\nwhile [ \"$1\" != --sample ]; do shift; done\n"
                    f"cd {tmp_path}; echo >>runs\n"
                    f"if [ $(wc -l <runs) = {good} ]; then cp good.csv $2; else cp bad.csv $2; fi\n")
    fake.chmod(0o755)
    done = subprocess.run([sys.executable, "-m", "vbnglab", "experiment", "fig5", "--rounds", "3", "--vbng", fake, "--out", tmp_path / "out"],
                          capture_output=True, text=True, timeout=60)
    phases = json.loads((tmp_path / "out" / "fig5.json").read_text())["phases"]
    lacking = [p["name"] for p in phases if not p["reached"]]
    svg = (tmp_path / "out" / "fig5.svg").read_text()
    assert os.path.getsize(tmp_path / "out" / "fig5.png") > 5000
    if good:
        assert done.returncode == 0 and not lacking and "too busy" not in svg, done.stderr
        assert "try 1 of 3: not reached: over rate at 800 ms" in done.stderr and "try 2" not in done.stderr
    else:
        assert done.returncode == INCOMPLETE and lacking == ["over rate"] and "too busy for Fig. 5" in svg, done.stderr
        assert "no figure: over rate at 800 ms: not reached" in done.stdout and "try 3 of 3" in done.stderr
