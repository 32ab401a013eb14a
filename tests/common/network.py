# SPDX-License-Identifier: BSD-3-Clause
"""A network namespace for the process of the tests, which all programs that they start inherit."""

import contextlib
import ctypes
import os
import subprocess

# of <sched.h> and <sys/mount.h>
CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWNET = 0x00020000, 0x10000000, 0x40000000
MS_REC, MS_PRIVATE = 0x4000, 0x40000


def call(function, *arguments):
    """A function of the C library. Raises OSError if it does not return 0."""
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, function)(*arguments) != 0:
        raise OSError(ctypes.get_errno(), f"{function}: {os.strerror(ctypes.get_errno())}")


def enter():
    """Moves this process to a new network namespace. Whoever is not root becomes it in a user namespace, with a /run that
    DPDK can write to; there is no way back from there. Raises OSError."""
    if os.geteuid() == 0:
        call("unshare", CLONE_NEWNET)
        return
    maps = {"setgroups": "deny", "uid_map": f"0 {os.geteuid()} 1", "gid_map": f"0 {os.getegid()} 1"}
    call("unshare", CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET)
    for name, text in maps.items():
        with open(f"/proc/self/{name}", "w", encoding="ascii") as f:
            f.write(text)
    call("mount", None, b"/", None, MS_REC | MS_PRIVATE, None)
    call("mount", b"none", b"/run", b"tmpfs", 0, None)


@contextlib.contextmanager
def own():
    """For as long as the block lasts this process is in a network namespace of its own, as root. Raises OSError where none, or
    no veth pair in it, can be made."""
    root = os.geteuid() == 0
    with open("/proc/self/ns/net", "rb") as before:
        enter()
        try:
            made = subprocess.run(["ip", "link", "add", "probe0", "type", "veth", "peer", "name", "probe1"], check=False,
                                  capture_output=True, text=True)  # fmt: skip
            if made.returncode != 0:
                raise OSError(f"no veth pair can be made: {made.stderr.strip()}")
            yield
        finally:
            if root:
                call("setns", before.fileno(), CLONE_NEWNET)
