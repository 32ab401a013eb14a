# SPDX-License-Identifier: BSD-3-Clause
"""Fig. 10: the minimal pipeline in several layouts, and with mbufs of several sizes."""

from ..sweep import advise, output, pictures
from . import minimal, paper
from .experiment import Variant

TITLE = "Fig. 10: throughput of the layouts of the minimal QoS pipeline"


def picture(experiment, rows, found):
    """Draw the layouts side by side, with a bar for each size of mbufs, and the paper's numbers in grey."""
    plt, good = pictures.pyplot(), advise.usable(rows)
    if plt is None:
        return []
    plan = next(x.plan for x in found if x.plan)
    rooms = sorted({r["data_room"] for r in rows})
    label = {room: f"{output.mbuf_mib(plan, 'default', room, minimal.MBUFS) / 1024:.2f} GiB of mbufs" for room in rooms}
    figure, axes = plt.subplots(figsize=(11, 4.4))
    values = {(x.name, label[room]): [r["pps"] / 1e6 for r in good if r["layout"] == x.name and r["data_room"] == room]
              for x in found for room in rooms}
    absent = advise.absent(rows, lambda r: (r["layout"], label[r["data_room"]]))
    pictures.bars(axes, [x.name for x in found], [label[r] for r in rooms], values, paper.FIG10, absent)
    for i, x in enumerate(found):
        if x.refused:
            axes.text(i, 0.2, "refused here:\n" + ("no SMT" if "SMT" in x.refused else "too few cores"), ha="center", fontsize=8)
    axes.set_ylim(0, 17)
    axes.set_ylabel("throughput (Mpps)")
    pictures.legend(axes, len(rooms))
    axes.set_title("Layouts of the minimal QoS pipeline; grey: the paper's numbers, on its machine", fontsize=10)
    return pictures.save(figure, experiment.folder, "fig10")


def run(experiment):
    """Sweep layouts x sizes of mbufs."""
    found = [x for x in experiment.layouts(minimal.CONFIG, settings=minimal.SETTINGS, files=minimal.FILES) if x.name != "rtc"]
    rooms = minimal.DATA_ROOMS[:1] if experiment.quick else minimal.DATA_ROOMS
    pages = experiment.pages()[-1]
    rows = experiment.sweep(minimal.CONFIG, found, [Variant(pages or "4K", pages=pages)], rooms, [minimal.MBUFS], minimal.SETTINGS)
    experiment.save(rows, paper={"mpps": paper.FIG10},
             layouts=[{"name": x.name, "what": x.what, "refused": x.refused} for x in found])
    picture(experiment, rows, found)
    return [*output.table(rows, found), "", *advise.advice(rows)]
