# SPDX-License-Identifier: BSD-3-Clause
"""The metrics of vbng-cp, as its control socket tells them and as the exporter writes them: what they count, and that the documents have them."""

import pathlib
import re

import pytest

from tests.common import need
from tests.cp.client import PORT_MAC, Client
from tests.cp.cpe import PADT, Cpe
from tests.radius.freeradius import SECRET, freeradius
from tests.telemetry import monitoring
from vbnglab.lab.controlplane import metrics

LAB = pathlib.Path(__file__).resolve().parent.parent.parent / "tools" / "vbng-lab"
DOC = pathlib.Path(__file__).resolve().parent.parent.parent / "doc"
RADIUS = """
radius = {{ nas_identifier = "bng1"; timeout = "5s"; password = "vbng"; accounting = true;
           servers = ( {{ address = "127.0.0.1"; secret = "{}"; authentication_port = {}; accounting_port = {}; }} ); }};
"""
PPPOE = 'pppoe = { ac_name = "bng1"; users = ( { name = "alice"; password = "secret"; } ); };'


def values(cp):
    """{name: {labels: value}}"""
    return {m["name"]: {tuple(s["labels"]): s["value"] for s in m["series"]} for m in metrics(cp.socket)}


def exported(cp):
    """The text that Prometheus gets of it."""
    need.module("prometheus_client", "python3-prometheus-client")
    from prometheus_client import CollectorRegistry, exposition

    from vbnglab.exporter.controlplane import families

    class Collector:
        def collect(self):
            return families(cp.socket)

    registry = CollectorRegistry()
    registry.register(Collector())
    return exposition.generate_latest(registry).decode()


def test_sessions_and_failures(control_plane):
    """What comes up, ends and fails; a restart counts from 0, and knows what is up."""
    cp = control_plane(LAST="10.64.0.3", OFFER="1s")
    a, b, c = (Client(cp, n) for n in (1, 2, 3))
    a.get()
    b.get()
    c.say("discover")
    c.hears_nothing()
    other = Client(cp, 4, line=a.line)
    other.say("discover")
    other.hears_nothing()
    found = values(cp)
    assert found["vbng_cp_lines"][("up",)] == 2 and found["vbng_cp_lines"][("none",)] == 1
    assert found["vbng_cp_sessions"] == {("ipoe",): 2, ("pppoe",): 0} == found["vbng_cp_sessions_begun_total"]
    failures = {k[0]: n for k, n in found["vbng_cp_failures_total"].items() if n}
    assert failures == {"pool_empty": 1, "ignored": 1}
    assert found["vbng_cp_pool_size"][("homes", "ipv4")] == 3 and found["vbng_cp_pool_free"][("homes", "ipv4")] == 0
    commits = found["vbng_cp_store_commit_seconds"][()]
    assert commits["count"] > 0 and commits["sum"] > 0 and commits["buckets"][-1][1] <= commits["count"]
    assert [n for _, n in commits["buckets"]] == sorted(n for _, n in commits["buckets"])
    a.say("release", ("server_id", a.server), ciaddr=a.address)
    cp.until(lambda: values(cp)["vbng_cp_sessions_ended_total"][("ipoe",)] == 1)
    text = exported(cp)
    for line in ('vbng_cp_up 1.0', 'vbng_cp_sessions{kind="ipoe"} 1.0', 'vbng_cp_failures_total{reason="pool_empty"} 1.0', 'vbng_cp_lines{state="up"} 1.0',
                 'vbng_cp_pool_free{of="ipv4",pool="homes"} 1.0'):
        assert line in text.splitlines(), line
    assert re.search(r'^vbng_cp_failure_info\{.*remedy=', text, re.M)
    cp.kill()
    assert exported(cp).splitlines()[-1] == "vbng_cp_up 0.0"
    cp.start()
    found = values(cp)
    assert found["vbng_cp_sessions"][("ipoe",)] == 1 and found["vbng_cp_sessions_begun_total"][("ipoe",)] == 0


def test_promtool_finds_nothing(control_plane, run):
    done = run(need.program("promtool", "prometheus"), "check", "metrics", input=exported(control_plane()))
    assert done.returncode == 0, done.stdout + done.stderr


def test_radius(control_plane, folder):
    """Requests, answers and how long they took; who is rejected."""
    need.program("freeradius")
    with freeradius(folder / "radius", users='02:00:00:00:00:01 Cleartext-Password := "vbng"\n') as server:
        cp = control_plane(EXTRA=RADIUS.format(SECRET, server.authentication, server.accounting))
        Client(cp, 1).get()
        refused = Client(cp, 2)
        refused.say("discover")
        cp.until(lambda: values(cp)["vbng_cp_failures_total"][("rejected",)] == 1)
        cp.until(lambda: values(cp)["vbng_cp_radius_responses_total"][("127.0.0.1", "accounting")] == 2)  # Accounting-On, Start
        found, peer = values(cp), ("127.0.0.1", "authentication")
    assert [found[f"vbng_cp_radius_{name}"][peer] for name in ("requests_total", "accepts_total", "rejects_total", "timeouts_total", "alive")] == [2, 1, 1, 0, 1]
    assert found["vbng_cp_radius_seconds"][peer]["count"] == 2 and found["vbng_cp_radius_pending_requests"][peer] == 0


def test_pppoe(control_plane):
    """Sessions of PPPoE that come up, end, are not let in, and give up."""
    cp = control_plane(EXTRA=PPPOE)
    up, refused, nameless, gone = Cpe(cp, 1), Cpe(cp, 2, password="guess"), Cpe(cp, 3, user=""), Cpe(cp, 4)
    up.dial()
    for cpe in (refused, nameless):
        assert not cpe.link()
        cpe.hears_end()
    gone.padr(gone.padi())
    gone.discover(PADT, to=PORT_MAC, session=gone.session)
    cp.until(lambda: values(cp)["vbng_cp_failures_total"][("not_negotiated",)])
    found = values(cp)
    assert found["vbng_cp_sessions"] == found["vbng_cp_sessions_begun_total"] == {("ipoe",): 0, ("pppoe",): 1}
    assert {k[0]: n for k, n in found["vbng_cp_failures_total"].items() if n} == {"rejected": 2, "not_negotiated": 1}
    up.discover(PADT, to=PORT_MAC, session=up.session)
    cp.until(lambda: values(cp)["vbng_cp_sessions_ended_total"][("pppoe",)] == 1)
    assert values(cp)["vbng_cp_failures_total"][("not_negotiated",)] == 1


def test_top(cp, run):
    """The view of one interval, of vbng-cp alone."""
    Client(cp, 1).get()
    done = run(LAB, "top", "--once", "--sessions", "--interval", "0.05", "--control-plane", cp.socket)
    assert done.returncode == 0 and "sessions: 1 ipoe, 0 pppoe" in done.stdout and "homes ipv4" in done.stdout, done


def test_the_documents(cp):
    """doc/telemetry.md has each metric, with its labels, and no other; doc/sessions.md each reason, with its words."""
    text = (DOC / "telemetry.md").read_text()
    documented = dict(re.findall(r"^\| `(vbng_cp_\w+)` \| (.*?) \|", text, re.M))
    told = metrics(cp.socket)
    assert documented == {m["name"] + ("_info" if m["type"] == "info" else ""): ", ".join(f"`{label}`" for label in m["labels"]) for m in told} | {"vbng_cp_up": ""}
    words = next(m for m in told if m["name"] == "vbng_cp_failure")["series"]
    rows = [f"| `{s['labels'][0]}` | {s['value']['meaning']} | {s['value']['remedy']} |" for s in words]
    assert [row for row in rows if row not in (DOC / "sessions.md").read_text()] == []


SUFFIX = {"info": "_info", "histogram": "_bucket"}


def test_alerts_and_dashboard(cp):
    """They name metrics and labels that are told, and the dashboard shows each metric."""
    told = metrics(cp.socket)
    labels = {m["name"] + SUFFIX.get(m["type"], ""): set(m["labels"]) | ({"meaning", "remedy"} if m["type"] == "info" else set()) for m in told}
    rules = [(where, monitoring.metrics(e), named) for where, e, named in monitoring.expressions() if "vbng_cp_" in e]
    assert {name for _, used, _ in rules for name in used} == {*labels, "vbng_cp_up"}
    labels["vbng_cp_up"] = set()
    for where, used, named in rules:
        assert set(named) <= {"instance"}.union(*(labels[name] for name in used)), where


@pytest.mark.parametrize("field", ["name", "help", "unit"])
def test_names(cp, field):
    """No name twice, no text empty; counters end in _total, and nothing else does."""
    told = metrics(cp.socket)
    assert all(m[field] for m in told) and len({m["name"] for m in told}) == len(told)
    assert all(m["name"].endswith("_total") == (m["type"] == "counter") for m in told)
