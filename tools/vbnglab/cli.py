# SPDX-License-Identifier: BSD-3-Clause
"""The command line vbng-lab COMMAND: which commands there are, and which module has each.

The module of a command has

    configure(parser)  adds its options and, where it likes, a description; parser: of argparse
    run(args)          does it and returns the exit status; raises Failure. args.parser is the parser of the command, and
                       args.command_line the words of the whole command, for results that say how they were made

A new command is a line in COMMANDS. Its module is read only when the command is given.
"""

import argparse
import importlib
import os
import sys

from .lab.failure import Failure

# command: (module of vbnglab, what it does)
COMMANDS = {
    "measure": ("measure.command", "measure R+, NDR, PDR and latency of a gateway (doc/measure.md)"),
    "benchmark": ("benchmark.command", "measure BNG and HQoS on 1, 2 and 4 cores: NDR, PDR, latency, bursts, trend (doc/benchmark.md)"),
    "sweep": ("sweep.command", "find the best layout and the best mbufs of a configuration (doc/sweep.md)"),
    "experiment": ("experiments.command", "repeat the paper's experiments (doc/experiments)"),
    "aqm": ("aqm.command", "measure delay and goodput of each queue discipline with real TCP (doc/aqm.md)"),
    "cpe": ("cpe.command", "have many CPEs ask a gateway for sessions (doc/cpe.md)"),
    "sessions": ("sessions.command", "run a gateway with its control plane, FreeRADIUS and many CPEs on this machine (doc/cpe.md)"),
    "switch": ("switches.command", "run and compare software switches with vbng behind them (doc/switches.md)"),
    "vm": ("vm.command", "run vbng in a virtual machine (doc/vm.md)"),
    "size": ("size.command", "calculate how large a machine so many subscribers need (doc/sizing.md)"),
    "project": ("project.command", "project what a gateway would forward on a larger machine (doc/project.md)"),
    "describe": ("describe.command", "print what a configuration needs of its machine, for orchestrators; draw it (doc/describe.md)"),
    "doctor": ("doctor.command", "check whether this machine is fit for vbng (doc/doctor.md)"),
    "top": ("top.command", "watch a running vbng in the terminal (doc/telemetry.md)"),
    "web": ("web.command", "serve a live page of a running vbng (doc/web.md)"),
    "exporter": ("exporter.command", "serve the metrics of a running vbng to Prometheus (doc/telemetry.md)"),
}
# Names of programs that are links to this one, other than the names of commands.
LINKS = {"switchlab": "switch", "vbng-top": "top", "vbng-web": "web", "vbng-exporter": "exporter"}
INTERRUPTED = 130


def parser(configured):
    """The parser of the command line. configured: names of the commands whose options it knows."""
    top = argparse.ArgumentParser(prog="vbng-lab", description="The laboratory of vbng.",
                                  epilog="vbng-lab COMMAND --help tells the options of a command. See vbng-lab(1).")
    commands = top.add_subparsers(metavar="COMMAND", required=True)
    for name, (module, what) in COMMANDS.items():
        p = commands.add_parser(name, help=what, description=what[0].upper() + what[1:] + ".",
                                formatter_class=argparse.RawDescriptionHelpFormatter)
        if name in configured:
            command = importlib.import_module(f"vbnglab.{module}")
            command.configure(p)
            p.set_defaults(run=command.run, parser=p)
    return top


def whole_parser():
    """The parser with the options of all commands, for the manual page and for completion."""
    return parser(COMMANDS)


def main(words=None):
    """Run a command. words: its name and options; None: those of sys.argv, where a link to the program with the name of a
    command, or with one of LINKS, stands for that command. Returns the exit status."""
    if words is None:
        program, *words = sys.argv
        called = os.path.basename(program)
        called = LINKS.get(called, called)
        words = [called, *words] if called in COMMANDS else words
    # What follows -- is for the vbng that a command starts.
    own, more = (words[:words.index("--")], words[words.index("--") + 1:]) if "--" in words else (words, None)
    args, unknown = parser(own[:1]).parse_known_args(own)
    if unknown:
        args.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    if more is not None and not hasattr(args, "more"):
        args.parser.error("nothing can follow --")
    args.more = more or []
    args.command_line = ["vbng-lab", *words]
    try:
        status = args.run(args)
        sys.stdout.flush()  # here, where a pipe that is closed is no traceback
        return status
    except Failure as e:
        print(f"{args.parser.prog}: {e}", file=sys.stderr)
        return e.status
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED
