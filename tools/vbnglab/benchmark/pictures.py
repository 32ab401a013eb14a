# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of a report: NDR and PDR, latency, back-to-back frames, trend. What was disturbed is hollow."""

from ..measure import plots
from . import outcome

GOALS = ("ndr", "pdr")


def _rows(report):
    return [r for r in report["rows"] if r["possible"]]


def _name(row):
    return outcome.name_of_row(row).replace(", ", "\n", 1)


def _axes(plt, n):
    fig, ax = plt.subplots(figsize=(max(5.0, 1.5 + 1.3 * n), 3.6))
    ax.grid(axis="y", color=plots.GRID, alpha=0.3, lw=0.6)
    return fig, ax


def _finish(ax, rows, label):
    ax.set_xticks(range(len(rows)), [_name(r) for r in rows], fontsize=7)
    ax.set_ylabel(label)
    handles, labels = ax.get_legend_handles_labels()
    if handles:
        ax.legend(handles, labels, ncols=3, loc="lower right", bbox_to_anchor=(1, 1), fontsize=8)


def throughput(report, plt):
    """Bars of NDR and PDR up to the relevant lower bound; the line on a bar reaches to the upper one."""
    rows = [r for r in _rows(report) if any((r["figure"].get(g) or {}).get("lower") is not None for g in GOALS)]
    if not rows:
        return None
    fig, ax = _axes(plt, len(rows))
    for i, row in enumerate(rows):
        for k, goal in enumerate(GOALS):
            s = row["figure"].get(goal)
            if not s or s["lower"] is None:
                continue
            x, color = i + (k - 0.5) * 0.36, plots.COLORS[goal.upper()]
            hollow = bool(s.get("disturbed_decided"))
            ax.bar(x, s["lower"] / 1e6, 0.32, color="none" if hollow else color, edgecolor=color, ls="--" if hollow else "-")
            ax.plot([x, x], [s["lower"] / 1e6, (s["upper"] or s["lower"]) / 1e6], color=plots.INK, lw=1)
    for goal in GOALS:
        ax.bar(0, 0, color=plots.COLORS[goal.upper()], label=goal.upper())
    _finish(ax, rows, "Mpps, both ways together")
    ax.set_ylim(bottom=0)
    return fig


def latency(report, plt):
    """p50, p99 and max of the slowest stamped stream at each load."""
    rows = [r for r in _rows(report) if any(load.get("streams") for load in r["figure"].get("latency", []))]
    if not rows:
        return None
    fig, ax = _axes(plt, len(rows))
    loads = [load["share"] for load in rows[0]["figure"]["latency"]]
    for i, row in enumerate(rows):
        for load in (x for x in row["figure"]["latency"] if x.get("streams")):
            x = i + (loads.index(load["share"]) - 1) * 0.25
            color = plots.LINES[loads.index(load["share"])]
            low, high = (max(s[p]["median"] for s in load["streams"].values()) / 1000 for p in ("p50", "p99"))
            most = max(s["max"]["max"] for s in load["streams"].values()) / 1000
            fill = "none" if load.get("disturbed") else color
            ax.plot([x, x], [low, high], color=color, lw=3, alpha=0.6)
            ax.plot(x, low, "o", mfc=fill, mec=color, ms=5)
            ax.plot(x, high, "_", color=color, ms=9)
            ax.plot(x, most, "x", color=color, ms=4)
    for share, color in zip(loads, plots.LINES):
        ax.plot([], [], "o", color=color, label=f"{share * 100:g} % of PDR")
    ax.set_yscale("log")
    _finish(ax, rows, "latency (µs)")
    return fig


def bursts(report, plt):
    """Average of the longest bursts without loss, in frames, from the shortest to the longest of them."""
    rows = [r for r in _rows(report) if any(b.get("frames") for b in r["figure"].get("bursts", {}).values())]
    if not rows:
        return None
    fig, ax = _axes(plt, len(rows))
    for i, row in enumerate(rows):
        for k, (_, b) in enumerate(sorted(row["figure"]["bursts"].items())):
            if b.get("frames"):
                x, color = i + (k - 0.5) * 0.36, plots.LINES[k]
                hollow = bool(b["disturbed"])
                ax.bar(x, b["average"], 0.32, color="none" if hollow else color, edgecolor=color, ls="--" if hollow else "-")
                ax.plot([x, x], [b["min"], b["max"]], color=plots.INK, lw=1)
    for k, direction in enumerate(("down", "up")):
        ax.bar(0, 0, color=plots.LINES[k], label=f"into one port {direction}")
    _finish(ax, rows, "frames back to back")
    return fig


def trend(report, plt):
    """NDR and PDR of each case over the reports of a history and this one; None without a history."""
    points = report.get("trend") or {}
    names = report.get("trend_names") or []
    if len(names) < 2:
        return None
    fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharex=True)
    for ax, goal in zip(axes, GOALS):
        for (key, found), color in zip(points.items(), plots.LINES * len(points)):
            at = [(names.index(name), row["figure"][goal]["lower"] / 1e6, bool(row["figure"][goal].get("disturbed_decided")))
                  for name, row in found if (row["figure"].get(goal) or {}).get("lower") is not None]
            ax.plot([x for x, *_ in at], [y for _, y, _ in at], "-", color=color, lw=1, label=f"{key[0]}, {key[1]}, {key[2]} B")
            for x, y, hollow in at:
                ax.plot(x, y, "o", mfc="none" if hollow else color, mec=color, ms=5)
        ax.set_xticks(range(len(names)), names, rotation=30, ha="right", fontsize=7)
        ax.set_title(goal.upper())
        ax.set_ylabel("Mpps")
        ax.set_ylim(bottom=0)
        ax.grid(axis="y", color=plots.GRID, alpha=0.3, lw=0.6)
    axes[1].legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize=7, title="case, cores, size", title_fontsize=7)
    return fig


PICTURES = {"throughput": throughput, "latency": latency, "bursts": bursts, "trend": trend}


def draw(report, before, folder=None):
    """All pictures that a report has data for, as measure.plots.draw(). before: reports of its history."""
    reports = [*before, report]
    named = list(dict.fromkeys(outcome.name_of(r) for r in reports))
    return plots.save(PICTURES, {**report, "trend": outcome.trend(reports), "trend_names": named}, folder)
