# SPDX-License-Identifier: BSD-3-Clause
"""A measurement's figures as text: for the terminal, and cell by cell for the report."""

from ..lab import machine, stats

DIRECTIONS = {"up": "up", "down": "down", "both": "up + down", "all": "all"}


def direction(name):
    """A direction in words; what has none is named as it is."""
    return DIRECTIONS.get(name, name)


def mpps(value):
    """Packets per second in Mpps with 4 digits."""
    return "-" if value is None else f"{value / 1e6:.4g}"


def microseconds(ns):
    """ns as us with 3 digits."""
    return "-" if ns is None else f"{ns / 1000:.3g}" if ns < 1e6 else f"{ns / 1000:.0f}"


def gbps(pps, frame):
    """Gbit/s of Ethernet frames without preamble and gap, as in RFC 2544's frame rates."""
    return "-" if pps is None or frame is None else f"{pps * frame * 8 / 1e9:.3g}"


def limit(word):
    """What limited a figure in words; "" where the gateway did."""
    return "" if word in (None, "gateway") else f"limited by the {word}"


def base(load):
    """What a load for latency is a share of, in words."""
    return {"pdr": "PDR"}.get(load.get("of"), "R+")


def _percent(value):
    return f"±{value * 100:.2g} %"


def throughput_cells(figure):
    """Rows of (what, size, direction, Mpps, range, Gbit/s, loss, trials, remark)."""
    where = (figure["size"], direction(figure["direction"]))
    r = figure.get("rplus")
    if r and r.get("pps"):
        p = r["pps"]
        interval = p["interval"]
        half = (interval["high"] - interval["low"]) / 2 / p["median"] if p["median"] else 0
        remarks = [limit(r["limit"]), f"{_percent(half)} at {interval['confidence'] * 100:.1f} %"]
        remarks += [r["outcome"]] if r["outcome"] != "known" else []
        remarks += [f"{n} of {r['used']} {m}" for m, n in r["marks"].items() if m != r["limit"]]
        remarks += [f"{r['dead']} died"] if r["dead"] else []
        yield ("R+", *where, mpps(p["median"]), f"{mpps(p['min'])} – {mpps(p['max'])}", gbps(p["median"], r["frame"]),
               f"{r['loss_ratio'] * 100:.3g} %", _count(r), "; ".join(x for x in remarks if x))
    elif r:
        yield ("R+", *where, "-", "-", "-", "-", _count(r), "; ".join([r["outcome"], *r["errors"]]))
    frame = r.get("frame") if r else None
    for name in ("ndr", "pdr"):
        s = figure.get(name)
        if s is None:
            continue
        remarks = [limit(s["limit"]), s["note"] or ("" if s["complete"] else "stopped before its end")]
        if s.get("conditional") is not None and s["conditional"] != s["lower"]:
            remarks.append(f"conditional throughput {mpps(s['conditional'])}")
        if s["lower"] is not None and s["loss_ratio"] == 0 and s["loss_bound"]:
            remarks.append(f"no loss in {s['packets']} packets: below {s['loss_bound']:.1g} at 95 %")
        if s["disturbed"]:
            remarks.append(f"{s['disturbed']} of {s['full']} full trials disturbed")
        loss = "-" if s["loss_ratio"] is None else "0" if s["loss_ratio"] == 0 else stats.ratio_text(s["loss_ratio"], 1)
        yield (name.upper(), *where, mpps(s["lower"]), f"{mpps(s['lower'])} – {mpps(s['upper'])}", gbps(s["lower"], frame),
               loss, str(s["trials"]), "; ".join(x for x in remarks if x))


def _count(r):
    return str(r["trials"]) if r["used"] == r["trials"] else f"{r['used']} of {r['trials']}"


THROUGHPUT_HEAD = ("figure", "size", "direction", "Mpps", "min – max", "Gbit/s", "loss", "trials", "remarks")
LATENCY_HEAD = ("at", "size", "direction", "stream", "p50 µs", "p90", "p99", "p99.9", "max", "packets", "trials", "remarks")


def latency_cells(figure):
    """Rows of LATENCY_HEAD; a value is the median, with min – max where there are several trials."""
    for load in figure.get("latency", []):
        for stream, values in load.get("streams", {}).items():
            cells = []
            for p in ("p50", "p90", "p99", "p99_9", "max"):
                v = values.get(p)
                text = "-" if v is None else microseconds(v["median"])
                if v is not None and v["min"] != v["max"]:
                    text += f" ({microseconds(v['min'])}–{microseconds(v['max'])})"
                cells.append(text)
            yield (f"{load['share']:.2f} {base(load)}", figure["size"], direction(figure["direction"]), stream, *cells,
                   str(values["count"]), _count(load), limit(load["limit"]))


def _grid(head, rows):
    rows = [head, *rows]
    widths = [max(len(str(r[i])) for r in rows) for i in range(len(head))]
    return ["  ".join(str(c).ljust(w) for c, w in zip(r, widths)).rstrip() for r in rows]


def ceilings(result):
    """A line for each direction and size: what the generators made, and what they state as their ceiling."""
    for f in result["figures"]:
        g = (f.get("rplus") or {}).get("generator")
        if g:
            own = f", its own estimate {mpps(g['ceiling_pps'])} Mpps" if g["ceiling_pps"] else ""
            yield (f"generator's ceiling, {direction(f['direction'])} {f['size']} B: "
                   f"{mpps(g['made_pps'])} Mpps made under saturation{own}")


def text(result):
    """The result as text for a terminal."""
    program = result["program"]
    lines = [f"{result['rig']['configuration']}: vbng {program.get('version', '?')}, {program.get('dpdk', '?')}, "
             f"memory {program.get('memory', '?')}", machine.sentence(result["machine"])]
    if result["partial"]:
        lines.append(f"PARTIAL: {result['partial']}")
    lines += ["", *_grid(THROUGHPUT_HEAD, [c for f in result["figures"] for c in throughput_cells(f)])]
    latency = [c for f in result["figures"] for c in latency_cells(f)]
    if latency:
        lines += ["", "latency (median of the trials' percentiles, in brackets min–max)", *_grid(LATENCY_HEAD, latency)]
    lines += ["", *ceilings(result)]
    used = sorted({m for t in result["trials"] for m in t["marks"]})
    lines += [f"{m}: {result['marks'][m]}" for m in used]
    return "\n".join(lines)
