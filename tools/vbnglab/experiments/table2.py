# SPDX-License-Identifier: BSD-3-Clause
"""Table II: throughput by packet size, and what it has to do with which ports share a card.

The arithmetic holds everywhere. Between wires in memory there is no card: then the figure is what this layout takes.
With two NICs of two ports each, --config names the PCI addresses of the gateway's ports and --pairing says how the
cables go; run it once for each pairing into the same folder.
"""

import glob
import json
import os
from statistics import median

from ..lab import graph
from ..lab.places import CONFIGURATIONS
from ..sweep import advise, layouts, pictures, sweep
from . import Refused, paper, pci
from .experiment import Variant, table_lines, write_table

TITLE = "Table II: interface layouts and packet sizes"
BNG = os.path.join(CONFIGURATIONS, "bng-4port.cfg")


def arguments(parser):
    """Add the options of this experiment."""
    parser.add_argument("--config", metavar="FILE", default=BNG, help="configuration (default: cfg/bng-4port.cfg, on wires)")
    parser.add_argument("--pairing", type=int, choices=(1, 2), help="with NICs: 1 has both access ports on one card and both "
                        "core ports on the other, 2 has one of each on each card")
    parser.add_argument("--arithmetic", action="store_true", help="run nothing")


def sides(g):
    """Return (access ports, core ports) of the gateway; classifying tasks read the access side."""
    access = [p for t in g.receivers() for p in g.tasks[t].ports if g.tasks[t].type == "classify"]
    return access, [p for t in g.receivers() for p in g.tasks[t].ports if p not in access]


def assignment(g, pairing):
    """Pairs for --set that put the ports onto the cards as the pairing says. Raises Refused."""
    access, core = sides(g)
    device = {p["port"]: p["device"] for p in g.plan["ports"]}
    ports = access + core
    if any(pci.card_of(device[p]) is None for p in ports):
        raise Refused("its ports are not NICs: in memory no port shares a card with another")
    pairs = pci.pairings([device[p] for p in ports]) if (len(access), len(core)) == (2, 2) else None
    if pairs is None:
        raise Refused("it needs two access and two core ports on two cards of two ports each")
    return [(f"ports.{p}.device", d) for p, d in zip(ports, pairs[pairing])]


def card_lines(found):
    """Lines about the NICs of this machine."""
    lines = [f"card {card}: {len(ports)} port{'s' * (len(ports) != 1)}, {ports[0]['speed'] or 'link speed unknown'}, "
             f"{ports[0]['width'] or '?'} lanes: {' '.join(p['address'] for p in ports)}" for card, ports in found.items()]
    able = sum(len(ports) >= 2 for ports in found.values())
    if able < 2:
        lines.append(f"the two interface layouts need two cards of two ports each; this machine has {able} such")
    return lines


def arithmetic():
    """Rows: sizes, theoretical maximum, the paper's figures, and what the cards move over PCIe in each direction."""
    for (cpe, core), (theirs, first, second) in paper.TABLE2.items():
        one, two = paper.card_load(cpe, core, 1), paper.card_load(cpe, core, 2)
        yield (f"{cpe}-{core}", f"{paper.theoretical_mpps(cpe, core):.2f}", f"{theirs:.2f}", f"{first:.2f}", f"{second:.2f}",
               f"{one[0]:.1f} + {one[1]:.1f}", f"{two[0]:.1f} + {two[1]:.1f}")


HEADER = ("bytes", "maximum", "paper: maximum", "configuration 1", "configuration 2", "cards, conf. 1", "cards, conf. 2")


def measure(experiment, g):
    """Rows of all packet sizes, on wires or in the pairing asked for, and those of the other pairing that are in the folder."""
    device = {p["port"]: p["device"] for p in g.plan["ports"]}
    on_wires = all(device[p].startswith("wire:") for p in sum(sides(g), []))
    if on_wires and experiment.args.pairing:
        assignment(g, experiment.args.pairing)
    if not on_wires and not experiment.args.pairing:
        raise Refused("say --pairing 1 or 2: how the cables go now")
    base = [] if on_wires else assignment(g, experiment.args.pairing)
    sizes = list(paper.TABLE2)[::5] if experiment.quick else list(paper.TABLE2)
    name = "wires" if on_wires else f"configuration {experiment.args.pairing}"
    variants = []
    for cpe, core in sizes:
        rate = f"{paper.line_pps(core) / 1e6:.5f}Mpps"  # on both sides: what the core side's line carries
        gens = [(f"{n}.{key}", str(v)) for n in g.generators
                for key, v in (("size", core if "core" in n else cpe), ("rate", rate))]
        variants.append(Variant(f"{name}, {cpe}-{core}", base + gens))
    own = layouts.own(experiment.args.config, experiment.vbng)
    return experiment.sweep(experiment.args.config, [own], variants) + earlier(experiment.folder, name)


def earlier(folder, name):
    """Rows of the other pairing, from a run of this command into the same folder before the cables were changed."""
    rows = []
    for path in sorted(glob.glob(os.path.join(glob.escape(folder), "configuration *", sweep.JOURNAL))):
        if not os.path.basename(os.path.dirname(path)).startswith(name):
            with open(path, encoding="utf-8") as f:
                rows += [json.loads(line) for line in f.read().splitlines()[1:]]
    return rows


def result_line(variant, rows):
    """A line of the table for a size."""
    good = sorted(advise.usable(rows), key=lambda r: r["pps"])
    if not good:
        return f"{variant}: {'disturbed by other programs' if any(r['ok'] for r in rows) else 'died: ' + rows[0]['error']}"
    pps = [r["pps"] / 1e6 for r in good]
    return f"{variant}: {median(pps):.2f} Mpps ({pps[0]:.2f} to {pps[-1]:.2f}), {good[len(good) // 2]['why']}"


def picture(experiment, rows):
    """Draw the throughput by size: the maximum, the paper's two configurations, and what was measured."""
    plt = pictures.pyplot()
    if plt is None:
        return []
    sizes = [f"{a}-{b}" for a, b in paper.TABLE2]
    figure, axes = plt.subplots(figsize=(8, 4.2))
    values = {(s, "theoretical maximum"): [t[0]] for s, t in zip(sizes, paper.TABLE2.values())}
    values |= {(s, f"paper, configuration {i}"): [t[i]] for s, t in zip(sizes, paper.TABLE2.values()) for i in (1, 2)}
    series = ["theoretical maximum", "paper, configuration 1", "paper, configuration 2"]
    for r in advise.usable(rows):
        name, size = r["variant"].rsplit(", ", 1)
        values.setdefault((size, f"here, {name}"), []).append(r["pps"] / 1e6)
    names = {r["variant"].rsplit(", ", 1)[0] for r in rows}
    series += sorted({f"here, {n}" for n in names} - set(series))
    absent = advise.absent(rows, lambda r: (r["variant"].rsplit(", ", 1)[1], f"here, {r['variant'].rsplit(', ', 1)[0]}"))
    pictures.bars(axes, sizes, series, values, absent=absent)
    axes.set_xlabel("frame on the CPE side - on the core side (bytes)")
    axes.set_ylabel("throughput (Mpps), 4 ports of 10 Gbit/s")
    pictures.legend(axes, 3)
    return pictures.save(figure, experiment.folder, "table2")


def run(experiment):
    """Print the arithmetic and the cards, and measure."""
    lines = [*table_lines(HEADER, list(arithmetic())), "maximum in Mpps; cards: Gbit/s of frames on each, in each direction", "",
             *card_lines(pci.cards())]
    write_table(os.path.join(experiment.folder, "table2-arithmetic.csv"), HEADER, arithmetic())
    rows = []
    if not experiment.args.arithmetic:
        rows = measure(experiment, graph.load(experiment.args.config, experiment.vbng))
        experiment.save(rows, cards=pci.cards())
        lines += ["", *(result_line(v, [r for r in rows if r["variant"] == v]) for v in dict.fromkeys(r["variant"] for r in rows)),
                  *advise.left_out(rows)]
    picture(experiment, rows)
    return lines
