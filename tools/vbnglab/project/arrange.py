# SPDX-License-Identifier: BSD-3-Clause
"""The best arrangement of a graph on so many cores, and what limits it.

Without a scheduler each core does everything, with a receive queue of each port. With schedulers, either each of them is on one core, with
as many of its neighbours in the graph as pay, and all other cores share the rest of the work; or some cores spread packets by subscriber
(lb), and each of the others is a shard of every scheduler and does all for its subscribers. Every such arrangement is calculated, and the
one with the most packets taken.
"""

import itertools
from dataclasses import dataclass, replace

from .costs import SHARE


@dataclass(frozen=True)
class Arrangement:
    """Packets per second, what limits them ("cores", "ring", "one scheduler per core", "shards"), cycles of a packet on all cores, those of
    rings among them, how many cores have a scheduler and how many are used, the types of the tasks on a scheduler's core, and how many
    cores spread packets over shards (0: there are none)."""

    pps: float
    limit: str
    cycles: float
    rings: float
    schedulers: int
    used: int
    beside: tuple
    spreading: int = 0


def whole(ways, costs):
    """Cycles of a packet that one core takes from port to port."""
    both = costs.both if len({scheduler for _, _, scheduler in ways if scheduler}) > 1 else 0.0
    return sum(share * (costs.sum(kinds, True) + both * costs.fused_part(kinds)) for kinds, share, _ in ways)


def _cut(kinds, first, last, costs, pool):
    """(cycles of the scheduler's core, of the pool, of rings) of a way whose tasks from first to last are on the scheduler's core."""
    put, take = costs.put, costs.take()
    own = costs.sum(kinds[first:last + 1], first == 0)
    rest = rings = 0.0
    if first > 0:
        own, rest, rings = own + take, rest + costs.sum(kinds[:first], True) + put(pool), rings + put(pool) + take
    if last + 1 < len(kinds):
        spread = costs.of("lb", False) if pool > 1 else 0.0
        own, rest, rings = own + spread + put(), rest + costs.sum(kinds[last + 1:], kinds[last] == "qos") + take, rings + put() + take
    return own, rest, rings


def _busiest(chosen, cores, costs):
    """Cycles of a packet on the busiest of the schedulers' cores: the largest goes where there is least."""
    each = {}
    for _, scheduler, share, (own, _, _) in chosen:
        if scheduler is not None:
            load, all_shares = each.get(scheduler, (0.0, 0.0))
            each[scheduler] = load + share * own, all_shares + share
    bins = [[0.0, 0.0, 0] for _ in range(cores)]
    for load, share in sorted(each.values(), reverse=True):
        least = min(bins)
        least[0], least[1], least[2] = least[0] + load, least[1] + share, least[2] + 1
    return max(load + (costs.both * share if schedulers > 1 else 0.0) for load, share, schedulers in bins)


def _with_schedulers(ways, costs, hz, cores, number):
    """The best Arrangement that uses all of the cores; number: schedulers in all, each a core's at most."""
    best = None
    for k in range(1, min(number, cores) + 1):
        pool = cores - k
        choices = []
        for kinds, share, scheduler in ways:
            if scheduler is None:
                choices.append([(None, None, share, (0.0, costs.sum(kinds, True), 0.0))])
                continue
            at = kinds.index("qos")
            cuts = ((f, t) for f in range(at + 1) for t in range(at, len(kinds)))
            choices.append([(tuple(kinds[f:t + 1]), scheduler, share, _cut(kinds, f, t, costs, pool)) for f, t in cuts if pool or (f, t) == (0, len(kinds) - 1)])
        for chosen in itertools.product(*choices):
            own, rest, rings = (sum(share * part[i] for _, _, share, part in chosen) for i in range(3))
            if not pool and rest:
                continue
            busiest = _busiest(chosen, k, costs)
            pps = min(hz / busiest, pool * hz / rest if rest else float("inf"))
            if best is None or pps > best.pps * (1 + 1e-9):
                tight = hz / busiest <= pps * (1 + 1e-9)
                limit = "ring" if rings > (own + rest) / 2 else "one scheduler per core" if tight and k == number and k < cores else "cores"
                best = Arrangement(pps, limit, own + rest, rings, k, cores, tuple(beside for beside, *_ in chosen if beside))
    return best


def arrange(ways, costs, hz, cores, number):
    """The best Arrangement on so many cores, some of which it may leave idle. ways: of path.ways(); number: schedulers of the graph, each
    with one core."""
    one = whole(ways, costs)
    if number == 0:
        return Arrangement(cores * hz / one, "cores", one, 0.0, 0, cores, ())
    best = Arrangement(hz / one, "cores", one, 0.0, 1, 1, ())
    for n in range(2, cores + 1):
        found = _with_schedulers(ways, costs, hz, n, number)
        if found.pps > best.pps * (1 + 1e-9):
            best = found
    if best.used < cores and best.limit == "cores":  # more would help but for what it costs to get packets there
        best = replace(best, limit="ring" if best.schedulers < number or best.used == 1 else "one scheduler per core")
    return best


def sharded(ways, costs, hz, cores):
    """The best Arrangement with shards on so many cores, or None: two shards and a core before them are the fewest."""
    own, best = costs.take() + whole(ways, costs) + SHARE, None
    for spreading in range(1, cores - 1):
        n = min(cores - spreading, costs.shards)
        spread = costs.of("lb", True) + costs.put(spreading)
        pps = min(spreading * hz / spread, n * hz / own)
        if n > 1 and (best is None or pps > best.pps * (1 + 1e-9)):
            rings = costs.put(spreading) + costs.take()
            limit = "ring" if rings > (own + spread) / 2 else "shards" if n == costs.shards and n * hz / own <= pps * (1 + 1e-9) else "cores"
            best = Arrangement(pps, limit, own + spread, rings, n, spreading + n, (), spreading)
    return best
