# SPDX-License-Identifier: BSD-3-Clause
"""From the plan to what an orchestrator has to know: the dict whose keys doc/describe.md lists."""

from . import pcie, smt
from .ports import ACCESS, CORE, WIRE, kind, packets_per_second, side, smallest_frame, users

CACHE_LINE = 64
PAGE_2M, PAGE_1G = 2 << 20, 1 << 30
PAGES_1G_MAX = 4  # entries for them in the DTLB of the paper's machine
ORDINARY = 256 << 20  # bytes of ordinary memory beside huge pages
HOUSEKEEPING = 1  # vCPUs for the main thread
# cache lines that memory moves for a packet, as if no cache held anything
LINES_FRAME = 2  # for each line of a frame: written and read by a NIC
LINES_DESCRIPTORS = 2  # two of 16 bytes, written and read
LINES_MBUF = 4  # two, read and written back
LINES_TABLES = 2  # subscriber: index and record
LINES_SCHEDULE = 16  # three of the pipe and one of the queue, read and written, at both ends


def _cores(all_cores):
    def numbers(core, says):
        return [other.plan["core"] for other in all_cores if says(core, other)]

    found = []
    for core in all_cores:
        entry = {key: core.plan[key] for key in ("core", "cpu", "socket", "physical_core", "thread") if key in core.plan}
        entry["tasks"] = core.plan["instances"]
        if "routes_of" in core.plan:
            entry["routes_of"] = core.plan["routes_of"]
        entry["own_physical_core"] = core.wants_alone
        entry["may_share_with"] = numbers(core, smt.Core.may_share)
        entry["last_resort"] = numbers(core, smt.Core.last_resort)
        found.append(entry)
    return found


def _cpus(plan, all_cores):
    threads = plan["topology"]["threads_per_core"]
    # a CPU that the layout's machine lacks has no place there, and counts as a physical core
    places = {(c["socket"], c["physical_core"]) if "physical_core" in c else c["core"] for c in plan["cores"]}
    return {
        "vcpus": len(all_cores) + HOUSEKEEPING, "housekeeping": HOUSEKEEPING, "physical_cores": len(places),
        "threads_per_core": threads, "vcpus_of_whole_cores": (len(places) + 1) * threads, "cores": _cores(all_cores),
        "isolation": dict.fromkeys(("dedicated", "no_scheduler_tick", "no_interrupts", "fixed_frequency"), True),
    }  # fmt: skip


def _placement(plan, cards):
    """All that touches an interface belongs on its socket, so all cores on one is the rule."""
    return {"cores_and_nics_on_one_socket": bool(cards),
            "layout_uses_one_socket": len({c["socket"] for c in plan["cores"]}) == 1}  # fmt: skip


def _packets_per_second(plan, interfaces):
    """Packets that pass the gateway at most: each of one side's becomes one of the other's."""
    rate = {s: sum(i["packets_per_second"] for i in interfaces if i["side"] == s) for s in (ACCESS, CORE)}
    if rate[ACCESS] and rate[CORE]:
        return 2 * min(rate.values())
    return rate[ACCESS] or rate[CORE] or sum(i["packets_per_second"] for i in interfaces if i["rx_queues"])


def _bandwidth(plan, interfaces, all_cores):
    frame = max((i["smallest_frame"] for i in interfaces), default=0)
    lines = LINES_DESCRIPTORS + LINES_MBUF + LINES_FRAME * -(-frame // CACHE_LINE)
    lines += LINES_TABLES if plan["subscribers"] else 0
    lines += LINES_SCHEDULE if any(c.schedules for c in all_cores) else 0
    pps = _packets_per_second(plan, interfaces)
    return {"packets_per_second": pps, "bytes_per_packet_at_most": lines * CACHE_LINE,
            "bytes_per_second_at_most": pps * lines * CACHE_LINE}  # fmt: skip


def _huge_pages(memory):
    """Pages of 1 GiB where they are few enough for the DTLB and the memory is worth one of them."""
    large = memory["total_bytes"] >= PAGE_1G and memory["core_pages_1g"] <= PAGES_1G_MAX
    page = PAGE_1G if large else PAGE_2M
    return {"page_bytes": page, "pages": -(-memory["dpdk_bytes"] // page)}


def _memory(plan, interfaces, all_cores):
    memory = plan["memory"]
    huge = None if memory["mode"] == "no-huge" else _huge_pages(memory)
    return {"dpdk_bytes": memory["dpdk_bytes"], "hugepages": huge, "routes_copy_bytes": memory["routes_copy_bytes"],
            "ordinary_bytes": ORDINARY + (0 if huge else memory["dpdk_bytes"]),
            "bandwidth": _bandwidth(plan, interfaces, all_cores)}  # fmt: skip


def _interfaces(plan):
    socket = {c["core"]: c["socket"] for c in plan["cores"]}
    cores_of = users(plan)
    return [{
        "name": port["port"], "kind": kind(port), "device": port["device"], "side": side(port),
        "bits_per_second": port["line_rate"], "smallest_frame": smallest_frame(port),
        "packets_per_second": packets_per_second(port), "mtu": port["mtu"], "rx_queues": port["rx_queues"],
        "tx_queues": port["tx_queues"], "cores": sorted(cores_of[port["port"]]),
        "sockets": sorted({socket[core] for core in cores_of[port["port"]]}),
    } for port in plan["ports"]]  # fmt: skip


def _notes(interfaces, cards, huge, all_cores):
    """What of the configuration goes against the rules, in words."""
    found = pcie.notes(interfaces, cards)
    found += [f"interface {i['name']} is used by cores of {len(i['sockets'])} sockets: keep all that use it on the socket of its NIC"
              for i in interfaces if i["kind"] != WIRE and len(i["sockets"]) > 1]  # fmt: skip
    if all(i["kind"] == WIRE for i in interfaces):
        found.append("all ports are wires within the process: it needs no network")
    if not huge:
        found.append('memory = "no-huge": for function; give it huge pages for figures')
    return found + smt.notes(all_cores)


def describe(plan):
    """The description of a plan, as `vbng --plan=json` prints it: a dict that json.dumps() takes, with the keys of
    doc/describe.md. Rates are in bit/s and packets/s, sizes in bytes."""
    all_cores, interfaces = smt.cores(plan), _interfaces(plan)
    cards, memory = pcie.cards(interfaces), _memory(plan, interfaces, all_cores)
    return {
        "name": plan["name"], "configuration": plan["configuration"], "cpus": _cpus(plan, all_cores),
        "placement": _placement(plan, cards), "memory": memory, "interfaces": interfaces, "pcie_cards": cards,
        "notes": _notes(interfaces, cards, memory["hugepages"], all_cores),
    }  # fmt: skip
