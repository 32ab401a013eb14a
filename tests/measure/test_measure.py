# SPDX-License-Identifier: BSD-3-Clause
"""vbng-lab measure with the real vbng: a line with a known capacity, a stop and a resume, runs that die, the gateway in
one process with its tester and in two."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import pytest

from tests.common.limits import limit
from vbnglab.measure.rig import Request, Rig, Size

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.join(HERE, "..", "..")

LINE = os.path.join(HERE, "line.cfg")
GATEWAY = os.path.join(TOP, "cfg", "measure-qos-4port.cfg")
CAPACITY, DELAY_NS = 200e3, 300e3
LOAD = 200e3  # packets per second that even a busy machine carries between two processes
UNDER_WAY = 4 * 1024  # packets that may be in the rings of the four memifs when the tester leaves
pytestmark = pytest.mark.limit(300)


class Tool(unittest.TestCase):
    """A folder for the results, and the command."""

    @pytest.fixture(autouse=True)
    def program(self, vbng):
        self.vbng = vbng

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def command(self, *arguments):
        return ["/usr/bin/python3" if os.access("/usr/bin/python3", os.X_OK) else sys.executable, "-m", "vbnglab", "measure", "--vbng", self.vbng,
                "--out", self.folder, *arguments]

    def measure(self, *arguments):
        return subprocess.run(self.command(*arguments), capture_output=True, text=True, timeout=limit(240))

    def result(self):
        with open(os.path.join(self.folder, "result.json")) as f:
            return json.load(f)

    def flows(self, *arguments):
        """R+ is found, briefly. The trials are longer where others had a core for all of a short one. Returns the run and its result."""
        for seconds in (0.2, 0.8, 3.2):
            done = self.measure(*arguments, "--quick", "--only", "rplus", "--max-trials", "1", "--seconds", str(seconds), "--fresh")
            self.assertIn(done.returncode, (0, 3), done.stdout + done.stderr)
            r = self.result()
            self.assertEqual([t["error"] for t in r["trials"] if not t["ok"]], [])
            pps = r["figures"][0]["rplus"]["pps"]["median"]
            if pps > 1000 or not any("disturbed" in t["marks"] for t in r["trials"]):
                break
        self.assertGreater(pps, 1000)
        return done, r

    def recorded(self, journal):
        """Trials in a journal: its lines but the first."""
        if not os.path.exists(journal):
            return 0
        with open(journal) as f:
            return f.read().count("\n") - 1


class OneProcess(Tool):
    """Device and tester in one configuration."""

    @pytest.mark.long
    def test_known_capacity(self):
        for _ in range(3):  # a machine that does something else makes no figure that could be held against the line
            done = self.measure(LINE, "--quick", "--fresh", "--seconds", "0.3", "--search-width", "0.008", "--width", "0.01", "--max-trials", "3")
            self.assertIn(done.returncode, (0, 3), done.stdout + done.stderr)
            r = self.result()
            wrong, disturbance = self.off(r["figures"]), self.disturbance(done.stdout, r["trials"])
            self.assertEqual([t for t in r["trials"] if "extra" in t["marks"] or "wrong" in t["marks"]], [])
            if not wrong:
                return
            self.assertTrue(disturbance, f"{wrong}: {done.stdout}")
        self.skipTest(f"the machine is too busy: {disturbance}: {'; '.join(wrong)}")

    def off(self, figures):
        """What is not as the line is."""
        f, = figures
        self.assertEqual((f["direction"], f["size"]), ("all", "64"))
        if f["rplus"]["limit"] != "gateway":
            return [f"R+ is limited by {f['rplus']['limit']}"]
        tenth = f["latency"][0]["streams"]["probe_a"]["p50"]["median"]
        return [f"{name}: {value} is not {least} to {most}" for name, value, least, most in (
            ("R+", f["rplus"]["pps"]["median"], CAPACITY * 0.99, CAPACITY * 1.01),
            ("NDR", f["ndr"]["lower"] or 0, CAPACITY * 0.99, CAPACITY * 1.01),
            ("PDR", f["pdr"]["lower"] or 0, CAPACITY / 0.995 * 0.99, CAPACITY / 0.995 * 1.01),
            ("latency", tenth, DELAY_NS, DELAY_NS * 1.5)) if not least <= value <= most]

    def disturbance(self, said, trials):
        """What shows that somebody else had the CPU: marks of trials, or what the measurement says of itself. The generator makes a
        hundred times this load where it is left alone, so one that fell short was not."""
        found = [f"{n} of {len(trials)} trials were marked '{mark}'" for mark in ("disturbed", "generator")
                 if (n := sum(mark in t["marks"] for t in trials))]  # fmt: skip
        return "; ".join(found + [text for text in ("the trials differ too much",) if text in said])

    def test_stop_and_resume(self):
        brief = (LINE, "--quick", "--only", "rplus", "--seconds", "0.2", "--max-trials", "4", "--width", "1e-9")
        process = subprocess.Popen(self.command(*brief),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        journal = os.path.join(self.folder, "journal.jsonl")
        try:
            until = time.monotonic() + limit(60)
            while time.monotonic() < until and self.recorded(journal) < 1:
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=limit(60))
        finally:
            process.kill()
            process.wait()
        self.assertEqual(process.returncode, 130, out + err)
        first = self.result()
        self.assertIn("SIGINT", first["partial"])
        recorded = self.recorded(journal)
        self.assertIn(len(first["trials"]), (recorded, recorded - 1))  # the stop may come just behind a record
        self.assertTrue(1 <= recorded < 4, recorded)
        self.assertIn("PARTIAL", out)
        done = self.measure(*brief)
        self.assertIn(f"continues with {recorded} trials", done.stderr)
        whole = self.result()
        self.assertIsNone(whole["partial"])
        self.assertTrue(4 <= len(whole["trials"]) <= 8)  # disturbed trials are repeated
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

    def test_gateway(self):
        """The BNG with QoS, briefly: for function. Figures need a quiet machine (doc/measure.md)."""
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("needs two CPUs")
        done, _ = self.flows(GATEWAY, "--direction", "both")
        self.assertIn("generator's ceiling", done.stdout)
        self.assertTrue(os.path.getsize(os.path.join(self.folder, "report.html")) > 10000)

    @pytest.mark.long
    def test_families(self):
        """IPv6 alone, and 30 % of IPv4 beside it, in its smallest frames."""
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("needs two CPUs")
        for family in ("ipv6", "dual"):
            config = os.path.join(TOP, "cfg", f"measure-{family}-4port.cfg")
            self.flows(config, "--direction", "both", "--sizes", "74")


class TwoProcesses(Tool):
    """Gateway and tester in a process each, memif between them."""

    def setUp(self):
        super().setUp()
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("needs two CPUs")
        for part in ("cfg", "pkt_templates"):
            shutil.copytree(os.path.join(TOP, part), os.path.join(self.folder, part))
        self.gateway, self.tester = (os.path.join(self.folder, "cfg", name) for name in ("bng-memif.cfg", "gen-4port.cfg"))
        for path in (self.gateway, self.tester):  # a socket of their own, so that two runs of this test do not meet
            with open(path) as f:
                text = f.read()
            with open(path, "w") as f:
                f.write(text.replace("socket=vbng,", f"socket=vbng-measure-{os.getpid()},"))

    @pytest.mark.long
    def test_throughput(self):
        """R+ by the tool. The tester's core is told from the gateway's, and it is the gateway that is overloaded."""
        _, r = self.flows(self.gateway, "--tester", self.tester, "--direction", "up")
        self.assertEqual([c["of"] for c in r["trials"][0]["cores"]], ["tester", "gateway"])
        self.assertEqual(os.path.basename(r["rig"]["tester"]["configuration"]), "gen-4port.cfg")

    def test_ledger(self):
        """What one process sent the other received, and each accounts for all of its packets. (What a full memif did not
        take never left.)"""
        rig = Rig(self.gateway, self.tester, vbng=self.vbng).discover()
        for seconds in (0.4, 1.6, 6.4):  # a machine whose CPUs others take sends less in the same time
            tester, gateway = rig.trial(Request("search", "both", Size(64, 78), LOAD, seconds), 0.1)
            self.assertEqual((tester.error, gateway.error), ("", ""))
            ours, theirs = gateway.report["ledger"], tester.report["ledger"]
            if min(ours["sent"], theirs["sent"]) > 2 * UNDER_WAY:
                break
        for what, sent, got in (("up", theirs["sent"], ours["received"]), ("back", ours["sent"], theirs["received"])):
            self.assertGreater(sent, 2 * UNDER_WAY, what)
            self.assertTrue(0 <= sent - got <= UNDER_WAY, f"{what}: {sent} sent, {got} received")
        dropped = {reason for t in gateway.report["tasks"] for reason, n in t["drops"].items() if n}
        self.assertLessEqual(dropped, {"link_full"})
        for report in (gateway.report, tester.report):
            l = report["ledger"]
            self.assertEqual(l["received"] + l["created"], l["sent"] + l["consumed"] + l["dropped"] + l["held"])


@pytest.mark.parametrize("text, arguments", [
    ("no task of type gen", [os.path.join(TOP, "cfg/bng-memif.cfg")]),
    ("cannot be read", ["no/such.cfg"]),
    ("is no size", [os.path.join(TOP, "cfg/bng-4port.cfg"), "--sizes", "big"]),
    ("no generators", [LINE, "--direction", "up"]),
    ("frames of 64-78 bytes:", [os.path.join(TOP, "cfg/measure-ipv6-4port.cfg")]),
    ("the layers need 74 bytes", [os.path.join(TOP, "cfg/measure-dual-4port.cfg"), "--sizes", "128,64"]),
], ids=lambda value: value if isinstance(value, str) else "")
def test_what_cannot_be_measured(vbng, folder, run, text, arguments):
    done = run(sys.executable, "-m", "vbnglab", "measure", "--vbng", vbng, "--out", folder, *arguments, timeout=240)
    assert (done.returncode, text in done.stderr) == (1, True), done.stderr
