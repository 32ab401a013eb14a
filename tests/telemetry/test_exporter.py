# SPDX-License-Identifier: BSD-3-Clause
"""The exporter's server, in front of a telemetry socket that is made up: who gets an answer, and who keeps nobody from one."""

import contextlib
import http.client
import json
import re
import socket
import subprocess
import sys
import threading
import time

import pytest

from tests.common import need
from tests.common.limits import limit
from vbnglab.lab import serve

need.module("prometheus_client", "python3-prometheus-client")

from vbnglab.exporter import server as exporter  # noqa: E402

EXPORTER = [sys.executable, "-m", "vbnglab", "exporter"]
SCHEMA = {"tasks": [{"type": "sink", "drops": [{"name": "full", "meaning": 'a "queue"\nwas full', "remedy": "a \\ more"}]}], "drops": [], "ports": []}
PLAN = {"version": "1.2.3", "name": "bng", "instances": [{"task": "sink", "type": "sink"}]}
METRICS = [
    {"name": "vbng_cp_begun_total", "type": "counter", "unit": "sessions", "labels": ["kind"], "help": "h", "series": [{"labels": ["ipoe"], "value": 5}]},
    {"name": "vbng_cp_seconds", "type": "histogram", "unit": "seconds", "labels": [], "help": "h",
     "series": [{"labels": [], "value": {"buckets": [[0.01, 2], [0.1, 3]], "count": 3, "sum": 0.25}}]},
    {"name": "vbng_cp_failure", "type": "info", "unit": "1", "labels": ["reason"], "help": "h",
     "series": [{"labels": ["x"], "value": {"meaning": 'a "word"', "remedy": "y"}}]},
]
ANSWERS = {
    "/": ["/", "/vbng/task", "/vbng/task/get", "/vbng/subscriber"],
    "/vbng/task": {"count": 1, "in": "counter packets vbng_task_in_packets_total Packets that came in", "lag_ns": "gauge ns vbng_task_lag_seconds Lag",
                   "drop_": "counter packets vbng_task_dropped_packets_total{reason Dropped"},
    "/vbng/task/list": ["sink"],
    "/vbng/task/get": {"in": 7, "lag_ns": 1500, "drop_full": 3},
    "/vbng/subscriber": {"count": 1, "bytes": "counter bytes vbng_subscriber_bytes_total Bytes"},
    "/vbng/subscriber/page": "cpe0 1.1,42\n",
}  # fmt: skip


def reply(command):
    name, _, argument = command.partition(",")
    for document, value in (("/vbng/schema/json", SCHEMA), ("/vbng/plan/json", PLAN)):
        if name == document:
            return {name: json.dumps(value)[int(argument):]}
    return {name: ANSWERS.get(name)}


def converse(client):
    with client, contextlib.suppress(OSError):
        client.send(json.dumps({"version": "DPDK 24.11.2", "pid": 1, "max_output_len": 16384}).encode())
        while command := client.recv(1024):
            client.send(json.dumps(reply(command.decode())).encode())


@pytest.fixture
def gateway(folder):
    """The path of a telemetry socket."""
    path = str(folder / "telemetry")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(path)
    listener.listen()

    def serve_all():
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=converse, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=serve_all, daemon=True).start()
    yield path
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()


class Asked:
    """A server, and scrapes of it."""

    def __init__(self, port):
        self.port = port

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), limit(10))

    def ask(self, path="/metrics", host="localhost", method="GET", more=()):
        """(status, headers, text)"""
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=limit(10))
        c.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for value in [host] if isinstance(host, str) else host:
            c.putheader("Host", value)
        for key, value in more:
            c.putheader(key, value)
        c.endheaders()
        answer = c.getresponse()
        text = answer.read().decode()
        c.close()
        return answer.status, answer.headers, text


@contextlib.contextmanager
def serving(path, **more):
    server = exporter.Server(("127.0.0.1", 0), path, **more)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield Asked(server.server_port)
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def asked(gateway):
    with serving(gateway) as a:
        yield a


def test_the_metrics(asked):
    status, headers, text = asked.ask()
    assert (status, headers["Cache-Control"], headers["X-Content-Type-Options"]) == (200, "no-store", "nosniff")
    assert re.match(r"text/plain; version=", headers["Content-Type"])
    assert 'vbng_task_in_packets_total{task="sink"} 7.0\n' in text
    assert 'vbng_task_lag_seconds{task="sink"} 1.5e-06\n' in text
    assert 'vbng_task_dropped_packets_total{reason="full",task="sink"} 3.0\n' in text
    assert r'meaning="a \"queue\"\nwas full",reason="full",remedy="a \\ more",task="sink"' in text
    assert 'vbng_build_info{configuration="bng",dpdk="24.11.2",version="1.2.3"} 1.0\n' in text
    assert "subscriber" not in text
    assert 'vbng_subscriber_bytes_total{subscriber="cpe0 1.1"} 42.0\n' in asked.ask("/metrics?subscribers=1")[2]


def test_openmetrics(asked):
    parser = need.module("prometheus_client.openmetrics.parser", "python3-prometheus-client")
    _, headers, text = asked.ask(more=[("Accept", "application/openmetrics-text; version=1.0.0,text/plain;q=0.5")])
    assert headers["Content-Type"].startswith("application/openmetrics-text")
    assert {f.name: f.type for f in parser.text_string_to_metric_families(text)}["vbng_task_in_packets"] == "counter"


def test_the_control_plane(gateway, folder):
    """Its metrics come with those of the gateway; where it is away, that is said, and nobody misses the gateway's."""
    path = str(folder / "cp")
    with serving(gateway, control_plane=path) as a:
        assert "vbng_cp_up 0.0" in a.ask()[2].splitlines() and 'vbng_task_in_packets_total{task="sink"} 7.0' in a.ask()[2]
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as listener:
            listener.bind(path)
            listener.listen()

            def serve_one():
                client = listener.accept()[0]
                with client, client.makefile("rw") as f:
                    assert json.loads(f.readline()) == {"cmd": "show-metrics"}
                    f.write(json.dumps({"ok": True, "metrics": METRICS}) + "\n")

            threading.Thread(target=serve_one, daemon=True).start()
            lines = a.ask()[2].splitlines()
    for line in ("vbng_cp_up 1.0", 'vbng_cp_begun_total{kind="ipoe"} 5.0', 'vbng_cp_seconds_bucket{le="0.01"} 2.0', 'vbng_cp_seconds_bucket{le="+Inf"} 3.0',
                 "vbng_cp_seconds_sum 0.25", 'vbng_cp_failure_info{meaning="a \\"word\\"",reason="x",remedy="y"} 1.0'):
        assert line in lines, line


def test_idle_connections_keep_nobody_waiting(asked):
    """Nor does one that has sent half a request."""
    with contextlib.ExitStack() as stack:
        for _ in range(8):
            stack.enter_context(asked.connect())
        stack.enter_context(asked.connect()).sendall(b"GET /metrics HTTP/1.1\r\nHost: local")
        assert asked.ask()[0] == 200


def test_a_request_must_have_arrived_in_time(asked, monkeypatch):
    """A client that sends a byte now and then is never still, and yet it is closed."""
    monkeypatch.setattr(serve, "DEADLINE", 0.5)
    with asked.connect() as s:
        s.setblocking(False)
        end = time.monotonic() + limit(20)
        with pytest.raises((ConnectionError, EOFError)):
            while time.monotonic() < end:
                with contextlib.suppress(BlockingIOError):
                    if s.recv(100) == b"":
                        raise EOFError
                s.send(b"G")
                time.sleep(0.1)
    assert asked.ask()[0] == 200


def test_a_name_that_may_be_anybodys_is_not_served(gateway):
    bad = ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "", "a b", [], ["localhost", "localhost"])
    with serving(gateway) as a:
        for host in (*bad, "192.0.2.1", "bng1"):
            assert a.ask(host=host)[0] == 421, host
        assert [a.ask(host=h)[0] for h in ("localhost:9791", "127.0.0.1:9791", "[::1]:9791")] == [200, 200, 200]
    with serving(gateway, exposed=True, names=["BNG1"]) as a:
        for host in bad:
            assert a.ask(host=host)[0] == 421, host
        assert [a.ask(host=h)[0] for h in ("192.0.2.1:9791", "bng1:9791", "Bng1")] == [200, 200, 200]


def test_what_it_does_not_answer(asked):
    for path, status in (("/", 404), ("/x", 404), ("/metrics/", 404), ("/metrics?subscribers=2", 400), ("/metrics?x=1", 400),
                         ("/metrics?subscribers=1&subscribers=1", 400), ("/metrics%00", 404)):
        got, _, text = asked.ask(path)
        assert got == status and "error" in json.loads(text), path
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE"):
        status, headers, _ = asked.ask(method=method)
        assert (status, headers["Allow"]) == (405, "GET, HEAD"), method
    assert asked.ask(method="HEAD")[::2] == (200, "")


def test_no_gateway(folder):
    with serving(str(folder / "none")) as a:
        status, _, text = a.ask()
    assert status == 503 and "No such file" in json.loads(text)["error"]


def test_a_gateway_that_is_ending(gateway, monkeypatch):
    """A task without its figures is an answer in part."""
    monkeypatch.setitem(ANSWERS, "/vbng/task/get", {})
    with serving(gateway) as a:
        status, _, text = a.ask()
    assert status == 503 and "ended" in json.loads(text)["error"]


def test_where_it_does_not_listen():
    for args, word in ((["--listen", "0.0.0.0"], "--expose"), (["--listen", "::"], "--expose"), (["--listen", "host"], "IP address")):
        out = subprocess.run([*EXPORTER, *args], capture_output=True, text=True, timeout=limit(20))
        assert out.returncode == 2 and word in out.stderr, args


def test_a_port_that_another_has():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        out = subprocess.run([*EXPORTER, "--port", port], capture_output=True, text=True, timeout=limit(20))
    assert (out.returncode, out.stdout, out.stderr) == (1, "", f"vbng-lab exporter: 127.0.0.1 port {port}: Address already in use\n")


def test_exposed_with_a_warning():
    p = subprocess.Popen([*EXPORTER, "--listen", "0.0.0.0", "--port", "0", "--expose"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert re.fullmatch(r"http://0\.0\.0\.0:\d+/metrics\n", p.stdout.readline())
    p.terminate()
    assert "neither password nor encryption" in p.communicate(timeout=limit(10))[1]
