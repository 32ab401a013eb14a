# SPDX-License-Identifier: BSD-3-Clause
"""What --plan says of memory against what DPDK's heap has given out in the running process."""

import json
import os
import re
import signal
import socket
import subprocess
import time

import pytest

from tests.common import need
from tests.common.limits import limit
from tests.common.verdict import nothing

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MIB = 1024 * 1024
WITHIN = 0.05
FIRST_LEVEL = 64 * MIB  # of the index of routes: outside of EAL's heap, as there are no huge pages
CONFIGURATION = """
name = "memory"; memory = "no-huge"; max_subscribers = {pipes};
pools = {{ default = {{ mbufs = "16K"; overcommit = true; }}; }};
ports = (
    {{ name = "in"; device = "wire:in"; }}, {{ name = "out"; device = "wire:out"; on_full = "wait"; }},
    {{ name = "t_in"; device = "wire:in"; }}, {{ name = "t_out"; device = "wire:out"; }}
);
subscribers = ( {{ port = "in"; svlan = "1-{svlans}"; cvlan = "1-256"; ipv4 = "10.0.0.0/8"; {profile} }} );
{qos}
tasks = (
    {{ name = "classify"; type = "classify"; from = "in"; {scheduler} to = "{next}"; }},
    {task}
    {{ name = "gen"; type = "gen"; template = "{template}"; rate = "1kpps"; to = "t_in"; }},
    {{ name = "sink"; type = "sink"; from = "t_out"; }}
);
layout = ( {{ core = "0"; tasks = ["classify", {place} "gen", "sink"]; }} );
"""
QOS = """
qos = {{ profiles = {{ p = {{ rate = "10M"; }}; }};
        schedulers = {{ s = {{ ports = "in"; backend = "{backend}"; classes = ( {classes} ); {more} }}; }}; }};
"""
FOUR = ", ".join(f'{{ class = "{c}"; queue = 64; aqm = "none"; }}' for c in ("0", "1", "2", "be"))
ALL = ", ".join(f'{{ class = "{c}"; queue = 64; aqm = "none"; }}' for c in [*map(str, range(12)), "be"])
MANAGED = ", ".join(f'{{ class = "{c}"; queue = 64; }}' for c in ("0", "1", "2", "be"))  # best effort has FQ-CoDel
HALVES = 'subports = ( { name = "x"; svlan = "1-128"; }, { name = "y"; svlan = "129-256"; } );'
# name, pipes, classes, more, at most so much for the scheduler, backend
PLANS = (("plain-32768", 32768, None, "", None, None), ("plain-65536", 65536, None, "", None, None),
         ("four-32768", 32768, FOUR, "", 25 * MIB, "wheel"), ("all-32768", 32768, ALL, "", 45 * MIB, "wheel"),
         ("managed-32768", 32768, MANAGED, "", 31 * MIB, "wheel"),
         ("two-subports", 65536, FOUR, HALVES, None, "wheel"),
         ("lib-four-32768", 32768, FOUR, "", 200 * MIB, "librte_sched"),
         ("lib-four-65536", 65536, FOUR, "", None, "librte_sched"),
         ("lib-two-subports", 65536, FOUR, HALVES, None, "librte_sched"),
         ("lib-all-32768", 32768, ALL, "", None, "librte_sched"))


def write(folder, name, pipes, classes, more="", backend="wheel"):
    with_qos = classes is not None
    path = os.path.join(folder, name + ".cfg")
    with open(path, "w") as f:
        f.write(CONFIGURATION.format(
            template=os.path.join(TOP, "pkt_templates/cpe0.tmpl"),
            pipes=pipes, svlans=pipes // 256, profile='profile = "p";' if with_qos else "",
            qos=QOS.format(classes=classes, more=more, backend=backend) if with_qos else "",
            scheduler='scheduler = "s";' if with_qos else "", next="qos" if with_qos else "out",
            task='{ name = "qos"; type = "qos"; scheduler = "s"; direction = "up"; to = "out"; },' if with_qos else "",
            place='"qos",' if with_qos else ""))
    return path


def ask(path, command):
    """An answer of DPDK's telemetry socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
        s.settimeout(10)
        s.connect(path)
        s.recv(1024)
        s.send(command.encode())
        return json.loads(s.recv(65536))[command.split(",")[0]]


def telemetry_path(pid):
    for root in ("/var/run/dpdk", "/tmp/dpdk", os.path.join(os.environ.get("XDG_RUNTIME_DIR", "/nonexistent"), "dpdk")):
        path = os.path.join(root, f"vbng-{pid}", "dpdk_telemetry.v2")
        if os.path.exists(path):
            return path
    return None


def is_built(path):
    """Does telemetry have commands of vbng? They come when all of it is built; before it listens the socket is there already, and refuses."""
    try:
        return "/vbng/task" in ask(path, "/")
    except ConnectionRefusedError:
        return False


def mapped(pid):
    """Bytes of the process that are in memory."""
    with open(f"/proc/{pid}/smaps_rollup") as f:
        return int(re.search(r"Rss:\s+(\d+)", f.read()).group(1)) * 1024


def sparse(pid):
    """(Bytes of the tables outside of EAL's heap, for which the kernel reserves nothing; those of them that are in memory)."""
    size = resident = 0
    with open(f"/proc/{pid}/smaps") as f:
        for mapping in re.split(r"(?m)^(?=[0-9a-f]+-[0-9a-f]+ )", f.read()):
            if re.search(r"VmFlags: rd wr .*\bnr\b", mapping) and int(re.search(r"Size:\s+(\d+)", mapping).group(1)) * 1024 >= FIRST_LEVEL // 2:
                size += int(re.search(r"Size:\s+(\d+)", mapping).group(1)) * 1024
                resident += int(re.search(r"Rss:\s+(\d+)", mapping).group(1)) * 1024
    return size, resident


def allocated(vbng, path):
    """Bytes while the configuration runs: (in use of all heaps; of tables outside of them, to which the kernel may have joined others'; resident)."""
    process = subprocess.Popen([vbng, "--quiet", "--share-cpus", path], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               text=True)
    try:
        end = time.monotonic() + limit(60)
        while time.monotonic() < end and process.poll() is None:
            time.sleep(0.1)
            where = telemetry_path(process.pid)
            if where is None or not is_built(where):
                continue
            heaps = ask(where, "/eal/heap_list")
            outside, written = sparse(process.pid)
            assert outside == pytest.approx(FIRST_LEVEL, rel=WITHIN), "the kernel may join it with memory of malloc()"
            assert written < MIB, "there are no routes, and a start touches none of it"
            return sum(ask(where, f"/eal/heap_info,{h}")["Alloc_size"] for h in heaps), outside, mapped(process.pid)
        raise AssertionError(f"did not start: {process.stderr.read() if process.poll() is not None else 'no time'}")
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.communicate(timeout=limit(60))
        assert process.returncode in (0, None), f"exit status {process.returncode}"


@pytest.fixture(scope="module")
def plain(vbng, module_folder):
    """A function: bytes in use of all heaps without a scheduler, by the number of pipes; each is measured once."""
    known = {}

    def taken(pipes):
        if pipes not in known:
            known[pipes] = allocated(vbng, write(module_folder, f"plain-{pipes}", pipes, None))[0]
        return known[pipes]

    return taken


@pytest.mark.parametrize("name, pipes, classes, more, most, backend", PLANS, ids=[plan[0] for plan in PLANS])
def test_memory(vbng, run, folder, plain, name, pipes, classes, more, most, backend):
    need.no_sanitizer(vbng, "its shadow memory lies beside the mapping that is measured")
    path = write(folder, name, pipes, classes, more, backend)
    answer = run(vbng, "--plan=json", path)
    assert answer.returncode == 0, answer.stderr
    memory = json.loads(answer.stdout)["memory"]
    heaps, outside, resident = allocated(vbng, path)
    rows = [("total", memory["total_bytes"], heaps + outside)]
    if classes is not None:
        rows.append(("schedulers", memory["schedulers_bytes"], heaps - plain(pipes)))
    wrong = []
    for what, planned, real in rows:
        off = planned / real - 1
        said = (f"{what}: planned {planned / MIB:.1f} MiB, taken {real / MIB:.1f} MiB ({off:+.1%}); "
                f"process resident {resident / MIB:.1f} MiB")  # fmt: skip
        print(said)
        if abs(off) > WITHIN or what == "schedulers" and most is not None and real >= most:
            wrong.append(said)
    nothing(wrong)
