# SPDX-License-Identifier: BSD-3-Clause
"""One switch in one scenario, with vbng as tester and as VNFs: trials for the procedure of vbng-lab measure.

Each trial starts everything anew: the switch, the VNFs when it runs, the tester when they do. It ends with the
tester, which waits until all that is under way has come back.
"""

import os
import shutil
import tempfile
import time
from dataclasses import dataclass, field, replace

from ..lab import chain
from ..lab import run as runs
from ..measure import rig, trial
from . import configs, containers, guests, losses, scenarios
from .adapters.base import Port, Switch, SwitchError
from .scenarios import TESTER

READY_SECONDS = 60.0
# Marks that mean nothing behind a switch: a full queue into the switch is the switch's own limit.
NOT_HERE = (trial.EGRESS,)
PLACES = {"host": lambda: None, "container": containers.Containers, "guest": guests.Guests}
TICKS = os.sysconf("SC_CLK_TCK")
PATIENCE = (1, 4, 16)  # times the time in which ports come up: the next on a machine that is slow or busy


class Late(SwitchError):
    """A port was not up when the generators began to send."""


@dataclass(frozen=True)
class Setup:
    """A scenario with its numbers. With size and rate they are the tuple of the container study (Ara et al.): dimension, hosts,
    pairs, switch, size, rate, burst; there is one host here."""

    scenario: str
    number: int = 1  # VNFs of loopback, or pairs of pairs
    mode: str = "patch"
    train: int | None = None  # packets that the generator sends back to back
    nics: tuple = ()  # "SWITCH,TESTER" PCI addresses for the ports that stand for NICs; () for virtual ones
    phy_kind: str | None = None  # kind of these ports without NICs; None: as the others
    vnf_in: str = "host"  # or "container", "guest": where each VNF is

    @property
    def name(self):
        """Name of the scenario, with its number, and where its VNFs are if that is not the host."""
        name = f"{self.scenario}{self.number}" if self.scenario in scenarios.COUNTED else self.scenario
        return name if self.vnf_in == "host" else f"{name}-{self.vnf_in}"

    @property
    def guest(self):
        """Whether each VNF is in a guest."""
        return self.vnf_in == "guest"


class Alone(Switch):
    """No switch: wires in the tester's memory join its ports, which shows what generator and sink can do on their CPU."""

    name, title = "wire", "generator and sink alone"
    kinds = ("wire",)

    @classmethod
    def probe(cls):
        return "vbng", ""

    def attach(self, name, kind, number, device):
        return Port(name, kind, number, "")

    def connect(self, a, b, mode="patch"):
        super().connect(a, b, mode)
        for name in (a, b):
            self.ports[name] = replace(self.ports[name], device=f"wire:{a}")


def alone(topology):
    """The tester's part of a topology, whose ports are joined to each other."""
    ports = topology.tester_ports
    half = len(ports) // 2
    links = [w for w in topology.up] or list(zip(ports[:half], ports[half:]))
    return scenarios.Topology({p: "vnf" for p in ports}, links, up=topology.up, down=topology.down)


def placement(switch, topology, cpus):
    """Return ({process: CPU}, whether processes share one). A switch that works on a CPU of its own has the first one; the
    tester has the last; the VNFs share the rest, or the tester's."""
    cpus = list(cpus)
    taken = cpus[:1] if switch.own_cpu and len(cpus) > 1 else []
    rest = cpus[len(taken):]
    own = rest[-1]
    others = rest[:-1] or [own]
    out = {v.name: others[i % len(others)] for i, v in enumerate(topology.vnfs)}
    if topology.tester_ports:
        out[TESTER] = own
    return out, len(set(out.values())) < len(out) or (switch.own_cpu and not taken)


def polled(switch, where):
    """CPUs on which a switch and the processes of a placement poll."""
    return {*where.values(), *(switch.cpus if switch.own_cpu else ())}


def _kind(switch, owner, place, setup):
    if owner != TESTER and setup.vnf_in != "host":
        return (guests if setup.guest else containers).kind(switch)
    if place == "vnf":
        return switch.kinds[0]
    if setup.nics:
        return "nic"
    return setup.phy_kind or switch.kinds[0]


def wire(switch, topology, setup):
    """Give a switch its ports and connections. Raises SwitchError where the scenario is not for it."""
    if switch.layer == 3 and setup.scenario in scenarios.GATEWAY:
        raise SwitchError(f"{switch.title} forwards by IPv4 address: it cannot carry the gateway's VLAN tags and labels")
    if any(v.joined for v in topology.vnfs) and not switch.chains:
        raise SwitchError(f"{switch.title} sends by MAC address, which the VNFs of this scenario do not change")
    behind = _behind(switch, topology, setup)
    if hasattr(switch, "behind"):
        _once(switch, behind)
    nics = list(setup.nics)
    for port, place in topology.place.items():
        kind = _kind(switch, topology.owner(port), place, setup)
        if kind == "nic" and not nics:
            raise SwitchError(f"not enough --nic: the scenario has {list(topology.place.values()).count('phy')} ports that are NICs")
        switch.add_port(port, kind, nics.pop(0) if kind == "nic" else None)
    if hasattr(switch, "behind"):
        for port, macs in behind.items():
            switch.behind(port, macs)
    for link in topology.links:  # the port of what starts first comes first
        switch.connect(*sorted(link, key=lambda p: topology.owner(p) == TESTER), setup.mode)


def _once(switch, behind):
    """Raise SwitchError where an address is behind two ports: a switch that is told the addresses can send to one of them only."""
    at = {}
    for port, macs in behind.items():
        for mac in macs:
            if at.setdefault(mac, port) != port:
                raise SwitchError(f"{switch.title} sends by MAC address, and {mac} is behind {at[mac]} and {port}")


def _behind(switch, topology, setup):
    """{port: destination MAC addresses that are behind it}."""
    if setup.scenario in scenarios.GATEWAY:
        return {**{p: [mac] for p, (mac, _) in configs.ADDRESSES.items()}, **configs.far_macs(switch.one_mac)}
    return {b: [configs.MACS[direction][1]] for direction in ("up", "down") for _, b in getattr(topology, direction)}


def _cpu_seconds(pids):
    """CPU time of processes in seconds."""
    total = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
                fields = f.read().rpartition(")")[2].split()
            total += int(fields[11]) + int(fields[12])
        except (OSError, IndexError, ValueError):
            pass
    return total / TICKS


def _machine_seconds():
    """CPU time of the whole machine in seconds, interrupts included."""
    with open("/proc/stat", encoding="ascii") as f:
        user, nice, system, _idle, _iowait, irq, softirq, steal = (int(x) for x in f.readline().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / TICKS


class Silence:
    """A tester that has sent all, and to which nothing has come back for so many seconds. generators: those that send, for a time."""

    def __init__(self, tester, generators, seconds):
        self._tester, self._generators, self._seconds = tester, generators, seconds
        self._moved, self._since = None, time.monotonic()

    @staticmethod
    def _of(ledger):
        return [ledger[k] for k in ("created", "sent", "received")]

    def _ended(self):
        measured = {t["name"]: t["measured"] for t in self._tester.ask({"cmd": "show-streams"})["tasks"]}
        return all(measured[g]["seconds"] > 0 and not any(s["on"] for s in measured[g]["streams"]) for g in self._generators)

    def reached(self):
        """Ask the tester; it may have ended meanwhile, which is no silence."""
        try:
            ended, moved = self._ended(), self._of(self._tester.ask({"cmd": "show-ledger"})["ledger"])
        except OSError:
            return False
        if not ended or moved != self._moved:
            self._moved, self._since = moved, time.monotonic()
        return time.monotonic() - self._since >= self._seconds

    def lasted(self, report):
        """Tell from its report whether nothing moved any more."""
        return report is not None and self._of(report["ledger"]) == self._moved


def _failed(why, tester):
    """The Result of a trial that the switch has ended, with what became of the tester. tester: its Result; None: it was not started."""
    if tester is None:
        return runs.Result(False, None, str(why), None)
    said = tester.error or "exit status 0"
    if tester.report is not None:
        made = sum(t["created"] for t in runs.tasks(tester.report, "gen"))
        said = f"made {made} packets, {sum(t['in'] for t in runs.tasks(tester.report, 'sink'))} came back; {said}"
    return replace(tester, ok=False, error=f"{why}\nthe tester: {said}")


@dataclass
class SwitchRig(rig.Rig):
    """A Rig whose gateway is a switch with VNFs. config: the tester's."""

    switch: object = None
    topology: object = None
    vnfs: dict = field(default_factory=dict)  # name -> configuration
    shared: bool = False
    folder: str = ""  # folder in which the processes run
    settle: float = 0.0  # seconds without a packet after the last one, in which what is under way arrives
    last: dict = field(default_factory=dict)  # what the last trial left: reports, counters of the switch (None: something moved when they were read), CPU time
    patience: int = PATIENCE[0]  # times the lead of the switch
    where: dict = field(default_factory=dict)  # process -> CPU
    look: object = lambda: None  # called before the generators begin, and when they have ended
    peer: object = None  # what is the VNFs instead of vbng: called with name, ports, CPU and folder
    places: object = None  # Guests or Containers, if the VNFs are in such

    def _vnf(self, name, config):
        """Start a VNF."""
        ports = [self.switch.ports[p] for v in self.topology.vnfs if v.name == name for p in v.ports]
        if self.places is not None:
            return self.places.start(name, config, self.switch, ports, self.where[name])
        if self.peer is not None:
            return self.peer(name, ports, self.where[name], self.folder)
        return chain.Controlled(name, config, self.folder, vbng=self.vbng)

    def tester_settings(self, request):
        """As of any Rig, but the probes are in the load, of which they have half at most: all that a slow switch carries may be less than they send."""
        out, probes, rest = super().tester_settings(request), self.probes[request.direction], self.generators[request.direction]
        if request.probes and probes and request.load is not None:
            pps = min(configs.PROBE_PPS, request.load / 2 / len(probes))
            out.update({f"{p}.rate": f"{pps:.3f}pps" for p in probes})
            out.update({f"{g}.rate": f"{(request.load - pps * len(probes)) / len(rest):.3f}pps" for g in rest})
        return out

    def trial(self, request, sample):
        while True:
            try:
                return self._trial(request, sample)
            except Late:
                self.patience = PATIENCE[PATIENCE.index(self.patience) + 1]

    def _trial(self, request, sample):
        settings = self.tester_settings(request)
        sending = [g for g in (*self.generators[request.direction], *self.probes.get(request.direction, ())) if f"{g}.start" not in settings]
        if self.settle:
            settings.update({f"{g}.duration": f"{request.seconds}s" for g in self.generators[request.direction]})
        if self.lead:
            settings.update({f"{g}.start": f"{round(self.lead * 1000)}ms" for g in sending})
        self.switch.clean()
        vnfs, counters, cpu, inside, done = {}, {}, None, {}, None
        try:
            self.switch.start()
            for name, config in self.vnfs.items():
                vnfs[name] = self._vnf(name, config)
            for name, v in vnfs.items():  # guests boot beside each other
                if not v.ready():
                    raise SwitchError(f"{name} did not start: {v.running.output().strip()}")
            watched = self.settle and self.switch.forgets  # until its counters have been read
            seconds = self.lead + request.seconds + (READY_SECONDS if watched else self.settle)
            tester = chain.Controlled(TESTER, self.config, self.folder, settings, self.vbng, seconds, sample)
            silence = Silence(tester, self.generators[request.direction], self.settle) if watched else None
            try:
                self._join(tester.running)
                self.look()
                cpu, counters = self._watch(tester.running, vnfs, silence)
                self.look()
            finally:
                done = tester.running.stop(READY_SECONDS) if watched else tester.running.finish(seconds + READY_SECONDS)
            if not watched:
                counters = self.switch.stats()
            elif not silence.lasted(done.report):
                counters = None
            inside = self.switch.lost_inside()
        except SwitchError as e:
            if isinstance(e, Late) and self.patience < PATIENCE[-1]:
                raise
            done = _failed(e, done)
        finally:
            reports = {name: v.running.stop() for name, v in vnfs.items()}
            self.switch.stop()
        self.last = {"reports": {TESTER: done.report, **{n: r.report for n, r in reports.items()}}, "counters": counters, "cpu": cpu,
                     "lost_inside": {k: n for k, n in inside.items() if n}}
        done = self._from(self.lead, done)
        return done, self._together(reports, done)

    @staticmethod
    def _from(lead, done):
        """A Result of the tester as if it had begun after so many seconds, in which it did nothing."""
        if not lead or done.report is None:
            return done
        rest = max(0.0, done.report["seconds"] - lead)
        cores = [{**c, "cpu_seconds": c["cpu_seconds"] * rest / done.report["seconds"]} for c in done.report["cores"]]
        samples = [{**s, "seconds": s["seconds"] - lead} for s in done.samples if s["seconds"] >= lead]
        return replace(done, report={**done.report, "seconds": rest, "cores": cores}, samples=samples)

    @property
    def lead(self):
        """Seconds from the start of the tester in which the ports of the switch come up."""
        return self.switch.lead * self.patience

    def _join(self, tester):
        """Wait until all ports of the switch are up. Raises Late if the switch has not said so when the generators begin to send."""
        if not self.lead:
            return
        end = time.monotonic() + READY_SECONDS
        while tester.alive() and not tester.sampling() and time.monotonic() < end:
            time.sleep(0.005)
        begin = time.monotonic() + self.lead
        up = False
        while tester.alive() and not up:
            up = self.switch.up()
            if time.monotonic() > begin:
                raise Late(f"{self.switch.title}: a port is not up {self.lead:g} s after the start of its peer")
            time.sleep(0.02)
        time.sleep(max(0.0, begin - time.monotonic()))

    def _watch(self, tester, vnfs, silence):
        """Return (number of CPUs that switch, VNFs, tester and the whole machine used while the tester ran, {owner: CPUs}; counters
        of the switch at the silence, which ends it; None: there was none). silence: None for a tester that ends by itself."""
        end = time.monotonic() + READY_SECONDS
        while tester.alive() and not tester.sampling() and time.monotonic() < end:
            time.sleep(0.005)
        groups = {"switch": self.switch.pids, "vnfs": [v.running.pid for v in vnfs.values()], TESTER: [tester.pid]}
        before, start = {k: _cpu_seconds(p) for k, p in groups.items()}, time.monotonic()
        machine = _machine_seconds()
        after, counters = before, None
        while tester.alive() and counters is None:
            if silence is not None and silence.reached():
                counters = self.switch.stats()
            after = {k: _cpu_seconds(p) for k, p in groups.items()}
            self.switch.check()
            time.sleep(0.02)
        wall = time.monotonic() - start
        return {**{k: (after[k] - before[k]) / wall for k in groups}, "machine": (_machine_seconds() - machine) / wall}, counters

    @staticmethod
    def _together(reports, tester):
        """Join the Results of the VNFs; the names of tasks begin with the VNF's."""
        if not reports:
            return tester
        dead = next((r for r in reports.values() if not r.ok), None)
        if dead is not None:
            return dead
        first = next(iter(reports.values()))
        tasks = [{**t, "name": f"{name}.{t['name']}"} for name, r in reports.items() for t in r.report["tasks"]]
        return replace(first, report={**first.report, "tasks": tasks, "cores": [c for r in reports.values() for c in r.report["cores"]]})


def take(one, request):
    """Run a trial and judge it, without the marks that mean nothing here, and with the CPU time of all processes, and where packets were lost."""
    row = trial.take(one, request)
    row["marks"] = [m for m in row["marks"] if m not in NOT_HERE and not (one.shared and m == "disturbed")]
    row["cpu"], row["lost_inside"] = one.last.get("cpu"), one.last.get("lost_inside")
    if row["ok"]:
        senders = [n for n in (*one.generators[request.direction], *one.probes.get(request.direction, ())) if n not in one.nics]
        row["lost_at"] = losses.places(one.topology, one.last["reports"], one.last["counters"], one.last["lost_inside"], senders, row)
    return row


def make(adapter, setup, folder, cpus, vbng=None, saturation=rig.SATURATION, idle=None, places=None):
    """Make a SwitchRig, with its configurations in the folder. idle: of all vbng (default: they sleep where processes share a CPU). places: the
    Guests or Containers of VNFs that are not on the host (default: those without options). Raises SwitchError or rig.Unusable."""
    # a short path, as that of a socket has at most 107 bytes
    switch = adapter(tempfile.mkdtemp(prefix="vbng-lab-"), cpus[:1])
    try:
        return _rig(switch, setup, folder, cpus, vbng, saturation, idle, places)
    except BaseException:
        shutil.rmtree(switch.folder, ignore_errors=True)
        raise


def _rig(switch, setup, folder, cpus, vbng, saturation, idle, places):
    topology = scenarios.ALL[setup.scenario](setup.number)
    if isinstance(switch, Alone):
        topology = alone(topology)
    wire(switch, topology, setup)
    where, shared = placement(switch, topology, cpus)
    paths = configs.write(folder, setup.scenario, topology, switch, where, idle or ("sleep" if shared else "pause"), setup.train, setup.guest)
    with open(os.path.join(folder, f"{switch.name}.sh"), "w", encoding="utf-8") as f:
        f.write(switch.render())
    return SwitchRig(paths.pop(TESTER), vbng=vbng, saturation=saturation, switch=switch, topology=topology, vnfs=paths, shared=shared,
                     folder=switch.folder, where=where, places=places or PLACES[setup.vnf_in]()).discover()  # fmt: skip
