# SPDX-License-Identifier: BSD-3-Clause
"""What the telemetry socket says of a gateway under load, and that no reader of it costs a packet."""

import functools
import json
import os
import pathlib
import re
import shlex
import signal
import socket
import subprocess
import sys
import time

import pytest

from tests.common import need
from tests.common.limits import limit
from tests.telemetry import monitoring

CONFIG = pathlib.Path(__file__).resolve().parent.parent.parent / "cfg/bng-qos-4port.cfg"
GROUPS = {"task", "port", "queue", "link", "pool", "core", "ledger", "direction", "qos", "subport", "subscriber"}
DOCUMENTS = {"plan", "schema"}
GENERATORS = ("gen_cpe0", "gen_cpe1", "gen_core0", "gen_core1")
SUBSCRIBERS = 65536
EXPORTER, TOP = ([sys.executable, "-m", "vbnglab", command] for command in ("exporter", "top"))


def groups_of(commands):
    return {c.split("/")[2] for c in commands if c.startswith("/vbng/")}


class Client:
    """A connection to the socket."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(limit(10))
        self.socket.connect(path)
        self.room = json.loads(self.socket.recv(1024))["max_output_len"]

    def close(self):
        self.socket.close()

    def ask(self, command):
        self.socket.send(command.encode())
        return json.loads(self.socket.recv(self.room))[command.split(",")[0]]


class Gateway:
    """A gateway under load, and a client of its socket."""

    def __init__(self, vbng, folder):
        self.folder, self.report = folder, folder / "report.json"
        self.log = open(folder / "log", "w+", encoding="utf-8")
        rates = [word for gen in GENERATORS for word in ("--set", f"{gen}.rate=20kpps")]
        self.vbng = subprocess.Popen([vbng, *rates, "--quiet", "--share-cpus", "--duration", f"{limit(90):.0f}s", "--report", self.report,
                                      "--set", "idle=sleep", CONFIG], stdout=self.log, stderr=self.log)
        self.path = f"/var/run/dpdk/vbng-{self.vbng.pid}/dpdk_telemetry.v2"
        self.client = None

    def connect(self):
        """Wait until it has offered all its commands."""
        end = time.monotonic() + limit(30)
        while time.monotonic() < end and self.vbng.poll() is None:
            if os.path.exists(self.path):
                self.client = Client(self.path)
                if groups_of(self.client.ask("/")) >= GROUPS | DOCUMENTS:
                    return
                self.client.close()
            time.sleep(0.05)
        self.log.seek(0)
        raise AssertionError(f"vbng does not answer on {self.path}: {self.log.read()}")

    def close(self):
        if self.vbng.poll() is None:
            self.vbng.kill()
            self.vbng.wait()
        if self.client:
            self.client.close()
        self.log.close()


@pytest.fixture(scope="module")
def gateway(vbng, module_folder):
    g = Gateway(vbng, module_folder)
    try:
        g.connect()
        yield g
    finally:
        g.close()


def test_every_group_says_what_it_counts(gateway):
    assert groups_of(gateway.client.ask("/")) == GROUPS | DOCUMENTS
    for group in GROUPS:
        rows = gateway.client.ask(f"/vbng/{group}")
        rows.pop("count")
        assert rows
        for key, text in rows.items():
            kind, unit, name, words = text.split(" ", 3)
            assert kind in ("counter", "gauge"), key
            assert (kind == "counter") == name.split("{")[0].endswith("_total"), name
            assert name.startswith(f"vbng_{group}_"), name
            assert words, key
            assert len(text) < 127, "the library cuts a text off: " + text


def test_objects_by_name_and_number(gateway):
    tasks = gateway.client.ask("/vbng/task/list")
    assert "classify" in tasks
    by_name = gateway.client.ask("/vbng/task/get,classify")
    by_number = gateway.client.ask(f"/vbng/task/get,{tasks.index('classify')}")
    assert set(by_name) == set(by_number)
    assert "drop_spoofed" in by_name
    assert "stat_bytes" in gateway.client.ask("/vbng/task/get,sink")


def test_wrong_parameters_are_refused(gateway):
    for command in ("/vbng/task/get", "/vbng/task/get,none", "/vbng/task/get,999", "/vbng/task/list,x",
                    "/vbng/task/page,-1", "/vbng/task/page,99999999999999999999"):
        assert not gateway.client.ask(command), command
    assert gateway.client.ask("/vbng/task/list,500") == []


def document(gateway, name):
    """A document that is answered in pieces."""
    text = ""
    while piece := gateway.client.ask(f"/vbng/{name}/json,{len(text)}"):
        text += piece
    return json.loads(text)


def test_the_schema_is_that_of_the_help(gateway, vbng, run):
    assert document(gateway, "schema") == json.loads(run(vbng, "--help", "json").stdout)


def test_links_are_those_of_the_plan(gateway, vbng):
    plan = document(gateway, "plan")
    printed = subprocess.run([vbng, "--plan=json", "--share-cpus", CONFIG], capture_output=True, text=True, check=True, timeout=limit(60))
    assert plan["instances"] == json.loads(printed.stdout)["instances"]
    kinds = {"call": 0, "ring": 1, "port": 2}
    expected = []
    for instance in plan["instances"]:
        for number, output in enumerate(instance["outputs"]):
            for to in output["destinations"]:
                name = instance["instance"] + (":" + output["name"] if output["name"] != "to" else "")
                expected.append((f"{name}>{to.get('port') or to['instance']}", kinds[to["kind"]]))
    names = gateway.client.ask("/vbng/link/list")
    assert [(name, gateway.client.ask(f"/vbng/link/get,{i}")["kind"]) for i, name in enumerate(names)] == expected
    end = time.monotonic() + limit(20)
    while not gateway.client.ask("/vbng/link/get,classify>qos_up")["sent"] and time.monotonic() < end:
        time.sleep(0.05)
    assert gateway.client.ask("/vbng/link/get,classify>qos_up")["sent"] > 0


def test_subscribers_by_name(gateway):
    assert gateway.client.ask("/vbng/subscriber/get,cpe0 128.257")["up_rate"] == 10_000_000
    for name in ("cpe0 128.4096", "cpe0 1.1", "none 128.257", "cpe0 128.257 ", "cpe0"):
        assert gateway.client.ask(f"/vbng/subscriber/get,{name}") is None, name


def test_the_greatest_come_first(gateway):
    keys = list(gateway.client.ask("/vbng/subscriber"))[1:]
    end = time.monotonic() + limit(20)
    while True:  # four subscribers are sent four times what they may have: soon their queues are full
        top = gateway.client.ask("/vbng/subscriber/top,drops")
        rows = [dict(zip(keys, top["rows"][i : i + len(keys)])) for i in range(0, len(top["rows"]), len(keys))]
        drops = [row["up_drops"] + row["down_drops"] for row in rows]
        if drops[3] > 0 or time.monotonic() > end:
            break
        time.sleep(0.2)
    assert sorted(top["numbers"][:4]) == [0, 1, 2, 3]
    assert sorted(top["names"][:4]) == [f"cpe0 128.{c}" for c in range(256, 260)]
    assert drops == sorted(drops, reverse=True)
    assert (drops[4], top["count"], len(rows)) == (0, SUBSCRIBERS, 25)
    per_task = sum(gateway.client.ask(f"/vbng/task/get,{task}")["drop_queue_full"] for task in ("qos_up", "qos_down"))
    assert sum(drops) <= per_task
    assert gateway.client.ask(f"/vbng/subscriber/top,bps,{SUBSCRIBERS - 3}")["count"] == SUBSCRIBERS
    assert len(gateway.client.ask(f"/vbng/subscriber/top,bps,{SUBSCRIBERS - 3}")["numbers"]) == 3
    for bad in ("", ",none", ",ps", ",drop_", ",bps,x", ",bps,-1"):
        assert gateway.client.ask(f"/vbng/subscriber/top{bad}") is None, bad


def test_all_subscribers_in_pages(gateway):
    rows = gateway.client.ask("/vbng/subscriber")
    assert rows.pop("count") == SUBSCRIBERS
    end = time.monotonic() + limit(20)
    while gateway.client.ask("/vbng/subscriber/get,0")["up_packets"] == 0 and time.monotonic() < end:
        time.sleep(0.1)  # they are looked at once a second
    total, first, packets = 0, 0, list(rows).index("up_packets")
    while first < SUBSCRIBERS:
        lines = [line.split(",") for line in gateway.client.ask(f"/vbng/subscriber/page,{first}").splitlines()]
        assert len(lines) >= min(20, SUBSCRIBERS - first)
        assert {len(line) for line in lines} == {1 + len(rows)}
        assert lines[0][0] == gateway.client.ask(f"/vbng/subscriber/list,{first}")[0]
        total += sum(int(line[1 + packets]) for line in lines)
        first += len(lines)
    assert first == SUBSCRIBERS
    assert total > 0
    assert total <= gateway.client.ask("/vbng/task/get,qos_up")["sent"]
    one = gateway.client.ask("/vbng/subscriber/get,cpe1 255.511")
    assert one["up_rate"] == 10_000_000


@functools.cache
def exported(gateway, *more):
    """What the exporter says, once for all who look at it: all subscribers take it seconds."""
    need.module("prometheus_client", "python3-prometheus-client")
    out = subprocess.run([*EXPORTER, "--telemetry", gateway.path, "--once", *more], capture_output=True, text=True, timeout=limit(60))
    assert out.returncode == 0, out.stderr
    return out.stdout


@pytest.mark.parametrize("more", [[], ["--subscribers"]], ids=["groups", "subscribers"])
def test_the_exporter(gateway, more):
    lines = exported(gateway, *more).splitlines()
    assert 'vbng_task_dropped_packets_total{reason="spoofed",task="classify"} 0.0' in lines
    words = [line for line in lines if line.startswith('vbng_task_drop_info{meaning="The subscriber\'s queue was full",reason="queue_full",remedy="Normal for')]
    assert len([line for line in words if 'task="qos_up"' in line]) == 1
    one = [line for line in lines if line.startswith('vbng_subscriber_up_bytes_total{subscriber="cpe0 128.256"}')]
    assert len(one) == len(more)


def of_each(metrics, most):
    """Of each metric no more than so many lines. promtool of Debian 13 took minutes for those of all subscribers."""
    kept, n = [], {}
    for line in metrics.splitlines(keepends=True):
        name = re.split(r"[{ ]", line, maxsplit=1)[0]
        n[name] = n.get(name, 0) + 1
        if line.startswith("#") or n[name] <= most:
            kept.append(line)
    return "".join(kept)


@pytest.mark.parametrize("more", [[], ["--subscribers"]], ids=["groups", "subscribers"])
def test_promtool_finds_nothing(gateway, run, more):
    lint = run(need.program("promtool", "prometheus"), "check", "metrics", input=of_each(exported(gateway, *more), 100))
    assert (lint.returncode, lint.stdout + lint.stderr) == (0, "")


def test_subports(gateway):
    """The sum of a task's subports is what its subscribers have got, by class and in all."""
    names = gateway.client.ask("/vbng/subport/list")
    assert names == [f"{task}.0 {port}" for task in ("qos_up", "qos_down") for port in ("cpe0", "cpe1")]
    assert gateway.client.ask("/vbng/subport/get,qos_down.0 cpe1")["rate"] == 10_000_000_000
    before = gateway.client.ask("/vbng/task/get,qos_up")
    found = [gateway.client.ask(f"/vbng/subport/get,{name}") for name in names[:2]]
    after = gateway.client.ask("/vbng/task/get,qos_up")
    assert before["sent"] <= sum(f["packets"] for f in found) + 64  # a burst has left the scheduler, and is not counted as sent yet
    assert sum(f["packets"] for f in found) <= after["sent"] + 64
    assert before["drop_queue_full"] <= sum(f["dropped"] for f in found) <= after["drop_queue_full"] + 64
    for f in found:
        assert {k.partition("_")[2] for k in f if "_" in k} == {"0", "1", "be"}
        for key in ("bytes", "packets", "dropped"):  # of a moment later; what is held comes and goes
            assert sum(v for k, v in f.items() if k.startswith(key + "_")) >= f[key], key


def test_what_is_shipped_names_metrics_that_there_are(gateway):
    """Every metric of the dashboard and of the alerts is in the exporter's output, with the labels that the texts name."""
    series = re.findall(r"^(vbng_\w+)\{(.*)\} ", exported(gateway, "--subscribers"), re.M)
    labels = {}
    for name, text in series:
        labels.setdefault(name, set()).update(re.findall(r'(\w+)="', text))
    for where, expression, named in monitoring.expressions():
        used = monitoring.metrics(expression)
        if any(name.startswith("vbng_cp_") for name in used):
            continue  # of vbng-cp: tests/cp/test_metrics.py
        assert used <= set(labels), where
        assert set(named) <= {"instance"}.union(*(labels[name] for name in used)), where
    assert {"vbng_build_info", "vbng_subport_sent_bytes_total"} <= set(labels)


def test_openmetrics(gateway):
    text = exported(gateway, "--openmetrics")
    assert text.endswith("# EOF\n")
    assert "# TYPE vbng_core_rounds counter\n" in text


def test_the_terminal_view(gateway):
    for more, word in ((["--interval", "0.2"], "classify"), (["--subscribers", "--interval", "0.2"], "cpe0 128.")):
        out = subprocess.run([*TOP, "--telemetry", gateway.path, "--once", *more], capture_output=True, text=True, timeout=limit(60))
        assert out.returncode == 0, out.stderr
        assert word in out.stdout


def test_keys_in_a_terminal_of_24_lines(gateway):
    program, server = need.program("tmux"), gateway.folder / "tmux"

    def tmux(*args):
        return subprocess.run([program, "-S", server, "-f", "/dev/null", *args], capture_output=True, text=True, timeout=limit(20))

    assert tmux("new-session", "-d", "-x", "80", "-y", "24", f"{shlex.join(TOP)} --telemetry {gateway.path} --interval 0.3; sleep 60").returncode == 0
    try:
        for key, words in ((None, ["core0 ", "rx bit/s", "scheduler", "q end"]), ("p", ["gre_up", "drops per second"]),
                           ("l", ["qos_up", "queue_full", "The subscriber's queue was full", "Normal for"]), ("s", ["cpe0 128.256", "by rate"]),
                           ("d", ["by drops"]), ("PageDown", ["22 to 4"]), ("PageUp", ["1 to 21 of 65536 by drops"]), ("g", ["scheduler", "rx bit/s"])):
            if key is not None:
                tmux("send-keys", key)
            end = time.monotonic() + limit(40)
            while any(word not in (shown := tmux("capture-pane", "-p").stdout) for word in words) and time.monotonic() < end:
                time.sleep(0.1)
            assert [word for word in words if word not in shown] == [], shown
        tmux("send-keys", "q")
        end = time.monotonic() + limit(40)
        while "q end" in tmux("capture-pane", "-p").stdout and time.monotonic() < end:
            time.sleep(0.1)
        assert "Traceback" not in tmux("capture-pane", "-p").stdout
    finally:
        tmux("kill-server")


def test_dpdks_own_client(gateway):
    out = subprocess.run([need.program("dpdk-telemetry.py", "dpdk-dev"), "-f", f"vbng-{gateway.vbng.pid}"], input="/vbng/link/get,classify>qos_up\n/vbng/port/page\nquit\n",
                         capture_output=True, text=True, timeout=limit(20))
    assert out.returncode == 0, out.stderr
    assert '"high_water"' in out.stdout
    assert "t_core1," in out.stdout


def test_no_gateway(gateway):
    out = subprocess.run([*EXPORTER, "--telemetry", gateway.folder / "none", "--once"], capture_output=True,
                         text=True, timeout=limit(60))
    assert out.returncode == 1
    assert "No such file" in out.stderr


def test_a_reader_that_hangs_costs_nothing(gateway):
    """One that never takes its answers away; then the end of the run, whose ledger must balance."""
    hung = Client(gateway.path)
    hung.socket.setblocking(False)
    try:
        for _ in range(10000):
            hung.socket.send(b"/vbng/task/list")
    except BlockingIOError:
        pass
    before = gateway.client.ask("/vbng/ledger/get,0")
    time.sleep(0.5)
    after = gateway.client.ask("/vbng/ledger/get,0")
    assert after["received"] > before["received"]
    gateway.vbng.send_signal(signal.SIGTERM)
    assert gateway.vbng.wait(limit(30)) == 0
    with open(gateway.report, encoding="utf-8") as f:
        ledger = json.load(f)["ledger"]
    assert ledger["balances"]
    assert ledger["received"] >= after["received"]
    hung.close()
