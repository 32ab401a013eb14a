# SPDX-License-Identifier: BSD-3-Clause
"""The measuring instrument from end to end: gen, a line that impairs by known amounts or the gateway, sink."""

import os

from tests.e2e import process

UDP = "udp src 1024 dst 2048\n"
# Who a user is on the access side; the number is his GRE key, too.
ACCESS_TAGS = "vlan tpid 0x88a8 id 128 + user[14:8]\nvlan id 256 + user[7:0]\n"
CORES = (("203.0.113.1", "192.0.2.1", 16), ("203.0.113.2", "192.0.2.5", 17))
PORTS = ("cpe0", "cpe1", "core0", "core1")


def access(n, ip, mac="dst 02:b0:00:00:00:00 src 02:ee:00:00:00:00", dscp=46):
    users = f"var user {32768 * n}-{32768 * n + 32767} random\n"
    return f"size 128\n{users}{{more}}ether {mac}\n{ACCESS_TAGS}ipv4 {ip} dscp {dscp}\n{UDP}"


def core(n, tunnel, ip, users="0-65535", dscp=46):
    mac = f"ether dst 02:b0:00:00:01:0{n} src 02:dd:00:00:00:0{n}\n"
    outer = f"mpls label {CORES[n][2]}\nipv4 {tunnel} dscp {dscp}\ngre key user\n"
    return f"size 152\nvar user {users} random\n{{more}}{mac}{outer}ipv4 {ip} dscp {dscp}\n{UDP}"


def templates(ctx):
    """What is sent into each port of the gateway, and what should come out of it."""
    up, down = "src 10.0.0.0 + user dst 198.18.0.0 + host", "src 198.18.0.0 + host dst 10.0.0.0 + user"
    for n in (0, 1):
        ours, theirs = CORES[n][1], CORES[n][0]
        file = {
            f"in-cpe{n}": access(n, up, f"src 02:c{n}:00:00:00:00 + user[14:0] dst 02:b0:00:00:00:0{n}"),
            f"in-core{n}": core(n, f"src {theirs} dst {ours}", down),
            f"out-cpe{n}": access(n, down, f"dst 02:c{n}:00:00:00:00 + user[14:0] src 02:b0:00:00:00:0{n}"),
            f"out-core{n}": core(n, f"src {ours} dst {theirs}", up),
        }
        for name, text in file.items():
            host = f"var host {65536 * n}-{65536 * n + 65535} random\n" if name == f"in-core{n}" else "var host 0-131071 random\n"
            ctx.write(f"{name}.tmpl", text.format(more=host))


LINE = """
name = "line"; memory = "no-huge";
pools = {{ default = {{ mbufs = "16K"; }}; }};
ports = ( {{ name = "a"; device = "wire:w1"; }}, {{ name = "b"; device = "wire:w1"; }},
          {{ name = "c"; device = "wire:w2"; }}, {{ name = "d"; device = "wire:w2"; }} );
tasks = (
  {{ name = "gen"; type = "gen"; to = "a"; rate = "400kpps"; stamp = true;
    streams = ( {{ name = "one"; template = "in-cpe0.tmpl"; count = "200000"; }} ); }},
  {{ name = "line"; type = "impair"; from = "b"; to = "c"; {line} }},
  {{ name = "sink"; type = "sink"; from = "d"; expect = "in-cpe0.tmpl"; }}
);
layout = ( {{ core = "0"; tasks = ["gen", "line", "sink"]; }} );
"""


def task(report, name):
    return next(t for t in report["tasks"] if t["name"] == name)


def measure(ctx, name, text, *options):
    """The report of a run, and what is wrong with it so far."""
    r = process.run(ctx, "--quiet", *options, ctx.write(f"{name}.cfg", text), report=True, timeout=60)
    if r.status != 0:
        return None, [f"exit status {r.status}: {r.err or r.out}"]
    return r.report(), process.ledger_faults(r.report())


def impaired(ctx, line, least_us=0):
    """One core takes turns at gen, line and sink, so that no wire overflows, however busy the machine is: the sink must find
    exactly what the line says that it did."""
    templates(ctx)
    report, wrong = measure(ctx, "line", LINE.format(line=line))
    if report is None:
        return wrong
    sent = task(report, "gen")["measured"]["streams"][0]["sent"]
    did, found = task(report, "line"), task(report, "sink")["measured"]["streams"][0]
    full = sum(task(report, t)["drops"]["link_full"] for t in ("gen", "line"))
    tail = sent - found["expected"]  # lost behind the last packet that came: no receiver can know
    pairs = {
        "sent": (sent, 200000),
        "link_full": (full, 0),
        "lost": (found["lost"] + tail, did["drops"]["loss"]),
        "duplicates": (found["duplicates"], did["stats"]["duplicated"]),
        "reordered": (found["reordered"], did["stats"]["reordered"]),
        "received": (found["received"], sent - did["drops"]["loss"] + did["stats"]["duplicated"]),
        "late": (found["late"], 0),
        "wrong": (sum(found["wrong"].values()), 0),
        "name": (found["name"], "gen/one"),
        "latency count": (found["latency_ns"]["count"], found["received"]),
        "histogram's count": (sum(n for _, n in found["latency_histogram"]), found["received"]),
    }
    wrong += [f"{what}: {a} instead of {b}" for what, (a, b) in pairs.items() if a != b]
    latency = found["latency_ns"]
    order = [latency[k] for k in ("min", "p50", "p90", "p99", "p99_9", "p99_99", "max")]
    if order != sorted(order) or not latency["min"] <= latency["mean"] <= latency["max"]:
        wrong.append(f"latencies are not in order: {latency}")
    # no packet can be earlier; some packet must meet a machine that has time for it
    if not least_us * 1e3 <= latency["min"] <= least_us * 1e3 + 20e3:
        wrong.append(f"least latency is {latency['min']} ns, the line's is {least_us} us")
    return wrong


GATEWAY = """
name = "gateway"; memory = "no-huge";
pools = {{ default = {{ mbufs = "64K"; overcommit = true; }}; }};
@include "common/ports-qos.cfg"
@include "common/qos.cfg"
subscribers = (
  {{ port = "cpe0"; svlan = "{svlan}"; cvlan = "256-511"; ipv4 = "10.0.0.0/17"; gre_key = "{keys[0]}";
     mac = "02:c0:00:00:00:00"; profile = "home-10M"; }},
  {{ port = "cpe1"; svlan = "128-255"; cvlan = "256-511"; ipv4 = "10.0.128.0/17"; gre_key = "{keys[1]}";
     mac = "02:c1:00:00:00:00"; profile = "home-10M"; }} );
@include "common/routes.cfg"
tasks = (
@include "common/gateway-qos.cfg"
{tester} );
layout = (
  {{ core = "0"; tasks = ["classify", "qos_up", "decap", "route", "fragment", "gre_up", "mpls_up", "mpls_down", "gre_down",
                          "encap", "fragment_down", "qos_down", "arp", "own_route"]; }},
  {{ core = "1"; tasks = [{names}]; }} );
"""


def through_gateway(ctx, keys=("0-32767", "32768-65535"), svlan="128-255"):
    """What the sink of each port found wrong, summed over the streams; and what is wrong with the run."""
    templates(ctx)
    tester, names = "", []
    for p in PORTS:
        tester += f', {{ name = "gen_{p}"; type = "gen"; template = "in-{p}.tmpl"; rate = "20kpps"; count = "20000"; stamp = true; to = "t_{p}"; }}\n'
        tester += f', {{ name = "sink_{p}"; type = "sink"; from = "t_{p}"; expect = "out-{p}.tmpl"; }}\n'
        names += [f'"gen_{p}"', f'"sink_{p}"']
    if not os.path.exists(ctx.path("common")):
        os.symlink(os.path.join(process.CFG_DIR, "common"), ctx.path("common"))
    text = GATEWAY.format(keys=keys, svlan=svlan, tester=tester, names=", ".join(names))
    report, wrong = measure(ctx, "gateway", text, "--share-cpus")
    found = {}
    for p in PORTS if report else ():
        measured = task(report, f"sink_{p}")["measured"]
        streams = measured["streams"]
        found[p] = {k: sum(s["wrong"][k] for s in streams) for k in ("subscriber", "tags", "key", "dscp", "other")}
        found[p]["received"] = sum(s["received"] for s in streams)
        for key in ("unknown_stream", "unchecked", "clock_errors"):
            if measured[key] != 0:
                wrong.append(f"sink_{p}: {key} is {measured[key]}")
    return found, wrong


def right_table(ctx):
    found, wrong = through_gateway(ctx)
    for p, f in found.items():
        if f.pop("received") < 1000:
            wrong.append(f"sink_{p} has received almost nothing")
        if any(f.values()):
            wrong.append(f"sink_{p} found wrong packets: {f}")
    return wrong


def kinds(f):
    return {k for k, n in f.items() if n > 0 and k != "received"}


def swapped_keys(ctx):
    """The subscribers of the two access ports have each other's keys."""
    found, wrong = through_gateway(ctx, keys=("32768-65535", "0-32767"))
    for p in ("core0", "core1") if found else ():
        if kinds(found[p]) != {"key"} or found[p]["key"] != found[p]["received"]:
            wrong.append(f"sink_{p} did not find every key wrong: {found[p]}")
    return wrong


def shifted_tags(ctx):
    """Two ends disagree on the S-VLANs of a port."""
    found, wrong = through_gateway(ctx, svlan="129-256")
    f = found.get("cpe0")
    if f and (kinds(f) != {"tags"} or f["tags"] != f["received"]):
        wrong.append(f"sink_cpe0 did not find all tags wrong: {f}")
    if found and kinds(found["cpe1"]):
        wrong.append(f"sink_cpe1 found wrong packets: {found['cpe1']}")
    return wrong


def tests():
    """(title, function of a context) of each case."""
    yield "sink agrees with a line that loses 1 in 1000", lambda ctx: impaired(ctx, 'loss = "1/1000";')
    yield "sink agrees with a line that does everything, 100 us long", lambda ctx: impaired(
        ctx, 'loss = "1/1000"; duplicate = "0.2%"; reorder = "0.3%"; displacement = 5; delay = "100us"; jitter = "20us";', 100
    )
    yield "through the gateway every packet looks as expected", right_table
    yield "the sink finds swapped GRE keys", swapped_keys
    yield "the sink finds wrong tags", shifted_tags
