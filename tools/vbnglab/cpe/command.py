# SPDX-License-Identifier: BSD-3-Clause
"""CPEs on lines of QinQ of one interface, which ask a gateway for sessions: how many it begins in a second, and what becomes of the others.

  vbng-lab cpe far-line --lines 10000                     DHCPv4
  vbng-lab cpe far-line --lines 10000 --protocol dual     and an address and a prefix by DHCPv6
  vbng-lab cpe far-line --protocol pppoe-dual --user alice --password secret
  vbng-lab cpe far-line --ping 192.0.2.2 --pings 3        each pings a host behind the gateway from its session
  vbng-lab cpe far-line --hold 60 --release               the sessions last a minute, and are released

Needs root, or CAP_NET_RAW. The exit status is 0 only if all have a session, no address was told to two of them, and each ping was answered.
doc/cpe.md says how it is done.
"""

import argparse
import inspect
import ipaddress
import json
import sys
import time

from ..lab.failure import Failure
from ..lab.options import between
from ..lab.signals import stop_cleanly
from .load import C_VLANS, PROTOCOLS, Load, cpes
from .outcome import outcome, text
from .pings import Pings
from .wire import Wire

MOST_LINES = 4094 * C_VLANS
TPIDS = {"88a8": 0x88A8, "8100": 0x8100}
RELEASES_PER_S = 1000  # they are not answered, so that nothing else holds them back
AFTER_RELEASES = 0.1  # seconds for the last of them


def address(text_):
    """An address of either family. Raises argparse.ArgumentTypeError."""
    try:
        return str(ipaddress.ip_address(text_))
    except ValueError as e:
        raise argparse.ArgumentTypeError(f"{text_!r}: expected an address of IPv4 or IPv6") from e


def configure(p):
    """Its options."""
    p.description = inspect.cleandoc(__doc__)  # which Python 3.13 does by itself
    p.add_argument("interface", metavar="INTERFACE", help="of the kernel, in this network namespace: the CPEs' end of the lines")
    p.add_argument("--protocol", choices=list(PROTOCOLS), default="ipoe", help="ipoe: DHCPv4; dual: then DHCPv6, too; ipv6: DHCPv6 alone; "
                   "pppoe: IPv4 in a session of PPPoE; pppoe-dual: then DHCPv6 in it, too (default: %(default)s)")
    p.add_argument("--user", default="", metavar="NAME", help="of all CPEs, with PPPoE (default: the MAC of each)")
    p.add_argument("--password", default="vbng", metavar="TEXT", help="theirs (default: %(default)s)")
    p.add_argument("--shared-link", action="store_true", help="their addresses of IPv6 may be of one /64, as a server behind a relay gives them")
    p.add_argument("--lines", type=between(1, MOST_LINES, int), default=1000, metavar="N", help="CPEs, each on a line of its own (default: %(default)s)")
    p.add_argument("--svlan", type=between(1, 4094, int), default=1, metavar="ID",
                   help=f"S-VLAN of the first; each has the C-VLANs 1 to {C_VLANS} (default: %(default)s)")
    p.add_argument("--tpid", choices=list(TPIDS), default="88a8", help="type of the outer tag (default: %(default)s)")
    p.add_argument("--window", type=between(1, 65536, int), default=64, metavar="N", help="CPEs that ask at a time (default: %(default)s)")
    p.add_argument("--again", type=between(0.05, 60), default=2.0, metavar="SECONDS", help="one that hears nothing for so long begins anew (default: %(default)g)")
    p.add_argument("--seconds", type=between(0.1, 86400), default=60.0, metavar="SECONDS", help="the longest time until all are up (default: %(default)g)")
    p.add_argument("--ping", type=address, action="append", default=[], metavar="ADDRESS", help="each pings this address when all are up; may be repeated")
    p.add_argument("--pings", type=between(1, 65535, int), default=1, metavar="N", help="how often (default: %(default)s)")
    p.add_argument("--hold", type=between(0, 86400), default=0.0, metavar="SECONDS", help="then wait; no lease is renewed (default: %(default)g)")
    p.add_argument("--release", action="store_true", help="then end the sessions")
    p.add_argument("--json", action="store_true", help="print JSON")
    p.add_argument("--quiet", action="store_true", help="show no progress")


class Progress:
    """A line on the standard error each second."""

    def __init__(self, quiet):
        self.quiet, self.begun, self.before = quiet, time.monotonic(), (time.monotonic(), 0)

    def look(self, load):
        """Say how far it is, if it is time."""
        at, up = self.before
        now = time.monotonic()
        if self.quiet or now - at < 1:
            return
        print(f"{now - self.begun:4.0f} s  {load.up} of {len(load.cpes)} up, {(load.up - up) / (now - at):.0f} a second, {len(load.waiting)} ask, "
              f"{load.again} asked again", file=sys.stderr, flush=True)
        self.before = now, load.up


def hold(load, seconds):
    """Answer what comes for so long."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        load.step()


def release(load):
    """End all sessions."""
    begun, ended = time.monotonic(), [cpe for cpe in load.cpes if cpe.is_up]
    for n, cpe in enumerate(ended):
        for protocol in reversed(cpe.protocols):
            for frame in protocol.end():
                load.wire.send(frame)
        while n > (time.monotonic() - begun) * RELEASES_PER_S:
            load.step()
    hold(load, AFTER_RELEASES)


def go(args, load):
    """Do all of it. Returns the Pings, or None."""
    progress, end = Progress(args.quiet), time.monotonic() + args.seconds
    while not load.done and time.monotonic() < end:
        load.step()
        progress.look(load)
    load.cease()
    pings = Pings(load, args.ping, args.pings) if args.ping else None
    if pings is not None:
        pings.run(time.monotonic() + args.seconds)
    hold(load, args.hold)
    return pings


def run(args):
    """The exit status, when it has printed what came of it; also when it was interrupted."""
    if args.svlan + (args.lines - 1) // C_VLANS > 4094:
        raise Failure(f"--svlan {args.svlan}: so many lines need S-VLANs beyond 4094")
    load = Load(Wire(args.interface), cpes(args.lines, args.protocol, args.svlan, TPIDS[args.tpid], user=args.user, password=args.password,
                                             shares_link=args.shared_link), args.window, args.again)
    stop_cleanly()
    pings = None
    try:
        pings = go(args, load)
        if args.release:
            release(load)
    finally:
        found = outcome(load, pings)
        print(json.dumps(found, indent=2) if args.json else "\n".join(text(found)), flush=True)
    return 0 if load.up == args.lines and not load.wrong and (pings is None or pings.answered == pings.sent) else 1
