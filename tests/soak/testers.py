# SPDX-License-Identifier: BSD-3-Clause
"""The configuration of a tester of a soak: it plays the subscribers and the core of one pair of ports, cpe{p} and core{p}.

Users are numbered like the gateway's GRE keys (gateway.cfg). Each direction has a stamped stream of all users, in random
classes, whose sink knows what must arrive; a stream of the four who are sent too much; and one of those who come and go.
"""

import os

USERS, HEAVY, EXTRA = (0, 2047), (2048, 2051), (2304, 2559)  # of pair 0: first and last
EXTRA_NET = 20  # 198.20.0.0/16 and the next are where "extra_up" goes to, 18 and 19 where all else does
STRIDE = 4096  # from a user of pair 0 to the like one of pair 1
RATES = {"up": "10kpps", "down": "10kpps", "heavy_up": "500pps", "heavy_down": "500pps", "extra_up": "1kpps", "extra_down": "1kpps"}
MEASURED = ("up", "down")

UP = """size {size}
var user {first}-{last} random
var dscp 0-63 random
var dest 0-65535 random
ether src 02:c0:00:00:00:00 + user dst 02:b0:00:00:00:0{p}
vlan tpid 0x88a8 id 128 + user[11:8]
vlan id 256 + user[7:0]
ipv4 src 10.0.0.0 + user dst 198.{net}.0.0 + dest dscp dscp
udp src 1024 dst 2048
payload 00
"""
DOWN = """size {size}
var user {first}-{last} random
var dscp 0-63 random
var server 0-65535 random
ether src 02:dd:00:00:00:0{p} dst 02:b0:00:00:01:0{p}
mpls label {label}
ipv4 src 203.0.113.{hop} dst 192.0.2.{core}
gre key user
ipv4 src 198.{net}.0.0 + server dst 10.0.0.0 + user dscp dscp
udp src 2048 dst 1024
payload 00
"""
UP_OUT = """size {size}
var user {first}-{last} random
var dscp 0-63 random
var dest 0-65535 random
ether src 02:b0:00:00:01:0{p} dst 02:dd:00:00:00:0{p}
mpls label {label}
ipv4 src 192.0.2.{core} dst 203.0.113.{hop} dscp dscp
gre key user
ipv4 src 10.0.0.0 + user dst 198.{net}.0.0 + dest dscp dscp
udp src 1024 dst 2048
payload 00
"""
DOWN_OUT = """size {size}
var user {first}-{last} random
var dscp 0-63 random
var server 0-65535 random
ether src 02:b0:00:00:00:0{p} dst 02:c0:00:00:00:00 + user
vlan tpid 0x88a8 id 128 + user[11:8]
vlan id 256 + user[7:0]
ipv4 src 198.{net}.0.0 + server dst 10.0.0.0 + user dscp dscp
udp src 2048 dst 1024
payload 00
"""
ALL = (USERS[0], EXTRA[1])  # what arrives may be of any user
TEMPLATES = {  # name: (text, size, users)
    "up": (UP, 128, USERS), "heavy_up": (UP, 1200, HEAVY), "extra_up": (UP, 128, EXTRA), "up_out": (UP_OUT, 152, ALL),
    "down": (DOWN, 152, USERS), "heavy_down": (DOWN, 1224, HEAVY), "extra_down": (DOWN, 152, EXTRA), "down_out": (DOWN_OUT, 128, ALL),
}  # fmt: skip

CONFIG = """name = "tester{p}";
memory = "no-huge";
idle = "sleep";
pools = {{ default = {{ mbufs = "16K"; }}; }};
ports = (
    {{ name = "t_cpe";  device = "net_virtio_user0,path=cpe{p}.sock,queue_size=1024"; }},
    {{ name = "t_core"; device = "net_virtio_user1,path=core{p}.sock,queue_size=1024"; }}
);
tasks = (
{gens}
    {{ name = "sink_up"; type = "sink"; from = "t_core"; expect = "up_out{p}.tmpl"; }},
    {{ name = "sink_down"; type = "sink"; from = "t_cpe"; expect = "down_out{p}.tmpl"; }}
);
layout = ( {{ core = "0"; tasks = [{names}"sink_up", "sink_down"]; }} );
"""
GEN = '    {{ name = "{name}"; type = "gen"; template = "{name}{p}.tmpl"; to = "{to}"; rate = "{rate}"; stamp = {stamp}; }},'


def circuit(user):
    """Access port, S-VLAN and C-VLAN of a user."""
    pair, number = divmod(user, STRIDE)
    return f"cpe{pair}", 128 + (number >> 8), 256 + (number & 255)


def subscriber(user, profile):
    """A user as the request add-subscriber wants it."""
    port, svlan, cvlan = circuit(user)
    return {"port": port, "svlan": svlan, "cvlan": cvlan, "ipv4": f"10.0.{user >> 8}.{user & 255}", "gre_key": user,
            "mac": f"02:c0:00:00:{user >> 8:02x}:{user & 255:02x}", "profile": profile}


def write(folder, pair):
    """The configuration of the tester of a pair, and its templates. Returns its path."""
    for name, (text, size, (first, last)) in TEMPLATES.items():
        users = {"first": first + pair * STRIDE, "last": last + pair * STRIDE}
        way = {"p": pair, "net": (EXTRA_NET if name == "extra_up" else 18) + pair, "label": 16 + pair, "hop": 1 + pair, "core": 1 + 4 * pair}
        with open(os.path.join(folder, f"{name}{pair}.tmpl"), "w", encoding="utf-8") as f:
            f.write(text.format(size=size, **users, **way))
    gens = "\n".join(GEN.format(name=name, p=pair, rate=rate, stamp=str(name in MEASURED).lower(),
                                to="t_cpe" if name.endswith("up") else "t_core") for name, rate in RATES.items())
    path = os.path.join(folder, f"tester{pair}.cfg")
    with open(path, "w", encoding="utf-8") as f:
        f.write(CONFIG.format(p=pair, gens=gens, names="".join(f'"{name}", ' for name in RATES)))
    return path
