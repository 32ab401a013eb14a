# SPDX-License-Identifier: BSD-3-Clause
"""The pictures in which switches stand side by side, and those of vbng beside testpmd. A bar is hatched where the line or the generator was the
limit, for it says nothing of the switch but that it can do no less."""

import os
from statistics import median

from ..measure import plots, table, trial
from ..measure.plots import GRID, INK, LINES
from . import compare, output

HATCHES = {trial.LINE: "///", trial.GENERATOR: "\\\\\\", trial.SINK: "xx"}
SOLID, PALE = "cc", "50"  # last two digits of a colour; testpmd is pale


def _bar(ax, x, width, values, color, alpha, limits):
    """A bar of a median, with a line from the least to the most. limits: what else than switch and VNFs were its limits."""
    middle, least, most = (v / 1e6 for v in values)
    ax.bar(x, middle, width * 0.9, color=color + alpha, edgecolor=INK, lw=0, hatch="".join(HATCHES[m] for m in sorted(limits)))
    ax.plot([x, x], [least, most], color=INK, lw=1)


def _legend(ax, entries, limits):
    """A legend above the axes. entries: (label, color, alpha); limits: those of all bars, which are explained."""
    for label, color, alpha in entries:
        ax.bar(0, 0, color=color + alpha, label=label)
    for limit in HATCHES:
        if limit in limits:
            ax.bar(0, 0, color="none", edgecolor=INK, lw=0, hatch=HATCHES[limit], label=table.limit(limit))
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, fontsize=8)


def _throughput(ax, shown, groups):
    width, limits = 0.8 / len(shown), set()
    for k, (_, rows, color) in enumerate(shown):
        for i, key in enumerate(groups):
            row = rows.get(key)
            if row is None or row["pps"] is None:
                continue
            own = {row["limit"]} & set(HATCHES)
            limits |= own
            _bar(ax, i + (k - (len(shown) - 1) / 2) * width, width, (row["pps"], row["min"], row["max"]), color, SOLID, own)
    several = len({scenario for scenario, _, _ in groups}) > 1
    ax.set_xticks(range(len(groups)), [(f"{scenario}\n" if several else "") + f"{size} B\n{output.KINDS[direction]}" for scenario, size, direction in groups])
    ax.set_ylabel("R+ (Mpps)")
    _legend(ax, [(f"{entry['title']} {entry['version']}", color, SOLID) for entry, _, color in shown], limits)


def _late(ax, shown, group):
    for _, rows, color in shown:
        late = rows.get(group, {}).get("latency_ns", {})
        for quantile, style in (("p50", "o-"), ("p99", "o--")):
            points = [(float(s), v[quantile] / 1000) for s, v in late.items() if quantile in v]
            if points:
                ax.plot(*zip(*points), style, color=color, ms=4, lw=1.2)
    ax.set_yscale("log")
    ax.set_xticks([0.1, 0.5, 0.99])
    ax.set_xlabel(f"load as a share of R+, {group[1]} B {output.KINDS[group[2]]}\n(line: median, dashed: 99th percentile)")
    ax.set_ylabel("latency (µs)")


def _save(plt, fig, result, folder):
    for ax in fig.axes:
        ax.grid(axis="y", color=GRID, alpha=0.3, lw=0.6)
    title = result["scenario"] + (": function only, processes share CPUs" if result["shared"] else "")
    fig.suptitle(title, x=0.99, ha="right", fontsize=8)
    fig.tight_layout()
    for form in ("svg", "png"):
        fig.savefig(os.path.join(folder, f"switches.{form}"), facecolor="white", dpi=110, metadata={"Date": None} if form == "svg" else None)
    plt.close(fig)


def beside(result, folder):
    """Draw the switches of a result of run as switches.svg and switches.png. Returns False without Matplotlib, or where there is nothing to show."""
    measured = [e for e in result["switches"].values() if e["state"] == "measured"]
    shown = [(entry, output.points(entry), color) for entry, color in zip(measured, LINES * 4)]
    groups = list(dict.fromkeys(key for _, rows, _ in shown for key, row in rows.items() if row["pps"] is not None))
    if not groups:
        return False
    try:
        plt = plots.pyplot()
    except plots.Missing:
        return False
    late = [g for g in groups if any(rows.get(g, {}).get("latency_ns") for _, rows, _ in shown)]
    fig, axes = plt.subplots(1, 1 + bool(late), figsize=(max(6.4, 1.4 * len(groups)) + 4.4 * bool(late), 3.8), squeeze=False)
    _throughput(axes[0][0], shown, groups)
    if late:
        _late(axes[0][1], shown, late[0])
    _save(plt, fig, result, folder)
    return True


def turns(result, folder):
    """Draw a result of compare as switches.svg and switches.png: of each switch vbng beside testpmd, and their ratio. Returns False as beside()."""
    shown = [(e, {(p["size"], p["direction"]): p for p in e["points"] if p["ratios"]}) for e in result["switches"].values()]
    shown = [(*s, color) for s, color in zip((s for s in shown if s[1]), LINES * 4)]
    groups = list(dict.fromkeys(key for _, points, _ in shown for key in points))
    if not groups:
        return False
    try:
        plt = plots.pyplot()
    except plots.Missing:
        return False
    fig, ax = plt.subplots(figsize=(max(6.4, 0.6 * len(groups) * len(shown)), 3.8))
    width, limits = 0.8 / len(shown), set()
    for k, (_, points, color) in enumerate(shown):
        for i, key in enumerate(groups):
            if key not in points:
                continue
            point, middle = points[key], i + (k - (len(shown) - 1) / 2) * width
            for who, alpha, side in zip(compare.PROGRAMS, (SOLID, PALE), (-1, 1)):
                values, own = point[who], set(point["marks"][who]) & set(HATCHES)
                limits |= own
                _bar(ax, middle + side * width / 4, width / 2, (median(values), min(values), max(values)), color, alpha, own)
            ax.annotate(f"{median(point['ratios']):.2f}", (middle, max(*point["vbng"], *point["testpmd"]) / 1e6), xytext=(0, 2),
                        textcoords="offset points", ha="center", fontsize=7)
    ax.set_xticks(range(len(groups)), [f"{size} B\n{compare.WAYS[direction]}" for size, direction in groups])
    ax.set_ylabel("Mpps; above: vbng/testpmd")
    _legend(ax, [*((f"{e['title']} {e['version']}", color, SOLID) for e, _, color in shown), ("testpmd in vbng's place", GRID, PALE)], limits)
    _save(plt, fig, {"scenario": result["scenario"], "shared": any(e.get("shared") for e, _, _ in shown)}, folder)
    return True
