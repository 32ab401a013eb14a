# SPDX-License-Identifier: BSD-3-Clause
"""One run of vbng: start, wait, stop, report.

    result = run("cfg/bng-4port.cfg", 2, settings={"gen_cpe0.rate": "100%"})
    if result.ok:
        sink = task(result.report, "sink")

A run that dies is a Result with ok = False, the exit status and the last lines of its output; nothing is
raised. Two processes that belong together (a gateway and its generator) are two start() and two finish().
"""

import csv
import ctypes
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass, field

from . import places

GRACE = 60.0  # seconds beyond its duration that a run may take to start and to stop
LAST_LINES = 20
PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)


@dataclass(frozen=True)
class Result:
    """What became of a run."""

    ok: bool  # exit status 0 and a report
    status: int | None  # exit status, -N for signal N, None: not started
    error: str  # why it is not ok, with the last lines of its output; "" when ok
    report: dict | None  # what --report wrote; also of a run whose ledger does not balance
    command: list = field(default_factory=list)
    wall: float = 0.0  # seconds from start to end
    samples: list = field(default_factory=list)  # rows of --sample: {"seconds", "task", "in", "sent", ...}


def binary(vbng=None):
    """Path of vbng: as given, else $VBNG, else build/vbng of this tree, else the one in $PATH."""
    given = vbng or os.environ.get("VBNG")
    if given and os.sep in given:
        return os.path.abspath(given)  # it may run in another folder
    return given or places.program("vbng", "build/vbng")


def options(settings=None, layout=None, share_cpus=False):
    """Options of vbng for settings ({"TASK.PARAM": value}, or pairs), the file of a layout, and shared CPUs."""
    pairs = settings.items() if hasattr(settings, "items") else settings or ()
    out = []
    for key, value in pairs:
        out += ["--set", f"{key}={value}"]
    if layout is not None:
        out += ["--layout", os.fspath(layout)]
    if share_cpus:
        out.append("--share-cpus")
    return out


def end_with_parent():
    """Have the kernel stop the child cleanly when the thread that started it ends, so that a killed command leaves none behind."""
    _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def end(process, grace=5.0):
    """Have a process (Popen, or None) end, with grace seconds to do it itself, and wait for that."""
    if process is not None and process.poll() is None:
        process.terminate()
        try:
            process.wait(grace)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def text_of(path):
    """What stands in a file that a process writes; "" where there is none."""
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read()
    except OSError:
        return ""


class Running:
    """A vbng that was started. finish() or stop() ends it; as a context manager it never outlives its block."""

    def __init__(self, command, folder, cwd=None):
        self.command = command
        self._folder = folder
        self._began = time.monotonic()
        self._output = os.path.join(folder, "output")
        self._process, self._failure = None, ""
        try:
            with open(self._output, "wb") as out:
                # its own process group, as Ctrl-C is for the command, which ends it
                self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out,
                                                 stderr=subprocess.STDOUT, process_group=0, cwd=cwd,
                                                 preexec_fn=end_with_parent)
        except OSError as e:
            self._failure = f"cannot start: {e}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    @property
    def pid(self):
        """Process id; None if it did not start."""
        return None if self._process is None else self._process.pid

    def alive(self):
        """Tell whether the process runs."""
        return self._process is not None and not self._ended()

    # Popen.wait() and poll() keep their lock for ever when a handler (Ctrl-C) raises in the middle of them.
    def _ended(self):
        p = self._process
        if p.returncode is None:
            try:
                pid, status = os.waitpid(p.pid, os.WNOHANG)
            except ChildProcessError:  # a handler raised between the last call and its return
                pid, status = p.pid, signal.SIGKILL
            if pid == p.pid:
                p.returncode = os.waitstatus_to_exitcode(status)
        return p.returncode is not None

    def _wait(self, timeout):
        """Wait at most timeout seconds. Returns whether the process has ended."""
        end = time.monotonic() + timeout
        while not self._ended():
            if time.monotonic() >= end:
                return False
            time.sleep(0.01)
        return True

    def sampling(self):
        """Tell whether it takes samples, which it does as soon as its ports are open."""
        return os.path.exists(os.path.join(self._folder, "samples.csv"))

    def output(self):
        """What it has printed so far; "" after finish() or stop()."""
        return text_of(self._output)

    def finish(self, timeout=GRACE):
        """Wait at most timeout seconds for the end, then end it. Returns the Result."""
        return self._end(timeout, "did not end by itself within {:.0f} s")

    def stop(self, grace=GRACE):
        """End it now, with grace seconds to write its report. Returns the Result."""
        if self.alive():
            os.kill(self.pid, signal.SIGTERM)
        return self._end(grace, "did not stop within {:.0f} s")

    def _end(self, timeout, late):
        try:
            if self._process is not None and not self._failure and not self._wait(timeout):
                self._failure = late.format(timeout)
        finally:
            self._kill()
        return self._result()

    def _kill(self):
        if self.alive():
            os.kill(self.pid, signal.SIGTERM)
            if not self._wait(5):
                os.kill(self.pid, signal.SIGKILL)
                self._wait(5)

    def _result(self):
        wall = time.monotonic() - self._began
        status = None if self._process is None else self._process.returncode
        report, samples, tail = self._report(), self._samples(), "\n".join(self.output().strip().splitlines()[-LAST_LINES:])
        shutil.rmtree(self._folder, ignore_errors=True)
        why = self._failure
        if not why and status != 0:
            why = f"signal {-status}" if status < 0 else f"exit status {status}"
        if not why and report is None:
            why = "no report was written"
        return Result(not why, status, "\n".join(s for s in (why, tail) if s) if why else "", report, self.command, wall,
                      samples)

    def _report(self):
        try:
            with open(os.path.join(self._folder, "report.json"), encoding="utf-8") as f:
                return json.load(f)
        except (OSError, ValueError):
            return None

    def _samples(self):
        try:
            with open(os.path.join(self._folder, "samples.csv"), encoding="utf-8", newline="") as f:
                return [{k: v if k == "task" else float(v) for k, v in row.items()} for row in csv.DictReader(f)]
        except (OSError, ValueError, TypeError):  # the file is absent, or its last line is cut off
            return []


def start(config, seconds=None, settings=None, layout=None, share_cpus=False, extra=(), vbng=None, sample=None,
          cwd=None):
    """Start vbng on a configuration. seconds None: it runs until its generators have ended, or it is stopped. extra: more
    options of vbng. sample: seconds between two samples of all counters; None: no samples. cwd: folder to run in, from which
    relative paths of sockets count."""
    folder = tempfile.mkdtemp(prefix="vbng-run-")
    command = [binary(vbng), "--quiet", "--report", os.path.join(folder, "report.json")]
    if seconds is not None:
        command += ["--duration", f"{round(seconds * 1000)}ms"]
    if sample is not None:
        command += ["--sample", os.path.join(folder, "samples.csv"), "--sample-period", f"{round(sample * 1000)}ms"]
    command += options(settings, layout, share_cpus) + [os.fspath(e) for e in extra] + [os.fspath(config)]
    return Running(command, folder, cwd)


def run(config, seconds, settings=None, layout=None, share_cpus=False, extra=(), timeout=None, vbng=None,
        sample=None):
    """Run vbng on a configuration for so many seconds and return its Result; a run that dies raises nothing. timeout: seconds
    after which it is ended (default: GRACE beyond its own)."""
    with start(config, seconds, settings, layout, share_cpus, extra, vbng, sample) as running:
        return running.finish((seconds or 0) + GRACE if timeout is None else timeout)


def query(arguments, vbng=None, timeout=60, cpus=None):
    """Run vbng with arguments that only ask (--check, --plan=json ...), on these CPUs (None: on all). Returns (exit status, stdout, stderr); a status of
    None means that it did not run, and stderr says why."""
    there = ["taskset", "-c", ",".join(map(str, sorted(cpus)))] if cpus else []
    try:
        done = subprocess.run([*there, binary(vbng), *(os.fspath(a) for a in arguments)], capture_output=True, text=True,
                              timeout=timeout, stdin=subprocess.DEVNULL)
        return done.returncode, done.stdout, done.stderr
    except (OSError, subprocess.TimeoutExpired) as e:
        return None, "", str(e)


def task(report, name):
    """The task of a name in a report; None if there is none."""
    return next((t for t in report["tasks"] if t["name"] == name), None)


def tasks(report, kind):
    """All tasks of a type in a report."""
    return [t for t in report["tasks"] if t["type"] == kind]


def port(report, name):
    """The port of a name in a report; None if there is none."""
    return next((p for p in report["ports"] if p["name"] == name), None)
