# SPDX-License-Identifier: BSD-3-Clause
"""What a running vbng-cp does: figures from two readings of its metrics."""


class Sample:
    """All metrics of a moment: {name: {labels: value}}."""

    def __init__(self, told, at):
        self.at = at
        self.of = {m["name"]: {tuple(s["labels"]): s["value"] for s in m["series"]} for m in told}

    def series(self, name):
        """(labels, value) of a metric, which an older vbng-cp may not have."""
        return self.of.get(name, {}).items()


def percentile(before, now, p):
    """The bound below which the share p of what a histogram has counted between two readings lies; None: nothing was counted, inf: beyond its bounds."""
    was = dict(map(tuple, before["buckets"])) if before else {}
    count = now["count"] - (before["count"] if before else 0)
    if count <= 0:
        return None
    return next((bound for bound, n in now["buckets"] if n - was.get(bound, 0) >= p * count), float("inf"))


class Sessions:
    """What two samples say: how it is at the second one, and rates per second between both."""

    def __init__(self, before, now):
        self.before, self.now = before, now

    def rate(self, name, labels):
        """Of a counter; one that was started again counts from 0."""
        was, now = self.before.of.get(name, {}).get(labels, 0), self.now.of[name][labels]
        return (now - was if now >= was else now) / max(1e-9, self.now.at - self.before.at)

    def percentiles(self, name, labels):
        """The 50th and the 99th of what a histogram has counted between both, in seconds: see percentile()."""
        before = self.before.of.get(name, {}).get(labels)
        now = self.now.of[name][labels]
        if before and now["count"] < before["count"]:
            before = None  # it was started again
        return {key: percentile(before, now, p) for key, p in (("p50", 0.5), ("p99", 0.99))}

    def kinds(self):
        """Of each kind of session how many are up, came up and ended."""
        return [{"kind": kind, "up": n, "begun_ps": self.rate("vbng_cp_sessions_begun_total", (kind,)), "ended_ps": self.rate("vbng_cp_sessions_ended_total", (kind,))}
                for (kind,), n in self.now.series("vbng_cp_sessions")]  # fmt: skip

    def lines(self):
        """Lines of each state."""
        return [{"state": state, "lines": n} for (state,), n in self.now.series("vbng_cp_lines")]

    def failures(self):
        """Reasons that were counted, the most frequent of this interval first."""
        words = dict(self.now.series("vbng_cp_failure"))
        found = [{"reason": labels[0], "ps": self.rate("vbng_cp_failures_total", labels), "total": n,
                  "means": words.get(labels, {}).get("meaning", ""), "remedy": words.get(labels, {}).get("remedy", "")}
                 for labels, n in self.now.series("vbng_cp_failures_total") if n]  # fmt: skip
        return sorted(found, key=lambda f: (-f["ps"], -f["total"]))

    def pools(self):
        """How much of each pool is in use."""
        return [{"pool": " ".join(labels), "used": size - self.now.of["vbng_cp_pool_free"][labels], "size": size}
                for labels, size in self.now.series("vbng_cp_pool_size")]  # fmt: skip

    def radius(self):
        """Each server, with its latency of this interval."""
        of = self.now.of
        return [{"server": " ".join(labels), "asked_ps": self.rate("vbng_cp_radius_requests_total", labels), **self.percentiles("vbng_cp_radius_seconds", labels),
                 "pending": of["vbng_cp_radius_pending_requests"][labels], "timeouts": of["vbng_cp_radius_timeouts_total"][labels],
                 "alive": bool(of["vbng_cp_radius_alive"][labels])} for labels, _ in self.now.series("vbng_cp_radius_seconds")]  # fmt: skip

    def relays(self):
        """Each server of DHCP behind a relay, with the time of its answers in this interval."""
        of = self.now.of
        return [{"server": " ".join(labels), "sent_ps": self.rate("vbng_cp_relay_messages_total", labels),
                 "answers_ps": self.rate("vbng_cp_relay_answers_total", labels), **self.percentiles("vbng_cp_relay_seconds", labels),
                 "unanswered": of["vbng_cp_relay_unanswered"][labels], "deaths": of["vbng_cp_relay_deaths_total"][labels],
                 "alive": bool(of["vbng_cp_relay_alive"][labels])} for labels, _ in self.now.series("vbng_cp_relay_seconds")]  # fmt: skip

    def store(self):
        """Commits of the store, with their times of this interval."""
        return [{"commits": n["count"], **self.percentiles("vbng_cp_store_commit_seconds", labels)} for labels, n in self.now.series("vbng_cp_store_commit_seconds")]
