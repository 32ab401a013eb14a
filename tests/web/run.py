#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The live page in headless Chromium, of a gateway with its generator on in-memory ports: figures agree with telemetry, subscribers are
found, drops are seen, and it says so when the gateway goes and when it comes back.

usage: run.py VBNG VBNG_WEB [SCREENSHOT]
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import browser

PROJECT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(PROJECT, "tools"))

from vbnglab.telemetry import Telemetry, Unreachable  # noqa: E402

CONFIG = os.path.join(PROJECT, "cfg", "bng-qos-4port.cfg")
SUBSCRIBERS = 65536
PREFIX = f"vbng-web-test-{os.getpid()}"
SOCKET = f"/var/run/dpdk/{PREFIX}/dpdk_telemetry.v2" if os.getuid() == 0 else os.path.expanduser(f"/run/user/{os.getuid()}/dpdk/{PREFIX}/dpdk_telemetry.v2")

STATUS = "return document.getElementById('status').textContent"
IS = "return document.body.dataset.state === arguments[0]"
# the exact numbers behind cells of tables, by the key of the row and the place of the column, once none is below those of before
VALUES = """const cell = (table, key, column) => Number([...document.querySelectorAll(`#${table} tr`)].find(r => r.dataset.key === key)
              .cells[column].dataset.value);
            const now = [cell('ledger-table', 'received', 1), cell('ledger-table', 'created', 1), cell('drop-table', 'qos_up queue_full', 3),
              cell('subscriber-table', 'cpe0 128.256', 7)];
            return now.every((n, i) => n >= arguments[0][i]) ? now : null"""
KEYS = "return [...document.querySelectorAll(`#${arguments[0]} tbody tr`)].map(r => r.dataset.key)"
SEARCH = """const field = document.getElementById('search'); field.value = arguments[0];
            field.dispatchEvent(new Event('input', {bubbles: true}))"""


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="vbng-web-")
        cls.log = open(os.path.join(cls.folder, "log"), "w+", encoding="utf-8")
        cls.processes, cls.browser = [], None
        try:
            cls.vbng = cls.gateway()
            cls.web = cls.start([VBNG_WEB, "--port", "0", "--interval", "0.25", "--socket", SOCKET], stdout=subprocess.PIPE, text=True)
            cls.url = cls.web.stdout.readline().strip()
            cls.browser = browser.Browser(1280, 1500)
            cls.browser.open(cls.url)
        except BaseException:
            cls.tearDownClass()
            raise

    @classmethod
    def start(cls, command, **how):
        cls.processes.append(subprocess.Popen(command, stderr=cls.log, **how))
        return cls.processes[-1]

    @classmethod
    def gateway(cls):
        """A gateway that answers; its generators send little, so that it also works on a busy machine."""
        command = [VBNG, "--quiet", "--share-cpus", "--duration", "100s", "--set", "idle=sleep", "--set", f"eal=--file-prefix={PREFIX}"]
        for gen in ("gen_cpe0", "gen_cpe1", "gen_core0", "gen_core1"):
            command += ["--set", f"{gen}.rate=20kpps"]
        vbng = cls.start([*command, CONFIG], stdout=cls.log)
        end = time.monotonic() + 30
        while vbng.poll() is None and time.monotonic() < end:
            try:
                with Telemetry(SOCKET) as telemetry:
                    if telemetry.ask("/vbng/subscriber"):
                        return vbng
            except Unreachable:
                pass
            time.sleep(0.1)
        cls.log.seek(0)
        raise AssertionError(f"vbng does not answer on {SOCKET}: {cls.log.read()}")

    @classmethod
    def tearDownClass(cls):
        if cls.browser is not None:
            cls.browser.close()
        for process in cls.processes:
            if process.poll() is None:
                process.kill()
                process.wait()
            if process.stdout:
                process.stdout.close()
        cls.log.close()
        shutil.rmtree(cls.folder)

    def figures(self):
        """What telemetry says of the same that the page shows."""
        with Telemetry(SOCKET) as t:
            ledger = t.must("/vbng/ledger/get,0")
            drops = t.must("/vbng/task/get,qos_up")["drop_queue_full"]
            return ledger["received"], ledger["created"], drops, t.must("/vbng/subscriber/get,0")["up_drops"]

    def test_1_figures_are_those_of_telemetry(self):
        b = self.browser
        b.wait(IS, "live")
        b.wait("return document.querySelector('#drop-table [data-key=\"qos_up queue_full\"]') !== null")
        b.wait("return document.querySelector('#subscriber-table [data-key=\"cpe0 128.256\"]') !== null")
        before = self.figures()
        shown = b.wait(VALUES, before)
        after = self.figures()
        for low, figure, high in zip(before, shown, after):
            self.assertTrue(low <= figure <= high, (before, shown, after))

    def test_2_the_pipeline_is_drawn(self):
        b = self.browser
        with Telemetry(SOCKET) as t:
            tasks = set(t.names("task"))
        self.assertEqual(set(b.run("return [...document.querySelectorAll('#graph .node.task')].map(n => n.dataset.node)")), tasks)
        b.wait("return document.querySelector('[data-node=qos_up]').classList.contains('dropping')")
        self.assertRegex(b.run("return document.querySelector('[data-node=qos_up]').textContent"), "▼ [0-9.]+k?/s")
        self.assertEqual(b.run("return document.querySelectorAll('#port-cards .card').length"), 8)
        self.assertIn("Normal for who sends more", b.run("return document.querySelector('[data-key=\"qos_up queue_full\"]').textContent"))

    def test_3_subscribers_are_found_sorted_and_cut_into_pages(self):
        b = self.browser
        b.wait("return document.getElementById('found').textContent === arguments[0]", f"{SUBSCRIBERS:,} subscribers")
        self.assertEqual(len(b.run(KEYS, "subscriber-table")), 25)
        heavy = {f"cpe0 128.{c}" for c in range(256, 260)}
        self.assertEqual(set(b.wait("const keys = [...document.querySelectorAll('#subscriber-table tbody tr')].map(r => r.dataset.key);"
                                    "return arguments[0].every(k => keys.slice(0, 4).includes(k)) && keys.slice(0, 4)", sorted(heavy))), heavy)
        for text, first, total in (("cpe1 255.511", "cpe1 255.511", "1 subscriber"), ("40000", "cpe1 156.319", "1 subscriber"),
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
        self.assertEqual(b.run("return document.getElementById('page').textContent"), "page 2 of 2,622")

    def test_4_it_says_when_the_gateway_goes_and_comes_back(self):
        b = self.browser
        if SCREENSHOT:
            time.sleep(12)  # curves
            b.run("document.querySelector('[data-sort=rate]').click(); document.getElementById('first').click()")
            time.sleep(2)
            b.screenshot(SCREENSHOT)
        self.vbng.terminate()
        self.assertEqual(self.vbng.wait(30), 0)
        b.wait(IS, "gone")
        self.assertIn("disconnected", b.run(STATUS))
        b.wait("return / [1-9][0-9]* s old/.test(document.getElementById('status').textContent)")
        type(self).vbng = self.gateway()
        b.wait(IS, "live")
        self.web.kill()
        self.web.wait()
        b.wait("return document.getElementById('status').textContent.includes('vbng-web does not answer')")
        self.assertEqual([e for e in b.errors() if "ERR_CONNECTION_REFUSED" not in e and "503" not in e], [])
        self.vbng.terminate()
        self.assertEqual(self.vbng.wait(30), 0)


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    if browser.missing():
        print(f"SKIP {browser.missing()}")
        sys.exit(77)
    VBNG, VBNG_WEB = map(os.path.abspath, sys.argv[1:3])
    SCREENSHOT = sys.argv[3] if len(sys.argv) == 4 else None
    sys.argv[1:] = []
    unittest.main(verbosity=1)
