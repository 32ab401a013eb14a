# SPDX-License-Identifier: BSD-3-Clause
"""Subscribers, profiles and routes change under load, and every packet is accounted for.

In the environment: CHURN_UPDATES=N, how many (doc/control.md has 100000); CHURN_RATE=LOAD of each of the six generators;
CHURN_SEED=N. What updates cost the packets: tests/bench/costs.py.
"""

import os
import time

import pytest

from tests.common.verdict import nothing
from tests.control import churn
from tests.control import churn_config as cfg

UPDATES = int(os.environ.get("CHURN_UPDATES", "0"))
RATE = os.environ.get("CHURN_RATE", "8kpps")
SEED = int(os.environ.get("CHURN_SEED", "1"))
GENERATORS = ("up_still", "up_churn", "up_hot", "up_routes", "down_still", "down_churn")


def put(client, users, profile, **more):
    entries = [cfg.entry(user, profile) | {key: value(user) for key, value in more.items()} for user in users]
    answer = client.ask(cmd="put-subscribers", subscribers=entries)
    return {r["was"] for r in answer["results"]}


def test_wheel_subscribers_change_in_place(vbng, folder):
    """Who is put again with another profile, name and IPv6 loses no packet: those to and from him all arrive."""
    gateway = churn.Gateway(vbng, folder, RATE, "wheel")
    users = range(256)
    wrong = []
    try:
        client = gateway.wait_until_up()
        for task in GENERATORS:
            client.ask(cmd="stop-stream", task=task)
        while client.ask(cmd="show-ledger")["ledger"]["held"] > 0:
            time.sleep(0.01)
        client.ask(cmd="remove-subscribers", subscribers=[cfg.name(user) for user in users])
        assert put(client, users, "home") == {"added"}
        for task in ("up_still", "down_still", "up_routes"):
            client.ask(cmd="start-stream", task=task)
        was = [put(client, users, profile, **more) for _ in range(4) for profile, more in (
            ("fast", {}),
            ("home", {"ipv6": lambda u: f"2001:db8:1:{u:x}::/64", "name": lambda u: f"user {u}"}),
            ("home", {"ipv6": lambda u: f"2001:db8:1:{u:x}::/64", "delegated": lambda u: f"2001:db8:2:{u:x}00::/56", "name": lambda u: f"user {u}"}),
            ("home", {"ipv6": lambda u: f"2001:db8:9::{256 - u:x}", "delegated": lambda u: f"2001:db8:2:{u:x}00::/56"}),
            ("fast", {"delegated": lambda u: f"2001:db8:2:{255 - u:x}00::/56"}))]
        assert was == [{"changed"}] * len(was)
        for task in GENERATORS:
            client.ask(cmd="stop-stream", task=task)
    except (RuntimeError, OSError) as e:
        wrong.append(str(e))
    finally:
        wrong += gateway.end()
    report = gateway.report()
    wrong += [f"{t['name']} has sent nothing" for t in report["tasks"] if t["name"] in ("up_still", "down_still") and t["sent"] == 0]
    nothing(wrong + churn.account(report))


@pytest.mark.limit(120 + UPDATES / 50)
@pytest.mark.parametrize("backend, updates", [("wheel", UPDATES or 10000), ("librte_sched", UPDATES or 1000)])
def test_churn(vbng, folder, backend, updates):
    gateway = churn.Gateway(vbng, folder, RATE, backend)
    wrong = []
    try:
        made = churn.Updates(gateway.wait_until_up(), SEED)
        start = time.monotonic()
        for _ in range(updates):
            made.one()
        took = time.monotonic() - start
        for _ in range(5):
            made.a_list(cfg.SPARE)
            made.a_list_of_routes()
        wrong += made.differences()
        if made.ids_used_again < updates / 20:
            wrong.append(f"only {made.ids_used_again} ids were used again")
        print(f"{updates} updates in {took:.1f} s, {updates / took:.0f} in a second; {made.ids_used_again} ids used again; {dict(made.done)}")
        for task in GENERATORS:
            made.client.ask(cmd="stop-stream", task=task)
    except (RuntimeError, OSError) as e:
        wrong.append(str(e))
    finally:
        wrong += gateway.end()
    if not wrong or os.path.exists(gateway.report_path):
        wrong += churn.account(gateway.report())
    nothing(wrong)
