# SPDX-License-Identifier: BSD-3-Clause
"""What a configuration asks of the machine, from its description: see doc/describe.md."""

import json
from dataclasses import dataclass, field

from ..describe.description import describe
from ..describe.source import PlanError, read_plan
from ..lab.failure import Failure


class Unusable(Failure):
    """The configuration has no description; the text says why."""


@dataclass
class Needs:
    """What a configuration needs of the machine; without one, nothing in particular."""

    named: bool = False  # there is a configuration
    tasks: dict = field(default_factory=dict)  # CPU -> its tasks, as text
    alone: set = field(default_factory=set)  # CPUs that want their physical core alone
    routes: dict = field(default_factory=dict)  # CPU that looks routes up -> socket of the copy that it looks in
    copy_bytes: int | None = None  # of one more copy of the routes; None: the description does not say
    dpdk_bytes: int = 0
    page_bytes: int | None = None  # None: it asks for no huge pages
    ports: dict = field(default_factory=dict)  # PCI address -> (name, CPUs that use it)
    cards: list = field(default_factory=list)  # (PCI address, bit/s, {"gen3": lanes, ...})

    @property
    def cpus(self):
        return set(self.tasks)


def from_description(d):
    cores = d["cpus"]["cores"]
    huge = d["memory"]["hugepages"]
    pci = {i["name"]: pci_address(i["device"]) for i in d["interfaces"] if i["kind"] == "pci"}
    ports = {}
    for i in d["interfaces"]:
        if i["kind"] == "pci":
            ports[pci[i["name"]]] = (i["name"], {c["cpu"] for c in cores if c["core"] in i["cores"]})
    return Needs(named=True, tasks={c["cpu"]: ", ".join(c["tasks"]) for c in cores},
                 alone={c["cpu"] for c in cores if c["own_physical_core"]},
                 routes={c["cpu"]: c["routes_of"] for c in cores if "routes_of" in c}, copy_bytes=d["memory"].get("routes_copy_bytes"),
                 dpdk_bytes=d["memory"]["dpdk_bytes"], page_bytes=huge["page_bytes"] if huge else None, ports=ports,
                 cards=[(pci[c["interfaces"][0]], c["bits_per_second"], c["lanes"]) for c in d["pcie_cards"]])


def pci_address(device):
    """A PCI address as sysfs has it: with the domain, without arguments of DPDK."""
    address = device.split(",")[0].lower()
    return address if address.count(":") == 2 else f"0000:{address}"


def load(path, vbng, options=()):
    """The needs of a configuration, or of a file with its description (*.json). Raises Unusable."""
    try:
        if str(path).endswith(".json"):
            with open(path, encoding="utf-8") as f:
                return from_description(json.load(f))
        plan, _ = read_plan([*options, path], vbng)
        return from_description(describe(plan))
    except PlanError as e:
        raise Unusable(str(e).strip()) from e
    except (OSError, ValueError, KeyError, TypeError) as e:
        raise Unusable(f"{path}: no description: {type(e).__name__}: {e}") from e
