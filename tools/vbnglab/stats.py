# SPDX-License-Identifier: BSD-3-Clause
"""Statistics for few, skewed and noisy values: ranks only, no assumption about a distribution.

Throughputs of a shared machine are not normal: now and then one is far too low, and none is far too high.
So the figure is the median, its uncertainty comes from order statistics, and two samples are compared by
ranks (Mann and Whitney; the ratio after Hodges and Lehmann). All is exact for the numbers of trials in use.
"""

import math
from dataclasses import dataclass
from statistics import median

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Interval:
    """A confidence interval. confidence is what it really covers; with few values less than was asked for."""

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
    interval: Interval  # of the median

    @property
    def spread(self):
        """(max - min) / median; 0 when the median is 0."""
        return (self.max - self.min) / self.median if self.median else 0.0

    @property
    def width(self):
        """Half the confidence interval of the median, relative to the median; 0 when the median is 0."""
        return (self.interval.high - self.interval.low) / 2 / self.median if self.median else 0.0


def _below(n, k):
    """P(fewer than k of n values are below the median)."""
    return sum(math.comb(n, i) for i in range(k)) / 2**n


def median_interval(values, confidence=CONFIDENCE):
    """Confidence interval of the median from order statistics: [x(k), x(n+1-k)] with the largest k whose coverage,
    1 - 2 P(Bin(n, 1/2) < k), is at least the confidence. Holds for every distribution. Fewer than 6 values
    cannot reach 0.95: then it is [min, max] with the coverage that this has."""
    x = sorted(values)
    if not x:
        raise ValueError("no values")
    n, k = len(x), 1
    while k < (n + 1) // 2 and 1 - 2 * _below(n, k + 1) >= confidence:
        k += 1
    return Interval(x[k - 1], x[n - k], 1 - 2 * _below(n, k))


def summary(values, confidence=CONFIDENCE):
    """Median, min, max and the confidence interval of the median."""
    values = list(values)
    return Summary(len(values), median(values), min(values), max(values), median_interval(values, confidence))


def settled(values, width, confidence=CONFIDENCE):
    """Is the median known: does its interval cover the confidence and reach at most width x median to each side
    (on average of both sides)?"""
    if not values:
        return False
    s = summary(values, confidence)
    return s.interval.confidence >= confidence and s.width <= width


def _rank_counts(n, m):
    """counts[u]: in how many of the C(n+m, n) orders of two samples the statistic U of Mann and Whitney is u."""
    size = n * m + 1
    counts = [1] + [0] * (size - 1)  # Gaussian binomial coefficient: product of (1 - x^(m+i)) / (1 - x^i)
    for i in range(1, n + 1):
        for u in range(size - 1, m + i - 1, -1):
            counts[u] -= counts[u - m - i]
        for u in range(i, size):
            counts[u] += counts[u - i]
    return counts


@dataclass(frozen=True)
class Comparison:
    """Sample a against sample b."""

    ratio: float  # how many times larger a is: the median of all quotients a/b (Hodges and Lehmann)
    interval: Interval  # of the ratio
    p: float  # probability of so clear an order if there were no difference (Mann and Whitney, two-sided, exact)
    verdict: str  # "larger", "smaller", or "no difference seen"


def compare(a, b, confidence=CONFIDENCE):
    """Compare two samples of positive values. The verdict is a difference only where p < 1 - confidence. With fewer
    than 4 values each, 0.95 cannot be reached and the verdict is always that no difference was seen."""
    if not a or not b:
        raise ValueError("no values")
    if min(*a, *b) <= 0:
        raise ValueError("values must be positive")
    quotients = sorted(x / y for x in a for y in b)
    counts, total = _rank_counts(len(a), len(b)), math.comb(len(a) + len(b), len(a))
    larger = sum((x > y) + (x == y) / 2 for x in a for y in b)
    extreme = math.ceil(min(larger, len(quotients) - larger))  # ties count against a difference
    p = min(1.0, 2 * sum(counts[:extreme + 1]) / total)
    k, tail = 0, counts[0]
    while k + 1 < (len(quotients) + 1) // 2 and 2 * (tail + counts[k + 1]) / total <= 1 - confidence:
        k += 1
        tail += counts[k]
    interval = Interval(quotients[k], quotients[-1 - k], 1 - 2 * tail / total)
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
    low, high = 0.0, 10.0 * (lost + 5)

    def at_most(mean):  # P(Poisson(mean) <= lost)
        if lost > 1000:  # normal approximation, with continuity correction
            return 0.5 * math.erfc((mean - lost - 0.5) / math.sqrt(2 * mean)) if mean > 0 else 1.0
        log_mean = math.log(mean) if mean > 0 else -math.inf
        return 1.0 if mean == 0 else sum(math.exp(i * log_mean - mean - math.lgamma(i + 1)) for i in range(lost + 1))

    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if at_most(middle) > 1 - confidence else (low, middle)
    return min(1.0, high / sent)


def ratio_text(lost, sent):
    """A loss ratio that never rounds a loss away: "0", "3.1e-07", "0.52 %"."""
    if lost == 0 or sent == 0:
        return "0"
    ratio = lost / sent
    return f"{ratio * 100:.3g} %" if ratio >= 1e-4 else f"{ratio:.1e}"
