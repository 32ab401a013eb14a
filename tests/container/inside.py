# SPDX-License-Identifier: BSD-3-Clause
"""The gateway in one network namespace, its tester in another, by each kind of device that a container can have.

usage: inside.py BINARY KIND FOLDER
"""

import contextlib
import os
import re
import shutil
import signal
import sys
import time
from dataclasses import dataclass

from tests.container.namespaces import Namespace, answer, cable
from vbnglab.lab import chain
from vbnglab.lab.run import port as port_of

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))

SECONDS, RATE = 1.5, "2kpps"  # of each of four streams: everything shares two CPUs
LACKS = r"(xdp_umem_configure|xsk_configure)\(\): .*"  # of the driver, where AF_XDP is not there or not allowed


@dataclass(frozen=True)
class Kind:
    """Configurations, and the devices in them: {i} is the port's number, {p} its name, {d} the
    folder of sockets; None: as the file has them."""

    bng: str
    gen: str
    gateway: str | None = None
    tester: str | None = None
    veth: bool = False  # the ports are the ends of veth pairs
    first: str = "tester"  # who makes the sockets
    blocks: bool = False  # the first one waits for the other before it is ready
    forgets: bool = False  # the device forgets its counters when its peer leaves
    overflows: bool = False  # the gateway stands still while the tester sends more than a ring holds


VHOST, VETH = ("bng-virtio-user.cfg", "gen-vhost.cfg"), ("bng-veth.cfg", "gen-veth.cfg")
MEMIF = "net_memif{{i}},role={},id={{i}},socket={{d}}/memif.sock,socket-abstract=no"
KINDS = {
    "virtio-user to vhost": Kind(*VHOST),
    "virtio-user as server to vhost": Kind(*VHOST, "net_virtio_user{i},path={p}.sock,server=1,queue_size=1024",
                                           "net_vhost{i},iface={p}.sock,client=1", first="gateway", blocks=True),
    "memif": Kind(*VHOST, MEMIF.format("server"), MEMIF.format("client"), first="gateway", forgets=True),
    "af_packet on veth": Kind(*VETH, veth=True),
    "af_packet that overflows": Kind(*VETH, "net_af_packet{i},iface={p},framecnt=256", veth=True, overflows=True),
    "af_xdp on veth": Kind(*VHOST, "net_af_xdp{i},iface={p}", "net_af_xdp{i},iface=t_{p}", veth=True),
}  # fmt: skip


def configuration(name, folder, device, prefix):
    """Path of a configuration in a copy of cfg/, its four devices replaced where there is another one."""
    path = os.path.join(folder, "cfg", name)
    with open(path, encoding="utf-8") as f:
        text = f.read()
    for i, port in enumerate(chain.PORTS if device else ()):
        text, n = re.subn(rf'(name = "{prefix}{port}";\s+device = ")[^"]*"', rf'\g<1>{device.format(i=i, p=port, d=folder)}"', text)
        assert n == 1, f"{name}: port {prefix}{port}"
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def totals(tester, gateway):
    """The account of a device that forgets its counters: by the ledgers, which then stand on those of the tasks."""
    a, b = tester["ledger"], gateway["ledger"]
    return [f"{what}: {sent} sent, {received} received" for what, sent, received in (
        ("tester to gateway", a["sent"], b["received"]), ("gateway to tester", b["sent"], a["received"])) if sent != received]  # fmt: skip


@contextlib.contextmanager
def still(running):
    """Stop a process for as long as the context lasts."""
    os.kill(running.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(running.pid, signal.SIGCONT)


def overflow_faults(gateway):
    """The ports of the gateway that do not say how many packets found no room in their rings."""
    missed = {port: port_of(gateway, port)["rx_missed"] for port in chain.PORTS}
    return [f"port {port}: nothing in rx_missed" for port, n in missed.items() if n == 0]


def judge(kind, tester, gateway):
    faults = [f"{name}: {r.error}" for name, r in (("tester", tester), ("gateway", gateway)) if not r.ok]
    if faults:
        return faults
    check = chain.account if not kind.forgets else lambda t, g, _: totals(t, g)
    faults = overflow_faults(gateway.report) if kind.overflows else []
    return faults + check(tester.report, gateway.report, None) + chain.stream_faults(chain.streams(tester.report))


def run(binary, name, folder):
    """Two namespaces, a process in each, a folder for their sockets. Returns what is wrong, or why it is skipped."""
    kind = KINDS[name]
    for part in ("cfg", "pkt_templates"):
        shutil.copytree(os.path.join(TOP, part), os.path.join(folder, part))
    with Namespace() as inside, Namespace() as outside:
        for port in chain.PORTS if kind.veth else ():
            cable(inside, port, outside, f"t_{port}")
        start = {
            "gateway": lambda: chain.Controlled("gateway", configuration(kind.bng, folder, kind.gateway, ""), folder,
                                                vbng=inside.program(binary, f"{folder}/vbng-gateway")),
            "tester": lambda: chain.Tester(configuration(kind.gen, folder, kind.tester, "t_"), folder, RATE,
                                           vbng=outside.program(binary, f"{folder}/vbng-tester")),
        }  # fmt: skip
        other = "gateway" if kind.first == "tester" else "tester"
        with start[kind.first]() as first:
            if not kind.blocks:
                first.ready()
            with start[other]() as second:
                both = {kind.first: first, other: second}
                if first.ready() and second.ready():
                    time.sleep(0.5)  # a memif client connects when it likes
                    both["tester"].send(SECONDS, still(both["gateway"].running) if kind.overflows else contextlib.nullcontext())
                tester = both["tester"].running.stop()
                gateway = both["gateway"].running.stop()
    lacks = re.search(LACKS, tester.error + gateway.error)
    if lacks:
        return f"the kernel refuses AF_XDP here: {lacks[0]}"
    wrong = judge(kind, tester, gateway)
    if not wrong:
        print("\n".join("     " + line for line in chain.table(tester.report, gateway.report, None, SECONDS)))
    return wrong


if __name__ == "__main__":
    sys.exit(answer(run, *sys.argv[1:]))
