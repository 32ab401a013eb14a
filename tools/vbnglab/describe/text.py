# SPDX-License-Identifier: BSD-3-Clause
"""Parts of the description as tables for people: cores and their siblings, cards and their slots."""

from .pcie import LANE, device_of


def _table(rows):
    widths = [max(map(len, column)) for column in zip(*rows)]
    return "".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() + "\n" for row in rows)


def _notes(d):
    return "".join(f"note: {note}\n" for note in d["notes"])


def _siblings(core):
    if core["own_physical_core"]:
        last = ", ".join(map(str, core["last_resort"]))
        return "none" + (f"; if it must, core {last}" if last else "")
    return ", ".join(map(str, core["may_share_with"])) or "none"


def smt(d):
    """Which cores want a physical core alone, and which may be the SMT siblings of which."""
    rows = [("core", "CPU", "socket", "physical core", "thread", "siblings", "tasks")]
    for c in d["cpus"]["cores"]:
        place = (str(c.get(key, "-")) for key in ("cpu", "socket", "physical_core", "thread"))
        rows.append((str(c["core"]), *place, _siblings(c), ", ".join(c["tasks"])))
    return _table(rows) + _notes(d)


def pcie(d):
    """What each PCI card carries from the device to the host, and the fewest lanes for that."""
    if not d["pcie_cards"]:
        return "no port is a PCI device\n" + _notes(d)
    devices = {i["name"]: device_of(i) for i in d["interfaces"]}
    rows = [("card", "interfaces", "Gbit/s", *(f"lanes of PCIe {gen.removeprefix('gen')}.0" for gen in LANE))]
    for card in d["pcie_cards"]:
        lanes = (str(n) if n else "more than 16" for n in card["lanes"].values())
        rows.append((devices[card["interfaces"][0]], ", ".join(card["interfaces"]), f"{card['bits_per_second'] / 1e9:.2f}", *lanes))
    return _table(rows) + _notes(d)
