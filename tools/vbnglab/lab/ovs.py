# SPDX-License-Identifier: BSD-3-Clause
"""Open vSwitch with DPDK, by itself: daemons, database and sockets in a private folder, no service of the system.

    switch = OvsDpdk(folder)
    a, b = switch.add_port("a"), switch.add_port("b")
    switch.connect("a", "b")
    switch.start()
    ...
    switch.stats(); switch.stop()

Ports and connections are recorded; start() makes them all. It uses ordinary memory, and lets its polling
threads sleep when there is nothing to do, so it also runs where CPUs are shared. It has a network namespace of
its own: a bridge comes with a persistent interface, which ends with it there however it ends, and two
switches do not meet.
"""

import os
import re
import subprocess
import time
from dataclasses import dataclass

from . import run
from .failure import Failure

# full path, as ovs-vswitchd in $PATH is the one without DPDK
VSWITCHD = "/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk"
SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"
START_SECONDS = 40.0
TAIL = 15  # lines
STOP_SECONDS = 10.0


class SwitchError(Failure):
    """The switch does not run; the text says why, with its last lines."""


@dataclass(frozen=True)
class Attachment:
    """How a VNF attaches to a port of the switch."""

    path: str  # path of the vhost-user socket
    vnf_is_server: bool  # the VNF makes the socket, and the switch connects to it

    @property
    def device_arguments(self):
        """Arguments of DPDK's net_virtio_user for a VNF at this port."""
        return f"path={self.path}" + (",server=1" if self.vnf_is_server else "")

    @property
    def guest_port(self):
        """The value of vbng-lab vm run --port for a guest at this port."""
        return f"vhost:{self.path}" + (",server" if self.vnf_is_server else "")


def _isolation():
    """The words before a command that give it network and mount namespaces, and a folder for DPDK that ends with them. Inside,
    any user is root."""
    options, folder = ("-nm", "/run/dpdk") if os.geteuid() == 0 else ("-Urnm", "/run")
    return ["unshare", options, "sh", "-c", f'mkdir -p {folder} && mount -t tmpfs none {folder} && exec "$@"', "sh"]


def probe():
    """Return (version, ""), or (None, why Open vSwitch cannot run here)."""
    for path in (VSWITCHD, SCHEMA):
        if not os.path.exists(path):
            return None, f"{path} is not there (Debian package openvswitch-switch-dpdk)"
    done = subprocess.run([VSWITCHD, "--version"], capture_output=True, text=True)
    match = re.search(r"Open vSwitch\) (\S+)", done.stdout)
    if not match:
        return None, (done.stderr or done.stdout).strip() or "it does not tell its version"
    done = subprocess.run([*_isolation(), "true"], capture_output=True, text=True)
    return (match[1], "") if done.returncode == 0 else (None, f"no network namespace can be made: {done.stderr.strip()}")


def _interface(port):
    """The columns of a port's row in the table Interface."""
    if isinstance(port, Attachment):
        return "type=dpdkvhostuserclient", f"options:vhost-server-path={port.path}"
    return "type=dpdk", f'options:dpdk-devargs="{port}"'


class OvsDpdk:
    """One switch. cpus: CPUs of its polling threads; memory_mib: MiB for all packet buffers."""

    def __init__(self, folder, cpus=(0,), memory_mib=1024):
        self.folder, self._memory = folder, memory_mib
        self._mask = hex(sum(1 << c for c in cpus))
        self._ports, self._connections, self._daemons = {}, [], {}
        self._environment = {**os.environ, "OVS_RUNDIR": folder}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def add_port(self, name):
        """Record a vhost-user port; returns its Attachment."""
        self._ports[name] = Attachment(os.path.join(self.folder, f"{name}.sock"), True)
        return self._ports[name]

    def add_device(self, name, device):
        """Record a port that is a device of DPDK: a PCI address, or a virtual device with its arguments."""
        self._ports[name] = device

    def connect(self, a, b, mode="patch"):
        """Record that two ports are joined. patch: all that comes in by one leaves by the other; learn: the switch learns
        MAC addresses, among all ports that are joined so."""
        if mode not in ("patch", "learn"):
            raise ValueError(f"mode '{mode}'")
        self._connections.append((a, b, mode))

    def _bridges(self):
        """[(ports, connections)] of the bridges: ports that are connected, directly or not, share one."""
        groups = [{p} for p in self._ports]
        for a, b, _ in self._connections:
            joined = [g for g in groups if a in g or b in g]
            groups = [g for g in groups if g not in joined] + [set().union(*joined)]
        return [(sorted(g), [c for c in self._connections if c[0] in g]) for g in groups]

    # --- life ---

    def start(self):
        """Start the daemons, make bridges and ports. Raises SwitchError, after which nothing of the switch is left."""
        version, why = probe()
        if version is None:
            raise SwitchError(why)
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    def _start(self):
        d = self.folder
        os.makedirs(d, exist_ok=True)
        self._run("ovsdb-tool", "create", f"{d}/conf.db", SCHEMA)
        self._daemon("db", ["ovsdb-server", f"{d}/conf.db", f"--remote=punix:{d}/db.sock", f"--unixctl={d}/db.ctl"])
        self._wait_for(f"{d}/db.sock")
        self._vsctl("--no-wait", "init")
        self._vsctl("--no-wait", "set", "Open_vSwitch", ".", "other_config:dpdk-init=true",
                    f"other_config:pmd-cpu-mask={self._mask}", f"other_config:dpdk-lcore-mask={self._mask}",
                    "other_config:per-port-memory=true", "other_config:pmd-maxsleep=50",
                    *self._memory_options())
        self._daemon("switch", [VSWITCHD, f"unix:{d}/db.sock", f"--unixctl={d}/switch.ctl"])
        self._wait_for(f"{d}/switch.ctl")
        for number, (ports, connections) in enumerate(self._bridges()):
            self._bridge(f"br{number}", ports, connections)

    def _memory_options(self):
        """Huge pages for NICs, else ordinary memory, with --legacy-mem because OvS adds --in-memory, which --no-huge alone refuses."""
        prefix = f"--file-prefix=ovs{os.getpid()}"
        nics = [p for p in self._ports.values() if isinstance(p, str) and not p.startswith("net_")]
        if nics:
            return f"other_config:dpdk-socket-mem={self._memory}", "other_config:dpdk-extra=" + " ".join([*(f"-a {n}" for n in nics), prefix])
        return (f"other_config:dpdk-extra=--no-pci --no-huge --legacy-mem -m {self._memory} {prefix}",)

    def _bridge(self, bridge, ports, connections):
        self._vsctl("add-br", bridge, "--", "set", "bridge", bridge, "datapath_type=netdev")
        for i, port in enumerate(ports):
            self._vsctl("add-port", bridge, port, "--", "set", "Interface", port, *_interface(self._ports[port]), f"ofport_request={i + 1}")
            error = self._vsctl("get", "Interface", port, "error").strip()
            if error not in ("[]", ""):
                raise SwitchError(f"port {port}: {error}\n{self.tail()}")
        flows = {}
        for a, b, mode in connections:
            for source, target in ((a, b), (b, a)):
                action = f"output:{ports.index(target) + 1}" if mode == "patch" else "NORMAL"
                flows.setdefault(source, set()).add(action)
        self._run("ovs-ofctl", "del-flows", f"unix:{self.folder}/{bridge}.mgmt")
        for port, actions in flows.items():
            flow = f"in_port={ports.index(port) + 1},actions={','.join(sorted(actions))}"
            self._run("ovs-ofctl", "add-flow", f"unix:{self.folder}/{bridge}.mgmt", flow)

    def _daemon(self, name, command):
        log = f"{self.folder}/{name}.log"
        with open(log, "wb") as out:
            self._daemons[name] = subprocess.Popen(
                [*_isolation(), "setpriv", "--pdeathsig", "KILL", *command, "--no-chdir", f"--log-file={log}", "-vconsole:off"],
                stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, env=self._environment, process_group=0)  # fmt: skip

    def _wait_for(self, path):
        end = time.monotonic() + START_SECONDS
        while not os.path.exists(path):
            if time.monotonic() > end or not self.alive():
                raise SwitchError(f"Open vSwitch did not start within {START_SECONDS:.0f} s\n{self.tail()}")
            time.sleep(0.02)

    def _run(self, *command):
        done = subprocess.run(command, capture_output=True, text=True, env=self._environment)
        if done.returncode != 0:
            raise SwitchError(f"{' '.join(command)}: {done.stderr.strip()}\n{self.tail()}")
        return done.stdout

    def _vsctl(self, *words):
        return self._run("ovs-vsctl", "--timeout=30", f"--db=unix:{self.folder}/db.sock", *words)

    @property
    def pids(self):
        """Process ids of the daemons."""
        return [d.pid for d in self._daemons.values()]

    def alive(self):
        """Tell whether the daemons run."""
        return bool(self._daemons) and all(d.poll() is None for d in self._daemons.values())

    def tail(self):
        """The last lines of the logs, and whether each daemon runs."""
        out = []
        for name, daemon in self._daemons.items():
            state = "runs" if daemon.poll() is None else f"ended with status {daemon.returncode}"
            out += [f"--- {name}.log ({name} {state}):", *run.text_of(f"{self.folder}/{name}.log").strip().splitlines()[-TAIL:]]
        return "\n".join(out)

    def stats(self):
        """{port: {"rx_packets", "rx_drop", "tx_packets", "tx_drop"}} as the switch counts: rx is what the VNF sent. Raises
        SwitchError when the switch has died."""
        if not self.alive():
            raise SwitchError(f"Open vSwitch has ended\n{self.tail()}")
        out = {}
        for number, _ in enumerate(self._bridges()):
            text = self._run("ovs-ofctl", "--names", "dump-ports", f"unix:{self.folder}/br{number}.mgmt")
            text = text.replace("=?", "=0")  # figures of a port without peer are "?"
            for name, *figures in re.findall(
                    r'port\s+"?([^\s":]+)"?: rx pkts=(\d+).*?drop=(\d+).*?tx pkts=(\d+).*?drop=(\d+)', text, re.S):
                if name in self._ports:
                    out[name] = dict(zip(("rx_packets", "rx_drop", "tx_packets", "tx_drop"), map(int, figures)))
        return out

    def up(self):
        """Tell whether a polling thread reads each vhost-user port. When the peer of one comes, the switch takes the port from its threads and gives it
        back; what is sent there meanwhile is lost inside (datapath_drop_invalid_port)."""
        text = self._run("ovs-appctl", "-t", f"{self.folder}/switch.ctl", "dpif-netdev/pmd-rxq-show")
        read = set(re.findall(r"port: (\S+)\s+queue-id:\s*\d+ \(enabled\)", text))
        return read.issuperset(name for name, port in self._ports.items() if isinstance(port, Attachment))

    def lost_inside(self):
        """{reason: packets} of the drops that no port counts: the datapath's, as of first packets of a flow whose upcall
        failed."""
        text = self._run("ovs-appctl", "-t", f"{self.folder}/switch.ctl", "coverage/show")
        return {name: int(n) for name, n in re.findall(r"^(datapath_drop_\w+).*total: (\d+)", text, re.M)}

    def stop(self):
        """End the daemons, the switch first. The logs stay in the folder."""
        for name in ("switch", "db"):
            run.end(self._daemons.pop(name, None), STOP_SECONDS)
