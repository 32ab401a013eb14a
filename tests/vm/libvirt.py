# SPDX-License-Identifier: BSD-3-Clause
"""A libvirtd of a test's own: its files are in mounts that nobody else sees, and its processes, guests included, end with it."""

import contextlib
import os
import subprocess
import time

from tests.common.limits import limit

URI = "qemu:///system"
# Where it keeps its state. Each becomes a file system of its own.
FOLDERS = ("/etc/libvirt", "/var/lib/libvirt", "/var/log/libvirt", "/var/cache/libvirt", "/run/libvirt")
USER = "libvirt-qemu"  # for whom the driver asks at its start, whatever qemu.conf says; the package libvirt-daemon-system would make it
QEMU_CONF = """\
user = "root"
group = "root"
security_driver = "none"
cgroup_controllers = []
namespaces = []
remember_owner = 0
stdio_handler = "file"
hugetlbfs_mount = "/run/libvirt/huge"
"""
START = f"""
set -e
mkdir -p "$@"
for folder in "$@"; do mount -t tmpfs -o mode=755 tmpfs "$folder"; done
for file in passwd group; do
    grep -v '^{USER}:' /etc/$file >/run/libvirt/$file
    mount --bind /run/libvirt/$file /etc/$file
done
echo '{USER}:x:64055:64055::/:/usr/sbin/nologin' >>/etc/passwd
echo '{USER}:x:64055:' >>/etc/group
mkdir /run/libvirt/huge
mount -t hugetlbfs -o pagesize=2M none /run/libvirt/huge
printf %s "$QEMU_CONF" >/etc/libvirt/qemu.conf
printf 'auth_unix_ro = "none"\\nauth_unix_rw = "none"\\n' >/etc/libvirt/libvirtd.conf
libvirtd --config /etc/libvirt/libvirtd.conf --pid-file /run/libvirt/libvirtd.pid & # the shell stays, for the first process of a namespace has to
wait                                                                                # wait for those whose parent has ended, as QEMU's does
"""


class Libvirt:
    """Runs in a block. why: what libvirtd has said, where it does not answer; else None."""

    def __init__(self, folder):
        self._log = folder / "libvirtd.log"
        with open(self._log, "wb") as log:
            self._daemon = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--mount-proc",
                 "sh", "-c", START, "sh", *FOLDERS], stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                env=os.environ | {"QEMU_CONF": QEMU_CONF})  # fmt: skip
        self.why = None if self._answers() else self._log.read_text(errors="replace")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._daemon.kill()
        self._daemon.wait()

    def _answers(self):
        end = time.monotonic() + limit(30)
        while self._daemon.poll() is None and time.monotonic() < end:
            with contextlib.suppress(OSError):
                if subprocess.run(self.command("version"), capture_output=True).returncode == 0:
                    return True
            time.sleep(0.2)
        return False

    def command(self, *words):
        """Words of a command of virsh, in the mounts of its libvirtd. Raises OSError where that has no process yet."""
        with open(f"/proc/{self._daemon.pid}/task/{self._daemon.pid}/children", encoding="ascii") as f:
            child = f.read().split()
        if not child:
            raise OSError("libvirtd has not started")
        return ["nsenter", f"--target={child[0]}", "--mount", "virsh", "--connect", URI, "--quiet", *map(str, words)]

    def virsh(self, *words):
        """Run virsh, which must succeed. Returns what it printed."""
        done = subprocess.run(self.command(*words), capture_output=True, text=True, timeout=limit(60))
        assert done.returncode == 0, f"virsh {' '.join(map(str, words))}: {done.stderr}{self._log.read_text(errors='replace')[-2000:]}"
        return done.stdout
