# SPDX-License-Identifier: BSD-3-Clause
"""What changes while a soak runs. A change is a row of ACTIONS; whatever a gateway learns to do next is one row more."""

import ipaddress
import signal
from dataclasses import dataclass

from tests.soak import checks
from tests.soak import testers
from tests.soak.bed import Broken

DSCPS, CLASSES = range(1, 64), ("0", "1", "be")
PROFILES = ("home-5M", "home-10M", "home-20M")
RATES = ("2G", "5G", "8G", "10G")  # of subports: above what is sent
HEAVY_RATES = ("100pps", "500pps", "1kpps")  # 1200 bytes to four with 1 Mbit/s each: below, at and above what they may have
NEXT_HOP = [{"port": f"core{p}", "mac": f"02:dd:00:00:00:0{p}", "gre": f"203.0.113.{1 + p}", "mpls": 16 + p} for p in (0, 1)]
TOLD = 200  # characters of a refusal: its end says why
EXTRA_NETS = 64  # /24 of each pair that come and go; packets of the streams "extra_up" are always under way to them


def extra_prefix(pair, net):
    return f"198.{testers.EXTRA_NET + pair}.{net}.0/24"


class Churn:
    """The changes, and what they have left in the gateway."""

    def __init__(self, bed, rng):
        self.bed, self.rng = bed, rng
        self.extra = {user + p * testers.STRIDE: False for p in (0, 1) for user in range(testers.EXTRA[0], testers.EXTRA[1] + 1)}
        self.routes = {(p, net): False for p in (0, 1) for net in range(EXTRA_NETS)}

    def some(self, things, most):
        things = list(things)
        return self.rng.sample(things, min(len(things), self.rng.randint(1, most)))

    def profiles(self):
        """Other profiles for up to 200 subscribers."""
        who = [testers.circuit(user + p * testers.STRIDE) for p in (0, 1) for user in self.some(range(testers.USERS[1] + 1), 100)]
        self.bed.ask(cmd="set-profiles", changes=[[f"{port} {svlan}.{cvlan}", self.rng.choice(PROFILES)] for port, svlan, cvlan in who])
        return len(who)

    def subport_rates(self):
        self.bed.ask(cmd="set-subport-rate", scheduler="access", subport=self.rng.choice(("cpe0", "cpe1")),
                     direction=self.rng.choice(("up", "down")), rate=self.rng.choice(RATES))  # fmt: skip
        return 1

    def dscp_maps(self):
        self.bed.ask(cmd="set-dscp", scheduler="access", direction=self.rng.choice(("up", "down")), dscp=self.rng.choice(DSCPS),
                     **{"class": self.rng.choice(CLASSES)})  # fmt: skip
        return 1

    def streams(self):
        """The streams that are too much stop, start, or change their rate."""
        cmd = self.rng.choice(("stop-stream", "start-stream", "set-rate"))
        more = {"rate": self.rng.choice(HEAVY_RATES)} if cmd == "set-rate" else {}
        self.bed.steady.ask(*({"cmd": cmd, "task": name, **more} for name in ("heavy_up", "heavy_down")))
        return 2

    def subscribers(self):
        """Up to 64 come, up to 64 go; their packets flow all the time."""
        come = self.some((u for u, there in self.extra.items() if not there), 64)
        go = self.some((u for u, there in self.extra.items() if there), 64)
        if come:
            self.bed.ask(cmd="add-subscribers", subscribers=[testers.subscriber(user, self.rng.choice(PROFILES)) for user in come])
        if go:
            self.bed.ask(cmd="remove-subscribers", subscribers=["{} {}.{}".format(*testers.circuit(user)) for user in go])
        self.extra |= dict.fromkeys(come, True) | dict.fromkeys(go, False)
        return len(come) + len(go)

    def routes_of_extra(self):
        """Up to 16 routes come and up to 16 go, where packets go to."""
        come = self.some((r for r, there in self.routes.items() if not there), 16)
        go = self.some((r for r, there in self.routes.items() if there), 16)
        if come:
            self.bed.ask(cmd="add-routes", routes=[{"prefix": extra_prefix(p, net), **NEXT_HOP[p]} for p, net in come])
        for p, net in go:
            self.bed.ask(cmd="remove-route", prefix=extra_prefix(p, net))
        self.routes |= dict.fromkeys(come, True) | dict.fromkeys(go, False)
        return len(come) + len(go)

    def routes_of_all(self):
        """A route that packets take at this moment is replaced by one that leads the same way."""
        p = self.rng.choice((0, 1))
        net = ipaddress.IPv4Address(f"198.{18 + p}.0.0") + 16 * self.rng.randrange(4096)
        self.bed.ask(cmd="change-route", prefix=f"{net}/28", **NEXT_HOP[p])
        return 1

    def reload(self):
        """All is again as the configuration says."""
        self.bed.ask(cmd="reload")
        self.extra, self.routes = dict.fromkeys(self.extra, False), dict.fromkeys(self.routes, False)
        return 1

    def peer(self):
        """The peer of two ports ends, or is killed; or starts when there is none."""
        if self.bed.guest is None:
            self.bed.start_guest()
        elif self.bed.leaving is None:
            self.bed.send_guest_away(self.rng.choice((signal.SIGTERM, signal.SIGKILL)))
        return 1


@dataclass(frozen=True)
class Action:
    """A change, how many seconds lie between two of it on average, and what it changes, for the report."""

    run: object
    every: float
    text: str


ACTIONS = (
    Action(Churn.profiles, 2, "profiles changed"),
    Action(Churn.subport_rates, 4, "rates of subports changed"),
    Action(Churn.dscp_maps, 3, "entries of DSCP maps changed"),
    Action(Churn.streams, 5, "streams started, stopped or changed"),
    Action(Churn.subscribers, 2, "subscribers added or removed"),
    Action(Churn.routes_of_extra, 3, "routes added or removed"),
    Action(Churn.routes_of_all, 1, "routes in use replaced"),
    Action(Churn.reload, 20, "configuration read again"),
    Action(Churn.peer, 12, "ports' peer gone, killed or back"),
)


class Schedule:
    """When each action is due: at random times, between half and one and a half of its distance apart. A short run has them closer together."""

    def __init__(self, churn, seconds):
        self.churn = churn
        self.shrink = min(1.0, seconds / 4 / max(a.every for a in ACTIONS))
        self.due = {action: self._distance(action) for action in ACTIONS}
        self.done = dict.fromkeys(ACTIONS, 0)
        self.unanswered = 0  # changes for which a core or the gateway had no CPU in time
        self.unsure = False  # whether one of them was done

    def _distance(self, action):
        return self.shrink * action.every * self.churn.rng.uniform(0.5, 1.5)

    def _refused(self, action, error, idle):
        """What is to be told of it. Who has no CPU cannot answer in time: that is a fault only on a calm machine."""
        if "timed out" in str(error):
            self.unsure = True
            if idle < checks.CALM:
                self.unanswered += 1
                return []
        return [f"{action.text}: {str(error)[-TOLD:]}"]

    def step(self, now, idle):
        """Do what is due; idle: share of the machine's time that was idle of late. Returns [what was refused]."""
        refused = []
        if self.unsure:
            due = [action for action in ACTIONS if action.run is Churn.reload]
            self.unsure = False
        else:
            due = [action for action in ACTIONS if now >= self.due[action]]
        for action in due:
            self.due[action] = now + self._distance(action)
            try:
                self.done[action] += action.run(self.churn)
            except Broken:
                raise
            except OSError as e:
                refused += self._refused(action, e, idle)
        return refused
