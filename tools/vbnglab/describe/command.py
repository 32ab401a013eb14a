# SPDX-License-Identifier: BSD-3-Clause
"""What a configuration needs of the machine that will run it, in the form that an orchestrator or a person reads."""

import argparse
import json
import sys

from ..lab.options import add_vbng
from ..lab.run import binary
from . import dot, k8s, text, tosca
from .description import describe
from .source import PlanError, read_plan

FORMS = {
    "json": lambda plan, args: json.dumps(describe(plan), indent=2, ensure_ascii=False) + "\n",
    "tosca": lambda plan, args: tosca.write(describe(plan)),
    "k8s": lambda plan, args: k8s.write(describe(plan), args.image or f"vbng:{plan['version']}", args.resource or k8s.RESOURCE),
    "pcie": lambda plan, args: text.pcie(describe(plan)),
    "smt": lambda plan, args: text.smt(describe(plan)),
    "dot": lambda plan, args: dot.write(plan),
}
EPILOG = """Forms:
  json   for programs: the keys of doc/describe.md
  tosca  a VNFD: fragment by ETSI GS NFV-SOL 001
  k8s    Kubernetes: a Pod
  pcie   a table: what each PCI card carries, and the lanes that it needs
  smt    a table: which cores may be SMT siblings
  dot    a picture of the plan: vbng-lab describe dot CONFIG | dot -Tsvg > plan.svg

Exit status: 0 done, 1 the configuration has errors, 2 usage, 3 vbng did not start. See doc/describe.md."""


def _name(text_):
    if not text_:
        raise argparse.ArgumentTypeError("expected a name")
    return text_


def configure(p):
    """Its options."""
    p.description, p.epilog = __doc__, EPILOG
    p.add_argument("form", choices=list(FORMS), metavar="FORM", help="what to print: json, tosca, k8s, pcie, smt or dot")
    p.add_argument("config", metavar="CONFIG", help="configuration of vbng")
    p.add_argument("--image", type=_name, metavar="NAME", help="with k8s: name of the container (default: vbng:VERSION)")
    p.add_argument("--resource", type=_name, metavar="DOMAIN/NAME",
                   help=f"with k8s: what the device plugin calls the NICs (default: {k8s.RESOURCE})")
    p.add_argument("--layout", metavar="FILE", help="as vbng --layout")
    p.add_argument("--set", action="append", default=[], metavar="TASK.PARAM=VALUE", help="as vbng --set")
    p.add_argument("--share-cpus", action="store_true", help="as vbng --share-cpus")
    p.add_argument("--topology", metavar="SPEC", help="as vbng --topology")
    add_vbng(p)


def _vbng_arguments(args):
    options = ["--layout", args.layout] if args.layout else []
    options += [word for setting in args.set for word in ("--set", setting)]
    options += ["--share-cpus"] if args.share_cpus else []
    options += ["--topology", args.topology] if args.topology else []
    return [*options, args.config]


def run(args):
    """Print one form. What vbng says of the configuration goes to standard error as it is. Returns the exit status, which
    is vbng's where it made no plan."""
    if args.form != "k8s" and (args.image or args.resource):
        args.parser.error("--image and --resource are for k8s")
    try:
        plan, warnings = read_plan(_vbng_arguments(args), binary(args.vbng))
    except PlanError as e:
        sys.stderr.write(str(e))
        return e.status
    sys.stderr.write(warnings)
    sys.stdout.write(FORMS[args.form](plan, args))
    return 0
