# SPDX-License-Identifier: BSD-3-Clause
"""Arithmetic against the paper's numbers, and what is read of the machine, on made-up machines."""

import json
import os
import tempfile

from vbnglab.experiments import Refused, bandwidth, fig6, paper, pci, table2, tlb
from vbnglab.lab import hugepages
from vbnglab.lab.graph import Graph
from vbnglab.lab.topology import parse


def write(root, **files):
    for name, text in files.items():
        path = os.path.join(root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="ascii") as f:
            f.write(f"{text}\n")


def test_table2():
    """All theoretical maxima of Table II to the last digit, and the sizes on the core side."""
    for (cpe, core), (maximum, first, second) in paper.TABLE2.items():
        assert f"{paper.theoretical_mpps(cpe, core):.2f}" == f"{maximum:.2f}", (cpe, core)
        assert paper.core_size(cpe) == core
        assert first <= second <= maximum
    assert f"{paper.line_pps(64) / 1e6:.2f}" == "14.88"  # the paper's line rate of one port
    assert f"{paper.line_pps(78) / 1e6:.3f}" == "12.755"


def test_cards():
    """Configuration 1 loads the core side's card by 23 % more than the other one, configuration 2 both alike."""
    access, core = paper.card_load(64, 78, 1)
    assert abs(core / access - 74 / 60) < 1e-9
    one, other = paper.card_load(64, 78, 2)
    assert one == other and abs(one + other - access - core) < 1e-9


def test_channels():
    """Both streams need the same bandwidth in all: what differs is its distribution."""
    random, one = sum(paper.CHANNELS_RANDOM), sum(paper.CHANNELS_ONE_QUEUE)
    assert abs(random - one) / random < 0.01
    assert paper.CHANNELS_ONE_QUEUE[0] / paper.CHANNELS_RANDOM[0] > 1.6


def test_pci():
    """Ports by card, and the two pairings."""
    assert pci.card_of("0000:05:00.1") == pci.card_of("05:00.0") == "0000:05:00"
    assert pci.card_of("wire:cpe0") is None
    pairs = pci.pairings(["0000:05:00.0", "0000:05:00.1", "0000:08:00.1", "0000:08:00.0"])
    assert pairs[1] == ["0000:05:00.0", "0000:05:00.1", "0000:08:00.0", "0000:08:00.1"], pairs
    assert pairs[2] == ["0000:05:00.0", "0000:08:00.0", "0000:05:00.1", "0000:08:00.1"], pairs
    assert pci.pairings(["0000:05:00.0", "0000:05:00.1", "0000:05:00.2", "0000:05:00.3"]) is None
    assert pci.pairings(["wire:a", "wire:b", "wire:c", "wire:d"]) is None
    with tempfile.TemporaryDirectory(prefix="vbng-pci-") as root:
        write(root, **{"0000:05:00.0/class": "0x020000", "0000:05:00.1/class": "0x020000", "0000:00:1f.2/class": "0x010601",
                       "0000:05:00.0/current_link_speed": "5.0 GT/s PCIe", "0000:05:00.0/current_link_width": "8"})
        found = pci.cards(root)
        assert list(found) == ["0000:05:00"] and len(found["0000:05:00"]) == 2, found
        assert found["0000:05:00"][0]["speed"] == "5.0 GT/s PCIe"


def test_other_pairing():
    """What was measured in the other pairing is found again; what belongs to this one or to wires is not."""
    with tempfile.TemporaryDirectory(prefix="vbng-table2-") as root:
        for name in ("configuration 1, 64-78", "configuration 2, 64-78", "wires, 64-78"):
            write(root, **{f"{name}/journal.jsonl": '{"sweep":{}}\n' + json.dumps({"variant": name, "round": 1})})
        assert [r["variant"] for r in table2.earlier(root, "configuration 2")] == ["configuration 1, 64-78"]
        assert len(table2.earlier(root, "wires")) == 2


def test_tlb():
    """What CPUID says of the data TLB: leaf 0x18, the descriptors of leaf 2, AMD, and a hypervisor that says nothing."""
    leaf18 = {(0x18, 0): (2, 0, 0, 0),
              (0x18, 1): (0, 16 << 16 | 0b0001, 6, 1 << 5 | 1),  # L1 data, 16 ways x 6 sets, 4 KiB
              (0x18, 2): (0, 8 << 16 | 0b1011, 256, 2 << 5 | 3),  # L2 unified, 8 ways x 256 sets, 4K, 2M and 1G
              (0x18, 3): (0, 8 << 16 | 0b0001, 8, 1 << 5 | 2)}  # instructions
    assert tlb.decode(leaf18) == [("L1", 96, ["4K"]), ("L2", 2048, ["4K", "2M", "1G"])], tlb.decode(leaf18)
    assert tlb.reach(tlb.decode(leaf18), "2M") == 4 << 30
    # the kind of processor that the paper has: 64 entries for 4 KiB, 32 for 2 MiB and 4 for 1 GiB
    old = tlb.decode({(2, 0): (0x76036301, 0x00F0B5FF, 0, 0x00C10000)})
    assert ("L1", 4, ["1G"]) in old and ("L1", 64, ["4K"]) in old, old
    assert tlb.reach(old, "1G") == paper.DTLB_1G << 30
    amd = tlb.decode({(0x80000005, 0): (0xFF40FF40, 0xFF40FF40, 0, 0), (0x80000019, 0): (0xF040F040, 0, 0, 0)})
    assert ("L1", 64, ["1G"]) in amd, amd
    assert tlb.decode({(2, 0): (0x00FEFF01, 0xF0, 0, 0)}) == [] and "not visible" in tlb.text([])


def test_bandwidth():
    """What perf prints of the memory controllers, with and without a scale."""
    text = ("100.00,MiB,uncore_imc_0/cas_count_read/,1000,100.00,,\n50.00,MiB,uncore_imc_0/cas_count_write/,1000,100.00,,\n"
            "1000000,,uncore_imc_1/cas_count_read/,1000,100.00,,\n<not counted>,MiB,uncore_imc_2/cas_count_read/,0,0.00,,\n")
    found = bandwidth.parse(text, 2.0)
    assert abs(found["uncore_imc_0"] - 150 * 1.048576 / 2) < 1e-6 and abs(found["uncore_imc_1"] - 32) < 1e-6, found
    assert "uncore_imc_2" not in found
    command = bandwidth.command(["uncore_imc_0"], 2)
    assert command[:4] == ["perf", "stat", "-a", "-x"] and command[-2:] == ["sleep", "2"]


def test_hugepages():
    """What was there comes back, also after an error; what cannot be had is refused and given back."""
    with tempfile.TemporaryDirectory(prefix="vbng-pages-") as root:
        small, large = "hugepages-2048kB", "hugepages-1048576kB"
        write(root, **{f"{small}/nr_hugepages": 3, f"{small}/free_hugepages": 10, f"{large}/nr_hugepages": 0,
                       f"{large}/free_hugepages": 0})

        def number(name="nr_hugepages", size=small):
            with open(os.path.join(root, size, name), encoding="ascii") as f:
                return int(f.read())

        with hugepages.Reserved("2M", 8, root):
            assert number() == 3  # enough are free: nothing is taken
        try:
            with hugepages.Reserved("2M", 12, root):
                raise AssertionError("the made-up kernel never has more than 10 free pages")
        except hugepages.NoPages as e:
            assert "gave 10 of 12" in str(e), e
        assert number() == 3
        try:
            with hugepages.Reserved("1G", 1, root):
                raise AssertionError("free pages of 2 MiB would be taken, too")
        except hugepages.NoPages as e:
            assert "free huge pages of 2M" in str(e), e
        write(root, **{f"{small}/free_hugepages": 0})
        page = hugepages.Reserved("1G", 0, root)
        with page:
            write(root, **{f"{large}/free_hugepages": 2})
        grabbed = hugepages.Reserved("1G", 2, root)
        grabbed.before = 1  # as if it had reserved: an error inside must not keep the pages
        try:
            with grabbed:
                raise KeyboardInterrupt
        except KeyboardInterrupt:
            assert number(size=large) == 1
    gib = 1 << 30
    assert hugepages.needed(gib, "2M") == 608 and hugepages.needed(3 * gib, "1G") == 4


def test_fig6():
    """The two layouts differ in the gateway's core alone; a machine with one socket is refused."""
    plan = {"instances": [{"instance": n, "task": n, "type": kind, "receives": [], "outputs": []}
                          for n, kind in (("route", "route"), ("gen", "gen"), ("sink", "sink"))]}
    g = Graph(plan)
    right, wrong = fig6.place(g, parse("2x10x2"), 0)
    assert right.entries[0] == ("1s0", ["route"]) and wrong.entries[0] == ("1s1", ["route"])
    assert right.entries[1:] == wrong.entries[1:] == [("2s0", ["gen"]), ("3s0", ["sink"])], right.entries
    for spec, home in (("1x8x2", 0), ("2x10x2", 5), ("2x2x1", 0)):
        try:
            fig6.place(g, parse(spec), home)
            raise AssertionError(f"{spec} was taken")
        except Refused:
            pass
