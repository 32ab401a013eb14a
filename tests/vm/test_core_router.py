# SPDX-License-Identifier: BSD-3-Clause
"""The other end of tunnels over IPv6 is the kernel's ip6gre (RFC 7676), in a guest with Debian's kernel: a core router, behind which the tunnels end, and a
server. Two CPEs, on VLAN pairs of their own, are in that guest, too; between them and the core is the gateway."""

import json
import re
import time
from dataclasses import dataclass

import pytest

from tests.common.verdict import nothing
from tests.vm import flows, inside
from tests.vm.circle import FLOWS, Circle, until
from vbnglab.lab import run
from vbnglab.lab.network import ip, silence

MODULES = ("virtio_net", "af_packet", "8021q", "veth", "ip6_gre")
PORTS = ("line", "core")
MAC = {"line": "52:54:00:00:00:01", "core": "52:54:00:00:00:02"}  # of the guest's interfaces
NICS = [word for port in PORTS for word in ("-netdev", f"tap,id={port},ifname=gw-{port},script=no,downscript=no,vnet_hdr=off",
                                            "-device", f"virtio-net-pci,netdev={port},mac={MAC[port]}")]  # fmt: skip
GATEWAY4, GATEWAY6, FAR_END = "10.64.0.1", "2001:db8:c::1", "2001:db8:d::2"
ROUTER6 = "2001:db8:c::2"
TUNNEL = 40 + 8  # bytes of the outer header and of GRE with its key
MTU, NARROW = 1500, 1400  # of the core; where a part of it is narrower
CARRIED = 200_000  # bytes of a TCP connection, in each direction
PINGS = 3
PATIENCE_S, UNANSWERED_S = 20, 2  # for answers that must come, which wait for a guest's CPU; for those that must not
CIRCLE_S = 3
TRACED = (("traceroute", flows.HOST, GATEWAY4), ("traceroute6", flows.HOST6, GATEWAY6))
# What a tunnel of Linux may do beyond the plain one. Its default encapsulation limit is an extension header.
PLAIN, LIMITED = "encaplimit none", ""
# What the kernels send besides: MLD, solicitations about each other.
ALLOWED = {"classify.ipv6_link_local", "gre_down.not_for_us", "arp.nd_foreign", "arp.unresolved"}


@dataclass(frozen=True)
class Line:
    """Of a CPE, which is a namespace of this name."""

    name: str
    svlan: int
    key: int
    ipv4: str
    wan: str  # /64 of its link
    delegated: str  # /56
    tunnel: str  # more words of the far end's

    @property
    def inner(self):
        """An address of the delegated prefix."""
        return self.delegated + "1"


LINES = (Line("cpe1", 101, 17, "10.64.0.17", "2001:db8:40:1::", "2001:db8:4100:100::", "tclass inherit"),
         Line("cpe2", 102, 0xFEDCBA98, "10.64.0.18", "2001:db8:40:2::", "2001:db8:4100:200::", "ocsum oseq"))  # fmt: skip
SUBSCRIBERS = ", ".join(f'{{ port = "line"; svlan = {x.svlan}; cvlan = 7; ipv4 = "{x.ipv4}"; ipv6 = "{x.wan}/64"; delegated = "{x.delegated}/56"; '
                        f'gre_key = {x.key}L; }}' for x in LINES)  # fmt: skip
CONFIGURATION = f"""
name = "core-router"; memory = "no-huge"; idle = "sleep";
pools = {{ default = {{ mbufs = "8K"; }}; }};
ports = (
    {{ name = "line"; device = "net_af_packet0,iface=gw-line"; mac = "02:b0:00:00:00:01"; addresses = "{GATEWAY4}"; }},
    {{ name = "core"; device = "net_af_packet1,iface=gw-core"; mac = "02:b0:00:00:00:02"; addresses = "{GATEWAY6}"; mtu = {MTU}; }}
);
subscribers = ( {SUBSCRIBERS} );
routes = (
    {{ prefix = "0.0.0.0/0"; port = "core"; via = "{ROUTER6}"; gre = "{FAR_END}"; }},
    {{ prefix = "::/0"; port = "core"; via = "{ROUTER6}"; gre = "{FAR_END}"; }}
);
tasks = (
    {{ name = "classify"; type = "classify"; from = "line"; to = "decap"; punt = "arp"; }},
    {{ name = "decap"; type = "qinq_decap"; to = "route"; }},
    {{ name = "route"; type = "route"; to = "gre_up"; punt = "arp"; }},
    {{ name = "gre_up"; type = "gre_encap"; to = "core"; }},
    {{ name = "gre_down"; type = "gre_decap"; from = "core"; to = "encap"; punt = "arp"; }},
    {{ name = "encap"; type = "qinq_encap"; to = "line"; punt = "arp"; }},
    {{ name = "arp"; type = "arp"; to = ["line", "core"]; route = "own_route"; icmp_rate = 1000; subscriber_rate = 1000; }},
    {{ name = "own_route"; type = "route"; to = "own_gre"; }},
    {{ name = "own_gre"; type = "gre_encap"; to = "core"; }}
);
layout = ( {{ core = "0"; tasks = ["classify", "decap", "route", "gre_up", "gre_down", "encap", "arp", "own_route", "own_gre"]; }} );
"""
# The core router is the guest itself: the namespace far is what ends the tunnels, and server what is behind that.
CORE = f"""
set -e
for name in far server; do
    ip netns add $name
    ip -n $name link set lo up
done
ip link add to-far type veth peer name to-router netns far
ip link add to-server netns far type veth peer name to-far netns server
sysctl -q net.ipv6.conf.all.forwarding=1
ip netns exec far sysctl -q net.ipv6.conf.all.forwarding=1 net.ipv4.ip_forward=1
ip addr add {ROUTER6}/64 dev eth1 nodad
ip addr add 2001:db8:d::1/64 dev to-far nodad
ip -n far addr add {FAR_END}/64 dev to-router nodad
ip -n far addr add 192.0.2.1/24 dev to-server
ip -n far addr add 2001:db8:f::1/64 dev to-server nodad
ip -n server addr add {flows.HOST}/24 dev to-far
ip -n server addr add {flows.HOST6}/64 dev to-far nodad
ip link set eth1 up
ip link set to-far up
ip -n far link set to-router up
ip -n far link set to-server up
ip -n server link set to-far up
ip -n far route add 2001:db8:c::/64 via 2001:db8:d::1
ip -n server route add default via 192.0.2.1
ip -n server route add default via 2001:db8:f::1
sysctl -q net.ipv6.conf.eth0.disable_ipv6=1
ip link set eth0 mtu 2000 up
"""
CPE = """
ip netns add {name}
ip link add link eth0 name s-{name} type vlan proto 802.1ad id {svlan}
sysctl -q net.ipv6.conf.s-{name}.disable_ipv6=1
ip link set s-{name} up
ip link add link s-{name} name wan netns {name} mtu 1500 type vlan proto 802.1Q id 7
ip -n {name} link set lo up
ip -n {name} link set wan up
ip -n {name} addr add {ipv4}/24 dev wan
ip -n {name} addr add {inner}/128 dev lo
ip -n {name} route add default via 10.64.0.1
mkdir -p /out/{name}
"""
FAR_TUNNEL = """
set -e
ip -n far link del {name} 2>/dev/null || :
ip -n far link add {name} type ip6gre local {far} remote {gateway} key {key} hoplimit 64 {more}
ip -n far link set {name} up
ip -n far route add {ipv4}/32 dev {name}
ip -n far route add {wan}/64 dev {name}
ip -n far route add {delegated}/56 dev {name}
"""
pytestmark = [pytest.mark.limit(600), pytest.mark.long]


class Bed:
    """All that runs."""

    def __init__(self, vbng, folder):
        self.guest, self.wrong = None, []
        silence()
        for port in PORTS:
            ip("tuntap", "add", f"gw-{port}", "mode", "tap")
            ip("link", "set", f"gw-{port}", "mtu", 2000, "up")
        config = folder / "core-router.cfg"
        config.write_text(CONFIGURATION)
        self.gateway = run.start(config, share_cpus=True, vbng=vbng)
        try:
            out = folder / "guest"
            out.mkdir()
            self.guest = inside.Guest(out, MODULES, NICS)
        except BaseException:
            self.close()
            raise

    def close(self):
        """Returns what became of the gateway."""
        if self.guest is not None:
            self.guest.stop()
        return self.gateway.stop()

    def within(self, name, words):
        """What a command in a namespace of the guest prints, whether it succeeds or not."""
        return self.guest.attempt(f"exec ip netns exec {name} {words}")[1]

    def check(self, what, found, expected):
        print(f"{what}: {found}")
        if found != expected:
            self.wrong.append(f"{what}: {found}, expected {expected}")

    def far_ends(self, words):
        """Make them again, with these words and each line's own."""
        for line in LINES:
            self.guest.do(FAR_TUNNEL.format(far=FAR_END, gateway=GATEWAY6, more=f"{words} {line.tunnel}", **vars(line)))

    def set_up(self):
        """All namespaces. Each CPE finds its own address of its link by router advertisements. Returns all addresses of each."""
        print(self.guest.do("uname -sr").strip())
        self.guest.do(CORE)
        self.far_ends(PLAIN)
        for line in LINES:
            self.guest.do(CPE.format(inner=line.inner, **vars(line)))
        self.guest.do(f"ip netns exec server {FLOWS} serve >/out/server 2>&1 </dev/null &\nuntil grep -q ready /out/server; do sleep 0.1; done")
        found = {}
        for line in LINES:
            until(f"{line.name} finds no address", lambda: self.of_link(line.name))
            found[line] = (line.ipv4, self.of_link(line.name), line.inner)
            self.check(f"{line.name}'s /64", found[line][1][: len(line.wan) - 1], line.wan[:-1])
        return found

    def of_link(self, name):
        """A CPE's address of IPv6 there, when it is no longer tentative and there is a way out; None before."""
        ways = json.loads(self.within(name, "ip -6 -j route show default") or "[]")
        links = json.loads(self.within(name, "ip -6 -j addr show dev wan scope global") or "[]")
        own = [a["local"] for link in links for a in link.get("addr_info", []) if "local" in a and not a.get("tentative")]
        return own[0] if own and ways else None

    def pings(self, name, source, to, patience=PATIENCE_S):
        """How many are answered. patience: seconds to wait for the last answer."""
        said = self.within(name, f"busybox ping -c {PINGS} -i 0.2 -W {patience} -I {source} {to}")
        found = re.search(r"(\d+) packets received", said)
        return int(found.group(1)) if found else said

    def count(self, line, way):
        """Packets that the far end of a line has sent or received, as its kernel counts them."""
        return json.loads(self.within("far", f"ip -s -j link show {line.name}"))[0]["stats64"][way]["packets"]


def server_of(source):
    """The server's address of the same family."""
    return flows.HOST6 if ":" in source else flows.HOST


def mtu_of(bed, name, source):
    """What a CPE knows of the way to the server."""
    route = json.loads(bed.within(name, f"ip {'-6 ' if ':' in source else ''}-j route get {server_of(source)} from {source}"))[0]
    return next((m["mtu"] for m in route.get("metrics", []) if "mtu" in m), None)


def forwards(bed, addresses):
    """Both families, both ways: pings from either end, and datagrams in a circle, of which none may be lost."""
    for line, own in addresses.items():
        for source in own:
            bed.check(f"{line.name}'s pings from {source}", bed.pings(line.name, source, server_of(source)), PINGS)
            bed.check(f"the server's pings to {source}", bed.pings("server", server_of(source), source), PINGS)
    circles = [Circle(bed.guest, line.name, own) for line, own in addresses.items()]
    for circle in circles:
        circle.begin()
    time.sleep(CIRCLE_S)
    for circle in circles:
        said, wrong = circle.cease()
        print(f"{circle.name}: {said}")
        bed.wrong += wrong


def carries(bed, addresses, mtu):
    """TCP of both ends, which finds the MTU of the path: the core's less the tunnel."""
    for line, own in addresses.items():
        for source in own:
            bed.check(f"TCP of {line.name} from {source}, {mtu} bytes in the core", bed.within(line.name, f"{FLOWS} carry {source} {CARRIED}").strip(),
                      json.dumps({"bytes": CARRIED, "same": True}))  # fmt: skip
            bed.check(f"{line.name}'s MTU from {source}", mtu_of(bed, line.name, source), mtu - TUNNEL)


def traced(bed):
    """The gateway is the first hop, the far end the second."""
    for command, to, first in TRACED:
        said = bed.within(LINES[0].name, f"busybox {command} -n -q 1 -w 2 -m 4 {to}")
        hops = re.findall(r"^ *\d+  (\S+)", said, re.M)
        bed.check(f"{command}'s hops", (hops[:1], hops[2:]), ([first], [to]))


def narrow(bed, addresses):
    """A part of the core that only the router in front of it knows to be narrow: it tells the gateway, which tells the CPE."""
    bed.guest.do(f"ip link set to-far mtu {NARROW} && ip -n far link set to-router mtu {NARROW}")
    carries(bed, addresses, NARROW)
    bed.guest.do(f"ip link set to-far mtu {MTU} && ip -n far link set to-router mtu {MTU}")


def limited(bed, addresses):
    """An encapsulation limit is a destination option before GRE: what the kernel sends so is dropped and counted, what comes to it is not. Returns how
    many packets it has sent."""
    bed.far_ends(LIMITED)
    for line, own in addresses.items():
        for source in own[:2]:
            bed.check(f"the server's pings to {source}, with an encapsulation limit", bed.pings("server", server_of(source), source, UNANSWERED_S), 0)
        before = bed.count(line, "rx")
        bed.check(f"{line.name}'s pings, with an encapsulation limit", bed.pings(line.name, line.ipv4, flows.HOST, UNANSWERED_S), 0)
        bed.check(f"{line.name}'s packets that its far end took", bed.count(line, "rx") - before, PINGS)
    sent = sum(bed.count(line, "tx") for line in LINES)
    bed.far_ends(PLAIN)
    for line in LINES:
        bed.check(f"{line.name}'s pings, without it again", bed.pings(line.name, line.ipv4, flows.HOST), PINGS)
    return sent


def test_the_kernel_ends_tunnels_over_ipv6(vbng, folder, kernel, own_network):
    """Keyed ip6gre, plain and with checksums and numbers: both families pass, both ways, from link and delegated prefixes; TCP finds the path's MTU, also
    where the core is narrower than configured; an encapsulation limit is outer_extension. The ledger balances."""
    bed = Bed(vbng, folder)
    try:
        addresses = bed.set_up()
        forwards(bed, addresses)
        carries(bed, addresses, MTU)
        traced(bed)
        narrow(bed, addresses)
        sent = limited(bed, addresses)
    except BaseException:
        print(bed.gateway.output(), bed.guest.text(), *bed.wrong)
        raise
    finally:
        result = bed.close()
    assert result.ok and result.report["ledger"]["balances"], result.error
    drops = {f"{t['name']}.{reason}": n for t in result.report["tasks"] for reason, n in t["drops"].items() if n}
    print("drops:", drops)
    bed.check("packets with an encapsulation limit", drops.pop("gre_down.outer_extension", 0), sent)
    bed.check("drops that nothing explains", {reason: n for reason, n in drops.items() if reason not in ALLOWED}, {})
    bed.check("narrow tunnels", run.tasks(result.report, "arp")[0]["stats"]["narrow_tunnels"], 1)
    nothing(bed.wrong)
