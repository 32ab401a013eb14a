# SPDX-License-Identifier: BSD-3-Clause
"""The result of a report: a figure for each case, number of cores and size, what disturbs it, and what came before it."""

import datetime
import json
import os
import subprocess

from ..lab import machine, places, run
from ..measure import result

FORMAT = "vbng-benchmark/1"
FILE = "benchmark.json"
DISTURBED, MISSING = "disturbed", "no figure"


def source(vbng):
    """The commit of the checkout that a vbng was built in, and whether files differ from it; None where there is none."""
    top = places.TOP
    if os.path.relpath(run.binary(vbng), top).startswith(".."):
        return None
    try:
        asked = [subprocess.run(["git", "-C", top, *words], capture_output=True, text=True, timeout=30, check=True).stdout.strip()
                 for words in (("rev-parse", "HEAD"), ("log", "-1", "--format=%cI"), ("status", "--porcelain", "-uno"))]
    except (OSError, subprocess.SubprocessError):
        return None
    return {"commit": asked[0], "date": asked[1], "changed": bool(asked[2])}


def _disturbed(what, figure):
    """Sentences on what in a figure was taken from disturbed trials."""
    r = figure.get("rplus") or {}
    if r.get("marks", {}).get("disturbed"):
        yield f"{what}: R+: {r['marks']['disturbed']} of {r['used']} trials disturbed"
    searched = [figure[n] for n in ("ndr", "pdr") if figure.get(n)]
    if searched and searched[0].get("disturbed_decided"):
        yield f"{what}: {searched[0]['disturbed_decided']} of {searched[0]['trials']} trials of the search stayed disturbed"
    for load in figure.get("latency", []):
        if load.get("disturbed"):
            yield f"{what}: latency at {load['share'] * 100:g} % of PDR: {load['disturbed']} of {load['used']} trials disturbed"
    if figure.get("disturbed"):
        yield f"{what}: {figure['disturbed']} of {figure['trials']} bursts stayed disturbed"


def _missing(what, figure, wanted):
    """Sentences on what a figure lacks."""
    for name in wanted:
        found = figure.get(name)
        if name == "rplus" and not (found or {}).get("pps"):
            yield f"{what}: R+: {(found or {}).get('outcome', 'not measured')}"
        elif name in ("ndr", "pdr") and (not found or found["lower"] is None):
            yield f"{what}: {name.upper()}: {(found or {}).get('note') or 'not measured'}"
        elif name == "latency" and not any(load.get("streams") for load in found or []):
            yield f"{what}: latency: no PDR, or no stamped packets"


def judge(row, parts):
    """Fill in what disturbs a row of the result, and what it lacks."""
    figure = row["figure"]
    names = ["rplus", *(("ndr", "pdr") if "search" in parts else ()), *(("latency",) if "latency" in parts else ())]
    row[DISTURBED], row["missing"] = list(_disturbed("both ways", figure)), list(_missing("both ways", figure, names))
    for direction, burst in figure.get("bursts", {}).items():
        row[DISTURBED] += _disturbed(f"one port {direction}", burst)
        row["missing"] += _missing(f"one port {direction}", burst, ("rplus", "ndr"))
    if not figure.get("complete"):
        row["missing"].append("stopped before its end")
    return row


def build(rows, options, command, vbng, partial):
    """The report as a dict."""
    program = next((r["program"] for r in rows if r.get("program")), {})
    words = [command[0]] + [os.path.basename(w) if os.path.sep in w else w for w in command[1:]]
    return {"format": FORMAT, "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"), "command": words,
            "partial": partial, "source": source(vbng), "program": program, "machine": machine.describe(),
            "options": {**vars(options), "parts": list(options.parts), "latency_loads": list(options.latency_loads)}, "rows": rows}


def write(report, folder):
    """Write benchmark.json; the file is complete or does not change."""
    path = os.path.join(folder, FILE)
    with open(f"{path}.part", "w", encoding="utf-8") as f:
        json.dump(report, f, indent=1, ensure_ascii=False)
        f.write("\n")
    os.replace(f"{path}.part", path)


def read(path):
    """Read a report. Raises ValueError for a file that is none."""
    with open(path, encoding="utf-8") as f:
        report = json.load(f)
    if not isinstance(report, dict) or report.get("format") != FORMAT:
        raise ValueError(f"{path}: not a report of vbng-lab benchmark ({FORMAT})")
    return report


# --- what came before ---

def name_of(report):
    """The commit of a report in short; its date where it has none."""
    commit = report.get("source")
    return commit["commit"][:9] + ("+" if commit["changed"] else "") if commit else report["date"][:10]


def _like(report):
    """What two reports must share for their figures to be compared: (name, value)."""
    m = report["machine"]
    return {"CPU": (m["cpu"], m["cpus"]), "memory": report["program"].get("memory"), "options": report["options"]}


def history(folder, now):
    """(reports of a folder and all in it that are like this one, oldest first; sentences on those that are not)."""
    alike, other = [], []
    for place, _, files in sorted(os.walk(folder)):
        for name in sorted(f for f in files if f.endswith(".json")):
            path = os.path.join(place, name)
            try:
                report = read(path)
            except (OSError, ValueError):
                continue  # a measurement's result.json, or a file of others
            if report["date"] == now["date"]:
                continue  # itself
            mine, theirs = _like(now), _like(report)
            differ = [what for what in mine if mine[what] != theirs[what]]
            if differ:
                other.append(f"{os.path.relpath(path, folder)} ({name_of(report)}): not compared, another {' and '.join(differ)}")
            else:
                alike.append(report)
    return sorted(alike, key=lambda r: r["date"]), other


def trend(reports):
    """{(case, cores, size): [(name of the report, row)]} of reports, in their order."""
    out = {}
    for report in reports:
        for row in report["rows"]:
            if row["possible"]:
                out.setdefault((row["case"], row["cores"], row["size"]), []).append((name_of(report), row))
    return out


def name_of_row(row):
    """A row in words."""
    return f"{row['case']}, {row['cores']} core{'s' * (row['cores'] > 1)}, {row['size']} B"


def measured(case, n, size, rig, m, figure):
    """A row of a measured figure."""
    program = next((t["program"] for t in m.trials if t.get("program")), {})
    return {"case": case.name, "what": case.what, "cores": n, "size": size, "possible": True, "why": "", "program": program,
            "configuration": result.describe_rig(rig), "figure": figure}


def impossible(case, n, size, why):
    """A row of what cannot be measured here."""
    return {"case": case.name, "what": case.what, "cores": n, "size": size, "possible": False, "why": why}
