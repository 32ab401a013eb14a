# SPDX-License-Identifier: BSD-3-Clause
"""One trial: the figures of a run under a load, and marks that tell whether they are the gateway's.

What is lost is what the generators made and the sink did not get: the counters of both ends, after the gateway has
emptied its queues. Frames that a full wire or memif did not take count as lost, because the gateway did not fetch
them; frames that a NIC did not take were never offered. The throughput is taken from samples of the sink's counter
between a warm-up and the end of the sending, so that neither the start nor the emptying of queues adds to it.
"""

from ..lab import run
from .search import Outcome

SAMPLE_S = 0.02
WARM_UP = 0.2  # share of a trial that does not count for its throughput
SLICES = 5  # parts of the window, whose rates show how steady the throughput was
SHORT = 0.99  # a generator that makes less of its load than this share fell short
DISTURBED = 0.97  # a core that got less of its CPU than this share was disturbed
SATURATED = 1e-3  # loss ratio beyond which the gateway had more to do than it could

BURST = "burst"  # purpose of a trial that ends with so many frames, and not by the clock
GENERATOR, LINE, SINK, EGRESS = "generator", "line", "sink", "egress"
MARKS = {
    GENERATOR: "the generator could not make more, and the gateway took it all: a lower bound of what it can",
    LINE: "all that the ports' line rate allows came through: a lower bound of what the gateway can",
    SINK: "the sink did not keep up: the gateway's figure may be higher",
    EGRESS: "a wire or port behind the gateway was full: the gateway's figure may be higher",
    "disturbed": "a core did not get all of its CPU time: somebody else ran on it",
    "wrong": "packets came back that should not have, or changed in a wrong way",
    "duplicates": "packets came back more than once",
    "reordered": "packets of a stamped stream changed their order, as between the queues of a scheduler",
    "extra": "more came back than was sent",
}
LIMITS = (GENERATOR, LINE, SINK, EGRESS)  # marks by which a figure is not the gateway's own


def window(samples, sinks, seconds):
    """Return (packets per second into the sinks between warm-up and end, the same of each slice); (None, []) without enough
    samples."""
    total = {}
    for row in samples:
        if row["task"] in sinks:
            total[row["seconds"]] = total.get(row["seconds"], 0) + row["in"]
    points = [(t, n) for t, n in sorted(total.items()) if seconds * WARM_UP <= t <= seconds]
    if len(points) < 3 or points[-1][0] - points[0][0] < seconds / 3:
        return None, []
    step = max(1, (len(points) - 1) // SLICES)
    marks = points[::step]
    rates = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in zip(marks, marks[1:])]
    return (points[-1][1] - points[0][1]) / (points[-1][0] - points[0][0]), rates


def _cores(rig, tester, gateway):
    """Rows of all cores: owner, share of busy time, and share of its CPU that the core got."""
    rows = []
    for report, split in ((tester, tester is gateway), *(((gateway, False),) if tester is not gateway else ())):
        for c in report["cores"]:
            mine = c["cpu"] in rig.cpus if split else report is tester
            share = c["cpu_seconds"] / report["seconds"] if report["seconds"] else 0.0
            rows.append({"cpu": c["cpu"], "of": "tester" if mine else "gateway", "busy": c["busy"],
                         "cpu_share": round(min(share, 1.0), 4)})
    return rows


def _generator(rig, report, names, probes):
    """The sum of what the generators report."""
    made = sent = missed = 0
    seconds, own, stated, limited = report["seconds"], 0.0, {}, False
    for name in names:
        t = run.task(report, name)
        m = t.get("measured") or {}
        made += t["created"]
        sent += t["sent"]
        missed += t["stats"].get("missed", 0) + t["stats"].get("no_mbuf", 0)
        limited |= bool(m.get("limited", missed > 0))
        own = max(own, m.get("seconds") or 0)  # a generator's own seconds begin with its first poll
        if name not in probes:
            stated[name] = m.get("ceiling_pps")
    seconds = max(seconds, own)
    return {"made": made, "sent": sent, "missed": missed, "limited": limited, "made_pps": made / seconds, "seconds": own,
            "ceiling_pps": rig.ceiling(stated)}


def _streams(report, sinks):
    """Return (latency by stream, errors by kind) of the stamped streams."""
    latency, errors = {}, {}
    for name in sinks:
        for s in (run.task(report, name).get("measured") or {}).get("streams", []):
            for kind in ("duplicates", "reordered"):
                errors[kind] = errors.get(kind, 0) + s.get(kind, 0)
            errors["wrong"] = errors.get("wrong", 0) + sum((s.get("wrong") or {}).values())
            if s.get("latency_ns"):
                latency[s.get("name") or str(s["stream"])] = s["latency_ns"]
    return latency, errors


def _marks(rig, row, tester, errors, egress):
    marks = []
    disturbed = {c["of"] for c in row["cores"] if c["cpu_share"] < DISTURBED}
    if row["purpose"] != BURST and row["loss_ratio"] < SATURATED and "tester" not in disturbed:
        if fell_short(row):
            marks.append(GENERATOR)
        elif row["load"] is None:
            marks.append(LINE)
    behind = [p for p in tester["ports"] if p["name"] in rig.ports]
    if sum(p["rx_missed"] + p["rx_no_mbuf"] + p["rx_errors"] for p in behind) > SATURATED * row["received"]:
        marks.append(SINK)
    if egress > SATURATED * row["received"]:
        marks.append(EGRESS)
    if disturbed:
        marks.append("disturbed")
    return marks + [kind for kind in ("wrong", "duplicates", "reordered") if errors.get(kind)]


def judge(rig, request, tester, gateway):
    """The trial as a row of the result, from the Results of the tester and the gateway, which are the same where one process
    is both. A dead run is a row with ok false and error."""
    row = {"purpose": request.purpose, "direction": request.direction, "size": str(request.size), "load": request.load,
           "seconds": request.seconds, "ok": tester.ok and gateway.ok, "wall": round(tester.wall, 3)}
    if not row["ok"]:
        dead = "tester: " if not tester.ok and tester is not gateway else "gateway: " if tester is not gateway else ""
        return {**row, "error": dead + (gateway.error if tester.ok else tester.error), "marks": []}
    report = tester.report
    probes = rig.probes[request.direction] if request.probes else []
    names = rig.generators[request.direction] + probes
    g = _generator(rig, report, names, probes)
    inside = [t for t in gateway.report["tasks"] if t["type"] not in ("gen", "sink")]
    full = {n: run.task(report, n)["drops"].get("link_full", 0) for n in names}
    refused = sum(n for name, n in full.items() if name in rig.nics)  # by a NIC, so never offered
    offered = g["made"] - refused
    received = max(0, sum(run.task(report, s)["in"] for s in rig.sinks) - sum(t["created"] for t in inside))
    seconds = report["seconds"]
    intended = max(offered, g["made"] + g["missed"] if request.load is None else round(request.load * seconds))
    lost = max(0, offered - received)
    pps, slices = window(tester.samples, rig.sinks, min(seconds, request.seconds))
    row.update({
        "intended": intended, "offered": offered, "received": received, "lost": lost, "unsent": intended - offered,
        "loss_ratio": lost / offered if offered else 1.0,
        "pps": pps if pps is not None else received / seconds,
        "pps_slices": [round(r) for r in slices],
        "frame": _mean_frame(rig, report),
        "generator": g, "cores": _cores(rig, report, gateway.report),
        "drops": {f"{t['name']}.{reason}": n for t in inside for reason, n in t["drops"].items() if n},
        "program": {k: gateway.report[k] for k in ("version", "dpdk", "memory", "tsc_hz")},
    })
    row["latency"], errors = _streams(report, rig.sinks)
    row["errors"] = {k: n for k, n in errors.items() if n}
    egress = sum(t["drops"].get("link_full", 0) for t in inside)
    row["marks"] = _marks(rig, row, report, errors, egress)
    if received > offered:
        row["marks"].append("extra")
    return row


def _mean_frame(rig, report):
    """Mean length in bytes, with FCS, of the frames that came back; None if none did."""
    ports = [p for p in report["ports"] if p["name"] in rig.ports]
    packets = sum(p["rx_packets"] for p in ports)
    return sum(p["rx_bytes"] for p in ports) / packets + 4 if packets else None


def fell_short(row):
    """Tell whether the generator made less than the load."""
    return row["unsent"] > (1 - SHORT) * row["intended"]


def outcome(row):
    """Outcome of a trial for a search. What the generator did not send counts as lost, as a load that was not made cannot be
    a load that was kept."""
    if not row["ok"]:
        return Outcome(1, 1)
    unsent = row["unsent"] if fell_short(row) else 0
    return Outcome(row["offered"] + unsent, row["lost"] + unsent)


def take(rig, request):
    """Run a trial and judge it. A dead run raises nothing."""
    return judge(rig, request, *rig.trial(request, SAMPLE_S))
