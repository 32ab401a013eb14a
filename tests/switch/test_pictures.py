# SPDX-License-Identifier: BSD-3-Clause
"""The pictures of made-up results: what was limited by the line or the generator is hatched and explained, and the legend hides nothing."""

import pytest

from tests.common import need
from vbnglab.measure import plots
from vbnglab.switches import pictures


@pytest.fixture
def drawn(monkeypatch):
    """The figures that were to be saved."""
    need.module("matplotlib", "python3-matplotlib")
    found = []
    monkeypatch.setattr(pictures, "_save", lambda plt, figure, *_: found.append(figure))
    yield found
    for figure in found:
        plots.pyplot().close(figure)


def entry(title, points):
    """A measured switch. points: {size: what limited it}."""
    figures = [{"size": size, "direction": "up", "rplus": {"pps": {"median": 2e6, "min": 1e6, "max": 3e6}, "loss_ratio": 0.5, "used": 1, "limit": limit}}
               for size, limit in points.items()]  # fmt: skip
    return {"title": title, "version": "1", "state": "measured", "result": {"figures": figures, "trials": []}}


def run(**switches):
    return {"scenario": "p2p", "shared": False, "switches": {name: entry(name, points) for name, points in switches.items()}}


def point(size, vbng=(), testpmd=()):
    return {"size": size, "direction": "both", "vbng": [1e6, 3e6], "testpmd": [1e6, 2e6], "ratios": [1.0, 1.5], "marks": {"vbng": list(vbng), "testpmd": list(testpmd)}}


def compared(*points):
    return {"scenario": "loopback1", "switches": {"x": {"title": "X", "version": "1", "shared": True, "points": list(points)},
                                                  "y": {"title": "Y", "version": None, "points": []}}}  # fmt: skip


def hatches(figure):
    """Hatches of the bars from left to right; those of the legend have no height."""
    bars = sorted((p for p in figure.axes[0].patches if p.get_height()), key=lambda p: p.get_x())
    return [p.get_hatch() or "" for p in bars]


def legend(figure):
    return [t.get_text() for t in figure.axes[0].get_legend().get_texts()]


LINE, GENERATOR = pictures.HATCHES["line"], pictures.HATCHES["generator"]


@pytest.mark.parametrize("draw, result, expected, said", [
    (pictures.beside, run(a={"64": "gateway", "256": "line"}, b={"64": "generator", "256": "line"}), ["", GENERATOR, LINE, LINE],
     ["a 1", "b 1", "limited by the line", "limited by the generator"]),
    (pictures.beside, run(a={"64": "gateway"}), [""], ["a 1"]),
    (pictures.turns, compared(point("64"), point("256", ["generator", "disturbed"])), ["", "", GENERATOR, ""],
     ["X 1", "testpmd in vbng's place", "limited by the generator"]),
], ids=["run", "run without limits", "compare"])  # fmt: skip
def test_limits_are_marked(drawn, draw, result, expected, said):
    assert draw(result, "unused")
    (figure,) = drawn
    assert hatches(figure) == expected and legend(figure) == said
    figure.canvas.draw()
    box = figure.axes[0].get_legend().get_window_extent()
    assert not box.overlaps(figure.axes[0].get_window_extent()), "the legend lies over the axes"


def test_the_ratio_stands_above_its_bars(drawn):
    pictures.turns(compared(point("64")), "unused")
    assert [t.get_text() for t in drawn[0].axes[0].texts] == ["1.25"]


@pytest.mark.parametrize("draw, result", [(pictures.beside, run(a={"64": "line"})), (pictures.turns, compared(point("64", ["line"])))], ids=["run", "compare"])
def test_the_files(folder, draw, result):
    need.module("matplotlib", "python3-matplotlib")
    assert draw(result, str(folder)) and sorted(p.name for p in folder.iterdir()) == ["switches.png", "switches.svg"]


@pytest.mark.parametrize("draw, result", [(pictures.beside, run(a={})), (pictures.turns, compared())], ids=["run", "compare"])
def test_nothing_to_show(folder, draw, result):
    assert not draw(result, str(folder)) and not list(folder.iterdir())
