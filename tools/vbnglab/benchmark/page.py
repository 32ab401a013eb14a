# SPDX-License-Identifier: BSD-3-Clause
"""A report as a page of HTML that needs nothing else, and as Markdown."""

from html import escape

from ..lab import machine
from ..measure import html, search, table
from . import outcome

HEAD = ("case", "cores", "bytes", "NDR Mpps", "PDR Mpps", "conditional", "R+ Mpps", "Gbit/s at PDR", "remarks")
LATENCY = ("case", "cores", "bytes", "at", "stream", "p50 µs", "p99 µs", "max µs", "packets", "trials")
BURSTS = ("case", "cores", "bytes", "into", "frames, average", "min – max", "deviation", "burst Mpps", "throughput Mpps",
          "buffer µs", "corrected µs", "searches", "remarks")
CAPTIONS = {
    "throughput": "NDR and PDR. A bar reaches to the relevant lower bound, the line on it to the upper one. Dashed and hollow: trials that "
                  "decided stayed disturbed.",
    "latency": "Latency of the slower stamped stream: point p50, dash p99, cross the greatest. Hollow: disturbed.",
    "bursts": "Back-to-back frames into one port: average of the searches, line from the shortest to the longest. Hollow: disturbed.",
    "trend": "NDR and PDR over the reports of the history, relevant lower bounds. Hollow: disturbed. A name with + had changes beside its commit.",
}


def _bounds(s):
    if not s:
        return "-"
    return table.mpps(s["lower"]) + (f" – {table.mpps(s['upper'])}" if s["upper"] is not None else " (upper bound not found)")


def _remarks(row):
    f = row["figure"]
    limits = {table.limit((f.get(n) or {}).get("limit")) for n in ("rplus", "ndr", "pdr")} - {""}
    notes = {f[n]["note"] for n in ("ndr", "pdr") if f.get(n) and f[n]["note"]}
    told = [*(f"DISTURBED: {x}" for x in row["disturbed"]), *row["missing"]]
    return "; ".join([*(x for x in told if "one port" not in x), *sorted(limits), *sorted(n for n in notes if not any(n in x for x in told))])


def throughput_rows(report):
    """Cells of HEAD."""
    for row in report["rows"]:
        where = (row["case"], row["cores"], row["size"])
        if not row["possible"]:
            yield (*where, *["-"] * 5, f"not possible here: {row['why']}")
            continue
        f = row["figure"]
        pdr, r = f.get("pdr"), f.get("rplus") or {}
        yield (*where, _bounds(f.get("ndr")), _bounds(pdr), table.mpps((pdr or {}).get("conditional")),
               table.mpps(r["pps"]["median"]) if r.get("pps") else "-",
               table.gbps((pdr or {}).get("lower"), r.get("frame")), _remarks(row))


def latency_rows(report):
    """Cells of LATENCY."""
    for row in (r for r in report["rows"] if r["possible"]):
        for load in row["figure"].get("latency", []):
            for stream, values in load.get("streams", {}).items():
                cells = [table.microseconds(values[p][of]) for p, of in (("p50", "median"), ("p99", "median"), ("max", "max"))]
                disturbed = f"{load['used']}, {load['disturbed']} DISTURBED" if load["disturbed"] else load["used"]
                yield (row["case"], row["cores"], row["size"], f"{load['share'] * 100:g} % of PDR", stream, *cells, values["count"], disturbed)


def burst_rows(report):
    """Cells of BURSTS."""
    for row in (r for r in report["rows"] if r["possible"]):
        for direction, b in row["figure"].get("bursts", {}).items():
            where = (row["case"], row["cores"], row["size"], f"{b.get('generator', '?')} ({direction})")
            notes = [b["note"]] if b.get("note") else []
            if not b.get("frames"):
                yield (*where, *["-"] * 8, "; ".join(notes) or "not measured")
                continue
            made = b["burst_pps"]
            if made is None:
                notes.append("the bursts were too short to tell their rate, so there is no buffer time")
            elif made < 0.99 * b["line_pps"]:
                notes.append(f"the generator made {made / b['line_pps'] * 100:.0f} % of the line's rate, which stands in the place of that "
                             "rate in the buffer times")
            if b["disturbed"]:
                notes.append(f"DISTURBED: {b['disturbed']} of {b['trials']} bursts")
            times = [table.microseconds(b[k] * 1e9) if k in b else "-" for k in ("implied_s", "corrected_s")]
            yield (*where, f"{b['average']:.0f}", f"{b['min']} – {b['max']}", f"{b['deviation']:.0f}", table.mpps(made),
                   table.mpps(b["throughput_pps"]), *times, b["searches"], "; ".join(notes))


def meanings(report):
    """Sentences that say what the figures are."""
    o = report["options"]
    yield (f"NDR, PDR: {search.METHOD}, RFC 9971. Goal loss ratio 0 and {o['pdr'] * 100:g} %, goal exceed ratio {search.EXCEED:g}, goal width "
           f"{o['search_width'] * 100:g} %, goal initial trial duration {o['short']:g} s, goal final trial duration {o['seconds']:g} s, goal "
           f"duration sum {o['seconds'] * o['search_trials']:g} s. The first number is the relevant lower bound, the second the relevant upper "
           "bound. Where either is not there the goal result is irregular, and the remarks say so. Loads are the sum of all ports, both ways.")
    yield "Conditional throughput: what comes through at PDR's relevant lower bound, by the loss ratio of its trials (RFC 9971)."
    yield "R+: mean throughput while the generators offer line rate. Gbit/s count frames with FCS, without preamble and gap."
    yield ("Latency: percentiles of stamped packets of each trial, their median over the trials, and the greatest of all, at 10, 50 and 90 % "
           "of PDR's relevant lower bound; from the generator's TSC to the sink's, so the tester's queues count.")
    yield (f"Back-to-back frames: RFC 9004. The longest burst into one port of which nothing was lost; {o['bursts']} searches with loss "
           "verification. Buffer: frames by the burst's rate; corrected: less what the gateway forwarded meanwhile, by the NDR of that port alone.")
    yield "Disturbed: a core had less than 97 % of its CPU. Such trials are repeated; what stayed disturbed is marked, and is no figure of the gateway."


def notes(report, other):
    """What the reader must know before the figures."""
    if report["partial"]:
        yield f"This report is partial: {report['partial']}."
    n = sum(bool(r["disturbed"]) for r in report["rows"] if r["possible"])
    if n:
        yield f"{n} of {len(report['rows'])} rows are DISTURBED: other programs had the CPUs. Measure again on a quiet machine."
    if report["options"]["seconds"] < 1:
        yield f"Trials of {report['options']['seconds']:g} s: this shows that it works, and is not for figures."
    yield from other


def about(report):
    """Rows that tell machine, program and commit."""
    commit = report["source"]
    yield "commit", f"{commit['commit']} of {commit['date']}{', with changes beside it' if commit['changed'] else ''}" if commit else "not known"
    yield from html.about(report)


def _setup(row):
    c = row["configuration"]
    plan = c["plan"]
    layout = "; ".join(f"{x['core']} (CPU {x['run_on']}): {', '.join(x['instances'])}" for x in plan["cores"])
    settings = ", ".join(f"{k} = {v}" for k, v in c["settings"].items()) or "none"
    return outcome.name_of_row(row), row["what"], c["configuration"], layout, settings


def page(report, pictures, other):
    """Text of the page. pictures: {name: inline SVG}; other: sentences on reports that are not compared."""
    tables = [("Throughput", HEAD, throughput_rows), ("Latency", LATENCY, latency_rows), ("Back-to-back frames", BURSTS, burst_rows)]
    parts = ["<h1>A virtual BNG: NDR, PDR, latency and back-to-back frames</h1>",
             f'<p class="soft">vbng {escape(str(report["program"].get("version", "?")))}, {escape(outcome.name_of(report))}; '
             f'{escape(machine.sentence(report["machine"]))}</p>',
             *(f'<p class="note">{escape(n)}</p>' for n in notes(report, other))]
    for title, head, rows in tables:
        cells = list(rows(report))
        parts += [f"<h2>{title}</h2>", html.grid(head, cells)] if cells else []
    parts += [f"<figure>{svg}<figcaption>{escape(CAPTIONS[n])}</figcaption></figure>" for n, svg in pictures.items()]
    parts += ["<h2>What the figures mean</h2>", "<ul>", *(f"<li>{escape(x)}</li>" for x in meanings(report)), "</ul>",
              "<h2>Machine and program</h2>", html.grid(("", ""), about(report)), "<h2>Configurations</h2>",
              html.grid(("row", "what", "configuration", "layout", "settings"), [_setup(r) for r in report["rows"] if r["possible"]])]
    seen = {}
    for row in (r for r in report["rows"] if r["possible"]):
        seen.update({f["file"]: f for f in row["configuration"]["files"]})
    for f in seen.values():
        body = f"<pre>{escape(f['text'])}</pre>" if "text" in f else ""
        parts.append(f"<details><summary>{escape(f['file'])} <span class=\"soft\">SHA-256 {f['sha256'][:16]}…</span></summary>{body}</details>")
    return (f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            f"<title>vbng: a report</title><style>{html.STYLE}</style></head>\n<body>\n" + "\n".join(parts) + "\n</body></html>\n")


def _markdown_table(head, rows):
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for r in rows:
        yield "| " + " | ".join(str(c).replace("|", "\\|") for c in r) + " |"


def markdown(report, pictures, other):
    """The report as Markdown, with the pictures beside it."""
    lines = ["# A virtual BNG: NDR, PDR, latency and back-to-back frames", "",
             f"vbng {report['program'].get('version', '?')}, {outcome.name_of(report)}; {machine.sentence(report['machine'])}", ""]
    lines += [f"**{n}**\n" for n in notes(report, other)]
    for title, head, rows in (("Throughput", HEAD, throughput_rows), ("Latency", LATENCY, latency_rows),
                              ("Back-to-back frames", BURSTS, burst_rows)):
        cells = list(rows(report))
        lines += [f"## {title}", "", *_markdown_table(head, cells), ""] if cells else []
    lines += [f"![{CAPTIONS[n]}]({n}.png)\n" for n in pictures]
    lines += ["## What the figures mean", "", *(f"- {x}" for x in meanings(report)), "", "## Machine and program", "",
              *_markdown_table(("what", "is"), about(report)), "", "## Configurations", "",
              *_markdown_table(("row", "what", "configuration", "layout", "settings"), [_setup(r) for r in report["rows"] if r["possible"]])]
    return "\n".join(lines) + "\n"
