#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Captures of the real binary: what they hold against the frames that were sent, their bounds, what they could not keep.

usage: run.py BINARY VBNGCTL [--filter NAME]
"""

import argparse
import json
import os
import shutil
import stat
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE] + [os.path.join(os.path.dirname(HERE), other) for other in ("pcap", "control")]

try:
    import scapy  # noqa: F401
except ImportError:
    print("SKIP all: Scapy is not installed (Debian package python3-scapy)\n0 passed, 0 failed, 1 skipped")
    sys.exit(77)

import bed  # noqa: E402
import cases_drops  # noqa: E402
import load  # noqa: E402
from frames import PORTS, Subscriber, server, udp  # noqa: E402
from pcapng import File  # noqa: E402
from tally import Tally  # noqa: E402
from traffic import Traffic  # noqa: E402

MS = 200  # that generators send


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


def order(capture):
    ns = [p.ns for p in capture.packets]
    return [] if ns == sorted(ns) else ["the times of the packets go back"]


def kept(state):
    """All that was wanted is in the file, or counted as lost."""
    wrong = [] if state["taken"] == state["packets"] + state["lost"] else [f"packets are missing: {state}"]
    return wrong + ([] if state["lost"] == 0 else [f"{state['lost']} lost"])


def statistics(capture, state):
    """The file says of each interface what the control socket says."""
    wrong = []
    for i in state["interfaces"]:
        want = {"received": i["matched"], "accepted": i["taken"], "dropped": i["lost"], "delivered": i["written"]}
        if capture.statistics.get(i["name"]) != want:
            wrong.append(f"{i['name']}: {capture.statistics.get(i['name'])} in the file, {want} on the socket")
    if [i["name"] for i in state["interfaces"]] != capture.interfaces:
        wrong.append(f"interfaces {capture.interfaces}")
    return wrong


def other_tools(path, n):
    """Programs that others have written read the file: tshark all of it, editcap, capinfos."""
    if shutil.which("tshark") is None:
        return []
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


def reasons(binary, folder):
    """All that classify drops, with its reason; ports in both directions; the same numbers as the report."""
    cases_drops.Traffic = Reasons
    case = cases_drops.classify()
    b = bed.open_case(binary, folder, case)
    try:
        b.start("all.pcapng", ports=list(PORTS), tasks=["*:drops"], seconds=60)
        b.send([f"gen_{p}" for p in PORTS if case.inputs[p]], MS)
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
    return wrong + other_tools(b.path("all.pcapng"), len(capture.packets))


def one_subscriber(binary, folder):
    """Of one subscriber: both directions, at ports and tasks, and nothing of the others."""
    him, others = Subscriber(0, 2), [Subscriber(0, 3), Subscriber(0, 258), Subscriber(1, 2)]
    case = Traffic("subscriber", subscribers=512)
    for core in ("core0", "core1"):
        for s in (him, *others):
            case.up(s, core, udp(s.ip, server(core)))
            case.down(core, s, udp(server(core), s.ip))
    b = bed.open_case(binary, folder, case)
    try:
        tasks = ["decap", "gre_up:after", "gre_down:before", "encap:after"]
        b.start("him.pcapng", subscriber="cpe0 128.258", ports=list(PORTS), tasks=tasks, seconds=60)
        b.send([f"gen_{p}" for p in PORTS], MS)
        state = b.stop_capture()
        b.end()
    finally:
        b.kill()
    capture = File(b.path("him.pcapng"))
    wrong = order(capture) + kept(state) + statistics(capture, state)

    def his(frames, port):
        """Every eighth or fourth: those of him."""
        return [f for f in frames if (f[14:16], f[18:20]) == (b"\x00\x80", b"\x01\x02") or port.startswith("core") and him.key.to_bytes(4, "big") in f[38:46]]

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
    return wrong


def shaped(binary, folder):
    """What a scheduler drops has its reason, too, and is as many as it has counted."""
    b = bed.Bed(binary, folder, load.write(folder, '20kpps"; start = "1h'))
    try:
        b.start("shaped.pcapng", tasks=["qos_up:drops"], reasons=["queue_full"], snaplen=64, seconds=60)
        b.send(["gen_cpe0", "gen_hot"], MS)
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
            return wrong + [f"{p.comment!r} on a frame of subscriber {who}, {len(p.frame)} of {p.length} bytes"]
    return wrong


def bounds(b):
    """Each bound ends a capture, and holds."""
    wrong = []
    for keys, ended in (
        ({"packets": 1000}, "packets"),
        ({"bytes": 20000}, "bytes"),
        ({"seconds": 1, "every": 50}, "seconds"),
        ({"packets": 100, "snaplen": 40}, "packets"),
    ):
        b.start("bound.pcapng", force=True, ports=["cpe0:rx", "core0"], **keys)
        state = b.wait()
        capture, size = File(b.path("bound.pcapng")), os.stat(b.path("bound.pcapng")).st_size
        wrong += order(capture)
        if state["ended_by"] != ended or len(capture.packets) != state["packets"] or size != state["bytes"]:
            wrong.append(f"{keys}: {state}, the file has {size} bytes")
        if state["packets"] > keys.get("packets", 1 << 30) or size > keys.get("bytes", 1 << 30) or not capture.packets:
            wrong.append(f"{keys}: {state['packets']} packets, {size} bytes")
        if any(len(p.frame) != min(p.length, keys.get("snaplen", 65535)) for p in capture.packets):
            wrong.append(f"{keys}: frames are not cut where they should be")
        if "every" in keys and abs(state["taken"] * 50 - state["matched"]) > 50 * 3:
            wrong.append(f"one of 50: {state['taken']} of {state['matched']}")
        if capture.at("cpe0", "out"):
            wrong.append("cpe0:rx has what cpe0 has sent")
    return wrong


def refused(b):
    """What is wrong is refused with words, and makes no file."""
    outside = os.path.join(b.folder, "outside.pcapng")
    os.symlink(outside, b.path("link.pcapng"))
    os.mkdir(b.path("folder"))
    open(b.path("there.pcapng"), "w").close()
    before, wrong = set(os.listdir(b.captures)), []
    good = {"file": "new.pcapng"}
    for keys, words in (
        ({}, "file"),
        ({"file": 7}, "file"),
        ({"file": ""}, "folder of captures"),
        ({"file": ".."}, "folder of captures"),
        ({"file": "../outside.pcapng"}, "folder of captures"),
        ({"file": outside}, "folder of captures"),
        ({"file": "x" * 300}, "too long"),
        ({"file": "there.pcapng"}, "exists"),
        ({"file": "link.pcapng", "force": True}, "not a plain file"),
        ({"file": "folder", "force": True}, "not a plain file"),
        ({**good, "force": 1}, "true or false"),
        ({**good, "ports": ["cpe7"]}, "did you mean"),
        ({**good, "ports": ["cpe0:up"]}, "expected :rx or :tx"),
        ({**good, "ports": "cpe0"}, "expected a list"),
        ({**good, "ports": [1]}, "expected a list"),
        ({**good, "tasks": ["clasify:drops"]}, "did you mean 'classify'"),
        ({**good, "tasks": ["classify:behind"]}, "expected :before"),
        ({**good, "tasks": ["*:drops"], "reasons": ["spooofed"]}, "did you mean 'spoofed'"),
        ({**good, "tasks": ["route:drops"], "reasons": ["spoofed"]}, "none of these tasks"),
        ({**good, "ports": ["*"], "reasons": ["spoofed"]}, "none of these tasks"),
        ({**good, "reasons": []}, "expected a list"),
        ({**good, "subscriber": 0}, "expected 1 to"),
        ({**good, "subscriber": "cpe0 1.1"}, ""),
        ({**good, "seconds": 0}, "1 to 3600"),
        ({**good, "seconds": 1.5}, "seconds"),
        ({**good, "packets": 0}, "packets"),
        ({**good, "bytes": 400}, "no room"),
        ({**good, "snaplen": 15}, "snaplen"),
        ({**good, "every": 0}, "every"),
        ({**good, "filter": "udp"}, "unknown key"),
    ):
        error = b.ask("start-capture", **keys).get("error")
        if error is None or words not in error:
            wrong.append(f"{keys}: {error}")
    if set(os.listdir(b.captures)) != before or os.path.exists(outside):
        wrong.append(f"files were made: {set(os.listdir(b.captures)) - before}")
    if "no capture runs" not in b.ask("stop-capture").get("error", ""):
        wrong.append("a capture that is not there was stopped")
    return wrong


def clients(b):
    """A capture outlives its client and ends by itself; meanwhile there is no other; its file is its owner's."""
    other = b.connect()
    other.ask(cmd="start-capture", file="alone.pcapng", seconds=1)
    other.close()
    error = b.ask("start-capture", file="second.pcapng").get("error", "")
    wrong = [] if "a capture runs" in error else [f"a second capture: {error!r}"]
    mode = stat.S_IMODE(os.stat(b.path("alone.pcapng")).st_mode)
    state = b.wait()
    if state["ended_by"] != "seconds" or not 1 <= state["seconds"] < 3 or mode != 0o600:
        wrong.append(f"{state}, mode {mode:o}")
    return wrong + ([] if not os.path.exists(b.path("second.pcapng")) else ["a second file was made"])


def tool(b, vbngctl):
    """vbngctl capture."""
    wrong = []
    path = b.path("tool.pcapng")
    for words, status, expect in (
        (["capture", "-o", path, "--port", "cpe0:rx", "--packets", "50"], 0, f"{path}: 50 packets"),
        (["capture", "-o", "tool.pcapng", "--drops"], 1, "exists"),
        (["capture", "-o", "tool.pcapng", "--force", "--drops", "--seconds", "1"], 0, "(seconds)"),
        (["capture", "-o", "t2.pcapng", "--task", "classify:before", "--subscriber", "cpe0 128.258", "--packets", "5"], 0,
         "5 packets"),
        (["capture", "--drops"], 2, "required"),
        (["show", "capture"], 0, '"written": 5'),
        (["stop-capture"], 1, "no capture runs"),
    ):  # fmt: skip
        got, text = bed.vbngctl(vbngctl, b, *words)
        if got != status or expect not in text:
            wrong.append(f"{' '.join(words)}: status {got}: {text}")
    return wrong


def overload(b):
    """More than the writer can bear: what is lost is counted, in the file too; then SIGTERM in the middle of one."""
    b.ask("set-rate", task="gen_cpe0", rate="2Mpps")
    b.start("over.pcapng", ports=["*"], tasks=["*"], snaplen=16, seconds=1, bytes=16 << 20)
    state = b.wait()
    b.start("end.pcapng", ports=["*"], seconds=60, bytes=1 << 20)
    report = b.end()
    capture, last = File(b.path("over.pcapng")), File(b.path("end.pcapng"))
    wrong = order(capture) + statistics(capture, state) + order(last)
    lost = sum(s["dropped"] for s in capture.statistics.values())
    if state["lost"] == 0 or lost != state["lost"] or state["taken"] != state["packets"] + state["lost"]:
        wrong.append(f"{lost} lost in the file: {state}")
    if not last.statistics:
        wrong.append("the capture that vbng's end has ended has no statistics")
    return wrong + ([] if report["ledger"]["balances"] else [f"the ledger does not balance: {report['ledger']}"])


def together(binary, vbngctl, tally, only):
    """Tests that share a gateway with traffic."""
    case = Traffic("busy")
    for i in range(8):
        s = Subscriber(0, i)
        case.up(s, "core0", udp(s.ip, server("core0")))
    with tempfile.TemporaryDirectory(prefix="vbng-capture-") as folder:
        b = bed.open_case(binary, folder, case)
        try:
            b.ask("start-stream", task="gen_cpe0")
            for test in (bounds, refused, clients, lambda x: tool(x, vbngctl), overload):
                name = test.__doc__ or "vbngctl"
                if only in name:
                    tally.result(name, test(b))
        finally:
            b.kill()


def main():
    parser = argparse.ArgumentParser(description="captures of the real binary")
    parser.add_argument("binary")
    parser.add_argument("vbngctl")
    parser.add_argument("--filter", default="", help="run only tests whose name contains this")
    args = parser.parse_args()
    binary, vbngctl = os.path.abspath(args.binary), os.path.abspath(args.vbngctl)
    tally = Tally()
    for test in (reasons, one_subscriber, shaped):
        if args.filter in test.__doc__:
            with tempfile.TemporaryDirectory(prefix="vbng-capture-") as folder:
                tally.result(test.__doc__, test(binary, folder))
    together(binary, vbngctl, tally, args.filter)
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())
