# SPDX-License-Identifier: BSD-3-Clause
"""A CPE that is the kernel's own stack: it finds its prefix and the gateway by router advertisements alone, and pings the core. What it
is told by ICMPv6. Its TCP in a PPPoE session."""

import os
import shutil
import subprocess
import sys

from tests.common.limits import limit
from tests.e2e.veth import namespace


def in_namespaces(ctx, module, *how):
    command = namespace()
    if command is None:
        return "no network namespace with veth pairs can be made here"
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        return "there is no /dev/net/tun here"
    done = subprocess.run([*command, sys.executable, "-m", module, ctx.binary, ctx.folder, *how],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=limit(100), check=False)  # fmt: skip
    return [] if done.returncode == 0 else [f"exit status {done.returncode}", *done.stdout.splitlines()]


def kernel_as_cpe(ctx):
    return in_namespaces(ctx, "tests.e2e.slaac_inside")


def kernel_is_told(ctx):
    return in_namespaces(ctx, "tests.e2e.icmp6_inside")


def kernel_in_a_session(ctx):
    return in_namespaces(ctx, "tests.e2e.pppoe_inside")


def tcp_through_a_shaper(ctx):
    return in_namespaces(ctx, "tests.e2e.tcp_inside")


def iperf3_through_a_shaper(ctx):
    if shutil.which("iperf3") is None:
        return "iperf3 is absent (Debian package iperf3)"
    return in_namespaces(ctx, "tests.e2e.tcp_inside", "iperf3")


def tests():
    """(title, function of a context) of each case."""
    yield "the kernel as a CPE gets its prefix by router advertisements", kernel_as_cpe
    yield "TCP of both families fills a subscriber's rate", tcp_through_a_shaper
    yield "iperf3 of both families fills a subscriber's rate", iperf3_through_a_shaper
    yield "the kernel is told by ICMPv6, as a CPE and in the core", kernel_is_told
    yield "the kernel's TCP in a PPPoE session that a control plane has put", kernel_in_a_session
