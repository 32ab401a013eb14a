# SPDX-License-Identifier: BSD-3-Clause
"""How many sessions vbng and vbng-cp begin in a second: CPEs on lines of QinQ, as many as --lines, of which --window ask at a time.

    sudo /usr/bin/python3 -m tests.growth.sessions --lines 10000
    sudo /usr/bin/python3 -m tests.growth.sessions --lines 65536 --window 65536 # all ask at once, as after a power cut
    sudo /usr/bin/python3 -m tests.growth.sessions --lines 65536 --window 65536 --forward 1000 # packets a second through 8 lines that were up before
    sudo /usr/bin/python3 -m tests.growth.sessions --lines 10000 --kills 10     # of vbng-cp, at random moments
    sudo /usr/bin/python3 -m tests.growth.sessions --lines 10000 --dual         # IPv4, then an address and a prefix of IPv6 by DHCPv6
    sudo /usr/bin/python3 -m tests.growth.sessions --lines 10000 --pppoe        # IPv4 in PPPoE sessions; with --dual: and DHCPv6
    sudo /usr/bin/python3 -m tests.growth.sessions --lines 10000 --radius       # a FreeRADIUS is asked for each
    sudo /usr/bin/python3 -m tests.growth.sessions --lines 10000 --accounting   # and told of each
    sudo /usr/bin/python3 -m tests.growth.sessions --lines 10000 --relay        # Kea gives the addresses of IPv4

The client is that of vbng-lab cpe, which shares no code with vbng-cp. It fails if an address is told to two
CPEs, if one that was told is not what vbng forwards for, if not all get one, or if a packet of --forward is lost. Needs root, for interfaces in a namespace of its own.
"""

import argparse
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time

from tests.container.namespaces import enter
from tests.e2e import process

TOP = process.TOP
GATEWAY, GATEWAY_MAC, CORE_MAC = "10.64.0.1", "02:b0:00:00:00:00", "02:b0:00:00:01:00"
USER_PLANE = f"""
name = "sessions"; memory = "no-huge"; idle = "sleep"; max_subscribers = LINES; max_prefixes = PREFIXES; punt_socket = "FOLDER/punt";
pools = {{ default = {{ mbufs = "32K"; }}; }};
ports = ( {{ name = "line"; device = "net_af_packet0,iface=gw-line,framecnt=4096"; mac = "{GATEWAY_MAC}"; addresses = "{GATEWAY}"; }},
          {{ name = "core"; device = "CORE"; mac = "{CORE_MAC}"; addresses = "192.0.2.1"; }} );
routes = ( {{ prefix = "0.0.0.0/0"; port = "core"; mac = "02:d0:00:00:00:00"; }} );
tasks = (
    {{ name = "classify"; type = "classify"; from = "line"; to = "count_up"; punt = "arp"; }},
    {{ name = "count_up"; type = "account"; direction = "up"; to = "decap"; }},
    {{ name = "decap"; type = "qinq_decap"; to = "route"; }},
    {{ name = "route"; type = "route"; to = "core"; punt = "arp"; }},
    {{ name = "find"; type = "classify"; match = "ipv4"; from = "core"; to = "encap"; punt = "arp"; }},
    {{ name = "encap"; type = "qinq_encap"; to = "count_down"; punt = "arp"; }},
    {{ name = "count_down"; type = "account"; direction = "down"; to = "line"; }},
    {{ name = "arp"; type = "arp"; to = ["line", "core"]; punt_rate = 100000; }}
);
layout = ( {{ core = "0"; tasks = ["classify", "count_up", "decap", "route", "find", "encap", "count_down", "arp"]; }} );
"""
CONTROL_PLANE = f"""
control_socket = "FOLDER/control"; punt_socket = "FOLDER/punt"; store = "FOLDER/store"; max_lines = "128K";
pools = ( {{ name = "homes"; prefix = "10.64.0.0/14"; gateway = "{GATEWAY}"; }} );
pools6 = ( {{ name = "homes6"; wan = "2001:db8::/46"; delegated = "2001:db9::/32"; }} );
access = ( {{ port = "line"; pool = "homes"; pool6 = "homes6"; }} );
"""
NOWHERE = "net_null0,no-rx=1"
SETTLED = 8  # CPEs whose packets are forwarded while the others come up
USER, PASSWORD = "alice", "secret"
PUNT_S = 0.25  # vbng-cp tries the punt socket each 100 ms
ACCOUNTED_S = 60  # until RADIUS was told of all sessions
PPPOE = f'pppoe = {{ ac_name = "bng1"; users = ( {{ name = "{USER}"; password = "{PASSWORD}"; }} ); }};'
RELAYS = """
relays = ( { name = "kea"; servers = "127.0.0.1"; giaddr = "127.0.0.2"; } );
"""
KEA = {"subnet4": [{"id": 1, "subnet": "10.64.0.0/14", "pools": [{"pool": "10.64.0.10 - 10.67.255.250"}],
                    "option-data": [{"name": "routers", "data": GATEWAY}]}]}
RADIUS = """
pppoe = {{ ac_name = "bng1"; }};
radius = {{ nas_identifier = "bng1"; password = "vbng"; accounting = {};
           servers = ( {{ address = "127.0.0.1"; secret = "{}"; authentication_port = {}; accounting_port = {}; }} ); }};
"""


def upper(text):
    """The upper half of a prefix of IPv6 in bytes; None of None."""
    return text and socket.inet_pton(socket.AF_INET6, text.split("/")[0])[:8]


def forwarded(path):
    """{line: (address, link, delegated prefix)} of all subscribers of vbng."""
    found, first = {}, 1
    with socket.socket(socket.AF_UNIX) as s, s.makefile("rb") as f:
        s.connect(path)
        while first is not None:
            s.sendall(json.dumps({"cmd": "list-subscribers", "first": first, "count": 1000}).encode() + b"\n")
            answer = json.loads(f.readline())
            found.update((f"{r['svlan']}.{r['cvlan']}", (socket.inet_aton(r["ipv4"].removesuffix("/32")), upper(r.get("ipv6")),
                                                         upper(r.get("delegated")))) for r in answer["subscribers"])
            first = answer["next"]
    return found


def is_in(row, cpe):
    """vbng forwards for all that the CPE was told."""
    told = [half for p in cpe.protocols for half, _ in p.told]
    return list(row[:len(told)]) == told


def start(vbng_cp, config, log):
    return subprocess.Popen([vbng_cp, config], stderr=log, preexec_fn=process.end_with_parent)


def resident(program):
    """Its memory, in KiB."""
    with open(f"/proc/{program.pid}/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS"))


def ready(vbng_cp, log):
    """Its memory when it has compared its sessions with vbng's."""
    while vbng_cp.poll() is None:
        with open(log, encoding="utf-8") as f:
            if "compared with vbng" in f.read():
                break
        time.sleep(0.01)
    time.sleep(PUNT_S)
    return resident(vbng_cp)


def relayed(text, is_so):
    """A control plane's configuration, where it is to be a relay's."""
    if not is_so:
        return text
    gateway = f'gateway = "{GATEWAY}";'
    return text.replace("pools = (", RELAYS + "pools = (", 1).replace(gateway, gateway + ' relay = "kea";')


def links(*names):
    """A veth pair gw-NAME, far-NAME of each."""
    for name in names:
        subprocess.run(["ip", "link", "add", f"gw-{name}", "type", "veth", "peer", "name", f"far-{name}"], check=True)
        for end in ("gw", "far"):
            subprocess.run(["ip", "link", "set", f"{end}-{name}", "up"], check=True)


def forwarding(args, wire, cpes):
    """The first CPEs come up, and packets go through their sessions from then on. Returns (what forwards, these CPEs, the others)."""
    from tests.growth.forwarding import Forwarding
    from vbnglab.cpe.load import Load

    settled, end = Load(wire, cpes[:SETTLED], SETTLED), time.monotonic() + args.seconds
    while not settled.done and time.monotonic() < end:
        settled.step()
    if settled.up < SETTLED or settled.wrong:
        sys.exit("\n".join(settled.wrong) or f"{settled.up} of the first {SETTLED} lines are up")
    return Forwarding("far-line", "far-core", bytes.fromhex(CORE_MAC.replace(":", "")), settled.cpes, args.forward), cpes[:SETTLED], cpes[SETTLED:]


def measure(args, folder, more=PPPOE, told=lambda up: []):
    """What is wrong, after it has printed the figures. more: sections of the control plane's configuration; told: called with how many are up when all are."""
    from vbnglab.cpe.load import Load, cpes  # which main() has told Python of
    from vbnglab.cpe.outcome import outcome, text
    from vbnglab.cpe.wire import Wire

    ctx = process.Context(args.build + "/vbng", folder)
    core = "net_af_packet1,iface=gw-core,framecnt=4096" if args.forward else NOWHERE
    user, control = (ctx.write(name, text.replace("FOLDER", folder).replace("LINES", str(args.lines)).replace("PREFIXES", str(2 * args.lines)).replace("CORE", core))
                     for name, text in (("bng.cfg", USER_PLANE), ("cp.cfg", relayed(CONTROL_PLANE, args.relay) + more)))
    links("line", "core")
    log = open(ctx.path("log"), "w", encoding="utf-8")  # noqa: SIM115
    vbng = process.Run(ctx, "--quiet", "--share-cpus", "--control", ctx.path("control"), user, report=True)
    vbng_cp = start(args.build + "/src/cp/vbng-cp", control, log)
    empty = ready(vbng_cp, ctx.path("log"))
    protocol = ("pppoe-dual" if args.dual else "pppoe") if args.pppoe else "dual" if args.dual else "ipoe"
    wire, settled, others, moments = Wire("far-line"), [], cpes(args.lines, protocol, user=USER, password=PASSWORD), random.Random(args.seed)
    if args.forward:
        forward, settled, others = forwarding(args, wire, others)
    load = Load(wire, others, args.window)
    kills = sorted(moments.uniform(0.1, 0.9) for _ in range(args.kills))  # shares of the lines that are up then
    while not load.up and not load.wrong:
        load.step()
    before, begun, cpu = load.up, time.monotonic(), time.process_time()
    while load.up < len(others) and not load.wrong and time.monotonic() - begun < args.seconds:
        load.step()
        if kills and load.up >= kills[0] * len(others):
            kills.pop(0)
            vbng_cp.kill()
            vbng_cp.wait()
            vbng_cp = start(args.build + "/src/cp/vbng-cp", control, log)
    seconds = time.monotonic() - begun
    print("\n".join(text(outcome(load))))
    up = load.up + len(settled)
    load.wrong += told(up)
    there = forwarded(ctx.path("control"))
    lost = [c.line for c in settled + others if not is_in(there.get(c.line, (None, None, None)), c)]
    load.wrong += [f"{len(lost)} lines were told an address that vbng does not forward for: {lost[:5]}"] if lost else []
    load.wrong += [f"{args.lines - up} have no address after {seconds:.0f} s"] if up < args.lines else []
    if args.forward:
        sent, there_up, back = forward.end()
        print(f"forwarded meanwhile through {SETTLED} sessions: {sent} sent, {there_up} arrived in the core, {back} came back")
        load.wrong += [f"{sent - back} packets of sessions that were up are lost"] if back < sent else []
    memory = resident(vbng_cp)
    with open(f"/proc/{vbng_cp.pid}/stat", encoding="ascii") as f:
        ticks = sum(map(int, f.read().rsplit(")", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")
    print(f"{up} sessions, {(load.up - before) / seconds:.0f} a second; {load.again} asked again; {args.kills} kills; "
          f"vbng-cp: {ticks:.1f} s of CPU, {memory} KiB, {(memory - empty) * 1024 / max(1, up):.0f} bytes a session; client: {time.process_time() - cpu:.1f} s of CPU; in all {seconds:.1f} s")
    vbng_cp.terminate()
    vbng_cp.wait()
    vbng.process.send_signal(signal.SIGTERM)
    if vbng.end(60) != 0:
        return [*load.wrong, f"vbng: {vbng.err}"]
    report = vbng.report()
    drops = {f"{t['name']}.{reason}": n for t in report["tasks"] for reason, n in t["drops"].items() if n}
    stats = next(t["stats"] for t in report["tasks"] if t["name"] == "arp")
    print(f"vbng: drops {drops}, to the control plane {stats['to_control_plane']}, from it {stats['from_control_plane']}, "
          f"lost {stats['control_plane_lost']}")
    return load.wrong + process.ledger_faults(report)


def measure_with_radius(args, folder):
    """The same, with a FreeRADIUS that lets everybody in."""
    from tests.radius.freeradius import SECRET, freeradius  # what the others need not have

    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    with freeradius(pathlib.Path(folder) / "radius", users="DEFAULT Auth-Type := Accept\n") as server:
        def told(up):
            end, starts = time.monotonic() + ACCOUNTED_S, 0
            while starts < up and time.monotonic() < end:
                time.sleep(0.2)
                starts = sum(r["Acct-Status-Type"] == "Start" for r in server.records())
            print(f"RADIUS was told of {starts} sessions")
            return [] if starts == up else [f"RADIUS was told of {starts} sessions of {up}"]

        more = RADIUS.format("true" if args.accounting else "false", SECRET, server.authentication, server.accounting)
        return measure(args, folder, more, told if args.accounting else lambda up: [])


def measure_with_kea(args, folder):
    """The same, with ISC Kea behind."""
    from tests.cp.kea import Kea  # what the others need not have

    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    kea = Kea(folder, 4, 67, **KEA)
    try:
        wrong, given = measure(args, folder), len(kea.leases())
        return wrong + ([f"Kea has given {given}"] if given < args.lines else [])
    finally:
        kea.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=10000)
    parser.add_argument("--window", type=int, default=256)
    parser.add_argument("--forward", type=int, default=0, metavar="N", help=f"packets a second through {SETTLED} sessions that were up before, and back; none may be lost")
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--dual", action="store_true")
    parser.add_argument("--pppoe", action="store_true", help="sessions of PPPoE; with --dual: DHCPv6 in them")
    parser.add_argument("--radius", action="store_true")
    parser.add_argument("--accounting", action="store_true", help="with --radius, which it means: it is told of each session, too")
    parser.add_argument("--relay", action="store_true")
    parser.add_argument("--seconds", type=int, default=300, help="the longest time that it may take")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--build", default=os.path.join(TOP, "build"))
    args = parser.parse_args()
    os.environ["PYTHONPATH"] = os.pathsep.join((TOP, os.path.join(TOP, "tools")))  # for this file as a program, there
    why = enter()
    if why:
        sys.exit(why)
    with tempfile.TemporaryDirectory(prefix="vbng-") as folder:
        wrong = (measure_with_kea if args.relay else measure_with_radius if args.radius or args.accounting else measure)(args, folder)
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
