#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the telemetry socket says of a gateway under load, and that no reader of it costs a packet.

usage: run.py VBNG EXPORTER TOP
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

PROJECT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CONFIG = os.path.join(PROJECT, "cfg", "bng-qos-4port.cfg")
GROUPS = {"task", "port", "link", "pool", "core", "ledger", "qos", "subscriber"}
SUBSCRIBERS = 65536


class Client:
    """A connection to the socket."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(10)
        self.socket.connect(path)
        self.room = json.loads(self.socket.recv(1024))["max_output_len"]

    def close(self):
        self.socket.close()

    def ask(self, command):
        self.socket.send(command.encode())
        return json.loads(self.socket.recv(self.room))[command.split(",")[0]]


class Telemetry(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="vbng-telemetry-")
        cls.report = os.path.join(cls.folder, "report.json")
        command = [VBNG, "--quiet", "--share-cpus", "--duration", "90s", "--report", cls.report, "--set", "idle=sleep", CONFIG]
        for gen in ("gen_cpe0", "gen_cpe1", "gen_core0", "gen_core1"):
            command[1:1] = ["--set", f"{gen}.rate=20kpps"]
        cls.log = open(os.path.join(cls.folder, "log"), "w+", encoding="utf-8")
        cls.vbng = subprocess.Popen(command, stdout=cls.log, stderr=cls.log)
        path = f"/var/run/dpdk/vbng-{cls.vbng.pid}/dpdk_telemetry.v2"
        cls.client = cls.wait_for(path)
        cls.path = path

    @classmethod
    def wait_for(cls, path):
        """A client of the gateway, once it has offered all its commands."""
        end = time.monotonic() + 30
        while time.monotonic() < end and cls.vbng.poll() is None:
            if os.path.exists(path):
                client = Client(path)
                if "/vbng/subscriber" in client.ask("/"):
                    return client
                client.close()
            time.sleep(0.05)
        cls.log.seek(0)
        raise AssertionError(f"vbng does not answer on {path}: {cls.log.read()}")

    @classmethod
    def tearDownClass(cls):
        if cls.vbng.poll() is None:
            cls.vbng.kill()
            cls.vbng.wait()
        cls.client.close()
        cls.log.close()
        shutil.rmtree(cls.folder)

    def test_every_group_says_what_it_counts(self):
        commands = self.client.ask("/")
        self.assertEqual({c.split("/")[2] for c in commands if c.startswith("/vbng/")}, GROUPS | {"plan"})
        for group in GROUPS:
            rows = self.client.ask(f"/vbng/{group}")
            rows.pop("count")
            self.assertTrue(rows)
            for key, text in rows.items():
                kind, unit, name, words = text.split(" ", 3)
                self.assertIn(kind, ("counter", "gauge"), key)
                self.assertEqual(kind == "counter", name.split("{")[0].endswith("_total"), name)
                self.assertTrue(name.startswith(f"vbng_{group}_"), name)
                self.assertTrue(words, key)
                self.assertLess(len(text), 127, "the library cuts a text off: " + text)

    def test_objects_by_name_and_number(self):
        tasks = self.client.ask("/vbng/task/list")
        self.assertIn("classify", tasks)
        by_name = self.client.ask("/vbng/task/get,classify")
        by_number = self.client.ask(f"/vbng/task/get,{tasks.index('classify')}")
        self.assertEqual(set(by_name), set(by_number))
        self.assertIn("drop_spoofed", by_name)
        self.assertIn("stat_bytes", self.client.ask("/vbng/task/get,sink"))

    def test_wrong_parameters_are_refused(self):
        for command in ("/vbng/task/get", "/vbng/task/get,none", "/vbng/task/get,999", "/vbng/task/list,x",
                        "/vbng/task/page,-1", "/vbng/task/page,99999999999999999999"):
            self.assertFalse(self.client.ask(command), command)
        self.assertEqual(self.client.ask("/vbng/task/list,500"), [])

    def test_links_are_those_of_the_plan(self):
        text = ""
        while piece := self.client.ask(f"/vbng/plan/json,{len(text)}"):
            text += piece
        plan = json.loads(text)
        printed = subprocess.run([VBNG, "--plan=json", "--share-cpus", CONFIG], capture_output=True, text=True, check=True, timeout=60)
        self.assertEqual(plan["instances"], json.loads(printed.stdout)["instances"])
        kinds = {"call": 0, "ring": 1, "port": 2}
        expected = []
        for instance in plan["instances"]:
            for number, output in enumerate(instance["outputs"]):
                for to in output["destinations"]:
                    name = instance["instance"] + (":" + output["name"] if output["name"] != "to" else "")
                    expected.append((f"{name}>{to.get('port') or to['instance']}", kinds[to["kind"]]))
        names = self.client.ask("/vbng/link/list")
        self.assertEqual([(name, self.client.ask(f"/vbng/link/get,{i}")["kind"]) for i, name in enumerate(names)], expected)
        self.assertGreater(self.client.ask("/vbng/link/get,classify>qos_up")["sent"], 0)

    def test_subscribers_by_name(self):
        self.assertEqual(self.client.ask("/vbng/subscriber/get,cpe0 128.257")["up_rate"], 10_000_000)
        for name in ("cpe0 128.4096", "cpe0 1.1", "none 128.257", "cpe0 128.257 ", "cpe0"):
            self.assertIsNone(self.client.ask(f"/vbng/subscriber/get,{name}"), name)

    def test_the_greatest_come_first(self):
        keys = list(self.client.ask("/vbng/subscriber"))[1:]
        end = time.monotonic() + 20
        while True:  # four subscribers are sent four times what they may have: soon their queues are full
            top = self.client.ask("/vbng/subscriber/top,drops")
            rows = [dict(zip(keys, top["rows"][i : i + len(keys)])) for i in range(0, len(top["rows"]), len(keys))]
            drops = [row["up_drops"] + row["down_drops"] for row in rows]
            if drops[3] > 0 or time.monotonic() > end:
                break
            time.sleep(0.2)
        self.assertEqual(sorted(top["numbers"][:4]), [0, 1, 2, 3])
        self.assertEqual(sorted(top["names"][:4]), [f"cpe0 128.{c}" for c in range(256, 260)])
        self.assertEqual(drops, sorted(drops, reverse=True))
        self.assertEqual((drops[4], top["count"], len(rows)), (0, SUBSCRIBERS, 25))
        per_task = sum(self.client.ask(f"/vbng/task/get,{task}")["drop_queue_full"] for task in ("qos_up", "qos_down"))
        self.assertLessEqual(sum(drops), per_task)
        self.assertEqual(self.client.ask(f"/vbng/subscriber/top,bps,{SUBSCRIBERS - 3}")["count"], SUBSCRIBERS)
        self.assertEqual(len(self.client.ask(f"/vbng/subscriber/top,bps,{SUBSCRIBERS - 3}")["numbers"]), 3)
        for bad in ("", ",none", ",ps", ",drop_", ",bps,x", ",bps,-1"):
            self.assertIsNone(self.client.ask(f"/vbng/subscriber/top{bad}"), bad)

    def test_all_subscribers_in_pages(self):
        rows = self.client.ask("/vbng/subscriber")
        self.assertEqual(rows.pop("count"), SUBSCRIBERS)
        end = time.monotonic() + 20
        while self.client.ask("/vbng/subscriber/get,0")["up_packets"] == 0 and time.monotonic() < end:
            time.sleep(0.1)  # they are looked at once a second
        total, first, packets = 0, 0, list(rows).index("up_packets")
        while first < SUBSCRIBERS:
            lines = [line.split(",") for line in self.client.ask(f"/vbng/subscriber/page,{first}").splitlines()]
            self.assertGreaterEqual(len(lines), min(20, SUBSCRIBERS - first))
            self.assertEqual({len(line) for line in lines}, {1 + len(rows)})
            self.assertEqual(lines[0][0], self.client.ask(f"/vbng/subscriber/list,{first}")[0])
            total += sum(int(line[1 + packets]) for line in lines)
            first += len(lines)
        self.assertEqual(first, SUBSCRIBERS)
        self.assertGreater(total, 0)
        self.assertLessEqual(total, self.client.ask("/vbng/task/get,qos_up")["sent"])
        one = self.client.ask("/vbng/subscriber/get,cpe1 255.511")
        self.assertEqual(one["up_rate"], 10_000_000)

    def test_the_exporter(self):
        for more in ([], ["--subscribers"]):
            out = subprocess.run([EXPORTER, "--socket", self.path, "--once", *more], capture_output=True, text=True, timeout=60)
            self.assertEqual(out.returncode, 0, out.stderr)
            lines = out.stdout.splitlines()
            self.assertIn('vbng_task_dropped_packets_total{task="classify",reason="spoofed"} 0', lines)
            one = [line for line in lines if line.startswith('vbng_subscriber_up_bytes_total{subscriber="cpe0 128.256"}')]
            self.assertEqual(len(one), len(more))
            if shutil.which("promtool"):
                lint = subprocess.run(["promtool", "check", "metrics"], input=out.stdout, capture_output=True, text=True, timeout=60)
                self.assertEqual((lint.returncode, lint.stdout + lint.stderr), (0, ""))
            else:
                print("SKIP promtool is not installed (package prometheus)")

    def test_openmetrics(self):
        command = [EXPORTER, "--socket", self.path, "--once", "--openmetrics"]
        text = subprocess.run(command, capture_output=True, text=True, timeout=60).stdout
        self.assertTrue(text.endswith("# EOF\n"))
        self.assertIn("# TYPE vbng_core_rounds counter\n", text)

    def test_the_terminal_view(self):
        for more, word in ((["--interval", "0.2"], "classify"), (["--subscribers", "--interval", "0.2"], "cpe0 128.")):
            out = subprocess.run([TOP, "--socket", self.path, "--once", *more], capture_output=True, text=True, timeout=60)
            self.assertEqual(out.returncode, 0, out.stderr)
            self.assertIn(word, out.stdout)

    @unittest.skipUnless(shutil.which("tmux"), "tmux is not installed")
    def test_keys_in_a_terminal_of_24_lines(self):
        server = os.path.join(self.folder, "tmux")

        def tmux(*args):
            return subprocess.run(["tmux", "-S", server, "-f", "/dev/null", *args], capture_output=True, text=True, timeout=20)

        self.assertEqual(tmux("new-session", "-d", "-x", "80", "-y", "24", f"{TOP} --socket {self.path} --interval 0.3; sleep 60").returncode, 0)
        try:
            for key, words in ((None, ["core0 ", "rx bit/s", "scheduler", "q end"]), ("p", ["gre_up", "drops per second"]), ("s", ["cpe0 128.256", "by rate"]),
                               ("d", ["by drops"]), ("PageDown", ["22 to 4"]), ("PageUp", ["1 to 21 of 65536 by drops"]), ("g", ["scheduler", "rx bit/s"])):
                if key is not None:
                    tmux("send-keys", key)
                end = time.monotonic() + 40
                while any(word not in (shown := tmux("capture-pane", "-p").stdout) for word in words) and time.monotonic() < end:
                    time.sleep(0.1)
                self.assertEqual([word for word in words if word not in shown], [], shown)
            tmux("send-keys", "q")
            end = time.monotonic() + 40
            while "q end" in tmux("capture-pane", "-p").stdout and time.monotonic() < end:
                time.sleep(0.1)
            self.assertNotIn("Traceback", tmux("capture-pane", "-p").stdout)
        finally:
            tmux("kill-server")

    @unittest.skipUnless(shutil.which("dpdk-telemetry.py"), "dpdk-telemetry.py is not installed (package dpdk-dev)")
    def test_dpdks_own_client(self):
        out = subprocess.run(["dpdk-telemetry.py", "-f", f"vbng-{self.vbng.pid}"], input="/vbng/link/get,classify>qos_up\n/vbng/port/page\nquit\n",
                             capture_output=True, text=True, timeout=20)
        self.assertEqual(out.returncode, 0, out.stderr)
        self.assertIn('"high_water"', out.stdout)
        self.assertIn("t_core1,", out.stdout)

    def test_no_gateway(self):
        out = subprocess.run([EXPORTER, "--socket", os.path.join(self.folder, "none"), "--once"], capture_output=True,
                             text=True, timeout=60)
        self.assertEqual(out.returncode, 1)
        self.assertIn("No such file", out.stderr)

    def test_z_a_reader_that_hangs_costs_nothing(self):
        """One that never takes its answers away; then the end of the run, whose ledger must balance."""
        hung = Client(self.path)
        hung.socket.setblocking(False)
        try:
            for _ in range(10000):
                hung.socket.send(b"/vbng/task/list")
        except BlockingIOError:
            pass
        before = self.client.ask("/vbng/ledger/get,0")
        time.sleep(0.5)
        after = self.client.ask("/vbng/ledger/get,0")
        self.assertGreater(after["received"], before["received"])
        self.vbng.send_signal(signal.SIGTERM)
        self.assertEqual(self.vbng.wait(30), 0)
        with open(self.report, encoding="utf-8") as f:
            ledger = json.load(f)["ledger"]
        self.assertTrue(ledger["balances"])
        self.assertGreaterEqual(ledger["received"], after["received"])
        hung.close()


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    VBNG, EXPORTER, TOP = map(os.path.abspath, sys.argv[1:])
    sys.argv[1:] = []
    unittest.main(verbosity=1)
