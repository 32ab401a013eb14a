# SPDX-License-Identifier: BSD-3-Clause
"""What --check lets pass starts, and what would not start is refused by --check: each limit from both sides."""

import json
import os
import pathlib
import shutil
import subprocess
import time

import pytest

from tests.common import need
from tests.common.limits import limit
from tests.common.said import of_itself
from tests.common.verdict import nothing

TOP = pathlib.Path(__file__).resolve().parents[2]
TASKS = """
tasks = ( { name = "end"; type = "sink"; from = [FROM]; } );
layout = ( { core = "0"; tasks = "end"; } );
"""
HEAD = 'name = "limits";\nmemory = "no-huge";\nidle = "sleep";\ndrain = "50ms";\npools = { default = { mbufs = "16K"; data_room = "2176"; }; };\n'


def ports(n):
    """n ports without a device's peculiarities, read by one core."""
    names = [f"p{i}" for i in range(n)]
    groups = [f'    {{ name = "{name}"; device = "net_null{i},no-rx=1"; rx_desc = 64; tx_desc = 64; }}' for i, name in enumerate(names)]
    return HEAD + "ports = (\n" + ",\n".join(groups) + "\n);" + TASKS.replace("FROM", ", ".join(f'"{name}"' for name in names))


def long_prefixes(n):
    """n routes longer than /24, of all lengths, each alone in its /24."""
    groups = [f'    {{ prefix = "{16 + (i >> 16)}.{i >> 8 & 255}.{i & 255}.0/{25 + i % 8}"; port = "p0"; mac = "02:00:00:00:00:01"; }}'
              for i in range(n)]
    text = ports(1).replace('device = "net_null0,no-rx=1";', 'device = "net_null0,no-rx=1"; addresses = "192.0.2.1";')
    return text.replace("tasks = (", "routes = (\n" + ",\n".join(groups) + "\n);\ntasks = (")


def wire_senders(n):
    """n cores that send to a wire."""
    return HEAD + f"""ports = ( {{ name = "a"; device = "wire:w"; rx_desc = 64; tx_desc = 64; }}, {{ name = "b"; device = "wire:w"; }},
          {{ name = "in"; device = "net_null0,no-rx=1"; rx_desc = 64; }} );
tasks = ( {{ name = "pass"; type = "forward"; from = "in"; to = "a"; }}, {{ name = "end"; type = "sink"; from = "b"; }} );
topology = "1x32x1";
layout = ( {{ core = "0-{n - 1}"; tasks = "pass"; }}, {{ core = "31"; tasks = "end"; }} );
"""


LIMITS = {
    "ports": (ports, 32, ":39: error: port 'p32' is number 33: expected at most 32"),
    "wire-senders": (wire_senders, 16, ":6: error: port 'a': 17 cores send to it: expected at most 16 for a wire"),
}


@pytest.mark.limit(300)
def test_long_prefixes(vbng, run, folder):
    """Routes longer than /24 may lie in more than 65536 different /24s, which was rte_lpm's room."""
    path = os.path.join(folder, "long.cfg")
    with open(path, "w") as f:
        f.write(long_prefixes(150000))
    started = run(vbng, "-q", "--share-cpus", "--duration", "10ms", path, timeout=200)
    assert (started.returncode, of_itself(started.stderr)) == (0, "")


@pytest.mark.limit(300)
@pytest.mark.parametrize("name", LIMITS)
def test_both_sides(vbng, run, folder, name):
    """At the limit --check says OK and the start succeeds; beyond it --check refuses, with file and line."""
    make, most, message = LIMITS[name]
    wrong = []
    for n, status in ((most, 0), (most + 1, 1)):
        path = os.path.join(folder, f"{n}.cfg")
        with open(path, "w") as f:
            f.write(make(n))
        checked = run(vbng, "--check", path)
        started = run(vbng, "-q", "--share-cpus", "--duration", "10ms", path, timeout=200)
        if checked.returncode != status or (status and message not in checked.stderr):
            wrong.append(f"{n}: --check has status {checked.returncode}: {checked.stderr[-500:]}")
        if started.returncode != status:
            wrong.append(f"{n}: the start has status {started.returncode}: {started.stderr[-500:]}")
    nothing(wrong)


def test_an_interface_that_is_not_there(vbng, run, folder):
    """A start says which, with file and line, and not "Operation not permitted"."""
    path = os.path.join(folder, "af.cfg")
    with open(path, "w") as f:
        f.write(ports(1).replace("net_null0,no-rx=1", "net_af_packet0,iface=nosuch0"))
    started = run(vbng, "-q", "--share-cpus", "--duration", "10ms", path)
    assert started.returncode == 3, started.stderr
    assert f"{path}:7: port p0: there is no network interface 'nosuch0' here" in started.stderr, started.stderr


def test_a_tap_with_more_readers_than_senders(vbng, run, folder):
    """net_tap wants as many transmit as receive queues: it gets them."""
    need.root("net_tap makes an interface")
    path = os.path.join(folder, "tap.cfg")
    with open(path, "w") as f:
        f.write(HEAD + """ports = ( { name = "in"; device = "net_tap0,iface=vbnglimit0"; rx_desc = 64; tx_desc = 64; },
          { name = "out"; device = "net_null0"; } );
tasks = ( { name = "pass"; type = "forward"; from = "in"; to = "out"; } );
topology = "1x2x1";
layout = ( { core = "0-1"; tasks = "pass"; } );
""")
    started = run(vbng, "-q", "--share-cpus", "--duration", "10ms", path)
    assert started.returncode == 0, started.stderr


@pytest.mark.parametrize("senders, connects", [(1, True), pytest.param(2, False, marks=pytest.mark.long)])
def test_a_memif_server_with_fewer_queues_than_its_client(vbng, run, folder, senders, connects):
    """The server compares what its client makes: either all is received once, or nothing is sent."""
    texts = {}
    for role, tasks in (("server", '{ name = "end"; type = "sink"; from = "m"; }'),
                        ("client", '{ name = "gen"; type = "gen"; template = "ok.tmpl"; rate = "2kpps"; to = "m"; }')):
        cores = f"0-{senders - 1}" if role == "client" else "0"
        texts[role] = HEAD + f"""topology = "1x2x1";
ports = ( {{ name = "m"; device = "net_memif0,id=0,role={role},socket={folder}/m.sock,socket-abstract=no"; }} );
tasks = ( {tasks} );
layout = ( {{ core = "{cores}"; tasks = "{'end' if role == 'server' else 'gen'}"; }} );
"""
    for role, text in texts.items():
        with open(os.path.join(folder, f"{role}.cfg"), "w") as f:
            f.write(text)
    shutil.copy(TOP / "tests/config/bad/parts/ok.tmpl", folder)
    reports = {role: os.path.join(folder, f"{role}.json") for role in texts}
    server = subprocess.Popen([vbng, "-q", "--share-cpus", "--report", reports["server"], os.path.join(folder, "server.cfg")],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        end = time.monotonic() + limit(30)
        while not os.path.exists(os.path.join(folder, "m.sock")) and time.monotonic() < end:
            time.sleep(0.05)
        client = run(vbng, "-q", "--share-cpus", "--duration", "3s" if connects else "10s", "--report", reports["client"], os.path.join(folder, "client.cfg"))
    finally:
        server.terminate()
        err = server.communicate(timeout=limit(60))[1]
    assert (client.returncode, server.returncode) == (0, 0), client.stderr + err
    told = json.loads(pathlib.Path(reports["client"]).read_text())
    sent, received = told["ledger"], json.loads(pathlib.Path(reports["server"]).read_text())["ledger"]
    assert sent["sent"] == received["received"] and (sent["sent"] > 0) == connects, (sent, received)
    why = "port m: its peer ends each connection at once: 0 cores read the port and 2 send to it"
    assert (why in client.stderr) == (not connects), client.stderr
    assert (told["ports"][0]["refused"] >= 3) == (not connects), told["ports"]
