# SPDX-License-Identifier: BSD-3-Clause
"""Results of vbng-lab aqm: table, JSON, and the picture of delay over time."""

import json
import os
from dataclasses import asdict

from ..lab import machine, owned
from ..sweep import pictures
from .case import MOST

HEAD = ["line", "load", "discipline", "ping p50", "p95", "TCP's p50", "goodput", "of rate", "fairness", "again", "dropped"]
SMOOTH = 0.1  # seconds of pings that are a point of the picture
NONE = "-"


def ms(value):
    """A delay for the table."""
    return NONE if value is None else f"{value:.1f} ms"


def cells(c, r):
    """A row of the table."""
    head = [c.rate_text, c.title(), c.discipline]
    if "error" in r:
        return [*head, r["error"].splitlines()[0][:100]]
    dropped = ", ".join(f"{n} {reason}" for reason, n in r["drops"].items())
    fair = NONE if c.flows == 1 or r["fairness"] is None else f"{r['fairness']:.2f}"
    return [*head, ms(r["ping_p50_ms"]), ms(r["ping_p95_ms"]), ms(r["tcp_rtt_p50_ms"]), f"{r['goodput_bps'] / 1e6:.2f}M",
            f"{r['goodput_share']:.3f}", fair, str(r["retransmits"]), dropped or NONE]


def line(c, r):
    """A case in a few words, for the progress."""
    if "error" in r:
        return f"{c.rate_text}, {c.title()}, {c.discipline}: {r['error'].splitlines()[0]}"
    return f"{c.rate_text}, {c.title()}, {c.discipline}: ping {ms(r['ping_p50_ms'])}, goodput {r['goodput_share']:.3f}"


def table(done):
    """Lines for a terminal."""
    rows = [HEAD, *(cells(c, r) for c, r in done)]
    whole = [row for row in rows if len(row) == len(HEAD)]
    widths = [max(len(row[i]) for row in whole) for i in range(len(HEAD))]
    for row in rows:
        widths[:3] = [max(w, len(text)) for w, text in zip(widths, row)]
    text = ["  ".join(cell.ljust(w) if i < 3 or len(row) < len(HEAD) else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths))).rstrip()
            for row in rows]
    return [*text, f"of rate: data of TCP; full-sized packets allow {MOST:.3f}. fairness: of the flows, by Jain; 1 is equal."]


def write(folder, done, options, command):
    """Write aqm.txt and aqm.json."""
    with owned.output(os.path.join(folder, "aqm.txt")) as f:
        f.write("\n".join(table(done)) + "\n")
    with owned.output(os.path.join(folder, "aqm.json")) as f:
        json.dump({"kind": "vbng aqm", "command": command, "machine": machine.describe(), "seconds": options.seconds, "rtt_ms": options.rtt * 1e3,
                   "ecn": options.ecn, "cases": [{**asdict(c), **r} for c, r in done]}, f, indent=1)
        f.write("\n")


def smooth(delay):
    """(times, medians) of the pings of each SMOOTH seconds."""
    bins = {}
    for at, value in delay:
        bins.setdefault(int(at // SMOOTH), []).append(value)
    return [(k + 0.5) * SMOOTH for k in sorted(bins)], [sorted(bins[k])[len(bins[k]) // 2] for k in sorted(bins)]


def picture(folder, done):
    """Draw delay over time, a frame for each load and a line for each discipline. Returns the paths; [] without Matplotlib or figures."""
    plt = pictures.pyplot()
    good = [(c, r) for c, r in done if "error" not in r]
    if plt is None or not good:
        return []
    loads = list(dict.fromkeys((c.rate_text, c.title()) for c, _ in good))
    names = list(dict.fromkeys(c.discipline for c, _ in good))
    columns = min(3, len(loads))
    rows = -(-len(loads) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(4 * columns + 1, 2.7 * rows + 0.6), squeeze=False, sharey="row")
    for i, load in enumerate(loads):
        frame = axes[i // columns][i % columns]
        for c, r in good:
            if (c.rate_text, c.title()) == load:
                frame.plot(*smooth(r["delay"]), lw=1.2, color=pictures.COLOURS[names.index(c.discipline) % len(pictures.COLOURS)],
                           label=f"{c.discipline}: {r['ping_p50_ms']:.1f} ms, {r['goodput_share']:.2f}" if r["ping_p50_ms"] is not None else c.discipline)
        frame.set_yscale("log")
        frame.set_title(f"{load[0]}bit/s, {load[1]}", fontsize=9)
        frame.legend(fontsize=7, title="ping p50, goodput / rate", title_fontsize=7)
    for i in range(rows * columns):
        if i >= len(loads):
            axes[i // columns][i % columns].set_axis_off()
    for row in axes:
        row[0].set_ylabel("ping (ms)")
    for frame in axes[-1]:
        frame.set_xlabel("seconds of download")
    figure.tight_layout()
    return pictures.save(figure, folder, "aqm")
