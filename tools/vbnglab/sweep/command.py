# SPDX-License-Identifier: BSD-3-Clause
"""Run a configuration in several layouts, sizes and numbers of mbufs; say which is best, how sure that is, and what
limits it.

Without --layout the layouts are made from the configuration's graph for the cores of this machine. What cannot run
is listed with the reason. Results go into a folder (--out): sweep.json, sweep.csv, sweep.svg, sweep.png, the layouts,
and journal.jsonl, with which the same command goes on after it was interrupted. What has no figure, as other programs
had the CPUs or a run died, is drawn and named as such; exit status 4: nothing has one. See doc/sweep.md.
"""

import os
import sys

from ..lab import graph, owned
from ..lab.failure import Failure
from ..lab.options import add_settings, add_vbng
from ..lab.progress import Progress
from ..lab.run import binary
from ..lab.signals import stop_cleanly
from . import INCOMPLETE, advise, layouts, output, pictures, sweep


def configure(p):
    """Its options."""
    p.description = __doc__
    p.add_argument("config", metavar="CONFIG", help="configuration whose graph runs")
    p.add_argument("--layout", action="append", default=[], metavar="FILE", help="run this layout; may be repeated")
    p.add_argument("--generate", action="store_true", help="make layouts, too, beside those of --layout")
    p.add_argument("--only", metavar="NAME,NAME", help="run only the layouts of these names")
    p.add_argument("--tester", choices=("apart", "shared"), default="apart",
                   help="where the tester runs: apart on cores of its own; shared, if there is none left, on one of the gateway's that has "
                        "no scheduler (default: apart)")
    p.add_argument("--numa", dest="socket", type=int, default=0, metavar="N", help="socket (NUMA node) of the gateway (default: 0)")
    p.add_argument("--data-room", type=int, action="append", default=[], metavar="BYTES", help="try this size of mbufs; may be repeated")
    p.add_argument("--mbufs", type=int, action="append", default=[], metavar="N", help="try this number of mbufs; may be repeated")
    p.add_argument("--pool", metavar="NAME", default="default", help="pool whose mbufs these are (default: default)")
    add_settings(p)
    p.add_argument("--rounds", type=int, metavar="N", default=6, help="runs of each layout with each size and number of mbufs (default: 6)")
    p.add_argument("--seconds", type=float, metavar="S", default=2.0, help="length of a run (default: 2)")
    p.add_argument("--share-cpus", action="store_true",
                   help="run even what needs more CPUs than there are: for function, never for figures")
    p.add_argument("--topology", metavar="SPEC", default="live", help="with --dry-run or --share-cpus: make and check layouts for another machine, such as 2x10x2 (default: live)")
    p.add_argument("--dry-run", action="store_true", help="only make, check and list the layouts")
    p.add_argument("--out", default="sweep-out", metavar="DIR", help="folder of the results (default: sweep-out)")
    add_vbng(p)


def make_layouts(args):
    options = [o for key, value in args.set for o in ("--set", f"{key}={value}")]
    found = layouts.from_files(args.layout)
    if args.generate or not found:
        g = graph.load(args.config, args.vbng, options)
        made = layouts.generate(g, layouts.cores_of(args.topology), args.socket, args.tester == "shared")
        found += [x for x in made if x.name not in {f.name for f in found}]
    if args.only:
        wanted = args.only.split(",")
        unknown = set(wanted) - {x.name for x in found}
        if unknown:
            raise Failure(f"no layout {', '.join(sorted(unknown))}; there are {', '.join(x.name for x in found)}")
        found = [x for x in found if x.name in wanted]
    owned.folder(args.out)
    layouts.write(found, os.path.join(args.out, "layouts"))
    return layouts.check(found, args.config, args.topology, args.vbng, options)


def list_layouts(found):
    width = max(output.MARGIN, *(len(x.name) for x in found))
    for x in found:
        if x.refused:
            print(*output.refusals([x], width), flush=True)
            continue
        cores = " | ".join(" ".join(c) for c in layouts.tasks_of_cores(x.plan))
        print(f"{x.name:<{width}} {cores}{'   (the tester shares a core with the gateway)' if x.shared else ''}", flush=True)


def run(args):
    """Make the layouts, run what is not done yet, and write all results."""
    if args.topology != "live" and not (args.dry_run or args.share_cpus):
        args.parser.error("--topology other than live is for --dry-run or --share-cpus")
    stop_cleanly()
    try:
        found = make_layouts(args)
    except (ValueError, OSError) as e:
        raise Failure(str(e)) from None
    list_layouts(found)
    ready = [x for x in found if not x.refused]
    if args.dry_run:
        return 0
    if not ready:
        raise Failure("no layout can run here")
    s = sweep.Sweep(args.config, ready, args.out, args.data_room or [None], args.mbufs or [None], rounds=args.rounds,
                    seconds=args.seconds, settings=args.set, pool=args.pool, share_cpus=args.share_cpus,
                    topology=args.topology, vbng=binary(args.vbng))
    status, progress = 0, Progress()
    sweep.expect(s, progress)
    try:
        rows = sweep.run_all(s, progress)
    except KeyboardInterrupt:
        print("interrupted: the same command goes on from here", flush=True)
        rows, status = sweep.saved(s), 130
    finally:
        progress.end()
    print("", *output.table(rows, found), "", *advise.advice(rows), sep="\n")
    output.write_csv(os.path.join(args.out, "sweep.csv"), rows)
    output.write_json(os.path.join(args.out, "sweep.json"), s, rows, found, args.command_line)
    if not output.picture(s, rows, found, args.out):
        print(f"no picture: {pictures.lacking()}", file=sys.stderr)
    lacking = [] if args.share_cpus else advise.missing(rows)
    print(*(f"no figure: {what}" for what in lacking), sep="\n", end="\n" if lacking else "")
    return status or (INCOMPLETE if lacking and not advise.usable(rows) else 0)

