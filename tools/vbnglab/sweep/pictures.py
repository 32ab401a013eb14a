# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of sweeps and experiments, as SVG and PNG. Needs Matplotlib (Debian package python3-matplotlib)."""

import os
from statistics import median

from ..lab.failure import not_installed

COLOURS = ["tab:blue", "tab:orange", "tab:green", "tab:red", "tab:purple", "tab:brown", "tab:pink", "tab:olive", "tab:cyan"]
PAPER = "0.55"
MISSING = "tab:red"


def pyplot():
    """The module pyplot, without a display; None where Matplotlib is not installed."""
    try:
        import matplotlib
    except ImportError:
        return None
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    plt.rcParams.update({"font.size": 9, "svg.hashsalt": "vbng", "axes.grid": True, "grid.alpha": 0.25, "axes.axisbelow": True})
    return plt


def lacking():
    """Why a function that draws has drawn nothing."""
    return not_installed("Matplotlib", "python3-matplotlib") if pyplot() is None else "there is no figure to show"


def save(figure, folder, name):
    """Write name.svg and name.png into the folder. Returns the paths."""
    os.makedirs(folder, exist_ok=True)
    paths = [os.path.join(folder, f"{name}.{form}") for form in ("svg", "png")]
    figure.savefig(paths[0], metadata={"Date": None}, bbox_inches="tight")
    figure.savefig(paths[1], dpi=100, bbox_inches="tight")
    pyplot().close(figure)
    return paths


def spread(values):
    """Return (median, distance to the smallest, distance to the largest)."""
    m = median(values)
    return m, m - min(values), max(values) - m


def legend(axes, columns=1, size=8):
    """Put the legend below the labels of the axes, where it hides nothing. Without anything to name there is none."""
    if axes.get_legend_handles_labels()[0]:
        axes.figure.canvas.draw()  # labels have their places now
        below = axes.bbox.y0 - axes.xaxis.get_tightbbox(axes.figure.canvas.get_renderer()).y0
        pad = below / (size * axes.figure.dpi / 72) + 0.5  # in sizes of the font, as Matplotlib has it
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0), borderaxespad=pad, ncols=columns, fontsize=size, frameon=False)


def bars(axes, groups, series, values, paper=None, absent=None):
    """Bars for each group and series: values[group, series] is a list of figures, of which the bar is the median and
    the line on it smallest to largest. paper: {group: figure} drawn as grey lines. absent: {(group, series): why}, written in the
    place of a bar that has no figure."""
    width = 0.8 / max(1, len(series))
    for k, s in enumerate(series):
        label = str(s)  # for the first bar of the series only
        for i, g in enumerate(groups):
            at = i - 0.4 + (k + 0.5) * width
            if not values.get((g, s)):
                if absent and (g, s) in absent:
                    axes.text(at, 0.02, f"no figure: {absent[g, s]}", transform=axes.get_xaxis_transform(), rotation=90, ha="center",
                              va="bottom", fontsize=7, color=MISSING)
                continue
            m, down, up = spread(values[g, s])
            axes.bar(at, m, width * 0.92, yerr=[[down], [up]], color=COLOURS[k % len(COLOURS)], error_kw={"lw": 0.8}, label=label)
            label = None
    for i, g in enumerate(groups):
        if paper and g in paper:
            axes.plot([i - 0.45, i + 0.45], [paper[g]] * 2, color=PAPER, lw=2.5)
            axes.text(i, paper[g], f"paper {paper[g]:g}", ha="center", va="bottom", color=PAPER)
    axes.set_xticks(range(len(groups)), [str(g) for g in groups])
    axes.set_xlim(-0.6, len(groups) - 0.4)
    axes.set_ylim(bottom=0)


def lines(axes, curves, absent=()):
    """One line for each curve: curves[name] = {x: [figures]}; median, with smallest to largest. absent: (x, why) of points without a
    figure, which are marked on the axis."""
    for k, (name, points) in enumerate(curves.items()):
        xs = sorted(points)
        ms = [spread(points[x]) for x in xs]
        axes.errorbar(xs, [m for m, _, _ in ms], yerr=[[d for _, d, _ in ms], [u for _, _, u in ms]], marker="o", ms=3.5,
                      lw=1.2, elinewidth=0.7, capsize=2, color=COLOURS[k % len(COLOURS)], label=str(name))
    for why in sorted({w for _, w in absent}):
        xs = sorted({x for x, w in absent if w == why})
        axes.plot(xs, [0] * len(xs), "x", color=MISSING, clip_on=False, label=f"no figure: {why}")
    axes.set_xscale("log", base=2)
    axes.set_ylim(bottom=0)


def memory_axis(axes, xs):
    """Label an axis of MiB on a base-2 scale."""
    axes.set_xticks(xs, [f"{x / 1024:.3g} GiB" if x >= 1024 else f"{x:.0f} MiB" for x in xs], rotation=30, ha="right")
    axes.minorticks_off()
