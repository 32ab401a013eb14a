# SPDX-License-Identifier: BSD-3-Clause
"""A case: a line, its queue discipline, and who loads it; and the configuration of the gateway that it needs."""

import socket
from dataclasses import dataclass

from . import disciplines

GATEWAY_MAC, CPE_MAC, CORE_MAC = "02:b0:00:00:00:00", "02:c0:00:00:00:00", "02:b0:00:00:01:00"
SVLAN, CVLAN = 100, 200
TCP = 20 + 12  # bytes of TCP's header, with timestamps (RFC 7323)
BESIDE = ("10.0.0.2/32", "2001:db8:0:1::/64")  # of the silent subscriber


@dataclass(frozen=True)
class Family:
    """What differs between the families. socket: of the module socket; header: bytes of the packet's; claim, net, all: a prefix of the subscriber's,
    the length of that of the core's link, and the prefix of all addresses; line: an address of the gateway's port towards the subscriber."""

    name: str
    socket: int
    header: int
    subscriber: str
    claim: str
    line: str
    gateway: str
    server: str
    net: int
    all: str

    def segment(self):
        """Bytes of data in a full-sized packet."""
        return 1500 - self.header - TCP

    def most(self):
        """The share of a line's rate that can be data."""
        return self.segment() / disciplines.FRAME


FAMILIES = {
    "ipv4": Family("ipv4", socket.AF_INET, 20, "10.0.0.1", "10.0.0.1/32", "100.64.0.1", "192.0.2.1", "192.0.2.2", 24, "0.0.0.0/0"),
    "ipv6": Family("ipv6", socket.AF_INET6, 40, "2001:db8::1", "2001:db8::/64", "2001:db8:ffff::1", "2001:db8:c0::1", "2001:db8:c0::2", 64,
                   "::/0"),
}

TEMPLATE = """# SPDX-License-Identifier: BSD-3-Clause
# vbng-lab aqm: one subscriber at {rate}, behind QinQ, and a core without tunnels.
name = "aqm";
idle = "sleep";
pools = {{ default = {{ mbufs = "32K"; overcommit = true; }}; }};
ports = (
    {{ name = "line"; device = "net_af_packet0,iface=line,framecnt=2048"; tpid = "0x8100"; mac = "{gateway_mac}"; addresses = "{line}";
      on_full = "wait"; }},
    {{ name = "core"; device = "net_af_packet1,iface=core,framecnt=2048"; mac = "{core_mac}"; addresses = "{gateway}"; on_full = "wait"; }}
);
qos = {{
    profiles = {{ measured = {{ rate = "{rate}"; }};{beside_profile} }};
    schedulers = {{ access = {{ ports = "line"; classes = ( {{ class = "be"; {keys} }} ); }}; }};
}};
subscribers = (
    {{ port = "line"; svlan = {svlan}; cvlan = {cvlan}; {family} = "{claim}"; mac = "{cpe_mac}"; profile = "measured"; }}{beside}
);
routes = ( {{ prefix = "{all}"; port = "core"; via = "{server}"; }} );
tasks = (
    {{ name = "classify"; type = "classify"; from = "line"; scheduler = "access"; to = "qos_up"; punt = "arp"; }},
    {{ name = "qos_up"; type = "qos"; scheduler = "access"; direction = "up"; to = "decap"; }},
    {{ name = "decap"; type = "qinq_decap"; to = "route"; }},
    {{ name = "route"; type = "route"; to = "core"; punt = "arp"; }},
    {{ name = "find"; type = "classify"; match = "ipv4"; from = "core"; scheduler = "access"; to = "encap"; punt = "arp"; }},
    {{ name = "encap"; type = "qinq_encap"; to = "qos_down"; punt = "arp"; }},
    {{ name = "qos_down"; type = "qos"; scheduler = "access"; direction = "down"; to = "line"; }},
    {{ name = "arp"; type = "arp"; to = ["line", "core"]; }}
);
layout = ( {{ core = "0"; tasks = ["classify", "qos_up", "decap", "route", "find", "encap", "qos_down", "arp"]; }} );
"""


@dataclass(frozen=True)
class Case:
    """Flows of a congestion control that load a line of a rate (bit/s) with a discipline. congestion: a name, or several with a plus, that many
    flows of each; keys: of its class; beside: rate of the profile of another subscriber, who is silent, as a text; "": none; family: of FAMILIES."""

    discipline: str
    keys: str
    rate: int
    rate_text: str
    congestion: str
    flows: int
    beside: str = ""
    family: str = "ipv4"

    def kinds(self):
        """The congestion control of each flow."""
        return self.congestion.split("+") * self.flows

    def title(self):
        """What the load is, for a column of a table."""
        flows = " + ".join(f"{self.flows} {name}" for name in self.congestion.split("+"))
        return flows + (f", {self.beside} beside" if self.beside else "") + (", IPv6" if self.family == "ipv6" else "")

    def configuration(self):
        """The text of the gateway's configuration."""
        f = FAMILIES[self.family]
        beside = f',\n    {{ port = "line"; svlan = {SVLAN}; cvlan = {CVLAN + 1}; {f.name} = "{BESIDE[f.name == "ipv6"]}"; profile = "beside"; }}'
        return TEMPLATE.format(rate=self.rate_text, keys=self.keys, gateway_mac=GATEWAY_MAC, cpe_mac=CPE_MAC, core_mac=CORE_MAC, svlan=SVLAN,
                               cvlan=CVLAN, family=f.name, claim=f.claim, line=f.line, gateway=f.gateway, server=f.server, all=f.all,
                               beside=beside if self.beside else "", beside_profile=f' beside = {{ rate = "{self.beside}"; }};' if self.beside else "")


def cases(found, rates, congestions, flows, beside, families=("ipv4",)):
    """The cases: each discipline at each rate, with the first congestion control and number of flows, and with one of them changed; and beside
    a profile of the rate beside. found: of disciplines.chosen(); rates: (bit/s, text) pairs; families: names of FAMILIES."""
    first = (congestions[0], flows[0], "")
    loads = [first, *((c, flows[0], "") for c in congestions[1:]), *((congestions[0], n, "") for n in flows[1:])]
    loads += [(congestions[0], flows[0], beside)] if beside else []
    return [Case(name, keys(disciplines.packets(rate)).strip(), rate, text, *load, family) for rate, text in rates for load in loads
            for family in families for name, keys in found.items()]
