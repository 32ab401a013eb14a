# SPDX-License-Identifier: BSD-3-Clause
"""The paper's experiments, each one command: runs it, writes a picture, CSV and JSON with the paper's numbers beside
ours, and says what came out. What this machine cannot show is refused with the reason (exit status 3). What has no
figure, as other programs had the CPUs or a run died, is drawn and named as such (exit status 4); the same command,
given again, repeats what was disturbed. See doc/experiments/.
"""

import importlib
import sys

from ..lab import owned
from ..lab.options import add_settings, add_vbng
from ..lab.run import binary
from ..lab.signals import stop_cleanly
from ..sweep import INCOMPLETE, pictures
from . import Refused
from .experiment import Experiment

NAMES = {"table2": "table2", "fig5": "fig5", "fig6": "fig6", "fig10": "fig10", "fig11": "fig11", "fig12": "fig11",
         "sec3e": "sec3e"}
INTERRUPTED = 130


def modules():
    """{name: module} of all experiments."""
    return {name: importlib.import_module(f"vbnglab.experiments.{module}") for name, module in NAMES.items()}


def configure(p):
    """The experiments and their options."""
    p.description = __doc__
    sub = p.add_subparsers(dest="name", required=True, metavar="NAME")
    for name, module in modules().items():
        one = sub.add_parser(name, help=module.TITLE, description=module.__doc__)
        one.add_argument("--out", metavar="DIR", help="folder of the results (default: NAME-out)")
        add_vbng(one)
        one.add_argument("--quick", action="store_true", help="few short runs: to see that it works, not for figures")
        one.add_argument("--rounds", type=int, metavar="N", help="runs of each point (default: 6)")
        one.add_argument("--seconds", type=float, metavar="S", help="length of a run (default: 2)")
        add_settings(one)
        one.add_argument("--hugepages", metavar="2M,1G", help="run with huge pages of these sizes, too: they are reserved for the "
                         "runs and given back (root)")
        getattr(module, "arguments", lambda _: None)(one)


def run(args):
    """Repeat an experiment, and say what came out."""
    stop_cleanly()
    folder = args.out or f"{args.name}-out"
    owned.folder(folder)
    under_way = Experiment(NAMES[args.name], args, folder, binary(args.vbng))
    try:
        lines = modules()[args.name].run(under_way)
    except Refused as e:
        raise Refused(f"{args.name}: refused: {e}") from None
    print(*lines, *(f"{name}: refused: {why}" for name, why in under_way.refused.items()),
          *(f"no figure: {what}" for what in under_way.missing), sep="\n")
    if pictures.pyplot() is None:
        print(f"{args.name}: no pictures: {pictures.lacking()}", file=sys.stderr)
    if under_way.interrupted:
        return INTERRUPTED
    return INCOMPLETE if under_way.missing else 0

