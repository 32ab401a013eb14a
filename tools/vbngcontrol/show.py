# SPDX-License-Identifier: BSD-3-Clause
"""The commands that show something."""

import csv
import json
import sys
import time

from .gateway import PAGE
from .output import fields, show_json, table
from .who import subscriber

NUMBERS = ("id", "svlan", "cvlan", "gre_key", "session_id")  # columns of CSV that are integers, beside figures
KINDS = {"static": "static", "ipoe": "IPoE", "pppoe": "PPPoE"}


def shows(cmd, key):
    """What shows a key of the answer to a request as JSON, whether --json is said or not."""
    return lambda gw, args: show_json(gw.ask(cmd)[key])


def _circuit(s):
    return f"{s['port']} {s['svlan']}.{s['cvlan']}"


def _session(s):
    """A session as text: its kind, its number and MTU in PPPoE, by whom it is, and since when."""
    pppoe = f" {s['id']}, MTU {s['mtu']}" if s["id"] is not None else ""
    since = f", since {time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(s['since'] / 1e6))}" if s["since"] is not None else ""
    return f"{KINDS[s['kind']]}{pppoe}, by the {s['by']}{since}"


def one_subscriber(gw, args):
    """Who it is, what each qos task gave him, and his queues."""
    s = gw.ask("show-subscriber", subscriber=subscriber(args.subscriber))["subscriber"]
    if args.json:
        show_json(s)
        return
    mac = s["mac"] and f"{s['mac']} ({s['mac_is']})"
    fields([("subscriber", s["id"]), ("name", s["name"]), ("circuit", _circuit(s)), ("ipv4", s["ipv4"]), ("ipv6", s["ipv6"]), ("delegated", s["delegated"]), ("mac", mac),
            ("gre_key", s["gre_key"]), ("profile", s["profile"]), ("session", _session(s["session"]))])
    if s["shaped"]:
        print()
        table(("task", "direction", "bit/s", "bytes", "packets", "waits us"),
              [(t["task"], t["direction"], t["rate"], t["bytes"], t["packets"], round(t["sojourn"] * 1e6, 1)) for t in s["shaped"]])
        print()
        table(("task", "queue", "waiting", "queued", "bytes", "tail drops", "aqm drops"),
              [(t["task"], name, q["depth"], q["queued"], q["queued_bytes"], q["tail"], q["aqm"])
               for t in s["shaped"] for name, q in t["queues"].items()])


def _typed(name, cell):
    """A cell of the table of subscribers, as a value of JSON; None where it is empty."""
    if cell == "":
        return None
    if name in NUMBERS:
        return int(cell)
    if name in ("port", "ipv4", "ipv6", "delegated", "mac", "profile", "name", "session", "session_by"):
        return cell
    return float(cell) if name.endswith("_us") else int(cell)


def all_subscribers(gw, args):
    """CSV of all, page by page."""
    rows = []
    for page, answer in gw.pages("show-subscribers", "rows"):
        if args.json:
            names = answer["header"].split(",")
            rows += [{n: _typed(n, c) for n, c in zip(names, row)} for row in csv.reader(page)]
            continue
        if not rows:
            print(answer["header"])
            rows.append(None)
        for row in page:
            print(row)
    if args.json:
        show_json(rows)


def find(gw, args):
    """Subscribers that a text may mean. Exit status 1: nobody."""
    found, first = [], 1
    while first is not None and len(found) < args.most:
        answer = gw.ask("find-subscribers", text=" ".join(args.text), first=first, count=min(PAGE, args.most - len(found)))
        found += answer["subscribers"]
        first = answer["next"]
    if args.json:
        show_json(found)
    elif found:
        table(("id", "circuit", "ipv4", "ipv6", "delegated", "mac", "gre_key", "profile", "session", "name"),
              [(s["id"], _circuit(s), s["ipv4"], s["ipv6"], s["delegated"], s["mac"], s["gre_key"], s["profile"], KINDS[s["session"]["kind"]], s["name"])
               for s in found])
    else:
        print("vbngctl: nobody is found", file=sys.stderr)
    if first is not None:
        print(f"vbngctl: the first {len(found)}; there may be more (--most)", file=sys.stderr)
    return 0 if found else 1


def routes(gw, args):
    """A line for each, as a configuration would say it; page by page."""
    every = []
    for page, _ in gw.pages("show-routes", "routes"):
        if args.json:
            every += page
            continue
        for route in page:
            unresolved = "" if route.pop("resolved") else "  (MAC of the next hop not known)"
            hops = route.pop("nexthops", [])
            print(" ".join(f"{key}={value}" for key, value in route.items()) + unresolved * (not hops))
            for hop in hops:
                unresolved = "" if hop.pop("resolved") else "  (MAC of the next hop not known)"
                print("    " + " ".join(f"{key}={value}" for key, value in hop.items()) + unresolved)
    if args.json:
        show_json(every)


def changes(gw, args):
    """What is not as the configuration says, as requests."""
    requests = gw.ask("show-changes")["requests"]
    if args.json:
        show_json(requests)
        return
    for request in requests:
        print(json.dumps(request))


def version(gw, args):
    """Which vbng answers."""
    v = gw.ask("show-version")["version"]
    if args.json:
        show_json(v)
    else:
        fields(list(v.items()))


def arp(gw, args):
    """MACs of next hops, then of subscribers."""
    entries = [entry for page, _ in gw.pages("show-arp", "entries") for entry in page]
    entries = [e for e in entries if not args.unknown or e["state"] == "unknown"]
    if args.json:
        show_json(entries)
        return
    table(("kind", "port", "vlans", "address", "mac", "state", "age s", "name"),
          [(e["kind"], e["port"], f"{e['svlan']}.{e['cvlan']}" if "id" in e else None, e["ipv4"] or e["ipv6"], e["mac"], e["state"], e["age"],
            e.get("name"))
           for e in entries])


def _queues(port, columns):
    """Rows of a port's receive queues, each with its core and what that has taken; none where there is one queue."""
    empty = dict.fromkeys(columns)
    return [tuple({**empty, "port": f"{port['name']}.{q.get('name', q['queue'])}", "queues": f"core {q['core']}", "received": q["rx_packets"]}.values())
            for q in port["queues"] if len(port["queues"]) > 1]


def ports(gw, args):
    """Ports, with what their devices counted, and below each its receive queues where it has several."""
    found = gw.ask("show-ports")["ports"]
    if args.json:
        show_json(found)
        return
    lost = ("rx_missed", "rx_errors", "rx_no_mbuf", "tx_errors")
    columns = ("port", "link", "mac", "mtu", "queues", "received", "sent", *lost, "device")
    table(columns, [row for p in found for row in (
        (p["name"], "up" if p["up"] else "down", p["mac"], p["mtu"], f"{p['rx_queues']}/{p['tx_queues']}", p["rx_packets"], p["tx_packets"],
         *(p[key] for key in lost), p["device"]), *_queues(p, columns))])


def directions(gw, args):
    """What subscribers sent and are sent, by family."""
    found = gw.ask("show-directions")["directions"]
    if args.json:
        show_json(found)
        return
    table(("direction", "family", "packets", "bytes"),
          [(name, text, d[f"{family}_packets"], d[f"{family}_bytes"]) for name, d in found.items() for family, text in (("ipv4", "IPv4"), ("ipv6", "IPv6"))])


def tasks(gw, args):
    """Tasks, with their packets and drops by reason."""
    found = gw.ask("show-tasks")["tasks"]
    if args.json:
        show_json(found)
        return
    table(("task", "type", "cpus", "in", "created", "sent", "consumed", "held", "drops"),
          [(t["name"], t["type"], ",".join(map(str, t["cpus"])), t["in"], t["created"], t["sent"], t["consumed"], t["held"],
            " ".join(f"{reason}={n}" for reason, n in t["drops"].items() if n)) for t in found])
