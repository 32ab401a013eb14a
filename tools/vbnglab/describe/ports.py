# SPDX-License-Identifier: BSD-3-Clause
"""Ports of a plan: what they are, what they face, and how many packets of the smallest size their line carries."""

ACCESS, CORE, OTHER = "access", "core", "other"  # what a port faces: subscribers, next hops, neither
WIRE, PCI, VHOST, VDEV = "wire", "pci", "vhost", "vdev"
PREAMBLE_GAP = 20  # bytes on the wire beside a frame: preamble 8, gap 12
ACCESS_FRAME = 64  # bytes with FCS, as are the others
CORE_FRAME = 46  # Ethernet 14, IPv4 20, UDP 8, FCS 4
GRE_HEADERS = 28  # outer IPv4 20, GRE with key 8
MPLS_HEADER = 4
VHOST_DRIVERS = ("net_vhost", "net_virtio_user", "virtio_user")


def kind(port):
    """WIRE (within the process), PCI, VHOST (a socket of vhost-user) or VDEV (any other device of DPDK's)."""
    return VHOST if port["kind"] == VDEV and port["device"].startswith(VHOST_DRIVERS) else port["kind"]


def side(port):
    """A port with subscribers is on the access side, also where next hops use it."""
    return ACCESS if port["subscribers"] else CORE if port["nexthops"] else OTHER


def smallest_frame(port):
    """Bytes with FCS of the smallest frame: 64, or what a subscriber's frame of 64 bytes becomes on its way to the core."""
    if side(port) != CORE:
        return ACCESS_FRAME
    headers = min(hop["gre"] * GRE_HEADERS + hop["mpls"] * MPLS_HEADER for hop in port["nexthops"])
    return max(ACCESS_FRAME, CORE_FRAME + headers)


def packets_per_second(port):
    """Smallest frames at line rate, in one direction."""
    return port["line_rate"] // 8 // (smallest_frame(port) + PREAMBLE_GAP)


def users(plan):
    """Name of each port -> set of the numbers of the cores that receive from it or send to it."""
    cores = {port["port"]: set() for port in plan["ports"]}
    for instance in plan["instances"]:
        for rx in instance["receives"]:
            cores[rx["port"]].add(instance["core"])
        for output in instance["outputs"]:
            for to in output["destinations"]:
                if to["kind"] == "port":
                    cores[to["port"]].add(instance["core"])
    return cores
