# SPDX-License-Identifier: BSD-3-Clause
"""A case with the gateway of the addressing plan: packets and what must become of them."""

from tests.pcap import frames as fr
from tests.pcap.gateway import Gateway
from tests.pcap.harness import Case


class Traffic(Case):
    def __init__(self, name, key=True, **gateway):
        """key: GRE with the subscriber's key. The rest is Gateway's."""
        params = dict(gateway.pop("params", {}))
        if not key:
            params["gre_up"] = params.get("gre_up", "") + " key = false;"
            params["gre_down"] = params.get("gre_down", "") + ' key = "optional";'
        self.gateway = Gateway(params=params, **gateway)
        self.key = key
        super().__init__(name, self.gateway)

    def core_frame(self, core, packet, sub, **more):
        g = self.gateway
        return fr.encapsulated(core, packet, sub.key if self.key else None, g.gre, g.mpls, **more)

    def up(self, sub, core, packet, tos=None, outer=None, **sent):
        """A packet of a subscriber that must leave by a core port."""
        self.send(sub.port, fr.from_cpe(sub, packet, **sent))
        self.receive(core, self.core_frame(core, fr.forwarded(packet, tos=tos), sub, **(outer or {})))

    def down(self, core, sub, packet, tags=None, **sent):
        """A packet from a core router that must reach a subscriber."""
        g = self.gateway
        if not g.mpls:
            sent.setdefault("stack", ())
        key = sub.key if self.key else None
        self.send(core, fr.from_core(core, packet, **{"key": key, "with_gre": g.gre, **sent}))
        self.receive(sub.port, self.access_frame(sub, fr.forwarded(packet), **(tags or {})))

    def access_frame(self, sub, packet, **tags):
        packet = fr.ip_bytes(packet)
        return fr.to_cpe(sub, packet, **{"tpid": int(self.gateway.tpid, 0), "pcp": packet[1] >> 5, **tags})


def ident_for(packet, wanted):
    """packet with the identification that makes its header checksum the one wanted."""
    header = (packet[0] & 15) * 4
    words = [int.from_bytes(packet[i : i + 2], "big") for i in range(0, header, 2)]
    total = sum(words) - words[2] - words[5]
    # one's complement: total + ident + wanted = 0xffff
    rest = total + wanted
    while rest > 0xFFFF:
        rest = (rest & 0xFFFF) + (rest >> 16)
    ident = 0xFFFF - rest
    return packet[:4] + ident.to_bytes(2, "big") + packet[6:10] + wanted.to_bytes(2, "big") + packet[12:]
