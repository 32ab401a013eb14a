# SPDX-License-Identifier: BSD-3-Clause
"""A gateway between the ends of a tester, in two processes or more, and the account of all of them.

    tester ── (switch) ── gateway ── (switch) ── tester

Four streams: cpe0 to core0, cpe1 to core1, and back; each has a sink that knows what must arrive
(cfg/common/tester-pairs.cfg). Every packet must be found again: what one process has sent to a port, the next
one must have received or dropped there for a reason.
"""

import contextlib
import json
import os
import socket
import time

from . import run

PORTS = ("cpe0", "cpe1", "core0", "core1")
STREAMS = {"gen_up0": "sink_up0", "gen_up1": "sink_up1", "gen_down0": "sink_down0", "gen_down1": "sink_down1"}
NEVER = "24h"  # start time of streams that a request starts
CATCH_UP = "20ms"  # of the generators: how long the tester's core may be away, which it shares with a gateway or a guest, and yet send all
START_SECONDS = 30.0  # time limit for the first answer of the tester
SETTLE_SECONDS = 2.0  # wait after the last packet sent, in which all that is under way arrives
PATIENCE_SECONDS = 10.0  # where packets are missing then: how long none arrives, before they count as lost and not as held by a process that got no CPU


class Controlled:
    """A vbng that runs in a folder, where its control socket and the sockets of its devices are."""

    def __init__(self, name, config, folder, settings=None, vbng=None, seconds=None, sample=None):
        self._control = os.path.join(folder, f"{name}.control")
        self.running = run.start(config, seconds, settings, share_cpus=True, vbng=vbng, sample=sample,
                                 extra=["--control", self._control], cwd=folder)  # fmt: skip

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.running.stop()

    def gone(self):
        """Tell whether the process has ended."""
        return not self.running.alive()

    def _connect(self):
        """Connect to the control socket, which exists before the ports are up and answers when they are."""
        client, end = socket.socket(socket.AF_UNIX), time.monotonic() + START_SECONDS
        client.settimeout(START_SECONDS)
        while True:
            try:
                client.connect(self._control)
                return client
            except OSError:
                if self.gone() or time.monotonic() > end:
                    client.close()
                    raise
            time.sleep(0.05)

    def ask(self, *requests):
        """Make requests one after the other. Returns the last answer; raises OSError when one is refused, or nobody answers."""
        answer = None
        with self._connect() as client, client.makefile("r", encoding="utf-8") as lines:
            for request in requests:
                client.sendall(json.dumps(request).encode() + b"\n")
                answer = json.loads(lines.readline() or "{}")
                if not answer.get("ok"):
                    raise OSError(f"{request}: {answer.get('error')}")
        return answer

    def ready(self):
        """Wait until the ports are up. Returns False if the process has ended or does not answer; its Result says why."""
        try:
            self.ask({"cmd": "show-ledger"})
        except OSError:
            return False
        return True


class Tester(Controlled):
    """A tester whose streams begin when send() is called."""

    def __init__(self, config, folder, rate, vbng=None, settings=None):
        streams = {f"{gen}.{key}": value for gen in STREAMS for key, value in (("rate", rate), ("start", NEVER), ("catch_up", CATCH_UP))}
        super().__init__("tester", config, folder, streams | (settings or {}), vbng)

    def send(self, seconds, meanwhile=contextlib.nullcontext()):
        """Send for so many seconds, and wait until all packets have arrived or are lost. meanwhile: a context that is entered before the first packet
        and left after the last. Returns False if the tester has died; its Result says why."""
        try:
            with meanwhile:
                self._ask_streams("start-stream")
                time.sleep(seconds)
                self._ask_streams("stop-stream")
            time.sleep(SETTLE_SECONDS)
            self._settle()
        except OSError:
            return False
        return True

    def _ask_streams(self, command):
        self.ask(*({"cmd": command, "task": gen} for gen in STREAMS))

    def _settle(self):
        """Wait until as many packets are back as were sent, or for PATIENCE_SECONDS none came."""
        received, since = None, time.monotonic()
        while time.monotonic() < since + PATIENCE_SECONDS:
            ledger = self.ask({"cmd": "show-ledger"})["ledger"]
            if ledger["received"] >= ledger["sent"]:
                return
            if ledger["received"] != received:
                received, since = ledger["received"], time.monotonic()
            time.sleep(0.1)


# --- account ---


def _edges(port, tester, gateway, switch):
    """List (what, packets sent, packets received or dropped with a reason) for each way between the tester and a port of the gateway."""
    t, g = run.port(tester, f"t_{port}"), run.port(gateway, port)
    t_in, g_in = (p["rx_packets"] + p["rx_missed"] + p["rx_errors"] for p in (t, g))
    if switch is None:
        return [(f"tester to gateway's {port}", t["tx_packets"], g_in), (f"gateway's {port} to tester", g["tx_packets"], t_in)]
    near, far = switch[f"t_{port}"], switch[port]
    return [
        (f"tester to switch's t_{port}", t["tx_packets"], near["rx_packets"] + near["rx_drop"]),
        (f"switch to gateway's {port}", far["tx_packets"], g_in),
        (f"gateway to switch's {port}", g["tx_packets"], far["rx_packets"] + far["rx_drop"]),
        (f"switch to tester's t_{port}", near["tx_packets"], t_in),
    ]


def _through(switch, ports, inside):
    """List the faults of a switch that joins port and t_port: what it received and neither sent nor dropped at a port must be
    as much as it reports lost inside."""
    ways = [(f"switch's {a} to {b}", switch[a]["rx_packets"], switch[b]["tx_packets"] + switch[b]["tx_drop"])
            for port in ports for a, b in ((port, f"t_{port}"), (f"t_{port}", port))]  # fmt: skip
    missing = sum(received - sent for _, received, sent in ways)
    if missing == inside and all(received >= sent for _, received, sent in ways):
        return []
    return [f"{what}: {received} received, {sent} sent or dropped" for what, received, sent in ways if received != sent] + [
        f"switch: {missing} packets are missing between its ports, of which it says that it has lost {inside}"]  # fmt: skip


def account(tester, gateway, switch, inside=0, ports=PORTS):
    """List, as sentences, what does not balance between the two reports and the counters of the switch (None: there is none).
    inside: packets that the switch reports lost and counts at no port."""
    faults = []
    for name, report in (("tester", tester), ("gateway", gateway)):
        if not report["ledger"]["balances"]:
            faults.append(f"the {name}'s ledger does not balance: {report['ledger']}")
    for port in ports:
        for what, sent, received in _edges(port, tester, gateway, switch):
            if sent != received:
                faults.append(f"{what}: {sent} sent, {received} received or dropped for a reason")
    return faults + (_through(switch, ports, inside) if switch is not None else [])


def streams(tester):
    """[{name, missed, sent, received, lost, duplicates, reordered, wrong, latency_ns}] of the four streams. missed: packets that were due while the tester's
    core was away for longer than CATCH_UP, and were not made."""
    out = []
    for gen, sink in STREAMS.items():
        g, s = run.task(tester, gen), run.task(tester, sink)
        measured = s["measured"]["streams"]
        one = measured[0] if measured else {"received": 0, "duplicates": 0, "reordered": 0, "wrong": {}, "latency_ns": None}
        out.append({"name": gen.removeprefix("gen_"), "missed": g["stats"].get("missed", 0), "sent": g["created"], "received": one["received"],
                    "lost": g["created"] - one["received"] + one["duplicates"], "duplicates": one["duplicates"],
                    "reordered": one["reordered"], "wrong": one["wrong"], "unstamped": s["measured"]["unstamped"],
                    "strangers": max(0, len(measured) - 1), "latency_ns": one["latency_ns"]})  # fmt: skip
    return out


def stream_faults(rows):
    """List, as sentences, what is wrong with the packets that arrived, and the streams of which none did."""
    faults = []
    for row in rows:
        if row["received"] == 0:
            faults.append(f"stream {row['name']}: of {row['sent']} packets none arrived")
        for kind, n in row["wrong"].items():
            if n:
                faults.append(f"stream {row['name']}: {n} packets with wrong {kind}")
        for kind in ("duplicates", "unstamped", "strangers"):
            if row[kind]:
                faults.append(f"stream {row['name']}: {row[kind]} {kind}")
    return faults


# --- table ---


def _drops(report):
    out = {}
    for task in report["tasks"]:
        for reason, n in task["drops"].items():
            if n:
                out[f"{task['name']}/{reason}"] = n
    return out


def table(tester, gateway, switch, seconds, inside=0):
    """Lines for a terminal: the streams with their latency, the ledgers, and what was dropped where."""
    lines = [f"{'stream':8} {'missed':>8} {'sent':>10} {'received':>10} {'lost':>8} {'wrong':>6} {'kpps':>8} {'p50 us':>8} {'p99 us':>9}"]
    for row in streams(tester):
        late = row["latency_ns"] or {}
        times = " ".join(f"{late[k] / 1000:{w}.0f}" if k in late else f"{'-':>{w}}" for k, w in (("p50", 8), ("p99", 9)))
        lines.append(f"{row['name']:8} {row['missed']:8} {row['sent']:10} {row['received']:10} {row['lost']:8} {sum(row['wrong'].values()):6} "
                     f"{row['received'] / seconds / 1000:8.1f} {times}")
    for name, report in (("tester", tester), ("gateway", gateway)):
        ledger = report["ledger"]
        words = " ".join(f"{k} {ledger[k]}" for k in ("received", "created", "sent", "consumed", "dropped", "held"))
        lines.append(f"{name:8} {words}; {'balances' if ledger['balances'] else 'DOES NOT BALANCE'}")
        lines += [f"{'':8} dropped {n} as {what}" for what, n in _drops(report).items()]
    if switch is not None:
        total = {k: sum(p[k] for p in switch.values()) for k in ("rx_packets", "rx_drop", "tx_packets", "tx_drop")}
        lines.append(f"{'switch':8} received {total['rx_packets']} sent {total['tx_packets']} dropped {total['rx_drop'] + total['tx_drop'] + inside}")
    return lines
