# SPDX-License-Identifier: BSD-3-Clause
"""Section III.E: packets of all subscribers in random classes and queues, against one class and queue of each."""

import csv
import os
import re
import time
from statistics import median

from ..lab import run as runs
from ..lab.places import TEMPLATES
from ..sweep import advise, outcome, output, pictures
from . import bandwidth, minimal, paper
from .experiment import Variant, table_lines, write_table

TITLE = "section III.E: random classes and queues against one class and queue"
LAYOUTS = ["one-core", "qos-alone"]
SETTLE = 0.3  # seconds until all mbufs have circulated
STREAMS = {"random": os.path.join(TEMPLATES, "cpe0-classes.tmpl"), "one queue": os.path.join(TEMPLATES, "cpe0.tmpl")}


class Touched:
    """The memory that a process uses from now on, by the kernel's marks on its pages."""

    def __init__(self, pid):
        self.folder = f"/proc/{pid}"
        try:
            with open(f"{self.folder}/clear_refs", "w", encoding="ascii") as f:
                f.write("1")
        except OSError:
            self.folder = None

    def read(self):
        """MiB of pages used since then; None where the kernel does not tell."""
        try:
            with open(f"{self.folder}/smaps_rollup", encoding="ascii") as f:
                return int(re.search(r"Referenced:\s*(\d+)", f.read())[1]) / 1024
        except (OSError, TypeError):
            return None


def queues_used(path):
    """Return (queues that ever held a packet, queues) from the file of vbng --subscribers."""
    used = total = 0
    with open(path, encoding="utf-8", newline="") as f:
        for row in csv.DictReader(f):
            counts = [int(v) for k, v in row.items() if k.endswith("_queued") and v]
            used += sum(c > 0 for c in counts)
            total += len(counts)
    return used, total


def utilisation(experiment, layout, stream):
    """Measure in a run of its own what would disturb others: queues used, memory touched, bandwidth of the channels."""
    path, channels = os.path.join(experiment.folder, f"subscribers-{stream.replace(' ', '-')}.csv"), {}
    settings = [("memory", "no-huge"), *minimal.SETTINGS, ("gen.template", STREAMS[stream]), *experiment.args.set]
    seconds = experiment.seconds
    extra = ["--topology", "live", "--subscribers", path]
    with runs.start(minimal.CONFIG, SETTLE + seconds + 0.2, settings, layout.file, extra=extra, vbng=experiment.vbng, sample=0.1) as process:
        while process.alive() and not process.sampling():
            time.sleep(0.02)
        time.sleep(SETTLE)
        touched = Touched(process.pid)
        if bandwidth.controllers():
            with bandwidth.measured(seconds, channels):
                time.sleep(seconds)
        else:
            time.sleep(seconds)
        mib = touched.read()
        result = process.finish()
    used, total = queues_used(path) if result.ok else (0, 0)
    if os.path.exists(path):
        os.remove(path)
    packets = sum(t["in"] for t in runs.tasks(result.report, "qos")) if result.ok else 0
    return {"stream": stream, "ok": result.ok, "packets": packets, "error": result.error, "queues_used": used, "queues": total,
            "touched_mib": mib, "channels_mb_s": channels}


def per_cent(used):
    """Return {(what, stream): [per cent]} of queues used and memory touched, and {(what, stream): why there is no figure}."""
    shares, unknown = {}, {}
    most = max((u["touched_mib"] or 0 for u in used), default=0)
    for u in used:
        queues, memory = ("queues used", u["stream"]), ("memory touched", u["stream"])
        if not u["ok"]:
            unknown |= {queues: "died", memory: "died"}
            continue
        shares[queues] = [100 * u["queues_used"] / max(1, u["queues"])]
        if u["touched_mib"] is None:
            unknown[memory] = "the kernel does not tell"
        else:
            shares[memory] = [100 * u["touched_mib"] / most if most else 0]
    return shares, unknown


def picture(experiment, rows, used):
    """Draw the bandwidth of channels in the paper, the throughput here, and queues and memory used."""
    plt, good = pictures.pyplot(), advise.usable(rows)
    if plt is None:
        return []
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.8))
    streams = list(STREAMS)
    channels = [str(i) for i in range(1, 5)]
    values = {(c, s): [v] for s, theirs in zip(streams, (paper.CHANNELS_RANDOM, paper.CHANNELS_ONE_QUEUE))
              for c, v in zip(channels, theirs)}
    pictures.bars(axes[0], channels, streams, values)
    axes[0].set_title("paper: bandwidth of the memory channels", fontsize=9)
    axes[0].set_ylabel("MB/s")
    names = sorted({r["layout"] for r in rows})
    pictures.bars(axes[1], names, streams, {(n, s): [r["pps"] / 1e6 for r in good if r["layout"] == n and r["variant"] == s]
                                            for n in names for s in streams},
                  absent=advise.absent(rows, lambda r: (r["layout"], r["variant"])))
    axes[1].set_title("here: throughput", fontsize=9)
    axes[1].set_ylabel("Mpps")
    shares, unknown = per_cent(used)
    pictures.bars(axes[2], ["queues used", "memory touched"], streams, shares, absent=unknown)
    axes[2].set_title("here: % of all queues, % of the larger memory", fontsize=9)
    for a in axes:
        pictures.legend(a, len(streams))
    figure.tight_layout()
    return pictures.save(figure, experiment.folder, "sec3e")


def run(experiment):
    """Measure both streams in turn; then run each once more for what it uses."""
    found = experiment.layouts(minimal.CONFIG, LAYOUTS[-1:] if experiment.quick else LAYOUTS, minimal.SETTINGS)
    pages = experiment.pages()[-1]
    variants = [Variant(name, [("gen.template", path)], pages) for name, path in STREAMS.items()]
    rows = experiment.sweep(minimal.CONFIG, found, variants, settings=minimal.SETTINGS)
    used = [utilisation(experiment, next(x for x in found if not x.refused), s) for s in STREAMS]
    experiment.missing += [f"queues and memory used, {u['stream']}: died: {outcome.reason(u['error'])}" for u in used if not u["ok"]]
    experiment.save(rows, utilisation=used, paper={"random": paper.CHANNELS_RANDOM, "one queue": paper.CHANNELS_ONE_QUEUE})
    picture(experiment, rows, used)
    header = ("stream", "queues used", "of", "MiB touched", "paper: MB/s of channels")
    table = [(u["stream"], u["queues_used"] if u["ok"] else "-", u["queues"] if u["ok"] else "-",
              "-" if u["touched_mib"] is None or not u["ok"] else f"{u['touched_mib']:.0f}",
              " ".join(map(str, theirs)))
             for u, theirs in zip(used, (paper.CHANNELS_RANDOM, paper.CHANNELS_ONE_QUEUE))]
    write_table(os.path.join(experiment.folder, "sec3e-use.csv"), header, table)
    channels = [f"{u['stream']}: " + ", ".join(f"{n} {v:.0f} MB/s" for n, v in u["channels_mb_s"].items()) for u in used
                if u["channels_mb_s"]]
    refused = ["bandwidth of the memory channels: refused: the counters of the memory controllers (uncore_imc) are not visible"]
    speed = [f"{name}, {stream}: {median(v):.2f} Mpps ({min(v):.2f} to {max(v):.2f})"
             for name in sorted({r["layout"] for r in rows}) for stream in STREAMS
             if (v := [r["pps"] / 1e6 for r in advise.usable(rows) if (r["layout"], r["variant"]) == (name, stream)])]
    return [*table_lines(header, table), *(channels or refused), "", *speed, *output.refusals(found),
            *advise.advice(rows)]
