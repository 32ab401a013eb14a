# SPDX-License-Identifier: BSD-3-Clause
"""A whole measurement: for each frame size and direction R+, then NDR and PDR, then latency (doc/measure.md)."""

from dataclasses import asdict, dataclass
from statistics import median

from ..lab import stats
from . import search, trial
from .rig import Request

LATENCY_LOADS = (0.10, 0.50, 0.99)  # shares of R+
PATIENCE = 2  # factor: as many times the wanted trials are run at most, until enough of them are undisturbed
BELIEVED = 3  # undisturbed trials that suffice to leave the disturbed ones out
DEAD = 3  # runs that die one after the other end a section
LOWEST = 0.01  # share of R+: lowest load of a search
PERCENTILES = ("min", "p50", "p90", "p99", "p99_9", "p99_99", "max")


@dataclass(frozen=True)
class Options:
    """How thorough a measurement is."""

    seconds: float = 1.0  # length of a trial under saturation, for latency, and of the full trials of a search
    short: float = 0.4  # length of the first trials of a search
    width: float = 0.02  # R+ is known when its confidence interval reaches that far, relative to it
    confidence: float = stats.CONFIDENCE
    max_trials: int = 15  # most trials for R+
    search_width: float = 0.02
    search_trials: int = 3  # full trials at a load; the majority decides
    again: int = 4  # most repetitions of a trial of a search that was disturbed, or whose load the generator did not make
    pdr: float = 0.005  # loss ratio of the partial drop rate
    latency_trials: int = 3  # trials at each load
    latency_of: str = "rplus"  # whose shares the loads for latency are, or "pdr"
    latency_loads: tuple = LATENCY_LOADS
    parts: tuple = ("rplus", "search", "latency")

    @property
    def least_trials(self):
        """Fewest trials whose confidence interval can reach the confidence."""
        n = 2
        while stats.median_interval(range(n)).confidence < self.confidence:
            n += 1
        return n


QUICK = Options(seconds=0.4, short=0.2, width=0.10, confidence=0.75, max_trials=5, search_width=0.10, search_trials=1,
                again=1, latency_trials=1)


class Measurement:
    """A measurement under way. trials and figures hold what is known at any moment, also after an exception."""

    def __init__(self, rig, options, sizes, directions, journal, progress, take=trial.take):
        self.rig, self.options, self.sizes, self.directions = rig, options, sizes, directions
        self.journal, self.progress, self.take = journal, progress, take
        self.trials, self.figures = [], []

    def run(self):
        """Measure all sizes and directions."""
        work = [(size, direction) for size in self.sizes for direction in self.directions]
        for size, direction in work:
            self._expect(size, direction)
        for size, direction in work:
            figure = {"size": str(size), "direction": direction, "complete": False}
            self.figures.append(figure)
            self._rplus(figure, size, direction)
            if figure["rplus"].get("pps") is not None:
                if "search" in self.options.parts:
                    self._search(figure, size, direction)
                if "latency" in self.options.parts:
                    self._latency(figure, size, direction)
                self._more(figure, size, direction)
            for part in ("R+", "search", "latency"):
                self.progress.close(f"{direction} {size} B {part}")
            figure["complete"] = True

    def _more(self, figure, size, direction):
        """What a kind of measurement adds."""

    def _expect(self, size, direction):
        o, name = self.options, f"{direction} {size} B"
        self.progress.expect(f"{name} R+", o.least_trials, o.seconds)
        if "search" in o.parts:
            self.progress.expect(f"{name} search", 8 + 5 * (o.search_trials // 2 + 1), o.seconds)
        if "latency" in o.parts and self.rig.probes[direction]:
            self.progress.expect(f"{name} latency", len(o.latency_loads) * o.latency_trials, o.seconds)

    def _one(self, request, part):
        row = self.journal.known(request.key())
        wall = 0.0
        if row is None:
            row = self.take(self.rig, request)
            wall = row["wall"]
            self.journal.add(request.key(), row)
        self.trials.append(row)
        if not row["ok"]:
            text = f"died: {row['error'].splitlines()[0]}"
        else:
            text = f"{_returned(request, row)}, loss {stats.ratio_text(row['lost'], row['offered'])}"
            text += f" [{', '.join(row['marks'])}]" if row["marks"] else ""
        self.progress.trial(f"{request.direction} {request.size} B {part}", request.seconds, wall, text)
        return row

    # --- R+ ---

    def _rplus(self, figure, size, direction):
        request = Request("rplus", direction, size, None, self.options.seconds)
        rows, o = [], self.options
        while True:
            rows.append(self._one(request, "R+"))
            calm = _calm(rows)
            outcome = "known" if stats.settled([r["pps"] for r in calm], o.width, o.confidence) else None
            if outcome is None and len(calm) + sum(not r["ok"] for r in rows) >= o.max_trials:
                outcome = "not known well: the trials differ too much"
            if outcome is None and len(rows) >= PATIENCE * o.max_trials:
                outcome = "not known well: too many trials were disturbed"
            if outcome is None and len(rows) >= DEAD and not any(r["ok"] for r in rows[-DEAD:]):
                outcome = "the runs die"
            figure["rplus"] = throughput(rows, outcome or "stopped before its end", o.confidence)
            if outcome:
                break

    # --- NDR and PDR ---

    def _search(self, figure, size, direction, names=("ndr", "pdr")):
        o, rplus = self.options, figure["rplus"]
        ratios = {"ndr": 0.0, "pdr": o.pdr}
        goals = [search.Goal(ratios[name], o.search_width, o.short, o.seconds, o.search_trials) for name in names]
        rows, decided = [], []

        def measure(load, seconds):
            for _ in range(1 + o.again):
                row = self._one(Request("search", direction, size, load, seconds), "search")
                rows.append(row)
                if _calm([row]) and not (trial.fell_short(row) and row["loss_ratio"] <= o.pdr):
                    break
            decided.append(row)
            return trial.outcome(row)

        founds = []
        high = max(rplus["generator"]["made_pps"], rplus["pps"]["median"] * 1.05)
        try:
            search.search(measure, goals, rplus["pps"]["median"] * LOWEST, high, founds)
        finally:
            for name, found in zip(names, founds):
                figure[name] = self._found(found, rows, decided)

    def _found(self, found, rows, decided):
        full = [r for r in rows if r["ok"] and r["seconds"] == self.options.seconds]
        at_lower = [r for r in full if r["load"] == found.lower]
        above = [r for r in full if r["load"] == found.upper]
        best = min(at_lower, key=lambda r: r["loss_ratio"], default=None)
        return {**asdict(found), "limit": _limit(above or at_lower),
                "packets": best["offered"] if best else 0,
                "disturbed": sum("disturbed" in r["marks"] for r in full), "full": len(full),
                "disturbed_decided": sum("disturbed" in r["marks"] for r in decided),
                "loss_bound": stats.loss_bound(best["lost"], best["offered"]) if best else None}

    # --- latency ---

    def _latency(self, figure, size, direction):
        figure["latency"] = []
        if not self.rig.probes[direction]:
            return
        o = self.options
        whole = (figure.get("pdr") or {}).get("lower") if o.latency_of == "pdr" else figure["rplus"]["pps"]["median"]
        if whole is None:
            return
        for share in o.latency_loads:
            load = share * whole
            rows = []
            figure["latency"].append({})
            wanted = o.latency_trials
            while len(_calm(rows)) < wanted and len(rows) < PATIENCE * wanted:
                rows.append(self._one(Request("latency", direction, size, load, o.seconds, True), "latency"))
                figure["latency"][-1] = {"share": share, "of": o.latency_of, "load": load, **latency(rows)}


def _returned(request, row):
    """What was sent in a trial, and what came back. A burst, which is over long before its trial, has a length instead of a rate."""
    if request.count is not None:
        return f"{row['offered']} frames, {row['received']} came back"
    load = "saturation" if request.load is None else f"{request.load / 1e6:.4g} Mpps"
    return f"{load}, {row['pps'] / 1e6:.4g} Mpps came back"


def _limit(rows):
    """The mark of LIMITS that most of the trials have; "gateway" if there is none."""
    counts = {mark: sum(mark in r["marks"] for r in rows) for mark in trial.LIMITS}
    mark = max(counts, key=counts.get)
    return mark if rows and counts[mark] * 2 > len(rows) else "gateway"


def _calm(rows):
    return [r for r in rows if r["ok"] and "disturbed" not in r["marks"]]


def believed(rows):
    """The trials that a figure is taken from: the undisturbed ones, if they are enough."""
    alive = [r for r in rows if r["ok"]]
    calm = _calm(rows)
    return calm if len(calm) >= min(BELIEVED, len(alive)) else alive


def throughput(rows, outcome, confidence=stats.CONFIDENCE):
    """R+ of trials under saturation, as a dict of the result."""
    used = believed(rows)
    out = {"outcome": outcome, "trials": len(rows), "used": len(used), "dead": sum(not r["ok"] for r in rows),
           "marks": {m: n for m in trial.MARKS if (n := sum(m in r["marks"] for r in used))},
           "errors": sorted({r["error"].splitlines()[0] for r in rows if not r["ok"]})}
    if not used:
        return out
    s = stats.summary([r["pps"] for r in used], confidence)
    frames = [r["frame"] for r in used if r["frame"]]
    ceilings = [r["generator"]["ceiling_pps"] for r in used if r["generator"]["ceiling_pps"]]
    busy = {}
    for r in used:
        for c in r["cores"]:
            busy.setdefault((c["of"], c["cpu"]), []).append(c["busy"])
    return {**out, "pps": asdict(s), "frame": median(frames) if frames else None, "limit": _limit(used),
            "loss_ratio": median(r["loss_ratio"] for r in used),
            "generator": {"made_pps": median(r["generator"]["made_pps"] for r in used),
                          "ceiling_pps": median(ceilings) if ceilings else None},
            "busy": [{"of": of, "cpu": cpu, "busy": median(b)} for (of, cpu), b in sorted(busy.items())]}


def latency(rows):
    """Percentiles of each stamped stream over trials at one load: median, min and max of the trials' values."""
    used = believed(rows)
    streams = {}
    for r in used:
        for name, l in r["latency"].items():
            streams.setdefault(name, []).append(l)
    return {"trials": len(rows), "used": len(used), "dead": sum(not r["ok"] for r in rows), "limit": _limit(used),
            "disturbed": sum("disturbed" in r["marks"] for r in used),
            "streams": {name: {"count": sum(l["count"] for l in ls),
                               **{p: {"median": median(v), "min": min(v), "max": max(v)} for p in PERCENTILES
                                  if (v := [l[p] for l in ls if l.get(p) is not None])}}
                        for name, ls in sorted(streams.items())}}
