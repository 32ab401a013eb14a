# SPDX-License-Identifier: BSD-3-Clause
"""The commands that change something. Each says with --json what it has changed; without, where that is not plain."""

import csv
import json
import os
import sys

from .gateway import Refused, in_batches
from .output import show_json
from .who import given, subscriber


def _done(args, answer):
    if args.json:
        show_json(answer)


def asks(cmd, *keys):
    """What makes a request with the arguments of these names, as far as they were given."""

    def run(gw, args):
        _done(args, gw.ask(cmd, **given(args, *keys)))

    return run


def of_one(cmd, *keys):
    """asks() about a subscriber."""

    def run(gw, args):
        _done(args, gw.ask(cmd, subscriber=subscriber(args.subscriber), **given(args, *keys)))

    return run


def set_mac(gw, args):
    _done(args, gw.ask("set-mac", subscriber=subscriber(args.subscriber), mac=None if args.mac == "learn" else args.mac))


def set_name(gw, args):
    _done(args, gw.ask("set-name", subscriber=subscriber(args.subscriber), name=args.name or None))


def set_dscp(gw, args):
    keys = given(args, "queue")
    _done(args, gw.ask("set-dscp", scheduler=args.scheduler, direction=args.direction, dscp=args.dscp, **{"class": args.traffic_class}, **keys))


def add_subscriber(gw, args):
    svlan, dot, cvlan = args.vlans.partition(".")
    if not (dot and svlan.isdigit() and cvlan.isdigit()):
        raise Refused(f"{args.vlans}: expected SVLAN.CVLAN")
    keys = given(args, "ipv4", "ipv6", "gre_key", "mac", "profile", "routed", "name")
    if args.delegated:
        keys["delegated"] = " ".join(args.delegated)
    answer = gw.ask("add-subscriber", port=args.port, svlan=int(svlan), cvlan=int(cvlan), **keys)
    _done(args, answer)
    if not args.json:
        print(answer["id"])


SESSION = ("session", "mtu", "magic")  # columns of a PPPoE session, whose MAC is the row's


def _read_subscribers(f):
    """Rows of a table as the configuration names them: a header line, then one subscriber each."""
    for number, row in enumerate(csv.DictReader(f), 2):
        if None in row or None in row.values():
            raise Refused(f"line {number}: expected as many fields as the header has")
        one = {key.strip(): value.strip() for key, value in row.items() if value.strip()}
        for key in ("svlan", "cvlan", "gre_key", *SESSION):
            if key in one and not one[key].isdigit():
                raise Refused(f"line {number}: {key}: expected a number")
            if key in one:
                one[key] = int(one[key])
        if "routed" in one:
            if one["routed"] not in ("true", "false"):
                raise Refused(f"line {number}: routed: expected true or false")
            one["routed"] = one["routed"] == "true"
        session = {key: one.pop(key) for key in SESSION if key in one}
        if session and "mac" in one:
            session["mac"] = one.pop("mac")
        yield {**one, "pppoe": session} if session else one


def _read_changes(f):
    """Rows "SUBSCRIBER,PROFILE"."""
    for number, row in enumerate(csv.reader(f), 1):
        if not row:
            continue
        if len(row) != 2:
            raise Refused(f"line {number}: expected SUBSCRIBER,PROFILE")
        yield [subscriber(row[0].split()), row[1].strip()]


def _read_who(f):
    """A subscriber on each line."""
    return (subscriber(line.split()) for line in f if line.strip())


def _route_of(number, row):
    if None in row or None in row.values():
        raise Refused(f"line {number}: expected as many fields as the header has")
    one = {key.strip(): value.strip() for key, value in row.items() if value.strip()}
    if "mpls" in one:
        if not one["mpls"].isdigit():
            raise Refused(f"line {number}: mpls: expected a number")
        one["mpls"] = int(one["mpls"])
    return one, one.pop("also", "false")


def _read_routes(f):
    """Rows of a table as the configuration names them: a header line, then one route each, or (also) one more next hop of the one above."""
    routes = []
    for number, row in enumerate(csv.DictReader(f), 2):
        one, also = _route_of(number, row)
        if also not in ("true", "false"):
            raise Refused(f"line {number}: also: expected true or false")
        if also == "false":
            routes.append([one])
        elif routes and routes[-1][0].get("prefix") == one.get("prefix"):
            routes[-1].append(one)
        else:
            raise Refused(f"line {number}: also: expected the prefix of the row above")
    for hops in routes:
        if len(hops) == 1:
            yield hops[0]
        else:
            prefix = [hop.pop("prefix") for hop in hops][0]
            yield {"prefix": prefix, "nexthops": hops}


def _read_prefixes(f):
    """A prefix on each line."""
    return (line.strip() for line in f if line.strip())


def _from_file(cmd, key, read):
    def run(gw, args):
        f = sys.stdin if args.file == "-" else open(args.file, newline="", encoding="utf-8")
        with f:
            done = in_batches(gw, cmd, key, list(read(f)))
        _done(args, {"changed": done})
        if not args.json:
            print(f"{done} changed")

    return run


add_subscribers = _from_file("add-subscribers", "subscribers", _read_subscribers)
remove_subscribers = _from_file("remove-subscribers", "subscribers", _read_who)
add_routes = _from_file("add-routes", "routes", _read_routes)
change_routes = _from_file("change-routes", "routes", _read_routes)
remove_routes = _from_file("remove-routes", "routes", _read_prefixes)
set_profiles = _from_file("set-profiles", "changes", _read_changes)


def reload(gw, args):
    """What changes, then what cannot."""
    keys = {"file": os.path.abspath(args.file)} if args.file is not None else {}
    answer = gw.ask("reload", dry_run=args.dry_run, details=args.details, **keys)
    if args.json:
        show_json(answer)
        return
    for what in ("subscribers", "routes"):
        print(f"{what}: " + ", ".join(f"{n} {how}" for how, n in answer[what].items()))
    for how, names in answer["profiles"].items():
        print(f"profiles {how}: " + (", ".join(names) or "none"))
    print(f"rates of subports: {answer['rates']} changed\nDSCP: {answer['dscp']} changed")
    for request in answer.get("requests", []):
        print(json.dumps(request))
    for text in answer["restart"]:
        print(f"needs a restart: {text}")
