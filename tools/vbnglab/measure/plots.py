# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of a measurement, with Matplotlib: throughput, loss over load, latency.

Lines and letters are drawn in a marker colour; in the report it becomes currentColor, so that the pictures can be read
on a light and on a dark page.
"""

import io
import re

from ..lab import stats
from ..lab.failure import not_installed
from .table import base, direction

INK = "#123456"  # stands for the text colour of the page
GRID = "#8a8f98"
COLORS = {"R+": "#3b82c4", "NDR": "#2a9d5c", "PDR": "#d98324"}
LINES = ("#3b82c4", "#d98324", "#2a9d5c", "#c44e52", "#8c6bb1", "#937860", "#2aa7b0", "#d16ba5")


class Missing(Exception):
    """Matplotlib is not installed."""


def pyplot():
    """Matplotlib's pyplot, set for pictures of a page. Raises Missing."""
    try:
        import matplotlib
    except ImportError as e:
        raise Missing(f"no pictures: {not_installed('Matplotlib', 'python3-matplotlib')}") from e
    matplotlib.use("Agg")
    matplotlib.rcParams.update({
        "svg.fonttype": "none", "svg.hashsalt": "vbng", "font.size": 9, "font.sans-serif": ["DejaVu Sans"], "text.color": INK, "axes.labelcolor": INK,
        "axes.edgecolor": INK, "xtick.color": INK, "ytick.color": INK, "axes.titlesize": 10, "legend.frameon": False,
        "axes.spines.top": False, "axes.spines.right": False, "figure.facecolor": "none", "axes.facecolor": "none"})
    import matplotlib.pyplot as plt
    return plt


def _where(figure):
    return f"{direction(figure['direction'])}\n{figure['size']} B"


def throughput(result, plt):
    """Bars of R+, NDR and PDR; the line on a bar is min to max, each point a trial."""
    figures = [f for f in result["figures"] if (f.get("rplus") or {}).get("pps")]
    if not figures:
        return None
    fig, ax = plt.subplots(figsize=(max(4.5, 1.5 + 1.5 * len(figures)), 3.4))
    for i, f in enumerate(figures):
        p = f["rplus"]["pps"]
        rows = [(p["median"], p["min"], p["max"], "R+")]
        rows += [(s["lower"], s["lower"], s["upper"] or s["lower"], n.upper()) for n in ("ndr", "pdr")
                 if (s := f.get(n)) and s["lower"] is not None]
        for k, (value, low, high, name) in enumerate(rows):
            x = i + (k - 1) * 0.26
            ax.bar(x, value / 1e6, 0.24, color=COLORS[name], alpha=0.75, label=name if i == 0 else None)
            ax.plot([x, x], [low / 1e6, high / 1e6], color=INK, lw=1)
        trials = [t["pps"] / 1e6 for t in result["trials"] if t["ok"] and t["purpose"] == "rplus"
                  and (t["direction"], t["size"]) == (f["direction"], f["size"])]
        ax.plot([i - 0.26] * len(trials), trials, ".", color=INK, ms=4, alpha=0.6)
    ax.set_xticks(range(len(figures)), [_where(f) for f in figures])
    ax.set_ylabel("Mpps")
    ax.set_ylim(bottom=0)
    ax.grid(axis="y", color=GRID, alpha=0.3, lw=0.6)
    handles, labels = ax.get_legend_handles_labels()
    ax.legend(handles, labels, ncols=3, loc="lower right", bbox_to_anchor=(1, 1), fontsize=8)
    return fig


def loss(result, plt):
    """Loss ratio of every trial of a search over its load; none is drawn on the bottom line, disturbed ones hollow."""
    groups = {}
    for t in result["trials"]:
        if t["ok"] and t["purpose"] == "search":
            groups.setdefault((t["direction"], t["size"]), []).append(t)
    if not groups:
        return None
    floor = 1e-8
    fig, ax = plt.subplots(figsize=(6.4, 3.4))
    for (way, size), color in zip(groups, LINES * len(groups)):
        for calm in (True, False):
            rows = [t for t in groups[way, size] if ("disturbed" not in t["marks"]) == calm]
            ax.plot([t["load"] / 1e6 for t in rows], [max(t["loss_ratio"], floor) for t in rows], "o", ms=4, alpha=0.7,
                    mfc=color if calm else "none", mec=color, label=f"{direction(way)} {size} B" if calm else None)
    pdr = result["options"]["pdr"]
    ax.axhline(pdr, color=INK, lw=0.7, ls="--")
    ax.annotate(f"PDR goal {stats.ratio_text(pdr, 1)}", (0, pdr), xycoords=("axes fraction", "data"), xytext=(4, 3),
                textcoords="offset points", fontsize=8)
    ax.set_yscale("log")
    ax.set_ylim(floor / 2, 1.5)
    ticks = [floor, 1e-6, 1e-4, 1e-2, 1]
    ax.set_yticks(ticks, ["none", *(f"{t:g}" for t in ticks[1:])])
    ax.minorticks_off()
    ax.set_xlabel("load (Mpps)")
    ax.set_ylabel("loss ratio")
    ax.grid(color=GRID, alpha=0.3, lw=0.6)
    ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=3, fontsize=8)
    return fig


def latency(result, plt):
    """Percentiles of the stamped streams over the load."""
    curves = {}
    for f in result["figures"]:
        for load in f.get("latency", []):
            for stream, values in load.get("streams", {}).items():
                for p in ("p50", "p99"):
                    if p in values:
                        key = (stream, f["direction"], f["size"], p)
                        curves.setdefault(key, []).append((load["share"], values[p]))
    if not curves:
        return None
    fig, ax = plt.subplots(figsize=(6.4, 3.4))
    names = list(dict.fromkeys(k[:3] for k in curves))
    for key, points in curves.items():
        color = LINES[names.index(key[:3]) % len(LINES)]
        x = [share for share, _ in points]
        y = [v["median"] / 1000 for _, v in points]
        ax.plot(x, y, "o-" if key[3] == "p50" else "o--", color=color, ms=4, lw=1.2,
                label=f"{key[0]}, {direction(key[1])} {key[2]} B" if key[3] == "p50" else None)
        ax.vlines(x, [v["min"] / 1000 for _, v in points], [v["max"] / 1000 for _, v in points], color=color, lw=1)
    ax.set_yscale("log")
    loads = [load for f in result["figures"] for load in f.get("latency", []) if load]
    ax.set_xticks(sorted({load["share"] for load in loads}))
    ax.set_xlabel(f"load as a share of {base(loads[0])} (line: median, dashed: 99th percentile)")
    ax.set_ylabel("latency (µs)")
    ax.grid(color=GRID, alpha=0.3, lw=0.6)
    ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, fontsize=7)
    return fig


PICTURES = {"throughput": throughput, "loss": loss, "latency": latency}


def draw(result, folder=None):
    """All pictures that the result has data for, as SVG for a page: {name: text}. With a folder also NAME.svg and
    NAME.png there, on white. Raises Missing."""
    return save(PICTURES, result, folder)


def save(pictures, result, folder=None):
    """Draw pictures, {name: function of (result, pyplot) that returns a figure or None}, as draw() does."""
    plt = pyplot()
    out = {}
    for name, make in pictures.items():
        figure = make(result, plt)
        if figure is None:
            continue
        figure.tight_layout()
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
        out[name] = inline(buffer.getvalue(), name)
        if folder is not None:
            for form in ("svg", "png"):
                figure.savefig(f"{folder}/{name}.{form}", facecolor="white", dpi=110,
                               metadata={"Date": None} if form == "svg" else None)
        plt.close(figure)
    return out


def inline(svg, name):
    """An SVG document as an element of a page: without prologue and links, names of its own, ink in the text's colour."""
    svg = svg[svg.index("<svg"):]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = re.sub(r'\s(xmlns:xlink|xmlns|version)="[^"]*"', "", svg, count=3)
    svg = svg.replace("xlink:href", "href").replace(INK, "currentColor")
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\1{name}-", svg)
    return re.sub(r'<svg [^>]*?(viewBox="[^"]*")[^>]*>', rf'<svg class="plot" role="img" aria-label="{name}" \1>', svg, count=1)
