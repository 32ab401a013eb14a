# SPDX-License-Identifier: BSD-3-Clause
"""A gateway with 16384 subscribers shaped in both directions, its generators and its sink, in one process. Idle cores sleep: what asks
it shares their CPUs."""

import json
import os
import socket
import subprocess
import time

from tests.common.limits import limit
from tests.control import offered

SUBSCRIBERS = 16384
CLASSES = 5  # queues in use: class 0 and the four of best effort

CONFIG = """
name = "qos-load";
memory = "no-huge";
idle = "sleep";
max_subscribers = "16384";
max_routes = "4";
max_routes6 = "4";
pools = {{ default = {{ mbufs = "96K"; data_room = "384"; overcommit = true; }}; }};
ports = (
    {{ name = "cpe0"; device = "wire:cpe0"; mac = "02:b0:00:00:00:00"; mtu = 200; on_full = "wait"; }},
    {{ name = "core0"; device = "wire:core0"; mac = "02:b0:00:00:01:00"; mtu = 200; addresses = "192.0.2.1"; on_full = "wait"; }},
    {{ name = "t_cpe0"; device = "wire:cpe0"; mtu = 200; on_full = "wait"; }},
    {{ name = "t_core0"; device = "wire:core0"; mtu = 200; on_full = "wait"; }}
);
qos = {{
    profiles = {{ home-100k = {{ rate = "100k"; }}; home-10M = {{ rate = "10M"; }}; home-50M = {{ rate = "50M"; }}; }};
    dscp_maps = {{ ip = {{ queues = ( {{ dscp = "46"; class = "0"; }} ); default = {{ class = "be"; }}; }}; }};
    schedulers = {{ acc = {{ ports = ["cpe0"]; dscp_map = "ip"; rate = "10G";
                             classes = ( {{ class = "0"; queue = 16; }}, {{ class = "be"; queue = 16; aqm = "none"; }} ); }}; }};
}};
subscribers = ( {{ port = "cpe0"; svlan = "128-191"; cvlan = "256-511"; ipv4 = "10.0.0.0/18"; gre_key = "0-16383";
                   mac = "02:c0:00:00:00:00"; profile = "home-100k"; }} );
routes = ( {{ prefix = "198.18.0.0/15"; port = "core0"; mac = "02:dd:00:00:00:00"; gre = "203.0.113.1"; mpls = 16; }} );
tasks = (
    {{ name = "classify"; type = "classify"; from = "cpe0"; to = "qos_up"; scheduler = "acc"; }},
    {{ name = "qos_up"; type = "qos"; scheduler = "acc"; direction = "up"; to = "decap"; }},
    {{ name = "decap"; type = "qinq_decap"; to = "route"; }},
    {{ name = "route"; type = "route"; to = "gre_up"; }},
    {{ name = "gre_up"; type = "gre_encap"; to = "mpls_up"; }},
    {{ name = "mpls_up"; type = "mpls_push"; to = "core0"; }},
    {{ name = "mpls_down"; type = "mpls_pop"; from = "core0"; to = "gre_down"; }},
    {{ name = "gre_down"; type = "gre_decap"; to = "encap"; scheduler = "acc"; }},
    {{ name = "encap"; type = "qinq_encap"; to = "qos_down"; }},
    {{ name = "qos_down"; type = "qos"; scheduler = "acc"; direction = "down"; to = "cpe0"; }},
    {{ name = "gen_cpe0"; type = "gen"; template = "up.tmpl"; rate = "{rate}"; to = "t_cpe0"; }},
    {{ name = "gen_hot"; type = "gen"; template = "hot.tmpl"; rate = "{rate}"; to = "t_cpe0"; }},
    {{ name = "gen_core0"; type = "gen"; template = "down.tmpl"; rate = "{rate}"; to = "t_core0"; }},
    {{ name = "sink"; type = "sink"; from = ["t_cpe0", "t_core0"]; }}
);
layout = (
    {{ core = "0"; tasks = ["classify", "qos_up", "decap", "route", "gre_up", "mpls_up", "mpls_down", "gre_down", "encap", "qos_down"]; }},
    {{ core = "1"; tasks = ["gen_cpe0", "gen_hot", "gen_core0", "sink"]; }}
);
"""


def write(folder, rate):
    """The configuration and its templates. Returns its path."""
    files = {
        "load.cfg": CONFIG.format(rate=rate),
        "up.tmpl": offered.FROM_ACCESS.format(users=f"0-{SUBSCRIBERS - 1}", dst="198.18.0.1"),
        "hot.tmpl": offered.FROM_ACCESS.format(users="0-31", dst="198.18.0.1"),
        "down.tmpl": offered.FROM_CORE.format(users=f"0-{SUBSCRIBERS - 1}"),
    }
    offered.write(folder, files)
    return os.path.join(folder, "load.cfg")


class Client:
    """One connection; ask() for a right request, send() and line() for anything else."""

    def __init__(self, path, timeout=60):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.socket.settimeout(limit(timeout))
        self.file = self.socket.makefile("rb")

    def send(self, data):
        self.socket.sendall(data)

    def line(self):
        return self.file.readline()

    def ask(self, **request):
        self.send(json.dumps(request).encode() + b"\n")
        return json.loads(self.line())

    def close(self):
        self.file.close()
        self.socket.close()


def wait_for(process, path, timeout):
    """Wait until a vbng answers on its socket. Returns a client; raises RuntimeError where it ends, or does not answer."""
    end = time.monotonic() + limit(timeout)
    while time.monotonic() < end and process.poll() is None:
        try:
            client = Client(path)
        except OSError:
            time.sleep(0.05)
            continue
        client.ask(cmd="show-ledger")
        return client
    raise RuntimeError("did not start")


class Gateway:
    """A vbng under load with a control socket."""

    def __init__(self, binary, folder, rate="200kpps", options=()):
        self.path = os.path.join(folder, "control.sock")
        self.report_path = os.path.join(folder, "report.json")
        self.csv_path = os.path.join(folder, "subscribers.csv")
        self.config = write(folder, rate)
        self.binary = binary
        command = [binary, "--quiet", "--share-cpus", "--control", self.path, "--report", self.report_path]
        command += ["--subscribers", self.csv_path, *options, self.config]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def wait_until_up(self, timeout=60):
        """Until it answers. Returns a client."""
        try:
            return wait_for(self.process, self.path, timeout)
        except RuntimeError as e:
            raise RuntimeError(f"{e}: {self.end()}") from None

    def end(self):
        """Stop it. Returns what is wrong with that."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            out, err = self.process.communicate(timeout=limit(60))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            return ["does not stop"]
        wrong = [] if self.process.returncode == 0 else [f"exit status {self.process.returncode}: {err or out}"]
        return wrong + ([f"left {self.path}"] if os.path.exists(self.path) else [])

    def report(self):
        with open(self.report_path) as f:
            return json.load(f)


# The only drops of a gateway whose subscribers send more than they may; overload: on a machine that is too slow for
# the load, what cannot be taken is dropped before the scheduler.
SHAPED = ("queue_full", "overload")


def drops_of(report):
    """Drops of the gateway's own tasks but those of the shaper, "task reason": packets."""
    return {
        f"{t['name']} {reason}": n
        for t in report["tasks"]
        if t["type"] != "gen"
        for reason, n in t["drops"].items()
        if n > 0 and reason not in SHAPED
    }


def account(gateway):
    """What is wrong with a gateway that has ended."""
    report = gateway.report()
    wrong = [] if report["ledger"]["balances"] else [f"the ledger does not balance: {report['ledger']}"]
    wrong += [f"lost: {name} {n}" for name, n in drops_of(report).items()]
    for t in report["tasks"]:
        if t["type"] == "qos" and t["sent"] == 0:
            wrong.append(f"{t['name']} has sent nothing")
    return wrong
