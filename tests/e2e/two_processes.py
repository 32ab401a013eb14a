# SPDX-License-Identifier: BSD-3-Clause
"""The generator in one process, the gateway in another, shared memory between them."""

import os
import shutil
import signal
import time

from tests.common.limits import limit
from tests.e2e import process

PAIRS = (("bng-memif.cfg", "gen-4port.cfg"), ("bng-dual-memif.cfg", "gen-dual-4port.cfg"))
PORTS = ("cpe0", "cpe1", "core0", "core1")
IN_FLIGHT = 1024  # slots of a memif ring: what may be under way when the generator leaves
START_LIMIT = 30  # s
OPTIONS = ("--quiet", "--share-cpus", "--set", "idle=sleep")


def private_copy(ctx, names, socket):
    """The configurations with a socket name of their own, so that two runs do not meet."""
    tree = ctx.path("tree")
    for part in ("cfg", "pkt_templates"):
        shutil.copytree(os.path.join(process.TOP, part), os.path.join(tree, part))
    for name in names:
        path = os.path.join(tree, "cfg", name)
        with open(path) as f:
            text = f.read()
        with open(path, "w") as f:
            f.write(text.replace("socket=vbng,", f"socket={socket},"))
    return os.path.join(tree, "cfg")


def wait_for_socket(name, gateway):
    end = time.monotonic() + limit(START_LIMIT)
    while time.monotonic() < end and gateway.process.poll() is None:
        with open("/proc/net/unix") as f:
            if f"@{name}" in f.read():
                return True
        time.sleep(0.05)
    return False


def compare(gateway, generator):
    """What one process sent the other received; what the gateway did not forward, it counted. By the ledgers: a memif
    port forgets its own counters when its peer leaves."""
    ours, theirs = gateway["ledger"], generator["ledger"]
    wrong = []
    for what, sent, got in (
        ("generator to gateway", theirs["sent"], ours["received"]),
        ("gateway to generator", ours["sent"], theirs["received"]),
    ):
        if sent == 0:
            wrong.append(f"{what}: nothing was sent")
        if not 0 <= sent - got <= len(PORTS) * IN_FLIGHT:
            wrong.append(f"{what}: {sent} sent, {got} received")
    for report in (gateway, generator):
        for task in report["tasks"]:
            other = {k: n for k, n in task["drops"].items() if n and k != "link_full"}
            if other:
                wrong.append(f"{task['name']} dropped {other}")
    wrong += [f"{p['name']} received nothing" for p in generator["ports"] if p["rx_packets"] == 0]
    return wrong


def memif(ctx, names):
    socket = f"vbng-e2e-{os.getpid()}"
    cfg = private_copy(ctx, names, socket)
    its, ours = names
    gateway = process.Run(ctx, *OPTIONS, os.path.join(cfg, its), report=True)
    wrong, generator = [], None
    if wait_for_socket(socket, gateway):
        generator = process.run(ctx, *OPTIONS, "--duration", "2s", os.path.join(cfg, ours),
                                report=True, timeout=60)  # fmt: skip
    else:
        wrong.append("the gateway does not listen")
    if gateway.process.poll() is None:
        gateway.process.send_signal(signal.SIGINT)
    gateway.end(60)
    for name, r in (("gateway", gateway), ("generator", generator)):
        if r is not None and r.status != 0:
            wrong.append(f"{name}: exit status {r.status}: {r.err}")
    if wrong:
        return wrong
    return process.ledger_faults(gateway.report()) + process.ledger_faults(generator.report()) + compare(
        gateway.report(), generator.report()
    )


def tests():
    """(title, function of a context) of each case."""
    for names in PAIRS:
        if set(names) <= set(process.configurations()):
            yield f"memif: {names[1]} against {names[0]}", lambda ctx, names=names: memif(ctx, names)
