# SPDX-License-Identifier: BSD-3-Clause
"""Search for the highest load at which the loss ratio keeps within a goal: NDR and PDR.

MLRsearch (RFC 9971) does it, by the package of its authors: short trials say where to look, and several full
trials decide about a load, so that one bad moment of the machine does not. The device is a function
measure(load, seconds) -> Outcome; loads are packets per second.
"""

from dataclasses import dataclass

from ..lab.failure import Failure

METHOD = "MLRsearch"
EXCEED = 0.5  # goal exceed ratio: a load keeps the goal where at most half of its full trials do not
LONGEST = 86400.0  # seconds of trials after which the package ends a search


@dataclass(frozen=True)
class Goal:
    """What is searched for."""

    loss_ratio: float = 0.0
    width: float = 0.01  # (upper - lower) / upper, at most
    short: float = 0.3  # seconds of the trials that only say where to look
    seconds: float = 1.0  # length of the trials that decide
    trials: int = 3  # trials that decide about a load; the majority counts


@dataclass(frozen=True)
class Outcome:
    """Packets sent and lost in a trial. A trial that died counts as lost: sent = lost = 1."""

    sent: int
    lost: int

    @property
    def ratio(self):
        """lost / sent; 1 when nothing could be sent."""
        return self.lost / self.sent if self.sent else 1.0


@dataclass
class Found:
    """Result of a search. A load counts that kept the goal, while no load was found below it that did not."""

    goal: Goal
    method: str = METHOD
    lower: float | None = None  # relevant lower bound; None: even the lowest load did not keep the goal
    upper: float | None = None  # relevant upper bound: the lowest load that did not; None: even the highest kept it, so the device was not the limit
    loss_ratio: float | None = None  # that the trials at lower did not exceed, but for as many as the goal exceed ratio allows
    conditional: float | None = None  # conditional throughput: what comes through at lower, with that loss
    regular: bool = False  # a regular goal result: both bounds are there
    trials: int = 0  # number of trials of the whole search, for all of its goals
    complete: bool = False
    note: str = ""


def package():
    """The package MLRsearch. Raises Failure where it is not installed."""
    try:
        import MLRsearch
        import MLRsearch.trial_measurement
    except ImportError:
        raise Failure("NDR and PDR need the Python package MLRsearch, which is not installed: ninja -C build fetches it for a "
                      "checkout, pip install MLRsearch for any other place; --only rplus and --only latency go without it") from None
    return MLRsearch


class _Trials:
    """The measurer that the package calls: it asks the device, and keeps the outcomes."""

    def __init__(self, measure, founds):
        self._measure, self._founds = measure, founds
        self.full = {}  # {load: [Outcome]} of trials of full length

    def measure(self, intended_duration, intended_load):
        """A trial, as the package's AbstractMeasurer has it."""
        seconds, load = float(intended_duration), float(intended_load)
        outcome = self._measure(load, seconds)
        for found in self._founds:
            found.trials += 1
        if seconds == self._founds[0].goal.seconds:
            self.full.setdefault(load, []).append(outcome)
        return package().trial_measurement.MeasurementResult(
            intended_duration=intended_duration, intended_load=intended_load, offered_count=outcome.sent, loss_count=outcome.lost)

    def bounds(self, goal):
        """(lower, upper) as far as the full trials tell; each may be None."""
        kept = {load: sum(o.ratio <= goal.loss_ratio for o in outcomes) * 2 > len(outcomes) for load, outcomes in self.full.items()}
        upper = min((load for load, good in kept.items() if not good), default=None)
        lower = max((load for load, good in kept.items() if good and (upper is None or load < upper)), default=None)
        return lower, upper


def _describe(found, result):
    """Fill found from the package's result for its goal."""
    lower, upper = result.relevant_lower_bound, result.relevant_upper_bound
    found.lower, found.upper = float(lower) if lower else None, float(upper) if upper else None
    found.complete = True
    found.regular = lower is not None and upper is not None
    if lower:
        found.loss_ratio = next(iter(lower.target_to_stat.values())).pessimistic_loss_ratio
        found.conditional = float(result.conditional_throughput)
    if upper is None:
        found.note = "the highest load kept the goal: the device was not the limit"
    elif lower is None:
        found.note = "even the lowest load did not keep the goal"


def search(measure, goals, low, high, founds=None):
    """Search for all goals, whose durations are the same, between two loads. Returns a list of Found in the order of goals.

    founds: an empty list that is filled; after an exception of measure it holds the bounds that are known until then. Raises
    ValueError unless 0 < low < high, and Failure without the package.
    """
    if not 0 < low < high:
        raise ValueError(f"limits of a search: 0 < {low} < {high} does not hold")
    mlr, founds = package(), [] if founds is None else founds
    founds += [Found(g) for g in goals]
    trials = _Trials(measure, founds)
    wanted = [mlr.SearchGoal(
        loss_ratio=g.loss_ratio, exceed_ratio=EXCEED, relative_width=g.width, initial_trial_duration=g.short,
        final_trial_duration=g.seconds, duration_sum=g.seconds * g.trials, preceding_targets=2,
        expansion_coefficient=2, fail_fast=False) for g in goals]
    config = mlr.Config(goals=wanted, min_load=low, max_load=high, search_duration_max=LONGEST, warmup_duration=0.0)
    try:
        results = mlr.MultipleLossRatioSearch(config=config).search(measurer=trials, debug=lambda _: None)
    except BaseException:
        for found in founds:
            found.lower, found.upper = trials.bounds(found.goal)
        raise
    for found, goal in zip(founds, wanted):
        _describe(found, results[goal])
    return founds
