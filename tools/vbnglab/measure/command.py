# SPDX-License-Identifier: BSD-3-Clause
"""The command vbng-lab measure: options, the measurement, its outputs."""

import os
import sys
from dataclasses import replace

from ..lab import journal, owned
from ..lab.failure import Failure
from ..lab.options import add_settings, add_vbng
from ..lab.progress import Progress
from ..lab.signals import stop_cleanly
from . import html, plots, procedure, result, search, table
from .rig import Rig, Unusable, parse_sizes

EPILOG = """The configuration holds the gateway and its tester (tasks of type gen, and a sink), or --tester names a second
configuration that is run beside it. Generators are told apart by name: gen_cpe* sends up, gen_core* down, probe_* are
thin stamped streams for latency; others are silent. A measurement that was ended continues with the same command.

Exit status: 0 done, 1 cannot be measured, 2 usage, 3 done but without pictures, 4 all runs died, 130 stopped: what is
done is in the outputs."""


def configure(p):
    """Its options."""
    p.description, p.epilog = "Measure R+, NDR, PDR and latency of a gateway.", EPILOG
    d = procedure.Options()
    p.add_argument("config", nargs="?", metavar="CONFIG", help="configuration of the gateway, with its tester or without")
    p.add_argument("--tester", metavar="CONFIG2", help="configuration of the tester, which runs in a process of its own")
    p.add_argument("--out", metavar="DIR", help="folder for the results (default: measure-NAME)")
    p.add_argument("--quick", action="store_true", help="few short trials: to see that it works, not for figures")
    p.add_argument("--fresh", action="store_true", help="begin anew, even where the folder holds a part of a measurement")
    p.add_argument("--render", metavar="RESULT", help="run nothing: write table, CSV, pictures and report of a result.json again")
    p.add_argument("--sizes", metavar="LIST", default="64", help="frame sizes, for example 64,256,1024 or 64-78 (access-core) or table2, or "
                   "table2-ipv6, which begins with the least that IPv6 has, 74 (default: 64)")
    p.add_argument("--direction", action="append", choices=("up", "down", "both"), help="measure only this direction; may be repeated (default: all that have generators)")
    p.add_argument("--only", action="append", choices=("rplus", "search", "latency"), help="measure only R+ and this; may be repeated (default: all)")
    p.add_argument("--seconds", type=float, metavar="S", help=f"length of a trial (default: {d.seconds:g})")
    p.add_argument("--width", type=float, metavar="W", help=f"trials for R+ are repeated until its confidence interval is ±W of it (default: {d.width:g})")
    p.add_argument("--confidence", type=float, metavar="P", help=f"confidence of that interval (default: {d.confidence:g})")
    p.add_argument("--max-trials", type=int, metavar="N", help=f"most trials for one R+ (default: {d.max_trials})")
    p.add_argument("--search-width", type=float, metavar="W", help=f"relative distance of the bounds between which NDR and PDR are known (default: {d.search_width:g})")
    p.add_argument("--search-trials", type=int, metavar="N", help=f"full trials at a load of the search; the majority decides (default: {d.search_trials})")
    p.add_argument("--latency-trials", type=int, metavar="N", help=f"trials at each load at which latency is measured (default: {d.latency_trials})")
    p.add_argument("--pdr", type=float, metavar="RATIO", help=f"loss ratio that PDR allows (default: {d.pdr:g})")
    p.add_argument("--saturation", metavar="RATE", default="100%", help="rate of each generator for R+ (default: 100%% of the line rate)")
    p.add_argument("--up", default="gen_cpe*", metavar="PATTERN", help="names of the generators that send up (default: gen_cpe*)")
    p.add_argument("--down", default="gen_core*", metavar="PATTERN", help="names of the generators that send down (default: gen_core*)")
    add_settings(p)
    p.add_argument("--layout", metavar="FILE", help="layout of the gateway, as vbng --layout")
    add_vbng(p)


def _options(args):
    base = procedure.QUICK if args.quick else procedure.Options()
    given = {name: value for name in ("seconds", "width", "confidence", "max_trials", "search_width", "search_trials", "latency_trials",
                                      "pdr")
             if (value := getattr(args, name)) is not None}
    if args.only:
        given["parts"] = ("rplus", *sorted(set(args.only) - {"rplus"}))
    options = replace(base, **given)
    if options.seconds < options.short:
        options = replace(options, short=options.seconds)
    for name in ("seconds", "width", "max_trials", "search_width", "search_trials", "latency_trials"):
        if getattr(options, name) <= 0:
            args.parser.error(f"--{name.replace('_', '-')} must be above 0")
    for name in ("width", "confidence", "search_width", "pdr"):
        if not 0 <= getattr(options, name) < 1:
            args.parser.error(f"--{name.replace('_', '-')} must be below 1")
    return options


def _rig(args):
    return Rig(args.config, args.tester, args.up, args.down, settings=dict(args.set), layout=args.layout, vbng=args.vbng,
               saturation=args.saturation)


def write(outcome, folder):
    """Write all outputs of a result. Returns the exit status: 3 without pictures, else 0."""
    result.write_csv(outcome, folder)
    status = 0
    try:
        pictures = plots.draw(outcome, folder)
    except plots.Missing as e:
        print(f"vbng-lab measure: {e}", file=sys.stderr)
        pictures, status = {}, 3
    with open(os.path.join(folder, "report.html"), "w", encoding="utf-8") as f:
        f.write(html.page(outcome, pictures))
    return status


def _render(path, folder):
    try:
        outcome = result.read_json(path)
    except (OSError, ValueError) as e:
        raise Failure(str(e)) from None
    owned.folder(folder)
    print(table.text(outcome))
    return write(outcome, folder)


def _measure(rig, options, sizes, directions, book, command, folder):
    progress = Progress()
    if book.recorded:
        print(f"vbng-lab measure: continues with {book.recorded} trials of an earlier run", file=sys.stderr)
    m = procedure.Measurement(rig, options, sizes, directions, book, progress)
    partial = None
    try:
        m.run()
    except KeyboardInterrupt as e:
        partial = f"stopped ({e.args[0] if e.args else 'SIGINT'}); the same command continues it"
    finally:
        progress.end()
    outcome = result.build(rig, options, m, command, partial)
    result.write_json(outcome, os.path.join(folder, "result.json"))
    print(table.text(outcome))
    status = write(outcome, folder)
    print(f"\n{folder}: result.json, figures.csv, trials.csv, report.html, pictures")
    if partial:
        return 130
    return status if any(t["ok"] for t in m.trials) else 4


def run(args):
    """Measure, or render what is measured. Returns the exit status."""
    if args.render:
        return _render(args.render, args.out or os.path.dirname(args.render) or ".")
    if args.config is None:
        args.parser.error("CONFIG is missing")
    options, rig = _options(args), _rig(args)
    if "search" in options.parts:
        search.package()  # a missing package is reported before the first trial
    try:
        rig.discover()
        two_sides = "up" in rig.generators
        sizes = parse_sizes(args.sizes, two_sides)
        for size in sizes:
            rig.check(size)
        directions = [d for d in rig.generators if not args.direction or d in args.direction]
        if not directions:
            raise Unusable(f"no generators for --direction {' '.join(args.direction)}: there are {', '.join(rig.generators)}")
        folder = args.out or f"measure-{rig.plans['gateway']['name']}"
        owned.folder(folder)
        book = journal.Journal(os.path.join(folder, "journal.jsonl"), result.fingerprint(rig, options, sizes, directions), args.fresh)
    except (ValueError, OSError) as e:
        raise Failure(str(e)) from None
    stop_cleanly()
    return _measure(rig, options, sizes, directions, book, args.command_line, folder)
