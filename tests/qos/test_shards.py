# SPDX-License-Identifier: BSD-3-Clause
"""One scheduler of 65,536 subscribers on 1, 2 and 8 cores, both directions: rates, shares, priorities, changes, the ledger.

The cores share the machine's CPUs, so it is about what is done, and not how fast. What is measured in real time is judged over
an interval in which no shard was kept from its CPU for longer than its buckets hold; without such an interval the case is skipped.
Subscribers' buckets hold 4 ms, as the port's does, and no shard catches up: else `lost` would not tell what the port has lost."""

import json
import os
import subprocess
import time

import pytest

from tests.common.limits import limit
from tests.common.verdict import nothing
from tests.control.load import wait_for
from tests.e2e.process import runtime_folder_left
from tests.qos.classes import wrong_classes
from vbnglab.lab import telemetry

PORT, SUBPORT = 30000000, 6000000  # bit/s
ONE = 301  # id of a subscriber of subport a who sends more than his rate
GREEDY = 256  # subscribers of subport a that always have best effort waiting
USERS_B = "32768-32831"  # of subport b
SECONDS, TRIES = 0.5, 16

UP = """
size 128
var user {users} random
ether src 02:c0:00:00:00:00 + user dst 02:b0:00:00:00:00
vlan tpid 0x88a8 id 128 + user[15:8]
vlan id 256 + user[7:0]
ipv4 src 10.0.0.0 + user dst 198.18.0.1 dscp {dscp}
udp src 1024 dst 2048
payload 00
"""
DOWN = """
size 150
var user {users} random
ether src 02:dd:00:00:00:00 dst 02:b0:00:00:01:00
mpls label 16
ipv4 src 203.0.113.1 dst 192.0.2.1
gre key user
ipv4 src 198.18.0.1 dst 10.0.0.0 + user dscp {dscp}
udp src 2048 dst 1024
payload 00
"""
CONFIG = """
name = "shards"; memory = "no-huge"; topology = "1x16x1"; idle = "sleep"; drain = "10s";
max_subscribers = 66000;
pools = {{ default = {{ mbufs = "128K"; data_room = "384"; overcommit = true; }}; }};
ports = (
    {{ name = "cpe0"; device = "wire:cpe0"; mac = "02:b0:00:00:00:00"; mtu = 200; on_full = "wait"; }},
    {{ name = "core0"; device = "wire:core0"; mac = "02:b0:00:00:01:00"; mtu = 200; addresses = "192.0.2.1"; on_full = "wait"; }},
    {{ name = "t_cpe0"; device = "wire:cpe0"; mtu = 200; }},
    {{ name = "t_core0"; device = "wire:core0"; mtu = 200; }}
);
qos = {{
    profiles = {{ home = {{ rate = "{rate}"; burst = "4ms"; }}; half = {{ rate = "5M"; burst = "4ms"; }}; }};
    dscp_maps = {{ ip = {{ queues = ( {{ dscp = "46"; class = "0"; }} ); default = {{ class = "be"; }}; }}; }};
    schedulers = {{ acc = {{ ports = "cpe0"; dscp_map = "ip"; rate = "{port}"; mtu = 256; catch_up = "0s";
        classes = ( {{ class = "0"; queue = 64; }}, {{ class = "be"; queue = 64; aqm = "none"; }} );
        subports = ( {{ name = "a"; svlan = "128-255"; }},
                     {{ name = "b"; svlan = "256-383"; rate = "{subport}"; whole = {whole}; }} ); }}; }};
}};
subscribers = ( {{ port = "cpe0"; svlan = "128-383"; cvlan = "256-511"; ipv4 = "10.0.0.0/16"; gre_key = "0-65535";
                   mac = "02:c0:00:00:00:00"; profile = "home"; }} );
routes = ( {{ prefix = "198.18.0.0/15"; port = "core0"; mac = "02:dd:00:00:00:00"; gre = "203.0.113.1"; mpls = 16; }} );
tasks = (
    {{ name = "lb_up"; type = "lb"; by = "qinq"; from = "cpe0"; to = "classify"; }},
    {{ name = "classify"; type = "classify"; to = "qos_up"; scheduler = "acc"; on_full = "wait"; }},
    {{ name = "qos_up"; type = "qos"; scheduler = "acc"; direction = "up"; to = "decap"; }},
    {{ name = "decap"; type = "qinq_decap"; to = "route"; }},
    {{ name = "route"; type = "route"; to = "gre_up"; }},
    {{ name = "gre_up"; type = "gre_encap"; to = "mpls_up"; }},
    {{ name = "mpls_up"; type = "mpls_push"; to = "core0"; }},
    {{ name = "lb_down"; type = "lb"; by = "gre"; from = "core0"; to = "mpls_down"; }},
    {{ name = "mpls_down"; type = "mpls_pop"; to = "gre_down"; on_full = "wait"; }},
    {{ name = "gre_down"; type = "gre_decap"; to = "encap"; scheduler = "acc"; }},
    {{ name = "encap"; type = "qinq_encap"; to = "qos_down"; }},
    {{ name = "qos_down"; type = "qos"; scheduler = "acc"; direction = "down"; to = "cpe0"; }},
    {{ name = "gen_up"; type = "gen"; to = "t_cpe0"; catch_up = "200ms"; streams = (
        {{ name = "all"; template = "up_all.tmpl"; rate = "10kpps"; }}, {{ name = "greedy"; template = "up_greedy.tmpl"; rate = "60kpps"; }},
        {{ name = "high"; template = "up_high.tmpl"; rate = "5kpps"; }}, {{ name = "b"; template = "up_b.tmpl"; rate = "12kpps"; }},
        {{ name = "one"; template = "up_one.tmpl"; rate = "12kpps"; }} ); }},
    {{ name = "gen_down"; type = "gen"; to = "t_core0"; catch_up = "200ms"; streams = (
        {{ name = "all"; template = "down_all.tmpl"; rate = "10kpps"; }}, {{ name = "greedy"; template = "down_greedy.tmpl"; rate = "60kpps"; }},
        {{ name = "high"; template = "down_high.tmpl"; rate = "5kpps"; }}, {{ name = "b"; template = "down_b.tmpl"; rate = "12kpps"; }},
        {{ name = "one"; template = "down_one.tmpl"; rate = "12kpps"; }} ); }},
    {{ name = "sink"; type = "sink"; from = ["t_cpe0", "t_core0"]; }}
);
layout = (
    {{ core = "0"; tasks = ["lb_up", "lb_down"]; }},
    {{ core = "{cores}"; tasks = ["classify", "qos_up", "decap", "route", "gre_up", "mpls_up",
                                  "mpls_down", "gre_down", "encap", "qos_down"]; }},
    {{ core = "9"; tasks = ["gen_up", "gen_down", "sink"]; }}
);
"""
STREAMS = {"all": ("0-65535", 0), "greedy": (f"0-{GREEDY - 1}", 0), "high": ("0-65535", 46), "b": (USERS_B, 0), "one": (str(ONE - 1), 0)}


class Scheduler:
    """A vbng with a scheduler of so many shards, and what its two qos tasks say."""

    def __init__(self, vbng, folder, shards, whole=False):
        self.folder, self.shards, self.whole = folder, shards, whole
        for name, (users, dscp) in STREAMS.items():
            self._write(f"up_{name}.tmpl", UP.format(users=users, dscp=dscp).lstrip())
            self._write(f"down_{name}.tmpl", DOWN.format(users=users, dscp=dscp).lstrip())
        self.config = self.write_config("shards.cfg")
        self.report_path, path = os.path.join(folder, "report.json"), os.path.join(folder, "control.sock")
        self.process = subprocess.Popen(
            [vbng, "--quiet", "--share-cpus", "--control", path, "--report", self.report_path, self.config],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.client = wait_for(self.process, path, 60)
        self.telemetry = telemetry.Telemetry(os.path.join(runtime_folder_left(self.process.pid)[0], telemetry.SOCKET))

    def _write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def write_config(self, name, rate="10M", subport=SUBPORT):
        cores = "1" if self.shards == 1 else f"1-{self.shards}"
        return self._write(name, CONFIG.format(cores=cores, rate=rate, port=PORT, subport=subport,
                                               whole=str(self.whole).lower()))

    def ask(self, **request):
        answer = self.client.ask(**request)
        assert answer.get("ok"), f"{request}: {answer}"
        return answer

    def _streams(self, cmd, names):
        for task in ("gen_up", "gen_down"):
            for name in names:
                self.ask(cmd=cmd, task=task, stream=name)

    def offer(self, *streams):
        """Only these streams send, once nothing waits any more of those that sent before."""
        self._streams("stop-stream", STREAMS)
        end = time.monotonic() + limit(20)
        while self.ask(cmd="show-ledger")["ledger"]["held"] != 0:
            assert time.monotonic() < end, "the queues do not run empty"
            time.sleep(0.02)
        self._streams("start-stream", streams)

    def qos(self):
        return {q["task"]: q for q in self.ask(cmd="show-qos")["qos"]}

    def _rounds(self):
        return {core: row["rounds"] for core, row in self.telemetry.objects("core").items()}

    def _come_round(self):
        """Wait until each core has begun a round and ended it: an absence counts when it is over."""
        before, end = self._rounds(), time.monotonic() + limit(20)
        while any(n < before[core] + 2 for core, n in self._rounds().items()):
            assert time.monotonic() < end, "a core does not come round"
            time.sleep(0.001)

    def interval(self, first=0, n=0):
        """((qos, subscribers) before, the same after, seconds) of an interval in which no shard was away for long; without one the test is skipped.
        subscribers: {id: (bytes upstream, bytes downstream)} of n from id first."""
        time.sleep(0.5)  # until queues have their usual length
        for _ in range(TRIES):
            users_before = by_subscriber(self, first, n) if n else {}
            a, before, b = time.monotonic(), self.qos(), time.monotonic()
            time.sleep(SECONDS)
            c, after, d = time.monotonic(), self.qos(), time.monotonic()
            users_after = by_subscriber(self, first, n) if n else {}
            self._come_round()
            lost = max(s["lost"] - o["lost"] for t, q in self.qos().items() for s, o in zip(q["shards"], before[t]["shards"], strict=True))
            if lost == 0 and max(b - a, d - c) < 0.01:
                return (before, users_before), (after, users_after), (c + d - a - b) / 2
        return pytest.skip("the shards were kept from their CPUs in all intervals")

    def end(self):
        """Stop it. Returns (what is wrong, report)."""
        self.process.terminate()
        out, err = self.process.communicate(timeout=limit(60))
        if self.process.returncode != 0:
            return [f"exit status {self.process.returncode}: {err or out}"], None
        with open(self.report_path, encoding="utf-8") as f:
            return [], json.load(f)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


def rate(before, after, seconds, task, subport=None):
    """bit/s that left a task, or a subport of it."""
    def count(all_tasks):
        return sum(s["bytes"] for s in all_tasks[task]["subports"] if subport in (None, s["name"]))

    return (count(after[0]) - count(before[0])) * 8 / seconds


def off(what, value, want, within):
    return [] if abs(value - want) <= within * want else [f"{what}: {value / 1e6:.3f} instead of {want / 1e6:.3f} Mbit/s"]


def by_subscriber(scheduler, first, n):
    """{id: (bytes upstream, bytes downstream)} so far."""
    page = scheduler.ask(cmd="show-subscribers", first=first, count=n)
    head = page["header"].split(",")
    up, down = head.index("qos_up_bytes"), head.index("qos_down_bytes")
    return {int(r[0]): (int(r[up]), int(r[down])) for r in (row.split(",") for row in page["rows"])}


def subports_together(s):
    """Best effort of many below the port's rate, and one subport whose own rate is too small."""
    s.offer("all", "b")
    i = s.interval()
    return [w for task in ("qos_up", "qos_down") for w in off(f"{task}: subport b", rate(*i, task, "b"), SUBPORT, 0.02)]


def port_and_shares(s):
    """Subscribers that always have something waiting share the port alike; the high class goes first."""
    s.offer("greedy", "high")
    (_, first), (qos, last), _ = i = s.interval(1, GREEDY)
    wrong = []
    for d, task in enumerate(("qos_up", "qos_down")):
        wrong += off(f"{task}: the port", rate(*i, task), PORT, 0.02)
        classes = qos[task]["classes"]
        if classes["0"]["packets"] == 0 or classes["0"]["tail"] != 0 or classes["be"]["tail"] == 0:
            wrong.append(f"{task}: the high class should lose nothing, and best effort something: {classes}")
        got = [last[k][d] - first[k][d] for k in last]
        mean = sum(got) / len(got)
        shares = [sum(got[k::s.shards]) / len(got[k::s.shards]) / mean for k in range(s.shards)]
        if min(got) == 0 or max(abs(x - 1) for x in shares) > 0.1:
            wrong.append(f"{task}: the shards' subscribers got {[f'{x:.3f}' for x in shares]} of the mean, one {min(got)} bytes")
    return wrong


def changed_rates(s, subport, one):
    """What is wrong with the rates of subport b and of subscriber ONE."""
    (_, first), (_, last), seconds = i = s.interval(ONE, 1)
    wrong = []
    for d, task in enumerate(("qos_up", "qos_down")):
        wrong += off(f"{task}: subport b", rate(*i, task, "b"), subport, 0.02)
        wrong += off(f"{task}: subscriber {ONE}", (last[ONE][d] - first[ONE][d]) * 8 / seconds, one, 0.1)
    return wrong


def changes(s):
    """A rate of a subport reaches all shards, a profile the subscriber's own; a reload changes both, and leaves nothing over."""
    s.offer("b", "one")
    wrong = changed_rates(s, SUBPORT, 10e6)
    for direction in ("up", "down"):
        s.ask(cmd="set-subport-rate", scheduler="acc", subport="b", direction=direction, rate=SUBPORT // 2)
    s.ask(cmd="set-profile", subscriber=ONE, profile="half")
    wrong += changed_rates(s, SUBPORT / 2, 5e6)
    s.ask(cmd="reload", file=s.write_config("again.cfg", rate="4M", subport=SUBPORT // 3))
    wrong += changed_rates(s, SUBPORT / 3, 4e6)
    if s.ask(cmd="show-changes")["requests"]:
        wrong.append("the reload left something as it was")
    return wrong


def come_and_go(s):
    """Subscribers are removed under load, and others are added: each on the shard that has a place."""
    s.offer("all")
    s.ask(cmd="remove-subscribers", subscribers=list(range(101, 133)))
    entries = [{"port": "cpe0", "svlan": 128 + (u >> 8), "cvlan": 256 + (u & 255), "ipv4": f"10.0.{u >> 8}.{u & 255}", "gre_key": u,
                "mac": f"02:c0:00:00:{u >> 8:02x}:{u & 255:02x}", "profile": "home"} for u in range(100, 132)]
    ids = s.ask(cmd="add-subscribers", subscribers=entries)["ids"]
    before = {k: by_subscriber(s, k, 1)[k] for k in ids}
    s.offer("greedy")
    end = time.monotonic() + limit(20)
    while time.monotonic() < end:
        silent = [k for k in ids if min(x - y for x, y in zip(by_subscriber(s, k, 1)[k], before[k], strict=True)) == 0]
        if not silent:
            return []
        time.sleep(0.2)
    return [f"subscribers that were added get nothing: {silent}"]


CASES = {f.__name__.replace("_", "-"): f for f in (subports_together, port_and_shares, come_and_go, changes)}


def faults_of(report, shards):
    wrong = wrong_classes(report)
    if report["ledger"]["balances"] is not True:
        wrong.append(f"the ledger does not balance: {report['ledger']}")
    tasks = {t["name"]: t for t in report["tasks"]}
    for q in report["qos"]:
        if len(q["shards"]) != shards:
            wrong.append(f"{q['task']}: {len(q['shards'])} shards")
        if tasks[q["task"]]["drops"]["other_shard"] != 0:
            wrong.append(f"{q['task']}: packets came to a wrong shard")
    return wrong


def what_ends(s):
    """What is wrong with the end of a scheduler, and with its report."""
    wrong, report = s.end()
    return wrong + (faults_of(report, s.shards) if report else [])


@pytest.fixture(scope="module", params=[pytest.param(1, marks=pytest.mark.long), 2, pytest.param(8, marks=pytest.mark.long)])
def scheduler(request, vbng, module_folder):
    """One that all cases have in turn; its 65,536 subscribers take some time to start."""
    folder = module_folder / str(request.param)
    folder.mkdir()
    s = Scheduler(vbng, str(folder), request.param)
    yield s
    s.kill()


@pytest.mark.limit(180)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_shards(scheduler, case):
    nothing(case(scheduler))


@pytest.mark.limit(180)
def test_the_end(scheduler):
    """After all cases: exit status, ledger, and each packet in its class and on its shard."""
    nothing(what_ends(scheduler))


@pytest.mark.limit(180)
def test_whole_subport(vbng, folder):
    """All subscribers of a subport that says whole are on one shard; its rate is as exact as without shards."""
    s = Scheduler(vbng, str(folder), 4, whole=True)
    try:
        nothing(subports_together(s) + come_and_go(s) + what_ends(s))
    finally:
        s.kill()
