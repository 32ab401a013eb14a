# SPDX-License-Identifier: BSD-3-Clause
"""Every reason for which a frame can be dropped. A good frame goes last: the path still works."""

import struct

from scapy.layers.dhcp import BOOTP, DHCP
from tests.pcap import frames as fr
from tests.pcap.frames import Subscriber, server
from tests.pcap.traffic import Traffic

SUB, CORE = Subscriber(0, 2), "core0"
UP = fr.udp(SUB.ip, server(CORE))
DOWN = fr.udp(server(CORE), SUB.ip)


def good(case, up=True, down=True):
    """Both directions still forward."""
    if up:
        case.up(SUB, CORE, UP)
    if down:
        case.down(CORE, SUB, DOWN)
    return case


def refuse(case, port, task, reason, *frames):
    case.send(port, *frames)
    case.drop(task, reason, len(frames))


def with_checksum(header):
    """An IPv4 header with its checksum mended, whatever else it says."""
    header = bytearray(header)
    header[10:12] = b"\0\0"
    total = sum(struct.unpack(f"!{len(header) // 2}H", header[: len(header) // 2 * 2]))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    header[10:12] = struct.pack("!H", 0xFFFF - total)
    return bytes(header)


def lying(packet, at, value, mend=True):
    """packet with one byte of its IPv4 header changed."""
    header = bytearray(packet[:20])
    header[at] = value
    return (with_checksum(header) if mend else bytes(header)) + packet[20:]


def bad_headers(packet):
    """(reason, packet): IPv4 headers that are to be refused."""
    for version_ihl in (0x05, 0x55, 0x65, 0xF5, 0x44, 0x40, 0x41, 0x4F):
        reason = "bad_ipv4" if version_ihl != 0x4F or len(packet) < 60 else "bad_checksum"
        yield reason, lying(packet, 0, version_ihl)
    for total in (0, 1, 19, len(packet) + 1, 0xFFFF):
        yield "bad_length", with_checksum(packet[:2] + struct.pack("!H", total) + packet[4:20]) + packet[20:]
    for bit in range(16):
        broken = int.from_bytes(packet[10:12], "big") ^ 1 << bit
        yield "bad_checksum", packet[:10] + struct.pack("!H", broken) + packet[12:]
    for at in (1, 4, 8, 12, 19):
        yield "bad_checksum", lying(packet, at, packet[at] ^ 1, mend=False)


def long_enough(packet):
    """Frames without padding, so that a total length beyond the packet is beyond the frame."""
    return fr.from_cpe(SUB, packet, padded=False)


def classify():
    case = Traffic("drop-classify")
    for reason, packet in bad_headers(UP):
        refuse(case, "cpe0", "classify", reason, long_enough(packet))
    frame = fr.from_cpe(SUB, UP)
    for outer, inner in ((0x0800, 0x8100), (0x9100, 0x8100), (0x88A8, 0x88A8), (0x8100, 0x88A8), (0x88A8, 0x0800)):
        pair = struct.pack("!H", outer) + frame[14:16] + struct.pack("!H", inner)
        refuse(case, "cpe0", "classify", "not_qinq", frame[:12] + pair + frame[18:])
    untagged = fr.pad(fr.ether(fr.GATEWAY_MAC["cpe0"], SUB.mac, fr.ETH_IPV4, UP))
    refuse(case, "cpe0", "classify", "not_qinq", untagged)
    for svlan, cvlan in ((128, 255), (128, 512), (127, 256), (129, 256), (0, 0), (4095, 4095), (0, 258), (128, 0)):
        other = Subscriber(0, 2)
        other.svlan, other.cvlan = svlan, cvlan
        refuse(case, "cpe0", "classify", "unknown_subscriber", fr.from_cpe(other, UP))
    for ethertype in (0x86DD, 0x8847, 0x8863, 0x0801, 0x0000, 0xFFFF, 0x8100):
        refuse(case, "cpe0", "classify", "not_ipv4", fr.from_cpe(SUB, UP, ethertype=ethertype))
    others = ("10.0.0.1", "10.0.0.3", "10.0.128.2", "0.0.0.0", "255.255.255.255", "192.0.2.1", "10.1.0.2")
    for source in others:
        refuse(case, "cpe0", "classify", "spoofed", fr.from_cpe(SUB, fr.udp(source, server(CORE))))
    # the same pair of tags on the other port is another subscriber
    elsewhere = fr.from_cpe(SUB, UP)
    refuse(case, "cpe1", "classify", "spoofed", address(fr.GATEWAY_MAC["cpe1"]) + elsewhere[6:])
    return good(case)


def address(mac):
    return bytes.fromhex(mac.replace(":", ""))


def to_others(frame):
    """The same frame, as a switch floods it: to another host, to the other ports of the gateway."""
    own = frame[:6]
    macs = ["02:b0:00:00:00:02", *fr.GATEWAY_MAC.values()]
    return [address(mac) + frame[6:] for mac in macs if address(mac) != own]


def to_all(frame):
    """The same frame to all, and to a group."""
    return [address(mac) + frame[6:] for mac in ("ff:ff:ff:ff:ff:ff", "01:00:5e:00:00:01")]


def dhcp_discover(sub):
    """A CPE that has no address asks for one: RFC 2131."""
    ask = fr.raw(BOOTP(chaddr=address(sub.mac)) / DHCP(options=[("message-type", "discover"), "end"]))
    return fr.raw(fr.IP(src="0.0.0.0", dst="255.255.255.255") / fr.UDP(sport=68, dport=67) / fr.Raw(ask))


def foreign_macs():
    """RFC 1812 section 5.3.4: a router forwards what is addressed to it."""
    case = Traffic("drop-foreign-mac")
    refuse(case, "cpe0", "classify", "foreign_mac", *to_others(fr.from_cpe(SUB, UP)))
    refuse(case, "cpe0", "classify", "group_mac", *to_all(fr.from_cpe(SUB, UP)), *to_all(fr.from_cpe(SUB, dhcp_discover(SUB)))[:1])
    down = fr.from_core(CORE, DOWN, key=SUB.key)
    refuse(case, CORE, "mpls_down", "foreign_mac", *to_others(down), *to_all(down))
    return good(case)


def foreign_macs_without_labels():
    case = Traffic("drop-foreign-mac-gre", mpls=False)
    down = fr.from_core(CORE, DOWN, key=SUB.key, stack=())
    refuse(case, CORE, "gre_down", "foreign_mac", *to_others(down), *to_all(down))
    return good(case)


def foreign_macs_plain():
    case = Traffic("drop-foreign-mac-plain", gre=False, mpls=False)
    down = fr.from_core(CORE, DOWN, stack=(), with_gre=False)
    refuse(case, CORE, "find", "foreign_mac", *to_others(down))
    refuse(case, CORE, "find", "group_mac", *to_all(down))
    return good(case)


def segmented():
    """Frames beyond the room of an mbuf, which net_pcap chains: not one task reads behind the first."""
    case = Traffic("drop-segmented")
    for total in (2200, 4000, 9000):
        refuse(case, "cpe0", "classify", "segmented", fr.from_cpe(SUB, fr.udp_of_length(SUB.ip, server(CORE), total)))
        down = fr.udp_of_length(server(CORE), SUB.ip, total)
        refuse(case, CORE, "mpls_down", "segmented", fr.from_core(CORE, down, key=SUB.key))
    return good(case)


def segmented_without_labels():
    case = Traffic("drop-segmented-gre", mpls=False)
    frame = fr.from_core(CORE, fr.udp_of_length(server(CORE), SUB.ip, 4000), key=SUB.key, stack=())
    refuse(case, CORE, "gre_down", "segmented", frame)
    return good(case)


def segmented_plain():
    case = Traffic("drop-segmented-plain", gre=False, mpls=False)
    frame = fr.from_core(CORE, fr.udp_of_length(server(CORE), SUB.ip, 4000), stack=(), with_gre=False)
    refuse(case, CORE, "find", "segmented", frame)
    return good(case)


def spoofing_allowed():
    """anti_spoof = false lets foreign sources through."""
    case = Traffic("up-anti-spoof-off", params={"classify": "anti_spoof = false;"})
    case.up(SUB, CORE, fr.udp("172.31.0.1", server(CORE)))
    return case


def no_route():
    case = Traffic("drop-route-no-route", arp=False)
    for to in ("8.8.8.8", "198.17.255.255", "198.20.0.0", "223.255.255.255", "10.0.0.3", "1.0.0.0"):
        refuse(case, "cpe0", "route", "no_route", fr.from_cpe(SUB, fr.udp(SUB.ip, to)))
    for to in ("0.0.0.0", "0.1.2.3", "127.0.0.1", "127.255.255.255", "224.0.0.1", "239.255.255.255", "240.0.0.1",
               "255.255.255.255"):  # fmt: skip
        refuse(case, "cpe0", "route", "not_unicast", fr.from_cpe(SUB, fr.udp(SUB.ip, to)))
    return good(case)


def default_route():
    """A default route does not lead where no packet may go."""
    case = Traffic("drop-route-not-unicast")
    case.gateway.routes = f'{{ prefix = "0.0.0.0/0"; port = "core1"; mac = "{fr.NEIGHBOUR_MAC["core1"]}"; gre = "{fr.TUNNEL_IP["core1"]}"; mpls = 17; }}'  # fmt: skip
    for to in ("0.0.0.0", "127.0.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255"):
        refuse(case, "cpe0", "route", "not_unicast", fr.from_cpe(SUB, fr.udp(SUB.ip, to)))
    for to in ("8.8.8.8", "1.0.0.0", "223.255.255.255"):
        case.up(SUB, "core1", fr.udp(SUB.ip, to))
    return good(case)


def no_slow_path():
    """Without the arp task: what it would have had is dropped, each for a reason of its own."""
    case = Traffic("drop-without-slow-path", arp=False, static_core=True, mtu={"core0": 1400, "cpe0": 1000})
    ask = fr.arp(1, SUB.mac, SUB.ip, "00:00:00:00:00:00", fr.GATEWAY_IP["cpe0"])
    refuse(case, "cpe0", "classify", "no_slow_path", fr.pad(fr.tagged(fr.BROADCAST, SUB.mac, SUB, ask, ethertype=fr.ETH_ARP)))  # fmt: skip
    ask = fr.arp(1, fr.NEIGHBOUR_MAC[CORE], fr.NEIGHBOUR_IP[CORE], "00:00:00:00:00:00", fr.GATEWAY_IP[CORE])
    refuse(case, CORE, "mpls_down", "no_slow_path", fr.pad(fr.ether(fr.BROADCAST, fr.NEIGHBOUR_MAC[CORE], fr.ETH_ARP, ask)))
    ping = fr.raw(fr.IP(src=fr.NEIGHBOUR_IP[CORE], dst=fr.GATEWAY_IP[CORE]) / fr.ICMP())
    refuse(case, CORE, "gre_down", "no_slow_path", fr.pad(fr.ether(fr.GATEWAY_MAC[CORE], fr.NEIGHBOUR_MAC[CORE], fr.ETH_IPV4, ping)))  # fmt: skip
    for port in fr.PORTS:
        refuse(case, "cpe0", "route", "for_us", fr.from_cpe(SUB, fr.udp(SUB.ip, fr.GATEWAY_IP[port])))
    for ttl in (0, 1):
        refuse(case, "cpe0", "route", "ttl_expired", fr.from_cpe(SUB, fr.udp(SUB.ip, server(CORE), ttl=ttl)))
        refuse(case, CORE, "encap", "ttl_expired", fr.from_core(CORE, fr.udp(server(CORE), SUB.ip, ttl=ttl), key=SUB.key))
    for total in (1369, 1400, 1472):
        packet = fr.udp_of_length(SUB.ip, server(CORE), total, flags="DF")
        refuse(case, "cpe0", "route", "too_big", fr.from_cpe(SUB, packet))
    for total in (1001, 1024, 1400):
        packet = fr.udp_of_length(server(CORE), SUB.ip, total, flags="DF")
        refuse(case, CORE, "encap", "too_big", fr.from_core(CORE, packet, key=SUB.key))
    return good(case)


def no_macs():
    case = Traffic("drop-without-macs", arp=False, static_core=False, static_cpe=False)
    refuse(case, "cpe0", "route", "no_nexthop_mac", fr.from_cpe(SUB, UP))
    refuse(case, CORE, "encap", "no_cpe_mac", fr.from_core(CORE, DOWN, key=SUB.key))
    return case


def no_fragments():
    case = Traffic("drop-without-fragment", fragment=False, mtu={"core0": 1400, "cpe0": 1000})
    refuse(case, "cpe0", "route", "too_big", fr.from_cpe(SUB, fr.udp_of_length(SUB.ip, server(CORE), 1369)))
    refuse(case, CORE, "encap", "too_big", fr.from_core(CORE, fr.udp_of_length(server(CORE), SUB.ip, 1001), key=SUB.key))
    return good(case)


def no_key():
    case = Traffic("drop-gre-no-key")
    case.gateway.more_subscribers = '{ port = "cpe0"; svlan = "200"; cvlan = "300"; ipv4 = "10.9.8.0/32"; mac = "02:0a:00:00:00:01"; }'  # fmt: skip
    keyless = Subscriber(0, 0)
    keyless.svlan, keyless.cvlan, keyless.ip = 200, 300, "10.9.8.0"
    refuse(case, "cpe0", "gre_up", "no_key", fr.from_cpe(keyless, fr.udp(keyless.ip, server(CORE))))
    refuse(case, CORE, "gre_down", "no_key", fr.from_core(CORE, DOWN), fr.from_core(CORE, DOWN, sequence=1))
    return good(case)


def labelled(stack, below=b"", ethertype=fr.ETH_MPLS):
    return fr.ether(fr.GATEWAY_MAC[CORE], fr.NEIGHBOUR_MAC[CORE], ethertype, stack + below)


def mpls():
    case = Traffic("drop-mpls", params={"mpls_down": 'label = "16-31"; unlabelled = "drop"; max_labels = "3";'})
    below = fr.from_core(CORE, DOWN, key=SUB.key, stack=())[14:]
    entry = struct.Struct("!I").pack
    top = 16 << 12 | 255
    # no S bit anywhere: the frame ends inside the stack, or the stack is too deep
    for n in range(3):
        refuse(case, CORE, "mpls_down", "no_bottom", labelled(entry(top) * n), labelled(entry(top) * n + b"\0\x01\x00"))
    for n in (3, 4, 8, 100, 370):
        refuse(case, CORE, "mpls_down", "too_many_labels", labelled(entry(top) * n, below))
        refuse(case, CORE, "mpls_down", "too_many_labels", labelled(entry(top) * n))
    for stack in ([(32, 60)], [(1048575, 60)], [(16, 60), (32, 60)], [(32, 60), (16, 60)]):
        refuse(case, CORE, "mpls_down", "unknown_label", labelled(fr.labels(*stack), below))
    for ttl in (0, 1):
        refuse(case, CORE, "mpls_down", "ttl_expired", labelled(fr.labels((16, ttl)), below))
        refuse(case, CORE, "mpls_down", "ttl_expired", labelled(fr.labels((16, ttl), (17, 64)), below))
    for first in (0x00, 0x15, 0xF5):  # a pseudowire's control word, nonsense
        refuse(case, CORE, "mpls_down", "not_ip", labelled(fr.labels((16, 9)), bytes([first]) + below[1:]))
    for n in (0, 1, 19):
        refuse(case, CORE, "mpls_down", "not_ip", labelled(fr.labels((16, 9)), below[:n]))
    refuse(case, CORE, "gre_down", "not_ip", labelled(fr.labels((16, 9)), b"\x60" + below[1:]))  # 6PE, and no tunnel in it
    refuse(case, CORE, "mpls_down", "unlabelled", labelled(b"", below, 0x86DD))
    refuse(case, CORE, "mpls_down", "unlabelled", labelled(b"", below, fr.ETH_IPV4))
    for ethertype in (0x8848, 0x88CC, 0x0000, 0x0027, 0x8100, 0xFFFF):
        refuse(case, CORE, "mpls_down", "not_ip_or_mpls", labelled(fr.labels((16, 9)), below, ethertype))
    case.down(CORE, SUB, DOWN, stack=[(16, 9), (31, 9), (0, 9)])
    return good(case)


def outer_headers():
    case = Traffic("drop-gre-outer", params={"gre_down": 'key = "required";'})
    inside = fr.gre(DOWN, key=SUB.key)
    outer = fr.tunnel(fr.TUNNEL_IP[CORE], fr.GATEWAY_IP[CORE], inside)
    for reason, packet in bad_headers(outer):
        # pop itself wants to see a 4, or a 6, which no tunnel is in
        version = packet[0] >> 4
        task = "gre_down" if version in (4, 6) else "mpls_down"
        refuse(case, CORE, task, reason if version == 4 else "not_ip", fr.from_core(CORE, packet, with_gre=False))
        if version != 4:
            refuse(case, CORE, "gre_down", "bad_ipv4", fr.from_core(CORE, packet, with_gre=False, stack=()))
    for to in ("192.0.2.2", "192.0.2.3", "203.0.113.1", "255.255.255.255", "224.0.0.1", SUB.ip):
        packet = fr.tunnel(fr.TUNNEL_IP[CORE], to, inside)
        refuse(case, CORE, "gre_down", "not_for_us", fr.from_core(CORE, packet, with_gre=False))
    for flags, frag in (("MF", 0), ("MF", 3), (0, 1), (0, 8191)):
        packet = fr.tunnel(fr.TUNNEL_IP[CORE], fr.GATEWAY_IP[CORE], inside, flags=flags, frag=frag)
        refuse(case, CORE, "gre_down", "outer_fragment", fr.from_core(CORE, packet, with_gre=False))
    return good(case)


def in_tunnel(gre_bytes):
    return fr.from_core(CORE, fr.tunnel(fr.TUNNEL_IP[CORE], fr.GATEWAY_IP[CORE], gre_bytes), with_gre=False)


def gre_headers():
    case = Traffic("drop-gre-header")
    inside = fr.gre(DOWN, key=SUB.key)
    for bit in (1, 4, 5, 13, 14, 15):  # routing, strict source route, recursion; version
        header = bytearray(inside)
        header[bit // 8] |= 0x80 >> bit % 8
        refuse(case, CORE, "gre_down", "bad_gre", in_tunnel(bytes(header)))
    for flags, least in ((0x0000, 4), (0x2000, 8), (0x3000, 12), (0xB000, 16), (0x8000, 8), (0x1000, 8)):
        for n in range(least):  # flags that need more bytes than there are
            refuse(case, CORE, "gre_down", "bad_gre", in_tunnel((struct.pack("!HH", flags, 0x0800) + b"\0" * 12)[:n]))
    summed = fr.gre(DOWN, key=SUB.key, checksum=True)
    for at in (4, 5, 11, 20, len(summed) - 1):
        broken = bytearray(summed)
        broken[at] ^= 0x10
        refuse(case, CORE, "gre_down", "bad_gre_checksum", in_tunnel(bytes(broken)))
    for proto in (0x86DD, 0x6558, 0x880B, 0x0000, 0x8847):
        refuse(case, CORE, "gre_down", "not_ipv4", in_tunnel(fr.gre(DOWN, key=SUB.key, proto=proto)))
    for key in (256, 32767, 33024, 65536, 0x10002, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF):
        refuse(case, CORE, "gre_down", "unknown_key", in_tunnel(fr.gre(DOWN, key=key)))
    return good(case)


def inner_headers():
    case = Traffic("drop-gre-inner")
    for reason, packet in bad_headers(DOWN):
        refuse(case, CORE, "gre_down", f"inner_{reason}", in_tunnel(fr.gre(packet, key=SUB.key)))
    for to in ("10.0.0.1", "10.0.0.3", "10.0.128.2", "198.18.0.1", "255.255.255.255"):
        refuse(case, CORE, "gre_down", "misdelivered", in_tunnel(fr.gre(fr.udp(server(CORE), to), key=SUB.key)))
    # another subscriber's key
    refuse(case, CORE, "gre_down", "misdelivered", in_tunnel(fr.gre(DOWN, key=SUB.key + 1)))
    return good(case)


def keyless():
    case = Traffic("drop-gre-keyless", key=False)
    for to in ("10.0.1.0", "10.0.127.255", "10.1.0.0", "192.0.2.1", "255.255.255.255", "0.0.0.0"):
        refuse(case, CORE, "gre_down", "unknown_address", in_tunnel(fr.gre(fr.udp(server(CORE), to))))
    for n in range(20):
        refuse(case, CORE, "gre_down", "inner_bad_ipv4", in_tunnel(fr.gre(DOWN[:n])))
    return good(case)


def unlabelled_tunnel():
    """gre_decap at a port: what mpls_pop would have refused before."""
    case = Traffic("drop-gre-at-port", mpls=False)
    frame = fr.from_core(CORE, DOWN, key=SUB.key, stack=())
    for n in range(14):
        refuse(case, CORE, "gre_down", "short_frame", frame[:n])
    for ethertype in (0x8847, 0x86DD, 0x0000, 0x8100, 0xFFFF):
        refuse(case, CORE, "gre_down", "not_ip", frame[:12] + struct.pack("!H", ethertype) + frame[14:])
    return good(case)


def plain():
    """classify match = "ipv4" at a core port."""
    case = Traffic("drop-plain", gre=False, mpls=False)
    frame = fr.from_core(CORE, DOWN, stack=(), with_gre=False)
    for n in range(14):
        refuse(case, CORE, "find", "short_frame", frame[:n])
    for reason, packet in bad_headers(DOWN):
        refuse(case, CORE, "find", reason, fr.from_core(CORE, packet, stack=(), with_gre=False))
    for to in ("10.0.1.0", "10.0.127.255", "10.1.0.0", "255.255.255.255", "0.0.0.0", "224.0.0.1"):
        packet = fr.udp(server(CORE), to)
        refuse(case, CORE, "find", "unknown_subscriber", fr.from_core(CORE, packet, stack=(), with_gre=False))
    for ethertype in (0x8847, 0x86DD, 0x0000, 0x8100, 0xFFFF):
        refuse(case, CORE, "find", "not_ipv4", frame[:12] + struct.pack("!H", ethertype) + frame[14:])
    return good(case)


def no_room():
    """A short packet so far back in a small mbuf that there is no room for its padding."""
    case = Traffic("drop-no-tailroom", data_room=300, mtu={p: 128 for p in fr.PORTS})
    options = fr.ip_options(b"\x01" * 40)
    outer = fr.tunnel(fr.TUNNEL_IP[CORE], fr.GATEWAY_IP[CORE], fr.gre(DOWN, key=SUB.key, checksum=True, sequence=1), options=options)  # fmt: skip
    frame = fr.from_core(CORE, outer, stack=[(16, 9)] * 8, with_gre=False)
    refuse(case, CORE, "encap", "no_tailroom", frame)
    return good(case)


def too_many_fragments():
    case = Traffic("drop-too-many-fragments", mtu={"core0": 68})
    packet = fr.udp_of_length(SUB.ip, server(CORE), 1500)
    refuse(case, "cpe0", "fragment_up", "too_many", fr.from_cpe(SUB, packet))
    return case


def cases():
    for make in (classify, foreign_macs, foreign_macs_without_labels, foreign_macs_plain, segmented,
                 segmented_without_labels, segmented_plain, spoofing_allowed, no_route,
                 default_route, no_slow_path, no_macs, no_fragments, no_key, mpls, outer_headers, gre_headers,
                 inner_headers, keyless, unlabelled_tunnel, plain, no_room, too_many_fragments):  # fmt: skip
        yield make()
