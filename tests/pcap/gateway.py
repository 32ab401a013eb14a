# SPDX-License-Identifier: BSD-3-Clause
"""The configuration of a case: the 4-port gateway on net_pcap ports, with what the case changes."""

import os

from tests.pcap.frames import ACCESS, CORE, GATEWAY_IP, GATEWAY_MAC, LABEL, NEIGHBOUR_IP, NEIGHBOUR_MAC, PORTS, SERVER_NET, TUNNEL_IP



PUNTS = ("classify", "route", "mpls_pop", "gre_decap", "qinq_encap")
FRAGMENTS = {"route": "fragment_up", "qinq_encap": "fragment_down"}


def chain(tasks, source, target):
    """Tasks that lead to each other, the first from and the last to ports."""
    made = []
    for k, (name, kind) in enumerate(tasks):
        keys = {"to": tasks[k + 1][0] if k + 1 < len(tasks) else list(target)}
        if k == 0:
            keys["from"] = list(source)
        made.append((name, kind, keys))
    return made


class Gateway:
    """Call it with the folder of a run: the text of its configuration."""

    def __init__(self, **changes):
        self.gre = self.mpls = True  # the core side's encapsulation
        self.key = True  # subscribers have GRE keys
        self.arp = self.fragment = True  # the tasks of these names
        self.static_cpe = True  # CPE MACs are configured
        self.static_core = True  # next hops' MACs are configured
        self.tpid = "0x88a8"  # of what is sent to CPEs
        self.mtu = {}  # by port
        self.no_address = ()  # ports
        self.addresses6 = {}  # further addresses by port
        self.own_route = True  # what the arp task sends to the core may leave
        self.subscribers = 256  # of each access port
        self.ipv6 = False  # subscribers have IPv6, too
        self.data_room = 2176
        self.mbufs = None  # of the pool; None: what the queues need, as a start provides the memory of all of them
        self.params = {}  # further keys by task: {"arp": 'key = "value";'}
        self.devices = {}  # by port, instead of net_pcap
        self.subscriber_rate = "1M"  # of the arp task: cases send bursts of all kinds; None: its default
        self.ra = False  # of the arp task: router advertisements
        self.keep = "0"  # of the arp task: what waits is seen by the cases that are about it; None: its default
        self.routes = self.more_subscribers = ""  # further ones
        self.top = ""  # further keys of the whole file
        for key, value in changes.items():
            if not hasattr(self, key):
                raise AttributeError(key)
            setattr(self, key, value)

    def device(self, port, folder):
        rx, tx = (os.path.join(folder, f"{port}-{way}.pcap") for way in ("in", "out"))
        return self.devices.get(port, f"net_pcap{PORTS.index(port)},rx_pcap={rx},tx_pcap={tx}")

    def port(self, port, folder):
        keys = [f'name = "{port}"', f'device = "{self.device(port, folder)}"', f'mac = "{GATEWAY_MAC[port]}"']
        if port not in self.no_address:
            keys.append(f'addresses = {quoted([GATEWAY_IP[port], *self.addresses6.get(port, ())])}')
        keys += [f'mtu = "{self.mtu.get(port, 1500)}"']
        if port not in self.devices:
            keys.append('rx_desc = "64"; tx_desc = "64"')  # a file waits for who reads it
        if port in ACCESS:
            keys.append(f'tpid = "{self.tpid}"')
        return "{ " + "; ".join(keys) + "; }"

    def subscriber_ranges(self):
        """Whole S-VLANs of 256 C-VLANs."""
        entries = []
        for access, port in enumerate(ACCESS):
            first, last = access * 32768, access * 32768 + self.subscribers - 1
            keys = [f'port = "{port}"', f'svlan = "128-{127 + self.subscribers // 256}"', 'cvlan = "256-511"']
            keys.append(f'ipv4 = "10.0.{access * 128}.0/17"')
            if self.key:
                keys.append(f'gre_key = "{first}-{last}"')
            if self.ipv6:
                keys += [f'ipv6 = "2001:db8:{access}::/48"', f'delegated = "2001:db8:8{access}00::/40"']
            if self.static_cpe:
                keys.append(f'mac = "02:c{access}:00:00:00:00"')
            entries.append("{ " + "; ".join(keys) + "; }")
        return ",\n    ".join(entries + ([self.more_subscribers] if self.more_subscribers else []))

    def route_list(self):
        entries = []
        for port in CORE:
            keys = [f'prefix = "{SERVER_NET[port]}.0.0/16"', f'port = "{port}"']
            keys.append(f'mac = "{NEIGHBOUR_MAC[port]}"' if self.static_core else f'via = "{NEIGHBOUR_IP[port]}"')
            if self.gre:
                keys.append(f'gre = "{TUNNEL_IP[port]}"')
            if self.mpls:
                keys.append(f'mpls = "{LABEL[port]}"')
            entries.append("{ " + "; ".join(keys) + "; }")
        return ",\n    ".join(entries + ([self.routes] if self.routes else []))

    def graph(self):
        """(name, type, keys) of every task, in the order in which the core runs them."""
        up = [("classify", "classify"), ("decap", "qinq_decap"), ("route", "route")]
        up += [("gre_up", "gre_encap")] * self.gre + [("mpls_up", "mpls_push")] * self.mpls
        down = [("mpls_down", "mpls_pop")] * self.mpls
        down += [("gre_down", "gre_decap") if self.gre else ("find", "classify"), ("encap", "qinq_encap")]
        tasks = chain(up, ACCESS, CORE) + chain(down, CORE, ACCESS)
        for name, kind, keys in tasks:
            if kind in PUNTS and self.arp:
                keys["punt"] = "arp"
            if kind in FRAGMENTS and self.fragment:
                keys["fragment"] = FRAGMENTS[kind]
            if name == "find":
                keys["match"] = "ipv4"
        routed = up[3][0] if len(up) > 3 else list(CORE)
        if self.fragment:
            tasks.append(("fragment_up", "fragment", {"to": routed}))
            tasks.append(("fragment_down", "fragment", {"to": list(ACCESS), "by": "subscriber"}))
        if self.arp:
            # what the gateway itself sends is routed apart, so that the direct calls make no circle
            tasks.append(("arp", "arp", {"to": list(PORTS)}))
            limits = {"subscriber_rate": self.subscriber_rate, "keep": self.keep}
            tasks[-1][2].update({key: value for key, value in limits.items() if value})
            if not self.ra:
                self.params = {**self.params, "arp": "ra = false; " + self.params.get("arp", "")}
        if self.arp and self.own_route:
            tasks[-1][2]["route"] = "own_route"
            tasks.append(("own_route", "route", {"to": routed}))
        return tasks

    def __call__(self, folder):
        tasks, names = [], []
        for name, kind, keys in self.graph():
            text = "".join(f" {k} = {quoted(v)};" for k, v in keys.items())
            tasks.append(f'{{ name = "{name}"; type = "{kind}";{text} {self.params.get(name, "")} }}')
            names.append(name)
        ports = ",\n    ".join(self.port(p, folder) for p in PORTS)
        layout = ", ".join(f'"{n}"' for n in names)
        pool = f'data_room = "{self.data_room}"; mbufs = "{self.mbufs or ("12K" if self.devices else "3K")}";'
        return f"""name = "case";
memory = "no-huge";
idle = "sleep";
{self.top}
pools = {{ default = {{ {pool} }}; }};
ports = (
    {ports} );
subscribers = (
    {self.subscriber_ranges()} );
routes = (
    {self.route_list()} );
tasks = (
    {",{0}    ".format(chr(10)).join(tasks)} );
layout = ( {{ core = "0"; tasks = [{layout}]; }} );
"""


def quoted(value):
    if isinstance(value, str):
        return f'"{value}"'
    return "[" + ", ".join(f'"{v}"' for v in value) + "]"
