# SPDX-License-Identifier: BSD-3-Clause
"""One run of vbng in a virtual machine: boot, wait until it forwards, stop, results.

    with Vm(Spec(config="cfg/bng-vm.cfg", ports=[Port("vhost", "/tmp/cpe0.sock")]), cache=None) as vm:
        vm.ready()
        ...
        result = vm.stop()

As with vbnglab.run, a guest that dies is a VmResult with ok = False, why, and the end of its console.
"""

import json
import os
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass, field

from ..lab import owned, run
from . import image, qemu
from .qmp import Qmp, QmpError, pin_vcpus

BOOT_SECONDS = {"kvm": 60.0, "tcg": 120.0}  # time limits from the start of QEMU to a vbng that runs; 5 s and 10 s on a quiet machine
STOP_SECONDS = 60.0  # time limit from stop() to the end of QEMU
TAIL = 25  # lines


@dataclass(frozen=True)
class VmResult:
    """Outcome of a guest."""

    ok: bool  # vbng ended with status 0, its ledger balances, and there is a report
    status: int | None  # exit status of the guest's vbng; None: it did not get so far
    error: str  # why it is not ok, with the end of vbng's log or of the console; "" when ok
    report: dict | None  # the report of the guest's vbng
    accel: str  # "kvm" or "tcg"
    why: str  # why this accelerator
    boot_seconds: float | None  # seconds until vbng ran
    wall: float
    log: str  # what the guest's vbng has printed
    pinned: dict = field(default_factory=dict)  # vCPU: CPU of the host
    command: list = field(default_factory=list)


def program(accel, vbng=None):
    """The given vbng, or one for the CPU that a guest has. Raises image.ImageError."""
    return vbng or (run.binary() if accel == "kvm" else image.portable_vbng())


def _tail(text):
    return "\n".join(text.replace("\r", "").strip().splitlines()[-TAIL:])


class Vm:
    """A guest that boots at once. As a context manager it never outlives its block.

    folder: where results go (report.json, sample.csv, vbng.log, dmesg.log, console.log, qemu.log); None: a
    temporary one, which is removed at the end. vbng: for the guest; None: one that suits its CPU. within: words before QEMU's command,
    such as those that enter the network namespace of its tap interfaces.
    Raises ImageError, SpecError or owned.Unsafe before anything is started."""

    def __init__(self, spec, folder=None, cache=None, accel="auto", vbng=None, within=()):
        spec.check()
        self.spec = spec
        self.accel, self.why = qemu.choose_accelerator(accel)
        if shutil.which(qemu.QEMU) is None:
            raise qemu.SpecError(f"{qemu.QEMU} is not installed; install the package qemu-system-x86")
        vbng = program(self.accel, vbng)
        self.size = qemu.sizes(spec, vbng)
        prepared = image.prepare(vbng, cache)
        self._run = tempfile.mkdtemp(prefix="vbng-vm-")  # a short path, as a socket is in it
        self.folder = folder or os.path.join(self._run, "out")
        owned.folder(self.folder)
        for name in ("status", "stop", "report.json", "sample.csv", "vbng.log", "console.log"):
            if os.path.exists(os.path.join(self.folder, name)):
                os.unlink(os.path.join(self.folder, name))
        initrd = os.path.join(self._run, "initrd")
        image.write_initrd(prepared, vbng, qemu.guest_script(spec, self.size), initrd)
        self.command = qemu.command(spec, self.size, prepared, initrd, self.accel, self._shares(), self._path("console.log"),
                                       os.path.join(self._run, "qmp"))  # fmt: skip
        self.booted = None  # seconds from QEMU's start until vbng ran
        self._failure, self._pinned, self._result = "", {}, None
        self._began = time.monotonic()
        with open(self._path("qemu.log"), "wb") as log:
            # setpriv has QEMU end with this process, whatever ends it
            self._qemu = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *within, *self.command], stdin=subprocess.DEVNULL,
                                          stdout=log, stderr=subprocess.STDOUT, process_group=0)  # fmt: skip

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._end()

    def _path(self, name):
        return os.path.join(self.folder, name)

    def _shares(self):
        config = os.path.dirname(os.path.abspath(self.spec.config))
        shares = {"out": self.folder, "config": config, "templates": os.path.join(os.path.dirname(config), "pkt_templates")}
        return {tag: path for tag, path in shares.items() if os.path.isdir(path)}

    def _pin(self):
        """Pin the vCPUs as soon as they exist, which is when all vhost-user ports have a peer."""
        path = os.path.join(self._run, "qmp")
        if not self.spec.cpus or self._pinned or not os.path.exists(path):
            return
        try:
            qmp = Qmp(path)
            try:
                self._pinned = pin_vcpus(qmp, self.spec.cpus)
            finally:
                qmp.close()
        except (QmpError, OSError) as e:
            self._failure = f"the vCPUs cannot be pinned: {e}"

    @property
    def pid(self):
        """Process id of QEMU."""
        return self._qemu.pid

    def alive(self):
        """Tell whether the guest runs."""
        return self._qemu.poll() is None

    def forwarding(self):
        """Tell whether the guest's vbng runs: its first sample comes when all ports are up."""
        self._pin()
        up = os.path.exists(self._path("sample.csv"))
        if up and self.booted is None:
            self.booted = time.monotonic() - self._began
        return up

    def ready(self, told=lambda: False):
        """Wait until vbng runs. told: a function that ends the wait when it returns true. Returns False if vbng does not run; the
        VmResult says why."""
        while not self._failure and not told() and self.alive() and not self.forwarding():
            self._late()
            time.sleep(0.05)
        return self.booted is not None and not self._failure and self.alive()

    def _late(self):
        limit = BOOT_SECONDS[self.accel]
        if self.booted is None and time.monotonic() - self._began > limit:
            self._failure = (f"vbng did not start within {limit:.0f} s; until every vhost-user port has a peer, "
                             "QEMU does not even boot")  # fmt: skip

    def finish(self, told=lambda: False):
        """Wait until the guest ends after its duration, or told() is true. Returns the VmResult."""
        limit = None
        if self.spec.seconds is not None:
            limit = BOOT_SECONDS[self.accel] + self.spec.seconds + STOP_SECONDS
        self._wait(limit, told)
        return self.stop()

    def stop(self):
        """Tell vbng to end, and wait for the guest. Returns the VmResult."""
        if self._result is None and self.alive() and not self._failure:
            with open(self._path("stop"), "w", encoding="ascii"):
                pass
            self._wait(STOP_SECONDS)
        return self._end()

    def _wait(self, limit, told=lambda: False):
        """Wait until the guest ends, or fails to boot or to end in time."""
        begin = time.monotonic()
        while not told() and not self._failure and self.alive():
            if limit is not None and time.monotonic() - begin > limit:
                self._failure = f"the guest did not end within {limit:.0f} s"
            if not self.forwarding():
                self._late()
            time.sleep(0.05)

    def _end(self):
        if self._result is None:
            run.end(self._qemu)
            self._result = self._read_result()
            shutil.rmtree(self._run, ignore_errors=True)
        return self._result

    def _read_result(self):
        text = run.text_of(self._path("status")).strip()
        status = int(text) if text.isdigit() else None
        try:
            report = json.loads(run.text_of(self._path("report.json")))
        except ValueError:
            report = None
        why = self._failure
        if not why and status is None:
            why = f"QEMU ended with status {self._qemu.returncode} before vbng did"
        if not why and status != 0:
            why = f"the guest's vbng ended with status {status}"
        if not why and report is None:
            why = "the guest wrote no report"
        error = "\n".join(s for s in (why, *self._last_words()) if s) if why else ""
        return VmResult(not why, status, error, report, self.accel, self.why, self.booted,
                        time.monotonic() - self._began, run.text_of(self._path("vbng.log")), self._pinned, self.command)  # fmt: skip

    def _last_words(self):
        for name in ("vbng.log", "console.log", "qemu.log"):
            text = _tail(run.text_of(self._path(name)))
            if text:
                yield f"--- end of {name}:\n{text}"
