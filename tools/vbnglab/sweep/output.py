# SPDX-License-Identifier: BSD-3-Clause
"""Outputs of a sweep: table, CSV, JSON, picture."""

import csv
import json
import os
from statistics import median

from ..lab import machine, stats
from . import advise, pictures

COLUMNS = ["round", "variant", "layout", "data_room", "mbufs", "ok", "pps", "offered_pps", "cycles", "held", "limit", "why", "shaped",
           "shared_cpus", "disturbed", "memory", "error"]
MIB = 1 << 20
MARGIN = 14  # characters of the column of layouts, at least


def group(rows):
    """{(layout, data_room, mbufs): rows} in the order of their first run's factors."""
    found = {}
    for r in sorted(rows, key=lambda r: (r["layout"], r["data_room"] or 0, r["mbufs"] or 0, r["round"])):
        found.setdefault((r["layout"], r["data_room"], r["mbufs"]), []).append(r)
    return found


def table(rows, layouts):
    """Lines for a terminal: one of each combination, the best first, then what could not run."""
    found = group(rows)
    width = max([MARGIN, *(len(layout) for layout, *_ in found), *(len(x.name) for x in layouts)])
    lines = [f"{'layout':<{width}} {'data room':>9} {'mbufs':>8} {'Mpps':>6} {'min':>6} {'max':>6} {'cycles':>6} {'held':>8}  limit"]

    def speed(item):
        return -median([r["pps"] for r in advise.usable(item[1])] or [0])

    for (layout, room, mbufs), some in sorted(found.items(), key=speed):
        head = f"{layout:<{width}} {room or 'as is':>9} {mbufs or 'as is':>8}"
        good = [r for r in some if r["ok"]]
        if not good:
            lines.append(f"{head} {'-':>6} {'-':>6} {'-':>6} {'-':>6} {'-':>8}  died: {some[0]['error']}")
            continue
        if good[0]["shared_cpus"]:
            lines.append(f"{head} {'-':>6} {'-':>6} {'-':>6} {'-':>6} {'-':>8}  works; function only, CPUs were shared")
            continue
        good = [r for r in good if not r["disturbed"]]
        if not good:
            lines.append(f"{head} {'-':>6} {'-':>6} {'-':>6} {'-':>6} {'-':>8}  disturbed: other programs had the CPUs")
            continue
        s = stats.summary([r["pps"] / 1e6 for r in good])
        cycles = median(r["cycles"] or 0 for r in good)
        middle = sorted(good, key=lambda r: r["pps"])[len(good) // 2]
        dead = f" [{len(some) - len(good)} of {len(some)} runs died or were disturbed]" if len(some) > len(good) else ""
        lines.append(f"{head} {s.median:6.2f} {s.min:6.2f} {s.max:6.2f} {cycles:6.0f} "
                     f"{median(r['held'] for r in good):8.0f}  {middle['why']}{dead}")
    return lines + refusals(layouts, width)


def refusals(layouts, width=MARGIN):
    """Lines about the layouts that cannot run, with the reasons. width: characters for the names."""
    return [f"{x.name:<{width}} refused: {x.refused}" for x in layouts if x.refused]


def write_csv(path, rows):
    """Write a line for each run."""
    with open(path, "w", newline="", encoding="utf-8") as f:
        writer = csv.DictWriter(f, COLUMNS, extrasaction="ignore", restval="")
        writer.writeheader()
        writer.writerows(rows)


def write_json(path, sweep, rows, layouts, command):
    """Write all: the command, the machine, the runs, the advice."""
    with open(path, "w", encoding="utf-8") as f:
        json.dump({
            "kind": "vbng sweep", "command": command, "identity": sweep.identity(), "rounds": sweep.rounds,
            "machine": machine.describe(),
            "layouts": [{"name": x.name, "what": x.what, "refused": x.refused, "tester_shares": x.shared,
                         "entries": [{"core": c, "tasks": t} for c, t in x.entries]} for x in layouts],
            "rows": rows, "advice": advise.advice(rows),
        }, f, indent=1)
        f.write("\n")


def mbuf_mib(plan, pool, data_room, mbufs):
    """MiB that the mbufs of a pool take, on all sockets: header 64, mbuf 128 and data room, in whole cache lines (doc/plan.md)."""
    own = [p for p in plan["memory"]["pools"] if p["of"] == pool]
    size = 64 + 128 + (data_room or own[0]["data_room"])
    return sum(mbufs or p["mbufs"] for p in own) * ((size + 63) // 64 * 64) / MIB


def picture(sweep, rows, layouts, folder, name="sweep", title=""):
    """Draw bars by layout, and lines over the memory of the mbufs where that was swept; what has no figure is drawn as such. Returns the
    paths; [] without Matplotlib, or where CPUs were shared, so that there are no figures."""
    plt, good = pictures.pyplot(), advise.usable(rows)
    ran = [r for r in rows if not r.get("shared_cpus")]
    if plt is None or not ran:
        return []
    names = [x.name for x in layouts if any(r["layout"] == x.name for r in ran)]
    plans = {x.name: x.plan for x in layouts}
    sizes = sorted({(r["data_room"], r["mbufs"]) for r in ran}, key=lambda s: mbuf_mib(plans[names[0]], sweep.pool, *s))
    figure, axes = plt.subplots(1, 2 if len(sizes) > 1 else 1, figsize=(11 if len(sizes) > 1 else 6, 4), squeeze=False)

    def label(size):
        return f"{mbuf_mib(plans[names[0]], sweep.pool, *size):.0f} MiB of mbufs"

    values = {(n, label(s)): [r["pps"] / 1e6 for r in good if r["layout"] == n and (r["data_room"], r["mbufs"]) == s]
              for n in names for s in sizes}
    absent = advise.absent(ran, lambda r: (r["layout"], label((r["data_room"], r["mbufs"]))))
    pictures.bars(axes[0][0], names, [label(s) for s in sizes], values, absent=absent)
    axes[0][0].set_ylabel("throughput (Mpps)")
    if len(sizes) > 1:
        curves = {n: {mbuf_mib(plans[n], sweep.pool, *s): values[n, label(s)] for s in sizes if values[n, label(s)]}
                  for n in names}
        nowhere = advise.absent(ran, lambda r: (r["layout"], mbuf_mib(plans[r["layout"]], sweep.pool, r["data_room"], r["mbufs"])))
        pictures.lines(axes[0][1], curves, [(x, why) for (_, x), why in nowhere.items()])
        pictures.memory_axis(axes[0][1], [mbuf_mib(plans[names[0]], sweep.pool, *s) for s in sizes])
        axes[0][1].set_xlabel("memory of the mbufs")
        pictures.legend(axes[0][1], 2)
    pictures.legend(axes[0][0], 2, 7)
    figure.suptitle(title or os.path.basename(sweep.config), fontsize=10)
    figure.tight_layout()
    return pictures.save(figure, folder, name)
