# SPDX-License-Identifier: BSD-3-Clause
"""What a card with all of its ports asks of its slot.

The busier direction is from the device to the host: it carries what is received, and the requests to read what is to be
sent. For a frame of F bytes without FCS in each direction, with a maximum payload of 256 bytes and read requests of 512:

    F + 24 * ceil(F / 256)   the frame, written
    16 + 24 / 4              its descriptor, written, four to a packet
    24 * ceil(F / 512)       request for the frame to be sent
    24 / 4                   request for its descriptor, four to a packet

24: what a transaction layer packet adds (header 16, sequence number 2, LCRC 4, framing 2). A tenth of the link is left for
acknowledgements and flow control.
"""

from .ports import ACCESS, CORE, PCI

FCS = 4
TLP = 24
MAX_PAYLOAD = 256
READ_REQUEST = 512
DESCRIPTOR = 16
PER_LINE = 4  # descriptors in a cache line
LANES = (1, 2, 4, 8, 16)
# bit/s of a lane behind its line code: 8b/10b, then 128b/130b
LANE = {"gen2": 4000000000, "gen3": 7876923077, "gen4": 15753846154, "gen5": 31507692308}


def device_of(interface):
    """The device of a PCI function: two functions of one device are two ports of one card."""
    return interface["device"].split(".")[0]


def interface_bits(interface):
    """Bit/s from the device to the host, of an entry of interfaces[]."""
    frame = interface["smallest_frame"] - FCS
    size = (frame + TLP * -(-frame // MAX_PAYLOAD) + DESCRIPTOR + TLP // PER_LINE + TLP * -(-frame // READ_REQUEST)
            + TLP // PER_LINE)  # fmt: skip
    return interface["packets_per_second"] * size * 8


def lanes(bits):
    """Generation -> the fewest lanes that carry so many bit/s, None where 16 are too few."""
    return {gen: next((n for n in LANES if rate // 10 * 9 * n >= bits), None) for gen, rate in LANE.items()}


def cards(interfaces):
    """pcie_cards[] of a description, from its interfaces[]."""
    ports = {}
    for i in interfaces:
        if i["kind"] == PCI:
            ports.setdefault(device_of(i), []).append(i)
    return [{"interfaces": [i["name"] for i in card], "bits_per_second": sum(map(interface_bits, card)),
             "lanes": lanes(sum(map(interface_bits, card)))} for card in ports.values()]  # fmt: skip


def notes(interfaces, all_cards):
    """The paper's Table II: frames are larger on the core side, so a card with one port of each side has less to carry than
    one with core ports only: 44.02 against 42.80 Mpps."""
    side = {i["name"]: i["side"] for i in interfaces}
    sides = [{side[name] for name in card["interfaces"]} & {ACCESS, CORE} for card in all_cards if len(card["interfaces"]) > 1]
    if {ACCESS} in sides and {CORE} in sides:
        return ["a card has only access ports and another only core ports, whose frames are larger: put one of each on each card"]
    return []
