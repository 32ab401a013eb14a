# SPDX-License-Identifier: BSD-3-Clause
"""The rings of vbng's virtio ports, as the peer says: packed ones, unless a device string says otherwise."""

import contextlib
import os
import re

from tests.common.verdict import nothing
from tests.switch.bed import Bed, installed
from vbnglab.lab import chain, run
from vbnglab.switches import adapters

PACKED = 1 << 34  # VIRTIO 1.1, section 6: VIRTIO_F_RING_PACKED
FEATURES = re.compile(r"\((\S+)\) negotiated Virtio features: (0x[0-9a-f]+)")
SPLIT = "v1b"  # port of the VNF whose device string refuses packed rings


class SplitBed(Bed):
    def start_vnf(self):
        refused = {f"ports.{SPLIT}.device": f"{self.switch.ports[SPLIT].device},packed_vq=0"}
        vnf = chain.Controlled("vnf1", self.lab.vnfs["vnf1"], self.lab.folder, refused, self.binary)
        assert vnf.ready(), vnf.running.output()
        return vnf


def test_rings(own_network, vbng, folder):
    installed(adapters.ALL["testpmd"])
    with contextlib.ExitStack() as stack:
        bed = SplitBed(str(folder), vbng, adapters.ALL["testpmd"], None, stack)
        wrong = bed.flows("between packed and split rings")
        said = run.text_of(os.path.join(bed.switch.folder, "testpmd.log"))
        found = {os.path.basename(path).removesuffix(".sock"): bool(int(bits, 16) & PACKED) for path, bits in FEATURES.findall(said)}
        expected = {name: name != SPLIT for name in bed.switch.ports}
        nothing(wrong + [f"packed rings: {found}, expected {expected}\n{said}"] * (found != expected) + bed.ends([]))
