# SPDX-License-Identifier: BSD-3-Clause
"""What a soak has found: as a table, as JSON with all that was seen, and as a picture."""

import json
import os
import statistics

from tests.soak import checks

MIB = 1 << 20


def spread(values, scale=1.0, digits=0):
    """(least, median, greatest) of what was seen, None where nothing was."""
    known = [value / scale for value in values if value is not None]
    return [round(f(known), digits) for f in (min, statistics.median, max)] if known else None


def drops(gateway):
    """{"TASK/REASON": packets} of the gateway's report, most first."""
    found = {f"{t['name']}/{reason}": n for t in gateway.report["tasks"] for reason, n in t["drops"].items() if n}
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def summary(soak, took, gateway, faults, compared):
    """All that is told in the end."""
    rows, rests = soak.rows, soak.rests
    gaps = [b["at"] - a["at"] for a, b in zip(rows, rows[1:])]
    return {
        "seconds": round(took, 1),
        "looks": len(rows),
        "longest_gap": round(max(gaps, default=0.0), 1),
        "rests": len(rests),
        "done": {action.text: n for action, n in soak.schedule.done.items()},
        "peer_ended": len(soak.bed.guests),
        "peer_killed": soak.bed.killed,
        "ledger": gateway.report["ledger"] if gateway.report else None,
        "drops": drops(gateway) if gateway.report else {},
        "unexplained_at_rest": max((abs(r["ledger"]["under_way"]) for r in rests), default=None),
        "unexplained_while_moving": spread([abs(r["ledger"]["under_way"]) for r in rows]),
        "mbufs_at_rest": max((r["mbufs"] for r in rests), default=None),
        "mbufs": spread([r["mbufs"] for r in rows]),
        "heap_at_rest": spread([r["heap"] for r in rests], MIB, 3),
        "anon_at_rest": spread([r["anon_kib"] for r in rests], 1024, 2),
        "rss_at_rest": spread([r["rss_kib"] for r in rests], 1024),
        "files_at_rest": spread([r["files"] for r in rests]),
        "p50_us": spread([r["p50"] for r in rows], 1e3),
        "p99_us": spread([r["p99"] for r in rows], 1e3),
        "idle": spread([r["idle"] for r in rows], 0.01),
        "unanswered": soak.schedule.unanswered,
        "without_cpu": checks.without_cpu(soak.said),
        "compared": compared,
        "faults": faults,
    }


def line(what, value):
    """A row of the table."""
    if value is None:
        value = "-"
    elif isinstance(value, list):
        value = "{1:g} ({0:g} to {2:g})".format(*value)
    return f"{what:38} {value}"


def table(s):
    """The summary as lines for a terminal."""
    ledger = s["ledger"] or {}
    out = [
        line("seconds", s["seconds"]),
        line("looks, longest time between two", f"{s['looks']}, {s['longest_gap']:.1f} s"),
        line("looks at rest", s["rests"]),
        *(line(what, n) for what, n in s["done"].items()),
        line("peer ended, was killed", f"{s['peer_ended']}, {s['peer_killed']} times"),
        *(line(f"packets {key}", ledger.get(key)) for key in ("received", "sent", "dropped", "held", "unexplained")),
        *(line(f"  dropped as {what}", n) for what, n in s["drops"].items()),
        line("open at rest, packets", s["unexplained_at_rest"]),
        line("open while packets move", s["unexplained_while_moving"]),
        line("mbufs in use at rest", s["mbufs_at_rest"]),
        line("mbufs in use while packets move", s["mbufs"]),
        line("DPDK's heap at rest, MiB", s["heap_at_rest"]),
        line("memory of libc at rest, MiB", s["anon_at_rest"]),
        line("resident at rest, MiB", s["rss_at_rest"]),
        line("open files at rest", s["files_at_rest"]),
        line("latency p50 of a second, us", s["p50_us"]),
        line("latency p99 of a second, us", s["p99_us"]),
        line("machine idle, %", s["idle"]),
        line("changes not answered for want of CPU", s["unanswered"]),
        line("gateway was without CPU", f"{s['without_cpu']} times"),
        line("latency compared", s["compared"]),
        line("faults", len(s["faults"])),
    ]
    return out + [f"  {fault}" for fault in s["faults"][:50]]


def picture(path, soak):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rows, rests = soak.rows, soak.rests
    at = [row["at"] for row in rows]
    fig, (rate, late, mbufs, memory) = plt.subplots(4, 1, figsize=(9, 9), sharex=True, layout="constrained")
    pairs = list(zip(rows, rows[1:]))
    for key in ("received", "sent", "dropped"):
        rate.plot(at[1:], [(b["ledger"][key] - a["ledger"][key]) / (b["at"] - a["at"]) / 1e3 for a, b in pairs], lw=0.8, label=key)
    for i, gone in enumerate(at for at, line in soak.said if line.endswith("port cpe1: its peer has gone")):
        rate.axvline(gone, color="0.8", lw=0.5, zorder=0, label=None if i else "a peer goes")
    rate.set(ylabel="kpps", ylim=(0, None), title=f"{rows[-1]['at']:.0f} s, {rows[-1]['ledger']['received']:,} packets")
    for key in ("p50", "p99"):
        late.plot(at, [row[key] / 1e3 if row[key] else float("nan") for row in rows], ".", ms=2, label=f"{key} of a second")
    late.set(ylabel="latency, us", yscale="log")
    mbufs.plot(at, [row["mbufs"] for row in rows], lw=0.8, label="mbufs in use")
    mbufs.plot(at, [abs(row["ledger"]["under_way"]) for row in rows], lw=0.8, label="packets open")
    mbufs.plot([r["at"] for r in rests], [r["mbufs"] + abs(r["ledger"]["under_way"]) for r in rests], "k+", label="both, at rest")
    mbufs.set(ylabel="packets", yscale="symlog", ylim=(-0.5, None))
    for key, scale, text in (("anon_kib", 1024, "libc"), ("heap", MIB, "DPDK's heap")):
        memory.plot(at, [(row[key] - rows[0][key]) / scale for row in rows], lw=0.8, label=f"{text}, since the first look")
    memory.set(ylabel="MiB", xlabel="seconds")
    for ax in (rate, late, mbufs, memory):
        ax.legend(loc="upper right", fontsize=7)
        ax.grid(alpha=0.3)
    fig.savefig(path, dpi=110)


def write(folder, s, soak):
    """soak.json and soak.png."""
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "soak.json"), "w", encoding="utf-8") as f:
        json.dump(s | {"rows": soak.rows, "at_rest": soak.rests, "said": soak.said}, f, indent=1)
    if soak.rows:
        picture(os.path.join(folder, "soak.png"), soak)
