# SPDX-License-Identifier: BSD-3-Clause
"""Results of vbng-lab aqm: table, JSON, and the picture of delay over time."""

import json
import os
from dataclasses import asdict, fields

from ..lab import machine, owned
from ..lab.failure import Failure
from ..sweep import pictures
from .case import FAMILIES, Case

HEAD = ["line", "load", "discipline", "ping p50", "p95", "ECT(1) p50", "flows' p50", "goodput", "of rate", "fairness", "again", "marked", "dropped"]
KIND = "vbng aqm"
SMOOTH = 0.2  # seconds of pings that are a point of the picture
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
    return [*head, ms(r["ping_p50_ms"]), ms(r["ping_p95_ms"]), ms(r["l4s_ping_p50_ms"]), ms(r["tcp_rtt_p50_ms"]), goodput(c, r),
            share(r), fair, str(r["retransmits"]), str(r.get("marked", NONE)), dropped or NONE]


def share(r):
    """Goodput's share, and where there were several runs, the least and the most."""
    text = f"{r['goodput_share']:.3f}"
    return text + (f" ({r['goodput_share_least']:.3f}-{r['goodput_share_most']:.3f})" if r.get("runs", 1) > 1 else "")


def goodput(c, r):
    """Of each kind of flow, in Mbit/s."""
    kinds = list(dict.fromkeys(c.kinds()))
    of = {k: sum(share for kind, share in zip(c.kinds(), r["shares"]) if kind == k) for k in kinds}
    return " + ".join(f"{share / r['goodput_share'] * r['goodput_bps'] / 1e6:.2f}" for share in of.values()) + "M" if r["goodput_bps"] else "0"


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
    most = ", ".join(f"{FAMILIES[name].most():.3f} ({name})" for name in dict.fromkeys(c.family for c, _ in done))
    return [*text, f"of rate: data, of what the pings leave; full-sized packets allow {most}. fairness: of the flows, by Jain; 1 is equal."]


def write(folder, done, options, command):
    """Write aqm.json."""
    with owned.output(os.path.join(folder, "aqm.json")) as f:
        json.dump({"kind": KIND, "command": command, "machine": machine.describe(), "seconds": options.seconds, "rtt_ms": options.rtt * 1e3,
                   "ecn": options.ecn, "cases": [{**asdict(c), **r} for c, r in done]}, f, indent=1)
        f.write("\n")


def earlier(paths):
    """(case, result) pairs of files that write() has written. Raises Failure."""
    done = []
    for path in paths:
        try:
            with open(path, encoding="utf-8") as f:
                found = json.load(f)
            if found.get("kind") != KIND:
                raise ValueError("these are no results of vbng-lab aqm")
            done += [(Case(**{k.name: c.pop(k.name) for k in fields(Case)}), c) for c in found["cases"]]
        except (OSError, ValueError, KeyError, AttributeError, TypeError) as e:
            raise Failure(f"{path}: {e}") from None
    return done


def smooth(delay, low):
    """(times, medians) of the pings of each SMOOTH seconds: of those with ECT(1), or of the others."""
    bins = {}
    for at, value, ecn in delay:
        if (ecn != 0) == low:
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
            if (c.rate_text, c.title()) != load:
                continue
            colour = pictures.COLOURS[names.index(c.discipline) % len(pictures.COLOURS)]
            frame.plot(*smooth(r["delay"], False), lw=1.2, color=colour, label=f"{c.discipline}: {ms(r['ping_p50_ms'])}, {r['goodput_share']:.3f}")
            if "l4s" in c.keys:
                frame.plot(*smooth(r["delay"], True), lw=1.2, ls=":", color=colour, label=f"{c.discipline}, ECT(1): {ms(r['l4s_ping_p50_ms'])}")
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
