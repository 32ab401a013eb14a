# SPDX-License-Identifier: BSD-3-Clause
"""Updates of subscribers, profiles and routes, one after the other, and an account of the packets meanwhile."""

import collections
import csv
import os
import random
import subprocess

from tests.control import churn_config as cfg
from tests.control import load

PROFILES = ("slow", "home", "fast")
NEXT_HOPS = 16
ROUTES = 40  # at most, beside those of the configuration
# What a packet of a subscriber who is not there (any more) ends as. queue_full: a hot one sends more than he may.
EXPLAINED = ("classify unknown_subscriber", "gre_down unknown_key", "qos_up not_shaped", "qos_down not_shaped", "qos_up queue_full",
             "qos_up codel")
LOSSLESS = ("up_still", "down_still", "up_routes")


class Gateway(load.Gateway):
    """As in load.py, with the other configuration."""

    def __init__(self, binary, folder, rate, backend):
        self.path = os.path.join(folder, "control.sock")
        self.report_path = os.path.join(folder, "report.json")
        self.config = cfg.write(folder, rate, backend)
        self.binary = binary
        command = [binary, "--quiet", "--share-cpus", "--topology", "1x4x1", "--control", self.path, "--report", self.report_path]
        self.process = subprocess.Popen([*command, self.config], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


class Updates:
    """Makes one update after the other, and knows what must be there then."""

    def __init__(self, client, seed):
        self.client = client
        self.pick = random.Random(seed)
        first = cfg.STILL
        self.there = list(range(first, first + cfg.CONFIGURED))
        self.gone = list(range(first + cfg.CONFIGURED, cfg.USERS))
        self.profile = {user: "home" for user in range(cfg.STILL)} | {user: "slow" for user in self.there}
        self.id = {user: user + 1 for user in self.profile}
        self.routes = {}
        self.ids_used_again = 0
        self.seen = set(self.id.values())
        self.done = collections.Counter()

    def ask(self, cmd, **keys):
        answer = self.client.ask(cmd=cmd, **keys)
        if not answer.get("ok"):
            raise RuntimeError(f"{cmd} {keys}: {answer}")
        self.done[cmd] += 1
        return answer

    def take(self, users):
        """One of a list, removed from it."""
        i = self.pick.randrange(len(users))
        users[i], users[-1] = users[-1], users[i]
        return users.pop()

    def came(self, user, number, profile):
        self.there.append(user)
        self.profile[user] = profile
        self.id[user] = number
        self.ids_used_again += number in self.seen
        self.seen.add(number)

    def add_subscriber(self):
        user, profile = self.take(self.gone), self.pick.choice(PROFILES)
        self.came(user, self.ask("add-subscriber", **cfg.entry(user, profile))["id"], profile)

    def went(self, user):
        self.gone.append(user)
        del self.profile[user]
        return self.id.pop(user)

    def remove_subscriber(self):
        user = self.take(self.there)
        number = self.went(user)
        self.ask("remove-subscriber", subscriber=number if self.pick.random() < 0.5 else cfg.name(user))

    def subscriber(self):
        room = cfg.CONFIGURED + cfg.SPARE - len(self.there)
        if room == 0 or (len(self.there) > cfg.CONFIGURED - cfg.SPARE and self.pick.random() < 0.5):
            self.remove_subscriber()
        else:
            self.add_subscriber()

    def set_profile(self):
        """Of anybody; those who are not to lose a packet keep enough."""
        user = self.pick.choice(self.there) if self.pick.random() < 0.5 else self.pick.randrange(cfg.STILL)
        self.profile[user] = self.pick.choice(PROFILES if user >= cfg.STILL else PROFILES[1:])
        self.ask("set-profile", subscriber=self.id[user], profile=self.profile[user])

    def route(self):
        """198.19.N.0/24, or a quarter of it."""
        block = self.pick.randrange(ROUTES)
        prefix = f"198.19.{block // 2}.{0 if block % 2 else 64}/{24 if block % 2 else 26}"
        other = self.pick.randrange(NEXT_HOPS)
        hops = [{"port": "core1", "mac": "02:dd:00:00:00:00", "gre": f"203.0.113.{2 + n}", "mpls": 17 + n}
                for n in (other, *(self.pick.sample(range(NEXT_HOPS), 3) if self.pick.random() < 0.4 else ()))]
        way = hops[0]
        if len(hops) > 1:
            way = {"nexthops": sorted({hop["mpls"]: hop for hop in hops}.values(), key=lambda hop: hop["mpls"])}
        if prefix not in self.routes:
            self.ask("add-route", prefix=prefix, **way)
        elif self.pick.random() < 0.3:
            self.ask("change-route", prefix=prefix, **way)
        else:
            self.ask("remove-route", prefix=prefix)
            del self.routes[prefix]
            return
        self.routes[prefix] = way

    def one(self):
        self.pick.choices((self.subscriber, self.set_profile, self.route), (5, 2, 3))[0]()

    def a_list(self, n):
        """Many in one request."""
        users = [self.take(self.there) for _ in range(n)]
        self.ask("remove-subscribers", subscribers=[self.went(user) for user in users])
        users = [self.take(self.gone) for _ in range(n)]
        answer = self.ask("add-subscribers", subscribers=[cfg.entry(user, "home") for user in users])
        for user, number in zip(users, answer["ids"]):
            self.came(user, number, "home")

    def a_list_of_routes(self):
        """All routes lead elsewhere, go, and come, each time in one request; those of the configuration have their packets meanwhile."""
        prefixes = list(self.routes)
        for first, cmd in ((3, "change-routes"), (None, "remove-routes"), (5, "add-routes")):
            way = {"port": "core1", "mac": "02:dd:00:00:00:00", "gre": f"203.0.113.{2 + (first or 0)}", "mpls": 17 + (first or 0)}
            entries = prefixes if first is None else [{"prefix": prefix, **way} for prefix in prefixes]
            self.ask(cmd, routes=entries)
            self.routes = {} if first is None else {prefix: way for prefix in prefixes}

    def differences(self):
        """What the gateway shows against what it must be."""
        wrong = []
        shown = {}
        for first in range(1, 10000, 1000):
            page = self.client.ask(cmd="show-subscribers", first=first, count=1000)
            for row in page["rows"]:
                one = dict(zip(page["header"].split(","), next(csv.reader([row]))))
                shown[(int(one["svlan"]), int(one["cvlan"]))] = (int(one["id"]), one["profile"])
        expected = {cfg.vlans(user): (self.id[user], self.profile[user]) for user in self.profile}
        if shown != expected:
            wrong.append(f"subscribers differ: {list(set(shown.items()) ^ set(expected.items()))[:4]}")
        routes = self.client.ask(cmd="show-routes", first=1, count=1000)["routes"]
        shown = {r["prefix"]: r for r in routes if r["prefix"] not in ("198.18.0.0/15", "198.19.0.0/17")}
        for prefix, way in self.routes.items():
            there = dict(shown.get(prefix, {}))
            if "nexthops" in there:  # in their own order
                there["nexthops"] = sorted(({k: v for k, v in hop.items() if k != "resolved"} for hop in there["nexthops"]),
                                           key=lambda hop: hop["mpls"])
            if any(there.get(key) != value for key, value in way.items()):
                wrong.append(f"route {prefix}: {shown.get(prefix)} instead of {way}")
                break
        if len(shown) != len(self.routes):
            wrong.append(f"{len(shown)} routes instead of {len(self.routes)}")
        return wrong


def account(report):
    """What is wrong with the packets of a run."""
    wrong = [] if report["ledger"]["balances"] else [f"the ledger does not balance: {report['ledger']}"]
    tasks = {t["name"]: t for t in report["tasks"]}
    drops = {f"{t['name']} {reason}": n for t in report["tasks"] for reason, n in t["drops"].items() if n > 0}
    wrong += [f"dropped: {what} {n}" for what, n in drops.items() if what not in EXPLAINED]
    streams, received = {}, 0
    for name in ("sink_cpe", "sink_core0", "sink_core1"):
        measured = tasks[name]["measured"]
        received += tasks[name]["consumed"]
        for kind in ("unstamped", "unknown_stream"):
            if measured.get(kind):
                wrong.append(f"{name}: {measured[kind]} {kind}")
        for s in measured["streams"]:
            streams[s["name"]] = s
            bad = {kind: n for kind, n in s.get("wrong", {}).items() if n}
            if bad or s["duplicates"]:
                wrong.append(f"{name}: stream {s['name']}: wrong {bad}, {s['duplicates']} duplicates")
    sent = {t["name"]: t["sent"] for t in report["tasks"] if t["type"] == "gen"}
    for name in LOSSLESS:
        if streams[name]["received"] != sent[name] or streams[name]["lost"]:
            wrong.append(f"{name}: {sent[name]} sent, {streams[name]['received']} received, {streams[name]['lost']} lost")
    unexplained = sum(sent.values()) - received - sum(drops.values())
    if unexplained != 0:
        wrong.append(f"{unexplained} packets unexplained: {sum(sent.values())} sent, {received} received, drops {drops}")
    print(f"   {sum(sent.values())} packets sent, {received} received, 0 lost of {sum(sent[n] for n in LOSSLESS)} that nothing may happen to; "
          f"dropped: {drops}")
    return wrong
