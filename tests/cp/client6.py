# SPDX-License-Identifier: BSD-3-Clause
"""A DHCPv6 client made with Scapy, and the configuration of a vbng-cp that has IPv6 for it."""

import ipaddress
import queue

from tests.common.limits import limit
from tests.cp.client import PORT_MAC, Ether
from tests.cp.userplane import DHCP6

from scapy.layers.dhcp6 import (  # noqa: E402,F401
    DHCP6_Advertise, DHCP6_Confirm, DHCP6_Decline, DHCP6_InfoRequest, DHCP6_Rebind, DHCP6_Release, DHCP6_Renew, DHCP6_Reply,
    DHCP6_Request, DHCP6_Solicit, DHCP6OptClientId, DHCP6OptDNSDomains, DHCP6OptDNSServers, DHCP6OptIA_NA, DHCP6OptIA_PD, DHCP6OptIA_TA,
    DHCP6OptIAAddress, DHCP6OptIAPrefix, DHCP6OptInfoRefreshTime, DHCP6OptOptReq, DHCP6OptRapidCommit, DHCP6OptServerId,
    DHCP6OptStatusCode, DUID_LL)
from scapy.layers.inet import UDP  # noqa: E402
from scapy.layers.inet6 import IPv6  # noqa: E402

GATEWAY_LINK = "fe80::b0:ff:fe00:0"  # of PORT_MAC
POOLS6 = """
pools6 = ( { name = "homes6"; wan = "2001:db8:100::/WANLEN"; delegated = "2001:db8:8000::/PDLEN"; dns = ["2001:db8::53", "2001:db8::54"];
             domain = "example.net"; lease_time = "V6LEASE"; } );
"""


def with_ipv6(extra="", wan_len=56, delegated_len=48, lease="1h", **values):
    """Values of a control plane whose lines have IPv6; those with the outer VLANs 200 to 209 nothing else."""
    pools = POOLS6.replace("WANLEN", str(wan_len)).replace("PDLEN", str(delegated_len)).replace("V6LEASE", lease)
    return {"EXTRA": pools + extra, "POOL6": 'pool6 = "homes6";',
            "ACCESS": ', { port = "cpe0"; svlan = "200-209"; pool6 = "homes6"; profile = "home-50M"; }', **values}


class Client6:
    """One CPE on a line. What it was given last is in address, prefix and server."""

    def __init__(self, cp, number, line=None, iaid=7):
        self.cp, self.number, self.iaid = cp, number, iaid
        self.mac = f"02:00:00:00:{number >> 8:02x}:{number & 255:02x}"
        self.link = f"fe80::ff:fe00:{number:x}"
        self.line = line or ("cpe0", 100 + number // 4000, 1 + number % 4000)
        self.duid = DUID_LL(lladdr=self.mac)
        self.xid = number << 8
        self.address = self.prefix = self.server = None

    def na(self, *addresses, iaid=None):
        """An IA_NA."""
        return DHCP6OptIA_NA(iaid=iaid or self.iaid, ianaopts=[DHCP6OptIAAddress(addr=a) for a in addresses])

    def pd(self, *prefixes, iaid=None):
        """An IA_PD."""
        split = [p.split("/") for p in prefixes]
        return DHCP6OptIA_PD(iaid=iaid or self.iaid + 1, iapdopt=[DHCP6OptIAPrefix(prefix=p, plen=int(n)) for p, n in split])

    def frame(self, kind, *options, server=None, source=None, duid=True, **fields):
        self.xid += 1
        message = kind(trid=self.xid, **fields)
        if duid:
            message /= DHCP6OptClientId(duid=self.duid)
        if server is not None:
            message /= DHCP6OptServerId(duid=server)
        for o in options:
            message /= o
        return bytes(Ether(src=self.mac, dst="33:33:00:01:00:02") / IPv6(src=source or self.link, dst="ff02::1:2")
                     / UDP(sport=546, dport=547) / message)

    def say(self, kind, *options, **fields):
        self.cp.up.send(self.line, self.frame(kind, *options, **fields), DHCP6)

    def hear(self, kind=DHCP6_Reply, seconds=5):
        """The next answer, as Scapy understands it: to what was said last, with right addresses, checksum and identifiers."""
        line, frame = self.cp.up.expect(limit(seconds))
        assert line == self.line
        got = Ether(frame)
        assert (got.src, got.dst, got[IPv6].src, got[IPv6].dst) == (PORT_MAC, self.mac, GATEWAY_LINK, self.link)
        assert (got[UDP].sport, got[UDP].dport) == (547, 546)
        again, given = Ether(frame), got[UDP].chksum
        del again[UDP].chksum
        assert Ether(bytes(again))[UDP].chksum == given
        message = got[kind]
        assert message.trid == self.xid
        assert bytes(message[DHCP6OptClientId].duid) == bytes(self.duid)
        return message

    def hears_nothing(self, seconds=0.3):
        try:
            line, frame = self.cp.up.expect(seconds)
        except queue.Empty:
            return
        raise AssertionError(f"{line} was sent {Ether(frame).summary()}")

    def solicit(self, *options):
        self.say(DHCP6_Solicit, *(options or (self.na(), self.pd())))
        return self.hear(DHCP6_Advertise)

    def ask(self, kind, *options):
        """Say something to the server, and hear its answer."""
        self.say(kind, *options, server=self.server)
        return self.hear()

    def take(self, reply):
        """Remember what an answer gives."""
        self.server = reply[DHCP6OptServerId].duid
        self.address, self.prefix = address_of(reply), prefix_of(reply)
        return reply

    def get(self, *options):
        """Get what the options ask for, by four messages. Returns the reply."""
        options = options or (self.na(), self.pd())
        self.server = self.solicit(*options)[DHCP6OptServerId].duid
        return self.take(self.ask(DHCP6_Request, *options))

    def own(self):
        """The identity associations with what it has."""
        return self.na(self.address), self.pd(self.prefix)

    def row(self):
        """(ipv4, ipv6, delegated) of its subscriber in the user plane; None: there is none."""
        row = self.cp.up.rows.get(self.line)
        return row and (row.get("ipv4"), row.get("ipv6"), row.get("delegated"))


def leases(message, ia):
    """[(address or prefix, preferred, valid)] of an identity association: its class, or a tuple of that and an IAID."""
    found = find_ia(message, ia)
    if found is None:
        return []
    if isinstance(found, DHCP6OptIA_PD):
        return [(f"{o.prefix}/{o.plen}", o.preflft, o.validlft) for o in found.iapdopt if isinstance(o, DHCP6OptIAPrefix)]
    return [(o.addr, o.preflft, o.validlft) for o in found.ianaopts if isinstance(o, DHCP6OptIAAddress)]


def find_ia(message, ia):
    kind, iaid = ia if isinstance(ia, tuple) else (ia, None)
    layer = message.getlayer(kind)
    while layer is not None and iaid is not None and layer.iaid != iaid:
        layer = layer.payload.getlayer(kind)
    return layer


def status_of(message, ia=None):
    """The status code of an identity association, or of the message; None: it has none."""
    if ia is None:
        return message[DHCP6OptStatusCode].statuscode if DHCP6OptStatusCode in message else None
    found = find_ia(message, ia)
    options = found.iapdopt if isinstance(found, DHCP6OptIA_PD) else found.iataopts if isinstance(found, DHCP6OptIA_TA) else found.ianaopts
    return next((o.statuscode for o in options if isinstance(o, DHCP6OptStatusCode)), None)


def address_of(message):
    return next((a for a, _, valid in leases(message, DHCP6OptIA_NA) if valid), None)


def prefix_of(message):
    return next((p for p, _, valid in leases(message, DHCP6OptIA_PD) if valid), None)


def link_of(address):
    """The /64 of an address, as the user plane has it."""
    return str(ipaddress.ip_network(f"{address}/64", strict=False))
