# SPDX-License-Identifier: BSD-3-Clause
"""dpdk-dumpcap on a gateway whose memory it may map: what it captures, what becomes of the gateway, what stays behind.

Reserves huge pages, mounts a hugetlbfs that other programs of the machine do not see, and gives both back.
"""

import contextlib
import fcntl
import json
import os
import re
import signal
import subprocess
import tempfile
import time

import pytest

from tests.common import need

need.module("scapy", "python3-scapy")
need.program("dpdk-dumpcap", "dpdk-dev")
need.program("tshark")
need.root("to reserve huge pages and to mount a hugetlbfs")

from scapy.utils import RawPcapNgReader  # noqa: E402

from tests.capture import bed  # noqa: E402
from tests.common.limits import limit  # noqa: E402
from tests.common.verdict import nothing  # noqa: E402
from tests.pcap.frames import PORTS, Subscriber, server, udp  # noqa: E402
from tests.pcap.traffic import Traffic  # noqa: E402
from vbnglab.lab import hugepages, network, telemetry  # noqa: E402

PAGE = 2 << 20
PACKETS = 200  # of each generator, about
WAYS = {1: "in", 2: "out"}
NOBODY = 65534


def traffic():
    """Frames of two subscribers, in both directions."""
    case = Traffic("dumpcap", subscribers=512)
    for i in range(2):
        s = Subscriber(0, i)
        case.up(s, "core0", udp(s.ip, server("core0")))
        case.down("core0", s, udp(server("core0"), s.ip))
    return case


@contextlib.contextmanager
def own_mounts():
    """For as long as the block lasts, only this process and those that it starts see what it mounts. Any program with DPDK that is started elsewhere would put
    its files there, and remove those that nobody uses."""
    folder = os.getcwd()
    with open("/proc/self/ns/mnt", "rb") as before:
        network.call("unshare", network.CLONE_NEWNS)
        try:
            network.call("mount", None, b"/", None, network.MS_REC | network.MS_PRIVATE, None)
            yield
        finally:
            network.call("setns", before.fileno(), network.CLONE_NEWNS)
            os.chdir(folder)


class Lab:
    """The binary, a case for it, and a hugetlbfs of its own with as many pages as the case needs and no more."""

    def __init__(self, binary, folder):
        self.binary, self.folder, self.case = binary, folder, traffic()
        self.config = bed.write_case(folder, self.case)
        self.huge = os.path.join(folder, "huge")
        self.options = ("--share-cpus", "--set", "idle=sleep", "--set", "memory=shared", "--set", f"eal=--huge-dir {self.huge}")
        plan = json.loads(bed.run_tool(binary, "--plan=json", *self.options, self.config))
        self.pages = -(-plan["memory"]["dpdk_bytes"] // PAGE)

    @contextlib.contextmanager
    def hugetlbfs(self):
        os.mkdir(self.huge)
        with hugepages.Reserved("2M", self.pages), own_mounts():
            bed.run_tool("mount", "-t", "hugetlbfs", "-o", f"pagesize={PAGE},mode=0700", "none", self.huge)
            try:
                yield
            finally:
                subprocess.run(["umount", self.huge], check=True)

    def start(self):
        b = bed.Bed(self.binary, self.folder, self.config, self.options)
        b.ask("show-ledger")  # as soon as it is up
        return b

    def run(self, *options, **how):
        """A short run. Returns its exit status and what it says."""
        done = subprocess.run([self.binary, "-q", "--share-cpus", "--duration", "20ms", *options, self.config],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=limit(20), **how)  # fmt: skip
        return done.returncode, done.stderr

    def files(self):
        return sorted(os.listdir(self.huge))

    def left(self):
        """What is wrong where nobody runs any more."""
        free = hugepages.free("2M")
        wrong = [f"files are left: {self.files()}"] if self.files() else []
        return wrong + ([f"{free} pages are free, fewer than {self.pages}"] if free < self.pages else [])


class Dumpcap:
    """A dpdk-dumpcap that has attached to a gateway."""

    def __init__(self, b, name, *options):
        self.path = b.path(name)
        self.log = tempfile.TemporaryFile("w+")
        command = ["dpdk-dumpcap", f"--file-prefix=vbng-{b.process.pid}", "-p", "-w", self.path, *options]
        self.process = subprocess.Popen(command, stdout=self.log, stderr=subprocess.STDOUT)
        end = time.monotonic() + limit(20)
        while "Packets captured" not in self.said():
            if self.process.poll() is not None or time.monotonic() > end:
                self.process.kill()
                raise RuntimeError(f"dpdk-dumpcap does not attach: {self.said()}")
            time.sleep(0.02)

    def said(self):
        return os.pread(self.log.fileno(), 1 << 20, 0).decode()

    def end(self, sig):
        """Its exit status; sig None: it ends by itself."""
        if sig is not None:
            self.process.send_signal(sig)
        return self.process.wait(limit(20))

    def dropped(self):
        """{port number: frames} that came while its own ring was full, by what it says at its end."""
        return {int(i): int(n) for i, n in re.findall(r"received/dropped on interface 'net_ring_wire(\d+)': \d+/(\d+)", self.said())}

    def frames(self):
        """{(port number, direction): frames} of its file."""
        fields = bed.run_tool("tshark", "-r", self.path, "-T", "fields", "-e", "frame.interface_name", "-e",
                              "frame.packet_flags_direction")  # fmt: skip
        found = {}
        for line, (frame, _) in zip(fields.splitlines(), RawPcapNgReader(self.path), strict=True):
            name, way = line.split("\t")
            key = int(name.removeprefix("dpdk:")), WAYS[int(way, 0)]
            found.setdefault(key, []).append(frame)
        return found


def ask(b, command):
    with telemetry.Telemetry(f"/var/run/dpdk/vbng-{b.process.pid}/{telemetry.SOCKET}") as t:
        return t.must(command)


def lcores(b):
    """Their numbers, by the names of the threads."""
    found = []
    for tid in os.listdir(f"/proc/{b.process.pid}/task"):
        with open(f"/proc/{b.process.pid}/task/{tid}/comm") as f:
            found += [int(number) for number in re.findall(r"(?:rte-worker-|lcore-worker-|dpdk-worker)(\d+)", f.read())]
    return found


def every_port():
    """The options by which dpdk-dumpcap captures all ports: DPDK 22.11 takes one -i, and from 23.07 on none is "*"."""
    if "--ifname" not in bed.run_tool("dpdk-dumpcap", "--help"):
        return ["-i", "*"]
    return [word for i in range(2 * len(PORTS)) for word in ("-i", str(i))]


def mbufs(b):
    """Those that nobody holds."""
    return ask(b, "/vbng/pool/get,default")["free"]


def moved(b):
    ledger = b.ask("show-ledger")["ledger"]
    return {"in": ledger["received"], "out": ledger["sent"]}


def send(b, packets=2 * PACKETS):
    b.send(["gen_cpe0", "gen_core0"], packets)


@pytest.fixture(scope="module")
def lab(vbng, module_folder):
    need.no_sanitizer(vbng, "its shadow memory lies where DPDK would place what dpdk-dumpcap maps")
    made = Lab(vbng, str(module_folder))
    try:
        with made.hugetlbfs():
            yield made
    except hugepages.NoPages as e:
        need.skip(str(e))


@pytest.fixture(scope="module")
def b(lab):
    """The gateway of all tests but those that start their own, until one of them stops it."""
    gateway = lab.start()
    try:
        yield gateway
    finally:
        gateway.kill()


def test_it_sees_every_frame(lab, b):
    """dpdk-dumpcap sees every frame of every port, as it was sent and expected, or says that it was too slow for it; and takes no mbuf."""
    prefix = f"--file-prefix=vbng-{b.process.pid}"
    listed = [line.split()[1] for line in bed.run_tool("dpdk-dumpcap", prefix, "-D").splitlines()]
    wanted = [f"net_ring_wire{i}" for i in range(2 * len(PORTS))]
    wrong = [] if listed == wanted else [f"dpdk-dumpcap -D lists {listed}"]
    if min(lcores(b)) < os.cpu_count():
        wrong.append(f"its lcores {lcores(b)} have numbers that dpdk-dumpcap's have, too: both would write to one cache of a pool")
    send(b)
    before, free = moved(b), mbufs(b)
    d = Dumpcap(b, "all.pcapng", *every_port())
    kinds = {ask(b, f"/mempool/info,{name}")["ops_index"] for name in ("default", f"capture_{d.process.pid}")}
    wrong += [f"the pools are of the kinds {kinds}: the programs number them otherwise"] if len(kinds) != 1 else []
    send(b)
    if d.end(signal.SIGINT) != 0:
        wrong.append(d.said()[-1000:])
    if mbufs(b) != free:
        wrong.append(f"{free} mbufs were free, and are {mbufs(b)}")
    got, dropped = d.frames(), d.dropped()
    sent = {way: n - before[way] for way, n in moved(b).items()}
    all_seen = {way: sum(len(frames) for (_, w), frames in got.items() if w == way) for way in sent}
    lost = sum(dropped.values())
    if len(dropped) != 2 * len(PORTS) or any(all_seen[w] > sent[w] for w in sent) or sum(all_seen.values()) + lost != sum(sent.values()):
        wrong.append(f"{all_seen} frames, it has dropped {dropped}; the ports have counted {sent}")
    for i, port in enumerate(PORTS):
        for frames, way in ((lab.case.inputs[port], "in"), (lab.case.expect[port], "out")):
            seen = got.get((i, way), [])
            if set(seen) != set(frames) or len(seen) + dropped.get(i, 0) < (PACKETS if frames else 0):
                wrong.append(f"{port} {way}: {len(seen)} frames, {len(set(seen) ^ set(frames))} of them or of the expected have no counterpart")
    nothing(wrong)


def test_one_that_is_killed(b):
    """kill -9 of a dpdk-dumpcap that captures: the gateway goes on without it."""
    free = mbufs(b)
    Dumpcap(b, "killed.pcapng", "-i", "0").end(signal.SIGKILL)
    send(b, 6000)  # more than it has room for
    nothing([] if mbufs(b) == free else [f"{free} mbufs were free, and are {mbufs(b)}"])


def test_a_gateway_that_stops(lab, b):
    """A stop with a dpdk-dumpcap attached: it balances and leaves nothing; dpdk-dumpcap ends by itself."""
    d = Dumpcap(b, "last.pcapng", "-i", "1")
    dropped = b.ask("show-ledger")["ledger"]["dropped"]  # by generators, where their core is slow
    report = b.end()
    ledger = report["ledger"]
    wrong = [] if report["memory"] == "shared" else [f"memory: {report['memory']}"]
    if not ledger["balances"] or ledger["dropped"] != dropped or ledger["unexplained"]:
        wrong.append(f"the ledger: {ledger}")
    if lab.files():
        wrong.append(f"files are left: {lab.files()}")
    if d.end(None) != 0:
        wrong.append(d.said())
    nothing(wrong + lab.left())


def test_a_gateway_that_is_killed(lab):
    """kill -9 of a gateway: its file keeps its pages until the next start, of any vbng; others' files stay."""
    b = lab.start()
    b.kill()
    dead = f"vbng-{b.process.pid}"
    wrong = [] if lab.files() == [f"{dead}map_0"] else [f"a killed vbng has left {lab.files()}"]
    others = ["other-7map_0", f"{dead}map_9", f"vbng-{os.getpid()}map_0"]
    for name in others:
        with open(os.path.join(lab.huge, name), "w"):
            pass
    with open(os.path.join(lab.huge, f"{dead}map_9")) as used:
        fcntl.flock(used, fcntl.LOCK_SH)  # as a process of DPDK that has it mapped
        status, said = lab.run()
    if status != 0 or lab.files() != sorted(others):
        wrong.append(f"after the next start: {lab.files()}; {said}")
    for name in lab.files():
        os.unlink(os.path.join(lab.huge, name))
    nothing(wrong + lab.left())


def test_too_few_pages_and_no_right(lab):
    """Too few pages, and a folder that cannot be written to: it says what to do."""
    path = f"/sys/kernel/mm/hugepages/hugepages-{PAGE >> 10}kB/nr_hugepages"
    beyond = (hugepages.free("2M") * PAGE >> 11) + (1 << 20)  # one takes more than 2 KiB; there may be pages of others
    status, said = lab.run(*lab.options[1:], "--set", f"pools.default.mbufs={beyond}")
    wrong = [] if status == 3 and path in said and lab.huge in said else [f"too few pages: {status}, {said}"]
    os.chmod(lab.folder, 0o755)
    if subprocess.run([lab.binary, "--version"], user=NOBODY, capture_output=True).returncode == 0:
        status, said = lab.run(*lab.options[1:], user=NOBODY)
        if status != 3 or f"uid={NOBODY}" not in said:
            wrong.append(f"as another user: {status}, {said}")
    nothing(wrong + lab.left())
