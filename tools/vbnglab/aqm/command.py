# SPDX-License-Identifier: BSD-3-Clause
"""Load a subscriber's line with the kernel's own TCP, through a gateway that this command starts, and see what happens to delay.

A home and a server are network namespaces with the kernel's stack; vbng between them shapes the home's line. It downloads, and pings the
server meanwhile, with each queue discipline that this vbng has. Root, or a kernel that lets users have namespaces, is needed. Results go
into a folder (--out): aqm.json, aqm.txt, and a picture of delay over time, aqm.svg and aqm.png. See doc/aqm.md.

  vbng-lab aqm                                        all at 10 Mbit/s, a run of 10 s each
  vbng-lab aqm --rate 1M --rate 100M --congestion cubic
  vbng-lab aqm --congestion cubic+scalable            a TCP beside a sender that responds as L4S wants it
  vbng-lab aqm --family both --ecn                    each case with IPv4, then with IPv6, and ECN (RFC 3168)
  vbng-lab aqm --from one/aqm.json --from two/aqm.json   table and picture of what was measured before
  vbng-lab aqm --discipline pie --discipline "slow-pie=queue = 512; pie = { target = \\"50ms\\"; };"
"""

import argparse
import os
import re
import sys
import tempfile
import time
from dataclasses import dataclass

from ..lab import network, owned, run as runs
from ..lab.failure import Failure
from ..lab.options import add_vbng, between
from ..lab.progress import Progress
from ..lab.signals import stop_cleanly
from ..sweep import pictures
from . import disciplines, output, rig, scalable
from .case import FAMILIES, cases

WANTED = ("cubic", "reno", "bbr")
AVAILABLE = "/proc/sys/net/ipv4/tcp_available_congestion_control"
UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}


@dataclass(frozen=True)
class Options:
    """How each case is run: seconds of a download and of the pings before it, the line's round-trip time in seconds, ECN, vbng."""

    seconds: float
    idle: float
    rtt: float
    ecn: bool
    vbng: str
    extra: list


def rate(text):
    """(bit/s, text) of a rate. Raises argparse.ArgumentTypeError."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([kMG]?)", text)
    if not found or not 64e3 <= float(found[1]) * UNITS[found[2]] <= 10e9:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a rate from 64k to 10G, such as 10M")
    return round(float(found[1]) * UNITS[found[2]]), text


def discipline(text):
    """The text, where it is one of --discipline. Raises argparse.ArgumentTypeError."""
    try:
        disciplines.own(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: expected NAME, or NAME=KEYS") from None
    return text


def configure(p):
    """Its options."""
    p.description = __doc__
    p.add_argument("--rate", action="append", type=rate, metavar="RATE", help="rate of the line in both directions; may be repeated (default: 10M)")
    p.add_argument("--discipline", action="append", type=discipline, metavar="NAME[=KEYS]",
                   help="only this queue discipline, or one of your own by the keys of its class in the configuration; may be repeated")
    p.add_argument("--congestion", action="append", metavar="NAME", help="congestion control of TCP, or scalable for a sender of this "
                   "command's own with ECT(1); NAME+NAME is flows of each; may be repeated (default: those of "
                   f"{', '.join(WANTED)} that the kernel has, and the first with scalable)")
    p.add_argument("--flows", action="append", type=between(1, 64, int), metavar="N", help="downloads at once; may be repeated (default: 1 and 8)")
    p.add_argument("--beside", metavar="RATE", type=rate, default=rate("1G"), help="once, beside a silent subscriber with this rate (default: 1G)")
    p.add_argument("--no-beside", action="store_true", help="never beside another subscriber")
    p.add_argument("--family", choices=("ipv4", "ipv6", "both"), default="ipv4",
                   help="TCP, pings and the subscriber's address are of this one; both: each case in either (default: ipv4)")
    p.add_argument("--ecn", action="store_true", help="have TCP ask for explicit congestion notification (RFC 3168)")
    p.add_argument("--rtt", type=between(0, 1000), metavar="MS", default=0.0, help="round-trip time of the empty line (default: 0)")
    p.add_argument("--seconds", type=between(0.5, 3600), metavar="S", default=10.0,
                   help="length of a download, of which the last three quarters are judged (default: 10)")
    p.add_argument("--repeat", type=between(1, 99, int), metavar="N", default=1,
                   help="run each case so many times, all cases in turns, and show the run with the median of goodput (default: 1)")
    p.add_argument("--from", action="append", dest="earlier", metavar="FILE", help="measure nothing, but put the results of an aqm.json together; may "
                   "be repeated")
    p.add_argument("--out", default="aqm-out", metavar="DIR", help="folder of the results (default: aqm-out)")
    p.set_defaults(more=[])
    add_vbng(p)


def controls(wanted):
    """Names of the congestion controls to use, of which several may be joined. Raises Failure where the kernel lacks one that was named."""
    with open(AVAILABLE, encoding="ascii") as f:
        there = f.read().split()
    missing = [name for names in wanted or () for name in names.split("+") if name not in (*there, scalable.NAME)]
    if missing:
        raise Failure(f"the kernel has no congestion control {', '.join(missing)}; it has {', '.join(there)} (modprobe tcp_{missing[0]})")
    found = [name for name in WANTED if name in there] or there[:1]
    return wanted or [*found, f"{found[0]}+{scalable.NAME}"]


def refusals(found, vbng):
    """{index of a case: why vbng does not take its configuration}."""
    refused = {}
    with tempfile.TemporaryDirectory(prefix="vbng-aqm-") as folder:
        path = os.path.join(folder, "aqm.cfg")
        for i, c in enumerate(found):
            with open(path, "w", encoding="utf-8") as f:
                f.write(c.configuration())
            status, _, err = runs.query(["--check", "--share-cpus", path], vbng)
            if status != 0:
                refused[i] = err.strip().replace(path + ":", "").splitlines()[0] if err.strip() else f"status {status}"
    return refused


def run(args):
    """Run all cases, and write the results."""
    stop_cleanly()
    owned.folder(args.out)
    if args.earlier:
        return show(args.out, output.earlier(args.earlier))
    vbng = runs.binary(args.vbng)
    found = cases(disciplines.chosen(args.discipline, vbng), args.rate or [rate("10M")], controls(args.congestion), args.flows or [1, 8],
                  "" if args.no_beside else args.beside[1], list(FAMILIES) if args.family == "both" else [args.family])
    refused = refusals(found, vbng)
    options = Options(args.seconds, min(1.0, args.seconds / 2), args.rtt / 1e3, args.ecn, vbng, args.more)
    try:
        network.enter()
        network.ip("link", "set", "lo", "up")
        network.silence()
        os.close(network.tun("probe"))
    except OSError as e:
        raise Failure(f"no network namespace with a tun interface can be made here ({e}): run it as root") from None
    progress = Progress()
    progress.expect("aqm", (len(found) - len(refused)) * args.repeat, options.idle + options.seconds)
    runs_of = [[{"error": f"refused: {refused[i]}"}] if i in refused else [] for i in range(len(found))]
    try:
        for i, c in list(enumerate(found)) * args.repeat:
            if i in refused:
                continue
            began = time.monotonic()
            runs_of[i].append(rig.measure(c, options))
            progress.trial("aqm", options.idle + options.seconds, time.monotonic() - began, output.line(c, runs_of[i][-1]))
        progress.close("aqm")
    finally:
        progress.end()
        done = [(c, rig.middle(several)) for c, several in zip(found, runs_of) if several]
        output.write(args.out, done, options, args.command_line)
    return show(args.out, done)


def show(folder, done):
    """Print the table and draw the picture of (case, result) pairs. Returns the status."""
    with owned.output(os.path.join(folder, "aqm.txt")) as f:
        f.write("\n".join(output.table(done)) + "\n")
    print(*output.table(done), sep="\n")
    if not output.picture(folder, done):
        print(f"no picture: {pictures.lacking()}", file=sys.stderr)
    return 1 if any("error" in r for _, r in done) else 0
