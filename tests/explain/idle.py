# SPDX-License-Identifier: BSD-3-Clause
"""An idle gateway with a control socket: schedulers in both directions, the slow path, all encapsulations."""

import json
import os
import socket
import subprocess
import time

from tests.common.limits import limit

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CONFIG = os.path.join(TOP, "tests", "fuzz", "gateway.cfg")  # nothing comes from its ports


class Gateway:
    def __init__(self, binary, vbngctl, folder):
        self.vbngctl = vbngctl
        self.path = os.path.join(folder, "control.sock")
        self.report_path = os.path.join(folder, "report.json")
        command = [binary, "--quiet", "--share-cpus", "--control", self.path, "--report", self.report_path]
        self.process = subprocess.Popen([*command, CONFIG], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def wait(self, timeout=60):
        end = time.monotonic() + limit(timeout)
        while time.monotonic() < end and self.process.poll() is None:
            try:
                self.ask(cmd="show-ledger")
                return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError(f"the gateway did not start: {self.end()}")

    def ask(self, **request):
        """The answer to one request."""
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(limit(60))
            s.connect(self.path)
            s.sendall(json.dumps(request).encode() + b"\n")
            with s.makefile("rb") as f:
                return json.loads(f.readline())

    def explain(self, frame):
        return self.ask(cmd="explain", frame=frame)

    def ctl(self, *args):
        """(exit status, standard output, standard error) of vbngctl."""
        command = [self.vbngctl, "--socket", self.path, *args]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=limit(60))
        return done.returncode, done.stdout, done.stderr

    def end(self):
        """Stop it. Returns what is wrong with that."""
        if self.process.poll() is None:
            self.process.terminate()
        out, err = self.process.communicate(timeout=limit(60))
        return [] if self.process.returncode == 0 else [f"exit status {self.process.returncode}: {err or out}"]

    def counted(self):
        """All that any task has counted, after the end."""
        with open(self.report_path) as f:
            report = json.load(f)
        return {t["name"]: t["in"] + sum(t["drops"].values()) for t in report["tasks"]}
