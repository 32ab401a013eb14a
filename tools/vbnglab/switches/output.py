# SPDX-License-Identifier: BSD-3-Clause
"""What vbng-lab switch writes as text: the table and result.json. Several results are one, if they are of one machine: runs of
other switches, sizes or numbers."""

import json
import os

from ..measure import procedure, table
from . import losses
from .adapters.base import SwitchError

FORMAT = "vbng-switchlab/1"
SHARES = tuple(f"{s:.2f}" for s in procedure.LATENCY_LOADS)  # of R+, at which latency is measured
SHARED = "function only: processes share CPUs, so compare nothing but orders of magnitude"
KINDS = {"uni": "one way", "both": "both ways", "up": "one way", "all": "one way"}


def _median(rows, get):
    values = sorted(v for r in rows if (v := get(r)) is not None)
    return values[len(values) // 2] if values else None


def _of(row):
    """The point (scenario, size, direction) of a figure, a trial or a summary."""
    return row.get("scenario"), row["size"], row["direction"]


def summaries(entry):
    """Summaries of the points of a switch: R+ with its range, loss, ceiling of the generator, latency, and CPUs used."""
    result = entry.get("result")
    for f in result["figures"] if result else ():
        r = f.get("rplus") or {}
        p = r.get("pps") or {}
        trials = [t for t in result["trials"] if t["purpose"] == "rplus" and _of(t) == _of(f)]
        alive = [t for t in trials if t["ok"]]
        late = {}
        for load in f.get("latency", []):
            stream = next(iter((load.get("streams") or {}).values()), None)
            if stream:
                late[f"{load['share']:.2f}"] = {q: stream[q]["median"] for q in ("p50", "p99") if q in stream}
        yield {"scenario": f.get("scenario"), "size": f["size"], "direction": f["direction"],
               "pps": p.get("median"), "min": p.get("min"), "max": p.get("max"),
               "loss_ratio": r.get("loss_ratio"), "made_pps": (r.get("generator") or {}).get("made_pps"), "limit": r.get("limit"),
               "latency_ns": late,
               "switch_cpus": _median(alive, lambda t: (t.get("cpu") or {}).get("switch")),
               "machine_cpus": _median(alive, lambda t: (t.get("cpu") or {}).get("machine")),
               "trials": r.get("used", 0), "lost": losses.words(alive), "error": "; ".join(r.get("errors", []))}


def points(entry):
    """{point: summary} of a switch."""
    return {_of(r): r for r in summaries(entry)}


def _latency(row, share):
    values = row["latency_ns"].get(share)
    return f"{table.microseconds(values['p50'])}/{table.microseconds(values['p99'])}" if values and "p50" in values else "-"


def delays(row):
    """p50/p99 of a summary in us at each share of R+, as text; "-" where it was measured at none."""
    return ", ".join(_latency(row, s) for s in SHARES) if row["latency_ns"] else "-"


HEADER = ("switch", "scenario", "mode", "size", "direction", "R+ Mpps", "range", "loss", "ceiling", "switch CPUs", "all CPUs",
          *(f"{s} R+" for s in SHARES), "remark")


def ceilings(entry):
    """{point: packets per second} of generator and sink alone."""
    return {_of(r): r["pps"] for r in summaries(entry or {})}


def rows_of(result):
    """Cells of the table."""
    for name, entry in result["switches"].items():
        if entry["state"] != "measured":
            yield (name, *["-"] * (len(HEADER) - 2), entry["why"].splitlines()[0])
            continue
        ceiling = ceilings(entry.get("alone") or result.get("alone"))
        for row in summaries(entry):
            loss = "-" if row["loss_ratio"] is None else f"{row['loss_ratio'] * 100:.3g} %"
            cpus = [f"{row[k]:.2f}" if row[k] is not None else "-" for k in ("switch_cpus", "machine_cpus")]
            yield (name, row["scenario"] or result["scenario"], entry["mode"], row["size"], KINDS[row["direction"]], table.mpps(row["pps"]),
                   f"{table.mpps(row['min'])}–{table.mpps(row['max'])}", loss, table.mpps(ceiling.get(_of(row))), *cpus,
                   *(_latency(row, s) for s in SHARES), row["error"] or "; ".join(filter(None, (table.limit(row["limit"]), row["lost"]))))


def _marked(entry, scenario):
    """The entry with its scenario at every figure and trial."""
    if not entry or not entry.get("result"):
        return entry
    mark = {k: [{"scenario": scenario, **row} for row in entry["result"][k]] for k in ("figures", "trials")}
    return {**entry, "result": {**entry["result"], **mark}}


def _joined(a, b, name):
    """Join two entries of a switch, which must have no point in common; a measured one counts more than one that is not."""
    if "measured" not in (a["state"], b["state"]) or a["state"] != b["state"]:
        return a if a["state"] == "measured" else b
    if (a["version"], a["mode"]) != (b["version"], b["mode"]):
        raise SwitchError(f"{name}: {a['version']}, {a['mode']} and {b['version']}, {b['mode']} are not the same switch")
    if a.get("guest") and b.get("guest") and a["guest"] != b["guest"]:
        raise SwitchError(f"{name}: guests by {a['guest']} and by {b['guest']}")
    twice = {_of(f) for f in a["result"]["figures"]} & {_of(f) for f in b["result"]["figures"]}
    if twice:
        raise SwitchError(f"{name} was measured twice: {', '.join(' '.join((s, z, KINDS[d])) for s, z, d in sorted(twice))}: leave one out")

    def rows(x, y):
        if not (x and x.get("result") and y and y.get("result")):
            return x if x and x.get("result") else y
        return {**x, "result": {**x["result"], **{k: x["result"][k] + y["result"][k] for k in ("figures", "trials")}}}

    return {**rows(a, b), "alone": rows(a["alone"], b["alone"])}


def merge(results):
    """Join several results. Raises SwitchError where they do not belong together."""
    cpus = {r["machine"].get("cpu") for r in results}
    if len(cpus) > 1:
        raise SwitchError(f"of different machines, so not for one picture: {', '.join(map(str, cpus))}")
    made = {}
    for r in results:
        for name, entry in r["switches"].items():
            entry = {**_marked(entry, r["scenario"]), "alone": _marked(entry.get("alone") or r.get("alone"), r["scenario"])}
            made[name] = _joined(made[name], entry, name) if name in made else entry
    return {**results[0], "scenario": ", ".join(dict.fromkeys(r["scenario"] for r in results)),
            "about": "; ".join(dict.fromkeys(r["about"] for r in results)), "shared": any(r["shared"] for r in results),
            "command": [r["command"] for r in results], "alone": None, "switches": made}  # fmt: skip


def read(folder):
    """Read the result in a folder. Raises SwitchError."""
    path = os.path.join(folder, "result.json")
    try:
        with open(path, encoding="utf-8") as f:
            result = json.load(f)
    except (OSError, ValueError) as e:
        raise SwitchError(f"{path}: {e}") from None
    if not isinstance(result, dict) or result.get("format") != FORMAT:
        raise SwitchError(f"{path}: not a result of vbng-lab switch ({FORMAT})")
    return result


def text(result):
    """The result as text for a terminal."""
    cells = [HEADER, *rows_of(result)]
    widths = [max(len(str(row[i])) for row in cells) for i in range(len(HEADER))]
    lines = ["  ".join(str(c).ljust(w) for c, w in zip(row, widths)).rstrip() for row in cells]
    note = [f"({SHARED})"] if result["shared"] else []
    note += [f"(VNFs in guests: {how})" for how in dict.fromkeys(e.get("guest") for e in result["switches"].values()) if how]
    return "\n".join([f"{result['scenario']}: {result['about']}; latency: p50/p99 in us, at a share of R+", *note, *lines])


def write_json(result, folder):
    """Write result.json, which is complete or does not change."""
    path = os.path.join(folder, "result.json")
    with open(f"{path}.part", "w", encoding="utf-8") as f:
        json.dump(result, f, indent=1)
        f.write("\n")
    os.replace(f"{path}.part", path)
