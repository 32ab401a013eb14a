# SPDX-License-Identifier: BSD-3-Clause
"""Captures of a gateway with traffic, which all these tests share: bounds, wrong requests, clients, more than can be kept. The last
test ends it."""

import os
import stat
import time

import pytest

from tests.common import need

need.module("scapy", "python3-scapy")

from tests.capture import bed  # noqa: E402
from tests.capture.checks import order, statistics  # noqa: E402
from tests.capture.pcapng import File  # noqa: E402
from tests.common.verdict import nothing  # noqa: E402
from tests.pcap.frames import Subscriber, server, udp  # noqa: E402
from tests.pcap.traffic import Traffic  # noqa: E402


@pytest.fixture(scope="module")
def b(vbng, module_folder):
    """A bed whose gateway has traffic of eight subscribers."""
    case = Traffic("busy")
    for i in range(8):
        s = Subscriber(0, i)
        case.up(s, "core0", udp(s.ip, server("core0")))
    busy = bed.open_case(vbng, str(module_folder), case)
    try:
        busy.ask("start-stream", task="gen_cpe0")
        yield busy
    finally:
        busy.kill()


def test_each_bound_ends_a_capture_and_holds(b):
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
    nothing(wrong)


def test_what_is_wrong_is_refused(b):
    """What is wrong is refused with words, and makes no file."""
    outside = os.path.join(b.folder, "outside.pcapng")
    os.symlink(outside, b.path("link.pcapng"))
    os.mkdir(b.path("folder"))
    open(b.path("there.pcapng"), "w").close()
    theirs = []
    if os.getuid() == 0:  # only root can have a file of another user there
        open(b.path("theirs.pcapng"), "w").close()
        os.chown(b.path("theirs.pcapng"), 65534, 65534)
        theirs = [({"file": "theirs.pcapng", "force": True}, "another user's")]
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
        *theirs,
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
        ({**good, "seconds": 0}, "1..3600"),
        ({**good, "seconds": 1.5}, "seconds"),
        ({**good, "packets": 0}, "packets"),
        ({**good, "bytes": 400}, "no room"),
        ({**good, "snaplen": 15}, "snaplen"),
        ({**good, "every": 0}, "every"),
        ({**good, "filter": "udp"}, "key 'filter': unknown in a request 'start-capture'"),
    ):
        error = b.ask("start-capture", **keys).get("error")
        if error is None or words not in error:
            wrong.append(f"{keys}: {error}")
    if set(os.listdir(b.captures)) != before or os.path.exists(outside):
        wrong.append(f"files were made: {set(os.listdir(b.captures)) - before}")
    if "no capture runs" not in b.ask("stop-capture").get("error", ""):
        wrong.append("a capture that is not there was stopped")
    nothing(wrong)


def test_a_capture_outlives_its_client(b):
    """A capture outlives its client and ends by itself; meanwhile there is no other; its file is its owner's."""
    other = b.connect()
    other.ask(cmd="start-capture", file="alone.pcapng", seconds=1)
    other.close()
    error = b.ask("start-capture", file="second.pcapng").get("error", "")
    wrong = [] if "a capture runs" in error else [f"a second capture: {error!r}"]
    mode = stat.S_IMODE(os.stat(b.path("alone.pcapng")).st_mode)
    state = b.wait()
    if state["ended_by"] != "seconds" or not 1 <= state["seconds"] < 10 or mode != 0o600:
        wrong.append(f"{state}, mode {mode:o}")
    nothing(wrong + ([] if not os.path.exists(b.path("second.pcapng")) else ["a second file was made"]))


def test_vbngctl(b, top):
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
        got, text = bed.vbngctl(top / "tools/vbngctl", b, *words)
        if got != status or expect not in text:
            wrong.append(f"{' '.join(words)}: status {got}: {text}")
    nothing(wrong)


def until_lost(b, name):
    """Capture everything until some of it is lost, which takes a moment where others use the machine, too."""
    for _ in range(5):
        b.start(name, force=True, ports=["*"], tasks=["*"], snaplen=16, seconds=5, bytes=32 << 20)
        while (state := b.ask("show-capture")["capture"])["running"] and not state["lost"]:
            time.sleep(0.02)
        state = b.stop_capture()
        if state["lost"]:
            break
    return state


def test_overload(b):
    """More than the writer can bear: what is lost is counted, in the file too; then SIGTERM in the middle of one."""
    b.ask("set-rate", task="gen_cpe0", rate="2Mpps")
    state = until_lost(b, "over.pcapng")
    b.start("end.pcapng", ports=["*"], seconds=60, bytes=1 << 20)
    report = b.end()
    capture, last = File(b.path("over.pcapng")), File(b.path("end.pcapng"))
    wrong = order(capture) + statistics(capture, state) + order(last)
    lost = sum(s["dropped"] for s in capture.statistics.values())
    # beyond its bound of bytes a capture keeps nothing, and loses nothing
    waited = state["taken"] - state["packets"] - state["lost"]
    if state["lost"] == 0 or lost != state["lost"] or waited < 0 or (waited > 0 and state["ended_by"] != "bytes"):
        wrong.append(f"{lost} lost in the file: {state}")
    if not last.statistics:
        wrong.append("the capture that vbng's end has ended has no statistics")
    nothing(wrong + ([] if report["ledger"]["balances"] else [f"the ledger does not balance: {report['ledger']}"]))
