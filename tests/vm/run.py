#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Guests of tools/vm: one that fails, one with a tap interface, the gateway with its tester, and behind Open vSwitch.

usage: run.py BINARY [--filter NAME]
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(TOP, "tools"), os.path.join(TOP, "tests", "pcap"), os.path.join(TOP, "tests", "e2e")]

from packet_socket import PacketSocket  # noqa: E402
from tally import Tally  # noqa: E402
from vbnglab import ovs, vm_demo, vm_image, vm_qemu  # noqa: E402

VM = os.path.join(TOP, "tools", "vm")
SECONDS, RATE = 3, "5kpps"  # of each of four streams: it is emulated, and everything shares two CPUs
FRAMES = 20
LIMIT = 200  # s


def left_behind():
    """What tools/vm must not leave: its folders."""
    return [os.path.join(tempfile.gettempdir(), f) for f in os.listdir(tempfile.gettempdir())
            if f.startswith(("vbng-vm-", "vbng-demo-"))]  # fmt: skip


def missing():
    """Why no guest can run here, or None."""
    if shutil.which(vm_qemu.QEMU) is None:
        return "QEMU is not installed (Debian package qemu-system-x86)"
    if not os.path.exists(vm_image.BUSYBOX):
        return "busybox is not installed (Debian package busybox-static)"
    try:
        vm_image.image(vm_image.portable_vbng())
    except vm_image.KernelError as e:
        return str(e)
    return None


def image():
    """Made once, and found again; made again, without the kernel's package, when something has changed."""
    vbng, cache = vm_image.portable_vbng(), vm_image.default_cache()
    with tempfile.TemporaryDirectory(prefix="vbng-vm-test-") as other:
        kernel = os.path.basename(vm_image.image(vbng).kernel.rsplit("/", 1)[0])
        shutil.copytree(os.path.join(cache, kernel), os.path.join(other, kernel))
        first, second = (vm_image.image(vbng, other) for _ in range(2))
    return [f"made {i.fresh}, expected {e}" for i, e in ((first, True), (second, False)) if i.fresh != e]


def fails(folder):
    """The exit status of the guest's vbng and its words are those of tools/vm."""
    done = subprocess.run([VM, "run", os.path.join(TOP, "cfg", "bng-4port.cfg"), "--duration", "1", "--output", folder,
                           "--", "--control", "/nonexistent/socket"], capture_output=True, text=True, timeout=LIMIT)  # fmt: skip
    wrong = [f"exit status {done.returncode} instead of 3"] if done.returncode != 3 else []
    wrong += [f"stderr lacks '{w}'" for w in ("ended with status 3", "/nonexistent/socket", "console.log") if w not in done.stderr]
    return wrong + [done.stderr] if wrong else []


class Tap:
    """A tap interface, for as long as the block lasts."""

    name = f"vbt{os.getpid()}"

    def __enter__(self):
        made = subprocess.run(["ip", "tuntap", "add", self.name, "mode", "tap"], capture_output=True, text=True)
        self.why = made.stderr.strip() if made.returncode else None
        if self.why is None:
            with open(f"/proc/sys/net/ipv6/conf/{self.name}/disable_ipv6", "w") as f:
                f.write("1")  # no frames but ours
            subprocess.run(["ip", "link", "set", self.name, "up"], check=True)
        return self

    def __exit__(self, *_):
        if self.why is None:
            subprocess.run(["ip", "link", "del", self.name], check=True)

    def received(self):
        with open(f"/sys/class/net/{self.name}/statistics/rx_packets") as f:
            return int(f.read())


def wait_for(what, process):
    end = time.monotonic() + LIMIT
    while time.monotonic() < end and process.poll() is None:
        if what():
            return True
        time.sleep(0.1)
    return False


def tap(folder):
    """Both directions by the kernel's counters; vCPUs pinned; Ctrl-C ends it with a report."""
    cpus = sorted(os.sched_getaffinity(0))[:2]
    report = os.path.join(folder, "tap.json")
    with Tap() as link:
        if link.why:
            return f"no tap interface can be made here: {link.why}"
        command = [VM, "run", os.path.join(HERE, "tap.cfg"), "--port", f"tap:{link.name}", "--report", report, "--output", folder]
        if len(cpus) == 2:
            command += ["--topology", "1x2x1", "--pin", ",".join(map(str, cpus))]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        arrived = wait_for(lambda: link.received() >= 1000, process)
        sender = PacketSocket(link.name)
        for _ in range(FRAMES):
            sender.send(b"\xff" * 12 + b"\x88\xb5" + bytes(46))  # a local experiment's EtherType
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        out = process.communicate(timeout=LIMIT)[0]
        if not arrived or process.returncode != 0:
            return [f"exit status {process.returncode}, {link.received()} packets arrived", out]
        with open(report) as f:
            port = json.load(f)["ports"][0]
        wrong = []
        if (port["tx_packets"], port["rx_packets"], link.received()) != (1000, FRAMES, 1000):
            wrong.append(f"sent and received: guest {port}, kernel received {link.received()}")
        if len(cpus) == 2 and f"vCPUs on CPUs {cpus}" not in out:
            wrong.append(f"not pinned: {out}")
    return wrong


def gateway(binary, switch, folder):
    if switch == "ovs" and ovs.probe()[0] is None:
        return ovs.probe()[1]
    outcome = vm_demo.demonstrate(SECONDS, RATE, switch, tester_vbng=os.path.abspath(binary), folder=folder)
    if outcome.ok:
        print("\n".join("     " + line for line in outcome.table(SECONDS)))
    return outcome.faults


def main():
    parser = argparse.ArgumentParser(description="guests of tools/vm")
    parser.add_argument("binary")
    parser.add_argument("--filter", default="", help="run only tests whose name contains this")
    args = parser.parse_args()
    why = missing()
    if why:
        print(f"SKIP all: {why}\n0 passed, 0 failed, 1 skipped")
        return 77
    tally, before = Tally(), set(left_behind())
    for name, test in (
        ("the image is made once", lambda folder: image()),
        ("a guest whose vbng does not start", fails),
        ("a guest with a tap interface, pinned, until Ctrl-C", tap),
        ("the gateway in a guest, its tester on the host", lambda folder: gateway(args.binary, "none", folder)),
        ("the gateway in a guest behind Open vSwitch", lambda folder: gateway(args.binary, "ovs", folder)),
    ):  # fmt: skip
        if args.filter not in name:
            continue
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="vbng-test-vm-") as folder:
            wrong = test(folder)
        if isinstance(wrong, str):
            tally.skip(name, wrong)
            continue
        wrong += [f"left behind: {p}" for p in set(left_behind()) - before]
        tally.result(f"{name} ({time.monotonic() - began:.0f} s)", wrong)
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())
