# SPDX-License-Identifier: BSD-3-Clause
"""The gateway of the pcap tests with a tester in the same process: its frames come when a test says so."""

import json
import os
import subprocess
import sys
import time

from tests.common.limits import limit
from tests.control import load
from tests.pcap.frames import PORTS
from tests.pcap.harness import write_pcap

RATE = 2000  # frames/s of each port


def with_tester(text, case, folder):
    """The configuration of a case whose ports are wires, with the other ends: generators and a sink."""
    fed = [p for p in PORTS if case.inputs[p]]
    ports = [f'{{ name = "t_{p}"; device = "wire:{p}"; }}' for p in PORTS]
    # the last one never starts: where all generators have ended, vbng does
    tasks = [
        f'{{ name = "gen_{p}"; type = "gen"; template = "{os.path.join(folder, p)}.pcap"; rate = "{RATE}pps"; '
        f'start = "1h"; to = "t_{p}"; }}'
        for p in fed
    ]
    tasks.append(tasks[0].replace("gen_" + fed[0], "idle"))
    tasks.append('{ name = "sink"; type = "sink"; from = [' + ", ".join(f'"t_{p}"' for p in PORTS) + "]; }")
    names = ", ".join([f'"gen_{p}"' for p in fed] + ['"idle"', '"sink"'])
    more = {"subscribers": ports, "layout": tasks}
    for what, lines in more.items():
        text = text.replace(f" );\n{what} = ", ",\n    " + ",\n    ".join(lines) + f" );\n{what} = ")
    head, end, _ = text.rpartition(" );")
    return f'{head}, {{ core = "1"; tasks = [{names}]; }}{end}\n'


class Bed:
    """A running vbng with a folder for its captures; ask() is its control socket."""

    def __init__(self, binary, folder, config, options=("--share-cpus",)):
        self.folder, self.socket = folder, os.path.join(folder, "control.sock")
        self.report_path = os.path.join(folder, "report.json")
        self.captures = os.path.join(folder, "captures")
        os.makedirs(self.captures, exist_ok=True)
        command = [binary, "-q", *options, "--control", self.socket, "--report", self.report_path, "--capture-dir", self.captures, config]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.client = self.connect()

    def connect(self):
        end = time.monotonic() + limit(30)
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise RuntimeError(self.process.stderr.read())
            try:
                return load.Client(self.socket)
            except OSError:
                time.sleep(0.05)
        raise RuntimeError("the control socket does not come")

    def ask(self, cmd, **keys):
        return self.client.ask(cmd=cmd, **keys)

    def path(self, name):
        return os.path.join(self.captures, name)

    def start(self, name, **keys):
        answer = self.ask("start-capture", file=name, **keys)
        if "error" in answer:
            raise RuntimeError(answer["error"])

    def wait(self, seconds=20):
        """The state of the capture when it has ended."""
        end = time.monotonic() + limit(seconds)
        while (state := self.ask("show-capture")["capture"])["running"]:
            if time.monotonic() > end:
                raise RuntimeError(f"the capture does not end: {state}")
            time.sleep(0.02)
        return state

    def stop_capture(self):
        self.ask("stop-capture")
        return self.wait()

    def send(self, tasks, packets):
        """Let generators send so many, and wait until nothing moves any more."""
        end = self.ask("show-ledger")["ledger"]["created"] + packets
        for task in tasks:
            answer = self.ask("start-stream", task=task)
            if "error" in answer:
                raise RuntimeError(answer["error"])
        while self.ask("show-ledger")["ledger"]["created"] < end:
            time.sleep(0.05)
        for task in tasks:
            self.ask("stop-stream", task=task)
        before = None
        while (now := self.ask("show-ledger")["ledger"]) != before or now["under_way"]:
            before = now
            time.sleep(0.1)

    def end(self):
        """The report; raises where the run was not right."""
        self.client.close()
        if self.process.poll() is None:
            self.process.terminate()
        _, err = self.process.communicate(timeout=limit(60))
        if self.process.returncode != 0:
            raise RuntimeError(f"status {self.process.returncode}: {err.strip()[-2000:]}")
        with open(self.report_path) as f:
            return json.load(f)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


def write_case(folder, case):
    """The configuration of a case of the pcap tests, with its frames. Returns its path."""
    for port in PORTS:
        write_pcap(os.path.join(folder, f"{port}.pcap"), case.inputs[port])
    case.gateway.devices = {p: f"wire:{p}" for p in PORTS}
    path = os.path.join(folder, "case.cfg")
    with open(path, "w") as f:
        f.write(with_tester(case.gateway(folder), case, folder))
    return path


def open_case(binary, folder, case):
    """A bed for a case of the pcap tests."""
    return Bed(binary, folder, write_case(folder, case))


def run_tool(*command):
    """Output of a program that must succeed."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=limit(120))
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]}: {done.stderr.strip()}")
    return done.stdout


def vbngctl(path, bed, *words):
    """Of tools/vbngctl: its status, and all that it said."""
    done = subprocess.run([sys.executable, path, "--socket", bed.socket, *words], capture_output=True, text=True,
                          timeout=limit(60))  # fmt: skip
    return done.returncode, done.stdout + done.stderr
