# SPDX-License-Identifier: BSD-3-Clause
"""A projection as text and as a picture."""

from ..lab.failure import Failure
from ..sweep import pictures
from .costs import RING_MORE, SHARDS, SHARE
from .projection import LINE, LINES, SCHEDULER_LINES, USABLE, WRITTEN

SHORT = {"qinq_decap": "decap", "gre_encap": "gre+", "mpls_push": "mpls+", "mpls_pop": "mpls-", "gre_decap": "gre-", "qinq_encap": "encap", "forward": "tx"}


def assumptions(found):
    """All that the figures rest on, a sentence each."""
    c, lines = found["costs"], LINES + (SCHEDULER_LINES if found["schedulers"] else 0)
    bandwidth = (f"memory: {lines} lines of {LINE} bytes miss for a packet, {100 * WRITTEN:.0f} % of them go back, the frame goes in and out: "
                 f"{found['bytes_of_memory']:.0f} bytes; {100 * USABLE:.0f} % of the memory's rate can be used"
                 if found["cpu"]["bandwidth"] else "memory's rate is not given, and not judged")
    lines = [f"costs of a task are cycles of: {c['source']}, at {c['hz'] / 1e9:g} GHz; another CPU takes as many, at {found['cpu']['hz'] / 1e9:g} GHz",
             "the drivers of NICs cost nothing; a core costs the same however many others work; one socket, one thread of each core",
             "packets are half upstream, half downstream where the graph has both, and the same for each port; the NIC spreads them over receive queues",
             f"a ring costs {c['ring'][0]:.0f} cycles a packet to put it in and {c['ring'][1]:.0f} to take it out, {RING_MORE:.0f} more with several producers, where core-to-core "
             f"latency is {c['core_ns']:.0f} ns and 32 packets or more go in at once", bandwidth]
    if c["fused"]:
        lines.append(f"a core that has all tasks of a direction fuses them, as a gateway does that is not told otherwise: {c['fused'][False]:.2f} of their cycles"
                     + (f", {c['fused'][True]:.2f} with a scheduler" if True in c["fused"] else ""))
    if found["schedulers"]:
        lines += [f"a task qos has up to {SHARDS['wheel']} shards with the wheel, each on a core that does all for its subscribers, behind an lb; that they share rates costs "
                  f"{SHARE:g} cycles a packet; unsharded: a task qos has one core"]
    return lines


def _beside(row):
    if row["spreading_cores"]:
        return f"{row['scheduler_cores']} shards, lb on {row['spreading_cores']}"
    return " | ".join(" ".join(SHORT.get(t, t) for t in tasks) for tasks in row["beside"])


def table(found):
    """Lines of the table over cores."""
    shaped = any(r["unsharded_pps"] for r in found["rows"])
    lines = ["cores     Mpps   Gbit/s  limit                    " + ("unsharded  on the schedulers' cores" if shaped else "")]
    for r in found["rows"]:
        more = f"{r['unsharded_pps'] / 1e6:9.1f}  {_beside(r)}" if shaped else ""
        lines.append(f"{r['cores']:5d} {r['pps'] / 1e6:8.1f} {r['bps'] / 1e9:8.1f}  {r['limit']:25s}{more}".rstrip())
    return lines


def text(found):
    """The projection for people."""
    cpu, ports = found["cpu"], found["ports"]
    memory = f", {cpu['bandwidth'] / 1e9:g} GB/s of memory" if cpu["bandwidth"] else ""
    own = found["layout"]
    lines = [f"{found['configuration']} on {cpu['name']}: {cpu['cores']} cores of {cpu['hz'] / 1e9:g} GHz{memory}"
             + (f", {ports['number']} ports of {ports['rate'] / 1e9:g} Gbit/s" if ports else "") + f", frames of {found['packet']} bytes",
             f"one core takes {found['one_core_cycles']:.0f} cycles a packet; its own layout, with work on {len(own['cores'])} of its cores, allows {own['pps'] / 1e6:.1f} Mpps: "
             f"core {own['core']} limits it" + ("" if own["limit"] == "core" else f" ({own['limit']})")]
    lines += [f"{name} allows {pps / 1e6:.1f} Mpps" for name, pps in found["limits"].items()]
    return "\n".join([*lines, "", *table(found), "", "assumed:", *(f"- {a}" for a in assumptions(found))])


def paper_text(fig10, table2, hz):
    """Fig. 10 and Table II beside the projection."""
    lines = ["", f"Fig. 10: Mpps of the minimal pipeline at {hz / 1e9:g} GHz; the line carries 14.88", "layout         projected    paper"]
    for r in fig10:
        theirs = f"{r['paper']:9.2f}" if r["paper"] is not None else " " * 9
        over = f"  the line; its cores could do {r['pps'] / 1e6:.2f}" if r["pps"] > r["line"] else ""
        lines.append(f"{r['layout']:14s} {min(r['pps'], r['line']) / 1e6:9.2f}{theirs}{over}".rstrip())
    counts = list(table2[0]["pps"])
    lines += ["", "Table II: Mpps of this configuration between 4 ports of 10 Gbit/s; the paper's has no QoS",
              "bytes        the line  " + "".join(f"{n:4d} core{'s' if n > 1 else ' '}" for n in counts) + "   paper: 1, 2"]
    for r in table2:
        size = f"{r['access']}-{r['core']}"
        lines.append(f"{size:12s} {r['line'] / 1e6:8.2f}  " + "".join(f"{pps / 1e6:10.2f}" for pps in r["pps"].values()) + f"   {r['paper'][0]:.2f}, {r['paper'][1]:.2f}")
    return "\n".join(lines)


def check_text(base, rows, ns, rounds, bar):
    """What --check has found. ns: core-to-core latency of each round that counts."""
    lines = [f"two cores of this machine, {len(ns)} of {rounds} rounds undisturbed, core-to-core latency {min(ns):.0f} to {max(ns):.0f} ns:",
             f"cycles a packet of the core without the tester; one core takes {base:.0f}",
             "layout        projected  measured      off"]
    lines += [f"{r['layout']:14s} {r['projected']:8.0f} {r['measured']:9.0f} {100 * r['off']:+7.1f} %{'' if abs(r['off']) <= bar else '  MISSED'}" for r in rows]
    return "\n".join(lines)


def picture(found, folder):
    """Draw Mpps over cores as SVG and PNG. Returns their paths. Raises Failure without Matplotlib."""
    plt = pictures.pyplot()
    if plt is None:
        raise Failure(f"--picture: {pictures.lacking()}")
    figure, axes = plt.subplots(figsize=(8, 4.2))
    cores = [r["cores"] for r in found["rows"]]
    axes.plot(cores, [r["pps"] / 1e6 for r in found["rows"]], marker="o", color=pictures.COLOURS[0],
              label="with shards" if found["schedulers"] else "run to completion")
    if found["schedulers"]:
        axes.plot(cores, [r["unsharded_pps"] / 1e6 for r in found["rows"]], marker="s", color=pictures.COLOURS[1], label="one scheduler per core")
    most = max(r["pps"] for r in found["rows"]) / 1e6
    for colour, (name, pps) in zip(pictures.COLOURS[2:], found["limits"].items()):
        if pps / 1e6 < 1.5 * most:
            axes.axhline(pps / 1e6, ls="--", lw=1, color=colour, label=name)
    axes.set_xscale("log", base=2)
    axes.set_xticks(cores, [str(n) for n in cores])
    axes.set_ylim(bottom=0)
    axes.set_xlabel("cores")
    axes.set_ylabel("Mpps")
    axes.legend(fontsize=8)
    axes.set_title(f"{found['configuration']} on {found['cpu']['name']}, frames of {found['packet']} bytes: projected", fontsize=10)
    return pictures.save(figure, folder, "projection")
