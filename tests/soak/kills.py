#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Sessions come, are renewed, carry packets and go, while vbng, vbng-cp, FreeRADIUS and Kea are killed at random moments: doc/soak.md.

    sudo /usr/bin/python3 -m tests.soak.kills --kills 100

Exit status: 0 no session that was acknowledged was lost, no address was told twice, and the accounts agree; 1 else; 2 usage. Needs root, for
interfaces in a namespace of its own.
"""

import argparse
import collections
import os
import random
import shutil
import sys
import tempfile
import time

from tests.common.limits import limit
from tests.container.namespaces import enter
from tests.soak.households import KINDS, RENEW_S, Household, Households
from tests.soak.victims import INTERIM_S, Place
from vbnglab.cpe.wire import Wire
from vbnglab.lab.freeradius import volumes
from vbnglab.sessions.gateway import HOST, HOST6, LINES

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VICTIMS = ("vbng-cp", "store", "vbng", "both", "RADIUS", "DHCP")
BACK_S = 60  # the longest time until a program is back, and sessions are as before
READ_S = 2.0  # octets of so long before that may be missing of a vbng that was killed, of longer on a slow machine: vbng-cp reads them each 0.2 s
AGAIN = 0.2  # share of kills while the program is still coming back


class Failed(Exception):
    """It cannot go on."""


class Kills:
    """One run, and what was seen."""

    def __init__(self, place, args, say):
        self.place, self.args, self.say, self.rng = place, args, say, place.rng
        cpes = [Household(1 + n, 1 + i, kind) for n, kind in enumerate(KINDS) for i in range(args.lines)]
        self.load = Households(Wire(LINES), cpes, args.window, self.rng, [HOST, HOST6], args.rate)
        self.wrong = self.load.wrong
        self.killed, self.back, self.up = collections.Counter(), collections.defaultdict(list), collections.defaultdict(list)
        self.read_at = 0.0  # since when vbng-cp reads the counters of the vbng that runs

    # --- time ---

    def go(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.load.step()

    def until(self, condition, what):
        """Go on until it is so."""
        end = time.monotonic() + BACK_S
        while not condition():
            if self.wrong:
                raise Failed(f"{what}: not waited for any longer")
            if time.monotonic() > end:
                raise Failed(f"{what}: not after {BACK_S} s")
            self.load.step()

    # --- kills ---

    def programs(self, victim):
        """Those that a victim stands for."""
        place = self.place
        return {"vbng-cp": [place.control_plane], "store": [place.control_plane], "vbng": [place.user_plane],
                "both": [place.user_plane, place.control_plane], "RADIUS": [place.radius],
                "DHCP": [self.rng.choice([place.kea4, place.kea6])]}[victim]

    def kill(self, victim, programs):
        """At this moment; the store's is within one of its next changes."""
        if victim == "store":
            thread = self.place.control_plane.kill_in_commit(self.rng.randint(1, 40))
            self.until(lambda: not thread.is_alive(), "a change of the store")
        for program in programs:
            program.kill()
        if self.args.forget and self.place.control_plane in programs:
            self.place.control_plane.forget()
        self.killed[victim] += 1
        self.up[victim].append(self.load.up)
        now = time.monotonic()
        if self.place.control_plane in programs:
            self.wrong += [f"the store: {fault}" for fault in self.place.control_plane.store_faults()]
        return now

    def one(self, victim):
        """A kill, and all that was before is there again."""
        if victim == "vbng":
            self.until(lambda: time.monotonic() - self.read_at > READ_S, "counters")
        programs = self.programs(victim)
        at = self.kill(victim, programs)
        while True:
            self.go(self.rng.uniform(0, 0.6))
            for program in programs:
                program.launch()
            if self.rng.random() > AGAIN:
                break
            self.go(self.rng.uniform(0, 0.3))
            self.kill(victim if victim != "store" else "vbng-cp", programs)
        self.until(lambda: all(program.ready() for program in programs), victim)
        if self.place.user_plane in programs:
            self.until(lambda: self.same(), f"sessions after a kill of {victim}")
            self.load.excuse()
            for cpe in self.load.cpes:
                cpe.doubt_since(at - limit(READ_S + (INTERIM_S if victim == "both" else 0)))
        else:
            self.until(self.same, f"sessions after a kill of {victim}")
        if self.place.control_plane in programs or self.place.user_plane in programs:
            self.read_at = time.monotonic()
        self.back[victim].append(time.monotonic() - at)

    def same(self):
        """vbng forwards for all that CPEs were told, which have not left."""
        try:
            there = self.place.user_plane.forwarded()
        except (OSError, ValueError):
            return False
        self.missing = [cpe for cpe in self.load.cpes if cpe.is_up and not cpe.is_in(there.get(cpe.line))]
        return not self.missing

    # --- the run ---

    def begin(self):
        for program in self.place.programs[:-1]:
            program.launch()
        self.until(lambda: all(p.ready() for p in self.place.programs[:-1]), "start")
        self.place.control_plane.launch()
        self.until(self.place.control_plane.ready, "start of vbng-cp")
        self.load.churns = False
        self.until(lambda: self.load.up == len(self.load.cpes), "first sessions")
        self.load.churns = True
        self.read_at = time.monotonic()

    def run(self):
        self.begin()
        plan = [victim for victim in self.args.victims for _ in range(self.args.kills)]
        self.rng.shuffle(plan)
        for n, victim in enumerate(plan):
            self.go(self.rng.uniform(0.1, self.args.pause))
            self.one(victim)
            self.say(n + 1, len(plan), self)
        self.end()

    def end(self):
        """All come up once more: nobody hangs. Then all leave, and are accounted for."""
        self.load.churns = False
        self.until(lambda: self.load.up == len(self.load.cpes), "last sessions")
        self.load.flows = False
        self.until(lambda: not self.load.pings, "answers to pings")
        if not self.same():
            self.wrong.append(f"vbng does not forward for {[cpe.line for cpe in self.missing]}")
        self.reach()
        self.load.cease()
        for cpe in self.load.cpes:
            self.load.leave(cpe)
            if self.rng.random() < 0.1:
                self.load.step()
        self.until(lambda: not any(n for state, n in self.place.control_plane.status().items() if state != "none"), "the end of all sessions")
        end = time.monotonic() + BACK_S
        while self.unfinished():
            if time.monotonic() > end:
                raise Failed(f"sessions without an end in the accounts: {self.unfinished()[:5]}")
            self.go(0.5)

    def reach(self):
        """Wait until vbng-cp answers a renewal: where it is not joined to vbng again a CPE's farewell is lost, which is said once."""
        answered, said = self.load.renewed(), 0.0

        def heard():
            nonlocal said
            if time.monotonic() - said > RENEW_S:
                said = time.monotonic()
                self.load.renew(self.load.cpes[0], said)
            return self.load.renewed() > answered

        self.until(heard, "an answer to a renewal")

    def records(self):
        return [r for r in self.place.radius.server.records() if "Acct-Session-Id" in r]

    def unfinished(self):
        """Sessions that RADIUS was told the beginning of alone."""
        kinds = collections.defaultdict(set)
        for r in self.records():
            kinds[r["Acct-Session-Id"]].add(r["Acct-Status-Type"])
        return [number for number, told in kinds.items() if "Stop" not in told]

    # --- the accounts ---

    def judge(self):
        """Compares what RADIUS was told with what CPEs have carried, and with the ledger. Returns lines for the table."""
        result = self.place.user_plane.stop()
        if result.report is None or result.status != 0:
            self.wrong.append(f"vbng: {result.error}")
        self.place.control_plane.stop()
        stops, sums = {}, collections.defaultdict(lambda: [0, 0])
        started = set()
        for r in self.records():
            number = r["Acct-Session-Id"]
            started |= {number} if r["Acct-Status-Type"] == "Start" else set()
            if r["Acct-Status-Type"] == "Stop":
                if number in stops and volumes([stops[number]]) != volumes([r]):
                    self.wrong.append(f"session {number} has two ends: {volumes([stops[number]])} and {volumes([r])}")
                stops[number] = r
        if started != set(stops):
            self.wrong.append(f"sessions with a start or an end alone: {sorted(started ^ set(stops))[:5]}")
        for r in stops.values():
            for way, octets in enumerate(volumes([r]).values()):
                sums[r["NAS-Port-Id"].removeprefix("line ")][way] += octets
        equal, within = 0, [0, 0]
        for cpe in self.load.cpes:
            cpe.note(time.monotonic())
            told, carried = sums[cpe.line], cpe.octets[-1]
            lack = [c - t for c, t in zip(carried, told)]
            equal += lack == [0, 0]
            within = [w + n for w, n in zip(within, lack)]
            if not (0 <= lack[0] <= cpe.doubt[0] and -cpe.beyond <= lack[1] <= cpe.doubt[1]):
                self.wrong.append(f"{cpe.line}: RADIUS was told of {told} octets, the CPE has carried {list(carried)}; at most {cpe.doubt} may be missing")
        whole = [sum(cpe.octets[-1][way] for cpe in self.load.cpes) for way in (0, 1)]
        told = [sum(s[way] for s in sums.values()) for way in (0, 1)]
        lines = [f"accounts: {len(stops)} sessions; octets up and down: CPEs {whole}, RADIUS {told}; equal on {equal} of {len(self.load.cpes)} lines; "
                 f"missing on the others {within}, as documented of kills of vbng"]
        if result.report is not None:
            lines += self.ledger(result.report, told)
        return lines

    def ledger(self, report, told):
        """What vbng itself says, which is of its last life."""
        if not report["ledger"]["balances"]:
            self.wrong.append("the ledger does not balance")
        mine = [sum(report["directions"][way][f"{family}_bytes"] for family in ("ipv4", "ipv6")) for way in ("up", "down")]
        if not self.killed["vbng"] and not self.killed["both"] and mine != told:
            self.wrong.append(f"the ledger has {mine} octets, RADIUS {told}")
        return [f"ledger of vbng since its last start: balances {report['ledger']['balances']}, octets {mine}"]


def percentile(values, p):
    return sorted(values)[min(len(values) - 1, int(p * len(values)))]


def table(kills):
    """For people."""
    yield f"{'killed':<9} {'times':>6} {'sessions up':>12} {'as before after p50':>20} {'max':>8}"
    for victim in kills.args.victims:
        up, back = kills.up[victim], kills.back[victim]
        if back:
            yield (f"{victim:<9} {kills.killed[victim]:>6} {sum(up) / len(up):>12.0f} {percentile(back, 0.5):>18.2f} s {max(back):>6.2f} s")
    c = kills.load.counts
    yield (f"\n{c['sessions']} sessions begun, {c['left']} left, {kills.load.renewed()} of "
           f"{c['renewals']} renewals answered; {c['pings']} pings, {c['answered']} answered, {c['excused']} under way when vbng was killed")


def progress(done, of, kills):
    if sys.stdout.isatty() or done % 10 == 0:
        print(f"{done:4} of {of}  {kills.load.up} up, {kills.load.counts['sessions']} begun, {len(kills.wrong)} wrong", flush=True)


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--kills", type=int, default=10, help="of each victim; some are killed again while they come back (default: %(default)s)")
    p.add_argument("--victims", nargs="+", choices=VICTIMS, default=VICTIMS, help="store: vbng-cp, within a change of its store (default: all)")
    p.add_argument("--lines", type=int, default=50, help=f"of each kind: {', '.join(KINDS)} (default: %(default)s)")
    p.add_argument("--window", type=int, default=64, help="CPEs that ask at a time (default: %(default)s)")
    p.add_argument("--rate", type=float, default=200.0, help="pings a second (default: %(default)g)")
    p.add_argument("--pause", type=float, default=1.0, help="the longest time between two kills, in seconds (default: %(default)g)")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--forget", action="store_true", help="remove the store with each kill of vbng-cp: it must end with status 1")
    p.add_argument("--keep", action="store_true", help="keep the folder with logs and the store")
    p.add_argument("--build", default=os.path.join(TOP, "build"))
    return p.parse_args()


def main():
    args = options()
    os.environ["PYTHONPATH"] = os.pathsep.join((TOP, os.path.join(TOP, "tools")))  # for this file as a program, there
    os.environ["VBNG_CP"] = os.path.join(args.build, "src/cp/vbng-cp")
    why = enter()
    if why:
        sys.exit(why)
    folder, begun = tempfile.mkdtemp(prefix="vbng-"), time.monotonic()
    place = Place(folder, args.lines, random.Random(args.seed), os.path.join(args.build, "vbng"))
    kills = Kills(place, args, progress)
    lines = []
    try:
        kills.run()
        lines = kills.judge()
    except (Failed, RuntimeError) as e:
        kills.wrong.append(str(e))
        stuck = collections.Counter(f"{cpe.kind}: {cpe.state}" for cpe in kills.load.cpes if not cpe.is_up)
        kills.wrong.append(f"not up: {dict(stuck)}; vbng does not forward for {[c.line for c in getattr(kills, 'missing', [])][:5]}")
    finally:
        place.close()
    print("\n".join([*table(kills), *lines, f"{time.monotonic() - begun:.0f} s in all, seed {args.seed}"]))
    print("\n".join(["wrong:", *kills.wrong[:30]]) if kills.wrong else "nothing is wrong")
    if args.keep or kills.wrong and not args.forget:
        print(f"logs and store: {folder}")
    else:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if kills.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
