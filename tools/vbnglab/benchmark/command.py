# SPDX-License-Identifier: BSD-3-Clause
"""The command vbng-lab benchmark: options, the cases one after the other, the page."""

import os
import sys
from dataclasses import replace

from ..lab import journal, owned, run as program
from ..lab.failure import Failure
from ..lab.options import add_vbng, between
from ..lab.progress import Progress
from ..lab.signals import stop_cleanly
from ..measure import plots, result, search
from ..measure import command as measure
from ..measure.rig import Rig, parse_sizes
from . import burst, cases, outcome, page, pictures

NO_PICTURES, INCOMPLETE, INTERRUPTED = 3, 4, 130
LEAST = "least"
EPILOG = """Both ways at once, on as many cores as the machine has: NDR and PDR by MLRsearch (RFC 9971), R+, latency at 10, 50 and 90 % of PDR, and
back-to-back frames into one port (RFC 9004). A row that this machine has no cores for says so. The folder holds benchmark.json,
benchmark.html, benchmark.md, pictures, and the measurement of each row with all its trials. A report that was ended continues with
the same command.

Exit status: 0 done, 1 cannot be measured, 2 usage, 3 done but without pictures, 4 a figure is missing, or was disturbed by
other programs: the page says which; 130 stopped: what is done is in the outputs."""


def configure(p):
    """Its options."""
    p.description, p.epilog = "Measure BNG and HQoS on 1, 2 and 4 cores, and make a page of it with the trend over earlier reports.", EPILOG
    d = burst.Options()
    p.add_argument("--out", metavar="DIR", help="folder for the results (default: benchmark)")
    p.add_argument("--history", metavar="DIR", help="folder with reports of earlier commits (benchmark.json, or files that were it), for the trend")
    p.add_argument("--case", action="append", choices=[c.name for c in cases.CASES], help="measure only this; may be repeated (default: all)")
    p.add_argument("--cores", default=",".join(map(str, cases.CORES)), metavar="LIST", help="numbers of cores of the gateway, of 1, 2, 4 (default: %(default)s)")
    p.add_argument("--sizes", default=LEAST, metavar="LIST", help="frame sizes, as for measure; least: the smallest that a case has (default: %(default)s)")
    p.add_argument("--quick", action="store_true", help="few short trials: to see that it works, not for figures")
    p.add_argument("--seconds", type=between(0.2, 3600), metavar="S", help=f"length of a trial (default: {d.seconds:g})")
    p.add_argument("--bursts", type=between(0, 1000, int), metavar="N", help=f"searches for the longest burst; 0: none (default: {d.bursts}, as RFC 9004 asks)")
    p.add_argument("--memory", choices=("no-huge", "hugepages"), default="no-huge", help="memory of the gateway and its tester (default: %(default)s)")
    p.add_argument("--fresh", action="store_true", help="begin anew, even where the folder holds a part of a report")
    p.add_argument("--render", metavar="RESULT", help="run nothing: write the page of a benchmark.json again, into --out or beside it")
    add_vbng(p)


def _options(args):
    base = burst.QUICK if args.quick else burst.Options()
    given = {name: value for name in ("seconds", "bursts") if (value := getattr(args, name)) is not None}
    options = replace(base, **given)
    return replace(options, short=min(options.short, options.seconds))


def _cores(args):
    try:
        wanted = [int(w) for w in args.cores.split(",")]
    except ValueError:
        wanted = [0]
    if not set(wanted) <= set(cases.CORES):
        args.parser.error(f"--cores {args.cores}: expected some of {','.join(map(str, cases.CORES))}")
    return wanted


def _sizes(args, case):
    return parse_sizes(",".join(case.size if w.strip() == LEAST else w for w in args.sizes.split(",")))


class Stopped(Exception):
    """The report was ended; why."""


def _measure(case, n, args, options, folder):
    """Rows of a case on n cores. Raises Stopped behind the rows that are done: its second argument."""
    sizes = _sizes(args, case)
    try:
        layout = cases.prepare(case, n, folder, args.vbng)
    except ValueError as e:
        return [outcome.impossible(case, n, str(size), str(e)) for size in sizes]
    rig = Rig(case.config, settings={"memory": args.memory, **cases.settings(case, n)}, layout=layout, vbng=args.vbng).discover()
    for size in sizes:
        rig.check(size)
    book = journal.Journal(os.path.join(folder, "journal.jsonl"), result.fingerprint(rig, options, sizes, ["both"]), args.fresh)
    progress, partial = Progress(), None
    m = burst.Measurement(rig, options, sizes, ["both"], book, progress)
    try:
        m.run()
    except KeyboardInterrupt as e:
        partial = f"stopped ({e.args[0] if e.args else 'SIGINT'}); the same command continues it"
    finally:
        progress.end()
    whole = result.build(rig, options, m, args.command_line, partial)
    result.write_json(whole, os.path.join(folder, "result.json"))
    measure.write(whole, folder)
    rows = [outcome.judge(outcome.measured(case, n, f["size"], rig, m, f), options.parts) for f in m.figures]
    if partial:
        raise Stopped(partial, rows)
    return rows


def write(report, folder, history):
    """Write the page of a report. Returns the exit status."""
    before, other = outcome.history(history, report) if history else ([], [])
    try:
        drawn, status = pictures.draw(report, before, folder), 0
    except plots.Missing as e:
        print(f"vbng-lab benchmark: {e}", file=sys.stderr)
        drawn, status = {}, NO_PICTURES
    for name, text in (("benchmark.html", page.page), ("benchmark.md", page.markdown)):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(text(report, drawn, other))
    wrong = [f"{outcome.name_of_row(r)}: {x}" for r in report["rows"] if r["possible"] for x in r["disturbed"] + r["missing"]]
    print(*_text(report), *other, *wrong, sep="\n")
    return INCOMPLETE if wrong else status


def _text(report):
    """The table of throughput for a terminal."""
    return [" | ".join(str(c) for c in cells) for cells in (page.HEAD, *page.throughput_rows(report))]


def run(args):
    """Measure, or render what is measured. Returns the exit status."""
    if args.render:
        try:
            report = outcome.read(args.render)
        except (OSError, ValueError) as e:
            raise Failure(str(e)) from None
        return write(report, owned.folder(args.out or os.path.dirname(args.render) or "."), args.history)
    options, wanted = _options(args), _cores(args)
    search.package()  # a missing package is reported before the first trial
    folder, rows, partial = owned.folder(args.out or "benchmark"), [], None
    stop_cleanly()
    try:
        for case in cases.named(args.case):
            for n in wanted:
                rows += _measure(case, n, args, options, os.path.join(folder, f"{case.name}-{n}"))
    except Stopped as e:
        partial, done = e.args
        rows += done
    except KeyboardInterrupt:
        partial = "stopped; the same command continues it"
    except (ValueError, OSError) as e:
        raise Failure(str(e)) from None
    report = outcome.build(rows, options, args.command_line, program.binary(args.vbng), partial)
    outcome.write(report, folder)
    status = write(report, folder, args.history)
    return INTERRUPTED if partial else status if any(r["possible"] for r in rows) else 1
