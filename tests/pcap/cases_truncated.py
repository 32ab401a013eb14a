# SPDX-License-Identifier: BSD-3-Clause
"""Each valid frame cut off after every byte. The task that first misses something drops it, and says what."""

from tests.pcap import frames as fr
from tests.pcap.cases_drops import with_checksum
from tests.pcap.frames import Subscriber, server
from tests.pcap.traffic import Traffic

SUB, CORE = Subscriber(0, 2), "core0"


def cut(case, port, frame, judge):
    """judge(n) says (task, reason) for the first n bytes."""
    for n in range(len(frame)):
        case.send(port, frame[:n])
        case.drop(*judge(n))


def upstream(tpid, words):
    """words: of IPv4 options."""
    case = Traffic(f"truncated-up-{tpid:04x}-options-{words}")
    packet = fr.udp(SUB.ip, server(CORE), size=30, options=b"\x01" * 4 * words)
    header = 20 + 4 * words

    def judge(n):
        if n < 22:
            return "classify", "short_frame"
        return "classify", "bad_ipv4" if n < 22 + header else "bad_length"

    frame = fr.from_cpe(SUB, packet, padded=False, tpid=tpid)
    cut(case, "cpe0", frame, judge)
    case.up(SUB, CORE, packet, tpid=tpid, padded=False)
    return case


def judge_tunnel(labels, outer):
    """For a frame with that many labels and an outer header of that length."""

    def judge(n):
        if n < 14:
            return "mpls_down", "short_frame"
        if labels and n < 14 + 4 * labels:
            return "mpls_down", "no_bottom"
        n -= 14 + 4 * labels
        if n < 20 and labels:
            return "mpls_down", "not_ip"
        return "gre_down", "bad_ipv4" if n < outer else "bad_length"

    return judge


def downstream(labels, words):
    case = Traffic(f"truncated-down-labels-{labels}-options-{words}")
    packet = fr.udp(server(CORE), SUB.ip, size=30)
    options = fr.ip_options(b"\x01" * 4 * words)
    outer = fr.tunnel(fr.TUNNEL_IP[CORE], fr.GATEWAY_IP[CORE], fr.gre(packet, key=SUB.key), options=options)
    frame = fr.from_core(CORE, outer, stack=[(16 + k, 99) for k in range(labels)], with_gre=False)
    cut(case, CORE, frame, judge_tunnel(labels, 20 + 4 * words))
    case.send(CORE, frame)
    case.receive(SUB.port, case.access_frame(SUB, fr.forwarded(packet)))
    return case


def lying_outer(checksum, sequence):
    """The outer header's length is cut along: what is inside ends early, and only that shows it."""
    name = "plain" if not checksum and sequence is None else "sequence" if not checksum else "checksum-sequence"
    case = Traffic(f"truncated-inside-{name}")
    packet = fr.udp(server(CORE), SUB.ip, size=30, options=b"\x01" * 8)
    inside = fr.gre(packet, key=SUB.key, sequence=sequence, checksum=checksum)
    header = len(inside) - len(packet)
    whole = fr.tunnel(fr.TUNNEL_IP[CORE], fr.GATEWAY_IP[CORE], inside)
    for n in range(len(inside)):
        outer = with_checksum(whole[:2] + (20 + n).to_bytes(2, "big") + whole[4:20]) + inside[:n]
        case.send(CORE, fr.from_core(CORE, outer, with_gre=False))
        if n < header:
            case.drop("gre_down", "bad_gre")
        elif checksum:
            case.drop("gre_down", "bad_gre_checksum")
        else:
            case.drop("gre_down", "inner_bad_ipv4" if n < header + 28 else "inner_bad_length")
    case.down(CORE, SUB, packet, sequence=sequence, checksum=checksum)
    return case


def plain():
    case = Traffic("truncated-down-plain", gre=False, mpls=False)
    packet = fr.udp(server(CORE), SUB.ip, size=30)

    def judge(n):
        if n < 14:
            return "find", "short_frame"
        return "find", "bad_ipv4" if n < 14 + 20 else "bad_length"

    cut(case, CORE, fr.from_core(CORE, packet, stack=(), with_gre=False), judge)
    case.down(CORE, SUB, packet)
    return case


def cases():
    yield upstream(fr.TPID_88A8, 0)
    yield upstream(fr.TPID_8100, 10)
    yield downstream(0, 0)
    yield downstream(1, 0)
    yield downstream(3, 10)
    yield lying_outer(False, None)
    yield lying_outer(False, 5)
    yield lying_outer(True, 5)
    yield plain()
