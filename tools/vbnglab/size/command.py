# SPDX-License-Identifier: BSD-3-Clause
"""Calculate how large a machine a gateway for so many subscribers needs: ports, cores, memory.

  vbng-lab size 20000                                        with what is assumed below
  vbng-lab size 20000 --down 5M --up 500k --port 25G         another busy hour, other ports
  vbng-lab size 20000 --costs bench.json --costs qos.json    with what this machine measured
  vbng-lab size 20000 --write vbng.cfg                       and the configuration to begin with

Memory is what vbng --plan says of that configuration; cores come from what a packet costs. doc/sizing.md says what is in the
figures, and what is not.
"""

import argparse
import inspect
import json
import re
import sys

from ..lab import owned
from ..lab.options import add_vbng, between
from ..lab.run import binary
from . import costs
from .gateway import configuration
from .sizing import Demand, size

UNITS = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}
EXAMPLE = "such as 10M"
MOST_SHARDS = 16  # of a scheduler


def rate(text):
    """Bit/s of a rate. Raises argparse.ArgumentTypeError."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([kKMG]?)", text)
    if not found or not 1e3 <= float(found[1]) * UNITS[found[2]] <= 400e9:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a rate from 1k to 400G, {EXAMPLE}")
    return float(found[1]) * UNITS[found[2]]


def queue(text):
    """A queue's length as a configuration takes it. Raises argparse.ArgumentTypeError."""
    if re.fullmatch(r"[1-9]\d{0,5}", text):
        return text
    if re.fullmatch(r"[1-9]\d{0,3}(ms|us)", text):
        return f'"{text}"'
    raise argparse.ArgumentTypeError(f"{text!r}: expected packets or a time, such as 64 or 5ms")


def configure(p):
    """Its options."""
    p.description = inspect.cleandoc(__doc__)  # which Python 3.13 does by itself
    p.add_argument("subscribers", type=between(1, 4194304, int), metavar="SUBSCRIBERS", help="how many")
    p.add_argument("--routes", type=between(1, 1048576, int), default=1000, metavar="N", help="routes (default: %(default)s)")
    p.add_argument("--down", type=rate, default=3e6, metavar="RATE", help="mean of a subscriber downstream in the busy hour, bit/s (default: 3M)")
    p.add_argument("--up", type=rate, default=300e3, metavar="RATE", help="the same upstream (default: 300k)")
    p.add_argument("--packet", type=between(64, 9000), default=500.0, metavar="BYTES", help="length of a mean frame (default: 500)")
    p.add_argument("--port", type=rate, default=10e9, metavar="RATE", help="of each port (default: 10G)")
    p.add_argument("--sold", type=rate, default=100e6, metavar="RATE", help="of a subscriber's profile (default: 100M)")
    p.add_argument("--shaping", choices=list(costs.CASES), default="wheel", help="backend of the scheduler (default: %(default)s)")
    p.add_argument("--queue", type=queue, default="64", metavar="LENGTH", help="of each of four queues of best effort: packets, or a time (default: %(default)s)")
    p.add_argument("--waiting", type=between(0, 100), default=5.0, metavar="PERCENT", help="subscribers whose queues are full at a time (default: 5)")
    p.add_argument("--busy", type=between(1, 100), default=70.0, metavar="PERCENT", help="of a core's time to plan with (default: 70)")
    p.add_argument("--ghz", type=between(0.1, 10), metavar="GHZ", help="clock of the cores' TSC (default: of what was measured)")
    p.add_argument("--device", type=between(0, 100000), default=0.0, metavar="CYCLES",
                   help="of a packet in the drivers of the two ports that it passes (default: 0)")
    p.add_argument("--costs", action="append", metavar="FILE", help="what bench --json or bench-qos --json wrote; may be repeated (default: shipped figures)")
    p.add_argument("--json", action="store_true", help="print JSON")
    p.add_argument("--write", metavar="FILE", help="write the configuration whose plan this is")
    add_vbng(p)


def si(value, unit):
    """Three digits and a unit."""
    for prefix in ("", "k", "M", "G", "T"):
        if value < 999.5 or prefix == "T":
            return f"{value:.3g} {prefix}{unit}"
        value /= 1000
    raise AssertionError


def memory(n):
    """Bytes as KiB, MiB or GiB."""
    if n < 2**20:
        return f"{n / 2**10:.1f} KiB"
    return f"{n / 2**20:.1f} MiB" if n < 10 * 2**30 else f"{n / 2**30:.1f} GiB"


def sharded(d, c):
    """May one scheduler have as many cores as it needs?"""
    return d["shaping"] == "wheel" and c["schedulers"] <= MOST_SHARDS


def text(s):
    """The figures for people."""
    d, t, c, m = s["demand"], s["traffic"], s["cores"], s["memory"]
    pps = t["down_pps"] + t["up_pps"]
    lines = [f"{d['subscribers']} subscribers of {si(d['sold'], 'bit/s')}, {d['routes']} routes",
             f"busy hour   {si(t['down_bps'], 'bit/s')} down, {si(t['up_bps'], 'bit/s')} up: {si(pps, 'pps')} of {d['packet']:g} bytes",
             f"ports       {s['ports']['access']} access, {s['ports']['core']} core, of {si(d['port_rate'], 'bit/s')}",
             f"cores       {c['cores']} at {d['hz'] / 1e9:g} GHz: {si(c['pps_per_core'], 'pps')} each, {c['cycles']:.0f} cycles a packet, "
             f"{100 * d['busy']:g} % busy"]
    if c["schedulers"] > 1:
        lines.append(f"            {c['schedulers']} for the scheduler of each direction: " + ("a task qos on as many, its shards, behind an lb" if sharded(d, c) else
                     "as many schedulers, which share the access ports"))
    lines += [f"memory      {memory(m['mbufs_bytes']):>10}  {m['mbufs']} mbufs; {m['mbufs_queued']} wait where all queues are full, "
              f"{100 * d['waiting']:g} % of that is counted"]
    lines += [f"            {memory(m[key + '_bytes']):>10}  {key}" for key in ("subscribers", "routes", "schedulers", "rings") if m[key + "_bytes"]]
    lines += [f"            {memory(m['dpdk_bytes']):>10}  in all, with what DPDK takes",
              f"huge pages  {m['pages_2m']} of 2 MiB, or {m['pages_1g']} of 1 GiB",
              f"measured    {c['measured_on']}" + ("; without the ports' drivers (--device)" if d["device"] == 0 else "")]
    return "\n".join(lines)


def run(args):
    """Print the figures. Returns the exit status."""
    cost = costs.read(args.shaping, args.costs or ())
    demand = Demand(args.subscribers, args.routes, args.down, args.up, args.packet, args.port, args.sold, args.shaping, args.queue,
                    args.waiting / 100, args.busy / 100, args.ghz * 1e9 if args.ghz else cost.hz, args.device)
    sized, gateway = size(demand, cost, binary(args.vbng))
    if args.write:
        with owned.output(args.write) as f:
            f.write(configuration(gateway))
    sys.stdout.write((json.dumps(sized, indent=2) if args.json else text(sized)) + "\n")
    return 0
