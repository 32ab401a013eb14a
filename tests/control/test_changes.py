# SPDX-License-Identifier: BSD-3-Clause
"""Changes by the control socket of the real program while packets wait for their rate."""

import csv
import json
import os
import random
import time
import types

import pytest

from tests.common.limits import limit
from tests.common.verdict import nothing
from tests.control import load
from tests.growth import routes

CHANGES = 10000


def check_csv(gateway, expected):
    """One row of each subscriber, with the profile that it has at the end; packets as the task counted."""
    with open(gateway.csv_path, newline="") as f:
        rows = list(csv.DictReader(f))
    wrong = [] if len(rows) == load.SUBSCRIBERS else [f"{len(rows)} rows"]
    for row in rows:
        if row["profile"] != expected.get(int(row["id"]), "home-100k"):
            wrong.append(f"subscriber {row['id']} has profile {row['profile']}")
            break
    for t in gateway.report()["tasks"]:
        if t["type"] != "qos":
            continue
        name = t["name"]
        sent = sum(int(r[f"{name}_packets"]) for r in rows)
        queues = ["0", "be0", "be1", "be2", "be3"]
        queued = sum(int(r[f"{name}_{q}_queued"]) for r in rows for q in queues)
        tail = sum(int(r[f"{name}_{q}_tail"]) for r in rows for q in queues)
        if sent != t["sent"]:
            wrong.append(f"{name}: subscribers have {sent} packets, the task has sent {t['sent']}")
        if queued != sent + t["held"]:
            wrong.append(f"{name}: {queued} packets queued, {sent} sent, {t['held']} held")
        if tail != t["drops"]["queue_full"]:
            wrong.append(f"{name}: {tail} tail drops of subscribers, {t['drops']['queue_full']} of the task")
    return wrong


def test_the_shaping_error_is_seen(vbng, folder):
    """The 32 hot subscribers, and nobody else, are limited by their rate; none gets more than that."""
    gateway = load.Gateway(vbng, folder)
    client = gateway.wait_until_up()
    wrong = []
    try:
        time.sleep(3.2)
        end = time.monotonic() + limit(20)  # for a gateway that others kept from its CPU
        while True:
            both = client.ask(cmd="show-qos")["qos"]
            if max(s["shaping"]["limited"] for s in both) >= 32 or time.monotonic() > end:
                break
            time.sleep(0.1)
        for s in both:
            e, limited = s["shaping"], 32 if s["task"] == "qos_up" else 0
            if e["limited"] != limited or e["over"] != 0 or e["worst"] > 0.01 or e["worst_subscriber"] > 32:
                wrong.append(f"{s['task']}: {e}")
            # a busy machine takes the core away: then the scheduler says for how long
            if limited and e["median"] < -0.02 and s["lost"] < 0.01:
                wrong.append(f"{s['task']}: too slow, and no time was lost: {e}")
    finally:
        wrong += gateway.end()
    nothing(wrong + load.account(gateway))


@pytest.mark.limit(240)
def test_20000_profiles_change_under_load(vbng, folder):
    """10,000 changes in requests of one, then 10,000 in one request, while packets wait for their rate."""
    gateway = load.Gateway(vbng, folder)
    client = gateway.wait_until_up()
    wrong, expected = [], {}
    pick = random.Random(1)
    try:
        before = client.ask(cmd="show-ledger")["ledger"]
        start = time.monotonic()
        for i in range(CHANGES):
            # the hot ones above all: their queues are never empty
            who = pick.randint(1, 32) if i % 2 else pick.randint(1, load.SUBSCRIBERS)
            expected[who] = pick.choice(["home-100k", "home-10M", "home-50M"])
            if client.ask(cmd="set-profile", subscriber=who, profile=expected[who]) != {"ok": True, "changed": 1}:
                pytest.fail(f"change {i} was not answered well")
        took = time.monotonic() - start
        batch = [[pick.randint(1, load.SUBSCRIBERS), pick.choice(["home-100k", "home-10M"])] for _ in range(CHANGES)]
        start = time.monotonic()
        if client.ask(cmd="set-profiles", changes=batch) != {"ok": True, "changed": CHANGES}:
            pytest.fail("the batch was not answered well")
        batch_took = time.monotonic() - start
        expected.update(batch)
        after = client.ask(cmd="show-ledger")["ledger"]
        held = [s["held"] for s in client.ask(cmd="show-qos")["qos"]]
        if after["received"] <= before["received"] or max(held) == 0:
            wrong.append(f"no traffic was there to disturb: {before} {after} {held}")
        print(f"   {CHANGES} changes one by one in {took:.1f} s, in one request in {batch_took:.2f} s, "
              f"while {after['received'] - before['received']} packets were received")
    finally:
        wrong += gateway.end()
    nothing(wrong + load.account(gateway) + check_csv(gateway, expected))


@pytest.mark.parametrize("batch,come_and_go,via", [(1, False, "192.0.2.2"), (500, False, "192.0.2.2"), (2000, True, "192.0.2.2"), (1, True, "fe80::2")])
def test_routes_with_packets_under_way(vbng, folder, batch, come_and_go, via):
    """Routes lead to next hops of their own, which come and go with them, and no packet is lost."""
    args = types.SimpleNamespace(vbng=vbng, routes=66000, rate="20kpps", hops=3000, batch=batch, seconds=1, come_and_go=come_and_go, via=via)
    process, client = routes.start(args, folder)
    try:
        rate = routes.run(client, args)
        arp = client.ask(cmd="show-arp", first=1, count=1000)["entries"]
    finally:
        process.terminate()
        process.wait()
    with open(os.path.join(folder, "report")) as f:
        sent, wrong = routes.account(json.load(f))
    print(f"{rate:.0f} changes a second, {sent} packets")
    if [e["ipv4"] or e["ipv6"] for e in arp if e["kind"] == "nexthop"] != [via]:
        wrong.append(f"neighbours: {arp}")
    nothing(wrong if sent else [*wrong, "nothing was sent"])
