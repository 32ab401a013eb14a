# SPDX-License-Identifier: BSD-3-Clause
"""Fig. 11 and 12: throughput, and packets held by the scheduler, against the memory of all mbufs."""

from statistics import median

from ..sweep import advise, output, pictures
from . import minimal, paper, tlb
from .experiment import Variant, table_lines

TITLE = "Fig. 11 and 12: throughput and packets held against the memory of the mbufs"
LAYOUTS = ["one-core", "qos-alone"]  # nearest to the paper's Fig. 9 and 7 among those that run on two cores, too


def _memory(found, room):
    return output.mbuf_mib(next(x.plan for x in found if x.plan), "default", room, minimal.MBUFS)


def curves(rows, found, column, scale=1.0):
    """{"layout, pages": {MiB: figures}} of a column."""
    out = {}
    for r in advise.usable(rows):
        curve = out.setdefault(f"{r['layout']}, pages of {r['variant']}", {})
        curve.setdefault(_memory(found, r["data_room"]), []).append(r[column] * scale)
    return out


def picture(experiment, rows, found, tlbs, column, name, what, scale):
    """Draw one of the two figures: a column over the memory of the mbufs, with the knee and the reach of the DTLB as vertical lines."""
    plt, drawn = pictures.pyplot(), curves(rows, found, column, scale)
    if plt is None:
        return []
    figure, axes = plt.subplots(figsize=(7.5, 4.2))
    absent = advise.absent(rows, lambda r: (r["layout"], r["variant"], _memory(found, r["data_room"])))
    pictures.lines(axes, drawn, [(x, why) for (*_, x), why in absent.items()])
    xs = sorted({_memory(found, r["data_room"]) for r in rows})
    pictures.memory_axis(axes, xs)
    knee = {"fig11": paper.FIG11_KNEE, "fig12": paper.FIG12_KNEE}[name]
    axes.axvline(knee * 1024, color=pictures.PAPER, lw=2, label=f"paper: begins to change at {knee:g} GiB (pages of 1 GiB)")
    for page in ("4K", "2M", "1G"):
        reach = tlb.reach(tlbs, page)
        if reach and xs[0] <= reach / output.MIB <= xs[-1]:
            axes.axvline(reach / output.MIB, color="k", lw=0.8, ls=":", label=f"DTLB reach here, pages of {page}")
    axes.set_xlabel("memory of the mbufs")
    axes.set_ylabel(what)
    pictures.legend(axes, 2)
    return pictures.save(figure, experiment.folder, name)


def _rows_of_table(rows, found):
    keys = sorted({(r["layout"], r["variant"], r["data_room"]) for r in advise.usable(rows)})
    for layout, variant, room in keys:
        some = [r for r in advise.usable(rows) if (r["layout"], r["variant"], r["data_room"]) == (layout, variant, room)]
        plan = next(x.plan for x in found if x.name == layout)
        memory = _memory(found, room)
        pages = {"4K": memory * 256, "2M": memory / 2, "1G": memory / 1024}[variant]
        yield (layout, variant, f"{memory / 1024:.2f}", f"{pages:.0f}" if pages >= 1 else "1",
               f"{median(r['pps'] for r in some) / 1e6:.2f}", f"{min(r['pps'] for r in some) / 1e6:.2f}",
               f"{max(r['pps'] for r in some) / 1e6:.2f}", f"{median(r['cycles'] for r in some):.0f}",
               f"{median(r['held'] for r in some):.0f}", plan["memory"]["pools"][0]["mbufs_needed"])


def run(experiment):
    """Sweep sizes of mbufs x kinds of pages."""
    found = experiment.layouts(minimal.CONFIG, LAYOUTS[-1:] if experiment.quick else LAYOUTS, minimal.SETTINGS)
    rooms = minimal.DATA_ROOMS[:2] if experiment.quick else minimal.DATA_ROOMS
    variants = [Variant(p or "4K", pages=p) for p in experiment.pages()]
    rows = experiment.sweep(minimal.CONFIG, found, variants, rooms, [minimal.MBUFS], minimal.SETTINGS)
    tlbs = tlb.read(experiment.vbng)
    experiment.save(rows, dtlb=[{"level": level, "entries": n, "pages": p} for level, n, p in tlbs],
             paper={"fig11_knee_gib": paper.FIG11_KNEE, "fig12_knee_gib": paper.FIG12_KNEE, "dtlb_1g": paper.DTLB_1G})
    picture(experiment, rows, found, tlbs, "pps", "fig11", "throughput (Mpps)", 1e-6)
    picture(experiment, rows, found, tlbs, "held", "fig12", "packets held by the scheduler", 1)
    header = ("layout", "pages of", "GiB", "pages", "Mpps", "min", "max", "cycles", "held", "mbufs needed")
    return [*table_lines(header, list(_rows_of_table(rows, found))), "", f"data TLB: {tlb.text(tlbs)}", *advise.advice(rows)]
