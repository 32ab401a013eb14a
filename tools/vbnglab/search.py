# SPDX-License-Identifier: BSD-3-Clause
"""Search for the highest load at which the loss ratio keeps within a goal: NDR and PDR.

Two methods. With the package mlrsearch (PyPI) installed: MLRsearch, by its authors. Without it: a bisection after
RFC 2544 section 26.1 with two things taken from MLRsearch (draft-ietf-bmwg-mlrsearch): first short trials, which
only say where to look, and a decision by the majority of several full trials at a load, so that one bad moment of
the machine does not decide. For both methods

    lower   a load that kept the goal, and no load that was decided about below it did not: of a device that is not
            monotone the lowest knee that was seen counts
    upper   the lowest load that did not; (upper - lower) / upper <= width, unless one of them is a limit

The device is a function measure(load, seconds) -> Outcome.
"""

from dataclasses import dataclass, field

MLRSEARCH = "MLRsearch (package mlrsearch)"
BISECTION = "bisection after RFC 2544 section 26.1, short trials first, majority of repeated trials"
WORST_STEPS = 60  # of one phase: ends a search in a device that answers at random


@dataclass(frozen=True)
class Goal:
    """What is searched for."""

    loss_ratio: float = 0.0
    width: float = 0.01  # (upper - lower) / upper, at most
    short: float = 0.3  # seconds of the trials that only say where to look
    seconds: float = 1.0  # of the trials that decide
    trials: int = 3  # that decide about a load; the majority counts


@dataclass(frozen=True)
class Outcome:
    """What a trial says to the search. A trial that died is lost altogether: sent = lost = 1."""

    sent: int
    lost: int

    @property
    def ratio(self):
        """lost / sent; 1 when nothing could be sent."""
        return self.lost / self.sent if self.sent else 1.0


@dataclass
class Found:
    """Result of a search. All loads in packets per second."""

    goal: Goal
    method: str
    lower: float | None = None  # None: even the lowest load did not keep the goal
    upper: float | None = None  # None: even the highest load kept it, so the device was not the limit
    loss_ratio: float | None = None  # worst of the deciding trials at lower that kept the goal
    trials: int = 0  # of this goal, of all lengths
    complete: bool = False
    note: str = ""
    decided: list = field(default_factory=list)  # (load, good trials, bad trials) of full length, as decided


class Bisection:
    """One search for one goal. Trials of other goals of the same device may be handed over in known: a dict
    (load, seconds) -> list of Outcome, which is added to."""

    def __init__(self, measure, goal, low, high, guess=None, known=None):
        if not 0 < low < high:
            raise ValueError(f"limits of a search: 0 < {low} < {high} does not hold")
        self.measure, self.goal, self.low, self.high = measure, goal, low, high
        self.guess = min(max(guess or high, low), high)
        self.known = {} if known is None else known
        self.found = Found(goal, BISECTION)

    def run(self):
        """Search. self.found holds what is known at any moment, also after an exception of measure."""
        width = max(4 * self.goal.width, 0.02)
        if self.goal.short < self.goal.seconds:
            lower, upper = self._phase(self.guess, width, self.goal.short, 1)
            self.guess = lower or upper or self.high
        lower, upper = self._phase(self.guess, self.goal.width, self.goal.seconds, self.goal.trials)
        self.found.complete = upper is None or lower is None or (upper - lower) / upper <= self.goal.width
        if not self.found.complete:
            self.found.note = "the device did not answer alike twice; the interval is wider than asked for"
        elif upper is None:
            self.found.note = "the highest load kept the goal: the device was not the limit"
        elif lower is None:
            self.found.note = "even the lowest load did not keep the goal"
        return self.found

    def _phase(self, guess, width, seconds, trials):
        """Brackets the knee from guess outwards in growing steps, then halves. Returns (lower, upper)."""
        final = seconds == self.goal.seconds
        lower = upper = None
        load, step = guess, width
        for _ in range(WORST_STEPS):
            if self._keeps(load, seconds, trials):
                lower = load
            else:
                upper = load
            if final:
                self._note(lower, upper)
            if (upper is None and lower >= self.high) or (lower is None and upper <= self.low):
                break
            if lower is not None and upper is not None and (upper - lower) / upper <= width:
                break
            if upper is None:
                load, step = min(lower * (1 + step), self.high), step * 2
            elif lower is None:
                load, step = max(upper * (1 - min(step, 0.5)), self.low), step * 2
            else:
                load = (lower * upper) ** 0.5  # half way in relative terms
        return lower, upper

    def _note(self, lower, upper):
        self.found.lower, self.found.upper = lower, upper
        good = [o.ratio for o in self.known.get((lower, self.goal.seconds), []) if o.ratio <= self.goal.loss_ratio]
        self.found.loss_ratio = max(good, default=None)

    def _keeps(self, load, seconds, trials):
        """Does the majority of the trials keep the goal? Ends when the rest cannot change it."""
        outcomes = self.known.setdefault((load, seconds), [])
        needed = trials // 2 + 1
        while True:
            good = sum(o.ratio <= self.goal.loss_ratio for o in outcomes)
            bad = len(outcomes) - good
            if good >= needed or bad >= needed:
                break
            outcomes.append(self.measure(load, seconds))
            self.found.trials += 1
        if seconds == self.goal.seconds:
            self.found.decided.append((load, good, bad))
        return good >= needed


def mlrsearch_available():
    """Is the package importable?"""
    try:
        import MLRsearch  # noqa: F401
    except ImportError:
        return False
    return True


def _mlrsearch(measure, goals, low, high, founds):
    """All goals at once by the package. Fills founds."""
    import MLRsearch
    from MLRsearch.trial_measurement import AbstractMeasurer, MeasurementResult

    counts = [0]

    class Measurer(AbstractMeasurer):
        """Joins the package to measure()."""

        def measure(self, intended_duration, intended_load):
            outcome = measure(float(intended_load), float(intended_duration))
            counts[0] += 1
            return MeasurementResult(intended_duration=intended_duration, intended_load=intended_load,
                                     offered_count=outcome.sent, loss_count=outcome.lost)

    wanted = [MLRsearch.SearchGoal(
        loss_ratio=g.loss_ratio, exceed_ratio=0.5, relative_width=g.width, initial_trial_duration=g.short,
        final_trial_duration=g.seconds, duration_sum=g.seconds * g.trials, preceding_targets=2,
        expansion_coefficient=2, fail_fast=False) for g in goals]
    config = MLRsearch.Config(goals=wanted, min_load=low, max_load=high, search_duration_max=86400.0,
                              warmup_duration=0.0)
    results = MLRsearch.MultipleLossRatioSearch(config=config).search(measurer=Measurer(), debug=lambda _: None)
    for found, goal in zip(founds, wanted):
        result = results[goal]
        lower, upper = result.relevant_lower_bound, result.relevant_upper_bound
        found.lower = float(lower) if lower else None
        found.upper = float(upper) if upper else None
        found.trials, found.complete = counts[0], True
        if lower:
            found.loss_ratio = next(iter(lower.target_to_stat.values())).pessimistic_loss_ratio
        if upper is None:
            found.note = "the highest load kept the goal: the device was not the limit"


def search(measure, goals, low, high, guess=None, founds=None, use_package=None):
    """Search for all goals between two loads; stricter goals first. Returns a list of Found in the order of goals.
    founds: an empty list that is filled as the search goes on, so that it holds what is known after an exception.
    use_package: False for the bisection; None: the package if it is there. guess: where to look first."""
    founds = [] if founds is None else founds
    if mlrsearch_available() if use_package is None else use_package:
        founds += [Found(g, MLRSEARCH) for g in goals]
        _mlrsearch(measure, goals, low, high, founds)
        return founds
    known = {}
    founds += [Found(g, BISECTION) for g in goals]
    for i in sorted(range(len(goals)), key=lambda i: goals[i].loss_ratio):
        one = Bisection(measure, goals[i], low, high, guess, known)
        founds[i] = one.found
        one.run()
        if one.found.lower is not None:  # what keeps a strict goal keeps the others: the same trials say so
            low, guess = min(one.found.lower, high * 0.99), None if one.found.upper is None else one.found.upper
    return founds
