# SPDX-License-Identifier: BSD-3-Clause
"""What is soaked: a gateway, a tester that stays, and one that comes and goes; and a look at all of them.

    tester 0 ══ cpe0 ┐         ┌ core0 ══ tester 0      stays: its packets say how late they are
                     ├ gateway ┤
    tester 1 ══ cpe1 ┘         └ core1 ══ tester 1      its ports go down and up: it ends, is killed, starts again
"""

import collections
import os
import re
import signal
import time

from tests.soak import checks
from tests.soak import testers
from vbnglab.lab import chain, telemetry

HERE = os.path.dirname(os.path.abspath(__file__))
REST_SECONDS = 20.0  # until all packets have left, once no stream sends
STARTS = 4  # times chain.START_SECONDS that a process may take to be up
LEAST_REST = 0.3  # that long nothing has moved then
STATUS = {"VmRSS": "rss_kib", "RssAnon": "anon_kib", "Threads": "threads"}  # of /proc/PID/status


class Broken(Exception):
    """A process has ended, or does not answer."""


def process_figures(pid):
    """Memory in KiB, threads and open files of a process."""
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        found = re.findall(r"^(\w+):\s+(\d+)", f.read(), re.M)
    out = {STATUS[key]: int(value) for key, value in found if key in STATUS}
    return out | {"files": len(os.listdir(f"/proc/{pid}/fd"))}


def telemetry_socket(pid):
    return next((path for folder in telemetry.RUN_DIRS if os.path.exists(path := f"{folder}/vbng-{pid}/{telemetry.SOCKET}")), None)


def wait_for(one):
    """Until it is up; on a busy machine that takes its time."""
    for _ in range(STARTS):
        if one.ready():
            return
        if one.gone():
            break
    raise Broken(f"did not start: {one.running.output()}")


class Bed:
    """The three processes, in a folder with their sockets."""

    def __init__(self, folder, binary):
        self.folder, self.binary = folder, binary
        self.configs = [testers.write(folder, pair) for pair in (0, 1)]
        self.gateway = self.steady = self.guest = None
        self.leaving = None  # the signal that the guest was sent
        self.guests = []  # results of those that have ended by themselves
        self.killed = 0
        self.read = 0  # of the gateway's output

    def __enter__(self):
        self.gateway = self._start("gateway", os.path.join(HERE, "gateway.cfg"))
        wait_for(self.gateway)
        self.look = telemetry.Telemetry(telemetry_socket(self.gateway.running.pid))
        self.steady = self._start("steady", self.configs[0])
        self.start_guest()
        wait_for(self.steady)
        return self

    def __exit__(self, *_):
        for one in (self.steady, self.guest, self.gateway):
            if one is not None:
                one.running.stop()

    def _start(self, name, config):
        return chain.Controlled(name, config, self.folder, vbng=self.binary)

    # --- the guest ---

    def start_guest(self):
        """Start it; it sends as soon as it is up."""
        self.guest, self.leaving = self._start("guest", self.configs[1]), None

    def send_guest_away(self, how):
        """Tell the guest to go: SIGTERM or SIGKILL."""
        self.leaving = how
        os.kill(self.guest.running.pid, how)

    def guest_gone(self):
        """Has it ended? Then what it says of its run is kept."""
        if self.guest is None or not self.guest.gone():
            return self.guest is None
        if self.leaving is None:
            raise Broken(f"a tester ended by itself: {self.guest.running.output()}")
        self._keep(self.guest.running.stop())
        return True

    def _keep(self, result):
        """One that was killed has nothing to say."""
        if self.leaving == signal.SIGKILL:
            self.killed += 1
        else:
            self.guests.append(result)
        self.guest = None

    # --- looks ---

    def ask(self, **request):
        """Ask the gateway, which must do it."""
        return self.gateway.ask(request)

    def row(self):
        """The gateway's figures now."""
        if self.gateway.gone():
            raise Broken(f"the gateway has ended: {self.gateway.running.output()}")
        process = process_figures(self.gateway.running.pid)  # before our connection is one of its files
        ledger = self.ask(cmd="show-ledger")["ledger"]
        pool = self.look.ask("/vbng/pool/get,0")
        ports = [self.look.ask(f"/vbng/port/get,{port}") for port in ("cpe0", "cpe1", "core0", "core1")]
        heap = self.look.ask("/eal/heap_info,0")
        errors = {key: sum(port[key] for port in ports) for key in checks.ERRORS}
        return {"ledger": ledger, "mbufs": pool["size"] - pool["free"], "heap": heap["Alloc_size"], **errors, **process}

    def histogram(self):
        """Latency of all stamped packets that the tester that stays has received so far: {ns: packets}."""
        if self.steady.gone():
            raise Broken(f"the tester has ended: {self.steady.running.output()}")
        out = collections.Counter()
        for task in self.steady.ask({"cmd": "show-sinks"})["tasks"]:
            for stream in task["measured"]["streams"]:
                out.update(dict(stream["latency_histogram"]))
        return out

    def new_lines(self):
        """What the gateway has printed since the last time."""
        text = self.gateway.running.output()
        end = text.rfind("\n") + 1
        lines, self.read = text[self.read : end].splitlines(), end
        return lines

    # --- rest ---

    def stream(self, cmd, names=tuple(testers.RATES), **more):
        """start-stream, stop-stream or set-rate of the streams of all testers that are up."""
        up = [self.steady] if self.guest is None or self.leaving is not None else [self.steady, self.guest]
        for tester in up:
            tester.ask(*({"cmd": cmd, "task": name, **more} for name in names))

    def rest(self):
        """Let nothing be sent, wait until all packets have left, and look. Then everything sends again."""
        self.stream("stop-stream")
        end, last, since = time.monotonic() + REST_SECONDS, None, 0.0
        while time.monotonic() < end:
            now = self.ask(cmd="show-ledger")["ledger"]
            if now != last:
                last, since = now, time.monotonic()
            elif now["held"] == now["under_way"] == 0 and time.monotonic() - since >= LEAST_REST:
                break
            time.sleep(0.05)
        time.sleep(0.1)  # our last connection is closed then
        out = self.row()
        self.stream("start-stream")
        return out

    def end(self):
        """Stop all. Returns the results of the tester that stays and of the gateway."""
        self.stream("stop-stream")
        time.sleep(chain.SETTLE_SECONDS / 2)
        if self.guest is not None and self.leaving is None:
            self.send_guest_away(signal.SIGTERM)
        steady = self.steady.running.stop()
        if self.guest is not None:
            self._keep(self.guest.running.finish())
        return steady, self.gateway.running.stop()
