# SPDX-License-Identifier: BSD-3-Clause
"""Captures of the real program: what they hold against the frames that were sent."""

import pytest

from tests.common import need

need.module("scapy", "python3-scapy")

from tests.capture import bed  # noqa: E402
from tests.capture.checks import kept, order, statistics  # noqa: E402
from tests.capture.pcapng import File  # noqa: E402
from tests.common.verdict import nothing  # noqa: E402
from tests.control import load  # noqa: E402
from tests.pcap import cases_drops, cases_ipv6, cases_ipv6_core, cases_tunnel6  # noqa: E402
from tests.pcap.frames import PORTS, Subscriber, from_cpe, server, udp  # noqa: E402
from tests.pcap.traffic import Traffic  # noqa: E402

PACKETS = 400  # of each generator, about


class Reasons(Traffic):
    """A case that remembers which frame is dropped for which reason."""

    def __init__(self, *args, **keys):
        self.reason, self.last = {}, ()
        super().__init__(*args, **keys)

    def send(self, port, *frames):
        self.last = frames
        super().send(port, *frames)

    def drop(self, task, reason, n=1):
        super().drop(task, reason, n)
        self.reason.update({frame: f"dropped: {task} {reason}" for frame in self.last})


def turns(expected, packets, where):
    """Are the packets the expected frames, over and over again from the first on?"""
    for k, p in enumerate(packets):
        want = expected[k % len(expected)]
        if p.frame != want or p.length != len(want):
            return [f"{where}: packet {k} is {p.frame.hex()} instead of {want.hex()}"]
    return []


def other_tools(path, n):
    """Programs that others have written read the file: tshark all of it, editcap, capinfos."""
    out = bed.run_tool("tshark", "-r", path, "-T", "fields", "-e", "frame.comment", "-e", "frame.interface_name")
    comments = bed.run_tool("tshark", "-r", path, "-Y", 'frame.comment contains "spoofed"', "-T", "fields", "-e",
                            "frame.comment")  # fmt: skip
    bed.run_tool("editcap", "-F", "pcap", path, path + ".pcap")
    wrong = [] if len(out.splitlines()) == n else [f"tshark reads {len(out.splitlines())} packets of {n}"]
    if not comments or any("classify spoofed" not in line for line in comments.splitlines()):
        wrong.append(f"tshark reads the comments {comments[:200]}")
    if "nanosecond" not in bed.run_tool("capinfos", path):
        wrong.append("capinfos sees no nanoseconds")
    return wrong


def test_drops_with_their_reasons(vbng, folder, monkeypatch):
    """All that classify drops, with its reason; ports in both directions; the same numbers as the report."""
    monkeypatch.setattr(cases_drops, "Traffic", Reasons)
    case = cases_drops.classify()
    b = bed.open_case(vbng, str(folder), case)
    try:
        b.start("all.pcapng", ports=list(PORTS), tasks=["*:drops"], seconds=60)
        fed = [f"gen_{p}" for p in PORTS if case.inputs[p]]
        b.send(fed, PACKETS * len(fed))
        state = b.stop_capture()
        report = b.end()
    finally:
        b.kill()
    capture = File(b.path("all.pcapng"))
    wrong = order(capture) + kept(state) + statistics(capture, state)
    counts = {p["name"]: p for p in report["ports"]}
    for p in PORTS:
        for frames, way in ((case.inputs[p], "in"), (case.expect[p], "out")):
            got, counter = capture.at(p, way), "rx_packets" if way == "in" else "tx_packets"
            wrong += turns(frames, got, f"{p} {way}") if frames else []
            if len(got) != counts[p][counter] or (frames and not got):
                wrong.append(f"{p} {way}: {len(got)} packets, the port has counted {counts[p][counter]}")
    dropped = capture.at("classify", "")
    for p in dropped:
        if p.comment != case.reason.get(p.frame):
            wrong.append(f"{p.comment!r} on the frame of {case.reason.get(p.frame)!r}")
            break
    for task in report["tasks"]:
        for reason, n in task["drops"].items():
            got = sum(p.comment == f"dropped: {task['name']} {reason}" for p in capture.packets)
            if got != n:
                wrong.append(f"{task['name']} {reason}: {got} packets, the report has {n}")
    nothing(wrong)
    need.program("tshark")
    nothing(other_tools(b.path("all.pcapng"), len(capture.packets)))


def test_one_subscriber(vbng, folder):
    """Of one subscriber: both directions, at ports and tasks, and nothing of the others."""
    him, others = Subscriber(0, 2), [Subscriber(0, 3), Subscriber(0, 258), Subscriber(1, 2)]
    case = Traffic("subscriber", subscribers=512)
    for core in ("core0", "core1"):
        for s in (him, *others):
            case.up(s, core, udp(s.ip, server(core)))
            case.down(core, s, udp(server(core), s.ip))
    b = bed.open_case(vbng, str(folder), case)
    try:
        tasks = ["decap", "gre_up:after", "gre_down:before", "encap:after"]
        b.start("him.pcapng", subscriber="cpe0 128.258", ports=list(PORTS), tasks=tasks, seconds=60)
        b.send([f"gen_{p}" for p in PORTS], PACKETS * len(PORTS))
        state = b.stop_capture()
        b.end()
    finally:
        b.kill()
    capture = File(b.path("him.pcapng"))
    wrong = order(capture) + kept(state) + statistics(capture, state)

    def his(frames, port):
        """By GRE key on the core side, by tags on the other."""
        if port.startswith("core"):
            return [f for f in frames if f[42:46] == him.key.to_bytes(4, "big")]
        return [f for f in frames if (f[14:16], f[18:20]) == (b"\x00\x80", b"\x01\x02")]

    for p in PORTS:
        if p == "cpe1":
            wrong += [f"{p} has packets"] if capture.at(p, "in") + capture.at(p, "out") else []
            continue
        for frames, way in ((case.inputs[p], "in"), (case.expect[p], "out")):
            got = capture.at(p, way)
            if not got:
                wrong.append(f"{p} {way}: nothing")
            elif way == "in" or p.startswith("core"):
                wrong += turns(his(frames, p), got, f"{p} {way}")
            elif {g.frame for g in got} - set(his(frames, p)):
                wrong.append(f"{p} {way}: frames of others")
    sent = len(capture.at("core0", "out")) + len(capture.at("core1", "out"))
    arrived = len(capture.at("cpe0", "in"))
    up = [len(capture.at(t, way)) for t, way in (("decap", "in"), ("decap", "out"), ("gre_up", "out"))]
    down = [len(capture.at(t, way)) for t, way in (("gre_down", "in"), ("encap", "out"), ("cpe0", "out"))]
    if {sent, *up} != {arrived} or len(set(down)) != 1:
        wrong.append(f"up {arrived} {up} {sent}, down {down}")
    if {p.comment for p in capture.packets} != {"subscriber 3"}:
        wrong.append(f"comments {sorted({p.comment for p in capture.packets})}")
    nothing(wrong)


def core6(case, s, own):
    """Both directions, tunnelled, labelled and plain."""
    case.up6(s, cases_ipv6.packet6(own, cases_ipv6_core.TUNNELLED))
    case.up6(s, cases_ipv6.packet6(own, cases_ipv6_core.LABELLED), gre=False)
    case.up6(s, cases_ipv6.packet6(own, cases_ipv6_core.PLAIN), port="core1", gre=False, mpls=False)
    case.down6(s, cases_ipv6.packet6(cases_ipv6_core.TUNNELLED, own))


def over6(case, s, own):
    """Both directions in tunnels of IPv6, of both families."""
    for core, far in cases_tunnel6.TO6.items():
        case.up6(s, own, core)
        case.down(core, s, cases_ipv6.packet6(far, own))
    case.up4(s, "core0")
    case.down("core1", s, udp(cases_tunnel6.TO4["core1"], s.ip))


@pytest.mark.parametrize("kind, ways", [(cases_ipv6_core.Core6, core6), (cases_tunnel6.Over6, over6)])
def test_ipv6_of_one_subscriber(vbng, folder, kind, ways):
    """Of one subscriber's IPv6 all that there is, of his link and of what is delegated; nothing of the others."""
    him, others = Subscriber(0, 2), [Subscriber(0, 3), Subscriber(1, 2)]
    case = kind("ipv6-subscriber", mpls=True)
    his = {(p, way): [] for p in PORTS for way in ("in", "out")}
    for s in (*others, him):
        before = {p: (len(case.inputs[p]), len(case.expect[p])) for p in PORTS}
        for own in (cases_ipv6.wan(s), cases_ipv6.delegated(s, 9)):
            ways(case, s, own)
    for p in PORTS:
        his[p, "in"], his[p, "out"] = case.inputs[p][before[p][0]:], case.expect[p][before[p][1]:]
    b = bed.open_case(vbng, str(folder), case)
    try:
        b.start("him6.pcapng", subscriber="cpe0 128.258", ports=list(PORTS), seconds=60)
        fed = [p for p in PORTS if case.inputs[p]]
        b.send([f"gen_{p}" for p in fed], PACKETS * len(fed))
        state = b.stop_capture()
        b.end()
    finally:
        b.kill()
    capture = File(b.path("him6.pcapng"))
    wrong = order(capture) + kept(state) + statistics(capture, state)
    for (p, way), frames in his.items():
        got = {cases_tunnel6.no_label(g.frame) if way == "out" else g.frame for g in capture.at(p, way)}
        if got != set(frames):
            wrong.append(f"{p} {way}: {len(got)} different frames, not {len(set(frames))}; {len(got - set(frames))} are not his")
    nothing(wrong)


class BothFamilies(cases_ipv6_core.Core6):
    """A case whose gateway also has a route of IPv4, in the same tunnel; it remembers which frames are of which family."""

    def __init__(self, name):
        way = cases_ipv6_core.way(f"{server('core0')}/32", "core0", True, True)
        Traffic.__init__(self, name, ipv6=True, routes=f"{cases_ipv6_core.ROUTES}, {way}")
        self.family = {}

    def _remember(self, family, add, *args, **keys):
        before = {p: (len(self.inputs[p]), len(self.expect[p])) for p in PORTS}
        add(*args, **keys)
        for p in PORTS:
            self.family.update(dict.fromkeys((*self.inputs[p][before[p][0]:], *self.expect[p][before[p][1]:]), family))

    def both_ways(self, s):
        """Packets of both families of a subscriber in both directions, tunnelled, labelled and plain; ARP, and what is of no family."""
        own = cases_ipv6.delegated(s, 9)
        self._remember("ipv6", self.up6, s, cases_ipv6.packet6(own, cases_ipv6_core.TUNNELLED))
        self._remember("ipv6", self.up6, s, cases_ipv6.packet6(own, cases_ipv6_core.LABELLED), gre=False)
        self._remember("ipv6", self.up6, s, cases_ipv6.packet6(own, cases_ipv6_core.PLAIN), port="core1", gre=False, mpls=False)
        self._remember("ipv6", self.down6, s, cases_ipv6.packet6(cases_ipv6_core.TUNNELLED, own))
        self._remember("ipv4", self.up, s, "core0", udp(s.ip, server("core0")))
        self._remember("ipv4", self.down, "core0", s, udp(server("core0"), s.ip))
        for family, kind in (("ipv4", 0x0806), ("", 0x8863), ("ipv6", 0x8864), ("ipv4", 0x8864)):
            ip = cases_ipv6.packet6(own, cases_ipv6_core.PLAIN) if family == "ipv6" else udp(s.ip, server("core0"))
            head = bytes.fromhex("1100000100000057" if family == "ipv6" else "1100000100000021") if kind == 0x8864 else b""
            self._remember(family, self.send, s.port, from_cpe(s, head + bytes(ip), ethertype=kind))


def test_of_one_family(vbng, folder):
    """Of IPv4 or IPv6, of all or of one subscriber: each frame at each port whose packet is of that family, in tunnels, too, and no other."""
    him, other = Subscriber(0, 2), Subscriber(1, 2)
    case = BothFamilies("family")
    case.both_ways(other)
    others = set(case.family)
    case.both_ways(him)
    his = set(case.family) - others
    fed = [p for p in PORTS if case.inputs[p]]
    b = bed.open_case(vbng, str(folder), case)
    wrong = []
    try:
        assert "expected" in b.ask("start-capture", file="no.pcapng", family="ipx")["error"]
        for family in ("ipv4", "ipv6", "both"):
            b.start(f"{family}.pcapng", family=family, ports=list(PORTS), tasks=["decap:before", "route:before"], seconds=60)
            b.send([f"gen_{p}" for p in fed], PACKETS * len(fed))
            wrong += kept(b.stop_capture())
        b.start("his.pcapng", family="ipv6", subscriber="cpe0 128.258", ports=list(PORTS), seconds=60)
        b.send([f"gen_{p}" for p in fed], PACKETS * len(fed))
        b.stop_capture()
        b.end()
    finally:
        b.kill()
    everything = {(p, way): set(frames) for p in PORTS for frames, way in ((case.inputs[p], "in"), (case.expect[p], "out"))}
    for name in ("ipv4", "ipv6", "both", "his"):
        capture = File(b.path(f"{name}.pcapng"))
        wrong += order(capture)
        for (p, way), frames in everything.items():
            of = {"his": "ipv6"}.get(name, name)
            want = {f for f in frames if name == "both" or case.family[f] == of}
            if name == "his":
                want &= his
            got = {g.frame for g in capture.at(p, way)}
            if got != want:
                wrong.append(f"{name}, {p} {way}: {len(got)} different frames, not {len(want)}; {len(got - want)} are of others")
        for task in ("decap", "route"):
            kinds = {g.frame[12:14] if task == "route" else g.frame[20:22] for g in capture.at(task, "in")}
            want = {"ipv4": {b"\x08\x00"}, "ipv6": {b"\x86\xdd"}, "both": {b"\x08\x00", b"\x86\xdd"}, "his": set()}[name]
            if kinds != want:
                wrong.append(f"{name}: {task} has been given {kinds}")
    nothing(wrong)


def test_what_a_scheduler_drops(vbng, folder):
    """What a scheduler drops has its reason, too, and is as many as it has counted."""
    b = bed.Bed(vbng, str(folder), load.write(folder, '20kpps"; start = "1h'))
    try:
        b.start("shaped.pcapng", tasks=["qos_up:drops"], reasons=["queue_full"], snaplen=64, seconds=60)
        for _ in range(20):  # on a busy machine generators send less
            b.send(["gen_cpe0", "gen_hot"], 20 * PACKETS)
            if b.ask("show-capture")["capture"]["matched"]:
                break
        state = b.stop_capture()
        report = b.end()
    finally:
        b.kill()
    capture = File(b.path("shaped.pcapng"))
    counted = next(t for t in report["tasks"] if t["name"] == "qos_up")["drops"]["queue_full"]
    wrong = order(capture) + kept(state) + statistics(capture, state)
    if len(capture.packets) != counted or counted == 0:
        wrong.append(f"{len(capture.packets)} packets, the task has counted {counted}")
    for p in capture.packets:
        who = int(p.frame[14:16].hex(), 16) % 4096 * 256 + int(p.frame[18:20].hex(), 16) - 128 * 256 - 256 + 1
        if p.comment != f"dropped: qos_up queue_full; subscriber {who}" or len(p.frame) != 64 or p.length != 124:
            wrong.append(f"{p.comment!r} on a frame of subscriber {who}, {len(p.frame)} of {p.length} bytes")
            break
    nothing(wrong)
