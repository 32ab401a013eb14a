# SPDX-License-Identifier: BSD-3-Clause
"""The gateway in a virtual machine, tester on the host, with or without a switch between them; and the account of all.

    tester ── (OvS-DPDK) ── gateway in the guest ── (OvS-DPDK) ── tester

Four streams: cpe0 to core0, cpe1 to core1, and back. Every packet must be found again: what one process has sent
to a port, the next one must have received or dropped there for a reason.
"""

import json
import os
import shutil
import socket
import tempfile
import time
from dataclasses import dataclass, field

from . import run
from .ovs import OvsDpdk, SwitchError
from .vm import Vm, VmResult
from .vm_qemu import Spec, parse_port

PORTS = ("cpe0", "cpe1", "core0", "core1")
STREAMS = {"gen_up0": "sink_up0", "gen_up1": "sink_up1", "gen_down0": "sink_down0", "gen_down1": "sink_down1"}
NEVER = "24h"  # when a stream begins that is begun by request
START_SECONDS = 30.0  # until the tester answers
SETTLE_SECONDS = 2.0  # from the last packet sent to the end: all that is under way arrives


@dataclass(frozen=True)
class Outcome:
    """What became of a demonstration."""

    tester: run.Result | None
    guest: VmResult | None
    switch: dict | None  # {port: its counters}; None: no switch
    faults: list = field(default_factory=list)  # what is wrong, as sentences

    @property
    def ok(self):
        return not self.faults


# --- account ---


def _edges(port, tester, guest, switch):
    """(what, sent, received or dropped with a reason) of the ways between the tester and a port of the guest."""
    t, g = run.port(tester, f"t_{port}"), run.port(guest, port)
    t_in, g_in = (p["rx_packets"] + p["rx_missed"] + p["rx_errors"] for p in (t, g))
    if switch is None:
        return [(f"tester to guest's {port}", t["tx_packets"], g_in), (f"guest's {port} to tester", g["tx_packets"], t_in)]
    near, far = switch[f"t_{port}"], switch[port]
    return [
        (f"tester to switch's t_{port}", t["tx_packets"], near["rx_packets"] + near["rx_drop"]),
        (f"switch's t_{port} to {port}", near["rx_packets"], far["tx_packets"] + far["tx_drop"]),
        (f"switch to guest's {port}", far["tx_packets"], g_in),
        (f"guest to switch's {port}", g["tx_packets"], far["rx_packets"] + far["rx_drop"]),
        (f"switch's {port} to t_{port}", far["rx_packets"], near["tx_packets"] + near["tx_drop"]),
        (f"switch to tester's t_{port}", near["tx_packets"], t_in),
    ]


def account(tester, guest, switch, ports=PORTS):
    """What does not balance between two reports and the switch's counters (None: no switch), as sentences."""
    faults = []
    for name, report in (("tester", tester), ("guest", guest)):
        if not report["ledger"]["balances"]:
            faults.append(f"the {name}'s ledger does not balance: {report['ledger']}")
    for port in ports:
        for what, sent, received in _edges(port, tester, guest, switch):
            if sent != received:
                faults.append(f"{what}: {sent} sent, {received} received or dropped for a reason")
    return faults


def streams(tester):
    """[{name, sent, received, lost, duplicates, reordered, wrong, latency_ns}] of the four streams."""
    out = []
    for gen, sink in STREAMS.items():
        g, s = run.task(tester, gen), run.task(tester, sink)
        measured = s["measured"]["streams"]
        one = measured[0] if measured else {"received": 0, "duplicates": 0, "reordered": 0, "wrong": {}, "latency_ns": None}
        out.append({"name": gen.removeprefix("gen_"), "sent": g["created"], "received": one["received"],
                    "lost": g["created"] - one["received"] + one["duplicates"], "duplicates": one["duplicates"],
                    "reordered": one["reordered"], "wrong": one["wrong"], "unstamped": s["measured"]["unstamped"],
                    "strangers": max(0, len(measured) - 1), "latency_ns": one["latency_ns"]})  # fmt: skip
    return out


def stream_faults(rows):
    """What is wrong with the packets that came, and with streams of which none did."""
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


# --- run ---


class Tester:
    """The tester's vbng: it waits, with its streams ready, until it is told to send. folder: where its sockets are."""

    def __init__(self, name, folder, rate, vbng):
        self._control = os.path.join(folder, "tester.control")
        settings = {f"{gen}.{key}": value for gen in STREAMS for key, value in (("rate", rate), ("start", NEVER))}
        self.running = run.start(os.path.join(run.TOP, "cfg", name), settings=settings, share_cpus=True, vbng=vbng,
                                 extra=["--control", self._control], cwd=folder)  # fmt: skip

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.running.stop()

    def gone(self):
        """Has it ended?"""
        return not self.running.alive()

    def _ask(self, client, request):
        client.sendall(json.dumps(request).encode() + b"\n")
        answer = json.loads(client.makefile("r", encoding="utf-8").readline() or "{}")
        if not answer.get("ok"):
            raise OSError(f"the tester refuses {request}: {answer.get('error')}")

    def send(self, seconds):
        """Send for that long, and wait until all has arrived. It answers when its ports are up. Returns whether it did."""
        try:
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(START_SECONDS)
                client.connect(self._control)
                for command, wait in (("start-stream", seconds), ("stop-stream", SETTLE_SECONDS)):
                    for gen in STREAMS:
                        self._ask(client, {"cmd": command, "task": gen})
                    time.sleep(wait)
        except OSError:
            return False  # it has died: its result says why
        return True


def _behind_switch(folder, spec, seconds, rate, options, vbng):
    with OvsDpdk(os.path.join(folder, "ovs")) as switch:
        attached = {p: switch.add_port(p) for p in PORTS}
        for p in PORTS:
            switch.add_port(f"t_{p}")
            switch.connect(p, f"t_{p}")
        switch.start()
        with Tester("gen-switch.cfg", switch.folder, rate, vbng) as tester:
            with Vm(spec([parse_port(attached[p].guest_port) for p in PORTS]), **options) as vm:
                sent = vm.ready(tester.gone) and tester.send(seconds)
                # before one of them leaves: Open vSwitch forgets the counters of a port whose far end does
                counters = switch.stats() if sent else None
                return tester.running.stop(), vm.stop(), counters


def _direct(folder, spec, seconds, rate, options, vbng):
    with Tester("gen-vm.cfg", folder, rate, vbng) as tester:
        with Vm(spec([parse_port(f"vhost:{folder}/{p}.sock") for p in PORTS]), **options) as vm:
            if vm.ready(tester.gone):
                tester.send(seconds)
            return tester.running.stop(), vm.stop(), None


def demonstrate(seconds, rate="20kpps", switch="ovs", config=None, tester_vbng=None, **options):
    """Run it; returns an Outcome. switch: "ovs" or "none". options: folder, cache, accel, vbng of Vm.
    Raises ImageError, SpecError or SwitchError where it cannot even begin."""
    config = config or os.path.join(run.TOP, "cfg", "bng-vm.cfg")
    folder = tempfile.mkdtemp(prefix="vbng-demo-")
    try:
        way = _behind_switch if switch == "ovs" else _direct
        tester, guest, counters = way(folder, lambda ports: Spec(config, ports), seconds, rate, options, tester_vbng)
    except SwitchError as e:
        return Outcome(None, None, None, [str(e)])
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    faults = [f"{name}: {r.error}" for name, r in (("guest", guest), ("tester", tester)) if not r.ok]
    if not faults:
        faults = account(tester.report, guest.report, counters) + stream_faults(streams(tester.report))
    return Outcome(tester, guest, counters, faults)


# --- table ---


def _drops(report):
    out = {}
    for task in report["tasks"]:
        for reason, n in task["drops"].items():
            if n:
                out[f"{task['name']}/{reason}"] = n
    return out


def table(outcome, seconds):
    """The streams, what was dropped where, and the latency, as lines for a terminal."""
    lines = [f"{'stream':8} {'sent':>10} {'received':>10} {'lost':>8} {'wrong':>6} {'kpps':>8} {'p50 us':>8} {'p99 us':>9}"]
    for row in streams(outcome.tester.report):
        late = row["latency_ns"] or {}
        times = " ".join(f"{late[k] / 1000:{w}.0f}" if k in late else f"{'-':>{w}}" for k, w in (("p50", 8), ("p99", 9)))
        lines.append(f"{row['name']:8} {row['sent']:10} {row['received']:10} {row['lost']:8} {sum(row['wrong'].values()):6} "
                     f"{row['received'] / seconds / 1000:8.1f} {times}")
    for name, report in (("tester", outcome.tester.report), ("guest", outcome.guest.report)):
        ledger = report["ledger"]
        words = " ".join(f"{k} {ledger[k]}" for k in ("received", "created", "sent", "consumed", "dropped", "held"))
        lines.append(f"{name:8} {words}; {'balances' if ledger['balances'] else 'DOES NOT BALANCE'}")
        lines += [f"{'':8} dropped {n} as {what}" for what, n in _drops(report).items()]
    if outcome.switch is not None:
        total = {k: sum(p[k] for p in outcome.switch.values()) for k in ("rx_packets", "rx_drop", "tx_packets", "tx_drop")}
        lines.append(f"{'switch':8} received {total['rx_packets']} sent {total['tx_packets']} dropped {total['rx_drop'] + total['tx_drop']}")
    return lines
