# SPDX-License-Identifier: BSD-3-Clause
"""What came of a load: as figures, and as text."""

import math

PERCENTILES = (50, 95, 99)


def percentile(ordered, p):
    """Of values in their order, by the nearest rank."""
    return ordered[max(0, math.ceil(p / 100 * len(ordered)) - 1)]


def _latency(seconds):
    """Of what took so long: how many, percentiles and the longest, in seconds."""
    ordered = sorted(seconds)
    return {"count": len(ordered), **{f"p{p}": percentile(ordered, p) for p in PERCENTILES}, "max": ordered[-1]} if ordered else {"count": 0}


def octets(load):
    """What sessions have sent and received, in octets of packets of IP, by family."""
    return {way: {f"IPv{v}": sum(getattr(c, way)[v] for c in load.cpes) for v in (4, 6)} for way in ("sent", "received")}


def outcome(load, pings=None):
    """All figures, in types of JSON; times in seconds."""
    whole = [c.up_at - c.begun for c in load.cpes if c.up_at is not None]
    found = {"lines": len(load.cpes), "up": load.up, "seconds": load.seconds, "rate": load.up / load.seconds if load.seconds > 0 else 0.0,
             "asked_again": load.again, "states": dict(load.states()), "wrong": list(load.wrong), "octets": octets(load),
             "latency": {name: _latency(took) for name, took in load.took.items()}}
    if len(load.took) > 1:
        found["latency"]["session"] = _latency(whole)
    if pings is not None:
        found["pings"] = {"sent": pings.sent, "answered": pings.answered, "lost": pings.lost}
        found["latency"]["ping"] = _latency(pings.took)
    return found


def time_text(seconds):
    """Three digits and a unit."""
    for value, unit in ((seconds * 1e6, "us"), (seconds * 1e3, "ms")):
        if value < 999.5:
            return f"{value:.3g} {unit}"
    return f"{seconds:.3g} s" if seconds < 999.5 else f"{seconds:.0f} s"


def text(found):
    """The figures for people."""
    yield (f"{found['up']} of {found['lines']} sessions in {time_text(found['seconds'])}: {found['rate']:.0f} a second; "
           f"asked again {found['asked_again']} times")
    yield ""
    yield f"{'state':<22} {'lines':>8}"
    for state, n in sorted(found["states"].items(), key=lambda s: (s[0] != "up", s[0])):
        yield f"{state:<22} {n:>8}"
    yield ""
    yield f"{'time of a':<22} {'count':>8} " + " ".join(f"{f'p{p}':>9}" for p in PERCENTILES) + f" {'max':>9}"
    for name, took in found["latency"].items():
        if took["count"]:
            yield f"{name:<22} {took['count']:>8} " + " ".join(f"{time_text(took[f'p{p}']):>9}" for p in PERCENTILES) + f" {time_text(took['max']):>9}"
    if "pings" in found:
        p = found["pings"]
        yield ""
        yield f"pings: {p['sent']} sent, {p['answered']} answered, {p['lost']} lost"
    for line in found["wrong"]:
        yield f"wrong: {line}"
