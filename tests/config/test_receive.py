# SPDX-License-Identifier: BSD-3-Clause
"""Receive queues of ports: what --plan and --explain say of them, what a device refuses at the start, and what cores take from each."""

import json
import pathlib
import subprocess
import sys
import time

import pytest

from tests.common import need
from tests.common.limits import limit

TOP = pathlib.Path(__file__).resolve().parents[2]
GATEWAY = (TOP / "cfg/bng-pcap.cfg").read_text()
RULES = """receive = { by = "s_vlan"; queues = ( { name = "west"; s_vlan = "1-150"; }, { name = "east"; s_vlan = (151, "152-255"); },
                   { name = "far"; s_vlan = 4000; } ); };"""
VOICE = 'receive = { by = "dscp"; queues = ( { name = "rest"; }, { name = "voice"; dscp = (46, "48-63"); } ); };'
SPREAD = 'memory = "no-huge"; pools = { default = { mbufs = "8K"; }; };\nports = ( { name = "in"; device = "DEVICE";\n  RECEIVE },\n  { name = "out"; device = "net_null9,no-rx=1"; } );\n' \
         'tasks = ( { name = "pass"; type = "forward"; from = "in"; to = "out"; } );\ntopology = "1x2x1";\n' \
         'layout = ( { core = "0-1"; tasks = "pass"; } );\nidle = "sleep";\n'
IP = 'receive = { by = "rss"; fields = ["ip", "l4"]; };'
LB = "read the port on one core and spread with a task of type lb"


def two_classifiers():
    """A gateway on NICs that no machine has, whose S-VLANs two cores share, each with tasks of its own."""
    text = GATEWAY
    for port, address, receive in (("cpe0", "05", RULES), ("core0", "06", VOICE)):
        head = text.index(f'name = "{port}"; device = ')
        start, end = text.index("device", head), text.index(";", text.index("device", head))
        text = f'{text[:start]}device = "0000:{address}:00.0"; {receive}{text[end + 1:]}'
    line = '    { name = "classify"; type = "classify"; from = "cpe0"; to = "decap"; punt = "arp"; },\n'
    assert line in text
    text = text.replace(line, line.replace('"cpe0"', '["cpe0.west", "cpe0.far"]') +
                        line.replace('"cpe0"', '"cpe0.east"').replace('"classify";', '"classify_east";', 1))
    return text + 'topology = "1x4x1";\nlayout = ( { core = "1"; tasks = "classify_east"; }, { core = "0"; tasks = "*"; } );\n'


def write(folder, text):
    path = folder / "queues.cfg"
    path.write_text(text)
    return path


def test_plan(vbng, run, folder):
    path = write(folder, two_classifiers())
    checked = run(vbng, "--check", path)
    assert (checked.returncode, checked.stderr) == (0, "")
    plan = json.loads(run(vbng, "--plan=json", path).stdout)
    queues = [(p["port"], q["queue"], q["name"], q["core"], q["instance"], q["packets"]) for p in plan["ports"] for q in p["queues"]]
    assert queues == [("cpe0", 0, "west", 1, "classify", "S-VLAN 1-150 and the rest"), ("cpe0", 1, "east", 0, "classify_east", "S-VLAN 151, 152-255"),
                      ("cpe0", 2, "far", 1, "classify", "S-VLAN 4000"), ("core0", 0, "rest", 1, "mpls_down", "the rest"),
                      ("core0", 1, "voice", 1, "mpls_down", "DSCP 46, 48-63")]
    text = run(vbng, "--plan", path).stdout
    table = [line.split() for line in text.split("\nreceive queues\n")[1].split("\n\n")[0].splitlines()]
    assert table[1] == ["cpe0", "0", "west", "1", "classify", "S-VLAN", "1-150", "and", "the", "rest"]
    assert "  cpe0 rx 0,2 ──▶ classify " in text and "  core0 rx 0-1 ──▶ mpls_down " in text


def test_queues_are_dealt_out(vbng, run, folder):
    """Three queues on two cores: the first core has the first and the third."""
    text = SPREAD.replace("DEVICE", "0000:05:00.0").replace("RECEIVE", RULES)
    plan = json.loads(run(vbng, "--plan=json", write(folder, text)).stdout)
    assert [(q["queue"], q["core"]) for q in plan["ports"][0]["queues"]] == [(0, 0), (1, 1), (2, 0)]
    assert [[rx["queue"] for rx in i["receives"]] for i in plan["instances"]] == [[0, 2], [1]]
    assert "  in rx 0-2 ──▶ pass " in run(vbng, "--plan", folder / "queues.cfg").stdout


@pytest.mark.parametrize("svlan, task", [(128, "classify"), (150, "classify"), (151, "classify_east"), (255, "classify_east")])
def test_explain(vbng, run, folder, svlan, task):
    """The walk begins at the task that reads the queue of the frame's S-VLAN; nothing is asked of the NIC."""
    said = run(vbng, "--share-cpus", "--explain", f"cpe0 {svlan}.256 10.0.{svlan - 128}.0 -> 198.18.0.1",
               write(folder, two_classifiers()))
    assert said.returncode == 0 and f"cpe0 -> {task}\n" in said.stdout, said.stdout + said.stderr


def start(vbng, run, folder, device, receive):
    return run(vbng, "-q", "--share-cpus", "--duration", "100ms", write(folder, SPREAD.replace("DEVICE", device).replace("RECEIVE", receive)))


REFUSED = {
    "fields": (IP.replace("l4", "s_vlan"), "the device's RSS does not know s_vlan (it knows ip, l4, mpls); nearest: fields = [\"ip\"]; say so, or "
               f"nearest = true, or {LB}"),
    "no-field": ('receive = { by = "rss"; fields = "c_vlan"; };', "the device's RSS does not know c_vlan (it knows ip, l4, mpls); nearest: fields = "
                 f"[\"ip\", \"l4\", \"mpls\"], or {LB}"),
    "symmetric": ('receive = { by = "rss"; symmetric = true; };', "the device's RSS takes no key, so that it cannot be symmetric; nearest: "
                  f"symmetric = false; say so, or nearest = true, or {LB}"),
    "inner": ('receive = { by = "rss"; inner = true; };', "the device's RSS knows no inner headers: "),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(vbng, run, folder, name):
    """--check cannot ask a device; a start can, and says file, line and what is nearest, which nearest = true takes with a warning."""
    receive, message = REFUSED[name]
    ended = start(vbng, run, folder, "net_null0", receive)
    if name == "symmetric" and ended.returncode == 0:
        need.skip("net_null takes a key here, as that of DPDK 24.11 does")
    assert ended.returncode == 3 and f"vbng: error: {folder}/queues.cfg:3: port in: {message}" in ended.stderr, ended.stderr
    if name == "no-field":
        return
    ended = start(vbng, run, folder, "net_null0", receive.replace("; };", "; nearest = true; };"))
    assert ended.returncode == 0, ended.stderr
    assert f"vbng: warning: {folder}/queues.cfg:3: port in: {message.split('; say so')[0]}" in ended.stderr


def test_tap_without_rules(vbng, run, folder):
    """net_tap's rules are the kernel's."""
    need.root("net_tap")
    ended = start(vbng, run, folder, "net_tap0,iface=vbngqueues", RULES.replace(", { name", ",\n { name", 1))
    if ended.returncode == 0:
        pytest.skip("this kernel has tc flower, so that net_tap has rules")
    assert f"queues.cfg:3: port in: the device refuses rules for queue 'west': " in ended.stderr and f"nearest: {LB}" in ended.stderr, ended.stderr


def test_one_core(vbng, run, folder):
    text = SPREAD.replace("DEVICE", "net_null0").replace("RECEIVE", IP).replace('"0-1"', '"0"')
    checked = run(vbng, "--check", write(folder, text))
    assert checked.returncode == 0
    assert ":3: warning: port 'in': one core reads it, so that there is nothing to spread: RSS is not set up" in checked.stderr


def test_counters(vbng, folder):
    """What each core has taken from its queue is in show-ports, in the table as in JSON."""
    path, sock = write(folder, SPREAD.replace("DEVICE", "net_null0").replace("RECEIVE", IP)), folder / "sock"
    show = [sys.executable, TOP / "tools/vbngctl", "--socket", sock, "show", "ports"]
    gateway = subprocess.Popen([vbng, "-q", "--share-cpus", "--control", sock, path], stderr=subprocess.PIPE, text=True)
    try:
        end = time.monotonic() + limit(30)
        while True:
            shown = subprocess.run([*show, "--json"], capture_output=True, text=True, check=False)
            queues = json.loads(shown.stdout)[0]["queues"] if shown.returncode == 0 else []
            if queues and all(q["rx_packets"] > 0 for q in queues):
                break
            assert gateway.poll() is None and time.monotonic() < end, (shown.stdout, shown.stderr)
            time.sleep(0.1)
        table = [line.split() for line in subprocess.run(show, capture_output=True, text=True, check=True).stdout.splitlines()]
    finally:
        gateway.terminate()
        _, said = gateway.communicate(timeout=limit(30))
    assert gateway.returncode == 0, said
    assert [(row[0], *row[4:6]) for row in table if "core" in row] == [("in.0", "core", "0"), ("in.1", "core", "1")], table
    assert [(q["queue"], q["core"]) for q in queues] == [(0, 0), (1, 1)]
