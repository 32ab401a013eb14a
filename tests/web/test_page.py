# SPDX-License-Identifier: BSD-3-Clause
"""The live page in headless Chromium, of a gateway with its generator on in-memory ports: figures agree with telemetry, subscribers are
found, drops are seen, and it says so when the gateway goes and when it comes back.

VBNG_WEB_SCREENSHOT=FILE in the environment keeps a picture of it.
"""

import os
import pathlib
import re
import subprocess
import sys
import time

import pytest

from tests.common.limits import limit
from tests.cp import client
from tests.cp.kea import free_port
from tests.web import browser
from vbnglab.lab.controlplane import metrics
from vbnglab.lab.telemetry import Telemetry, Unreachable

CONFIG = pathlib.Path(__file__).resolve().parent.parent.parent / "cfg/bng-dual-4port.cfg"
SCREENSHOT = os.environ.get("VBNG_WEB_SCREENSHOT")
SUBSCRIBERS = 65536
PREFIX = f"vbng-web-test-{os.getpid()}"
SOCKET = f"/var/run/dpdk/{PREFIX}/dpdk_telemetry.v2" if os.getuid() == 0 else os.path.expanduser(f"/run/user/{os.getuid()}/dpdk/{PREFIX}/dpdk_telemetry.v2")

STATUS = "return document.getElementById('status').textContent"
IS = "return document.body.dataset.state === arguments[0]"
# the exact numbers behind cells of tables, by the key of the row and the place of the column, once none is below those of before
VALUES = """const cell = (table, key, column) => Number([...document.querySelectorAll(`#${table} tr`)].find(r => r.dataset.key === key)
              .cells[column].dataset.value);
            const now = [cell('ledger-table', 'received', 1), cell('ledger-table', 'created', 1), cell('drop-table', 'qos_up queue_full', 3),
              cell('subscriber-table', 'cpe0 128.256', 8), ...['up IPv4', 'up IPv6', 'down IPv4', 'down IPv6'].map(key => cell('direction-table', key, 4))];
            return now.every((n, i) => n >= arguments[0][i]) ? now : null"""
KEYS = "return [...document.querySelectorAll(`#${arguments[0]} tbody tr`)].map(r => r.dataset.key)"
SEARCH = """const field = document.getElementById('search'); field.value = arguments[0];
            field.dispatchEvent(new Event('input', {bubbles: true}))"""


class Page:
    """A gateway, the server of its page, and a browser that shows it."""

    def __init__(self, vbng, folder):
        self.program, self.log = vbng, open(folder / "log", "w+", encoding="utf-8")
        self.cp = folder / "cp"  # where a vbng-cp would be
        self.cp.mkdir()
        self.processes, self.browser = [], None

    def open(self):
        self.vbng = self.gateway()
        self.web = self.start([sys.executable, "-m", "vbnglab", "web", "--port", "0", "--interval", "0.25", "--telemetry", SOCKET, "--control-plane", str(self.cp / "s")],
                              stdout=subprocess.PIPE, text=True)
        self.browser = browser.Browser(1280, 1500)
        self.url = self.web.stdout.readline().strip()
        self.browser.open(self.url)

    def start(self, command, **how):
        self.processes.append(subprocess.Popen(command, stderr=self.log, **how))
        return self.processes[-1]

    def gateway(self):
        """A gateway that answers; its generators send little, so that it also works on a busy machine."""
        command = [self.program, "--quiet", "--share-cpus", "--duration", f"{limit(100):.0f}s", "--set", "idle=sleep",
                   "--set", f"eal=--file-prefix={PREFIX}"]
        for gen in ("gen_cpe0", "gen_cpe1", "gen_core0", "gen_core1"):
            command += ["--set", f"{gen}.rate=20kpps"]
        vbng = self.start([*command, CONFIG], stdout=self.log)
        end = time.monotonic() + limit(30)
        while vbng.poll() is None and time.monotonic() < end:
            try:
                with Telemetry(SOCKET) as telemetry:
                    if telemetry.ask("/vbng/subscriber"):
                        return vbng
            except Unreachable:
                pass
            time.sleep(0.1)
        self.log.seek(0)
        raise AssertionError(f"vbng does not answer on {SOCKET}: {self.log.read()}")

    def close(self):
        if self.browser is not None:
            self.browser.close()
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait()
            if process.stdout:
                process.stdout.close()
        self.log.close()


@pytest.fixture(scope="module")
def page(vbng, module_folder):
    browser.needed()
    p = Page(vbng, module_folder)
    try:
        p.open()
        yield p
    finally:
        p.close()


def figures():
    """What telemetry says of the same that the page shows."""
    with Telemetry(SOCKET) as t:
        ledger = t.must("/vbng/ledger/get,0")
        drops = t.must("/vbng/task/get,qos_up")["drop_queue_full"]
        families = [t.must(f"/vbng/direction/get,{way}")[f"{family}_packets"] for way in ("up", "down") for family in ("ipv4", "ipv6")]
        return ledger["received"], ledger["created"], drops, t.must("/vbng/subscriber/get,0")["up_drops"], *families


def test_figures_are_those_of_telemetry(page):
    b = page.browser
    b.wait(IS, "live")
    b.wait("return document.querySelector('#drop-table [data-key=\"qos_up queue_full\"]') !== null")
    b.wait("return document.querySelector('#subscriber-table [data-key=\"cpe0 128.256\"]') !== null")
    before = figures()
    shown = b.wait(VALUES, before)
    after = figures()
    assert all(shown[4:]), shown  # of each family, both ways
    for low, figure, high in zip(before, shown, after):
        assert low <= figure <= high, (before, shown, after)


def test_the_pipeline_is_drawn(page):
    b = page.browser
    with Telemetry(SOCKET) as t:
        tasks = set(t.names("task"))
    assert set(b.run("return [...document.querySelectorAll('#graph .node.task')].map(n => n.dataset.node)")) == tasks
    b.wait("return document.querySelector('[data-node=qos_up]').classList.contains('dropping')")
    assert re.search("▼ [0-9.]+k?/s", b.run("return document.querySelector('[data-node=qos_up]').textContent"))
    assert b.run("return document.querySelectorAll('#port-cards .card').length") == 8
    assert "Normal for who sends more" in b.run("return document.querySelector('[data-key=\"qos_up queue_full\"]').textContent")


def test_subscribers_are_found_sorted_and_cut_into_pages(page):
    b = page.browser
    b.wait("return document.getElementById('found').textContent === arguments[0]", f"{SUBSCRIBERS:,} subscribers")
    assert len(b.run(KEYS, "subscriber-table")) == 25
    heavy = {f"cpe0 128.{c}" for c in range(256, 260)}
    first = b.wait("const keys = [...document.querySelectorAll('#subscriber-table tbody tr')].map(r => r.dataset.key);"
                   "return arguments[0].every(k => keys.slice(0, 4).includes(k)) && keys.slice(0, 4)", sorted(heavy))
    assert set(first) == heavy
    for text, first, total in (("cpe1 255.511", "cpe1 255.511", "1 subscriber"), ("40000", "cpe1 156.3", "2 subscribers"),
                               ("cpe0 130.", "cpe0 130.", "256 subscribers"), ("255.511", "cpe0 255.511", "2 subscribers"), ("nobody", None, "0 subscribers")):
        b.run(SEARCH, text)
        b.wait("""const rows = [...document.querySelectorAll('#subscriber-table tbody tr')].map(r => r.dataset.key ?? '');
                  return document.getElementById('found').textContent === arguments[0] && rows[0].startsWith(arguments[1]) &&
                         (arguments[1] !== '' || rows.join('') === '')""", total, first or "")
    b.run(SEARCH, "")
    b.run("document.querySelector('[data-sort=id]').click()")
    b.wait("const row = document.querySelector('#subscriber-table tbody tr'); return row.cells[0].textContent === '1'")
    b.run("document.getElementById('next').click()")
    b.wait("const row = document.querySelector('#subscriber-table tbody tr'); return row.cells[0].textContent === '26'")
    assert b.run("return document.getElementById('page').textContent") == "page 2 of 2,622"


POINTS = """const curves = [...document.querySelectorAll(arguments[0] + ' .curve')].map(c => Number(c.dataset.points));
            return curves.length >= arguments[1] && curves.some(n => n > 0) && curves"""


def test_the_distribution_says_who_is_at_the_limit(page):
    b = page.browser
    b.run("document.getElementById('distribution').scrollIntoView()")
    keys = b.wait("const keys = [...document.querySelectorAll('#limited-table tbody tr')].map(r => r.dataset.key ?? '');"
                  "return arguments[0].every(k => keys.includes(k)) && keys", [f"up cpe0 128.{c}" for c in range(256, 260)])
    cards = b.run("return [...document.querySelectorAll('#distribution-cards .card')].map(c => [c.dataset.key, [...c.querySelectorAll('.n')].map(n => n.textContent)])")
    assert [title for title, _ in cards] == ["up: of their rate", "up: delay", "down: of their rate", "down: delay"]
    for title, figures in cards:
        assert sum(int(f.replace(",", "")) for f in figures) == SUBSCRIBERS, title
    assert b.run("return document.getElementById('distribution-note').textContent").startswith(f"Of {SUBSCRIBERS:,} subscribers ")
    assert len(keys) < 200


def test_the_last_hour(page):
    b = page.browser
    b.run("document.getElementById('hour').scrollIntoView()")
    for kind, titles in (("gateway", {"All packets"}), ("port", {"cpe0", "core1", "t_cpe0"}), ("core", {"core 0.cpu0"}),
                         ("qos", {"qos_up.0: lag", "qos_down.0: subscribers at their limit"}), ("drops", {"qos_up", "qos_down"})):
        b.run("const s = document.getElementById('hour-kind'); s.value = arguments[0]; s.dispatchEvent(new Event('change'))", kind)
        b.wait("const keys = [...document.querySelectorAll('#hour-charts figure')].map(f => f.dataset.key);"
               "return arguments[0].every(k => keys.includes(k)) && keys", sorted(titles))
        b.wait(POINTS, "#hour-charts", 1)


SHOWN = """const row = [...document.querySelectorAll(`#${arguments[0]} tbody tr`)].find(r => r.dataset.key === arguments[1]);
           return row && row.cells[arguments[2]].textContent === arguments[3]"""


def test_sessions_of_the_control_plane(page, build):
    """They are shown while vbng-cp answers; that it does not is said."""
    b = page.browser
    away = "return document.getElementById('session-status').textContent.startsWith('vbng-cp does not answer') && !document.getElementById('sessions').hidden"
    b.wait(away)
    relay = f'relays = ( {{ name = "kea"; servers = "127.0.0.1"; giaddr = "127.0.0.2"; source_port = {free_port("127.0.0.2")}; }} );'
    cp = client.ControlPlane(build, str(page.cp), LAST="10.64.0.3", EXTRA=relay)
    try:
        for n in (1, 2):
            client.Client(cp, n).get()
        client.Client(cp, 3).say("discover")
        b.wait(SHOWN, "session-table", "ipoe", 1, "2")
        b.wait(SHOWN, "failure-table", "pool_empty", 2, "1")
        b.wait(SHOWN, "session-pool-table", "homes ipv4", 3, "100 %")
        words = b.run("return document.querySelector('#failure-table [data-key=pool_empty]').textContent")
        assert all(value[key] in words for m in metrics(cp.socket) if m["name"] == "vbng_cp_failure" for s in m["series"] if s["labels"] == ["pool_empty"]
                   for value in [s["value"]] for key in ("meaning", "remedy")), words
        assert b.run("return document.getElementById('session-lines').textContent").startswith("Lines: ")
        assert b.run("return document.getElementById('radius-table').hidden")
        b.wait(SHOWN, "relay-table", "kea 127.0.0.1", 1, "alive")
    finally:
        cp.close()
    b.wait(away)


def test_a_subscribers_own_page(page):
    b = page.browser
    b.run(SEARCH, "cpe0 128.256")
    where = b.wait("const link = document.querySelector('#subscriber-table [data-key=\"cpe0 128.256\"] a');"
                   "return document.querySelectorAll('#subscriber-table tbody tr').length === 1 && link.href")
    assert where == page.url + "subscriber.html?id=1"
    b.open(where)
    b.wait(IS, "live")
    b.wait("return Number(document.querySelector('#recent .curve').dataset.points) >= 3")
    assert b.run("return document.getElementById('name').textContent") == "cpe0 128.256 (id 1)"
    b.wait(POINTS, "#past", 6)
    assert b.run("return [...document.querySelectorAll('#recent figure')].map(f => f.dataset.key)") == ["Rate", "Delay in the queue", "Drops"]
    b.wait("return document.getElementById('totals').textContent.includes('at the limit')")
    with Telemetry(SOCKET) as t:
        before = t.must("/vbng/subscriber/get,0")
        shown = b.wait("const n = Number(document.querySelector('#figures [data-key=bytes]').cells[1].dataset.value); return n >= arguments[0] && n",
                       before["up_bytes"])
        assert shown <= t.must("/vbng/subscriber/get,0")["up_bytes"]
    b.open(page.url + "subscriber.html?id=9999999")
    b.wait("return document.getElementById('status').textContent === 'no subscriber has the id 9999999'")
    assert [e for e in b.errors() if "404" not in e] == []


def test_it_says_when_the_gateway_goes_and_comes_back(page):
    b = page.browser
    if SCREENSHOT:
        time.sleep(12)  # curves
        b.run("document.querySelector('[data-sort=rate]').click(); document.getElementById('first').click()")
        time.sleep(2)
        b.screenshot(SCREENSHOT)
    b.open(page.url)
    b.wait(IS, "live")
    page.vbng.terminate()
    assert page.vbng.wait(limit(30)) == 0
    b.wait(IS, "gone")
    assert "disconnected" in b.run(STATUS)
    b.wait("return / [1-9][0-9]* s old/.test(document.getElementById('status').textContent)")
    page.vbng = page.gateway()
    b.wait(IS, "live")
    assert [e for e in b.errors() if "503" not in e] == []
    page.web.kill()
    page.web.wait()
    b.wait("return document.getElementById('status').textContent.includes('vbng-web does not answer')")
    assert [e for e in b.errors() if "503" not in e and "net::ERR_" not in e] == []  # kill() may cut an answer at any byte
    page.vbng.terminate()
    assert page.vbng.wait(limit(30)) == 0
