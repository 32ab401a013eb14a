# SPDX-License-Identifier: BSD-3-Clause
"""What tools/switchlab writes: the table, result.json, and the picture in which the switches stand side by side."""

import json
import os

from . import plots, table
from .plots import GRID, INK, LINES

FORMAT = "vbng-switchlab/1"
SHARED = "function only: processes share CPUs, so compare nothing but orders of magnitude"
KINDS = {"uni": "one way", "both": "both ways", "up": "one way", "all": "one way"}


def _median(rows, get):
    values = sorted(v for r in rows if (v := get(r)) is not None)
    return values[len(values) // 2] if values else None


def summaries(entry):
    """For each size and direction of a switch: R+ with its range, loss, the generator's ceiling, latency and CPUs used."""
    result = entry.get("result")
    for f in result["figures"] if result else ():
        r = f.get("rplus") or {}
        p = r.get("pps") or {}
        trials = [t for t in result["trials"] if t["purpose"] == "rplus" and (t["direction"], t["size"]) == (f["direction"], f["size"])]
        alive = [t for t in trials if t["ok"]]
        late = {}
        for load in f.get("latency", []):
            stream = next(iter((load.get("streams") or {}).values()), None)
            if stream:
                late[f"{load['share']:.2f}"] = {q: stream[q]["median"] for q in ("p50", "p99") if q in stream}
        yield {"size": f["size"], "direction": f["direction"], "pps": p.get("median"), "min": p.get("min"), "max": p.get("max"),
               "loss_ratio": r.get("loss_ratio"), "made_pps": (r.get("generator") or {}).get("made_pps"), "limit": r.get("limit"),
               "latency_ns": late,
               "switch_cpus": _median(alive, lambda t: (t.get("cpu") or {}).get("switch")),
               "machine_cpus": _median(alive, lambda t: (t.get("cpu") or {}).get("machine")),
               "trials": r.get("used", 0), "error": "; ".join(r.get("errors", []))}


def _latency(row, share):
    values = row["latency_ns"].get(share)
    return f"{table.microseconds(values['p50'])}/{table.microseconds(values['p99'])}" if values and "p50" in values else "-"


HEADER = ("switch", "mode", "size", "direction", "R+ Mpps", "range", "loss", "ceiling", "switch CPUs", "all CPUs", "0.10 R+", "0.50 R+", "0.99 R+",
          "remark")


def ceilings(result):
    """{(size, direction): packets per second} of generator and sink alone, in the same run."""
    return {(r["size"], r["direction"]): r["pps"] for r in summaries(result["alone"])} if result.get("alone") else {}


def rows_of(result):
    """Cells of the table."""
    ceiling = ceilings(result)
    for name, entry in result["switches"].items():
        if entry["state"] != "measured":
            yield (name, "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", entry["why"].splitlines()[0])
            continue
        for row in summaries(entry):
            loss = "-" if row["loss_ratio"] is None else f"{row['loss_ratio'] * 100:.3g} %"
            cpus = [f"{row[k]:.2f}" if row[k] is not None else "-" for k in ("switch_cpus", "machine_cpus")]
            yield (name, entry["mode"], row["size"], KINDS[row["direction"]], table.mpps(row["pps"]), f"{table.mpps(row['min'])}–{table.mpps(row['max'])}",
                   loss, table.mpps(ceiling.get((row["size"], row["direction"]))), *cpus, *(_latency(row, s) for s in ("0.10", "0.50", "0.99")),
                   row["error"] or table.limit(row["limit"]))


def text(result):
    """For a terminal."""
    cells = [HEADER, *rows_of(result)]
    widths = [max(len(str(row[i])) for row in cells) for i in range(len(HEADER))]
    lines = ["  ".join(str(c).ljust(w) for c, w in zip(row, widths)).rstrip() for row in cells]
    note = [f"({SHARED})"] if result["shared"] else []
    return "\n".join([f"{result['scenario']}: {result['about']}; latency: p50/p99 in us, at a share of R+", *note, *lines])


def write_json(result, folder):
    """result.json, whole or not at all."""
    path = os.path.join(folder, "result.json")
    with open(f"{path}.part", "w", encoding="utf-8") as f:
        json.dump(result, f, indent=1)
        f.write("\n")
    os.replace(f"{path}.part", path)


def _throughput(ax, shown, groups):
    width = 0.8 / len(shown)
    for k, (entry, rows, color) in enumerate(shown):
        for i, key in enumerate(groups):
            row = rows.get(key)
            if row is None or row["pps"] is None:
                continue
            x = i + (k - (len(shown) - 1) / 2) * width
            ax.bar(x, row["pps"] / 1e6, width * 0.9, color=color, alpha=0.8)
            ax.plot([x, x], [row["min"] / 1e6, row["max"] / 1e6], color=INK, lw=1)
        ax.bar(0, 0, color=color, label=f"{entry['title']} {entry['version']}", alpha=0.8)
    ax.set_xticks(range(len(groups)), [f"{size} B\n{KINDS[direction]}" for size, direction in groups])
    ax.set_ylabel("R+ (Mpps)")


def _late(ax, shown, group):
    for entry, rows, color in shown:
        late = rows.get(group, {}).get("latency_ns", {})
        for quantile, style in (("p50", "o-"), ("p99", "o--")):
            points = [(float(s), v[quantile] / 1000) for s, v in late.items() if quantile in v]
            if points:
                ax.plot(*zip(*points), style, color=color, ms=4, lw=1.2)
    ax.set_yscale("log")
    ax.set_xticks([0.1, 0.5, 0.99])
    ax.set_xlabel(f"load as a share of R+, {group[0]} B {KINDS[group[1]]}\n(line: median, dashed: 99th percentile)")
    ax.set_ylabel("latency (µs)")


def picture(result, folder):
    """switches.svg and switches.png. False: nothing to show, or no Matplotlib."""
    shown = []
    for entry, color in zip((e for e in result["switches"].values() if e["state"] == "measured"), LINES * 4):
        shown.append((entry, {(r["size"], r["direction"]): r for r in summaries(entry)}, color))
    groups = list(dict.fromkeys(key for _, rows, _ in shown for key, row in rows.items() if row["pps"] is not None))
    if not groups:
        return False
    try:
        plt = plots._pyplot()
    except plots.Missing:
        return False
    late = [g for g in groups if any(rows.get(g, {}).get("latency_ns") for _, rows, _ in shown)]
    fig, axes = plt.subplots(1, 1 + bool(late), figsize=(6.4 + 4.4 * bool(late), 3.8), squeeze=False)
    _throughput(axes[0][0], shown, groups)
    axes[0][0].legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, fontsize=8)
    if late:
        _late(axes[0][1], shown, late[0])
    for ax in axes[0]:
        ax.grid(axis="y", color=GRID, alpha=0.3, lw=0.6)
    title = f"{result['scenario']}" + (": function only, processes share CPUs" if result["shared"] else "")
    fig.text(0.99, 0.99, title, ha="right", va="top", fontsize=8)
    fig.tight_layout()
    for form in ("svg", "png"):
        fig.savefig(os.path.join(folder, f"switches.{form}"), facecolor="white", dpi=110, metadata={"Date": None} if form == "svg" else None)
    plt.close(fig)
    return True
