# SPDX-License-Identifier: BSD-3-Clause
"""A measurement's result, self-describing: what was measured, on what, with what, and every trial. JSON and CSV."""

import csv
import datetime
import hashlib
import json
import os
import re

from ..lab import machine, places, run
from . import trial

FORMAT = "vbng-measure/1"
INCLUDE = re.compile(r'^[ \t]*@include[ \t]+"([^"]+)"', re.M)
REFERENCE = re.compile(r'\b(?:template|file)\s*=\s*"([^"]+)"')


def _name(path):
    """A path that tells nothing about the machine: relative to the sources, else its last part."""
    inside = os.path.relpath(os.path.abspath(path), places.TOP)
    return os.path.basename(path) if inside.startswith("..") else inside


def _sha256(data):
    return hashlib.sha256(data).hexdigest()


def files(config, text=True):
    """The files of a configuration: itself and all that it includes, with their text, and the templates and tables that it
    names, with their hashes. A file that is not found is left out, as vbng reports it."""
    found, queue, folder = {}, [config], os.path.dirname(os.path.abspath(config))
    while queue:
        path = queue.pop(0)
        try:
            with open(path, "rb") as f:
                data = f.read()
        except OSError:
            continue
        if _name(path) in found:
            continue
        body = data.decode("utf-8", "replace")
        found[_name(path)] = {"file": _name(path), "sha256": _sha256(data), **({"text": body} if text else {})}
        queue += [os.path.join(folder, i) for i in INCLUDE.findall(body)]
        for reference in REFERENCE.findall(body):
            for place in (folder, places.TEMPLATES):
                try:
                    with open(os.path.join(place, reference), "rb") as f:
                        name = _name(os.path.join(place, reference))
                        found.setdefault(name, {"file": name, "sha256": _sha256(f.read())})
                        break
                except OSError:
                    pass
    return list(found.values())


def describe_rig(rig):
    """The rig as a dict of the result."""
    out = {"configuration": _name(rig.config), "files": files(rig.config), "plan": _plan(rig.plans["gateway"]),
           "settings": rig.settings, "layout": _name(rig.layout) if rig.layout else None,
           "generators": rig.generators, "probes": rig.probes, "saturation": rig.saturation}
    if rig.tester:
        out["tester"] = {"configuration": _name(rig.tester), "files": files(rig.tester), "plan": _plan(rig.plans["tester"])}
    return out


def _plan(plan):
    return {**plan, "configuration": _name(plan.get("configuration", ""))}


def fingerprint(rig, options, sizes, directions):
    """What a journal must agree with for the measurement to go on from it."""
    def digest(value):
        return _sha256(json.dumps(value, sort_keys=True, default=str).encode())[:16]

    here = machine.describe()
    rigging = describe_rig(rig)
    rigging.pop("plan")
    rigging.get("tester", {}).pop("plan", None)
    with open(run.binary(rig.vbng), "rb") as f:
        binary = _sha256(f.read())[:16]
    return {"format": FORMAT, "configuration": digest(rigging), "options": digest(vars(options)), "vbng": binary,
            "sizes": [str(s) for s in sizes], "directions": list(directions), "cpu": here["cpu"], "cpus": here["cpus"]}


def build(rig, options, measurement, command, partial):
    """The result as a dict. partial: why it is not complete; None if it is."""
    rows, program = [], None
    for row in measurement.trials:
        row = dict(row)
        program = row.pop("program", None) or program
        rows.append(row)
    words = [command[0]] + [_name(w) if os.path.sep in w and os.path.exists(w) else w for w in command[1:]]
    return {
        "format": FORMAT,
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "command": words,
        "partial": partial,
        "program": program or {},
        "machine": machine.describe(),
        "rig": describe_rig(rig),
        "options": {**vars(options), "parts": list(options.parts), "latency_loads": list(options.latency_loads)},
        "marks": trial.MARKS,
        "figures": measurement.figures,
        "trials": rows,
    }


def write_json(result, path):
    """Write a result, each trial on a line; the file is complete or does not change."""
    part = f"{path}.part"
    text = json.dumps({**result, "trials": []}, indent=1, ensure_ascii=False)
    trials = ",\n".join("  " + json.dumps(t, separators=(",", ":"), ensure_ascii=False) for t in result["trials"])
    with open(part, "w", encoding="utf-8") as f:
        f.write(text.replace('"trials": []', f'"trials": [\n{trials}\n ]') + "\n")
    os.replace(part, path)


def read_json(path):
    """Read a result. Raises ValueError for a file that is none."""
    with open(path, encoding="utf-8") as f:
        result = json.load(f)
    if not isinstance(result, dict) or result.get("format") != FORMAT:
        raise ValueError(f"{path}: not a result of vbng-lab measure ({FORMAT})")
    return result


def figure_rows(result):
    """A flat row for each figure, for CSV and tables."""
    for f in result["figures"]:
        base = {"direction": f["direction"], "size": f["size"]}
        r = f.get("rplus")
        if r and r.get("pps"):
            p = r["pps"]
            yield {**base, "figure": "R+", "pps": p["median"], "min": p["min"], "max": p["max"],
                   "interval_low": p["interval"]["low"], "interval_high": p["interval"]["high"],
                   "confidence": p["interval"]["confidence"], "loss_ratio": r["loss_ratio"], "trials": r["trials"],
                   "used": r["used"], "limit": r["limit"], "outcome": r["outcome"]}
        elif r:
            yield {**base, "figure": "R+", "trials": r["trials"], "used": 0, "outcome": "; ".join([r["outcome"], *r["errors"]])}
        for name in ("ndr", "pdr"):
            s = f.get(name)
            if s:
                outcome = s["note"] or ("known" if s["complete"] else "stopped before its end")
                yield {**base, "figure": name.upper(), "pps": s["lower"], "min": s["lower"], "max": s["upper"],
                       "loss_ratio": s["loss_ratio"], "trials": s["trials"], "limit": s["limit"], "outcome": outcome}
        for load in f.get("latency", []):
            for stream, values in load.get("streams", {}).items():
                for p in ("p50", "p99", "p99_9"):
                    if p in values:
                        v = values[p]
                        yield {**base, "figure": f"latency {p} at {load['share']:.2f} {'PDR' if load.get('of') == 'pdr' else 'R+'} of {stream}", "ns": v["median"],
                               "min": v["min"], "max": v["max"], "trials": load["trials"], "used": load["used"],
                               "limit": load["limit"]}


FIGURE_COLUMNS = ("direction", "size", "figure", "pps", "ns", "min", "max", "interval_low", "interval_high", "confidence",
                  "loss_ratio", "trials", "used", "limit", "outcome")
TRIAL_COLUMNS = ("purpose", "direction", "size", "load", "seconds", "ok", "intended", "offered", "received", "lost",
                 "loss_ratio", "pps", "frame", "marks", "wall", "error")


def write_csv(result, folder):
    """Write figures.csv and trials.csv into the folder."""
    def write(name, columns, rows):
        with open(os.path.join(folder, name), "w", encoding="utf-8", newline="") as f:
            writer = csv.DictWriter(f, columns, extrasaction="ignore", restval="")
            writer.writeheader()
            writer.writerows(rows)

    write("figures.csv", FIGURE_COLUMNS, figure_rows(result))
    write("trials.csv", TRIAL_COLUMNS, ({**t, "marks": " ".join(t["marks"])} for t in result["trials"]))
