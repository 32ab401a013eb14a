# SPDX-License-Identifier: BSD-3-Clause
"""What a vbng-cp could tell of itself."""


def told(begun, rejected, taken, times):
    """The metrics of a vbng-cp: one kind, one reason, one pool, one server of RADIUS, two of DHCP, and a store."""
    def metric(name, *series):
        return {"name": f"vbng_cp_{name}", "series": [{"labels": list(labels), "value": value} for labels, value in series]}

    histogram = {"buckets": [[0.001, times[0]], [0.01, times[1]]], "count": times[2], "sum": 0.0}
    peer = ("192.0.2.10", "authentication")
    lives, dead = ("kea", "192.0.2.67"), ("kea6", "2001:db8:100:200:300:400:500:547")
    return [metric("lines", (("none",), 1), (("up",), 40)), metric("sessions", (("ipoe",), 40), (("pppoe",), 2)),
            metric("sessions_begun_total", (("ipoe",), begun), (("pppoe",), 0)), metric("sessions_ended_total", (("ipoe",), 0), (("pppoe",), 0)),
            metric("failures_total", (("rejected",), rejected), (("nak",), 0)), metric("failure", (("rejected",), {"meaning": "is not let in", "remedy": "-"})),
            metric("pool_size", (("homes", "ipv4"), 100)), metric("pool_free", (("homes", "ipv4"), 100 - taken)),
            metric("radius_requests_total", (peer, begun + rejected)), metric("radius_timeouts_total", (peer, 3)), metric("radius_alive", (peer, 0)),
            metric("radius_pending_requests", (peer, 7)), metric("radius_seconds", (peer, histogram)), metric("relay_messages_total", (lives, begun), (dead, 40)),
            metric("relay_answers_total", (lives, begun - 2), (dead, 0)), metric("relay_unanswered", (lives, 2), (dead, 40)),
            metric("relay_deaths_total", (lives, 0), (dead, 1)), metric("relay_alive", (lives, 1), (dead, 0)),
            metric("relay_seconds", (lives, histogram), (dead, {**histogram, "count": 0, "buckets": [[0.001, 0]]})), metric("store_commit_seconds", ((), histogram))]
