# SPDX-License-Identifier: BSD-3-Clause
"""Every configuration whose ports need no hardware runs here, whatever machine its layout is for."""

import json

from tests.e2e import process

SECONDS = "1s"


def in_memory(name):
    found = process.devices(name)
    return found and all(d.startswith(("wire:", "net_null")) for d in found.values())


def wires(name):
    """Pairs of ports at the two ends of a wire."""
    ends = {}
    for port, device in process.devices(name).items():
        if device.startswith("wire:"):
            ends.setdefault(device, []).append(port)
    return [tuple(pair) for pair in ends.values()]


def wire_faults(name, report, written):
    """What one end sent the other end received, or it waits on the wire. written: ports that tasks send to."""
    ports = {p["name"]: p for p in report["ports"]}
    wrong = []
    for a, b in wires(name):
        for sender, receiver in ((a, b), (b, a)):
            sent, got = ports[sender]["tx_packets"], ports[receiver]["rx_packets"]
            waiting = ports[receiver]["waiting"]
            if sent != got + waiting:
                wrong.append(f"{sender} sent {sent} packets, {receiver} received {got}, {waiting} wait")
            if sent == 0 and sender in written:
                wrong.append(f"nothing went from {sender} to {receiver}")
    return wrong


def written_ports(ctx, name):
    plan = json.loads(process.run(ctx, "--plan=json", f"cfg/{name}").out)
    return {p["port"] for p in plan["ports"] if p["tx_queues"] > 0}


def run_layout(ctx, name, *options):
    r = process.run(ctx, "--quiet", "--share-cpus", "--duration", SECONDS, *options, f"cfg/{name}", report=True, timeout=60)
    if r.status != 0:
        return [f"exit status {r.status}: {r.err or r.out}"]
    report = r.report()
    wrong = process.ledger_faults(report) + wire_faults(name, report, written_ports(ctx, name))
    if "did not come back" in r.err:
        wrong.append(r.err)
    if process.runtime_folder_left(r.pid):
        wrong.append(f"left behind: {process.runtime_folder_left(r.pid)}")
    return wrong


def tests():
    """(title, function of a context) of each case."""
    for name in process.configurations():
        if in_memory(name):
            yield f"both directions forward, shared CPUs: {name}", lambda ctx, name=name: run_layout(ctx, name)
    yield "each worker shares a core with something else", lambda ctx: run_layout(
        ctx, "bng-4port-pipeline.cfg", "--layout", "cfg/layouts/bng-4port-pipeline-shared.cfg")
