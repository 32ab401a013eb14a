# SPDX-License-Identifier: BSD-3-Clause
"""The outcome of a run: its throughput, how many packets waited, and what limited it.

A figure only says something about the gateway where the gateway was the limit. So each outcome names its limit: a
core of the gateway, the generator, the sink, shaping, the packet buffers, or nothing (all that was offered came). A
run in which a core did not get its CPU is disturbed: it says nothing about speed.
"""

from ..lab import run, stats
from ..lab.graph import TESTER
from . import layouts

WARM = 0.25  # share of a run that is left out, in which memory is touched for the first time
NOTICED = 0.001  # share of the packets: a greater loss is a sign of too much load
LATE = 0.01  # share of its packets that a generator may fail to make
SATURATED = 0.9  # share of busy time: a core with more had no time left
STOP = 0.06  # seconds at the end of a run in which all cores idle: three steps of 20 ms, see vbng(8)
DISTURBED = 0.97  # share of its CPU: a core that got less shared it with another program
SHAPED = ("queue_full", "red", "pie", "codel", "l4s")  # what schedulers drop on purpose
LITTLE = 0.02  # share of the packets: a smaller loss while no core is busy is no limit, as that of a generator's first bursts


def _steady(samples, seconds, names, column):
    """[(seconds, sum over the tasks)] of a column of the samples, without start and stop."""
    sums = {}
    for row in samples:
        if row["task"] in names and WARM * seconds <= row["seconds"] <= seconds:
            sums[row["seconds"]] = sums.get(row["seconds"], 0) + row[column]
    return sorted(sums.items())


def _throughput(report, samples):
    """Packets per second that came out: into the sinks, or, where there are none, out of the ports."""
    seconds, sinks = report["seconds"], [t["name"] for t in run.tasks(report, "sink")]
    if not sinks:
        return sum(p["tx_packets"] for p in report["ports"]) / seconds
    rows = _steady(samples, seconds, sinks, "in")
    if len(rows) < 2:
        return sum(t["in"] for t in run.tasks(report, "sink")) / seconds
    return (rows[-1][1] - rows[0][1]) / (rows[-1][0] - rows[0][0])


def _held(report, samples):
    """Mean number of packets that waited in schedulers."""
    rows = _steady(samples, report["seconds"], [t["name"] for t in run.tasks(report, "qos")], "held")
    return sum(v for _, v in rows) / len(rows) if rows else 0.0


def _cores(report, plan):
    stop = 1 + STOP / report["seconds"]
    return [{"core": i, "cpu": c["cpu"], "busy": round(min(1.0, c["busy"] * stop), 4), "tasks": list(tasks),
             "cpu_share": round(min(1.0, c["cpu_seconds"] / report["seconds"]), 4), "tester": layouts.shares(tasks),
             "gateway": any(kind not in TESTER for kind in tasks.values())}
            for i, (c, tasks) in enumerate(zip(report["cores"], layouts.tasks_of_cores(plan)), 1)]


def core_text(core):
    """ "core 2 (classify..qos, 99 % busy)" """
    tasks = core["tasks"]
    names = tasks[0] if len(tasks) == 1 else f"{tasks[0]}, {tasks[1]}" if len(tasks) == 2 else f"{tasks[0]}..{tasks[-1]}"
    return f"core {core['core']} ({names}, {core['busy'] * 100:.0f} % busy)"


def _losses(report):
    """[(packets, "task: reason")] of what was lost, most first, without what schedulers drop on purpose."""
    found = [(n, t["name"], reason) for t in report["tasks"] for reason, n in t["drops"].items() if n]
    found += [(p[key], p["name"], key) for p in report["ports"] for key in ("rx_missed", "rx_no_mbuf") if p[key]]
    return sorted(((n, f"{name}: {reason}") for n, name, reason in found if reason not in SHAPED),
                  reverse=True)


def _shaped(report):
    return sum(t["drops"].get(r, 0) for t in run.tasks(report, "qos") for r in SHAPED)


def _generator_late(report):
    """Name of a generator that made less than it was told to; None if there is none."""
    for t in run.tasks(report, "gen"):
        measured = t.get("measured")
        if measured is not None:
            late = measured["limited"]
        else:
            late = t["stats"].get("missed", 0) > LATE * max(1, t["created"])
        if late:
            return t["name"]
    return None


def _core_of(cores, name):
    return next((c for c in cores if name in c["tasks"]), None)


def _most_loaded(cores):
    """The core that was the limit: one of the gateway that had no time left, if possible one without the tester, as a generator
    that offers too much keeps its core busy; else the busiest of all."""
    full = [c for c in cores if c["gateway"] and c["busy"] >= SATURATED]
    return min(full, key=lambda c: (c["tester"], -c["busy"])) if full else max(cores, key=lambda c: c["busy"])


def limit(report, cores):
    """Return (kind, sentence) of what limited the run. kind: core (of the gateway alone), tester (a core of both), generator,
    sink, shaping, mbufs, offered (all came through), nothing (came through), unclear."""
    made = sum(t["created"] for t in run.tasks(report, "gen")) or sum(p["rx_packets"] for p in report["ports"])
    came = sum(t["in"] for t in run.tasks(report, "sink")) or sum(p["tx_packets"] for p in report["ports"])
    losses, late = _losses(report), _generator_late(report)
    lost = sum(n for n, _ in losses)
    no_mbuf = sum(t["stats"].get("no_mbuf", 0) for t in run.tasks(report, "gen"))
    if came == 0:
        return "nothing", "nothing came through" + (f"; most was lost at {losses[0][1]}" if losses else "")
    if no_mbuf > NOTICED * made:
        return "mbufs", "limited by the packet buffers: the pool ran empty, so give it more mbufs or shorten the queues"
    if lost < NOTICED * made:
        if late:
            where = _core_of(cores, late)
            return "generator", f"limited by the generator {late}" + (f" on {core_text(where)}" if where else "")
        if _shaped(report) > NOTICED * made:
            return "shaping", "limited by shaping: only full queues of subscribers dropped packets"
        return "offered", f"not limited: all that was offered ({made / report['seconds'] / 1e6:.2f} Mpps) came through"
    busiest = _most_loaded(cores)
    share = f"{stats.ratio_text(lost, made)} of the packets were lost, most at {losses[0][1]}"
    if busiest["busy"] < SATURATED and lost < LITTLE * made:
        return "offered", f"not limited: what was offered ({made / report['seconds'] / 1e6:.2f} Mpps) came through; {share}"
    text = f"limited by {core_text(busiest)}; {share}"
    if busiest["busy"] < SATURATED:
        return "unclear", text.replace("limited by", "no core is busy all the time, most of all")
    if not busiest["gateway"]:
        kind = "sink" if any(t["name"] in busiest["tasks"] for t in run.tasks(report, "sink")) else "generator"
        return kind, text + "; that core is the tester's, so the gateway may be able to do more"
    if busiest["tester"]:
        return "tester", text + "; that core works for the tester, too, so the gateway may be able to do more"
    return "core", text


def reason(error):
    """A line that says why a run died: how it ended, and its first error, or else its first line."""
    how, *said = [line.strip() for line in error.splitlines() if line.strip()] or ["no reason was given"]
    named = [line for line in said if "error:" in line] or said
    return f"{how}: {named[0]}" if named else how


def describe(result, plan):
    """A run as the dict of a row: its figures, or why it has none."""
    if not result.ok:
        return {"ok": False, "error": reason(result.error)}
    report = result.report
    cores = _cores(report, plan)
    kind, why = limit(report, cores)
    came = sum(t["in"] for t in run.tasks(report, "sink")) or sum(p["tx_packets"] for p in report["ports"])
    gateway = max((c for c in cores if c["gateway"]), key=lambda c: c["busy"], default=max(cores, key=lambda c: c["busy"]))
    return {
        "ok": True,
        "error": "",
        "pps": _throughput(report, result.samples),
        "offered_pps": sum(t["created"] for t in run.tasks(report, "gen")) / report["seconds"],
        "held": _held(report, result.samples),
        "cycles": gateway["busy"] * report["seconds"] * report["tsc_hz"] / came if came else None,
        "limit": kind,
        "why": why,
        "cores": cores,
        "losses": [{"packets": n, "where": where} for n, where in _losses(report)[:5]],
        "shaped": _shaped(report),
        "stalled": {t["name"]: t["stalled"] for t in report["tasks"] if t["stalled"]},
        "shared_cpus": report["shared_cpus"],
        "disturbed": not report["shared_cpus"] and any(c["cpu_share"] < DISTURBED for c in cores),
        "memory": report["memory"],
    }
