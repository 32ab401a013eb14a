# SPDX-License-Identifier: BSD-3-Clause
"""The contract of an adapter: one switch, between ports that vbng or another VNF attaches to.

    switch = Testpmd(folder, cpus=(0,))
    a, b = switch.add_port("a"), switch.add_port("b")     # a.device is what vbng's configuration says
    switch.connect("a", "b", mode="patch")
    switch.start()                                        # SwitchError: why not, with its last lines
    ... switch.stats() ... switch.alive() ...
    switch.stop()

Ports and connections are only recorded until start(), since some switches take ports at start only. Who makes
the socket of a port is the adapter's affair, and so is the device string that follows from it. The mode is explicit:
figures of a switch that looks MAC addresses up are not comparable with those of one that does not.

An adapter says by files(), before(), daemon() and after() what the switch is given. start() does just that, and
render() shows it, also where the switch is not installed.
"""

import contextlib
import os
import shlex
import shutil
import signal
import stat
import subprocess
import time
import zlib
from dataclasses import dataclass

from ...lab import run
from ...lab.ovs import SwitchError

MODES = {
    "patch": "all that comes in by one port leaves by the other",
    "learn": "the switch looks up the destination MAC address, which it has learned or been told",
}
START_SECONDS = 40.0
STOP_SECONDS = 10.0
TAIL = 15  # lines


@dataclass(frozen=True)
class Port:
    """A port of a switch, as a VNF sees it."""

    name: str
    kind: str  # "vhost", "memif", "veth", "vf" or "nic"
    number: int
    device: str  # for `device` of a port in vbng's configuration
    at: str = ""  # end at the switch: socket, interface or PCI address
    role: str = "-"  # role of the VNF at the socket: "server" makes it, "client" connects to it


class Switch:
    """A switch that is one process, or none where the kernel or the hardware is the switch."""

    name = title = ""
    needs = ""  # what to install for it
    kinds = ("vhost",)  # kinds of ports; the first is the default
    modes = ("patch",)
    layer = 2  # 3 for a switch that forwards by IPv4 address
    one_mac = False  # whether all that is behind a port must have one MAC address: no other is handed to it, or there is no room for more
    chains = True  # whether the same frame may arrive at several ports, as in chains of VNFs
    forgets = True  # whether the counters of a port are lost when its peer leaves
    own_cpu = True  # whether it works on cpus; else on the CPUs of senders
    lead = 0.0  # seconds from the start of its peers in which all ports come up; nothing is sent before
    modern = True  # whether it offers VIRTIO_F_VERSION_1, without which a guest needs legacy devices
    vnf_memory = "any"  # memory of VNFs: "static" where it must not grow while they run

    def __init__(self, folder, cpus=(0,), memory_mib=1024):
        self.folder, self.cpus, self.memory_mib = os.path.abspath(folder), tuple(cpus), memory_mib
        self.tag = f"{zlib.crc32(self.folder.encode()) & 0xFFFFFF:06x}"  # part of names that are visible on the whole machine
        self.ports, self.connections = {}, []
        self._process, self._output = None, os.path.join(self.folder, f"{self.name}.log")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    # --- what a switch says of itself ---

    @classmethod
    def probe(cls):
        """Return (version, ""), or (None, why the switch cannot run here)."""
        raise NotImplementedError

    def attach(self, name, kind, number, device):
        """Make the Port of a new port. device: for kind "nic", the PCI addresses of both ends."""
        raise NotImplementedError

    def files(self):
        """{name in the folder: text} that the switch reads."""
        return {}

    def before(self):
        """Commands to run before the start."""
        return []

    def daemon(self):
        """The command that is the switch; None where no process is."""
        return None

    def ready_paths(self):
        """Paths that exist when the switch is ready; [] where it is as soon as it runs."""
        return []

    def ready(self, path):
        """Tell whether one of these paths is as the switch needs it to be."""
        return os.path.exists(path)

    def after(self):
        """Commands to run when the switch is ready."""
        return []

    def undo(self):
        """Commands to run after the end, in whatever state the switch was."""
        return []

    def inside(self, *command):
        """A command where the interfaces of the switch are."""
        return list(command)

    # --- recording ---

    def add_port(self, name, kind=None, device=None):
        """Record a port. kind: one of kinds. device: for kind "nic", the PCI addresses (or DPDK devices) of both ends of the
        cable, as "SWITCH,VNF". Raises SwitchError."""
        kind = kind or self.kinds[0]
        if kind not in self.kinds:
            raise SwitchError(f"{self.title} has no ports of kind {kind}: choose {' or '.join(self.kinds)}")
        if name in self.ports:
            raise SwitchError(f"port {name} is there already")
        if (kind == "nic") != (device is not None):
            raise SwitchError(f"port {name}: a device goes with kind nic, and only with it")
        self.ports[name] = self.attach(name, kind, len(self.ports), device)
        return self.ports[name]

    def connect(self, a, b, mode="patch"):
        """Record that two ports are joined, both ways. A port has one peer, and all connections have one mode. Raises SwitchError."""
        if mode not in self.modes:
            raise SwitchError(f"{self.title} has no mode {mode}: choose {' or '.join(self.modes)}")
        for p in (a, b):
            if p not in self.ports:
                raise SwitchError(f"no port {p}")
            if any(p in c[:2] for c in self.connections):
                raise SwitchError(f"port {p} is connected already")
        if any(c[2] != mode for c in self.connections):
            raise SwitchError("all connections of a switch have the same mode")
        self.connections.append((a, b, mode))

    def pairs(self):
        """[(Port, Port)] in the order of the connections. Raises SwitchError where a port has no peer."""
        lonely = set(self.ports) - {p for c in self.connections for p in c[:2]}
        if lonely:
            raise SwitchError(f"not connected: {', '.join(sorted(lonely))}")
        return [(self.ports[a], self.ports[b]) for a, b, _ in self.connections]

    def render(self):
        """A shell script that does what start() would do, files included."""
        lines = []
        for name, text in self.files().items():
            lines += [f"cat >{self.folder}/{name} <<'EOF'", text.rstrip("\n"), "EOF"]
        lines += [shlex.join(c) for c in self.before()]
        daemon = self.daemon()
        if daemon is not None:
            lines.append(shlex.join(daemon) + " &")
        lines += [shlex.join(c) for c in self.after()]
        return "\n".join(lines) + "\n"

    # --- life ---

    def clean(self):
        """Remove the sockets that an earlier run has left in the folder, before the VNFs start."""
        os.makedirs(self.folder, exist_ok=True)
        for entry in os.scandir(self.folder):
            if stat.S_ISSOCK(entry.stat(follow_symlinks=False).st_mode):
                os.unlink(entry.path)

    def start(self):
        """Start the switch and join its ports. Raises SwitchError, after which nothing of the switch is left."""
        version, why = self.probe()
        if version is None:
            raise SwitchError(f"{self.title}: {why}")
        self.pairs()
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    def _start(self):
        os.makedirs(self.folder, exist_ok=True)
        for name, text in self.files().items():
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as f:
                f.write(text)
        self._all(self.before())
        daemon = self.daemon()
        if daemon is not None:
            self._unlink_sockets()
            with open(self._output, "ab") as out:
                # a pipe as input, as testpmd ends at the end of its input
                self._process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *daemon], stdin=subprocess.PIPE,
                                                 stdout=out, stderr=subprocess.STDOUT, process_group=0)  # fmt: skip
            self._wait()
        self._all(self.after())

    def _unlink_sockets(self):
        """Remove the sockets that an earlier process of the switch has left: one that is there tells that the switch is ready, and
        some switches take no port whose socket is there."""
        for path in {*self.ready_paths(), *(p.at for p in self.ports.values() if p.role == "client")}:
            with contextlib.suppress(FileNotFoundError):
                if stat.S_ISSOCK(os.lstat(path).st_mode):
                    os.unlink(path)

    def _wait(self):
        end, paths = time.monotonic() + START_SECONDS, self.ready_paths()
        time.sleep(0.2)
        while self.alive() and not all(map(self.ready, paths)):
            if time.monotonic() > end:
                raise SwitchError(f"{self.title} did not start within {START_SECONDS:.0f} s\n{self.tail()}")
            time.sleep(0.02)
        self.check()

    def _all(self, commands):
        for command in commands:
            self.run(command)

    def run(self, command):
        """Run a command. Returns its output. Raises SwitchError where it fails."""
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=START_SECONDS)
        except (OSError, subprocess.TimeoutExpired) as e:
            raise SwitchError(f"{shlex.join(command)}: {e}\n{self.tail()}") from None
        if done.returncode != 0:
            raise SwitchError(f"{shlex.join(command)}: {done.stderr.strip() or done.stdout.strip()}\n{self.tail()}")
        return done.stdout

    @property
    def pids(self):
        """Process ids of the switch."""
        return [] if self._process is None else [self._process.pid]

    def alive(self):
        """Tell whether the switch runs; one without a process always does."""
        return self._process is None or self._process.poll() is None

    def check(self):
        """Raise SwitchError, with the last lines of output, if the switch has died."""
        if not self.alive():
            raise SwitchError(f"{self.title} has ended\n{self.tail()}")

    def tail(self):
        """The last lines of output, and the status with which it has ended."""
        lines = run.text_of(self._output).strip().splitlines()[-TAIL:]
        state = "no process" if self._process is None else "runs"
        if not self.alive():
            code = self._process.returncode
            state = f"ended by signal {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
        return "\n".join([f"--- {self.name} ({state}), last lines:", *lines])

    def up(self):
        """Tell whether the peers of all ports are there; true where that cannot be seen."""
        return True

    def counters(self):
        """{port: {"rx_packets", "rx_drop", "tx_packets", "tx_drop"}} as the switch counts; {} where it has no counters."""
        return {}

    def lost_inside(self):
        """{reason: packets} of drops between the ports, which no port counts."""
        return {}

    def stats(self):
        """The counters. Raises SwitchError if the switch has died."""
        self.check()
        return self.counters()

    def stop(self):
        """End the switch and remove what it leaves; allowed in any state."""
        process, self._process = self._process, None
        if process is not None:
            run.end(process, STOP_SECONDS)
            process.stdin.close()
        for command in self.undo():
            subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def installed(program, hint):
    """Return (path of a program, ""), or (None, why it is not there)."""
    path = shutil.which(program)
    return (path, "") if path else (None, f"{program} is not in PATH ({hint})")


def version_of(program, hint, arguments=("--version",), pattern=None, unbuffered=False, beside=()):
    """For probe(): the version that a program prints. unbuffered: read it even if the program crashes at its end. beside: programs that the adapter
    runs, too."""
    for name in (*beside, program):
        path, why = installed(name, hint)
        if path is None:
            return None, why
    try:
        done = subprocess.run([*(["stdbuf", "-o0"] if unbuffered else []), path, *arguments], capture_output=True, text=True, timeout=20,
                              stdin=subprocess.DEVNULL)  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as e:
        return None, str(e)
    text = (done.stdout + done.stderr).strip()
    match = pattern.search(text) if pattern else None
    return (match.group(1) if match else text.splitlines()[0] if text else "unknown"), ""
