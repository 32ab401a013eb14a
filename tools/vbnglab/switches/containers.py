# SPDX-License-Identifier: BSD-3-Clause
"""VNFs of a scenario in containers of podman, one in each: at the sockets of the switch, or at the ends of veth pairs, for whose sake it shares the
network namespace of the host."""

import json
import os
import subprocess
import time
from dataclasses import dataclass

from ..lab import run
from .adapters.base import SwitchError, installed

KINDS = ("vhost", "memif", "veth")  # of ports that a container can be at
START_SECONDS, STOP_SECONDS = 60.0, 20.0
# What a machine without systemd, whose own limits are lower, needs.
OPTIONS = ("--cgroup-manager=cgroupfs", "--runtime", "runc")
LIMITS = ("--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024")
APART, BESIDE = ("--network", "none"), ("--network", "host", "--cap-add", "NET_RAW,NET_ADMIN")  # of ports that are sockets, and interfaces
LAST_LINES = 20
FIRST_CORE = 'layout = ( { core = "c0"; tasks = "*"; } );\n'


def kind(switch):
    """The kind of the ports of a switch that VNFs in containers are at. Raises SwitchError where it has none."""
    if switch.kinds[0] not in KINDS:
        raise SwitchError(f"{switch.title} has no ports for a container: they are of kind {switch.kinds[0]}, and a container takes {', '.join(KINDS)}")
    return switch.kinds[0]


class Container:
    """A VNF in a container, which starts at once. It answers what bench.SwitchRig asks of a VNF."""

    def __init__(self, command, folder, name):
        self._command, self._began, self._result = command, time.monotonic(), None
        self._path = {what: os.path.join(folder, f"{name}.{what}") for what in ("log", "csv", "json")}
        with open(self._path["log"], "wb") as out:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, process_group=0)

    @property
    def running(self):
        """The process, which is itself."""
        return self

    @property
    def pid(self):
        """Process id of podman, which waits; the CPU time of the VNF is not seen."""
        return self._process.pid

    def ready(self):
        """Wait until it forwards. Returns False if it does not; output() says why."""
        end = time.monotonic() + START_SECONDS
        while self._process.poll() is None and time.monotonic() < end:
            if os.path.exists(self._path["csv"]):
                return True
            time.sleep(0.05)
        return False

    def output(self):
        """What it has printed so far."""
        with open(self._path["log"], encoding="utf-8", errors="replace") as f:
            return f.read()

    def stop(self):
        """End it: podman hands the signal on. Returns a run.Result."""
        if self._result is None:
            self._process.terminate()
            try:
                self._process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._result = self._read()
        return self._result

    def _read(self):
        try:
            with open(self._path["json"], encoding="utf-8") as f:
                report = json.load(f)
        except (OSError, ValueError):
            report = None
        status = self._process.returncode
        ok = status == 0 and report is not None
        tail = "\n".join(self.output().strip().splitlines()[-LAST_LINES:])
        return run.Result(ok, status, "" if ok else f"exit status {status}\n{tail}", report, self._command, time.monotonic() - self._began)


@dataclass(frozen=True)
class Containers:
    """Makes containers. image: of tools/deploy/Containerfile; options: of podman, before its command; cpuset: whether each is given the CPU of its VNF
    alone, as by a CPU manager, and a layout that names no CPU."""

    image: str = "vbng"
    options: tuple = ()
    cpuset: bool = False

    def start(self, name, config, switch, ports, cpu):
        """Start a VNF at these ports with a configuration, which has their devices and the CPU. Raises SwitchError."""
        path, why = installed("podman", "Debian packages podman and runc")
        if path is None:
            raise SwitchError(why)
        shared = {switch.folder, os.path.dirname(os.path.dirname(os.path.abspath(config)))}
        volumes = [word for folder in sorted(shared) for word in ("-v", f"{folder}:{folder}")]
        network = BESIDE if any(p.kind == "veth" for p in ports) else APART
        out = os.path.join(switch.folder, name)
        for what in ("csv", "json"):
            if os.path.exists(f"{out}.{what}"):
                os.unlink(f"{out}.{what}")
        given, layout = self._cpus(out, cpu)
        return Container(["podman", *self.options, *OPTIONS, "run", "--rm", *LIMITS, *network, *given, *volumes, "-w", switch.folder, self.image, "--quiet",
                          "--share-cpus", *layout, "--report", f"{out}.json", "--sample", f"{out}.csv", os.path.abspath(config)], switch.folder, name)  # fmt: skip

    def _cpus(self, out, cpu):
        """Options of podman and of vbng, for a container that is given a CPU."""
        if not self.cpuset:
            return [], []
        with open(f"{out}.layout", "w", encoding="utf-8") as f:
            f.write(FIRST_CORE)
        return ["--cpuset-cpus", str(cpu)], ["--layout", f"{out}.layout"]
