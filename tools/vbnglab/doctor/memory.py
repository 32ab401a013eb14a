# SPDX-License-Identifier: BSD-3-Clause
"""Memory: huge pages, where they are and whether they can be had; what else moves pages about."""

import re

from .finding import BAD, NOTE, Finding, ok, size
from .machine import format_list

HUGE_WHY = ("each ordinary page is an entry of the TLB, which has too few for mbufs, tables and queues; "
            "memory = \"hugepages\" does not start without, \"auto\" goes on with ordinary pages")
CAP_IPC_LOCK = 14
UNNAMED = 1 << 30  # bytes that suffice for most configurations


def pools(machine, node):
    """[(bytes, reserved, free, folder)] of the huge pages of a node, the largest first."""
    folder = f"sys/devices/system/node/node{node}/hugepages"
    if not machine.glob(folder):
        folder = "sys/kernel/mm/hugepages"
    found = []
    for path in machine.glob(f"{folder}/hugepages-*kB"):
        kib = int(re.search(r"(\d+)kB$", path)[1])
        reserved, free = machine.number(f"{path}/nr_hugepages"), machine.number(f"{path}/free_hugepages")
        if reserved is not None and free is not None:
            found.append((kib * 1024, reserved, free, path))
    return sorted(found, reverse=True)


def reserve(machine, node, page, missing):
    """The command that reserves so many bytes more, in pages of a size."""
    for page_bytes, reserved, _, path in pools(machine, node):
        if page_bytes == page:
            return f"echo {reserved + -(-missing // page)} > /{path}/nr_hugepages"
    kib = page // 1024
    return (f"add hugepagesz={kib // 1024}M hugepages={-(-missing // page)} to the kernel's command line "
            "(this kernel has no pages of that size now)")


def hugepages(machine, needs):
    """Check the free pages on the nodes of the layout's CPUs; vbng takes pages of any size, the largest first."""
    nodes = sorted({machine.node_of(c) for c in needs.cpus}) or sorted(machine.nodes())
    all_pools = [(node, *pool) for node in nodes for pool in pools(machine, node)]
    have = sum(page * free for _, page, _, free, _ in all_pools)
    text = ", ".join(f"{free} of {reserved} pages of {size(page)} free on node {node}"
                     for node, page, reserved, free, _ in all_pools if reserved) or "none reserved"
    if needs.named and needs.page_bytes is None:
        yield ok("hugepages", f"{text}; memory = \"no-huge\" asks for none")
        return
    wanted = needs.dpdk_bytes or UNNAMED
    page = needs.page_bytes or 2 << 20
    if have < wanted:
        yield Finding("hugepages", BAD if needs.named else NOTE, text, f"{size(wanted)} free on node {nodes[0]}",
                      HUGE_WHY, reserve(machine, nodes[0], page, wanted - have))
    elif needs.page_bytes and sum(p * free for _, p, _, free, _ in all_pools if p == page) < wanted:
        yield Finding("hugepages", NOTE, text, f"{size(wanted)} of them in pages of {size(page)}",
                      "the size that suits the mbufs of this configuration and the TLB: doc/describe.md",
                      reserve(machine, nodes[0], page, wanted))
    else:
        yield ok("hugepages", text)


def routes(machine, needs):
    """Check that the cores which look routes up have them on their own nodes, where that is not one."""
    nodes, copies = {machine.node_of(cpu) for cpu in needs.routes}, set(needs.routes.values())
    if len(nodes) > 1 and len(copies) == 1:
        more = f", which takes {size((len(nodes) - 1) * needs.copy_bytes)} more" if needs.copy_bytes else ""
        yield Finding("routes", NOTE, f"cores of nodes {format_list(nodes)} look routes up in one copy of them, on socket {copies.pop()}",
                      "a copy on each of these nodes", "a lookup from another node waits for the link between the sockets, once or more for each packet",
                      f"say routes_per = \"socket\" in the configuration{more}: doc/plan.md")  # fmt: skip
    elif nodes:
        yield ok("routes", f"looked up by cores of node {format_list(nodes)}{', each in a copy of its own' if len(nodes) > 1 else ''}")


def mounts(machine, needs):
    found = [line.split()[1] for line in (machine.read("proc/mounts") or "").splitlines()
             if len(line.split()) > 2 and line.split()[2] == "hugetlbfs"]
    if found:
        yield ok("hugetlbfs", f"mounted on {', '.join(found)}")
    else:
        yield Finding("hugetlbfs", NOTE, "not mounted", "mounted",
                      "vbng does without, but for memory = \"shared\"; other DPDK programs and QEMU do not",
                      "mkdir -p /dev/hugepages && mount -t hugetlbfs hugetlbfs /dev/hugepages")


def transparent(machine, needs):
    match = re.search(r"\[(\w+)\]", machine.read("sys/kernel/mm/transparent_hugepage/enabled") or "")
    mode = match[1] if match else "not there"
    if mode == "always":
        yield Finding("thp", NOTE, "transparent huge pages: always", "madvise or never",
                      "the kernel's own huge pages compete with DPDK's, and khugepaged moves pages under what runs",
                      "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled")
    else:
        yield ok("thp", f"transparent huge pages: {mode}")


def swap(machine, needs):
    used = (machine.read("proc/swaps") or "").splitlines()[1:]
    if used:
        yield Finding("swap", NOTE, f"swap on {', '.join(line.split()[0] for line in used)}", "no swap",
                      "ordinary memory that is swapped out stops a core for milliseconds at its next touch",
                      "swapoff -a")
    else:
        yield ok("swap", "none")


def memlock(machine, needs):
    match = re.search(r"Max locked memory\s+(\S+)", machine.read("proc/self/limits") or "")
    caps = re.search(r"CapEff:\s*([0-9a-f]+)", machine.read("proc/self/status") or "")
    if match is None:
        return
    if caps and int(caps[1], 16) >> CAP_IPC_LOCK & 1:
        yield ok("memlock", "not limited for this user (CAP_IPC_LOCK)")
    elif match[1] == "unlimited" or int(match[1]) >= max(needs.dpdk_bytes, 1 << 30):
        yield ok("memlock", f"{match[1]} bytes")
    else:
        yield Finding("memlock", BAD if needs.ports else NOTE, f"{size(int(match[1]))} may be locked",
                      f"{size(needs.dpdk_bytes)}" if needs.dpdk_bytes else "unlimited",
                      "vfio-pci locks all of DPDK's memory for the devices",
                      "ulimit -l unlimited   (as root, where vbng is started; for good: /etc/security/limits.conf)")


CHECKS = (hugepages, routes, mounts, transparent, swap, memlock)
