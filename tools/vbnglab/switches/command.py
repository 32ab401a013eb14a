# SPDX-License-Identifier: BSD-3-Clause
"""The commands of vbng-lab switch: list, run, row, compare, show, render."""

import argparse
import datetime
import json
import os
import shutil
import sys
from dataclasses import asdict, replace

from ..lab import journal, machine, owned
from ..lab.failure import Failure
from ..lab.options import add_vbng, between
from ..lab.progress import Progress
from ..lab.signals import stop_cleanly
from ..measure import procedure, result, rig
from ..sweep.pictures import lacking
from . import adapters, bench, compare, containers, guests, output, pictures, row, scenarios
from .adapters.base import SwitchError

QUICK = replace(procedure.QUICK, seconds=1.0, parts=("rplus",))
ROUNDS = replace(procedure.Options(), seconds=1.5, width=0.05, max_trials=9, parts=("rplus", "latency"))
# How far each adapter was tried when it was written, see doc/switches.md; the others were only rendered.
TRIED = {**dict.fromkeys(("direct", "testpmd", "ip-forward", "bess", "vale", "ovs-kernel", "sriov"), "run"),
         **dict.fromkeys(("basicfwd", "ovs-dpdk", "snabb", "fastclick", "vpp", "t4p4s", "linux-bridge"), "measured")}


def configure(p):
    """Its commands and options."""
    p.description = "Run vbng behind software switches, and compare them. See doc/switches.md."
    sub = p.add_subparsers(metavar="COMMAND", required=True)
    every = sub.add_parser("list", help="every switch, its version, or why it cannot run here")
    every.add_argument("--json", action="store_true", help="print JSON")
    r = sub.add_parser("run", help="measure a scenario with one switch or several", formatter_class=argparse.RawDescriptionHelpFormatter,
                       description="Measure a scenario with one switch or several:\n\n" + "\n".join(f"  {n:9} {f.__doc__}" for n, f in scenarios.ALL.items()))
    w = sub.add_parser("row", help="all scenarios, with VNFs on the host, in containers and in guests: a row of figures, or why there is none",
                       description="Measure all scenarios with each switch, with VNFs on the host, in containers and in guests, and print a table in Markdown: "
                                   "a row for each switch, whose cells are R+ or why there is none; and one of latency at 0.10, 0.50 and 0.99 of R+.")  # fmt: skip
    s = sub.add_parser("show", help="print what a switch would be given, as a shell script")
    c = sub.add_parser("compare", help="vbng and testpmd by turns in the same place, as VNF (circle, loopback) or as generator and sink (p2p, p2v, v2v)")
    for q, known in ((r, scenarios.ALL), (s, scenarios.ALL), (c, scenarios.ALL | scenarios.CLOSED)):
        q.add_argument("scenario", choices=list(known), metavar="SCENARIO", help="one of " + ", ".join(known))
    for q in (r, w, s, c):
        q.add_argument("--switch", required=True, metavar="NAME[,NAME...]", help=f"names of switches: {', '.join(adapters.ALL)}; run and row also take: installed")
        q.add_argument("-n", "--number", type=int, default=1, metavar="N", help="number of VNFs of loopback, or of pairs of pairs (default: 1)")
        q.add_argument("--mode", choices=("patch", "learn"), help="how the switch joins ports: by fixed pairs, or by learned MAC addresses (default: patch where the switch has it)")
        q.add_argument("--nic", action="append", default=[], metavar="SWITCH,TESTER",
                       help="PCI addresses of the two ends of a cable, for a port that stands for a NIC; may be repeated")
        q.add_argument("--phy", metavar="KIND", help="kind of the ports that stand for NICs, without --nic (default: as the others)")
    for q in (r, s):
        q.add_argument("--vnf-in", choices=list(bench.PLACES), default="host",
                       help="where VNFs are: processes of the host, or each in a container of podman, or in a guest of vbng-lab vm; all start for each trial (default: host)")
    w.add_argument("--only", metavar="CELL,...", type=row.cells, default=row.CELLS,
                   help=f"cells to measure (default: all, {', '.join(map('-'.join, row.CELLS))})")
    for q in (r, w):
        q.add_argument("--image", default=containers.Containers.image, metavar="NAME", help="image for VNFs in containers (default: %(default)s)")
        q.add_argument("--cpuset", action="store_true", help="give each container the CPU of its VNF alone, as a CPU manager does, and a layout that names none")
        q.add_argument("--sizes", metavar="LIST", default="64", help="frame sizes with FCS, such as 64,256,1024 (default: 64)")
        q.add_argument("--direction", choices=("uni", "both"), default="uni", help="whether packets go one way or both (default: uni)")
        q.add_argument("--rate", metavar="RATE", default=rig.SATURATION, help="rate of each generator for R+ (default: 100%% of 10 Gbit/s)")
        q.add_argument("--burst", type=int, metavar="N", help="packets that a generator sends back to back")
        q.add_argument("--seconds", type=float, metavar="S", help=f"length of a trial (default: {ROUNDS.seconds:g})")
        q.add_argument("--max-trials", type=int, metavar="N", help=f"most trials for one R+ (default: {ROUNDS.max_trials})")
        q.add_argument("--quick", action="store_true", help="few short trials without latency: to see that it works, not for figures")
        q.add_argument("--latency", action="store_true", help="with --quick: measure latency, too")
    c.add_argument("--sizes", metavar="LIST", default="64,256,1024", help="frame sizes with FCS (default: 64,256,1024)")
    c.add_argument("--direction", metavar="LIST", default="uni,both", help="uni, both, or uni,both (default)")
    c.add_argument("--pairs", type=between(1, 1000, int), default=5, metavar="N", help="trials of each, in turn (default: 5)")
    c.add_argument("--seconds", type=between(0.2, 600), default=1.5, metavar="S", help="length of a trial (default: 1.5)")
    for q in (r, w, c):
        q.add_argument("--cpus", metavar="N,N,...", help="CPUs of the switch, of the VNFs and of the tester, in this order (default: all that there are)")
        q.add_argument("--out", metavar="DIR", help=f"folder for the results (default: switchlab-{'row' if q is w else 'SCENARIO'})")
        add_vbng(q)
    d = sub.add_parser("render", help="table and picture of results that are there, of several as one")
    d.add_argument("dirs", nargs="+", metavar="DIR", help="folders that run has written: of one machine, and with no point measured twice")
    d.add_argument("--out", metavar="DIR", help="folder for the picture (default: the first DIR)")
    for command, does in ((every, list_switches), (r, measure), (w, fill), (c, take_turns), (s, show), (d, render)):
        command.set_defaults(does=does)


def _adapters(text):
    names = [n for n, s in adapters.ALL.items() if s.probe()[0]] if text == "installed" else text.split(",")
    for n in names:
        if n not in adapters.ALL:
            raise SwitchError(f"no switch {n}: there are {', '.join(adapters.ALL)}")
    return names


def _setup(args, adapter):
    if adapter is bench.Alone:
        return bench.Setup(args.scenario, args.number, "patch", args.burst)
    return bench.Setup(args.scenario, args.number, args.mode or adapter.modes[0], getattr(args, "burst", None), tuple(args.nic), args.phy,
                       getattr(args, "vnf_in", "host"))


def list_switches(args):
    """Print all switches as a table or as JSON."""
    rows = []
    for name, adapter in adapters.ALL.items():
        version, why = adapter.probe()
        rows.append({"switch": name, "title": adapter.title, "version": version, "state": "ready" if version else "rendered",
                     "tried": TRIED.get(name, "rendered"), "ports": list(adapter.kinds), "modes": list(adapter.modes), "why": why})
    if args.json:
        print(json.dumps(rows, indent=1))
        return 0
    print(f"{'switch':13} {'here':9} {'tried':9} {'version':16} {'ports':15} {'modes':12} why not")
    for r in rows:
        print(f"{r['switch']:13} {r['state']:9} {r['tried']:9} {r['version'] or '-':16} {','.join(r['ports']):15} {','.join(r['modes']):12} {r['why']}".rstrip())
    return 0


def show(args):
    """Print what each switch would be given."""
    for name in _adapters(args.switch):
        switch = adapters.ALL[name](f"/run/lab/{name}")
        setup = _setup(args, switch)
        bench.wire(switch, scenarios.ALL[args.scenario](args.number), setup)
        print(f"# {switch.title}, {setup.name}, {setup.mode}: {adapters.base.MODES[setup.mode]}")
        for p in switch.ports.values():
            print(f"# port {p.name}: device = \"{p.device}\"; {p.role}")
        print(switch.render())
    return 0


def _directions(one, args):
    if "all" in one.generators:
        return ["all"]
    return ["both"] if args.direction == "both" else ["up"]


def _measure(adapter, args, options, cpus, folder):
    """The entry of one switch in the result."""
    version, why = adapter.probe()
    setup = _setup(args, adapter)
    entry = {"title": adapter.title, "version": version, "mode": setup.mode, "guest": guests.cpu() if setup.guest else None, "state": "rendered", "why": why,
             "result": None}  # fmt: skip
    if version is None:
        return entry
    home = os.path.join(folder, adapter.name)
    os.makedirs(home, exist_ok=True)
    one = None
    try:
        one = bench.make(adapter, setup, home, cpus, args.vbng, args.rate, places=containers.Containers(args.image, cpuset=args.cpuset) if setup.vnf_in == "container" else None)
        sizes = rig.parse_sizes(args.sizes, args.scenario in scenarios.GATEWAY)
        progress = Progress()
        m = procedure.Measurement(one, options, sizes, _directions(one, args), journal.Journal(None, None), progress, bench.take)
        try:
            m.run()
        finally:
            progress.end()
            entry.update(shared=one.shared, result=result.build(one, options, m, args.command_line, None))
    except (SwitchError, rig.Unusable, ValueError) as e:
        return {**entry, "why": str(e)}
    finally:
        if one is not None:
            shutil.rmtree(one.switch.folder, ignore_errors=True)
    if not any(t["ok"] for t in m.trials):
        return {**entry, "state": "failed", "why": m.trials[-1]["error"]}
    return {**entry, "state": "measured", "why": ""}


def _take(args):
    """Measure a scenario, write result.json. Returns (result, folder)."""
    options = QUICK if args.quick else ROUNDS
    if args.latency:
        options = replace(options, parts=("rplus", "latency"))
    given = {k: v for k in ("seconds", "max_trials") if (v := getattr(args, k)) is not None}
    options = replace(options, **given)
    cpus = [int(c) for c in args.cpus.split(",")] if args.cpus else sorted(os.sched_getaffinity(0))
    names = _adapters(args.switch)
    setup = _setup(args, adapters.ALL[names[0]])
    folder = os.path.abspath(args.out or f"switchlab-{setup.name}")
    owned.folder(folder)
    out = {"format": output.FORMAT, "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
           "command": args.command_line, "scenario": setup.name, "about": scenarios.ALL[args.scenario].__doc__,
           "tuple": {"dimension": "latency" if "latency" in options.parts else "throughput", "hosts": 1, "pairs": args.number,
                     "size": args.sizes, "rate": args.rate, "burst": args.burst, **{k: v for k, v in asdict(setup).items() if k == "nics"}},
           "machine": machine.describe(), "cpus": cpus, "shared": False, "switches": {}}  # fmt: skip
    print("== generator and sink alone", file=sys.stderr, flush=True)
    out["alone"] = _measure(bench.Alone, args, replace(options, parts=("rplus",)), cpus, folder)
    for name in names:
        print(f"== {name}", file=sys.stderr, flush=True)
        out["switches"][name] = entry = _measure(adapters.ALL[name], args, options, cpus, folder)
        out["shared"] = out["shared"] or entry.get("shared", False)
        if entry["state"] == "failed":
            print(entry["why"], file=sys.stderr)
        output.write_json(out, folder)
    return out, folder


def measure(args):
    """Measure, write, print. Returns 0; 1 if nothing could be measured; 3 without a picture."""
    if args.cpuset and args.vnf_in != "container":
        args.parser.error("--cpuset is for containers: say --vnf-in container, too")
    stop_cleanly()
    return _tell(*_take(args), ", and for each switch its configurations")


def fill(args):
    """Measure the cells of a table, each as `run` does it, in a folder of its own; print it. Returns 0; 1 if nothing could be measured."""
    stop_cleanly()
    home, found = os.path.abspath(args.out or "switchlab-row"), {}
    for scenario, place in args.only:
        if scenario in row.NICS and not args.nic:
            continue
        name = f"{scenario}-{place}"
        print(f"=== {name}", file=sys.stderr, flush=True)
        cell = {**vars(args), "scenario": scenario, "vnf_in": place, "out": os.path.join(home, name)}
        found[scenario, place], _ = _take(argparse.Namespace(**cell))
    print(row.text(found, _adapters(args.switch), args.only))
    return 0 if any(e["state"] == "measured" for out in found.values() for e in out["switches"].values()) else 1


def take_turns(args):
    """Compare with testpmd, print, draw. Returns 0; 1 if a point has no figures; 3 without a picture."""
    ways = {"uni": "up", "both": "both"}
    if unknown := set(args.direction.split(",")) - set(ways):
        raise SwitchError(f"no direction {', '.join(sorted(unknown))}: choose uni, both, or uni,both")
    cpus = [int(c) for c in args.cpus.split(",")] if args.cpus else sorted(os.sched_getaffinity(0))
    options = compare.Options(rig.parse_sizes(args.sizes, False), [ways[d] for d in args.direction.split(",")], args.pairs, args.seconds, cpus, args.vbng)
    folder = os.path.abspath(args.out or f"switchlab-{args.scenario}")
    stop_cleanly()

    def told(name, point):
        print(f"== {name} {point.size} B {compare.WAYS[point.direction]}: {len(point.ratios)} pairs", file=sys.stderr, flush=True)

    out = compare.measure(_adapters(args.switch), lambda adapter: _setup(args, adapter), options, folder, args.command_line, told)
    print(compare.text(out))
    drawn = _named(pictures.turns(out, folder), folder, ", and for each switch its configurations")
    return drawn if all(p["ratios"] for e in out["switches"].values() for p in e["points"]) else 1


def _tell(out, folder, more=""):
    """Print and draw a result. Returns the exit status."""
    print(output.text(out))
    if not any(e["state"] == "measured" for e in out["switches"].values()):
        return 1
    return _named(pictures.beside(out, folder), folder, more)


def _named(drawn, folder, more):
    """Print what was written into a folder. drawn: whether the picture was. Returns the exit status."""
    if not drawn:
        print(f"no picture: {lacking()}", file=sys.stderr)
    print(f"\n{folder}: result.json{', switches.svg, switches.png' if drawn else ''}{more}")
    return 0 if drawn else 3


def render(args):
    """Print and draw results that are there. Returns the exit status, as measure()."""
    out = output.merge([output.read(d) for d in args.dirs])
    folder = args.out or args.dirs[0]
    owned.folder(folder)
    if args.out:
        output.write_json(out, folder)
    return _tell(out, folder)


def run(args):
    """Do what the command says."""
    try:
        return args.does(args)
    except ValueError as e:
        raise Failure(str(e)) from None
