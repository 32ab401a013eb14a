# SPDX-License-Identifier: BSD-3-Clause
"""The command line of tools/vm."""

import argparse
import json
import os
import signal
import sys
import time

from . import run, vm_demo, vm_image, vm_qemu, vm_seed, vm_topology
from .vm import Vm

OK, FAILED, USAGE = 0, 1, 2
HUGEPAGES = {"2M": 2, "1G": 1024}  # MiB


def _seconds(text):
    value = float(text)
    if not 0 < value <= 86400:
        raise argparse.ArgumentTypeError("seconds, up to a day")
    return value


def _parser():
    p = argparse.ArgumentParser(
        prog="tools/vm", description="Run vbng in a virtual machine made of Debian packages. See doc/vm.md.",
        epilog="exit status: 0 all is well; of run, that of the guest's vbng; 1 it failed; 2 wrong usage, or something is missing")  # fmt: skip
    sub = p.add_subparsers(dest="command", required=True)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--cache", metavar="DIR", help=f"where images are kept (default: {vm_image.default_cache()})")
    common.add_argument("--vbng", metavar="FILE",
                        help="vbng for the guest (default: with KVM build/vbng; emulated, this tree's, built for any CPU)")  # fmt: skip
    common.add_argument("--accel", choices=("auto", "kvm", "tcg"), default="auto", help="default: KVM where it works")

    b = sub.add_parser("build", parents=[common], help="make the image, or bring it up to date")
    b.add_argument("--update", action="store_true", help="fetch the kernel again")

    r = sub.add_parser("run", parents=[common], help="boot a guest and run a configuration in it",
                       epilog="what comes after -- are more options of the guest's vbng: -- --subscribers /out/subscribers.csv")
    r.add_argument("config", metavar="CONFIG", help="for the guest; its folder is there, too, and pkt_templates beside it")
    r.add_argument("--port", action="append", default=[], metavar="vhost:PATH[,server] | tap:NAME",
                   help="a virtio-net port, in the guest at 0000:00:10.0, the next at 0000:00:11.0 ...; server: QEMU makes the socket")  # fmt: skip
    r.add_argument("--duration", type=_seconds, metavar="S", help="seconds that vbng runs (default: until Ctrl-C)")
    r.add_argument("--topology", metavar="SxCxT", help="sockets x cores x threads of the guest (default: that of --pin, else 1x2x1)")
    r.add_argument("--pin", metavar="CPUS", help="CPUs of the host for the vCPUs, for example 2-5,12")
    r.add_argument("--memory", type=int, metavar="MIB", help="of the guest (default: what the configuration needs)")
    r.add_argument("--hugepage", choices=HUGEPAGES, help="size of the guest's huge pages (default: as the configuration needs)")
    r.add_argument("--backing", default="memfd", metavar="memfd|hugepages|DIR",
                   help="the guest's memory on the host: ordinary, huge pages, or a mounted hugetlbfs (default: memfd)")  # fmt: skip
    r.add_argument("--report", metavar="FILE", help="write the report of the guest's vbng here")
    r.add_argument("--output", metavar="DIR", help="keep report, samples, logs and console here")

    s = sub.add_parser("seed", help="write a seed disk for cloud-init, for a cloud image in a virtual machine of your own")
    s.add_argument("config", metavar="CONFIG", help="for the guest, with the PCI addresses that its ports have there")
    s.add_argument("output", metavar="FILE", help="the disk image to write (ISO 9660)")
    s.add_argument("--topology", metavar="SxCxT", default="1x2x1", help="of the guest (default: 1x2x1)")
    s.add_argument("--vbng", metavar="FILE", help="vbng for the guest (default: this tree's, built for any CPU)")

    d = sub.add_parser("demo", parents=[common], help="the gateway in a guest behind Open vSwitch, the tester on the host")
    d.add_argument("--duration", type=_seconds, default=60.0, metavar="S", help="seconds of traffic (default: 60)")
    d.add_argument("--rate", default="20kpps", help="of each of the four streams (default: 20kpps)")
    d.add_argument("--switch", choices=("ovs", "none"), default="ovs", help="between tester and guest (default: ovs)")
    d.add_argument("--output", metavar="DIR", help="keep reports, logs and console here")
    return p


def _vbng(args):
    accel, why = vm_qemu.choose_accelerator(args.accel)
    return args.vbng or (run.binary() if accel == "kvm" else vm_image.portable_vbng()), accel, why


def _build(args, _):
    began = time.monotonic()
    vbng, accel, why = _vbng(args)
    img = vm_image.image(vbng, args.cache, args.update)
    size = os.path.getsize(img.base) / 1e6
    print(f"{img.base}: {'made' if img.fresh else 'up to date'}, {size:.1f} MB, Linux {img.release}, vbng {vbng}; "
          f"{time.monotonic() - began:.1f} s; runs with {accel.upper()} ({why})")  # fmt: skip
    return OK


def _topology(args):
    """(topology, CPUs to pin to)."""
    cpus = vm_topology.parse_cpus(args.pin) if args.pin else []
    if not args.topology:
        return vm_topology.of_cpus(cpus) if cpus else (vm_topology.Topology(1, 2, 1), [])
    topology = vm_topology.parse(args.topology)
    if len(cpus) == topology.vcpus:
        for text in vm_topology.differences(topology, cpus):
            print(f"tools/vm: warning: {text}", file=sys.stderr)
    return topology, cpus


def _run(args, arguments):
    topology, cpus = _topology(args)
    spec = vm_qemu.Spec(
        config=args.config, ports=[vm_qemu.parse_port(p) for p in args.port], topology=topology, cpus=cpus,
        memory_mib=args.memory, hugepage_mib=HUGEPAGES.get(args.hugepage), backing=args.backing,
        arguments=tuple(arguments), seconds=args.duration)  # fmt: skip
    told = []
    for sig in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sig, lambda *_: told.append(1))
    with Vm(spec, folder=args.output, cache=args.cache, accel=args.accel, vbng=args.vbng) as vm:
        print(f"{topology.vcpus} vCPUs ({topology}), {vm.size.memory_mib} MiB with {vm.size.hugepages} huge pages of "
              f"{vm.size.hugepage_mib} MiB, {vm.accel.upper()} ({vm.why}), QEMU is process {vm.pid}")
        if vm.ready(lambda: told):
            print(f"vbng runs after {vm.booted:.1f} s" + (f", vCPUs on CPUs {cpus}" if cpus else ""), flush=True)
        result = vm.finish(lambda: told)
    if args.report and result.report is not None:
        with open(args.report, "w", encoding="utf-8") as f:
            json.dump(result.report, f, indent=1)
            f.write("\n")
    if not result.ok:
        print(f"tools/vm: {result.error}", file=sys.stderr)
        return result.status or FAILED
    print(result.log)
    return OK


def _seed(args, _):
    vm_seed.make(args.config, args.output, str(vm_topology.parse(args.topology)), args.vbng)
    print(f"{args.output}: attach it to the guest as a second disk")
    return OK


def _demo(args, _):
    outcome = vm_demo.demonstrate(args.duration, args.rate, args.switch, folder=args.output, cache=args.cache,
                                  accel=args.accel, vbng=args.vbng)  # fmt: skip
    if outcome.guest is not None and outcome.guest.boot_seconds is not None:
        print(f"guest: {outcome.guest.accel.upper()} ({outcome.guest.why}), vbng ran after {outcome.guest.boot_seconds:.1f} s")
    if outcome.ok:
        print("\n".join(outcome.table(args.duration)))
        print("every packet is accounted for in all processes, and none is wrong")
        return OK
    print("\n".join(f"tools/vm: {f}" for f in outcome.faults), file=sys.stderr)
    return FAILED


def main(argv=None):
    words = list(sys.argv[1:] if argv is None else argv)
    split = words.index("--") if "--" in words else len(words)
    args = _parser().parse_args(words[:split])
    try:
        return {"build": _build, "run": _run, "seed": _seed, "demo": _demo}[args.command](args, words[split + 1:])
    except (vm_image.ImageError, vm_qemu.SpecError, vm_topology.TopologyError) as e:
        print(f"tools/vm: {e}", file=sys.stderr)
        return USAGE
