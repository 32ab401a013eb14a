#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Run a command as a systemd unit would, without systemd: what of its sandbox can be had by a program that is root.

usage: confine.py UNIT FOLDER COMMAND...

An ordinary user without any capability, no new privileges, no memory that is written and executed, a file system that can be
read only except for FOLDER, and the very filter of system calls: SystemCallFilter, SystemCallErrorNumber.
"""

import ctypes
import errno
import os
import re
import subprocess
import sys

PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN = 65, 1  # Linux 6.3
ALLOW, EPERM = 0x7FFF0000, 0x00050000 | errno.EPERM  # libseccomp's SCMP_ACT_ALLOW and SCMP_ACT_ERRNO()
CONFINED = "VBNG_CONFINED"


def keys(unit):
    """{key: [values]} of a unit."""
    out = {}
    with open(unit, encoding="utf-8") as f:
        for key, value in re.findall(r"^(\w+)=(.*)$", f.read(), re.M):
            out.setdefault(key, []).append(value)
    return out


def system_calls(words):
    """Names of all system calls that these names and groups (@NAME) are."""
    out = set()
    for word in words:
        if not word.startswith("@"):
            out.add(word)
            continue
        said = subprocess.run(["systemd-analyze", "syscall-filter", word], capture_output=True, text=True, check=True).stdout
        out |= system_calls(w for w in (line.strip() for line in said.splitlines()[1:]) if w and not w.startswith("#"))
    return out


def allowed(unit):
    """What SystemCallFilter leaves; a value that begins with ~ takes away."""
    out = set()
    for value in keys(unit)["SystemCallFilter"]:
        taken = value.startswith("~")
        names = system_calls(value.lstrip("~").split())
        out = out - names if taken else out | names
    return out


def filter_calls(names):
    seccomp = ctypes.CDLL("libseccomp.so.2", use_errno=True)
    seccomp.seccomp_init.restype = ctypes.c_void_p
    context = ctypes.c_void_p(seccomp.seccomp_init(EPERM))
    for name in names:
        number = seccomp.seccomp_syscall_resolve_name(name.encode())
        if number >= 0 and seccomp.seccomp_rule_add(context, ALLOW, number, 0) != 0:
            sys.exit(f"confine: no rule for {name}")
    if seccomp.seccomp_load(context) != 0:
        sys.exit("confine: the kernel takes no filter")


def main():
    unit, folder, *command = sys.argv[1:]
    if not os.environ.get(CONFINED):
        os.environ[CONFINED] = "1"
        script = 'mount --bind "$0" "$0" && mount -o remount,bind,ro / && exec "$@"'
        drop = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"]
        os.execvp("unshare", ["unshare", "-m", "sh", "-c", script, folder, *drop, sys.executable, *sys.argv])
    names = allowed(unit)
    if ctypes.CDLL(None).prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0) != 0:
        print("confine: this kernel cannot refuse memory that is written and executed", file=sys.stderr)
    filter_calls(names)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
