# SPDX-License-Identifier: BSD-3-Clause
"""Packets of IP, UDP and ICMP, made and read: RFC 791, 768, 792, 8200, 4443; and the PPPoE sessions that they may be in: RFC 2516."""

import struct

IPV4, IPV6, PPPOE_SESSION = 0x0800, 0x86DD, 0x8864  # types of Ethernet
IN_PPP = {IPV4: 0x0021, IPV6: 0x0057}  # protocols of PPP
UDP, ICMP, ICMP6 = 17, 1, 58
ECHO, ECHO_REPLY, ECHO6, ECHO6_REPLY = 8, 0, 128, 129
HOPS = 64


def checksum(data):
    """The Internet checksum (RFC 1071)."""
    total = sum(struct.unpack(f"!{(len(data) + 1) // 2}H", data + bytes(len(data) % 2)))
    total = (total & 0xFFFF) + (total >> 16)
    return ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF


def ip4(source, to, protocol, data):
    """A packet of IPv4. source, to: 4 bytes."""
    head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(data), 0, 0, HOPS, protocol, 0, source, to)
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + data


def ip6(source, to, protocol, data, at=2):
    """A packet of IPv6. source, to: 16 bytes; at: where the data has its checksum, which is 0 until now."""
    total = checksum(source + to + struct.pack("!II", len(data), protocol) + data) or 0xFFFF
    return (struct.pack("!IHBB16s16s", 6 << 28, len(data), protocol, HOPS, source, to) +
            data[:at] + struct.pack("!H", total) + data[at + 2:])


def udp4(source, to, ports, data):
    """A packet of UDP on IPv4, without a checksum. ports: (of the source, of the destination)."""
    return ip4(source, to, UDP, struct.pack("!HHHH", *ports, 8 + len(data), 0) + data)


def udp6(source, to, ports, data):
    """A packet of UDP on IPv6."""
    return ip6(source, to, UDP, struct.pack("!HHHH", *ports, 8 + len(data), 0) + data, at=6)


def echo(source, to, identifier, sequence, data):
    """A ping, of the family of the addresses."""
    message = struct.pack("!BBHHH", ECHO if len(to) == 4 else ECHO6, 0, 0, identifier, sequence) + data
    if len(to) == 16:
        return ip6(source, to, ICMP6, message)
    return ip4(source, to, ICMP, message[:2] + struct.pack("!H", checksum(message)) + message[4:])


def into_session(session, kind, packet):
    """The payload of a PPPoE frame that carries a packet of IP; kind: its type of Ethernet."""
    return struct.pack("!BBHHH", 0x11, 0, session, 2 + len(packet), IN_PPP[kind]) + packet


def out_of_session(session, payload):
    """(type of Ethernet, packet) of the IP that a frame of a session carries, else None."""
    if len(payload) < 8:
        return None
    version, code, number, n, protocol = struct.unpack_from("!BBHHH", payload)
    kind = next((kind for kind, p in IN_PPP.items() if p == protocol), None)
    return (kind, payload[8:6 + n]) if kind and (version, code, number) == (0x11, 0, session) else None


def octets(packet):
    """Of the packet as its header says, without what pads the frame behind it."""
    return struct.unpack_from("!H", packet, 2)[0] if packet[0] >> 4 == 4 else 40 + struct.unpack_from("!H", packet, 4)[0]


def destination(packet):
    """The address that a packet is for; b"" where it is none."""
    return {4: packet[16:20], 6: packet[24:40]}.get(packet[0] >> 4, b"")


def udp_data(packet, ports):
    """What a packet of UDP from and to these ports has, else None."""
    at = 40 if packet[0] >> 4 == 6 else 4 * (packet[0] & 15)
    if len(packet) < at + 8 or packet[6 if at == 40 else 9] != UDP or struct.unpack_from("!HH", packet, at) != ports:
        return None
    return packet[at + 8:at + struct.unpack_from("!H", packet, at + 4)[0]]


def echo_reply(packet):
    """(identifier, sequence) of an answer to a ping, else None."""
    at, protocol, kind = (40, ICMP6, ECHO6_REPLY) if packet[0] >> 4 == 6 else (4 * (packet[0] & 15), ICMP, ECHO_REPLY)
    if len(packet) < at + 8 or packet[6 if at == 40 else 9] != protocol or packet[at] != kind:
        return None
    return struct.unpack_from("!HH", packet, at + 4)
