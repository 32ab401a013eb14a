# SPDX-License-Identifier: BSD-3-Clause
"""A vbng that something will happen to: its log, its telemetry, its control socket, its threads."""

import ctypes
import os
import re
import signal
import subprocess
import time
from dataclasses import dataclass, field

from tests.common.limits import limit
from tests.control import load
from tests.e2e import process
from vbnglab.lab import telemetry

HERE = os.path.dirname(os.path.abspath(__file__))
START_LIMIT = 30  # s
PTRACE_GETREGS, PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH = 12, 0x4206, 0x4207, 17
X86_64_REGISTERS, RIP = 27, 16  # words of user_regs_struct; the place of the instruction pointer
WAIT_ALL_THREADS = 0x40000000
_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_LIBC.ptrace.restype = ctypes.c_long


@dataclass
class Row:
    """A line of the fault table, and what was not as it should be."""

    fault: str
    saw: str = ""
    lost: str = ""
    recovery: str = ""
    wrong: list = field(default_factory=list)

    def expect(self, ok, what):
        """Note what is wrong unless ok. Returns ok."""
        if not ok:
            self.wrong.append(what)
        return ok


class Vbng(process.Run):
    """A running vbng; as a context manager it does not outlive its block."""

    def __init__(self, ctx, *options, control=False, report=True):
        self.socket = ctx.path("control.sock")
        more = ["--control", self.socket] if control else []
        super().__init__(ctx, "--quiet", *more, *options, report=report)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def log(self):
        """What it has said on stderr so far."""
        if isinstance(self.err, str):
            return self.err
        return os.pread(self.err.fileno(), 1 << 20, 0).decode(errors="replace")

    def line(self, pattern, seconds=5):
        """The first line of its log that has the pattern, as soon as it is there; "" if it does not come."""
        end = time.monotonic() + seconds
        while True:
            found = re.search(f"^.*{pattern}.*$", self.log(), re.M)
            if found or time.monotonic() > end or self.process.poll() is not None:
                return found.group(0).removeprefix("vbng: ") if found else ""
            time.sleep(0.02)

    def says(self, words, times, seconds=5):
        """Has its log the words so many times, within a time?"""
        end = time.monotonic() + seconds
        while (found := self.log().count(words)) < times and time.monotonic() < end:
            time.sleep(0.02)
        return found == times

    def client(self):
        """A connection to its control socket, as soon as it answers."""
        end = time.monotonic() + limit(START_LIMIT)
        while time.monotonic() < end and self.process.poll() is None:
            try:
                client = load.Client(self.socket)
                client.ask(cmd="show-ledger")
                return client
            except OSError:
                time.sleep(0.02)
        raise RuntimeError(f"does not answer: {self.log()}")

    def telemetry_path(self):
        return os.path.join(process.runtime_folder_left(self.pid)[0], telemetry.SOCKET)

    def ask(self, command):
        """An answer of its telemetry socket, as soon as there is one."""
        end = time.monotonic() + limit(START_LIMIT)
        while True:
            try:
                with telemetry.Telemetry(self.telemetry_path()) as t:
                    answer = t.ask(command)
                if answer is not None:
                    return answer
            except (IndexError, telemetry.Unreachable):
                pass
            if time.monotonic() > end or self.process.poll() is not None:
                raise RuntimeError(f"no answer to {command}: {self.log()}")
            time.sleep(0.02)

    def objects(self, group):
        """{name: {key: figure}} of a group of its telemetry."""
        with telemetry.Telemetry(self.telemetry_path()) as t:
            return t.objects(group)

    def wait_for_packets(self, task, more=1):
        """Until a task has taken so many packets more. Returns whether it has."""
        first = self.ask(f"/vbng/task/get,{task}")["in"]
        end = time.monotonic() + limit(START_LIMIT)
        while time.monotonic() < end and self.process.poll() is None:
            if self.ask(f"/vbng/task/get,{task}")["in"] >= first + more:
                return True
            time.sleep(0.02)
        return False

    def thread(self, core):
        """The id of the thread that runs a core of the plan."""
        for tid in os.listdir(f"/proc/{self.pid}/task"):
            with open(f"/proc/{self.pid}/task/{tid}/comm") as f:
                if re.fullmatch(rf"(rte-worker-|lcore-worker-|dpdk-worker){core + 1}\n", f.read()):
                    return int(tid)
        raise RuntimeError(f"core {core} has no thread")

    def stop(self, row, status=0, sig=signal.SIGTERM):
        """End it. Returns its report, after noting in the row what is wrong with that; None: there is none."""
        if self.process.poll() is None:
            self.process.send_signal(sig)
        self.end(30)
        if not row.expect(self.status == status, f"exit status {self.status}: {self.err or self.out}"):
            return None
        report = self.report()
        row.wrong += process.ledger_faults(report)
        return report


class StoppedThread:
    """One thread of another process stands still, as under a debugger."""

    def __init__(self, tid):
        self.tid = tid

    def __enter__(self):
        if _LIBC.ptrace(PTRACE_SEIZE, self.tid, None, None) != 0 or _LIBC.ptrace(PTRACE_INTERRUPT, self.tid, None, None) != 0:
            raise PermissionError(ctypes.get_errno(), "ptrace")
        os.waitpid(self.tid, WAIT_ALL_THREADS)
        return self

    def __exit__(self, *_):
        _LIBC.ptrace(PTRACE_DETACH, self.tid, None, None)

    def is_in(self, library):
        """Is its next instruction one of a shared library? (x86-64)"""
        registers = (ctypes.c_uint64 * X86_64_REGISTERS)()
        if _LIBC.ptrace(PTRACE_GETREGS, self.tid, None, ctypes.addressof(registers)) != 0:
            raise PermissionError(ctypes.get_errno(), "ptrace")
        with open(f"/proc/{self.tid}/maps") as f:
            mapped = [line.split()[0].split("-") for line in f if library in line and " r-xp " in line]
        return any(int(first, 16) <= registers[RIP] < int(end, 16) for first, end in mapped)


def dropped(report):
    """{"task reason": packets} of all drops."""
    return {f"{t['name']} {reason}": n for t in report["tasks"] for reason, n in t["drops"].items() if n}


def task(report, name):
    return next(t for t in report["tasks"] if t["name"] == name)


def port(report, name):
    return next(p for p in report["ports"] if p["name"] == name)


def shell(*words):
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True).stdout
