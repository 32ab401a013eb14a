#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The parts of the live page without a gateway: server, layout of the picture, states, drop reasons.

usage: unit.py VBNG VBNG_WEB
"""

import glob
import http.client
import json
import os
import re
import socket
import subprocess
import sys
import threading
import unittest

PROJECT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(PROJECT, "tools"))

from vbnglab import drops, reading, web_graph, web_server, web_state, web_subscribers  # noqa: E402
from vbnglab.telemetry import Unreachable  # noqa: E402

CONFIGS = sorted(c for c in glob.glob(os.path.join(PROJECT, "cfg", "*.cfg")))


class FakeState:
    def snapshot(self):
        return {"error": None, "age": 0.1, "period": 1.0, "plan": 1, "figures": {}}

    def planned(self):
        return None


class FakeSubscribers:
    asked = None

    def page(self, **query):
        FakeSubscribers.asked = query
        if query["search"] == "gone":
            raise Unreachable("no vbng runs here")
        return {"rows": []}


class Serving(unittest.TestCase):
    exposed = False

    def setUp(self):
        self.server = web_server.Server(("127.0.0.1", 0), FakeState(), FakeSubscribers(), self.exposed)
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def tearDown(self):
        self.server.shutdown()
        self.server.server_close()

    def ask(self, path, method="GET", host="localhost", more=()):
        """(status, headers, body). The path goes as it is."""
        c = http.client.HTTPConnection("127.0.0.1", self.server.server_port, timeout=10)
        c.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for value in [host] if isinstance(host, str) else host or ():
            c.putheader("Host", value)
        for key, value in more:
            c.putheader(key, value)
        c.endheaders()
        answer = c.getresponse()
        body = answer.read()
        c.close()
        return answer.status, answer.headers, body


class Server(Serving):
    def test_every_file_comes_with_its_type_and_no_foreign_source(self):
        for name in ["", *os.listdir(web_server.FOLDER)]:
            status, headers, body = self.ask("/" + name if name != "index.html" else "/")
            self.assertEqual(status, 200, name)
            self.assertEqual(int(headers["Content-Length"]), len(body))
            self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
            self.assertEqual((headers["X-Content-Type-Options"], headers["Cache-Control"]), ("nosniff", "no-store"))
            urls = [u for u in re.findall(rb"https?://[^\"')\s]+", body) if not u.startswith(b"http://www.w3.org/")]
            self.assertEqual(urls, [], name)
            self.assertNotRegex(body, rb"innerHTML|document\.write|\beval\b")

    def test_nothing_else_is_there(self):
        for path in ("/x", "/../web_server.py", "/..%2fweb_server.py", "/%2e%2e/%2e%2e/README.md", "//etc/passwd", "/etc/passwd", "/app.js/",
                     "/app.js%00", "/.", "/api", "/api/", "/api/state/", "/index.html/../app.js", "http://localhost/app.js", "*", "/app.js/../app.js"):
            status, headers, body = self.ask(path)
            self.assertEqual(status, 404, path)
            self.assertIn("error", json.loads(body))
            self.assertIn("Content-Security-Policy", headers)

    def test_a_name_that_may_be_anybodys_is_not_served(self):
        for host in ("evil.example", "localhost.evil.example", "evil.example:80", "", "127.0.0.1.evil.example", "10.0.0.1", "0.0.0.0",
                     "[::2]", "localhost:1:2", "localhost/", "a b", None, ["localhost", "evil.example"], ["localhost", "localhost"]):
            self.assertEqual(self.ask("/api/state", host=host)[0], 421, host)
        for host in ("localhost", "LOCALHOST:80", "127.0.0.1", "127.0.0.1:9792", "[::1]", "[::1]:9792"):
            self.assertEqual(self.ask("/api/state", host=host)[0], 200, host)

    def test_nothing_can_be_changed(self):
        for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"):
            status, headers, _ = self.ask("/api/state", method=method)
            self.assertEqual((status, headers["Allow"]), (405, "GET, HEAD"), method)
        self.assertEqual(self.ask("/", method="BREW")[0], 501)
        status, headers, body = self.ask("/", method="HEAD")
        self.assertEqual((status, body), (200, b""))
        self.assertGreater(int(headers["Content-Length"]), 1000)

    def test_queries(self):
        self.assertEqual(self.ask("/api/subscribers")[0], 200)
        self.assertEqual(FakeSubscribers.asked, {"sort": "id", "page": 0, "search": ""})
        self.assertEqual(self.ask("/api/subscribers?sort=rate&page=17&search=cpe0+128.")[0], 200)
        self.assertEqual(FakeSubscribers.asked, {"sort": "rate", "page": 17, "search": "cpe0 128."})
        for query in ("sort=none", "sort=", "sort=id&sort=id", "page=-1", "page=1e3", "page=", "page=99999999", "page=%31%30x", "size=9", "x", "x=1",
                      "search=" + "x" * 65, "search=%00", "search=%ff", "&".join(f"a{i}=1" for i in range(20)), "page=0&page=0", "="):
            status, _, body = self.ask("/api/subscribers?" + query)
            self.assertEqual(status, 400, query)
            self.assertIn("error", json.loads(body))
        self.assertEqual(self.ask("/api/state?x=1")[0], 400)
        self.assertEqual(self.ask("/api/subscribers?search=gone")[0], 503)
        self.assertEqual(self.ask("/api/plan")[0], 503)

    def test_what_is_no_http(self):
        for text in (b"\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9\r\n\r\n", b"\x16\x03\x01" * 50 + b"\r\n\r\n", b"GET /" + b"a" * 70000 + b" HTTP/1.1\r\n\r\n"):
            with socket.create_connection(("127.0.0.1", self.server.server_port), 10) as s:
                s.sendall(text)
                s.shutdown(socket.SHUT_WR)
                while s.recv(65536):
                    pass
        self.assertEqual(self.ask("/")[0], 200)

    def test_more_connections_than_there_is_room_for(self):
        held = [socket.create_connection(("127.0.0.1", self.server.server_port), 10) for _ in range(web_server.MOST_CONNECTIONS)]
        try:
            with self.assertRaises((http.client.RemoteDisconnected, ConnectionError)):
                self.ask("/")
        finally:
            for s in held:
                s.close()


class Exposed(Serving):
    """On an address that others reach: an address in the Host header is right, a name is not."""

    exposed = True

    def test_a_name_that_may_be_anybodys_is_not_served(self):
        self.assertEqual(self.ask("/", host="192.0.2.1:80")[0], 200)
        self.assertEqual(self.ask("/", host="evil.example")[0], 421)


class Tool(unittest.TestCase):
    def test_who_it_refuses_to_serve(self):
        for args, word in ((["--listen", "0.0.0.0"], "--expose"), (["--listen", "::"], "--expose"), (["--listen", "192.0.2.1"], "--expose"),
                           (["--listen", "host"], "IP address"), (["--port", "70000"], "--port"), (["--interval", "0"], "--interval"),
                           (["--interval", "nan"], "--interval")):
            out = subprocess.run([VBNG_WEB, *args], capture_output=True, text=True, timeout=20)
            self.assertEqual(out.returncode, 2, args)
            self.assertIn(word, out.stderr)

    def test_exposed_with_a_warning(self):
        p = subprocess.Popen([VBNG_WEB, "--listen", "0.0.0.0", "--port", "0", "--expose"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertTrue(p.stdout.readline().startswith("http://0.0.0.0:"))
        p.terminate()
        self.assertIn("neither password nor encryption", p.communicate(timeout=10)[1])


class Picture(unittest.TestCase):
    def test_of_every_configuration(self):
        """Nothing stands on something else or outside, every link of the plan is drawn once, and what is not slow runs to the right."""
        for config in CONFIGS:
            printed = subprocess.run([VBNG, "--plan=json", config], capture_output=True, text=True, timeout=60)
            self.assertEqual(printed.returncode, 0, printed.stderr)
            plan = json.loads(printed.stdout)
            p = web_graph.layout(plan)
            nodes = {n["id"]: n for n in p["nodes"]}
            self.assertEqual(len(nodes), len(p["nodes"]), config)
            self.assertEqual({n["name"] for n in p["nodes"] if n["kind"] == "task"}, {i["task"] for i in plan["instances"]})
            for n in p["nodes"]:
                band = p["bands"][n["band"]]
                self.assertTrue(0 <= n["x"] and n["x"] + n["w"] <= p["width"] and band["y"] <= n["y"] and n["y"] + n["h"] <= band["y"] + band["h"], n)
                for m in p["nodes"]:
                    apart = n["x"] + n["w"] <= m["x"] or m["x"] + m["w"] <= n["x"] or n["y"] + n["h"] <= m["y"] or m["y"] + m["h"] <= n["y"]
                    self.assertTrue(m is n or apart, (config, n["id"], m["id"]))
            links = [number for e in p["edges"] for number in e["links"]]
            self.assertEqual(sorted(links), list(range(sum(len(o["destinations"]) for i in plan["instances"] for o in i["outputs"]))), config)
            for e in p["edges"]:
                if not e["side"]:
                    self.assertLess(nodes[e["from"]]["x"], nodes[e["to"]]["x"], (config, e))

    def test_a_circle_ends(self):
        def instance(name, to):
            return {"instance": name, "task": name, "type": "t", "receives": [],
                    "outputs": [{"name": "to", "destinations": [{"kind": "call", "instance": to}]}]}

        plan = {"cores": [{"core": 1, "cpu": 0, "instances": ["a", "b"]}], "instances": [instance("a", "b"), instance("b", "a")]}
        self.assertEqual(len(web_graph.layout(plan)["nodes"]), 2)


class Reasons(unittest.TestCase):
    def test_every_reason_of_the_source_is_explained(self):
        found = {"no_path", "link_full"}
        for path in glob.glob(os.path.join(PROJECT, "src", "tasks", "*.c")):
            with open(path, encoding="utf-8") as f:
                found |= set(re.findall(r'\[DROP_[A-Z0-9_]+\] = "([a-z0-9_]+)"', f.read()))
        self.assertGreater(len(found), 50)
        self.assertEqual(found, set(drops.REASONS))
        for reason, (means, remedy) in drops.REASONS.items():
            self.assertTrue(means and remedy, reason)


class Rates(unittest.TestCase):
    def reading(self, at, **groups):
        r = reading.Reading.__new__(reading.Reading)
        r.at, r.groups = at, groups
        return r

    def test_counters_by_time(self):
        before = self.reading(10, core={"0": {"busy_cycles": 100, "idle_cycles": 300}})
        now = self.reading(12, core={"0": {"busy_cycles": 200, "idle_cycles": 600}})
        r = reading.Rates(before, now)
        self.assertEqual(r.of("core", "0", "busy_cycles"), 50)
        self.assertEqual(r.busy("0"), 0.25)

    def test_a_state_without_a_gateway(self):
        state = web_state.State("/nowhere", 0.1)
        thread = threading.Thread(target=state.run)
        thread.start()
        while state.snapshot()["error"] == "not read yet":
            pass
        state.stop.set()
        thread.join(10)
        self.assertIn("/nowhere", state.snapshot()["error"])
        self.assertIsNone(state.snapshot()["age"])
        with self.assertRaises(Unreachable):
            web_subscribers.Subscribers("/nowhere").page("id", 0, "")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    VBNG, VBNG_WEB = map(os.path.abspath, sys.argv[1:])
    sys.argv[1:] = []
    unittest.main(verbosity=1)
