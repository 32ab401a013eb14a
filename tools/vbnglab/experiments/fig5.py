# SPDX-License-Identifier: BSD-3-Clause
"""Fig. 5: one subscriber's tokens, queue and rates through idle, under-rate, at-rate, over-rate and burst.

Runs vbng for about three seconds with one subscriber behind the scheduler and a generator whose streams take turns, and
writes fig5.csv, fig5.json, fig5.svg and fig5.png. On a busy machine something else may come in than the phases say: it is
run again, --rounds times at most, and the best run is drawn; a phase that was not reached in it is drawn as such.
"""

import bisect
import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from dataclasses import asdict, dataclass

from ..lab import machine
from ..sweep import pictures
from . import Refused

TITLE = "Fig. 5: tokens, queue and rates of one subscriber over time"

RATE = 10e6  # bit/s of the subscriber
BUCKET = 62500  # bytes: 50 ms of the rate
QUEUE = 128  # packets
FRAME = 500  # bytes with FCS: what the scheduler counts
PERIOD = 0.005  # seconds between samples
RATE_TOP = 45  # Mbit/s shown
WINDOW = 0.02  # seconds over which rates are taken

# seconds from the start, share of the rate, what it is called
PHASES = (
    (0.00, 0.20, 0.0, "idle"),
    (0.20, 0.30, 0.5, "under rate"),
    (0.50, 0.30, 1.0, "at rate"),
    (0.80, 0.50, 1.8, "over rate"),
    (1.30, 0.45, 0.5, "under rate"),
    (1.75, 0.20, 0.0, "idle"),
    (1.95, 0.04, 4.0, "burst"),
    (1.99, 0.26, 0.0, "idle"),
)
END = PHASES[-1][0] + PHASES[-1][1]
PHASE_OF = {1: 0, 2: 1, 3: 1, 4: 2, 5: 3, 6: 3, 7: 3, 8: 3, 9: 4, 10: 4}  # number in the paper's text: index of its phase
OFF = 0.05  # share of the rate by which the input of a phase may differ from what is wanted
DIP = 0.7  # share of what is wanted that comes at each moment of a phase


@dataclass(frozen=True)
class Phase:
    """A phase, and what came in it. came: bit/s, None where there are no samples."""

    name: str
    begin: float
    end: float
    wanted: float
    came: float | None
    reached: bool


@dataclass(frozen=True)
class Run:
    """A run: its curves, and which of the phases and of the numbers of the paper's text it has reached."""

    rows: list
    phases: list
    moments: list

    @property
    def lacking(self):
        """Words for what was not reached."""
        names = [f"{p.name} at {p.begin * 1000:.0f} ms" for p in self.phases if not p.reached]
        return names + [f"({number})" for number, at, _ in self.moments if at is None]


def configuration(folder):
    with open(os.path.join(folder, "one.tmpl"), "w") as f:
        f.write(f"size {FRAME}\n"
                "ether src 02:c0:00:00:00:00 dst 02:b0:00:00:00:00\n"
                "vlan tpid 0x88a8 id 100\nvlan id 200\n"
                "ipv4 src 10.0.0.1 dst 198.18.0.1\nudp src 1024 dst 2048\npayload 00\n")
    streams = [f'{{ rate = "{share * RATE / 8 / FRAME:.3f}pps"; start = "{start * 1000:.0f}ms"; '
               f'duration = "{length * 1000:.0f}ms"; }}' for start, length, share, _ in PHASES if share > 0]
    # one packet more after the phases, as a run ends with its last stream
    streams.append(f'{{ rate = "1pps"; count = 1; start = "{END * 1000 + 100:.0f}ms"; }}')
    streams = ",\n        ".join(streams)
    path = os.path.join(folder, "fig5.cfg")
    with open(path, "w") as f:
        f.write(f'''name = "fig5";
memory = "no-huge";
pools = {{ default = {{ mbufs = "16K"; }}; }};
ports = (
    {{ name = "in"; device = "wire:in"; mac = "02:b0:00:00:00:00"; }},
    {{ name = "out"; device = "wire:out"; on_full = "wait"; }},
    {{ name = "t_in"; device = "wire:in"; }}, {{ name = "t_out"; device = "wire:out"; }}
);
subscribers = ( {{ port = "in"; svlan = 100; cvlan = 200; ipv4 = "10.0.0.1/32"; profile = "one"; }} );
qos = {{
    profiles = {{ one = {{ rate = "{RATE / 1e6:.0f}M"; burst = "{BUCKET}"; }}; }};
    schedulers = {{ s = {{ ports = "in"; classes = ( {{ class = "be"; queue = {QUEUE}; aqm = "none"; }} ); }}; }};
}};
tasks = (
    {{ name = "classify"; type = "classify"; from = "in"; scheduler = "s"; to = "qos"; }},
    {{ name = "qos"; type = "qos"; scheduler = "s"; direction = "up"; to = "out"; }},
    {{ name = "gen"; type = "gen"; template = "one.tmpl"; train = 1; to = "t_in"; streams = (
        {streams} ); }},
    {{ name = "sink"; type = "sink"; from = "t_out"; }}
);
layout = ( {{ core = "0"; tasks = ["classify", "qos"]; }}, {{ core = "1"; tasks = ["gen", "sink"]; }} );
''')
    return path


def measure(vbng):
    """Run vbng once. Returns samples of the task qos: (seconds, packets in, sent, dropped, held). Raises Refused."""
    folder = tempfile.mkdtemp(prefix="vbng-fig5-")
    try:
        sample = os.path.join(folder, "sample.csv")
        command = [vbng, "--quiet", "--duration", f"{END + 1:.1f}s", "--sample", sample, "--sample-period",
                   f"{PERIOD * 1000:.0f}ms", configuration(folder)]
        if len(os.sched_getaffinity(0)) < 2:
            command.insert(1, "--share-cpus")
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
        if done.returncode != 0:
            raise Refused(f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout}")
        with open(sample) as f:
            return [(float(r["seconds"]), int(r["in"]), int(r["sent"]), int(r["dropped"]), int(r["held"]))
                    for r in csv.DictReader(f) if r["task"] == "qos"]
    finally:
        shutil.rmtree(folder)


def rate(samples, i, column):
    """bit/s around sample i."""
    first = last = i
    while first > 0 and samples[i][0] - samples[first][0] < WINDOW / 2:
        first -= 1
    while last < len(samples) - 1 and samples[last][0] - samples[i][0] < WINDOW / 2:
        last += 1
    time = samples[last][0] - samples[first][0]
    return (samples[last][column] - samples[first][column]) * FRAME * 8 / time if time > 0 else 0


def derive(samples):
    """Rows of the curves. Tokens, which librte_sched does not show, are derived: what the rate has put into the bucket, at most
    its size, less the bytes that have left; at the start the library fills the bucket by half."""
    begin = next((s[0] for s in samples if s[1] > 0), 0) - PHASES[0][1]
    tokens, rows, before = BUCKET / 2, [], None
    for i, s in enumerate(samples):
        if before is not None:
            tokens = min(BUCKET, tokens + (s[0] - before[0]) * RATE / 8)
            tokens = max(0, tokens - (s[2] - before[2]) * FRAME)
        before = s
        rows.append({"seconds": s[0] - begin, "tokens": tokens, "queue": s[4], "arrived": s[1], "sent": s[2],
                     "input": rate(samples, i, 1), "output": rate(samples, i, 2), "dropped": s[3]})
    return [r for r in rows if -0.01 <= r["seconds"] <= END]


def _arrived(rows, seconds):
    """Packets that have come in until then, between two samples by interpolation."""
    i = bisect.bisect_left(rows, seconds, key=lambda r: r["seconds"])
    if i == 0 or i == len(rows):
        return rows[min(i, len(rows) - 1)]["arrived"]
    a, b = rows[i - 1], rows[i]
    return a["arrived"] + (b["arrived"] - a["arrived"]) * (seconds - a["seconds"]) / (b["seconds"] - a["seconds"])


def phases(rows):
    """What came in each phase, and whether that is what was wanted."""
    found = []
    for begin, length, share, name in PHASES:
        end, wanted = begin + length, share * RATE
        inner = [r["input"] for r in rows if begin + WINDOW < r["seconds"] < end - WINDOW]
        if length <= 3 * WINDOW and rows:  # a burst between two idle phases, so that nothing else is counted with it
            came, least = (_arrived(rows, end + WINDOW) - _arrived(rows, begin - WINDOW)) * FRAME * 8 / length, wanted
        else:
            came, least = (sum(inner) / len(inner), min(inner)) if inner else (None, 0)
        reached = came is not None and abs(came - wanted) <= OFF * max(RATE, wanted) and least >= DIP * wanted
        found.append(Phase(name, begin, end, wanted, came, reached))
    return found


def moments(rows, reached=None):
    """The numbers of the paper's text: (number, seconds, panel). seconds is None for what was not reached: the number has no moment, or
    one outside of its phase or before that of an earlier number, or its phase was not reached. reached: phases(rows), if it is known."""
    reached, last, found = reached or phases(rows), -1.0, []
    for number, at, panel in _moments(rows):
        phase = reached[PHASE_OF[number]]
        if at is None or not phase.reached or not max(last, phase.begin - 2 * PERIOD) <= at <= phase.end or at == last:
            at = None
        else:
            last = at
        found.append((number, at, panel))
    return found


def judge(samples):
    """The Run of samples. Raises Refused where there is none."""
    rows = derive(samples)
    if not rows:
        raise Refused("vbng wrote no samples while the phases lasted")
    reached = phases(rows)
    return Run(rows, reached, moments(rows, reached))


def _moments(rows):
    def first(test, after=0.0):
        return next((r["seconds"] for r in rows if r["seconds"] >= after and test(r)), None)

    over, under = PHASES[3][0], PHASES[4][0]
    empty = first(lambda r: r["tokens"] < 2 * FRAME, over)
    drop = first(lambda r: r["dropped"] > 0)
    drained = first(lambda r: r["queue"] == 0, under)
    if drained is not None and drained < under + 2 * PERIOD:  # nothing waited
        drained = None
    return [
        (1, first(lambda r: r["tokens"] >= BUCKET * 0.99), "tokens"),
        (2, PHASES[1][0] + 0.02, "rate"),
        (3, (PHASES[1][0] + PHASES[2][0]) / 2 + 0.02, "rate"),
        (4, (PHASES[2][0] + over) / 2, "rate"),
        (5, over, "tokens"),
        (6, empty, "rate"),
        (7, None if None in (empty, drop) else (empty + drop) / 2, "queue"),
        (8, drop, "queue"),
        (9, None if drained is None else (under + drained) / 2, "rate"),
        (10, drained, "tokens"),
    ]


def _label(axes, phase, share):
    """Write a phase's name above it; in red, with what came instead, where it was not reached."""
    text, colour = phase.name if share == 0 or phase.name == "burst" else f"{phase.name}\n{share:g} ×", "k"
    if not phase.reached:
        came = "no samples" if phase.came is None else f"{phase.came / RATE:.2g} × came"
        text, colour = f"{phase.name}\nnot reached:\n{share:g} × wanted,\n{came}", pictures.MISSING
    axes.text((phase.begin + phase.end) / 2 * 1000, RATE_TOP * 1.02, text, ha="center", va="bottom", fontsize=8, color=colour)


def _panels(axes, rows):
    """Draw the curves. Returns {panel: axes}."""
    t, panel = [r["seconds"] * 1000 for r in rows], dict(zip(("rate", "tokens", "queue", "drops"), axes))
    panel["rate"].step(t, [r["input"] / 1e6 for r in rows], where="mid", color="0.6", label="input")
    panel["rate"].plot(t, [r["output"] / 1e6 for r in rows], color="tab:blue", label="output")
    panel["rate"].axhline(RATE / 1e6, color="k", lw=0.6, ls="--")
    panel["rate"].set_ylabel("rate (Mbit/s)")
    panel["rate"].set_ylim(0, RATE_TOP)
    panel["rate"].legend(loc="upper right", bbox_to_anchor=(0.72, 1.0), fontsize=8)
    panel["tokens"].plot(t, [r["tokens"] / 1000 for r in rows], color="tab:green")
    panel["tokens"].axhline(BUCKET / 1000, color="k", lw=0.6, ls="--")
    panel["tokens"].set_ylabel("tokens (kB)\nderived from output")
    panel["tokens"].set_ylim(0, BUCKET / 1000 * 1.3)
    panel["queue"].plot(t, [r["queue"] for r in rows], color="tab:orange")
    panel["queue"].axhline(QUEUE, color="k", lw=0.6, ls="--")
    panel["queue"].set_ylabel("queue (packets)")
    panel["queue"].set_ylim(0, QUEUE * 1.3)
    panel["drops"].plot(t, [r["dropped"] for r in rows], color="tab:red")
    panel["drops"].set_ylabel("drops\n(packets, sum)")
    panel["drops"].set_ylim(0, max(10, max(r["dropped"] for r in rows) * 1.15))
    panel["drops"].set_xlabel("time (ms)")
    return panel


def plot(found, out):
    """Draw a run. Returns the paths; [] without Matplotlib."""
    plt, rows = pictures.pyplot(), found.rows
    if plt is None:
        return []
    figure, axes = plt.subplots(4, 1, figsize=(9, 8), sharex=True, height_ratios=[2.2, 2, 2, 1.2])
    panel = _panels(axes, rows)
    for a in axes:
        a.set_xlim(0, END * 1000)
        for phase in found.phases:
            a.axvline(phase.begin * 1000, color="0.8", lw=0.8)
            if not phase.reached:
                a.axvspan(phase.begin * 1000, phase.end * 1000, fill=False, hatch="//", ec=pictures.MISSING, lw=0, alpha=0.35)
    for phase, (_, _, share, _) in zip(found.phases, PHASES):
        _label(panel["rate"], phase, share)
    heights = {"tokens": lambda r: r["tokens"] / 1000, "queue": lambda r: r["queue"], "rate": lambda r: r["output"] / 1e6}
    for number, at, name in found.moments:
        if at is not None:
            row = min(rows, key=lambda r: abs(r["seconds"] - at))
            panel[name].annotate(f"({number})", (at * 1000, heights[name](row)), xytext=(7, 9), textcoords="offset points",
                                 fontsize=9, fontweight="bold", arrowprops={"arrowstyle": "-", "lw": 0.6})
            panel[name].plot([at * 1000], [heights[name](row)], "ko", ms=3)
    title = f"One subscriber: {RATE / 1e6:g} Mbit/s, bucket {BUCKET / 1000:g} kB, queue {QUEUE} packets of {FRAME} B"
    if found.lacking:
        title += "\n" + textwrap.fill(f"The machine was too busy for Fig. 5. Not reached: {', '.join(found.lacking)}", 110)
    figure.suptitle(title, fontsize=10, color=pictures.MISSING if found.lacking else "k")
    figure.tight_layout()
    return pictures.save(figure, out, "fig5")


def _write(found, out, command):
    with open(os.path.join(out, "fig5.csv"), "w", newline="", encoding="utf-8") as f:
        writer = csv.DictWriter(f, found.rows[0].keys())
        writer.writeheader()
        writer.writerows({k: round(v, 6) for k, v in r.items()} for r in found.rows)
    with open(os.path.join(out, "fig5.json"), "w", encoding="utf-8") as f:
        json.dump({"kind": "vbng experiment fig5", "command": command, "machine": machine.describe(),
                   "phases": [asdict(p) for p in found.phases],
                   "moments": [{"number": number, "seconds": at} for number, at, _ in found.moments]}, f, indent=1)
        f.write("\n")


def run(experiment):
    """Measure until all phases are reached, and write the curves and their picture into the folder."""
    best = None
    for attempt in range(experiment.rounds):
        found = judge(measure(experiment.vbng))
        best = found if best is None or len(found.lacking) < len(best.lacking) else best
        if not best.lacking:
            break
        print(f"fig5: try {attempt + 1} of {experiment.rounds}: not reached: {', '.join(found.lacking)}", file=sys.stderr)
    _write(best, experiment.folder, experiment.args.command_line)
    drawn = plot(best, experiment.folder)
    experiment.missing += [f"{what}: not reached; was the machine busy?" for what in best.lacking]
    return [f"{experiment.folder}: fig5.csv, fig5.json" + (", fig5.svg, fig5.png; what they show: doc/qos.md" if drawn else "")]
