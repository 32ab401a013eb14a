# SPDX-License-Identifier: BSD-3-Clause
"""ISC Kea behind vbng-cp as a relay, and what it, both programs and the CPEs say of the same leases."""

import ipaddress

from ..cpe.dhcp4 import Dhcp4
from ..cpe.dhcp6 import Dhcp6
from ..lab.failure import Failure
from ..lab.kea import Kea, program
from ..lab.network import ip, sysctl
from .gateway import DELEGATED, DELEGATED_LEN, GATEWAY, POOL, RELAY6, SERVER4, SERVER6, WAN

LEASE_S = 3600
FAMILIES = {Dhcp4: 4, Dhcp6: 6}  # of which a server gives leases to who speaks the protocol
PORTS = {4: 67, 6: 547}  # of the servers, in a network namespace of our own
KINDS = {"0": "IPv6", "2": "prefixes"}  # of leases, in the file of kea-dhcp6
ALL_KINDS = ("IPv4", *KINDS.values())


def families(protocols):
    """Families that servers give to CPEs of these protocols. Raises Failure where one of them is not there."""
    found = [FAMILIES[p] for p in protocols if p in FAMILIES]
    if len(found) < len(protocols):
        raise Failure("--relay: PPPoE gives addresses by itself; ipoe, dual and ipv6 are what a server of DHCP is for")
    for family in found:
        program(family)
    return found


def _config(family):
    """Of a server, whose leases are the pools'."""
    if family == 4:
        net = ipaddress.ip_network(POOL)
        return {"valid-lifetime": LEASE_S, "subnet4": [{"id": 1, "subnet": POOL, "pools": [{"pool": f"{net[10]} - {net[-6]}"}],
                                                        "option-data": [{"name": "routers", "data": GATEWAY}]}]}
    delegated = ipaddress.ip_network(DELEGATED)
    pd = {"prefix": str(delegated[0]), "prefix-len": delegated.prefixlen, "delegated-len": DELEGATED_LEN}
    return {"valid-lifetime": LEASE_S, "preferred-lifetime": LEASE_S,
            "subnet6": [{"id": 1, "subnet": WAN, "pools": [{"pool": f"{ipaddress.ip_network(WAN)[0]}/64"}], "pd-pools": [pd]}]}


class Servers:
    """Those of some families, from here to stop()."""

    def __init__(self, folder, of):
        self.keas = {family: Kea(folder, family, SERVER4 if family == 4 else SERVER6, PORTS[family], **_config(family)) for family in of}

    def start(self):
        """Start them; ready() waits for them."""
        if 6 in self.keas:
            sysctl("ipv6/conf/lo/disable_ipv6", 0)
            for address in (SERVER6, RELAY6):
                ip("addr", "add", f"{address}/128", "dev", "lo", "nodad")
        for kea in self.keas.values():
            kea.start()

    def ready(self):
        """Wait until they take messages. Raises Failure."""
        for kea in self.keas.values():
            kea.ready()

    def leases(self):
        """{each of ALL_KINDS: {(MAC, address or prefix)}} as their files say."""
        found = {kind: set() for kind in ALL_KINDS}
        for family, kea in self.keas.items():
            for address, row in kea.held().items():
                if family == 4:
                    found["IPv4"].add((row["hwaddr"], address))
                else:  # the last six octets of the DUID are the MAC
                    kind = KINDS[row["lease_type"]]
                    found[kind].add((row["duid"][-17:], address + (f"/{row['prefix_len']}" if kind == "prefixes" else "")))
        return found

    def stop(self):
        """End them, if they run."""
        for kea in self.keas.values():
            kea.stop()


def of_control_plane(sessions):
    """The same of what vbng-cp says of its sessions."""
    return {"IPv4": {(s["mac"], s["ipv4"]) for s in sessions if s["ipv4"]},
            "IPv6": {(s["mac"], s["ipv6_address"]) for s in sessions if s["ipv6_address"]},
            "prefixes": {(s["mac"], s["delegated"]) for s in sessions if s["delegated"]}}


def of_cpes(cpes):
    """The same of what CPEs were told."""
    found = {kind: set() for kind in ALL_KINDS}
    for cpe in cpes:
        mac = cpe.mac.hex(":")
        for protocol in cpe.protocols:
            for version, address in protocol.address.items():
                found[f"IPv{version}"].add((mac, str(ipaddress.ip_address(address))))
            if getattr(protocol, "prefix", None):
                found["prefixes"].add((mac, f"{ipaddress.ip_address(protocol.prefix + bytes(8))}/{DELEGATED_LEN}"))
    return found


def compare(said):
    """said: {who: leases}. Returns (lines of a table, what is wrong)."""
    rows = [" " * 22 + "".join(f" {kind:>8}" for kind in ALL_KINDS)]
    rows += [f"{who:<22}" + "".join(f" {len(leases[kind]):>8}" for kind in ALL_KINDS) for who, leases in said.items()]
    (first, leases), *others = said.items()
    wrong = []
    for who, others_leases in others:
        differ = sorted(set().union(*(leases[kind] ^ others_leases[kind] for kind in ALL_KINDS)))
        if differ:
            wrong.append(f"{first} and {who} differ in {len(differ)} leases: " + ", ".join(f"{what} of {mac}" for mac, what in differ[:3]))
    return rows, wrong
