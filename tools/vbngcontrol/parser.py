# SPDX-License-Identifier: BSD-3-Clause
"""The command line of vbngctl."""

import argparse

from . import capture, change, frames, schema, sessions, shell, show
from .change import asks, of_one
from .who import next_hop

ABOUT = "Show and change a running vbng through its control socket (vbng --control PATH). Without a command, in a terminal: the shell."


def _add(commands, name, run, text, **options):
    p = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".", **options)
    p.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")
    p.set_defaults(run=run)
    return p


def _stream(p):
    p.add_argument("task", metavar="TASK", help="name of a task of type gen")
    p.add_argument("stream", metavar="STREAM", nargs="?", help="number of the stream (default: all of the task)")


def _who(p):
    p.add_argument("subscriber", nargs="+", metavar="SUBSCRIBER", help="an id, or PORT SVLAN.CVLAN")


def _file(p, what):
    p.add_argument("file", metavar="FILE", help=f"{what}; - is standard input")


def _subscriber_commands(commands):
    p = _add(commands, "add-subscriber", change.add_subscriber, "add a subscriber; prints his id")
    p.add_argument("port", metavar="PORT", help="his access port")
    p.add_argument("vlans", metavar="SVLAN.CVLAN", help="his VLAN tags")
    p.add_argument("ipv4", metavar="IPV4", nargs="?", help="his address, or a prefix of length 24 to 32 (default: he has IPv6 alone)")
    p.add_argument("--ipv6", metavar="PREFIX", help="the IPv6 prefix of his link, of length 64, or his address there")
    p.add_argument("--delegated", metavar="PREFIX", action="append", help="an IPv6 prefix of length 48 to 64 that is delegated to him; 4 times at most")
    p.add_argument("--gre-key", type=int, metavar="KEY", dest="gre_key", help="key of his packets in the GRE tunnel")
    p.add_argument("--mac", help="his MAC address, static (default: it is learned)")
    p.add_argument("--profile", help="his QoS profile, needed where his port is shaped")
    p.add_argument("--routed", action="store_true", default=None, help="his prefix is routed behind one CPE: one MAC for all of it")
    p.add_argument("--name", help="what people call him: free text of at most 64 characters")
    _file(_add(commands, "add-subscribers", change.add_subscribers, "add many subscribers"), "a table as in a configuration, CSV")
    _who(_add(commands, "remove-subscriber", of_one("remove-subscriber"), "remove a subscriber"))
    _file(_add(commands, "remove-subscribers", change.remove_subscribers, "remove many subscribers"), "a subscriber on each line")
    p = _add(commands, "set-mac", change.set_mac, "give a subscriber a static MAC, or have it learned")
    _who(p)
    p.add_argument("mac", metavar="MAC", help='the address, or "learn"')
    p = _add(commands, "set-name", change.set_name, "give a subscriber a name for people")
    _who(p)
    p.add_argument("name", metavar="NAME", help='free text of at most 64 characters; "": none')


def _route_commands(commands):
    for name, text in (("add-route", "add a route"), ("change-route", "have a route lead elsewhere, without a gap")):
        p = _add(commands, name, asks(name, "prefix", "port", "via", "mac", "gre", "mpls", "nexthops"), text)
        p.add_argument("prefix", metavar="PREFIX", help="IPv4 or IPv6 prefix, for example 198.18.0.0/16")
        p.add_argument("--port", help="port that leads to the next hop")
        neighbour = p.add_mutually_exclusive_group(required=True)
        neighbour.add_argument("--via", metavar="ADDRESS", help="IPv4 or IPv6 address of the neighbour, which is asked for its MAC address")
        neighbour.add_argument("--mac", help="MAC address of the neighbour, static")
        neighbour.add_argument("--nexthop", dest="nexthops", action="append", type=next_hop, metavar="KEY=VALUE,...",
                               help="one of several next hops, which share the flows: port=NAME,via=ADDRESS, or mac=, and gre=, mpls=")
        p.add_argument("--gre", metavar="ADDRESS", help="address of the far end of a GRE tunnel, of either family")
        p.add_argument("--mpls", type=int, metavar="LABEL", help="MPLS label to push")
    _file(_add(commands, "add-routes", change.add_routes, "add many routes"), "a table as in a configuration, CSV")
    _file(_add(commands, "change-routes", change.change_routes, "have many routes lead elsewhere"), "a table as in a configuration, CSV")
    p = _add(commands, "remove-route", asks("remove-route", "prefix"), "remove a route")
    p.add_argument("prefix", metavar="PREFIX", help="as it was added")
    _file(_add(commands, "remove-routes", change.remove_routes, "remove many routes"), "a prefix on each line")


def _rate_commands(commands):
    p = _add(commands, "set-profile", of_one("set-profile", "profile"), "give a subscriber another profile")
    _who(p)
    p.add_argument("profile", metavar="PROFILE", help="name of a profile of the configuration")
    _file(_add(commands, "set-profiles", change.set_profiles, "give many subscribers other profiles"), "rows SUBSCRIBER,PROFILE, CSV")
    p = _add(commands, "set-subport-rate", asks("set-subport-rate", "scheduler", "subport", "direction", "rate"), "change the rate of a subport")
    p.add_argument("scheduler", metavar="SCHEDULER", help="name of the scheduler")
    p.add_argument("subport", metavar="SUBPORT", help="name of the subport")
    p.add_argument("direction", choices=["up", "down"], help="of the packets")
    p.add_argument("rate", metavar="RATE", help='in bit/s, for example "1.5G"')
    p = _add(commands, "set-dscp", change.set_dscp, "send packets with a DSCP to another queue")
    p.add_argument("scheduler", metavar="SCHEDULER", help="name of the scheduler")
    p.add_argument("direction", choices=["up", "down"], help="of the packets")
    p.add_argument("dscp", metavar="DSCP", type=int, help="0 to 63")
    p.add_argument("traffic_class", metavar="CLASS", help='traffic class "0" to "11", or "be"')
    p.add_argument("queue", metavar="QUEUE", type=int, nargs="?", help="queue of best effort, 0 to 3")


def _stream_commands(commands):
    p = _add(commands, "start-stream", asks("start-stream", "task", "stream", "duration"), "let a generator's stream send, from now on")
    _stream(p)
    p.add_argument("--duration", metavar="TIME", help='time to send, for example "5s" (default: until it is stopped)')
    _stream(_add(commands, "stop-stream", asks("stop-stream", "task", "stream"), "let a generator's stream send no more"))
    p = _add(commands, "set-rate", asks("set-rate", "task", "stream", "rate"), "change the rate of a generator or of one of its streams")
    _stream(p)
    p.add_argument("--rate", required=True, help='such as "1Mpps", "10Gbit/s" or "100%%"')


def _capture_commands(commands):
    p = _add(commands, "capture", capture.capture,
             "write packets to a pcapng file, in vbng's folder of captures; without --port, --task and --drops all of all ports")
    p.add_argument("-o", "--output", metavar="FILE", required=True,
                   help="name of the file, in vbng's folder of captures; - is standard output: vbngctl capture -o - | wireshark -k -i -")
    p.add_argument("--force", action="store_true", help="replace FILE if it is there")
    p.add_argument("--port", metavar="NAME[:rx|:tx]", action="append", default=[], help='capture at a port; "*": at all; may be repeated')
    p.add_argument("--task", metavar="NAME[:before|:after|:drops]", action="append", default=[], help='capture at a task; "*": at all; may be repeated')
    p.add_argument("--drops", action="store_true", help='capture what any task drops, as --task "*:drops"')
    p.add_argument("--reason", action="append", default=[], help="capture only drops for this reason; may be repeated")
    p.add_argument("--subscriber", metavar="SUBSCRIBER", help="capture only what is his")
    p.add_argument("--family", choices=("ipv4", "ipv6", "both"), help="capture only packets of this one, with ARP those of ipv4 (default: both)")
    p.add_argument("--seconds", type=int, metavar="N", help="end after this time (default: 10; to standard output 3600)")
    p.add_argument("--packets", type=int, metavar="N", help="end after so many (default: 1000000; to standard output no bound)")
    p.add_argument("--bytes", type=int, metavar="N", help="largest size of the file (default: 104857600; to standard output no bound)")
    p.add_argument("--snaplen", type=int, metavar="N", help="most bytes of each packet (default: all)")
    p.add_argument("--sample", type=int, metavar="N", help="capture one of N packets of each point")
    _add(commands, "stop-capture", asks("stop-capture"), "end the capture that runs")


def _session_commands(commands):
    p = _add(commands, "sessions", sessions.sessions, "find lines and sessions of vbng-cp; of a single one also what happened on it last")
    p.add_argument("text", nargs="*", metavar="TEXT", help="a MAC, address, VLAN pair, state (up, none, ...) or part of PORT SVLAN.CVLAN (default: all)")
    p.add_argument("--most", type=int, metavar="N", default=1000, help="no more than so many (default: %(default)s)")
    p.add_argument("--events", action="store_true", help="what happened last on each of them")
    p.set_defaults(cp=True)
    p = _add(commands, "disconnect", sessions.disconnect, "end a session of vbng-cp; the client may begin another")
    p.add_argument("line", nargs=2, metavar=("PORT", "SVLAN.CVLAN"), help="its line")
    p.set_defaults(cp=True)


def _shows(commands):
    shows = commands.add_parser("show", help="show something", description="Show something.").add_subparsers(metavar="WHAT", required=True)
    p = _add(shows, "subscriber", show.one_subscriber, "who a subscriber is, what he got, and his queues")
    _who(p)
    _add(shows, "subscribers", show.all_subscribers, "all subscribers as CSV")
    _add(shows, "routes", show.routes, "all routes")
    p = _add(shows, "arp", show.arp, "MAC addresses of next hops and subscribers")
    p.add_argument("--unknown", action="store_true", help="only those whose MAC address is not known")
    _add(shows, "ports", show.ports, "ports, with what their devices counted; below one with several receive queues, what the core of each has taken")
    _add(shows, "directions", show.directions, "what subscribers sent and are sent, by family")
    _add(shows, "tasks", show.tasks, "tasks, with their packets and drops")
    _add(shows, "version", show.version, "which vbng runs, with which configuration, and for how long")
    _add(shows, "changes", show.changes, "what is not as the configuration says, as requests")
    _add(shows, "qos", show.shows("show-qos", "qos"), "lag, sojourn times and shaping error of each qos task, as JSON")
    _add(shows, "streams", show.shows("show-streams", "tasks"), "what each generator was asked for and has sent, as JSON")
    _add(shows, "sinks", show.shows("show-sinks", "tasks"), "what each sink has measured, as JSON")
    _add(shows, "ledger", show.shows("show-ledger", "ledger"), "where all packets are, as JSON")
    _add(shows, "capture", show.shows("show-capture", "capture"), "the capture that runs, or the last one, and what it could not keep, as JSON")


def parser():
    """All of it."""
    top = argparse.ArgumentParser(prog="vbngctl", description=ABOUT, epilog="A subscriber is an id, or PORT SVLAN.CVLAN: 17, or cpe0 128.256.")
    top.add_argument("--socket", metavar="PATH",
                     help="control socket of the vbng (default: $VBNG_SOCKET); of vbng-cp for sessions and disconnect (default: $VBNG_CP_SOCKET)")
    top.add_argument("--timeout", metavar="SECONDS", type=float, default=30, help="time limit of each answer (default: %(default)s)")
    top.add_argument("--json", action="store_true", help="print JSON, of which vbngctl schema says the form")
    commands = top.add_subparsers(metavar="COMMAND")
    _shows(commands)
    p = _add(commands, "find", show.find, "find subscribers by id, address or prefix, MAC, GRE key, circuit, profile, or a part of the name")
    p.add_argument("text", nargs="+", metavar="TEXT", help="what is looked for, such as 10.0.0.1, 02:00:00:00:00:01, 128.256 or Smith")
    p.add_argument("--most", type=int, metavar="N", default=1000, help="no more than so many (default: %(default)s)")
    _subscriber_commands(commands)
    _route_commands(commands)
    p = _add(commands, "reload", change.reload, "read a configuration again: make what runs what it says, as far as that is possible")
    p.add_argument("file", metavar="FILE", nargs="?", help="configuration (default: what was read before)")
    p.add_argument("--dry-run", action="store_true", help="change nothing: say what would change, and what needs a restart")
    p.add_argument("--details", action="store_true", help="also print the requests that do it")
    p = _add(commands, "explain", frames.explain, "say what would become of a frame, and why; nothing is changed or sent")
    p.add_argument("frame", nargs="?", metavar="FRAME", help='the frame in words, such as "cpe0 128.256 10.0.0.1 -> 8.8.8.8 dscp 46"')
    p.add_argument("--pcap", nargs=2, metavar=("FILE", "PORT"), help="take the first frame of a pcap or pcapng file, as if PORT received it")
    _rate_commands(commands)
    _stream_commands(commands)
    _capture_commands(commands)
    _session_commands(commands)
    p = _add(commands, "schema", schema.schema, "print the JSON schema of what a command prints with --json; without a command: which there are")
    p.add_argument("command", nargs="*", metavar="COMMAND", help="such as: show ports")
    p.set_defaults(alone=True)
    _add(commands, "shell", shell.shell, "read commands from the terminal, with completion, or from standard input")
    return top
