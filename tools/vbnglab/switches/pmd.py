# SPDX-License-Identifier: BSD-3-Clause
"""testpmd in the places of vbng at a switch: as a VNF that hands frames on, and as generator and sink (flowgen)."""

import os
import re
import shlex
import shutil
import subprocess
import tempfile
import time

from ..lab import owned, run
from .adapters.base import SwitchError, installed
from .adapters.dpdk_app import QUEUE, dpdk_version, runtime_folder, telemetry

NEEDS = "Debian package dpdk-dev"
MEMORY_MIB = 512
PORT_MBUFS = 8192
START_SECONDS = 30.0
FCS = 4
BURST = 32  # packets that it sends at once
# what it prints of each port when it forwards no more; what it could not send, by the port that should have
STATISTICS = re.compile(r"Forward statistics for port (\d+) .*\n.*RX-dropped: (\d+).*\n(?:.*RX-error: (\d+).*\n.*RX-nombufs.*\n)?.*TX-dropped: (\d+)")


def probe():
    """Return (version, ""), or (None, why it cannot run here)."""
    path, why = installed("dpdk-testpmd", NEEDS)
    return (f"DPDK {dpdk_version() or 'unknown'}", "") if path else (None, why)


class Testpmd:
    """A testpmd at ports of a switch: neighbours are joined, or are the two ends of flowgen. Sizes are in bytes with FCS. burst: packets that it sends by each
    port at fill() before it forwards (a multiple of 32); None: it forwards at once."""

    def __init__(self, name, ports, cpu, folder, mode="io", size=None, burst=None):
        self.name, self.ports = name, list(ports)
        self.prefix = f"vp{os.getpid()}{name}"
        self._output = os.path.join(folder, f"{name}.log")
        self._burst, self._says = burst, "packet forwarding" if burst is None else "testpmd>"
        more = [f"--txpkts={size - FCS}"] if size else []
        vdevs = [word for p in self.ports for word in ("--vdev", p.device)]
        command = ["dpdk-testpmd", "--lcores", f"0@{cpu},1@{cpu}", "--no-pci", "--no-huge", "-m", str(MEMORY_MIB), f"--file-prefix={self.prefix}",
                   *vdevs, "--", "--auto-start" if burst is None else "--interactive", f"--forward-mode={mode}", "--port-topology=paired", "--no-mlockall", "--no-lsc-interrupt",
                   f"--total-num-mbufs={PORT_MBUFS * len(self.ports)}", f"--rxd={QUEUE}", f"--txd={QUEUE}", *more]  # fmt: skip
        self._command, self._began = command, time.monotonic()
        owned.runtime(os.path.dirname(runtime_folder(self.prefix)))
        with open(self._output, "wb") as out:
            self._process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "stdbuf", "-oL", *command], stdin=subprocess.PIPE, stdout=out,
                                             stderr=subprocess.STDOUT, process_group=0, cwd=folder)  # fmt: skip

    # What bench.SwitchRig asks of a VNF.

    @property
    def running(self):
        """The process, which is itself."""
        return self

    @property
    def pid(self):
        return self._process.pid

    def alive(self):
        """Tell whether the process runs."""
        return self._process.poll() is None

    def ready(self):
        """Wait until it forwards, or can be filled. Returns False if it has ended, does not, or lacks a port, without which testpmd runs on."""
        end = time.monotonic() + START_SECONDS
        while self.alive() and time.monotonic() < end:
            answer = telemetry(self.prefix, "/ethdev/list")
            if answer and len(answer["/ethdev/list"]) < len(self.ports):
                return False
            if answer and self._says in self.output():
                return True
            time.sleep(0.05)
        return False

    def fill(self):
        """Let it send its burst by each port, then forward."""
        self._process.stdin.write(f"start tx_first {self._burst // BURST}\n".encode())
        self._process.stdin.flush()

    def output(self):
        """What it has printed so far."""
        return run.text_of(self._output)

    def received(self):
        """Packets received by all ports. Raises SwitchError where it does not answer."""
        return self._total("ipackets")

    def _total(self, counter):
        total = 0
        for number in range(len(self.ports)):
            answer = (telemetry(self.prefix, f"/ethdev/stats,{number}") or {}).get("/ethdev/stats")
            if answer is None:
                raise SwitchError(f"testpmd says nothing of its port {number}\n{self.output()[-1000:]}")
            total += answer[counter]
        return total

    def inside(self):
        """Packets that fill() has let into a circle: sent and not yet back, when it forwards no more."""
        self._process.stdin.write(b"stop\n")
        self._process.stdin.flush()
        end = time.monotonic() + START_SECONDS
        while "Accumulated forward statistics" not in self.output() and time.monotonic() < end:
            time.sleep(0.05)
        return self._total("opackets") - self._total("ipackets")

    def lost(self):
        """(port, packets that found its ring full, those with an error, those that it could not send) of each port, once it forwards no more."""
        return [(self.ports[int(m[1])].name, int(m[2]), int(m[3] or 0), int(m[4])) for m in STATISTICS.finditer(self.output())]

    def ports_report(self):
        """What its ports have counted as lost, as in a report of vbng; nothing before it forwards no more."""
        return [{"name": name, "rx_missed": missed, "rx_errors": errors} for name, missed, errors, _ in self.lost()]

    def stop(self):
        """End it. Returns a Result, whose report has as tasks what has sent by each port."""
        alive = self.alive()
        run.end(self._process)
        self._process.stdin.close()
        shutil.rmtree(runtime_folder(self.prefix), ignore_errors=True)
        wall = time.monotonic() - self._began
        tasks = [{"name": f"to_{name}", "type": "forward", "created": 0, "drops": {"link_full": unsent}} for name, *_, unsent in self.lost()]
        report = {"tasks": tasks, "cores": [], "ports": self.ports_report(), "seconds": wall, "ledger": {"balances": True}, "version": f"testpmd, {probe()[0]}",
                  "dpdk": dpdk_version(), "memory": {}, "tsc_hz": 0}  # fmt: skip
        error = "" if alive else f"{shlex.join(self._command)} ended with status {self._process.returncode}\n{self.output()[-1000:]}"
        return run.Result(alive, self._process.returncode, error, report, self._command, wall)


def steady(received, seconds, who, switch, look):
    """Packets per second in the last four fifths of so many seconds from the first packet on. received: counts them; who: receives them; look: called before
    that time, and behind it. Where nothing comes in that time, as on a machine that is busy, they last until something does. Raises SwitchError where
    nothing ever comes, or the switch has died."""
    last = time.monotonic() + START_SECONDS
    while not received() and time.monotonic() < last:
        time.sleep(0.02)
    look()
    time.sleep(seconds / 5)
    begin, before = time.monotonic(), received()
    time.sleep(seconds * 4 / 5)
    while (after := received()) == before and time.monotonic() < last:
        time.sleep(0.02)
    end = time.monotonic()
    look()
    switch.check()
    if after == before:
        raise SwitchError(f"nothing came back to {who} for {end - begin:.1f} s")
    return (after - before) / (end - begin)


def flowgen(switch, ports, cpu, size, seconds, look):
    """Packets per second that flowgen gets back through a switch, both ways, as steady() counts them. Raises SwitchError."""
    folder = tempfile.mkdtemp(prefix="vbng-lab-")
    switch.clean()
    made = None
    try:
        switch.start()
        made = Testpmd("flowgen", ports, cpu, folder, "flowgen", size)
        if not made.ready():
            raise SwitchError(f"testpmd did not start: {made.output()[-1000:]}")
        return steady(made.received, seconds, "flowgen", switch, look)
    finally:
        if made is not None:
            made.stop()
        switch.stop()
        shutil.rmtree(folder, ignore_errors=True)
