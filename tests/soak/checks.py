# SPDX-License-Identifier: BSD-3-Clause
"""What must hold, of what was seen: rows (one a second), rests (looks at a gateway that nothing is sent to) and what the processes
have said at their end. Each check returns faults as sentences."""

import re
import statistics

from tests.common.said import GOES_ON, NO_CPU
from vbnglab.lab import run

SETTLED = 64  # packets, two bursts: what counters that are read one after the other may leave open while packets move
PATIENCE = 30  # rows, of which one must have settled. A core that is away between two counters leaves more open
ANON_SLACK = 1024  # KiB; libc keeps what was freed, and our requests are of many sizes
HEAP_SLACK = 1024  # bytes of DPDK's heap: where the rest of a block is too small for another one (below 192 bytes) it stays with the
#                    block, and a peer that comes takes other blocks each time. What leaks adds up
DRIFT = 2.0  # how many times later packets may be than in the first window. The least tenth of the calm seconds is compared
DRIFT_NS = 100e3  # and that much: the kernel's timer slack is about half of it
CALM = 1 / 3  # of the machine's CPU time idle: else others have it, and what is late is theirs
ENOUGH = 5  # calm seconds, for a window to be judged
LATE = ("p50", "p99")
ERRORS = ("rx_errors", "rx_no_mbuf", "tx_errors")
SINK_ERRORS = ("duplicates", "late", "unknown_stream", "clock_errors", "unchecked")
SAID = (
    r".*gateway\.cfg:\d+: warning: port '\w+' drops packets that scheduling in '\w+' has let pass: .*",
    r"vbng: warning: port \w+: its peer (has gone|is back)",
    GOES_ON,
)  # fmt: skip


def ledger(rows):
    """Is every packet accounted for? What is open while packets move must settle again and again, at 0."""
    faults = []
    for i in range(0, len(rows), PATIENCE):
        part = rows[i : i + PATIENCE]
        least = min(abs(row["ledger"]["under_way"]) for row in part)
        if least > SETTLED and (len(part) == PATIENCE or i == 0):
            faults.append(f"{part[0]['at']:.0f} s: {least} packets unexplained, for {len(part)} looks")
    return faults


def rests(found):
    """With nothing under way, no packet is open, no mbuf is taken, and memory, files and threads are what they were before.
    libc's memory counts from when each kind of change was done once: it grows to what the largest of them takes."""
    faults, first, grown = [], found[0] if found else None, next((rest["anon_kib"] for rest in found if rest["changed"]), None)
    for rest in found:
        at = f"at rest, {rest['at']:.0f} s"
        faults += [f"{at}: {rest['ledger'][key]} packets {what}" for key, what in (("under_way", "unexplained"), ("held", "still held")) if rest["ledger"][key]]
        if rest["mbufs"]:
            faults.append(f"{at}: {rest['mbufs']} mbufs in use")
        for key, slack in (("heap", HEAP_SLACK), ("files", 0), ("threads", 0)):
            if rest[key] > first[key] + slack:
                faults.append(f"{at}: {key} has grown from {first[key]} to {rest[key]}")
        if rest["changed"] and rest["anon_kib"] > grown + ANON_SLACK:
            faults.append(f"{at}: anon_kib has grown from {grown} to {rest['anon_kib']}")
    return faults


def errors(rows):
    return [f"{key}: {rows[-1][key]}" for key in ERRORS if rows and rows[-1][key]]


def lines(said):
    """Whatever the gateway says beyond what peers and the machine make it say: its watchdog, its pools, its drivers."""
    return [f"{at:.0f} s: the gateway said: {line}" for at, line in said if not any(re.fullmatch(p, line) for p in (*SAID, NO_CPU))]


def without_cpu(said):
    """How often the machine let nothing of the gateway run."""
    return sum(bool(re.fullmatch(NO_CPU, line)) for _, line in said)


def flow(rows):
    """Packets must arrive: in each stretch of rows, some."""
    stretches = [rows[i : i + PATIENCE] for i in range(0, len(rows), PATIENCE)]
    return [f"{part[0]['at']:.0f} s: no packet has arrived for {len(part)} looks" for part in stretches if not any(row["arrived"] for row in part)]


def windows(rows, seconds):
    """Rows by windows of so many seconds."""
    out = {}
    for row in rows:
        out.setdefault(int(row["at"] // seconds), []).append(row)
    return list(out.values())


def least_tenth(rows, key):
    """Of the calm rows, what a tenth is at or below; None: there are too few."""
    values = [row[key] for row in rows if row["idle"] >= CALM and row["arrived"]]
    return statistics.quantiles(values, n=10, method="inclusive")[0] if len(values) >= ENOUGH else None


def drift(rows, window):
    """Are packets later than in the first window that can be judged? Returns (faults, windows judged, all windows)."""
    faults, judged, parts = [], 0, windows(rows, window)
    for key in LATE:
        known = [(part[0]["at"], value) for part in parts if (value := least_tenth(part, key)) is not None]
        judged = max(judged, len(known))
        faults += [f"{at:.0f} s: {key} of latency is {value / 1e3:.0f} us at best, after {known[0][1] / 1e3:.0f} us at first"
                   for at, value in known[1:] if value > DRIFT * known[0][1] + DRIFT_NS]  # fmt: skip
    return faults, judged, len(parts)


def sinks(report):
    """What a tester has received must be what was sent to it."""
    faults = []
    for task in (t for t in report["tasks"] if t["type"] == "sink"):
        measured, streams = task["measured"], task["measured"]["streams"]
        faults += [f"{task['name']}: {n} packets with wrong {kind}" for one in streams for kind, n in one["wrong"].items() if n]
        counts = {key: measured.get(key, 0) + sum(one.get(key, 0) for one in streams) for key in SINK_ERRORS}
        faults += [f"{task['name']}: {n} {key}" for key, n in counts.items() if n]
    return faults


def wires(tester, gateway):
    """What either of the two has sent through a pair of ports, the other must have received."""
    faults = []
    for near, far in (("t_cpe", "cpe0"), ("t_core", "core0")):
        a, b = run.port(tester, near), run.port(gateway, far)
        for what, sender, receiver in ((f"to {far}", a, b), (f"from {far}", b, a)):
            received = receiver["rx_packets"] + receiver["rx_missed"] + receiver["rx_errors"]
            if sender["tx_packets"] != received:
                faults.append(f"{what}: {sender['tx_packets']} sent, {received} received")
    return faults


def ends(gateway, steady, guests):
    """Exit status, ledger, streams and the account between processes, from the results of all that ended by themselves."""
    named = [("gateway", gateway), ("tester 0", steady), *(("tester 1", guest) for guest in guests)]
    faults = [f"{name}: {result.error}" for name, result in named if not result.ok]
    for name, result in named[1:]:
        faults += [f"{name}: {fault}" for fault in sinks(result.report)] if result.ok else []
    return faults + (wires(steady.report, gateway.report) if gateway.ok and steady.ok else [])
