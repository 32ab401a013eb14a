# SPDX-License-Identifier: BSD-3-Clause
"""Fig. 6: the gateway without QoS on the socket of its ports' memory, and on the other one. Needs two sockets; with --quick
one is enough to see that it works: the other one's bar is refused."""

import os

from ..lab import graph
from ..lab.places import CONFIGURATIONS
from ..sweep import advise, layouts, output, pictures
from . import Refused
from .experiment import Variant

TITLE = "Fig. 6: the right and the wrong socket"
ONE_SOCKET = "it compares two sockets, and this machine has one"
BNG = os.path.join(CONFIGURATIONS, "bng-4port.cfg")


def arguments(parser):
    """Add the options of this experiment."""
    parser.add_argument("--config", metavar="FILE", default=BNG, help="configuration (default: cfg/bng-4port.cfg); for NICs, one with their "
                        "PCI addresses as devices")
    parser.add_argument("--ports-socket", type=int, default=0, metavar="N",
                        help="socket of the NICs, and of the mbufs (default: 0)")
    parser.add_argument("--topology", default="live", metavar="SPEC",
                        help="run nothing: make and check the layouts for a machine such as 2x10x2")


def place(g, cores, home, quick=False):
    """Two layouts that differ only in the socket of the gateway's core; the tester is on the ports' socket in both. Core 0 of the socket
    stays free, unless quick. The layout that needs another socket is refused where there is none, if quick. Raises Refused."""
    sockets = sorted({c.socket for c in cores})
    if len(sockets) < 2 and not quick:
        raise Refused(ONE_SOCKET)
    if home not in sockets:
        raise Refused(f"there is no socket {home}")
    here = [c for c in cores if c.socket == home and c.number > 0] + [c for c in cores if quick and (c.socket, c.number) == (home, 0)]
    there = next((c for c in cores if c.socket != home and c.number == 1), None)
    if len(here) < 2:
        raise Refused(f"the gateway and the tester need a core each {'of' if quick else 'beside core 0 of'} socket {home}")
    tester = layouts.tester_entries(g, here[1:])
    wrong = layouts.Layout("wrong-socket", "the gateway on the other socket")
    if there is None:
        wrong.refused = ONE_SOCKET if len(sockets) < 2 else "the other socket has no core beside its core 0"
    else:
        wrong.entries = [(there.name(), g.gateway), *tester]
    return [layouts.Layout("right-socket", "the gateway on the socket of the ports", [(here[0].name(), g.gateway), *tester]), wrong]


def picture(experiment, rows, found):
    """Draw a bar for each of both sockets."""
    plt, good = pictures.pyplot(), advise.usable(rows)
    if plt is None:
        return []
    figure, axes = plt.subplots(figsize=(5, 4))
    names, sizes = [x.name for x in found], "64 and 78 B"
    absent = {(x.name, sizes): x.refused for x in found if x.refused} | advise.absent(rows, lambda r: (r["layout"], sizes))
    pictures.bars(axes, names, [sizes], {(n, sizes): [r["pps"] / 1e6 for r in good if r["layout"] == n] for n in names}, absent=absent)
    axes.set_ylabel("throughput (Mpps)")
    return pictures.save(figure, experiment.folder, "fig6")


def run(experiment):
    """Run both layouts."""
    args = experiment.args
    g = graph.load(args.config, experiment.vbng)
    found = place(g, layouts.cores_of(args.topology), args.ports_socket, experiment.quick and args.topology == "live")
    layouts.write(found, os.path.join(experiment.folder, "layouts"))
    layouts.check(found, args.config, args.topology, experiment.vbng)
    if args.topology != "live":
        return [f"{x.name}: {x.refused or ' | '.join(c + ' ' + ' '.join(t) for c, t in x.entries)}" for x in found]
    settings = [("pools.default.socket", str(args.ports_socket))] + [(f"{n}.rate", "100%") for n in g.generators]
    pages = experiment.pages()[-1]
    rows = experiment.sweep(args.config, found, [Variant(pages or "4K", pages=pages)], settings=settings)
    experiment.save(rows)
    picture(experiment, rows, found)
    return [*output.table(rows, found), "", *advise.advice(rows)]
