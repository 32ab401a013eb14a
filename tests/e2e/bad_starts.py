# SPDX-License-Identifier: BSD-3-Clause
"""What cannot start says why and what to do, and leaves nothing behind."""

import os
import re
import resource

from tests.e2e import process
from tests.pcap.gateway import Gateway

CONFIG, USAGE, START = 1, 2, 3  # exit statuses of vbng(8)
NULL_PORTS = {p: f"net_null{i}" for i, p in enumerate(("cpe0", "cpe1", "core0", "core1"))}


def gateway(**changes):
    devices = {**NULL_PORTS, **changes.pop("devices", {})}
    return Gateway(devices=devices, **changes)("/nonexistent")


def layout_on(text, core):
    return re.sub(r'core = "0"', f'core = "{core}"', text)


def expect(ctx, name, text, status, words, *options, preexec=None):
    """Start a configuration; it must end with a status and say these words on stderr."""
    path = ctx.write(f"{name}.cfg", text) if text is not None else ctx.path("absent.cfg")
    r = process.run(ctx, "--quiet", "--duration", "100ms", *options, path, preexec=preexec, timeout=60)
    wrong = [f"exit status {r.status} instead of {status}"] if r.status != status else []
    wrong += [f"the message lacks '{w}'" for w in words if w not in r.err]
    left = process.runtime_folder_left(r.pid)
    wrong += [f"left behind: {left}"] if left else []
    return wrong + [r.err] if wrong else []


def one_cpu(ctx):
    """Core-to-core latency is of two."""
    cpu = min(os.sched_getaffinity(0))
    r = process.run(ctx, "--core-latency", preexec=lambda: os.sched_setaffinity(0, {cpu}), timeout=60)
    return [] if r.status == START and f"this process may run on CPU {cpu} only" in r.err else [f"exit status {r.status}: {r.err}"]


def small_memory():
    resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))


def large_pool(ctx):
    if ctx.sanitized:
        return "AddressSanitizer needs the address space that this test takes away"
    text = gateway(mbufs="4M")
    return expect(ctx, "large-pool", text, START, ["memory"], preexec=small_memory)


def hugepages(ctx):
    """More huge pages than there are: 60 GiB of mbufs, which are never allocated."""
    with open("/proc/meminfo") as f:
        free = int(re.search(r"HugePages_Free:\s+(\d+)", f.read()).group(1))
    if free > 20000:
        return f"this machine has {free} free huge pages"
    text = gateway(mbufs="24M").replace("no-huge", "hugepages")
    return expect(ctx, "hugepages", text, START, ["huge pages", "nr_hugepages", 'memory = "auto"'])


def shared(ctx):
    """Huge pages that others can map are files of a hugetlbfs, and this folder is none."""
    text = gateway().replace('memory = "no-huge";', f'memory = "shared"; eal = "--huge-dir {ctx.folder}";')
    return expect(ctx, "shared", text, START, ["hugetlbfs", "none is mounted on what --huge-dir says", "mount -t hugetlbfs"])


def usage(ctx, words, *options):
    path = ctx.write("good.cfg", gateway())
    r = process.run(ctx, *options, path)
    wrong = [f"exit status {r.status} instead of {USAGE}"] if r.status != USAGE else []
    wrong += [f"the message lacks '{w}'" for w in words if w not in r.err]
    return wrong + [r.err] if wrong else []


def tests():
    """(title, function of a context) of each case."""
    veth = {"core1": "net_af_packet3,iface=nosuch0"}
    yield "no such interface", lambda ctx: expect(ctx, "iface", gateway(devices=veth), START, ["core1", "no network interface 'nosuch0'"])
    pci = {"core1": "0000:ff:1f.7"}
    yield "no such PCI device", lambda ctx: expect(ctx, "pci", gateway(devices=pci), START, ["core1", "0000:ff:1f.7"])
    driver = {"core1": "net_nosuch0"}
    yield "no such driver", lambda ctx: expect(ctx, "driver", gateway(devices=driver), START, ["core1", "net_nosuch0"])
    pcap = {"core1": "net_pcap3,rx_pcap=/nonexistent/in.pcap"}
    yield "no such capture", lambda ctx: expect(ctx, "capture", gateway(devices=pcap), START, ["core1"])
    yield "no such core", lambda ctx: expect(ctx, "core", layout_on(gateway(), "1023"), CONFIG, ["1023"])
    other = 'topology = "2x10x2";\n' + layout_on(gateway(), "9s1h")
    yield "a core that this machine lacks", lambda ctx: expect(ctx, "other", other, START, ["--share-cpus"])
    yield "the same with --share-cpus", lambda ctx: expect(ctx, "share", other, 0, [], "--share-cpus")
    last = max(os.sched_getaffinity(0))
    for core, status, words in (("c0", 0, []), ("c1", CONFIG, [f"this process was given 1 physical core, CPU {last}"])):
        yield f"core {core} where CPU {last} alone is given", lambda ctx, core=core, status=status, words=words: expect(
            ctx, "given", layout_on(gateway(), core), status, words, preexec=lambda: os.sched_setaffinity(0, {last}))
    yield "a pool beyond the memory", large_pool
    yield "a pool beyond the huge pages", hugepages
    yield "shared huge pages without a hugetlbfs", shared
    yield "no such configuration", lambda ctx: expect(ctx, "absent", None, CONFIG, ["absent.cfg"])
    yield "an empty configuration", lambda ctx: expect(ctx, "empty", "", CONFIG, ["empty.cfg", "tasks"])
    yield "no text at all", lambda ctx: expect(ctx, "binary", "\x01\x02\x7f{{{", CONFIG, ["binary.cfg:1"])
    report = ("--report", "/nonexistent/report.json")
    yield "a report that cannot be written", lambda ctx: expect(ctx, "report", gateway(), START, ["/nonexistent"], *report)
    for junk in ("junk", "10", "-1s", "0", "0s", "1e9999s", "", "5 parsecs"):
        yield f"--duration '{junk}'", lambda ctx, junk=junk: usage(ctx, ["--duration", "10s"], "--duration", junk)
    yield "--plan=svg", lambda ctx: usage(ctx, ["text or json"], "--plan=svg")
    yield "--plan=dot", lambda ctx: usage(ctx, ["vbng-lab describe dot FILE"], "--plan=dot")
    for form in ("", "=json", "=tosca", "=k8s,image=x"):
        yield f"--describe{form}", lambda ctx, form=form: usage(ctx, ["vbng-lab describe json|tosca|k8s FILE"], f"--describe{form}")
    yield "--core-latency=svg", lambda ctx: usage(ctx, ["--core-latency svg: expected text or json"], "--core-latency=svg")
    yield "--core-latency of one CPU", one_cpu
    yield "an unknown option", lambda ctx: usage(ctx, ["vbng --help lists all options"], "--frobnicate")
    yield "two configurations", lambda ctx: usage(ctx, ["two configurations", "another.cfg"], "--check", "another.cfg")
