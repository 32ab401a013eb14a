# SPDX-License-Identifier: BSD-3-Clause
"""What each drop reason of vbng means, and what an operator does about it."""

_MALFORMED = "Find who sends it: a broken device, or a link with another encapsulation than configured."
_SUBSCRIBER = "Add the subscriber, or correct his VLAN pair, key or address."
_SLOW_PATH = "Connect the task's output punt to a task arp, or accept it."
_HEADROOM = "Larger data_room of the pool."
_RATE = "Normal when somebody scans or floods; else raise the limit of the task arp."

# reason: (meaning, remedy)
REASONS = {
    "arp_foreign": ("ARP that asks for an address which is not ours", "None, or give the port that address."),
    "arp_malformed": ("ARP that breaks RFC 826", _MALFORMED),
    "arp_rate_limited": ("More ARP than the task arp answers", _RATE),
    "arp_spoofed": ("ARP from an address that is not the subscriber's", "Correct his ipv4, or stop him."),
    "arp_untagged": ("ARP without the VLAN pair of a subscriber", "Correct the tags of the access network."),
    "bad_checksum": ("IPv4 header checksum is wrong", "Look for a device or cable that damages packets."),
    "bad_frame": ("A frame that the slow path cannot read", _MALFORMED),
    "bad_gre": ("GRE header with bits that RFC 2784 and 2890 do not allow", "Correct the tunnel at its other end."),
    "bad_gre_checksum": ("GRE checksum is wrong", "Look for a device that damages packets."),
    "bad_ipv4": ("IPv4 header is malformed", _MALFORMED),
    "bad_length": ("IPv4 says to be longer than the frame", _MALFORMED),
    "bad_port": ("Came from a port that the task arp does not know", "Correct the links to the task arp."),
    "df_set": ("Too large for the way on, and must not be fragmented", "Larger mtu of the port, or a smaller MSS at the subscriber."),
    "foreign_mac": ("Addressed to another MAC: a switch floods it", "None, if rare; else look at the switch's MAC table."),
    "for_us": ("For an address of the gateway, which nobody answers", _SLOW_PATH),
    "full": ("The impaired line's buffer was full", "It is what the task impair is told to do."),
    "icmp_fragment": ("ICMP to the gateway in fragments", "None."),
    "icmp_malformed": ("ICMP to the gateway that breaks RFC 792", _MALFORMED),
    "icmp_not_allowed": ("An ICMP error that RFC 1812 section 4.3.2.7 forbids", "None."),
    "icmp_rate_limited": ("More ICMP than the task arp answers", _RATE),
    "inner_bad_checksum": ("Checksum of the IPv4 header in the tunnel is wrong", "Look at the tunnel's other end."),
    "inner_bad_ipv4": ("IPv4 header in the tunnel is malformed", "Look at the tunnel's other end."),
    "inner_bad_length": ("IPv4 in the tunnel says to be longer than the packet", "Look at the tunnel's other end."),
    "ip_malformed": ("IPv4 to the gateway that breaks RFC 791", _MALFORMED),
    "link_full": ("The next ring or the port's queue was full", "The core behind it is too slow: see its load; another layout, a larger ring, or on_full = \"wait\"."),
    "loss": ("Lost on purpose by the task impair", "It is what the task impair is told to do."),
    "misdelivered": ("The key's subscriber does not have the address", "Correct key or address, here or at the tunnel's other end."),
    "no_bottom": ("MPLS stack without a bottom", "Look at the neighbour in the core."),
    "no_cpe_mac": ("The subscriber's MAC is not known yet", "Normal until his first packet; else give him a mac."),
    "no_gateway_address": ("No address of ours to answer from", "Give the port ipv4."),
    "no_headroom": ("No room before the packet for the headers to add", _HEADROOM),
    "no_key": ("No GRE key: of the packet, or of the subscriber", "Give the subscriber gre_key; correct the tunnel."),
    "no_mbuf": ("The pool was empty", "More mbufs in the pool."),
    "no_mtu": ("No MTU is known for the way on", "Correct the next hop's port."),
    "no_nexthop_mac": ("The next hop has not answered ARP", "Is the neighbour up? Else give the route a mac."),
    "no_path": ("No link leads to the port where it should leave", "Connect the task to that port."),
    "no_room": ("Too many packets already wait for an ARP answer", "Is the neighbour up?"),
    "no_route": ("No route to the destination", "Add a route."),
    "no_route_output": ("An answer that needs a route, and no task to look for it", "Connect the output route of the task arp."),
    "no_slow_path": ("ARP or ICMP, and no task that answers", _SLOW_PATH),
    "no_tailroom": ("No room behind the packet", _HEADROOM),
    "not_for_us": ("To an address that is not the gateway's", "Correct the sender's route or tunnel."),
    "not_ip": ("Neither IPv4 nor ARP", "None, if rare: other protocols are not carried."),
    "not_ip_or_mpls": ("Neither IPv4, MPLS nor ARP", "None, if rare: other protocols are not carried."),
    "not_ipv4": ("Not IPv4 where only that is carried (IPv6?)", "None, if rare; else tell the sender."),
    "not_punted": ("Came to the slow path without a reason", "Correct the links to the task arp."),
    "not_qinq": ("No two VLAN tags", "Correct the access network's tags, or the port's tpid."),
    "not_shaped": ("The subscriber has no profile in this scheduler", "Give him one."),
    "not_unicast": ("To a multicast or broadcast address", "None: it is not forwarded."),
    "outer_fragment": ("The tunnel's packet came in fragments", "Larger MTU on the way of the tunnel."),
    "overload": ("The core could not take all: the lowest classes go first", "More cores, another layout: see tools/sweep."),
    "pie": ("Dropped early by PIE: the queue's delay is too long", "Normal for who sends more than his profile."),
    "queue_full": ("The subscriber's queue was full", "Normal for who sends more than his profile; else a longer queue or another profile."),
    "rate": ("Would have waited too long for the impaired line", "It is what the task impair is told to do."),
    "red": ("Dropped early by RED: the queue is long", "Normal for who sends more than his profile."),
    "segmented": ("A packet in several mbufs", "Larger data_room of the pool, or a smaller mtu of the port."),
    "short_frame": ("Ends within its headers", _MALFORMED),
    "spoofed": ("From an address that is not the subscriber's", "Correct his ipv4, or stop him."),
    "too_big": ("Larger than the MTU on", "Larger mtu, or the output fragment."),
    "too_many": ("It would need too many fragments", "Larger mtu of the port."),
    "too_many_labels": ("MPLS stack deeper than is looked at", "Look at the neighbour in the core."),
    "ttl_expired": ("TTL ran out", "Traceroute, or a loop of routes."),
    "unknown_address": ("No subscriber has the address, and the tunnel has no key", _SUBSCRIBER),
    "unknown_key": ("No subscriber has the GRE key", _SUBSCRIBER),
    "unknown_label": ("An MPLS label that is not ours", "Correct the label, here or at the neighbour."),
    "unknown_subscriber": ("No subscriber has the VLAN pair", _SUBSCRIBER),
    "unlabelled": ("No MPLS label where one must be", "Correct the neighbour, or take unlabelled packets."),
    "unresolved": ("The neighbour did not answer ARP in time", "Is it up?"),
    "unsupported": ("A packet for the gateway that nobody answers", "None."),
}


def meaning(reason):
    """(meaning, remedy) of a reason."""
    return REASONS.get(reason, ("", ""))
