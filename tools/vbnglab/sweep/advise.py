# SPDX-License-Identifier: BSD-3-Clause
"""Advice from the rows of a sweep: which layout and which mbufs, how sure that is, and what limits it.

Levels of a factor are compared in blocks: runs of the same round in which everything else is the same. What the
machine did meanwhile hits both, so the ratio within a block is worth more than either figure. The verdict is the
median ratio and its confidence interval from order statistics: a difference is one only where the interval leaves
out 1, which fewer than six blocks cannot show.
"""

from dataclasses import dataclass
from statistics import median

from ..lab import stats

FACTORS = {"layout": "layout", "data_room": "data room", "mbufs": "number of mbufs", "variant": "variant"}
LEAST = 6  # blocks that a confidence of 0.95 needs
FUNCTION_ONLY = "CPUs were shared: these runs show that the layouts work, not how fast they are; nothing is ranked."
ALL_DISTURBED = "All runs were disturbed: other programs had the CPUs for a time. Run it again when the machine is quiet."


@dataclass(frozen=True)
class Versus:
    """The best level of a factor against another one."""

    other: object
    blocks: int
    ratio: float  # median of best / other
    low: float
    high: float
    confidence: float

    @property
    def differs(self):
        """Tell whether the confidence interval leaves out that both are equal."""
        return self.confidence >= stats.CONFIDENCE and self.low > 1


@dataclass
class Choice:
    """Which level of a factor to choose."""

    factor: str
    best: object
    versus: list  # Versus of all other levels, the nearest first

    @property
    def second(self):
        """The nearest other level; None if there is no other."""
        return self.versus[0] if self.versus else None

    @property
    def equals(self):
        """Levels that are not proven worse."""
        return [v.other for v in self.versus if not v.differs]


def usable(rows):
    """The rows that may be ranked: alive, undisturbed, on CPUs of their own."""
    return [r for r in rows if r["ok"] and not r["shared_cpus"] and not r["disturbed"] and r["pps"] > 0]


def absent(rows, key):
    """{key(row): why} of what was run and has no run that may be ranked: died, disturbed, ..."""
    good = {key(r) for r in usable(rows)}
    return {key(r): _why_not(r) for r in rows if key(r) not in good}


def missing(rows):
    """Phrases on the points that have no figure, and why."""
    factors = [f for f in FACTORS if len({r[f] for r in rows}) > 1] or ["layout"]
    return [f"{', '.join(_level(f, v) for f, v in zip(factors, key) if v is not None)}: {why}"
            for key, why in absent(rows, lambda r: tuple(r[f] for f in factors)).items()]


def _why_not(row):
    if not row["ok"]:
        return "died"
    if row["shared_cpus"]:
        return "CPUs were shared"
    return "disturbed" if row["disturbed"] else "nothing came through"


def _blocks(rows, factor):
    """{everything but the factor: {level: pps}}"""
    blocks = {}
    for r in rows:
        key = (r["round"], *(r[f] for f in FACTORS if f != factor))
        blocks.setdefault(key, {})[r[factor]] = r["pps"]
    return blocks


def _versus(blocks, best, other):
    ratios = [b[best] / b[other] for b in blocks.values() if best in b and other in b]
    if not ratios:
        return None
    i = stats.median_interval(ratios)
    return Versus(other, len(ratios), median(ratios), i.low, i.high, i.confidence)


def choose(rows, factor):
    """The Choice of a factor; None where there are no two levels to choose from."""
    blocks = _blocks(usable(rows), factor)
    levels = {}
    for block in blocks.values():
        top = max(block.values())
        for level, pps in block.items():
            levels.setdefault(level, []).append(pps / top)
    if len(levels) < 2:
        return None
    best = max(levels, key=lambda x: median(levels[x]))
    versus = [v for v in (_versus(blocks, best, x) for x in levels if x != best) if v is not None]
    return Choice(factor, best, sorted(versus, key=lambda v: v.ratio))


def _level(factor, value):
    return f"{value} bytes" if factor == "data_room" else str(value)


def sentence(choice):
    """A sentence about which level of a factor to use, and how sure that is."""
    name, best, second = FACTORS[choice.factor], _level(choice.factor, choice.best), choice.second
    if second is None:
        return f"{name}: {best} was best, but nothing was run in the same round to compare it with."
    other = _level(choice.factor, second.other)
    numbers = f"median ratio {second.ratio:.3f}, {second.confidence * 100:.0f} % interval {second.low:.3f} to {second.high:.3f}"
    if second.blocks < LEAST:
        return (f"{name}: {best} came out best, {other} next ({numbers}), but {second.blocks} pairs of runs cannot prove it: "
                f"run at least {LEAST} rounds.")
    if second.differs:
        return (f"{name}: use {best}. It is {(second.ratio - 1) * 100:.1f} % faster than {other}, the next one "
                f"({numbers}, {second.blocks} pairs of runs).")
    equal = ", ".join(_level(choice.factor, x) for x in choice.equals)
    return f"{name}: no difference found between {best} and {equal} ({best} to {other}: {numbers}, {second.blocks} pairs of runs)."


def best_rows(rows, choices):
    """The rows of the combination of the best levels; all usable rows where no run has that combination."""
    wanted = {c.factor: c.best for c in choices}
    rows = usable(rows)
    return [r for r in rows if all(r[f] == v for f, v in wanted.items())] or rows


def _limit(rows):
    """Return (limit that most of the rows name, words of the middle one of these)."""
    kinds = [r["limit"] for r in rows]
    kind = max(set(kinds), key=kinds.count)
    same = sorted((r for r in rows if r["limit"] == kind), key=lambda r: r["pps"])
    return kind, same[len(same) // 2]["why"]


def advice(rows):
    """Sentences for people, the most important first."""
    if rows and not usable(rows):
        good = [r for r in rows if r["ok"]]
        if not good:
            return ["No run came through: see the reasons above."]
        return [FUNCTION_ONLY if good[0]["shared_cpus"] else ALL_DISTURBED, *died(rows)]
    choices = [c for c in (choose(rows, f) for f in FACTORS) if c is not None]
    said = [sentence(c)[0].upper() + sentence(c)[1:] for c in choices]
    chosen = best_rows(rows, choices)
    if not chosen:
        return ["Nothing was run."]
    s = stats.summary([r["pps"] for r in chosen])
    where = " and ".join(_level(c.factor, c.best) for c in choices) or chosen[0]["layout"]
    kind, why = _limit(chosen)
    said.append(f"{where[0].upper() + where[1:]}: {s.median / 1e6:.2f} Mpps ({s.min / 1e6:.2f} to {s.max / 1e6:.2f}, "
                f"{s.n} runs), {why}.")
    if kind in ("generator", "sink", "tester"):
        said.append("The tester was the limit there: the figure is a lower bound of what the gateway can do.")
    if kind == "offered":
        said.append("Offer more to find a limit: equal figures are what was offered, not what the layouts can do.")
    return said + left_out(rows)


def died(rows):
    """A sentence about runs that died; none if there are none."""
    dead = sum(not r["ok"] for r in rows)
    return [f"{dead} of {len(rows)} runs died and count nowhere."] if dead else []


def left_out(rows):
    """Sentences about runs that count nowhere."""
    said, disturbed = died(rows), sum(r["ok"] and r["disturbed"] for r in rows)
    if disturbed:
        said.append(f"{disturbed} of {len(rows)} runs were disturbed by other programs and count nowhere: the same command, "
                    "given again, repeats them.")
    return said
