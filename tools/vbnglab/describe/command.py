# SPDX-License-Identifier: BSD-3-Clause
"""What a configuration needs of the machine that will run it, in the form that an orchestrator or a person reads."""

import argparse
import json
import re
import sys

from ..lab.options import add_vbng
from ..lab.run import binary
from . import dot, k8s, libvirt, sol006, text, tosca
from .description import describe
from .source import PlanError, read_plan

FORMS = {
    "json": lambda plan, args: json.dumps(describe(plan), indent=2, ensure_ascii=False) + "\n",
    "tosca": lambda plan, args: tosca.write(describe(plan)),
    "sol006": lambda plan, args: sol006.write(describe(plan), plan["version"]),
    "k8s": lambda plan, args: k8s.manifest(describe(plan), args.config, args.image or f"vbng:{plan['version']}", args.resource or k8s.RESOURCE),
    "libvirt": lambda plan, args: libvirt.write(describe(plan), plan["topology"], cpus=args.cpus, nodes=args.nodes, **{
        key: value for key in ("image", "seed", "sockets") if (value := getattr(args, key))}),  # fmt: skip
    "pcie": lambda plan, args: text.pcie(describe(plan)),
    "smt": lambda plan, args: text.smt(describe(plan)),
    "dot": lambda plan, args: dot.write(plan),
}
EPILOG = """Forms:
  json   for programs: the keys of doc/describe.md
  tosca  a VNFD: fragment by ETSI GS NFV-SOL 001
  sol006 a VNFD by ETSI GS NFV-SOL 006, which OSM reads, in JSON
  k8s    Kubernetes: a Pod, a ConfigMap of the configuration, networks of Multus
  libvirt a domain of libvirt, in XML, for a guest of the plan's topology
  pcie   a table: what each PCI card carries, and the lanes that it needs
  smt    a table: which cores may be SMT siblings
  dot    a picture of the plan: vbng-lab describe dot CONFIG | dot -Tsvg > plan.svg

Exit status: 0 done, 1 the configuration has errors, 2 usage, 3 vbng did not start. See doc/describe.md."""


ONLY = {"image": ("k8s", "libvirt"), "resource": ("k8s",), "seed": ("libvirt",), "sockets": ("libvirt",), "cpus": ("libvirt",), "nodes": ("libvirt",)}


def _cpus(text_):
    if not re.fullmatch(r"\d+(-\d+)?(,\d+(-\d+)?)*", text_):
        raise argparse.ArgumentTypeError("expected a list of numbers such as 2-5,8")
    ranges = (part.partition("-") for part in text_.split(","))
    return [cpu for first, _, last in ranges for cpu in range(int(first), int(last or first) + 1)]


def _name(text_):
    if not text_:
        raise argparse.ArgumentTypeError("expected a name")
    return text_


def configure(p):
    """Its options."""
    p.description, p.epilog = __doc__, EPILOG
    p.add_argument("form", choices=list(FORMS), metavar="FORM", help="what to print: json, tosca, sol006, k8s, libvirt, pcie, smt or dot")
    p.add_argument("config", metavar="CONFIG", help="configuration of vbng")
    p.add_argument("--image", type=_name, metavar="NAME", help="with k8s: name of the container (default: vbng:VERSION); with libvirt: "
                   "file of the guest's disk (default: /var/lib/libvirt/images/vbng.qcow2)")
    p.add_argument("--seed", type=_name, metavar="FILE", help="with libvirt: seed disk for cloud-init (vbng-lab vm seed)")
    p.add_argument("--sockets", type=_name, metavar="DIR", help="with libvirt: folder of the ports' sockets (default: /run/vbng)")
    p.add_argument("--cpus", type=_cpus, metavar="LIST", default=[], help="with libvirt: CPU of the host for each vCPU, such as 2-5,8 (default: 0, 1, ...)")
    p.add_argument("--nodes", type=_cpus, metavar="LIST", default=[], help="with libvirt: NUMA node of the host for the memory of each socket")
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
    for option, forms in ONLY.items():
        if getattr(args, option) and args.form not in forms:
            args.parser.error(f"--{option} is for {' and '.join(forms)}")
    try:
        plan, warnings = read_plan(_vbng_arguments(args), binary(args.vbng))
    except PlanError as e:
        sys.stderr.write(str(e))
        return e.status
    sys.stderr.write(warnings)
    sys.stdout.write(FORMS[args.form](plan, args))
    return 0
