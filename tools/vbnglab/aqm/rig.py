# SPDX-License-Identifier: BSD-3-Clause
"""One run of a case: a gateway between a home and a server, in network namespaces that end with it."""

import os
import tempfile
import time
from contextlib import suppress
from statistics import median

from ..lab import network, run
from ..lab.failure import Failure
from . import case, scalable
from .ends import End, Home, Server

START = 30.0  # seconds that the gateway may take until a ping comes through
PING = 14 + 8 + 8 + 48 + 4  # bytes of the answer to a ping on the line, but for the header of IP
SETTLE = 0.25  # the part of a download that is not judged: slow start


def quantile(values, q):
    """The q-th quantile of some values, the nearest rank; None of nothing."""
    found = sorted(values)
    return found[min(len(found) - 1, int(q * len(found)))] if found else None


def join(home, server):
    """Lay both lines: an interface of the gateway's in this namespace, the other end in that of a process."""
    for name, mac, far, end in (("line", case.GATEWAY_MAC, "modem", home), ("core", case.CORE_MAC, "net", server)):
        network.ip("link", "add", name, "address", mac, "mtu", 2000, "type", "veth", "peer", "name", far, "mtu", 1500 if far == "net" else 2000,
                   "netns", end.process.pid)
        network.ip("link", "set", name, "up")
        end.call("join")


def part():
    """Remove both lines. The end of a process, by an error of which its caller tells, has taken its own along, or does so meanwhile."""
    for name in ("line", "core"):
        with suppress(Failure):
            network.ip("link", "del", name)


def measure(c, options):
    """Run a case. options: of command.Options. Returns what was seen, or {"error": why not}, as a dictionary for JSON. A ledger that does not
    balance is an error."""
    with tempfile.TemporaryDirectory(prefix="vbng-aqm-") as folder:
        path = os.path.join(folder, "aqm.cfg")
        with open(path, "w", encoding="utf-8") as f:
            f.write(c.configuration())
        family = case.FAMILIES[c.family]
        with End(Home, family, options.ecn, options.rtt) as home, End(Server, family, options.ecn) as server:
            try:
                join(home, server)
                with run.start(path, share_cpus=True, extra=options.extra, vbng=options.vbng) as gateway:
                    seen, failure = None, ""
                    try:
                        seen = load(c, options, gateway, home, server)
                    except Failure as e:
                        failure = str(e)
                    result = gateway.stop()
            finally:
                part()
    if failure or not result.ok:
        return {"error": "; ".join(filter(None, (failure, result.error)))}
    return {**judge(c, options, *seen), "drops": drops(result.report), "ledger": result.report["ledger"]}


def load(c, options, gateway, home, server):
    """Load the line. Returns what the home and the server have seen. Raises Failure."""
    if not home.call("reach", START):
        raise Failure(f"no ping comes through the gateway: {gateway.output().strip()}")
    kinds = c.kinds()
    server.call("use", next((k for k in kinds if k != scalable.NAME), ""))
    home.call("connect", kinds)
    home.begin("download", options.idle, options.seconds * SETTLE, options.seconds)
    time.sleep(options.idle + options.seconds * SETTLE)
    rtts, again, marked = server.call("watch", options.seconds * (1 - SETTLE) - 0.2)
    return home.result(), rtts, again, marked


def judge(c, options, seen, rtts, again, marked):
    """The figures of a run: delays in ms, rates in bit/s, shares of what pings leave of the rate."""
    settle, took = options.seconds * SETTLE, options.seconds * (1 - SETTLE)
    loaded = [(ms, ecn) for at, ms, ecn in seen["pings"] if settle <= at < options.seconds]
    plain, low = [ms for ms, ecn in loaded if ecn == 0], [ms for ms, ecn in loaded if ecn != 0]
    idle = [ms for at, ms, _ in seen["pings"] if at < 0]
    rates = [8 * n / took for n in seen["bytes"]]
    left = c.rate - 8 * (PING + case.FAMILIES[c.family].header) * len(loaded) / took
    squares = sum(r * r for r in rates)
    return {
        "idle_ms": median(idle) if idle else None, "ping_p50_ms": quantile(plain, 0.5), "ping_p95_ms": quantile(plain, 0.95),
        "l4s_ping_p50_ms": quantile(low, 0.5), "pings": len(loaded), "pings_lost": seen["lost"], "goodput_bps": sum(rates), "goodput_share": sum(rates) / left,
        "fairness": sum(rates) ** 2 / (len(rates) * squares) if squares else None, "tcp_rtt_p50_ms": quantile(rtts, 0.5),
        "shares": [r / left for r in rates], "retransmits": again, "marked": marked,
        "delay": [[round(at, 3), round(ms, 3), ecn] for at, ms, ecn in seen["pings"]],
    }


def middle(several):
    """Of some runs of a case, the one with the median of goodput, with the least and the most of it; or one with an error."""
    for result in several:
        if "error" in result:
            return result
    found = sorted(several, key=lambda r: r["goodput_share"])
    return {**found[len(found) // 2], "runs": len(found), "goodput_share_least": found[0]["goodput_share"],
            "goodput_share_most": found[-1]["goodput_share"]}


def drops(report):
    """{reason: packets} that the task towards the line has dropped."""
    task = run.task(report, "qos_down")
    return {reason: n for reason, n in task.get("drops", {}).items() if n}
