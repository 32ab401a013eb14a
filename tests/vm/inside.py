# SPDX-License-Identifier: BSD-3-Clause
"""Commands in an emulated guest whose files are those of this machine, but whose kernel is Debian's, with modules that this machine's may lack.

What is written in the guest is gone with it, but for its folder /out, which is one of this machine.
"""

import os
import shlex
import subprocess
import time
from dataclasses import dataclass

from tests.common.limits import limit
from vbnglab.vm import image, qemu

BASE = ("virtio_pci", "9pnet_virtio", "9p", "overlay")
SECONDS = 400  # for a boot and a command
INIT = r"""#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /host /rw /new
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc
mount -t devtmpfs dev /dev
while read -r module; do
    insmod "/modules/$module" || echo "$module did not load"
done </modules/order
mount -t 9p -o trans=virtio,version=9p2000.L,msize=524288,cache=loose,ro host /host
mount -t tmpfs -o size=1g rw /rw
mkdir -p /rw/u /rw/w
mount -t overlay -o lowerdir=/host,upperdir=/rw/u,workdir=/rw/w overlay /new
mount -t proc proc /new/proc
mount -t sysfs sys /new/sys
mount -t devtmpfs dev /new/dev
mkdir -p /new/dev/shm /new/dev/pts /new/out
mount -t tmpfs shm /new/dev/shm
mount -t devpts pts /new/dev/pts
mount -t tmpfs run /new/run
mkdir -p /new/run/dpdk
mount -t 9p -o trans=virtio,version=9p2000.L,msize=524288 out /new/out
ip link set lo up
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root chroot /new /bin/sh /out/run.sh >/new/out/log 2>&1
echo $? >/new/out/status
sync
poweroff -f
"""
SCRIPTS = """
n=1
while :; do
    until [ -e /out/$n.sh ]; do sleep 0.1; done
    sh /out/$n.sh >/out/$n.log 2>&1
    echo $? >/out/$n.ended
    mv /out/$n.ended /out/$n.status
    n=$((n + 1))
done
"""


@dataclass(frozen=True)
class Outcome:
    """What became of a command. status: None where the guest ended before it did."""

    status: int | None
    output: str
    console: str


def _text(path):
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _initrd(path, kernel):
    with open(path, "wb") as f:
        archive = image.Cpio(f)
        archive.console()
        archive.copy(image.BUSYBOX, "bin/busybox")
        archive.file("init", INIT.encode(), 0o755)
        for name in os.listdir(f"{kernel}/modules"):
            archive.copy(f"{kernel}/modules/{name}", f"modules/{name}")
        archive.end()


def _command(folder, modules, script, devices, memory_mib, append):
    """QEMU's, of a guest that runs a script. Raises image.KernelError."""
    kernel = image.kernel((*BASE, *modules))
    (folder / "run.sh").write_text(script, encoding="utf-8")
    initrd, console = folder / "initrd", folder / "console"
    _initrd(initrd, kernel)
    shares = (("host", "/", ",readonly=on,multidevs=remap"), ("out", folder, ""))
    return [qemu.QEMU, "-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", qemu.CPU, "-smp", "2", "-m", str(memory_mib), "-nodefaults",
            "-no-user-config", "-display", "none", "-no-reboot", "-kernel", f"{kernel}/vmlinuz", "-initrd", str(initrd), "-append",
            f"console=ttyS0 panic=-1 quiet mitigations=off no_timer_check {append}", "-serial", f"file:{console}",
            *(word for tag, path, more in shares for word in ("-virtfs", f"local,path={path},mount_tag={tag},security_model=none{more}")),
            *devices]  # fmt: skip


def run(folder, modules, script, devices=(), memory_mib=4096, append="", seconds=SECONDS):
    """Run a shell script in a guest with these modules, loaded in this order, and options of QEMU more; folder: an empty one, the guest's /out. append:
    words of the kernel's command line. seconds: after which the guest is ended. Raises image.KernelError."""
    command = _command(folder, modules, script, devices, memory_mib, append)
    done = subprocess.run(["timeout", str(limit(seconds)), "setpriv", "--pdeathsig", "KILL", *command], capture_output=True, text=True)
    status = _text(folder / "status").strip()
    return Outcome(int(status) if status else None, _text(folder / "log"), f"{shlex.join(command)}\n{done.stderr}{_text(folder / 'console')}")


class Guest:
    """A guest that does one shell script after another, as run() does one, until stop()."""

    def __init__(self, folder, modules, devices=(), memory_mib=1024, append=""):
        self.folder, self.n = folder, 0
        self.command = _command(folder, modules, SCRIPTS, devices, memory_mib, append)
        with open(folder / "qemu.log", "wb") as log:
            self.qemu = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *self.command], stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def attempt(self, script, seconds=SECONDS):
        """(exit status, what it has printed) of a script; the first one waits for the boot."""
        self.n += 1
        path = self.folder / f"{self.n}.sh"
        path.with_suffix(".new").write_text(script, encoding="utf-8")
        path.with_suffix(".new").rename(path)
        end = time.monotonic() + limit(seconds)
        while not (status := _text(path.with_suffix(".status")).strip()):
            assert self.qemu.poll() is None and time.monotonic() < end, f"{script}\n{_text(path.with_suffix('.log'))}\n{self.text()}"
            time.sleep(0.05)
        return int(status), _text(path.with_suffix(".log"))

    def do(self, script, seconds=SECONDS):
        """What a script has printed, which must succeed."""
        status, said = self.attempt(script, seconds)
        assert status == 0, f"{script}\nexit status {status}: {said}"
        return said

    def text(self):
        """The ends of what QEMU and the kernel have said."""
        return "\n".join(_text(self.folder / name)[-2000:] for name in ("qemu.log", "console", "log"))

    def stop(self):
        self.qemu.kill()
        self.qemu.wait()
