# SPDX-License-Identifier: BSD-3-Clause
"""Fig. 5: one subscriber's tokens, queue and rates through idle, under-rate, at-rate, over-rate and burst.

Runs vbng for about three seconds with one subscriber behind the scheduler and a generator whose streams take turns, and
writes fig5.csv, fig5.svg and fig5.png. Without Matplotlib only the CSV is written.
"""

import csv
import os
import shutil
import subprocess
import sys
import tempfile

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
        rows.append({"seconds": s[0] - begin, "tokens": tokens, "queue": s[4], "input": rate(samples, i, 1),
                     "output": rate(samples, i, 2), "dropped": s[3]})
    return [r for r in rows if -0.01 <= r["seconds"] <= END]


def moments(rows):
    """The numbers of the paper's text: (number, seconds, panel)."""
    def first(test, after=0.0):
        return next((r["seconds"] for r in rows if r["seconds"] >= after and test(r)), None)

    over, under = PHASES[3][0], PHASES[4][0]
    empty = first(lambda r: r["tokens"] < 2 * FRAME, over)
    drop = first(lambda r: r["dropped"] > 0)
    drained = first(lambda r: r["queue"] == 0, under)
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


def plot(rows, out):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    t = [r["seconds"] * 1000 for r in rows]
    figure, axes = plt.subplots(4, 1, figsize=(9, 8), sharex=True, height_ratios=[2.2, 2, 2, 1.2])
    panel = dict(zip(("rate", "tokens", "queue", "drops"), axes))
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
    for a in axes:
        a.grid(alpha=0.25)
        a.set_xlim(0, END * 1000)
        for start, *_ in PHASES[1:]:
            a.axvline(start * 1000, color="0.8", lw=0.8)
    for start, length, share, name in PHASES:
        text = name if share == 0 or name == "burst" else f"{name}\n{share:g} ×"
        panel["rate"].text((start + length / 2) * 1000, RATE_TOP * 1.02, text, ha="center", va="bottom", fontsize=8)
    heights = {"tokens": lambda r: r["tokens"] / 1000, "queue": lambda r: r["queue"], "rate": lambda r: r["output"] / 1e6}
    for number, at, name in moments(rows):
        if at is None:
            print(f"fig5: phase ({number}) was not reached", file=sys.stderr)
            continue
        row = min(rows, key=lambda r: abs(r["seconds"] - at))
        panel[name].annotate(f"({number})", (at * 1000, heights[name](row)), xytext=(7, 9), textcoords="offset points",
                             fontsize=9, fontweight="bold", arrowprops={"arrowstyle": "-", "lw": 0.6})
        panel[name].plot([at * 1000], [heights[name](row)], "ko", ms=3)
    figure.suptitle(f"One subscriber: {RATE / 1e6:g} Mbit/s, bucket {BUCKET / 1000:g} kB, queue {QUEUE} packets of {FRAME} B",
                    fontsize=10)
    figure.tight_layout()
    figure.savefig(os.path.join(out, "fig5.svg"))
    figure.savefig(os.path.join(out, "fig5.png"), dpi=90)


def run(experiment):
    """Measure once, and write the curves and their picture into the folder."""
    rows, out = derive(measure(experiment.vbng)), experiment.folder
    with open(os.path.join(out, "fig5.csv"), "w", newline="", encoding="utf-8") as f:
        writer = csv.DictWriter(f, rows[0].keys())
        writer.writeheader()
        writer.writerows({k: round(v, 6) for k, v in r.items()} for r in rows)
    try:
        plot(rows, out)
    except ImportError:
        print("fig5: no pictures: Matplotlib is not installed (Debian package python3-matplotlib)", file=sys.stderr)
        return [f"{out}: fig5.csv"]
    return [f"{out}: fig5.csv, fig5.svg, fig5.png; what they show: doc/qos.md"]
