# SPDX-License-Identifier: BSD-3-Clause
"""Network ports by card, from PCI addresses: ports of one card share its PCIe link."""

import glob
import os
import re

DEVICES = "/sys/bus/pci/devices"
ETHERNET = "0x0200"


def _read(path):
    try:
        with open(path, encoding="ascii") as f:
            return f.read().strip()
    except OSError:
        return ""


def card_of(address):
    """The card of a port: its PCI address without the function; None for what is no PCI address."""
    match = re.fullmatch(r"(?:([0-9a-f]{4,}):)?([0-9a-f]{2}:[0-9a-f]{2})\.[0-7](?:,.*)?", address)
    return f"{match[1] or '0000'}:{match[2]}" if match else None


def cards(root=DEVICES):
    """{card: [{"address", "speed", "width", "node"}]} of all Ethernet ports."""
    found = {}
    for d in sorted(glob.glob(os.path.join(root, "*"))):
        if _read(f"{d}/class").startswith(ETHERNET):
            found.setdefault(card_of(os.path.basename(d)), []).append(
                {"address": os.path.basename(d), "speed": _read(f"{d}/current_link_speed"),
                 "width": _read(f"{d}/current_link_width"), "node": _read(f"{d}/numa_node")})
    return found


def pairings(devices):
    """The two ways of Table II to put two access and two core ports onto two cards of two ports each: {1: [cpe0, cpe1,
    core0, core1], 2: [...]}. devices: four PCI addresses in any order. None: they are not two on each of two cards."""
    by_card = {}
    for d in devices:
        by_card.setdefault(card_of(d), []).append(d)
    if None in by_card or sorted(map(len, by_card.values())) != [2, 2]:
        return None
    (a0, a1), (b0, b1) = (sorted(v) for _, v in sorted(by_card.items()))
    return {1: [a0, a1, b0, b1], 2: [a0, b0, a1, b1]}
