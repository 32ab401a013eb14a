# SPDX-License-Identifier: BSD-3-Clause
"""Network namespaces and interfaces of the kernel, for commands and tests that carry packets on one machine."""

import array
import ctypes
import fcntl
import os
import socket
import struct
import subprocess

from .failure import Failure

# of <sched.h>, <sys/mount.h>, <linux/sockios.h>, <linux/ethtool.h>, <linux/if_tun.h>
CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWNET = 0x00020000, 0x10000000, 0x40000000
MS_REC, MS_PRIVATE = 0x4000, 0x40000
SIOCETHTOOL = 0x8946
OFFLOADS = (0x17, 0x1F, 0x24)  # ETHTOOL_STXCSUM, ETHTOOL_STSO, ETHTOOL_SGSO
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000


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


def sysctl(name, value):
    """Set a parameter of the kernel in this network namespace. name: as ipv4/tcp_ecn, below /proc/sys/net. Raises OSError."""
    with open(f"/proc/sys/net/{name}", "w", encoding="ascii") as f:
        f.write(str(value))


def silence():
    """Have the kernel send nothing by itself in this network namespace: no IPv6."""
    for scope in ("all", "default"):
        try:
            sysctl(f"ipv6/conf/{scope}/disable_ipv6", 1)
        except FileNotFoundError:
            pass  # a kernel without IPv6


def ip(*words):
    """Run ip(8) in this network namespace. Raises Failure."""
    done = subprocess.run(["ip", *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failure(f"ip {' '.join(map(str, words))}: {done.stderr.strip()}")


def plain(interface):
    """Have an interface send frames as they are on a line: with checksums, and no larger than its MTU. Raises OSError."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        for command in OFFLOADS:
            value = array.array("I", [command, 0])
            fcntl.ioctl(s, SIOCETHTOOL, struct.pack("16sP", interface.encode(), value.buffer_info()[0]))


def tun(name):
    """A file descriptor whose reads and writes are IP packets of an interface of this name. Raises OSError."""
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    try:
        fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
    except OSError:
        os.close(fd)
        raise
    return fd
