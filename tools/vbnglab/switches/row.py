# SPDX-License-Identifier: BSD-3-Clause
"""Tables of switches in Markdown: a row for each, with R+ of each scenario and each place of its VNFs, or why there is none; and with its latency, where that
was measured."""

import argparse

from . import adapters, output

CELLS = (*((s, "host") for s in ("p2p", "p2v", "v2v")), *((s, place) for s in ("loopback", "bng") for place in ("host", "container", "guest")))
NICS = ("p2p", "p2v")  # scenarios that without NICs are v2v by another name
AS_V2V, AGAIN, NONE = "as v2v: no NIC was given", "the same", "-"


def cells(text):
    """Cells by their names, such as loopback-guest, in the table's order. Raises argparse.ArgumentTypeError."""
    names = {"-".join(cell): cell for cell in CELLS}
    asked = text.split(",")
    if unknown := [n for n in asked if n not in names]:
        raise argparse.ArgumentTypeError(f"no cell {', '.join(unknown)}: choose of {', '.join(names)}")
    return tuple(cell for name, cell in names.items() if name in asked)


def _figure(point):
    if point["pps"] is None:
        return point["error"] or NONE
    median, low, high = (f"{point[k] / 1e6:.3g}" for k in ("pps", "min", "max"))
    return f"{median} ({low}–{high})"


def _cell(result, name):
    """R+ with its range, of each size, or why there is none."""
    if result is None:
        return AS_V2V
    entry = result["switches"][name]
    if entry["state"] != "measured":
        return entry["why"].strip().splitlines()[0].replace("|", "\\|")
    return "; ".join(map(_figure, output.summaries(entry)))


def _row(found, name, asked):
    """Cells of a switch. A reason stands once where several cells after each other have it."""
    out = []
    for text in (_cell(found.get(c), name) for c in asked):
        last = next((t for t in reversed(out) if t != AGAIN), None)
        out.append(AGAIN if text == last else text)
    return out


def _delays(result, name):
    """Latency of each size, or NONE."""
    return "; ".join(map(output.delays, output.summaries(result["switches"][name]))) if result else NONE


def _table(head, asked, rows):
    """Lines of a table, below what it shows. rows: {switch: its cells}."""
    lines = [["switch", *map(", ".join, asked)], ["---"] * (len(asked) + 1), *([adapters.ALL[n].title, *cells] for n, cells in rows.items())]
    return [head, "", *(f"| {' | '.join(line)} |" for line in lines)]


def text(found, names, asked=CELLS):
    """The table of R+, and that of latency where there is any. found: {cell: result}, without those of NICS where there is none; asked: the cells of both."""
    results = list(found.values())
    notes = [f"{r['tuple']['size']} B" for r in results[:1]] + [output.SHARED] * any(r["shared"] for r in results)
    notes += sorted({f"guests: {e['guest']}" for r in results for e in r["switches"].values() if e.get("guest")})
    lines = _table("; ".join(["R+ in Mpps, median (least–most)", *notes]), asked, {n: _row(found, n, asked) for n in names})
    if any(point["latency_ns"] for r in results for e in r["switches"].values() for point in output.summaries(e)):
        head = f"latency in µs, p50/p99 at {', '.join(output.SHARES)} of this R+; {NONE}: not measured"
        lines += ["", *_table(head, asked, {n: [_delays(found.get(c), n) or NONE for c in asked] for n in names})]
    return "\n".join(lines)
