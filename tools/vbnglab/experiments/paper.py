# SPDX-License-Identifier: BSD-3-Clause
"""Numbers of the paper: B. Nemeth et al., "The Limits of Architectural Abstraction in Network Function Virtualization".

Only what its text and tables say. Values that are only drawn in a figure are not here.
"""

LINE_RATE = 10e9  # bit/s of each port
LINE_OVERHEAD = 20  # bytes on the line beside the frame: preamble, start of frame, gap between frames
FCS = 4
PORTS = 4  # two to the CPEs, two to the core network

# Table II: (bytes on the CPE side, on the core side): theoretical maximum, configuration 1, configuration 2; Mpps
TABLE2 = {
    (64, 78): (51.02, 42.80, 44.02),
    (128, 152): (29.07, 28.36, 28.50),
    (256, 280): (16.67, 16.56, 16.56),
    (512, 536): (8.99, 8.92, 8.92),
    (1024, 1048): (4.68, 4.56, 4.56),
    (1494, 1518): (3.25, 3.24, 3.24),
}

# Section III.C and Fig. 10: Mpps of the layouts that the text gives a number for
FIG10 = {"pipeline": 14.88, "smt-rx-qos": 8.65, "smt-qos-tx": 9.50}

# Section III.D: where throughput (Fig. 11) and the packets held (Fig. 12) begin to change, GiB of mbufs; the system's
# DTLB has 4 entries for pages of 1 GiB
FIG11_KNEE, FIG12_KNEE, DTLB_1G = 1.0, 3.0, 4

# Section III.E: MB/s of each memory channel
CHANNELS_RANDOM = (519, 562, 587, 562)
CHANNELS_ONE_QUEUE = (842, 453, 478, 454)


def line_pps(size, rate=LINE_RATE):
    """Frames of a size, in bytes with FCS, that a line carries in a second."""
    return rate / 8 / (size + LINE_OVERHEAD)


def theoretical_mpps(cpe, core, ports=PORTS, rate=LINE_RATE):
    """Mpps through the gateway: on each port the larger of the two frames, that of the core side, sets the pace."""
    return ports * line_pps(max(cpe, core), rate) / 1e6


def core_size(cpe):
    """Size on the core side of a frame of that size from a CPE, with FCS: 8 bytes of tags less, 32 of MPLS, IPv4 and GRE
    with key more; the padding that a frame of 64 bytes has does not go on."""
    padding = 10 if cpe == 64 else 0
    return cpe - 8 + 32 - padding


def card_load(cpe, core, layout):
    """Gbit/s of frames that each of the two cards moves over PCIe in each direction at the theoretical maximum.
    layout 1: a card for the CPE side and one for the core side; 2: one port of each side on each card. A port receives
    what its side sends and sends what the other one sent, in its own side's size; FCS does not cross PCIe."""
    pps = theoretical_mpps(cpe, core) * 1e6 / PORTS
    access, uplink = ((size - FCS) * 8 * pps / 1e9 for size in (cpe, core))
    return (2 * access, 2 * uplink) if layout == 1 else (access + uplink, access + uplink)
