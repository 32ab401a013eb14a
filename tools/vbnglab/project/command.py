# SPDX-License-Identifier: BSD-3-Clause
"""Project what a gateway would forward on a larger machine, and name what limits it.

  vbng-lab project CONFIG --cpu epyc-9554 --ports 4x100G       Mpps and Gbit/s over 1 to 64 cores
  vbng-lab project CONFIG --cpu 32x2.4@200 --packet 500        a CPU of 32 cores, 2.4 GHz and 200 GB/s of memory
  vbng-lab project CONFIG --paper                              the paper's Fig. 10 and Table II beside it
  vbng-lab project CONFIG --check                              against what two cores of this machine do

It is arithmetic with measured costs of tasks and rings, on all assumptions that it prints. doc/project.md says how.
"""

import inspect
import json
import os
import sys
from dataclasses import replace

from ..describe.source import read_plan
from ..lab import owned
from ..lab.options import add_settings, add_vbng, between
from ..lab.run import binary, options
from . import check, costs, machine, paper, path, projection, text

CORES = "1,2,4,8,16,24,32,48,64"
OK, MISSED, NOT_JUDGED = 0, 1, 3


def configure(p):
    """Its options."""
    p.description = inspect.cleandoc(__doc__)  # which Python 3.13 does by itself
    p.epilog = "Exit status: 0 all is well; 1 it failed, or --check is more than 10 % off; 2 wrong usage; 3 this machine was too busy for --check"
    p.add_argument("config", metavar="CONFIG", help="configuration of the gateway; its tester does not count")
    p.add_argument("--cpu", type=machine.cpu, metavar="MODEL",
                   help=f"CPU to project onto: {', '.join(machine.MODELS)}, or CORESxGHZ@GB/S (default: 64 cores like the one that was measured)")
    p.add_argument("--ports", type=machine.ports, metavar="NxRATEG", help="ports, half of them on each side, such as 4x100G (default: they never limit)")
    p.add_argument("--packet", type=between(64, 9000, int), default=64, metavar="BYTES", help="frames at the access side, with FCS (default: %(default)s)")
    p.add_argument("--cores", type=machine.core_counts, default=CORES, metavar="LIST", help="numbers of cores (default: %(default)s)")
    p.add_argument("--layout", metavar="FILE", help="layout for the configuration")
    add_settings(p)
    p.add_argument("--shaping", choices=list(costs.SHAPING), default="wheel", help="backend that schedulers cost (default: %(default)s)")
    p.add_argument("--costs", action="append", metavar="FILE", help="what bench --json or bench-qos --json wrote; may be repeated (default: shipped figures)")
    p.add_argument("--core-latency", type=between(10, 10000), default=costs.RING_NS[0], metavar="NS",
                   help="core-to-core latency, as vbng --core-latency measures it, by which rings cost (default: %(default)s)")
    p.add_argument("--smt", type=between(1, 2), default=1.25, metavar="X", help="what two SMT siblings do together, of one alone, in --paper (default: %(default)s)")
    p.add_argument("--paper", action="store_true", help="print the paper's Fig. 10 and Table II beside the projection")
    p.add_argument("--check", action="store_true", help="run the configuration on two cores of this machine and compare")
    p.add_argument("--rounds", type=between(3, 1000, int), default=9, metavar="N", help="of --check (default: %(default)s)")
    p.add_argument("--seconds", type=between(0.1, 60), default=0.5, metavar="S", help="of each run of --check (default: %(default)s)")
    p.add_argument("--json", action="store_true", help="print JSON")
    p.add_argument("--picture", metavar="DIR", help="draw Mpps over cores into this folder, as SVG and PNG")
    add_vbng(p)


def _projected(args, vbng, cost):
    """The projection as a dict for JSON, and the plan that it is of."""
    cpu = args.cpu or machine.Cpu(f"64x{cost.hz / 1e9:g}", 64, cost.hz, None)
    plan = read_plan([*options(args.set, args.layout, share_cpus=True), args.config], vbng)[0]
    found = projection.project(projection.Question(plan, cost, cpu, args.ports, args.packet, args.cores))
    found |= {"configuration": os.path.basename(args.config), "packet": args.packet, "cpu": vars(cpu), "ports": vars(args.ports) if args.ports else None,
              "costs": {**vars(cost), "ring": [cost.put(), cost.take()]}, "layout": path.busiest(plan, path.loads(plan, cost), cpu.hz)}
    return {**found, "assumed": text.assumptions(found)}, plan, cpu


def run(args):
    """Print the projection. Returns the exit status."""
    vbng, cost = binary(args.vbng), replace(costs.read(args.shaping, args.costs or ()), core_ns=args.core_latency)
    found, plan, cpu = _projected(args, vbng, cost)
    said, status = [text.text(found)], OK
    if args.paper:
        found["fig10"], found["table2"] = paper.fig10(cost, cpu.hz, args.smt, vbng), paper.table2(plan, cost, cpu)
        said.append(text.paper_text(found["fig10"], found["table2"], cpu.hz))
    if args.check:
        base, rows, good = check.check(args.config, args.set, cost, vbng, args.rounds, args.seconds)
        found["check"] = {"one_core": base, "layouts": rows, "undisturbed": len(good), "rounds": args.rounds, "core_latency_ns": [round(ns) for ns, _ in good]}
        if base is None:
            status = NOT_JUDGED
            said.append(f"\nnot judged: something else had the CPUs, or moved them, in {args.rounds - len(good)} of {args.rounds} rounds; {check.FEWEST} undisturbed ones are needed")
        else:
            status = MISSED if any(abs(r["off"]) > check.BAR for r in rows) else OK
            said.append("\n" + text.check_text(base, rows, [ns for ns, _ in good], args.rounds, check.BAR))
    if args.picture:
        owned.folder(args.picture)
        text.picture(found, args.picture)
    sys.stdout.write((json.dumps(found, indent=2) if args.json else "\n".join(said)) + "\n")
    return status
