# SPDX-License-Identifier: BSD-3-Clause
"""The command tools/measure: options, the measurement, its outputs."""

import argparse
import os
import signal
import sys
from dataclasses import replace

from . import html, journal, plots, procedure, result, table
from .progress import Progress
from .rig import Rig, Unusable, parse_sizes

EPILOG = """The configuration holds the gateway and its tester (tasks of type gen, and a sink), or --tester names a second
configuration that is run beside it. Generators are told apart by name: gen_cpe* sends up, gen_core* down, probe_* are
thin stamped streams for latency; others are silent. A measurement that was ended continues with the same command.
exit status: 0 done, 1 cannot be measured, 2 usage, 3 done but without pictures, 4 all runs died, 130 stopped: what is
done is in the outputs."""


def parser():
    """The command line."""
    p = argparse.ArgumentParser(prog="measure", description="Measure R+, NDR, PDR and latency of a gateway.", epilog=EPILOG,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    d = procedure.Options()
    p.add_argument("config", nargs="?", metavar="CONFIG", help="configuration of the gateway, with its tester or without")
    p.add_argument("--tester", metavar="CONFIG2", help="configuration of the tester, run in a process of its own")
    p.add_argument("--out", metavar="DIR", help="folder for the results (default: measure-NAME)")
    p.add_argument("--quick", action="store_true", help="short trials and few: to see that it works, not for figures")
    p.add_argument("--fresh", action="store_true", help="begin anew where DIR holds a part of a measurement")
    p.add_argument("--render", metavar="RESULT", help="only write table, CSV, pictures and report of a result.json again")
    p.add_argument("--sizes", default="64", help="frame sizes, for example 64,256,1024 or 64-78 (access-core) or table2 (default: 64)")
    p.add_argument("--direction", action="append", choices=("up", "down", "both"), help="only this one; may be repeated")
    p.add_argument("--only", action="append", choices=("rplus", "search", "latency"), help="R+ and only this; may be repeated")
    p.add_argument("--seconds", type=float, help=f"of a trial (default: {d.seconds:g})")
    p.add_argument("--width", type=float, help=f"R+ is repeated until its interval is ±WIDTH of it (default: {d.width:g})")
    p.add_argument("--confidence", type=float, help=f"of that interval (default: {d.confidence:g})")
    p.add_argument("--max-trials", type=int, help=f"for one R+ (default: {d.max_trials})")
    p.add_argument("--search-width", type=float, help=f"relative distance of the bounds of NDR and PDR (default: {d.search_width:g})")
    p.add_argument("--search-trials", type=int, help=f"at one load; the majority decides (default: {d.search_trials})")
    p.add_argument("--latency-trials", type=int, help=f"at each load (default: {d.latency_trials})")
    p.add_argument("--pdr", type=float, help=f"loss ratio of PDR (default: {d.pdr:g})")
    p.add_argument("--saturation", default="100%", help="rate of each generator for R+ (default: 100%% of the line rate)")
    p.add_argument("--no-mlrsearch", action="store_true", help="do not use the package mlrsearch though it is there")
    p.add_argument("--up", default="gen_cpe*", metavar="PATTERN", help="generators that send up (default: gen_cpe*)")
    p.add_argument("--down", default="gen_core*", metavar="PATTERN", help="generators that send down (default: gen_core*)")
    p.add_argument("--set", action="append", default=[], metavar="PATH=VALUE", help="of the gateway's configuration, as of vbng")
    p.add_argument("--layout", metavar="FILE", help="layout of the gateway, as of vbng")
    p.add_argument("--vbng", help="binary (default: $VBNG, else build/vbng)")
    return p


def _options(args, p):
    base = procedure.QUICK if args.quick else procedure.Options()
    given = {name: value for name in ("seconds", "width", "confidence", "max_trials", "search_width", "search_trials", "latency_trials",
                                      "pdr")
             if (value := getattr(args, name)) is not None}
    if args.only:
        given["parts"] = ("rplus", *sorted(set(args.only) - {"rplus"}))
    if args.no_mlrsearch:
        given["package"] = False
    options = replace(base, **given)
    if options.seconds < options.short:
        options = replace(options, short=options.seconds)
    for name in ("seconds", "width", "max_trials", "search_width", "search_trials", "latency_trials"):
        if getattr(options, name) <= 0:
            p.error(f"--{name.replace('_', '-')} must be above 0")
    for name in ("width", "confidence", "search_width", "pdr"):
        if not 0 <= getattr(options, name) < 1:
            p.error(f"--{name.replace('_', '-')} must be below 1")
    return options


def _rig(args, p):
    settings = {}
    for pair in args.set:
        key, equals, value = pair.partition("=")
        if not equals:
            p.error(f"--set {pair}: expected PATH=VALUE")
        settings[key] = value
    return Rig(args.config, args.tester, args.up, args.down, settings=settings, layout=args.layout, vbng=args.vbng,
               saturation=args.saturation)


def write(outcome, folder):
    """All outputs of a result. Returns the exit status that they deserve."""
    result.write_csv(outcome, folder)
    status = 0
    try:
        pictures = plots.draw(outcome, folder)
    except plots.Missing as e:
        print(f"measure: {e}", file=sys.stderr)
        pictures, status = {}, 3
    with open(os.path.join(folder, "report.html"), "w", encoding="utf-8") as f:
        f.write(html.page(outcome, pictures))
    return status


def _render(path, folder):
    try:
        outcome = result.read_json(path)
    except (OSError, ValueError) as e:
        print(f"measure: {e}", file=sys.stderr)
        return 1
    print(table.text(outcome))
    os.makedirs(folder, exist_ok=True)
    return write(outcome, folder)


def _stop(signum, _frame):
    raise KeyboardInterrupt(signal.Signals(signum).name)


def _measure(rig, options, sizes, directions, book, command, folder):
    progress = Progress()
    if book.recorded:
        print(f"measure: continues with {book.recorded} trials of an earlier run", file=sys.stderr)
    m = procedure.Measurement(rig, options, sizes, directions, book, progress)
    partial = None
    try:
        m.run()
    except KeyboardInterrupt as e:
        partial = f"stopped ({e.args[0] if e.args else 'SIGINT'}); the same command continues it"
    finally:
        progress.end()
        book.close()
    outcome = result.build(rig, options, m, command, partial)
    result.write_json(outcome, os.path.join(folder, "result.json"))
    print(table.text(outcome))
    status = write(outcome, folder)
    print(f"\n{folder}: result.json, figures.csv, trials.csv, report.html, pictures")
    if partial:
        return 130
    return status if any(t["ok"] for t in m.trials) else 4


def main(argv=None):
    """Returns the exit status."""
    p = parser()
    args = p.parse_args(argv)
    if args.render:
        return _render(args.render, args.out or os.path.dirname(args.render) or ".")
    if args.config is None:
        p.error("CONFIG is missing")
    options, rig = _options(args, p), _rig(args, p)
    try:
        rig.discover()
        two_sides = "up" in rig.generators
        sizes = parse_sizes(args.sizes, two_sides)
        directions = [d for d in rig.generators if not args.direction or d in args.direction]
        if not directions:
            raise Unusable(f"no generators for --direction {' '.join(args.direction)}: there are {', '.join(rig.generators)}")
        folder = args.out or f"measure-{rig.plans['gateway']['name']}"
        os.makedirs(folder, exist_ok=True)
        book = journal.Journal(os.path.join(folder, "journal.jsonl"), result.fingerprint(rig, options, sizes, directions), args.fresh)
    except (Unusable, ValueError, OSError, journal.Mismatch) as e:
        print(f"measure: {e}", file=sys.stderr)
        return 1
    signal.signal(signal.SIGINT, _stop)
    signal.signal(signal.SIGTERM, _stop)
    return _measure(rig, options, sizes, directions, book, ["tools/measure", *(sys.argv[1:] if argv is None else argv)], folder)
