# SPDX-License-Identifier: BSD-3-Clause
"""A measurement as one HTML page that needs nothing else: no script, no font, no picture from elsewhere."""

from html import escape

from ..lab import machine, stats
from . import table
from .search import EXCEED, METHOD

STYLE = """
:root { color-scheme: light dark; --back: #fff; --ink: #1c2024; --soft: #5d6670; --line: #d5d9de; --note: #fff4d6; }
@media (prefers-color-scheme: dark) {
  :root { --back: #15181c; --ink: #e4e7ea; --soft: #9aa4ae; --line: #363c43; --note: #3d3212; } }
body { background: var(--back); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; max-width: 68rem; margin: 2rem auto;
  padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
p, li { max-width: 50rem; } .soft, figcaption { color: var(--soft); }
.table { overflow-x: auto; } table { border-collapse: collapse; font-size: 0.88rem; }
th, td { text-align: left; padding: 0.25rem 0.9rem 0.25rem 0; border-bottom: 1px solid var(--line); vertical-align: top;
  font-variant-numeric: tabular-nums; } th { color: var(--soft); font-weight: 600; }
figure { margin: 1rem 0; } .plot { width: 100%; max-width: 46rem; height: auto; }
.note { background: var(--note); padding: 0.5rem 0.9rem; border-radius: 4px; }
pre { overflow-x: auto; font-size: 0.8rem; border: 1px solid var(--line); border-radius: 4px; padding: 0.6rem; }
summary { cursor: pointer; }
"""

CAPTIONS = {
    "throughput": "Throughput. Bar of R+: median, line: min to max, points: trials. Bars of NDR and PDR: the load that kept the "
                  "goal, line: up to the lowest load that did not.",
    "loss": "Loss ratio over load, one point for each trial of the searches. A point on the bottom line lost nothing; "
            "a hollow one was disturbed.",
    "latency": "Latency of the stamped streams beside the load: median and 99th percentile of all packets of a trial; points: median "
               "of the trials, lines: min to max.",
}


def grid(head, rows):
    """A table of cells as HTML."""
    cells = "".join(f"<th>{escape(h)}</th>" for h in head)
    body = "\n".join("<tr>" + "".join(f"<td>{escape(str(c))}</td>" for c in r) + "</tr>" for r in rows)
    return f'<div class="table"><table><thead><tr>{cells}</tr></thead><tbody>\n{body}\n</tbody></table></div>'


def _definitions(result):
    o = result["options"]
    search = next((f[n] for f in result["figures"] for n in ("ndr", "pdr") if f.get(n)), None)
    yield (f"R+: mean throughput while the generators offer {result['rig']['saturation']}; median of the trials. Trials are repeated until "
           f"the {o['confidence'] * 100:g} % confidence interval of the median reaches ±{o['width'] * 100:g} %, or to {o['max_trials']}.")
    if search:
        by = f"{search['method']} (RFC 9971); goal exceed ratio {EXCEED:g}" if search["method"] == METHOD else search["method"]
        yield (f"NDR, PDR: highest load found at which at most 0 and {stats.ratio_text(o['pdr'], 1)} of the packets were lost. Method: "
               f"{by}, width {search['goal']['width'] * 100:g} %, trials of {search['goal']['seconds']:g} s, "
               f"{search['goal']['trials']} at a load of which the majority decides.")
    yield "Sizes are bytes with FCS, access-core. Gbit/s count frames with FCS, without preamble and gap."
    yield ("A figure that is limited by something else than the gateway says so; disturbed trials, in which a core did not get all "
           "of its CPU, are left out where there are enough others.")


def about(result):
    """Rows that tell machine, program, date and command of a result."""
    m, program = result["machine"], result["program"]
    pages = ", ".join(f"{h['total']} × {h['size_kib']} KiB ({h['free']} free)" for h in m["hugepages"]) or "none"
    yield "machine", machine.sentence(m)
    yield "CPUs", (f"{m['cpus']} in {m['cores']} cores, {m['sockets']} sockets, {m['numa_nodes']} NUMA nodes; usable {m['usable_cpus']}, "
                   f"isolated {m['isolated_cpus'] or 'none'}")
    yield "huge pages", f"{pages}; transparent: {m['transparent_hugepages']}"
    yield "governor, turbo", f"{m['governor'] or 'not visible'}, {'not visible' if m['turbo'] is None else 'on' if m['turbo'] else 'off'}"
    yield "program", f"vbng {program.get('version')}, {program.get('dpdk')}, memory {program.get('memory')}, TSC {program.get('tsc_hz', 0) / 1e9:.3g} GHz"
    yield "date", result["date"]
    yield "command", " ".join(result["command"])


def _trial_rows(result):
    for i, t in enumerate(result["trials"], 1):
        load = "saturation" if t["load"] is None else f"{t['load'] / 1e6:.4g}"
        if t["ok"]:
            yield (i, t["purpose"], t["direction"], t["size"], load, f"{t['seconds']:g}", table.mpps(t["pps"]), t["offered"],
                   t["lost"], stats.ratio_text(t["lost"], t["offered"]), " ".join(t["marks"]))
        else:
            yield (i, t["purpose"], t["direction"], t["size"], load, f"{t['seconds']:g}", "-", "-", "-", "-",
                   "died: " + t["error"].splitlines()[0])


def page(result, pictures):
    """Text of the page. pictures: {name: inline SVG}."""
    name = escape(result["rig"]["configuration"])
    parts = [f"<h1>Measurement of {name}</h1>", f'<p class="soft">{escape(machine.sentence(result["machine"]))}</p>']
    if result["partial"]:
        parts.append(f'<p class="note">This result is partial: {escape(result["partial"])}.</p>')
    parts += ["<h2>Throughput</h2>",
              grid(table.THROUGHPUT_HEAD, [c for f in result["figures"] for c in table.throughput_cells(f)])]
    parts += [f'<p class="soft">{escape(line)}</p>' for line in table.ceilings(result)]
    rows = [c for f in result["figures"] for c in table.latency_cells(f)]
    if rows:
        parts += ["<h2>Latency</h2>", grid(table.LATENCY_HEAD, rows)]
    parts += [f"<figure>{svg}<figcaption>{escape(CAPTIONS[n])}</figcaption></figure>" for n, svg in pictures.items()]
    parts += ["<h2>What the figures mean</h2>", "<ul>", *(f"<li>{escape(d)}</li>" for d in _definitions(result))]
    used = sorted({m for t in result["trials"] for m in t["marks"]})
    parts += [*(f"<li>{escape(m)}: {escape(result['marks'][m])}</li>" for m in used), "</ul>"]
    parts += ["<h2>Machine and program</h2>", grid(("", ""), about(result)),
              f"<details><summary>CPU flags</summary><p>{escape(' '.join(result['machine']['flags']))}</p></details>"]
    parts += ["<h2>Trials</h2>", f"<details><summary>All {len(result['trials'])} trials</summary>",
              grid(("#", "for", "direction", "size", "load Mpps", "s", "back Mpps", "offered", "lost", "loss", "marks"), _trial_rows(result)),
              "</details>", "<h2>Configuration</h2>"]
    rig = result["rig"]
    for f in rig["files"] + rig.get("tester", {}).get("files", []):
        text = f"<pre>{escape(f['text'])}</pre>" if "text" in f else ""
        parts.append(f"<details><summary>{escape(f['file'])} <span class=\"soft\">SHA-256 {f['sha256'][:16]}…</span></summary>{text}</details>")
    return (f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            f"<title>Measurement of {name}</title><style>{STYLE}</style></head>\n<body>\n" + "\n".join(parts) + "\n</body></html>\n")
