# SPDX-License-Identifier: BSD-3-Clause
"""What gateways of these tests receive: templates with the users that send or get it. User u has S-VLAN 128 + u / 256, C-VLAN
256 + u % 256, address 10.0.0.0 + u and GRE key u."""

import os

FROM_ACCESS = """
size 128
var user {users} random
ether src 02:c0:00:00:00:00 + user dst 02:b0:00:00:00:00
vlan tpid 0x88a8 id 128 + user[13:8]
vlan id 256 + user[7:0]
ipv4 src 10.0.0.0 + user dst {dst}
udp src 1024 dst 2048
payload 00
"""
FROM_CORE = """
size 150
var user {users} random
ether src 02:dd:00:00:00:00 dst 02:b0:00:00:01:00
mpls label 16
ipv4 src 203.0.113.1 dst 192.0.2.1
gre key user
ipv4 src 198.18.0.1 dst 10.0.0.0 + user
udp src 2048 dst 1024
payload 00
"""


def write(folder, files):
    """Files by name into a folder."""
    for name, text in files.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(text.lstrip())
