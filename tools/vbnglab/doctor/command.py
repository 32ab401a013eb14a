# SPDX-License-Identifier: BSD-3-Clause
"""Runs all checks and prints what they have found."""

import json
import sys
import textwrap

from ..lab.options import add_vbng
from ..lab.run import binary
from . import cpus, devices, memory
from .finding import BAD, NOTE, OK, Finding
from .machine import Machine
from .needs import Needs, Unusable, load

WIDTH = 110


def examine(machine, needs):
    """All findings, in the order of the checks."""
    return [f for module in (cpus, memory, devices) for check in module.CHECKS for f in check(machine, needs)]


def print_text(findings, to):
    for f in findings:
        print(f"{f.level:5} {f.check:11} {f.found}", file=to)
        for word, text in (("should be", f.wanted), ("why", f.why)):
            if text:
                print(textwrap.fill(f"{word}: {text}", WIDTH, initial_indent=" " * 18, subsequent_indent=" " * 20),
                      file=to)
        if f.mend:
            print(f"{'':18}mend: {f.mend}", file=to)
    count = {level: sum(f.level == level for f in findings) for level in (OK, NOTE, BAD)}
    print(", ".join(f"{n} {level}" for level, n in count.items()), file=to)


def configure(p):
    """Its options."""
    p.description = "Check whether this machine is fit for vbng, or for one configuration."
    p.epilog = "Exit status: 0 nothing is bad, 1 something is, 2 usage. See doc/doctor.md."
    p.add_argument("config", nargs="?", metavar="CONFIG",
                   help="configuration, or what vbng-lab describe json CONFIG printed (*.json)")
    p.add_argument("--json", action="store_true", help="print the findings as JSON")
    p.add_argument("--layout", metavar="FILE", help="as vbng --layout")
    p.add_argument("--set", action="append", default=[], metavar="TASK.PARAM=VALUE", help="as vbng --set")
    p.add_argument("--root", default="/", metavar="DIR", help="read proc, sys, dev and usr below DIR (default: /)")
    add_vbng(p)


def needs_of(args):
    """The needs of a configuration, whose layout is read for this machine, whatever machine it was written for."""
    options = ["--topology", "live"]
    options += ["--layout", args.layout] if args.layout else []
    options += [word for s in args.set for word in ("--set", s)]
    return load(args.config, binary(args.vbng), options)


def run(args):
    """Print the findings. Returns 1 if one of them is bad, else 0."""
    findings, needs = [], Needs()
    if args.config:
        try:
            needs = needs_of(args)
        except Unusable as e:
            findings.append(Finding("config", BAD, str(e).replace("\n", "; "), "a layout for this machine",
                                    "nothing is known of what it uses, so the rest is about the machine alone",
                                    "write a layout for this machine (vbng --layout)"))
    findings += examine(Machine(args.root), needs)
    if args.json:
        json.dump({"findings": [f.as_dict() for f in findings]}, sys.stdout, indent=2)
        print()
    else:
        print_text(findings, sys.stdout)
    return 1 if any(f.level == BAD for f in findings) else 0
