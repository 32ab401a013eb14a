# SPDX-License-Identifier: BSD-3-Clause
"""A gateway in two cores whose subscribers and routes change, its generators and its sinks, in one process.

User u has always the same VLANs, address and key. Users below STILL are never touched; those from there on come and go,
the first HOT of them with more packets than they may send. Routes to 198.19.0.0/16 come and go, too; they leave by core1.
"""

import os

from tests.control import offered
from tests.control.offered import FROM_ACCESS, FROM_CORE

STILL = 1024
CHURN = 1280  # users that may be there
CONFIGURED = 1024  # of them at first
SPARE = 64  # places for more
HOT = 64
USERS = STILL + CHURN
FIRST_SVLAN, FIRST_CVLAN = 128, 256

# What the sink at the access side gets: MACs do not count, but where they vary with the user.
TO_ACCESS = """
size 130
var user {users} random
ether src 02:b0:00:00:00:00 dst 02:c0:00:00:00:00 + user
vlan tpid 0x88a8 id 128 + user[13:8]
vlan id 256 + user[7:0]
ipv4 src 198.18.0.1 dst 10.0.0.0 + user
udp src 2048 dst 1024
payload 00
"""
# by core0; or by one of the next hops of core1, number "other"
TO_CORE = """
size 150
var user {users} random
ether src 02:b0:00:00:01:00 dst 02:dd:00:00:00:00
mpls label 16
ipv4 src 192.0.2.1 dst 203.0.113.1
gre key user
ipv4 src 10.0.0.0 + user dst 198.18.0.1
udp src 1024 dst 2048
payload 00
"""
TO_CORE1 = """
size 150
var user {users} random
var other 0-15 random
var block 0-32767 random
ether src 02:b0:00:00:02:00 dst 02:dd:00:00:00:00
mpls label 17 + other
ipv4 src 192.0.3.1 dst 203.0.113.2 + other
gre key user
ipv4 src 10.0.0.0 + user dst 198.19.0.0 + block
udp src 1024 dst 2048
payload 00
"""

CONFIG = """
name = "churn";
memory = "no-huge";
drain = "3s";
max_subscribers = "{max_subscribers}";
max_routes = "1024";
max_prefixes = "4096";
pools = {{ default = {{ mbufs = "96K"; data_room = "384"; overcommit = true; }}; }};
ports = (
    {{ name = "cpe0"; device = "wire:cpe0"; mac = "02:b0:00:00:00:00"; mtu = 200; on_full = "wait"; }},
    {{ name = "core0"; device = "wire:core0"; mac = "02:b0:00:00:01:00"; mtu = 200; addresses = "192.0.2.1"; on_full = "wait"; }},
    {{ name = "core1"; device = "wire:core1"; mac = "02:b0:00:00:02:00"; mtu = 200; addresses = "192.0.3.1"; on_full = "wait"; }},
    {{ name = "t_cpe0"; device = "wire:cpe0"; mtu = 200; on_full = "wait"; }},
    {{ name = "t_core0"; device = "wire:core0"; mtu = 200; on_full = "wait"; }},
    {{ name = "t_core1"; device = "wire:core1"; mtu = 200; on_full = "wait"; }}
);
qos = {{
    profiles = {{ slow = {{ rate = "100k"; }}; home = {{ rate = "10M"; }}; fast = {{ rate = "50M"; }}; }};
    dscp_maps = {{ ip = {{ queues = ( {{ dscp = "46"; class = "0"; }} ); default = {{ class = "be"; }}; }}; }};
    schedulers = {{ acc = {{ ports = ["cpe0"]; dscp_map = "ip"; rate = "10G"; backend = "{backend}";
                             classes = ( {{ class = "0"; queue = 64; }}, {{ class = "be"; queue = 64; }} ); }}; }};
}};
subscribers = (
    {{ port = "cpe0"; svlan = "128-131"; cvlan = "256-511"; ipv4 = "10.0.0.0/22"; gre_key = "0-1023";
       mac = "02:c0:00:00:00:00"; profile = "home"; }},
    {{ port = "cpe0"; svlan = "132-135"; cvlan = "256-511"; ipv4 = "10.0.4.0/22"; gre_key = "1024-2047";
       mac = "02:c0:00:00:04:00"; profile = "slow"; }}
);
routes = ( {{ prefix = "198.18.0.0/15"; port = "core0"; mac = "02:dd:00:00:00:00"; gre = "203.0.113.1"; mpls = 16; }},
           {{ prefix = "198.19.0.0/17"; port = "core1"; mac = "02:dd:00:00:00:00"; gre = "203.0.113.2"; mpls = 17; }} );
tasks = (
    {{ name = "classify"; type = "classify"; from = "cpe0"; to = "qos_up"; scheduler = "acc"; shed = 0; }},
    {{ name = "qos_up"; type = "qos"; scheduler = "acc"; direction = "up"; to = "decap"; }},
    {{ name = "decap"; type = "qinq_decap"; to = "route"; on_full = "wait"; }},
    {{ name = "route"; type = "route"; to = "gre_up"; }},
    {{ name = "gre_up"; type = "gre_encap"; to = "mpls_up"; }},
    {{ name = "mpls_up"; type = "mpls_push"; to = ["core0", "core1"]; }},
    {{ name = "mpls_down"; type = "mpls_pop"; from = "core0"; to = "gre_down"; }},
    {{ name = "gre_down"; type = "gre_decap"; to = "encap"; scheduler = "acc"; shed = 0; }},
    {{ name = "encap"; type = "qinq_encap"; to = "qos_down"; }},
    {{ name = "qos_down"; type = "qos"; scheduler = "acc"; direction = "down"; to = "cpe0"; on_full = "wait"; }},
    {{ name = "up_still"; type = "gen"; template = "up_still.tmpl"; stamp = true; rate = "{rate}"; to = "t_cpe0"; }},
    {{ name = "up_churn"; type = "gen"; template = "up_churn.tmpl"; stamp = true; rate = "{rate}"; to = "t_cpe0"; }},
    {{ name = "up_hot"; type = "gen"; template = "up_hot.tmpl"; stamp = true; rate = "{rate}"; to = "t_cpe0"; }},
    {{ name = "up_routes"; type = "gen"; template = "up_routes.tmpl"; stamp = true; rate = "{rate}"; to = "t_cpe0"; }},
    {{ name = "down_still"; type = "gen"; template = "down_still.tmpl"; stamp = true; rate = "{rate}"; to = "t_core0"; }},
    {{ name = "down_churn"; type = "gen"; template = "down_churn.tmpl"; stamp = true; rate = "{rate}"; to = "t_core0"; }},
    {{ name = "sink_cpe"; type = "sink"; from = "t_cpe0"; expect = "to_access.tmpl"; }},
    {{ name = "sink_core0"; type = "sink"; from = "t_core0"; expect = "to_core.tmpl"; }},
    {{ name = "sink_core1"; type = "sink"; from = "t_core1"; expect = "to_core1.tmpl"; }}
);
layout = (
    {{ core = "0"; tasks = ["classify", "qos_up", "mpls_down", "gre_down", "encap"]; }},
    {{ core = "1"; tasks = ["decap", "route", "gre_up", "mpls_up", "qos_down"]; }},
    {{ core = "2"; tasks = ["up_still", "up_churn", "up_hot", "up_routes", "down_still", "down_churn",
                            "sink_cpe", "sink_core0", "sink_core1"]; }}
);
"""

ROUTED = FROM_ACCESS.replace("var user {users} random", "var user {users} random\nvar block 0-32767 random")


def write(folder, rate, backend="wheel"):
    """The configuration and its templates. Returns its path."""
    still, churn = f"0-{STILL - 1}", f"{STILL}-{USERS - 1}"
    files = {
        "churn.cfg": CONFIG.format(rate=rate, backend=backend, max_subscribers=STILL + CONFIGURED + SPARE),
        "up_still.tmpl": FROM_ACCESS.format(users=still, dst="198.18.0.1"),
        "up_churn.tmpl": FROM_ACCESS.format(users=churn, dst="198.18.0.1"),
        "up_hot.tmpl": FROM_ACCESS.format(users=f"{STILL}-{STILL + HOT - 1}", dst="198.18.0.1"),
        "up_routes.tmpl": ROUTED.format(users=still, dst="198.19.0.0 + block"),
        "down_still.tmpl": FROM_CORE.format(users=still),
        "down_churn.tmpl": FROM_CORE.format(users=churn),
        "to_access.tmpl": TO_ACCESS.format(users=f"0-{USERS - 1}"),
        "to_core.tmpl": TO_CORE.format(users=f"0-{USERS - 1}"),
        "to_core1.tmpl": TO_CORE1.format(users=f"0-{USERS - 1}"),
    }
    offered.write(folder, files)
    return os.path.join(folder, "churn.cfg")


def vlans(user):
    return FIRST_SVLAN + (user >> 8), FIRST_CVLAN + (user & 255)


def name(user):
    return "cpe0 {}.{}".format(*vlans(user))


def entry(user, profile):
    """A subscriber as add-subscriber has it."""
    svlan, cvlan = vlans(user)
    return {
        "port": "cpe0",
        "svlan": svlan,
        "cvlan": cvlan,
        "ipv4": f"10.0.{user >> 8}.{user & 255}",
        "gre_key": user,
        "mac": f"02:c0:00:00:{user >> 8:02x}:{user & 255:02x}",
        "profile": profile,
    }
