# SPDX-License-Identifier: BSD-3-Clause
"""What the data TLB of this CPU holds, from CPUID as the program cpuid in the build folder prints it.

Intel says it in leaf 0x18 (SDM volume 2A, CPUID), older ones by the descriptors of leaf 2, AMD in 0x80000005,
0x80000006 and 0x80000019 (APM volume 3, appendix E). A hypervisor may hide all of it.
"""

import os
import subprocess

from ..lab.places import BESIDE

SIZES = {"4K": 4 << 10, "2M": 2 << 20, "1G": 1 << 30}
# Intel's descriptors of leaf 2 that tell of data pages: what they hold
DESCRIPTORS = {
    0x03: [("L1", 64, ["4K"])], 0x5A: [("L1", 32, ["2M"])], 0x63: [("L1", 32, ["2M"]), ("L1", 4, ["1G"])],
    0xC1: [("L2", 1024, ["4K", "2M"])], 0xC3: [("L2", 1536, ["4K", "2M"]), ("L2", 16, ["1G"])], 0xCA: [("L2", 512, ["4K"])],
}


def _registers(path):
    """{(leaf, subleaf): (eax, ebx, ecx, edx)} as the program prints them."""
    try:
        done = subprocess.run([path], capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return {}
    table = {}
    for line in done.stdout.splitlines():
        numbers = [int(x, 16) for x in line.split()]
        table[tuple(numbers[:2])] = tuple(numbers[2:])
    return table


def _leaf_18(table):
    found = []
    for (leaf, sub), (_, ebx, ecx, edx) in sorted(table.items()):
        kind = edx & 0x1F  # 1 data, 3 unified, 4 loads only, 5 stores only
        if leaf != 0x18 or kind not in (1, 3, 4):
            continue
        pages = [name for bit, name in enumerate(("4K", "2M", "4M", "1G")) if ebx >> bit & 1 and name != "4M"]
        found.append((f"L{edx >> 5 & 7}", ((ebx >> 16) & 0xFFFF) * ecx, pages))
    return found


def _leaf_2(table):
    descriptors = [r >> shift & 0xFF for i, r in enumerate(table.get((2, 0), ())) if not r >> 31
                   for shift in range(8 if i == 0 else 0, 32, 8)]
    return [entry for d in descriptors for entry in DESCRIPTORS.get(d, [])]


def _amd(table):
    found = []
    if (0x80000005, 0) in table:
        eax, ebx, _, _ = table[0x80000005, 0]
        found += [("L1", eax >> 16 & 0xFF, ["2M"]), ("L1", ebx >> 16 & 0xFF, ["4K"])]
    if (0x80000006, 0) in table:
        eax, ebx, _, _ = table[0x80000006, 0]
        found += [("L2", eax >> 16 & 0xFFF, ["2M"]), ("L2", ebx >> 16 & 0xFFF, ["4K"])]
    if (0x80000019, 0) in table:
        eax, ebx, _, _ = table[0x80000019, 0]
        found += [("L1", eax >> 16 & 0xFFF, ["1G"]), ("L2", ebx >> 16 & 0xFFF, ["1G"])]
    return [f for f in found if f[1]]


def decode(table):
    """[(level, entries, [page sizes])] of the data TLBs; [] where the CPU does not say."""
    return _leaf_18(table) or _leaf_2(table) or _amd(table)


def reach(tlbs, page):
    """Bytes that the largest TLB for a page size covers; None where that is not known."""
    entries = [n for _, n, pages in tlbs if page in pages]
    return max(entries) * SIZES[page] if entries else None


def read(vbng):
    """The data TLBs of this machine; vbng: the program with which cpuid was built, unless cpuid is installed beside the package."""
    built, installed = os.path.join(os.path.dirname(vbng), "tools", "cpuid"), os.path.join(BESIDE, "cpuid")
    return decode(_registers(built if os.access(built, os.X_OK) else installed))


def text(tlbs):
    """The TLBs in words."""
    if not tlbs:
        return "not visible (a hypervisor may hide it)"
    return "; ".join(f"{level}: {entries} for pages of {' and '.join(pages)}" for level, entries, pages in tlbs)
