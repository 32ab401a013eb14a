# SPDX-License-Identifier: BSD-3-Clause
"""Statistics for few, skewed and noisy values: ranks only, no assumption about a distribution.

Throughputs of a shared machine are not normal: now and then one is far too low, and none is far too high.
So the figure is the median, its uncertainty comes from order statistics, and two samples are compared by
ranks (Mann and Whitney; the ratio after Hodges and Lehmann). All is exact for the numbers of trials in use.
"""

import bisect
import functools
import importlib
from dataclasses import dataclass
from statistics import median

from .failure import Failure, not_installed

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Interval:
    """A confidence interval. confidence: what it covers, which with few values is less than what was asked for."""

    low: float
    high: float
    confidence: float


@dataclass(frozen=True)
class Summary:
    """A sample in numbers."""

    n: int
    median: float
    min: float
    max: float
    interval: Interval  # confidence interval of the median

    @property
    def spread(self):
        """(max - min) / median; 0 when the median is 0."""
        return (self.max - self.min) / self.median if self.median else 0.0

    @property
    def width(self):
        """Half the confidence interval of the median, relative to the median; 0 when the median is 0."""
        return (self.interval.high - self.interval.low) / 2 / self.median if self.median else 0.0


def _scipy(part):
    """A part of SciPy, read when it is needed, as that takes a second. Raises Failure where it is not installed."""
    try:
        return importlib.import_module(f"scipy.{part}")
    except ImportError:
        raise Failure(not_installed("SciPy", "python3-scipy")) from None


def median_interval(values, confidence=CONFIDENCE):
    """Confidence interval of the median from order statistics: [x(k), x(n+1-k)] with the largest k whose coverage,
    1 - 2 P(Bin(n, 1/2) < k), is at least the confidence. Holds for every distribution. Fewer than 6 values
    cannot reach 0.95: then it is [min, max] with the coverage that this has."""
    x = sorted(values)
    if not x:
        raise ValueError("no values")
    n, below = len(x), _scipy("special").bdtr  # below(k, n, p): P(Bin(n, p) <= k)
    k = 1
    while k < (n + 1) // 2 and 1 - 2 * below(k, n, 0.5) >= confidence:
        k += 1
    return Interval(x[k - 1], x[n - k], float(1 - 2 * below(k - 1, n, 0.5)))


def summary(values, confidence=CONFIDENCE):
    """Median, min, max and the confidence interval of the median."""
    values = list(values)
    return Summary(len(values), median(values), min(values), max(values), median_interval(values, confidence))


def settled(values, width, confidence=CONFIDENCE):
    """Tell whether the median is known: its interval has the confidence and reaches at most width x median to each side, on
    average of both sides."""
    if not values:
        return False
    s = summary(values, confidence)
    return s.interval.confidence >= confidence and s.width <= width


@functools.cache
def _tail(n, m, k):
    """P(U <= k) of the statistic of Mann and Whitney for samples of n and m values without a difference."""
    above, one = divmod(k, m)  # k pairs have the first sample ahead: above of its values before all others, one value before some
    first = [*range(above - n, -1), one - 0.5, *range(m, m + above)][-n:]
    return float(_scipy("stats").mannwhitneyu(first, range(m), alternative="less", method="exact").pvalue)


@dataclass(frozen=True)
class Comparison:
    """How sample a compares with sample b."""

    ratio: float  # how many times larger a is: the median of all quotients a/b (Hodges and Lehmann)
    interval: Interval  # confidence interval of the ratio
    p: float  # probability of an order as clear as this without a difference (Mann and Whitney, two-sided, exact)
    verdict: str  # "larger", "smaller", or "no difference seen"


def compare(a, b, confidence=CONFIDENCE):
    """Compare two samples of positive values. The verdict is a difference only where p < 1 - confidence. With fewer
    than 4 values each, 0.95 cannot be reached and the verdict is always that no difference was seen."""
    if not a or not b:
        raise ValueError("no values")
    if min(*a, *b) <= 0:
        raise ValueError("values must be positive")
    quotients = sorted(x / y for x in a for y in b)
    # Ties count against a difference.
    p = float(_scipy("stats").mannwhitneyu(a, b, method="exact").pvalue)
    middle = (len(quotients) - 1) // 2
    outside = bisect.bisect_right(range(middle + 1), (1 - confidence) / 2, key=lambda k: _tail(len(a), len(b), k))
    k = max(outside - 1, 0)
    interval = Interval(quotients[k], quotients[-1 - k], 1 - 2 * _tail(len(a), len(b), k))
    ratio = median(quotients)
    verdict = "no difference seen"
    if p < 1 - confidence:
        verdict = "larger" if ratio > 1 else "smaller"
    return Comparison(ratio, interval, p, verdict)


def loss_bound(lost, sent, confidence=CONFIDENCE):
    """Upper confidence bound of a loss ratio (Poisson): no loss in 3 million packets still allows 1 in a million.
    1.0 when nothing was sent."""
    if sent <= 0:
        return 1.0
    return min(1.0, float(_scipy("special").gammaincinv(lost + 1, confidence)) / sent)


def ratio_text(lost, sent):
    """A loss ratio that never rounds a loss away: "0", "3.1e-07", "0.52 %"."""
    if lost == 0 or sent == 0:
        return "0"
    ratio = lost / sent
    return f"{ratio * 100:.3g} %" if ratio >= 1e-4 else f"{ratio:.1e}"
