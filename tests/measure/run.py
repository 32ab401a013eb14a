#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/measure with the real vbng: a line with a known capacity, a stop and a resume, runs that die, the gateway.

usage: run.py VBNG MEASURE
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
LINE = os.path.join(HERE, "line.cfg")
GATEWAY = os.path.join(HERE, "..", "..", "cfg", "measure-qos-4port.cfg")
CAPACITY, DELAY_NS = 200e3, 300e3
VBNG = MEASURE = ""


class Run(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def command(self, *arguments):
        return ["/usr/bin/python3" if os.access("/usr/bin/python3", os.X_OK) else sys.executable, MEASURE, "--vbng", VBNG,
                "--out", self.folder, "--no-mlrsearch", *arguments]

    def measure(self, *arguments):
        return subprocess.run(self.command(*arguments), capture_output=True, text=True, timeout=240)

    def result(self):
        with open(os.path.join(self.folder, "result.json")) as f:
            return json.load(f)

    def recorded(self, journal):
        """Trials in a journal: its lines but the first."""
        if not os.path.exists(journal):
            return 0
        with open(journal) as f:
            return f.read().count("\n") - 1

    def test_known_capacity(self):
        done = self.measure(LINE, "--quick", "--search-width", "0.005", "--width", "0.01")
        self.assertIn(done.returncode, (0, 3), done.stdout + done.stderr)
        r = self.result()
        f, = r["figures"]
        self.assertEqual((f["direction"], f["size"], f["rplus"]["limit"]), ("all", "64", "gateway"))
        self.assertEqual([t for t in r["trials"] if "extra" in t["marks"] or "wrong" in t["marks"]], [])
        tenth = f["latency"][0]["streams"]["probe_a"]["p50"]["median"]
        wrong = [f"{name}: {value} is not {least} to {most}" for name, value, least, most in (
            ("R+", f["rplus"]["pps"]["median"], CAPACITY * 0.99, CAPACITY * 1.01),
            ("NDR", f["ndr"]["lower"] or 0, CAPACITY * 0.99, CAPACITY * 1.01),
            ("PDR", f["pdr"]["lower"] or 0, CAPACITY / 0.995 * 0.99, CAPACITY / 0.995 * 1.01),
            ("latency", tenth, DELAY_NS, DELAY_NS * 1.5)) if not least <= value <= most]
        disturbed = sum("disturbed" in t["marks"] for t in r["trials"])
        if wrong and disturbed * 4 > len(r["trials"]):  # no figure can be held against a machine that does something else
            self.skipTest(f"{disturbed} of {len(r['trials'])} trials were disturbed, the machine is too busy: {'; '.join(wrong)}")
        self.assertEqual(wrong, [], done.stdout)

    def test_stop_and_resume(self):
        process = subprocess.Popen(self.command(LINE, "--quick", "--only", "rplus", "--seconds", "0.2", "--max-trials", "6",
                                                "--confidence", "0.95"),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        journal = os.path.join(self.folder, "journal.jsonl")
        try:
            until = time.monotonic() + 60
            while time.monotonic() < until and self.recorded(journal) < 2:
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
            process.wait()
        self.assertEqual(process.returncode, 130, out + err)
        first = self.result()
        self.assertIn("SIGINT", first["partial"])
        recorded = self.recorded(journal)
        self.assertIn(len(first["trials"]), (recorded, recorded - 1))  # the stop may come just behind a record
        self.assertTrue(2 <= recorded < 6, recorded)
        self.assertIn("PARTIAL", out)
        done = self.measure(LINE, "--quick", "--only", "rplus", "--seconds", "0.2", "--max-trials", "6", "--confidence", "0.95")
        self.assertIn(f"continues with {recorded} trials", done.stderr)
        whole = self.result()
        self.assertIsNone(whole["partial"])
        self.assertTrue(6 <= len(whole["trials"]) <= 12)  # disturbed trials are repeated
        self.assertEqual(whole["trials"][:len(first["trials"])], first["trials"])
        other = self.measure(LINE, "--quick", "--only", "rplus", "--seconds", "0.3")
        self.assertEqual(other.returncode, 1)
        self.assertIn("--fresh", other.stderr)

    def test_runs_that_die(self):
        """The plan is fine, but the start is not: EAL refuses its option."""
        done = self.measure(LINE, "--quick", "--set", "eal=--no-such-option")
        self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
        r = self.result()
        self.assertEqual([t["ok"] for t in r["trials"]], [False] * 3)
        self.assertIn("exit status 3", r["trials"][0]["error"])
        self.assertIn("the runs die", done.stdout)

    def test_what_cannot_be_measured(self):
        for text, arguments in (("no task of type gen", ["cfg/bng-memif.cfg"]), ("cannot be read", ["no/such.cfg"]),
                                ("is no size", ["cfg/bng-4port.cfg", "--sizes", "big"]),
                                ("no generators", [LINE, "--direction", "up"])):
            names = [os.path.join(HERE, "..", "..", a) if a.startswith("cfg/") else a for a in arguments]
            done = self.measure(*names)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(text, done.stderr)

    def test_gateway(self):
        """The BNG with QoS, briefly: for function. Figures need a quiet machine (doc/measure.md)."""
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("needs two CPUs")
        done = self.measure(GATEWAY, "--quick", "--only", "rplus", "--direction", "both", "--max-trials", "2", "--seconds", "0.3")
        self.assertIn(done.returncode, (0, 3), done.stdout + done.stderr)
        r = self.result()
        self.assertEqual([t["ok"] for t in r["trials"]], [True] * len(r["trials"]))
        self.assertGreater(r["figures"][0]["rplus"]["pps"]["median"], 1000)
        self.assertIn("generator's ceiling", done.stdout)
        self.assertTrue(os.path.getsize(os.path.join(self.folder, "report.html")) > 10000)


if __name__ == "__main__":
    VBNG, MEASURE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    program = unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2, exit=False)
    sys.exit(0 if program.result.wasSuccessful() and not program.result.skipped else 77 if program.result.wasSuccessful() else 1)
