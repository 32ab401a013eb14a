# SPDX-License-Identifier: BSD-3-Clause
"""Names that people give to subscribers, on the telemetry socket and in what reads it: exporter, vbng-top, the page. They hold what would
end a line, a cell, a label or a tag, where somebody forgot to escape it."""

import os
import subprocess
import sys

import pytest

from tests.common import need
from tests.common.limits import limit
from tests.control import load
from vbnglab.lab.telemetry import Telemetry
from vbnglab.web.subscribers import Subscribers

NAMES = {1: 'Bäckerei "Krümel", Hof', 2: "<script>alert(1)</script>\\", 3: "100% %41 {a=\"b\"}", 300: "東京" * 32, 16384: "🏠" * 64}


@pytest.fixture(scope="module")
def gateway(vbng, module_folder):
    g = load.Gateway(vbng, module_folder, rate="5kpps")
    try:
        client = g.wait_until_up()
        for number, name in NAMES.items():
            assert client.ask(cmd="set-name", subscriber=number, name=name).get("ok"), name
        client.close()
        g.telemetry = f"/var/run/dpdk/vbng-{g.process.pid}/dpdk_telemetry.v2"
        yield g
    finally:
        g.end()


@pytest.fixture
def telemetry(gateway):
    with Telemetry(gateway.telemetry) as t:
        yield t


def lab(*words):
    done = subprocess.run([sys.executable, "-m", "vbnglab", *words], capture_output=True, text=True, timeout=limit(60),
                          env={**os.environ, "PYTHONIOENCODING": "utf-8"})  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_names_arrive_as_they_were_given(telemetry):
    assert dict(telemetry.labelled("subscriber")) == {number - 1: name for number, name in NAMES.items()}
    some = [0, 1, 2, 3, 299, 16383, 7, 8, 9, 10, 16383, 16383, 299, 299]
    assert telemetry.labels("subscriber", some) == [NAMES.get(number + 1, "") for number in some]


def test_wrong_questions(telemetry):
    for command in ("labels,x", "labels", "labels,1,x", "labels," + ",".join(["16383"] * 50), "labelled,x", "find", "find,0", "find,0,", "find,x,a",
                    "find,0,%", "find,0,%4", "find,0,%00", "find,0," + "a" * 300):  # fmt: skip
        assert telemetry.ask(f"/vbng/subscriber/{command}") is None, command
    assert telemetry.ask("/vbng/task/find,0,a") is None
    assert telemetry.labels("subscriber", [99999]) == [""]


@pytest.mark.parametrize("text, ids", [
    ("Krümel", [1]), ("<SCRIPT>", [2]), ("%41", [3]), ("東京", [300]), ("🏠", [16384]), ('"', [1, 3]), ("10.0.1.1", [258]), ("no such", []),
    ("cpe0 128.257", [2]), ("192.168.0.0/16", []), ("02:c0:00:00:00:05", [6]),
])  # fmt: skip
def test_search(telemetry, text, ids):
    assert [number + 1 for number in telemetry.find("subscriber", text)] == ids


def test_a_search_with_many_answers(telemetry):
    assert telemetry.find("subscriber", "cpe0") == list(range(load.SUBSCRIBERS))


def test_the_page(gateway):
    """Its answer is JSON, and the page shows texts as texts (tests/web: no innerHTML)."""
    subscribers = Subscribers(gateway.telemetry)
    found = subscribers.page("rate", 0, "script")
    assert [(row["id"], row["name"], row["label"]) for row in found["rows"]] == [(2, "cpe0 128.257", NAMES[2])] and found["total"] == 1
    assert [row["label"] for row in subscribers.page("id", 0, "")["rows"]][:4] == [NAMES[1], NAMES[2], NAMES[3], ""]
    assert subscribers.page("id", 1, "10.0.0.0/26")["total"] == 64 and len(subscribers.page("id", 2, "10.0.0.0/26")["rows"]) == 14


def test_top(gateway):
    out = lab("top", "--telemetry", gateway.telemetry, "--once", "--find", "krümel")
    assert "cpe0 128.256 " in out and out.splitlines()[1].endswith(NAMES[1]) and "1 to 1 of 1" in out
    assert "'no such': nobody is found" in lab("top", "--telemetry", gateway.telemetry, "--once", "--find", "no such")


def test_the_exporter(gateway):
    """Labels are escaped as the text form of Prometheus wants them."""
    need.module("prometheus_client", "python3-prometheus-client")
    lines = lab("exporter", "--telemetry", gateway.telemetry, "--once", "--subscribers").splitlines()
    named = [line for line in lines if line.startswith("vbng_subscriber_info{")]
    assert len(named) == len(NAMES)
    assert 'vbng_subscriber_info{name="Bäckerei \\"Krümel\\", Hof",subscriber="cpe0 128.256"} 1.0' in named
    assert 'vbng_subscriber_info{name="<script>alert(1)</script>\\\\",subscriber="cpe0 128.257"} 1.0' in named
