# SPDX-License-Identifier: BSD-3-Clause
"""The command line of vbng-lab vm."""

import argparse
import json
import os
import signal
import sys
import time

from ..lab import owned
from ..lab.options import between
from . import demo, image, qemu, seed, topology
from .guest import Vm, program

OK, FAILED = 0, 1
HUGEPAGES = {"2M": 2, "1G": 1024}  # MiB


def configure(p):
    """Its commands and options."""
    p.description = "Run vbng in a virtual machine made of Debian packages. See doc/vm.md."
    p.epilog = "Exit status: 0 all is well; of run, that of the guest's vbng; 1 it failed; 2 wrong usage, or something is missing"
    sub = p.add_subparsers(metavar="COMMAND", required=True)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--cache", metavar="DIR", help="where images are kept (default: $XDG_CACHE_HOME/vbng, else ~/.cache/vbng)")
    common.add_argument("--vbng", metavar="FILE",
                        help="program vbng for the guest (default: with KVM build/vbng; emulated, this tree's, built for any CPU)")  # fmt: skip
    common.add_argument("--accel", choices=("auto", "kvm", "tcg"), default="auto", help="how the guest's CPU is made (default: KVM where it works)")

    b = sub.add_parser("build", parents=[common], help="make the image, or bring it up to date")
    b.add_argument("--update", action="store_true", help="fetch the kernel again")

    r = sub.add_parser("run", parents=[common], help="boot a guest and run a configuration in it",
                       epilog="What comes after -- are more options of the guest's vbng: -- --subscribers /out/subscribers.csv")
    r.add_argument("config", metavar="CONFIG", help="configuration for the guest, which also gets its folder and pkt_templates beside that")
    r.add_argument("--port", action="append", default=[], metavar="vhost:PATH[,server] | tap:NAME | dgram:PATH",
                   help="add a port: the first is at 0000:00:10.0 in the guest, the next at 0000:00:11.0 ...; server: QEMU makes the socket. It is virtio-net "
                        f"with a queue, unless ,nic=MODEL ({', '.join(qemu.NICS)}) or ,queues=N follows; ,node=N puts it at a NUMA node (doc/vm.md)")
    r.add_argument("--driver", choices=qemu.DRIVERS, default=qemu.DRIVERS[0],
                   help="of the guest's kernel for the ports; vfio-pci brings an emulated IOMMU (default: %(default)s)")
    r.add_argument("--inventory", action="store_true", help="copy what the guest's kernel says of its machine to DIR/machine, for vbng-lab doctor --root")
    r.add_argument("--duration", type=between(0.001, 86400), metavar="S", help="seconds that vbng runs (default: until Ctrl-C)")
    r.add_argument("--topology", metavar="SxCxT", help="sockets x cores x threads of the guest (default: that of --pin, else 1x2x1)")
    r.add_argument("--pin", metavar="CPUS", help="CPUs of the host for the vCPUs, for example 2-5,12")
    r.add_argument("--memory", type=int, metavar="MIB", help="memory of the guest (default: what the configuration needs)")
    r.add_argument("--hugepage", choices=list(HUGEPAGES), help="size of the guest's huge pages (default: as the configuration needs)")
    r.add_argument("--backing", default="memfd", metavar="memfd|hugepages|DIR",
                   help="the guest's memory on the host: ordinary, huge pages, or a mounted hugetlbfs (default: memfd)")  # fmt: skip
    r.add_argument("--report", metavar="FILE", help="write the report of the guest's vbng here")
    r.add_argument("--output", metavar="DIR", help="keep report, samples, logs and console here")

    s = sub.add_parser("seed", help="write a seed disk for cloud-init, for a cloud image in a virtual machine of your own")
    s.add_argument("config", metavar="CONFIG", help="configuration for the guest, with the PCI addresses that its ports have there")
    s.add_argument("output", metavar="FILE", help="the disk image to write (ISO 9660)")
    s.add_argument("--topology", metavar="SxCxT", default="1x2x1", help="sockets x cores x threads of the guest (default: 1x2x1)")
    s.add_argument("--vbng", metavar="FILE", help="program vbng for the guest (default: this tree's, built for any CPU)")

    d = sub.add_parser("demo", parents=[common], help="the gateway in a guest behind Open vSwitch, the tester on the host")
    d.add_argument("--duration", type=between(0.001, 86400), default=60.0, metavar="S", help="seconds of traffic (default: 60)")
    d.add_argument("--rate", metavar="RATE", default="20kpps", help="rate of each of the four streams (default: 20kpps)")
    d.add_argument("--switch", choices=("ovs", "none"), default="ovs", help="switch between tester and guest (default: ovs)")
    d.add_argument("--output", metavar="DIR", help="keep reports, logs and console here")
    for command, does in ((b, _build), (r, _run), (s, _seed), (d, _demo)):
        command.set_defaults(does=does)
    r.set_defaults(more=())


def _vbng(args):
    accel, why = qemu.choose_accelerator(args.accel)
    return program(accel, args.vbng), accel, why


def _build(args):
    began = time.monotonic()
    vbng, accel, why = _vbng(args)
    img = image.prepare(vbng, args.cache, args.update)
    size = os.path.getsize(img.base) / 1e6
    print(f"{img.base}: {'made' if img.fresh else 'up to date'}, {size:.1f} MB, Linux {img.release}, vbng {vbng}; "
          f"{time.monotonic() - began:.1f} s; runs with {accel.upper()} ({why})")  # fmt: skip
    return OK


def _topology(args):
    """Return (topology of the guest, CPUs to pin its vCPUs to)."""
    cpus = topology.parse_cpus(args.pin) if args.pin else []
    if not args.topology:
        return topology.of_cpus(cpus) if cpus else (topology.Topology(1, 2, 1), [])
    shape = topology.parse(args.topology)
    if len(cpus) == shape.vcpus:
        for text in topology.differences(shape, cpus):
            print(f"vbng-lab vm: warning: {text}", file=sys.stderr)
    return shape, cpus


def _run(args):
    shape, cpus = _topology(args)
    spec = qemu.Spec(
        config=args.config, ports=[qemu.parse_port(p) for p in args.port], topology=shape, cpus=cpus,
        memory_mib=args.memory, hugepage_mib=HUGEPAGES.get(args.hugepage), backing=args.backing,
        arguments=tuple(args.more), seconds=args.duration, driver=args.driver, inventory=args.inventory)  # fmt: skip
    told = []
    for sig in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sig, lambda *_: told.append(1))
    with Vm(spec, folder=args.output, cache=args.cache, accel=args.accel, vbng=args.vbng) as vm:
        print(f"{shape.vcpus} vCPUs ({shape}), {vm.size.memory_mib} MiB with {vm.size.hugepages} huge pages of "
              f"{vm.size.hugepage_mib} MiB, {vm.accel.upper()} ({vm.why}), QEMU is process {vm.pid}")
        if vm.ready(lambda: told):
            print(f"vbng runs after {vm.booted:.1f} s" + (f", vCPUs on CPUs {cpus}" if cpus else ""), flush=True)
        result = vm.finish(lambda: told)
    if args.report and result.report is not None:
        with owned.output(args.report) as f:
            json.dump(result.report, f, indent=1)
            f.write("\n")
    if not result.ok:
        print(f"vbng-lab vm: {result.error}", file=sys.stderr)
        return result.status or FAILED
    print(result.log)
    return OK


def _seed(args):
    seed.make(args.config, args.output, str(topology.parse(args.topology)), args.vbng)
    print(f"{args.output}: attach it to the guest as a second disk")
    return OK


def _demo(args):
    outcome = demo.demonstrate(args.duration, args.rate, args.switch, folder=args.output, cache=args.cache,
                                  accel=args.accel, vbng=args.vbng)  # fmt: skip
    if outcome.guest is not None and outcome.guest.boot_seconds is not None:
        print(f"guest: {outcome.guest.accel.upper()} ({outcome.guest.why}), vbng ran after {outcome.guest.boot_seconds:.1f} s")
    if outcome.ok:
        print("\n".join(outcome.table(args.duration)))
        print("every packet is accounted for in all processes, and none is wrong")
        return OK
    print("\n".join(f"vbng-lab vm: {f}" for f in outcome.faults), file=sys.stderr)
    return FAILED


def run(args):
    """Do what the command says."""
    return args.does(args)
