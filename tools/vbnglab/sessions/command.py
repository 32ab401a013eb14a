# SPDX-License-Identifier: BSD-3-Clause
"""A gateway with its control plane, a FreeRADIUS and many CPEs on this machine, in a network namespace that ends with them: no NIC and no huge pages.

  vbng-lab sessions                       1,000 CPEs with IPv4, IPv6 and a delegated prefix; each pings a host behind the gateway, and leaves
  vbng-lab sessions --stay                the sessions last until Ctrl-C, to look around
  vbng-lab sessions --without-radius      without FreeRADIUS, and so without accounting
  vbng-lab sessions --relay               ISC Kea behind vbng-cp gives addresses and prefixes

The exit status is 0 only if all sessions begin and end, vbng's ledger balances, RADIUS was told of each octet, and Kea's leases are those of the
sessions. Needs root, or a kernel that lets users have namespaces. doc/cpe.md shows what it prints.
"""

import collections
import inspect
import os
import shutil
import sys
import tempfile
import time

from ..cpe.command import hold, release
from ..cpe.load import PROTOCOLS, Load, cpes
from ..cpe.outcome import octets, outcome, text
from ..cpe.pings import Pings
from ..cpe.wire import Wire
from ..lab.failure import Failure
from ..lab.freeradius import FreeRadius, program, volumes
from ..lab.network import enter
from ..lab.options import add_vbng, between
from ..lab.signals import stop_cleanly
from . import servers
from .gateway import ACCOUNTING, AUTHENTICATION, HOST, HOST6, LINES, PASSWORD, SECRET, USER, Gateway, make_interfaces

END_S = 10  # until all sessions are over and accounted for
GOLD = 10  # each tenth line has the other profile


def configure(p):
    """Its options."""
    p.description = inspect.cleandoc(__doc__)  # which Python 3.13 does by itself
    p.add_argument("--lines", type=between(1, 100000, int), default=1000, metavar="N", help="CPEs (default: %(default)s)")
    p.add_argument("--protocol", choices=list(PROTOCOLS), default="dual", help="as of vbng-lab cpe (default: %(default)s)")
    p.add_argument("--window", type=between(1, 65536, int), default=64, metavar="N", help="CPEs that ask at a time (default: %(default)s)")
    p.add_argument("--pings", type=between(1, 65535, int), default=3, metavar="N", help="of each CPE to each address of the host (default: %(default)s)")
    p.add_argument("--seconds", type=between(1, 86400), default=30.0, metavar="SECONDS", help="the longest time until all are up (default: %(default)g)")
    p.add_argument("--stay", action="store_true", help="keep the sessions until Ctrl-C")
    p.add_argument("--without-radius", dest="radius", action="store_false", help="start no FreeRADIUS")
    p.add_argument("--relay", action="store_true", help="addresses and prefixes are those of ISC Kea, behind vbng-cp as a relay; not for PPPoE")
    add_vbng(p)


def users(all_cpes):
    """FreeRADIUS' users: everybody may come in, and each tenth line has another profile."""
    gold = "".join(f'{c.mac.hex(":")} Auth-Type := Accept\n    Filter-Id = "gold-200M"\n\n' for c in all_cpes[GOLD - 1::GOLD])
    return gold + 'DEFAULT Auth-Type := Accept\n    Filter-Id = "home-50M"\n'


class Demonstration:
    """Everything that runs, and what is wrong. relayed: families that Kea gives."""

    def __init__(self, args, folder, relayed):
        self.args, self.folder, self.wrong = args, folder, []
        self.cpes = cpes(args.lines, args.protocol, user="" if args.radius else USER, password=PASSWORD, shares_link=6 in relayed)
        self.server = self.gateway = None
        self.relayed, self.keas = relayed, servers.Servers(folder, relayed)

    def start(self):
        """All programs."""
        make_interfaces()
        if self.args.radius:
            self.server = FreeRadius(os.path.join(self.folder, "radius"), users(self.cpes), SECRET, AUTHENTICATION, ACCOUNTING)
            self.server.start()
        self.keas.start()
        self.gateway = Gateway(self.folder, self.args.lines, self.server is not None, self.relayed, self.args.vbng)
        self.gateway.ready()
        if self.server is not None:
            self.server.ready()
        self.keas.ready()
        self.load = Load(Wire(LINES), self.cpes, self.args.window)

    def begin(self):
        """The sessions, and what goes through them."""
        end = time.monotonic() + self.args.seconds
        while not self.load.done and time.monotonic() < end:
            self.load.step()
        self.load.cease()
        self.pings = Pings(self.load, [HOST, HOST6], self.args.pings)
        self.pings.run(time.monotonic() + self.args.seconds)
        found = outcome(self.load, self.pings)
        say("CPEs", *text(found))
        self.wrong += found["wrong"]
        if self.load.up < self.args.lines:
            self.wrong.append(f"{self.args.lines - self.load.up} lines have no session")
        if self.pings.lost:
            self.wrong.append(f"{self.pings.lost} pings were not answered")
        status = self.gateway.status()
        say("vbng-cp", *(f"{state:<22} {n:>8}" for state, n in status["lines"].items() if n),
            *(f"pool {p['name']:<17} {p['addresses'] - p['free']:>8} of {p['addresses']} addresses" for p in status["pools"]),
            *(f"pool {p['name']:<17} {p['delegated'] - p['delegated_free']:>8} of {p['delegated']} prefixes" for p in status["pools6"]))
        if self.relayed:
            rows, wrong = servers.compare(self.leases())
            say("leases of DHCP", *rows)
            self.wrong += wrong

    def leases(self):
        """{who: what he says of leases}."""
        return {"Kea's lease files": self.keas.leases(), "vbng-cp's sessions": servers.of_control_plane(self.gateway.sessions()),
                "the CPEs": servers.of_cpes(c for c in self.cpes if c.is_up)}

    def stay(self):
        """Until Ctrl-C."""
        say("look around, in another terminal; Ctrl-C here ends it", *self.hints(self.gateway.vbng_socket, self.gateway.cp_socket))
        try:
            while True:
                hold(self.load, 1)
        except KeyboardInterrupt:
            print()

    def hints(self, vbng_socket, cp_socket):
        """What one might ask."""
        cpe = self.cpes[-1]
        return (f"export VBNG_SOCKET={vbng_socket} VBNG_CP_SOCKET={cp_socket}",
                "vbngctl sessions up | head                     # who is there",
                f"vbngctl sessions {cpe.mac.hex(':'):<30}# one CPE, and what happened on its line",
                "vbngctl show subscribers | head                # what vbng forwards for them",
                f"vbngctl disconnect line {cpe.line:<23}# end a session",
                "vbng-lab top                                   # what passes")

    def _over(self):
        """All sessions are over and, where there is RADIUS, it was told of all ends."""
        if any(n for state, n in self.gateway.status()["lines"].items() if state != "none"):
            return False
        return self.server is None or len(self.stops()) >= self.load.up

    def stops(self):
        """The records of sessions that are over."""
        return [r for r in self.server.records() if r["Acct-Status-Type"] == "Stop"]

    def end(self):
        """The sessions; then the programs. Says what each has counted."""
        before = {**self.carried(), "vbng's subscribers": self.gateway.octets()}
        release(self.load)
        end = time.monotonic() + END_S
        while not self._over() and time.monotonic() < end:
            hold(self.load, 0.1)
        if not self._over():
            self.wrong.append(f"sessions are not over, or not accounted for, after {END_S} s: {self.gateway.status()['lines']}")
        records = self.server.records() if self.server is not None else []
        if self.relayed:
            self.give_back(end)
        self.stop_servers()
        result, self.gateway = self.gateway.stop(), None
        if result.report is None:
            raise Failure(f"vbng: {result.error}")
        self.judge(result.report, before, records)

    def give_back(self, end):
        """Leases go back to Kea behind the sessions: each is said once, and what was lost on the way runs out by itself."""
        while (left := sum(map(len, self.keas.leases().values()))) and time.monotonic() < end:
            hold(self.load, 0.1)
        say("leases of DHCP, when the CPEs have left", f"Kea's lease files     {left:>27}")

    def judge(self, report, before, records):
        """Compare the accounts of the same octets: the CPEs', the ledger's, the accounting tasks' and RADIUS'."""
        ledger = report["ledger"]
        drops = collections.Counter({f"{t['name']}.{reason}": n for t in report["tasks"] for reason, n in t["drops"].items() if n})
        say("vbng's ledger, in packets", f"received {ledger['received']} + created {ledger['created']} = sent {ledger['sent']} + "
            f"consumed {ledger['consumed']} + held {ledger['held']} + dropped {ledger['dropped']}",
            *(f"  dropped: {reason} {n}" for reason, n in drops.most_common()))
        if not ledger["balances"]:
            self.wrong.append("the ledger does not balance")
        after = {**self.carried(),
                 "vbng's ledger": {way: sum(report["directions"][way][f"{f}_bytes"] for f in ("ipv4", "ipv6")) for way in ("up", "down")}}
        if self.args.radius:
            after["RADIUS"] = volumes([r for r in records if r["Acct-Status-Type"] == "Stop"])
        say("octets of IP packets", *self.compare("before the CPEs leave", before), "", *self.compare("in all, with how they leave", after))
        if records:
            by_kind = collections.Counter(r["Acct-Status-Type"] for r in records)
            print("\nrecords of RADIUS: " + ", ".join(f"{n} {kind}" for kind, n in by_kind.items()))

    def carried(self):
        """What the CPEs have sent and received; nothing where somebody may have ended sessions of which they do not know."""
        found = octets(self.load)
        return {} if self.args.stay else {"the CPEs": {way: sum(found[key].values()) for way, key in (("up", "sent"), ("down", "received"))}}

    def compare(self, title, accounts):
        """Lines about accounts, which are to be equal."""
        if len({(sums["up"], sums["down"]) for sums in accounts.values()}) > 1:
            self.wrong.append(f"the accounts of octets differ, {title}")
        yield f"{title:<28} {'up':>12} {'down':>12}"
        for name, sums in accounts.items():
            yield f"{name:<28} {sums['up']:>12} {sums['down']:>12}"

    def stop_servers(self):
        """End FreeRADIUS and Kea, if they run."""
        self.keas.stop()
        if self.server is not None:
            self.server.stop()
            self.server = None

    def close(self):
        """End what runs still."""
        self.stop_servers()
        if self.gateway is not None:
            self.gateway.stop()


def say(title, *lines):
    """A part of what is printed."""
    print(f"\n{title}\n{'-' * len(title)}", *lines, sep="\n", flush=True)


def run(args):
    """The exit status."""
    if args.radius:
        try:
            program()
        except Failure as e:
            raise Failure(f"{e}; --without-radius does without it") from e
    relayed = servers.families(PROTOCOLS[args.protocol]) if args.relay else []
    try:
        enter()
    except OSError as e:
        raise Failure(f"no network namespace can be made here: {e}; run it as root") from e
    stop_cleanly()
    begun = time.monotonic()
    folder = tempfile.mkdtemp(prefix="vbng-")
    demonstration = Demonstration(args, folder, relayed)
    try:
        demonstration.start()
        demonstration.begin()
        if args.stay:
            demonstration.stay()
        demonstration.end()
    finally:
        demonstration.close()
        shutil.rmtree(folder, ignore_errors=True)
    if not args.stay:
        say("to look around", "the same with --stay, and then, in another terminal:",
            *demonstration.hints(os.path.join("FOLDER", "vbng.sock"), os.path.join("FOLDER", "vbng-cp.sock")))
    print(f"\n{time.monotonic() - begun:.1f} s in all; " + ("all is right" if not demonstration.wrong else "wrong:"))
    for line in demonstration.wrong:
        print(f"  {line}", file=sys.stderr)
    return 1 if demonstration.wrong else 0
