# SPDX-License-Identifier: BSD-3-Clause
"""Subscribers for real: CPEs in a guest with Debian's kernel, each on a VLAN pair of its own, behind vbng, vbng-cp and FreeRADIUS. One has ISC's dhclient, the
other pppd with the kernel's PPPoE, and dhcpcd for its prefix, as dhclient knows no PPP interfaces."""

import json
import re
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass

import pytest

from tests.common import need
from tests.common.limits import limit
from tests.common.verdict import nothing
from tests.radius.freeradius import radclient
from tests.vm import flows, inside
from tests.vm.circle import FLOWS, Circle, until
from vbnglab.lab.freeradius import FreeRadius, volumes
from vbnglab.lab.network import ip, silence
from vbnglab.sessions import gateway as lab

PROGRAMS = (("dhclient", "isc-dhcp-client"), ("dhcpcd", "dhcpcd-base"), ("pppd", "ppp"), ("freeradius", None), ("radclient", "freeradius-utils"))
MODULES = ("virtio_net", "af_packet", "8021q", "ppp_generic", "pppox", "pppoe")
MAC = "52:54:00:00:00:01"
NIC = ("-netdev", "tap,id=line,ifname=gw-line,script=no,downscript=no,vnet_hdr=off", "-device", f"virtio-net-pci,netdev=line,mac={MAC}")
PROFILES = {"slow": 2_000_000, "fast": 4_000_000}  # bit/s: what an emulated CPU can send more of
MORE = 1.5  # times the rate is sent
USERS = f"""
{MAC} Cleartext-Password := "{lab.PASSWORD}"
    Filter-Id = "slow"

alice Cleartext-Password := "secret"
    Filter-Id = "slow"
"""
FRAME = 22 + 4  # what the shaper counts beyond a packet: Ethernet with two tags, FCS
PPPOE = 8  # and downstream; upstream they are off before
HEADERS = {4: 20 + 8, 6: 40 + 8}  # of IP and UDP
SIZE, SECONDS = 1000, 8  # of a load
NEAR = 0.05  # how far the rate may be from the profile's
TURNS = 3  # the machine may be away in one
CONTROL = 4000  # octets: less than four packets of a load
UNCONTROLLED_S = 6  # with vbng-cp killed: twice as long as pppd bears without an answer
LINKS = """
set -e
ip link set eth0 mtu 2000 up
for cpe in dhclient:101 pppd:102; do
    name=${cpe%:*}
    ip netns add $name
    ip link add link eth0 name s-$name type vlan proto 802.1ad id ${cpe#*:}
    ip link set s-$name up
    ip link add link s-$name name wan netns $name mtu 1500 type vlan proto 802.1Q id 7
    ip -n $name link set lo up
    ip -n $name link set wan up
    mkdir -p /out/$name
done
"""
# Debian's script of dhclient puts a prefix nowhere.
DHCLIENT = """
set -e
mkdir -p /etc/dhcp/dhclient-exit-hooks.d
cat >/etc/dhcp/dhclient-exit-hooks.d/vbng <<'END'
echo "$reason" >>/out/dhclient/reasons
[ -z "$new_ip6_prefix" ] || ip addr replace "${new_ip6_prefix%/*}1/128" dev lo
END
ip netns exec dhclient dhclient -4 wan
ip netns exec dhclient dhclient -6 -N -P wan
"""
PPPD = """
set -e
echo '"alice" * "secret" *' >/etc/ppp/chap-secrets
chmod 600 /etc/ppp/chap-secrets
ip netns exec pppd setsid pppd plugin pppoe.so nic-wan user alice noauth refuse-pap +ipv6 defaultroute lcp-echo-interval 1 lcp-echo-failure 3 \
    debug nodetach linkname cpe logfile /out/pppd/log </dev/null >/dev/null 2>&1 &
until ip -n pppd -6 addr show dev ppp0 | grep -q 'fe80.*peer'; do sleep 0.2; done
cat >/etc/dhcpcd-cpe.conf <<'END'
duid
noipv6rs
interface ppp0
  ipv6rs
  iaid 1
  ia_pd 1/::/56 lo/0/64/1
END
ip netns exec pppd setsid dhcpcd -6 -B -d -f /etc/dhcpcd-cpe.conf ppp0 </dev/null >/out/pppd/dhcpcd 2>&1 &
"""
pytestmark = [pytest.mark.limit(600), pytest.mark.long]


@dataclass
class Cpe:
    """One of the guest's; name: of its network namespace."""

    guest: inside.Guest
    name: str
    line: str
    user: str
    wan: str
    beyond: int  # bytes that the shaper counts of a packet downstream beyond FRAME
    ipv4: str = ""
    ipv6: str = ""  # of the delegated prefix

    def path(self, name):
        return self.guest.folder / self.name / name

    def run(self, words, seconds=60):
        """A command in its namespace."""
        return self.guest.do(f"exec ip netns exec {self.name} {words}", seconds)

    def has_addresses(self):
        """Whether it has both addresses, and a way to the core for each."""
        if "default" not in self.run("ip -6 route"):
            return False
        for link in json.loads(self.run("ip -j addr")):
            for a in link["addr_info"]:
                if (link["ifname"], a["family"]) == (self.wan, "inet"):
                    self.ipv4 = a["local"]
                elif (link["ifname"], a["family"], a["scope"]) == ("lo", "inet6", "global"):
                    self.ipv6 = a["local"]
        return bool(self.ipv4 and self.ipv6)

    def load(self, rate, direction, source):
        """A load of MORE than a rate: words for the guest, and a function of what these print, the share of the rate that arrived in the median second."""
        headers = HEADERS[6 if ":" in source else 4]
        frame = SIZE + headers + FRAME + (self.beyond if direction == "down" else 0)
        words = f"{FLOWS} {direction} {source} {MORE * rate / 8 * SIZE / frame} {SIZE} {SECONDS}"
        return words, lambda counts: statistics.median(counts or [0]) * frame * 8 / rate

    def circle(self):
        """Of datagrams from both of its addresses."""
        return Circle(self.guest, self.name, (self.ipv4, self.ipv6))


class Bed:
    """All that runs."""

    def __init__(self, vbng, folder):
        self.guest = self.gateway = self.host = None
        self.wrong = []
        silence()
        ip("tuntap", "add", "gw-line", "mode", "tap")
        ip("link", "set", "gw-line", "mtu", 2000, "up")
        lab.make_core()
        self.server = FreeRadius(folder / "radius", USERS, lab.SECRET, lab.AUTHENTICATION, lab.ACCOUNTING)
        self.gateway = lab.Gateway(str(folder), 16, True, vbng=vbng, profiles=lab.PROFILES | PROFILES)
        try:
            self.start(folder)
        except BaseException:
            self.close()
            raise

    def start(self, folder):
        self.server.start()
        self.gateway.ready()
        self.server.ready(limit(20))
        self.host = subprocess.Popen([sys.executable, flows.__file__, "serve"], stdout=subprocess.PIPE)
        assert self.host.stdout.readline() == b"ready\n"
        out = folder / "guest"
        out.mkdir()
        self.guest = inside.Guest(out, MODULES, NIC)
        self.cpes = [Cpe(self.guest, "dhclient", "line 101.7", MAC, "wan", 0), Cpe(self.guest, "pppd", "line 102.7", "alice", "ppp0", PPPOE)]

    def close(self):
        """Returns the report of vbng."""
        for process in (self.guest, self.server):
            if process is not None:
                process.stop()
        if self.host is not None:
            self.host.kill()
            self.host.wait()
            self.host.stdout.close()
        return self.gateway.stop()

    def sessions(self):
        """Of vbng-cp, by their lines: all that does not depend on the time."""
        kept = ("state", "kind", "mac", "ipv4", "delegated", "profile", "session", "user")
        return {f"{s['port']} {s['svlan']}.{s['cvlan']}": {key: s[key] for key in kept} for s in self.gateway.sessions()}

    def records(self, kind):
        """That FreeRADIUS has been told."""
        return [r for r in self.server.records() if r["Acct-Status-Type"] == kind]

    def negotiations(self):
        """All that pppd has said and heard but echoes, and what dhclient has told its script."""
        ipoe, ppp = self.cpes
        return [line for line in ppp.path("log").read_text().splitlines() if "[LCP Echo" not in line], ipoe.path("reasons").read_text()

    def shares(self, rate):
        """What loads of both CPEs get of a rate at the same time, one way and then the other."""
        for ways in ("down", "up"), ("up", "down"):
            for turn in range(TURNS):
                loads = [cpe.load(rate, way, cpe.ipv4 if way == "down" else cpe.ipv6) for cpe, way in zip(self.cpes, ways)]
                self.guest.do("\n".join(f"ip netns exec {cpe.name} {words} >/out/{cpe.name}/load &" for cpe, (words, _) in zip(self.cpes, loads)) + "\nwait")
                shares = [share(json.loads(cpe.path("load").read_text())) for cpe, (_, share) in zip(self.cpes, loads)]
                if all(abs(share - 1) <= NEAR for share in shares):
                    break
            for cpe, way, share in zip(self.cpes, ways, shares):
                print(f"{cpe.name}, {rate / 1e6:g} Mbit/s, {way}: {share:.3f} of it, turn {turn + 1}")
                if abs(share - 1) > NEAR:
                    self.wrong.append(f"{cpe.name}, {way}: {share:.3f} of {rate / 1e6:g} Mbit/s")

    def under_load(self, what, happens):
        """Nothing may be lost while something happens."""
        circles = [cpe.circle() for cpe in self.cpes]
        for circle in circles:
            circle.begin()
        happens()
        time.sleep(2)
        for circle in circles:
            said, wrong = circle.cease()
            print(f"{circle.name}, {what}: {said}")
            self.wrong += [f"{what}: {w}" for w in wrong]


def change(cpe):
    """The CPE's profile, by a CoA-Request."""
    said = radclient(lab.CHANGES, "coa", {"Event-Timestamp": int(time.time()), "User-Name": f'"{cpe.user}"', "Filter-Id": '"fast"'}, lab.SECRET)
    assert "Received CoA-ACK" in said, said


def come_up(bed):
    """Both have what RADIUS and vbng-cp say."""
    print(bed.guest.do("uname -sr").strip())
    bed.guest.do(LINKS)
    begun = time.monotonic()
    bed.guest.do(DHCLIENT)
    bed.guest.do(PPPD)
    for cpe in bed.cpes:
        until(f"{cpe.name} gets not all addresses", cpe.has_addresses)
        print(f"{cpe.name}: {cpe.ipv4} {cpe.ipv6}")
    print(f"both have all addresses after {time.monotonic() - begun:.1f} s")
    sessions = bed.sessions()
    for cpe in bed.cpes:
        s = sessions[cpe.line]
        told = (s["state"], s["ipv4"], s["delegated"].replace("::/56", "::1"), s["profile"], s["user"])
        assert told == ("up", cpe.ipv4, cpe.ipv6, "slow", cpe.user), s


def outlive(bed):
    """Nobody notices that vbng-cp is killed."""
    gateway, sessions, said = bed.gateway, bed.sessions(), bed.negotiations()

    def kill():
        gateway.cp.kill()
        gateway.cp.wait()
        time.sleep(UNCONTROLLED_S)
        gateway.ready()

    bed.under_load("vbng-cp killed and started", kill)
    assert bed.sessions() == sessions, bed.sessions()
    for words in ("2 sessions taken from the store", "compared with vbng: 0 subscribers to remove, 0 to put"):
        assert words in gateway.said(), gateway.said()
    assert bed.negotiations() == said


def leave(bed):
    """Both do; RADIUS is told why, and the octets that pppd has counted, but for those of its control protocols and of IPv6 before there was a prefix."""
    ipoe, ppp = bed.cpes
    ipoe.run("dhclient -6 -N -P -r wan")
    ipoe.run("dhclient -4 -r wan")  # behind it Debian's script takes the link down
    bed.guest.do("kill $(head -1 /run/ppp-cpe.pid)")
    until("the sessions do not end", lambda: not bed.sessions())
    until("FreeRADIUS is not told", lambda: len(bed.records("Stop")) == 2)
    assert len(bed.records("Start")) == 2 and {r["Acct-Terminate-Cause"] for r in bed.records("Stop")} == {"User-Request"}, bed.server.records()
    until("pppd does not end", lambda: "bytes, received" in ppp.path("log").read_text())
    counted = map(int, re.search(r"Sent (\d+) bytes, received (\d+) bytes", ppp.path("log").read_text()).groups())
    told = volumes([r for r in bed.records("Stop") if r["User-Name"] == ppp.user])
    for way, own in zip(("up", "down"), counted):
        print(f"octets {way}: {own} by pppd, {told[way]} by RADIUS")
        if not 0 <= own - told[way] <= CONTROL:
            bed.wrong.append(f"{way}: pppd counts {own} octets, RADIUS was told of {told[way]}")


def test_two_cpes_of_the_kernel(vbng, build, folder, kernel, own_network, monkeypatch):
    """Both get IPv4, IPv6 and a prefix, and reach the core; are shaped as RADIUS says; are changed by CoA, and outlive a kill of vbng-cp, without a datagram
    lost or a word of negotiation; and leave, with their octets told to RADIUS. The ledger balances."""
    for name, package in PROGRAMS:
        need.program(name, package)
    monkeypatch.setenv("VBNG_CP", str(build / "src/cp/vbng-cp"))
    bed = Bed(vbng, folder)
    try:
        come_up(bed)
        bed.shares(PROFILES["slow"])
        bed.under_load("changed by CoA", lambda: [change(cpe) for cpe in bed.cpes])
        assert {s["profile"] for s in bed.sessions().values()} == {"fast"}
        bed.shares(PROFILES["fast"])
        outlive(bed)
        leave(bed)
    except BaseException:
        print(bed.gateway.said(), bed.guest.text(), *bed.wrong)
        for cpe in bed.cpes:
            for path in sorted(cpe.path("").iterdir()):
                print(f"--- {cpe.name}/{path.name}\n{path.read_text(errors='replace')[-3000:]}")
        raise
    finally:
        result = bed.close()
    assert result.ok and result.report["ledger"]["balances"], result.error
    print("drops:", *(f"{t['name']}.{reason} {n}" for t in result.report["tasks"] for reason, n in t["drops"].items() if n))
    nothing(bed.wrong)
