# SPDX-License-Identifier: BSD-3-Clause
"""Network namespaces that end with their test: each is held by a process, and interfaces end with their namespace."""

import os
import shlex
import subprocess
import sys

import pytest

from tests.common.limits import limit

MARK = "VBNG_IN_NAMESPACE"
SKIP = 77  # exit status of a case that cannot run here, after saying why
# whoever is not root becomes it in a namespace, and has a /run there that DPDK can write to
USER = ["unshare", "-Urnm", "sh", "-c", 'mount -t tmpfs none /run && exec "$@"', "sh"]


def enter():
    """Run this program again in a network namespace of its own, as root in it. Returns why that cannot be, or None there."""
    if os.environ.get(MARK):
        return None
    for command in (["unshare", "-n"], USER):
        made = subprocess.run([*command, "ip", "link", "add", "probe0", "type", "veth", "peer", "name", "probe1"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        if made.returncode == 0:
            os.environ[MARK] = "1"
            os.execvp(command[0], [*command, sys.executable, *sys.argv])
    return "no network namespace with veth pairs can be made here"


def judge_inside(module, *arguments, seconds=100):
    """Run a module's answer() apart, and judge what it said. seconds: its time limit on a quiet machine."""
    __tracebackhide__ = True
    done = subprocess.run([sys.executable, "-m", module, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", timeout=limit(seconds), check=False)  # fmt: skip
    if done.returncode == SKIP:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stdout
    print(done.stdout)


def answer(case, *arguments):
    """In a namespace of its own, what a case returns: the exit status that judge_inside() understands."""
    found = enter() or case(*arguments)
    print(found if isinstance(found, str) else "\n".join(found), flush=True)
    return SKIP if isinstance(found, str) else 1 if found else 0


class Namespace:
    """A network namespace, for as long as the block lasts."""

    def __enter__(self):
        # held by a process that says when it is in it, and ends with us
        self._holder = subprocess.Popen(["unshare", "-n", "setpriv", "--pdeathsig", "KILL", "sh", "-c", "echo; exec sleep 1000"],
                                        stdout=subprocess.PIPE)  # fmt: skip
        self._holder.stdout.readline()
        self.pid = self._holder.pid
        self.run("sh", "-c", "echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6; echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6")
        return self

    def __exit__(self, *_):
        self._holder.kill()
        self._holder.wait()
        self._holder.stdout.close()

    def _words(self, *command):
        return ["nsenter", "-t", str(self.pid), "-n", *command]

    def run(self, *command):
        """Run a command in it."""
        subprocess.run(self._words(*command), check=True, stdout=subprocess.DEVNULL)

    def program(self, binary, path):
        """A program at this path that is binary, in the namespace."""
        with open(path, "w", encoding="utf-8") as f:
            f.write(f'#!/bin/sh\nexec {shlex.join(self._words(binary))} "$@"\n')
        os.chmod(path, 0o755)
        return path


def cable(a, name_a, b, name_b):
    """A veth pair between two namespaces."""
    subprocess.run(["ip", "link", "add", name_a, "mtu", "2000", "netns", str(a.pid), "type", "veth",
                    "peer", "name", name_b, "mtu", "2000", "netns", str(b.pid)], check=True)  # fmt: skip
    for namespace, name in ((a, name_a), (b, name_b)):
        namespace.run("ip", "link", "set", name, "up")
