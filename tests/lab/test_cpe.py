# SPDX-License-Identifier: BSD-3-Clause
"""vbng-lab cpe: what its CPEs say and understand, against Scapy; and what it tells of gateways that do wrong, or nothing."""

import hashlib
import json
import pathlib
import socket
import subprocess

import pytest

from tests.common import need
from vbnglab.cpe import packets
from vbnglab.cpe.load import Load, cpes
from vbnglab.cpe.outcome import outcome, percentile, text, time_text
from vbnglab.cpe.pings import Pings

LAB = pathlib.Path(__file__).resolve().parent.parent.parent / "tools" / "vbng-lab"
GATEWAY = "02:b0:00:00:00:00"
SERVER = "10.64.0.1"


class Line:
    """In the place of an interface: what was sent, and what is to come."""

    def __init__(self):
        self.sent, self.coming = [], []

    def send(self, frame):
        self.sent.append(frame)

    def receive(self, _seconds):
        found, self.coming = self.coming, []
        return found

    def take(self):
        """What was sent since."""
        found, self.sent = self.sent, []
        return found


@pytest.fixture
def line():
    return Line()


@pytest.fixture(scope="module")
def scapy():
    """Scapy's layers, by name."""
    need.module("scapy", "python3-scapy")
    from scapy.layers import dhcp, dhcp6, inet, inet6, l2, ppp

    return {name: getattr(m, name) for m in (dhcp, dhcp6, inet, inet6, l2, ppp) for name in dir(m)}


def tagged(s, cpe, layers, to=None):
    """A frame from the gateway on a CPE's line."""
    svlan, cvlan = (int(n) for n in cpe.line.split("."))
    return bytes(s["Ether"](src=GATEWAY, dst=to or cpe.mac.hex(":"), type=0x88A8) / s["Dot1Q"](vlan=svlan) / s["Dot1Q"](vlan=cvlan) / layers)


def dhcp4(s, cpe, kind, address="10.64.0.2", xid=None, **more):
    """An answer of DHCPv4."""
    return tagged(s, cpe, s["IP"](src=SERVER, dst=address) / s["UDP"](sport=67, dport=68) / s["BOOTP"](
        op=2, xid=cpe.number if xid is None else xid, yiaddr=address, chaddr=cpe.mac) / s["DHCP"](
        options=[("message-type", kind), ("server_id", SERVER), "end"]), **more)


def dhcp6(s, cpe, kind, link="2001:db8::", prefix="2001:db9::", host="1"):
    """An answer of DHCPv6; without addresses where link is None."""
    ias = s["DHCP6OptIA_NA"](iaid=1, ianaopts=[s["DHCP6OptIAAddress"](addr=link + host)] if link else []) / s["DHCP6OptIA_PD"](
        iaid=1, iapdopt=[s["DHCP6OptIAPrefix"](prefix=prefix, plen=56)])
    return tagged(s, cpe, s["IPv6"](src="fe80::1", dst="fe80::2") / s["UDP"](sport=547, dport=546) / kind(trid=cpe.number)
                  / s["DHCP6OptServerId"](duid=s["DUID_LL"](lladdr=GATEWAY)) / ias)


def seen(s, frame, layer):
    """A layer of a frame that a CPE has sent, whose checksums must be right."""
    read = s["Ether"](frame)
    again, names = read.copy(), {"IP": "chksum", "UDP": "chksum", "ICMP": "chksum", "ICMPv6EchoRequest": "cksum"}
    for name, field in names.items():
        if s[name] in again and getattr(again[s[name]], field) != 0:  # one of UDP may be missing
            again[s[name]].delfieldval(field)
    assert bytes(again) == frame
    return read[layer]


def up4(s, line, load, cpe, address):
    """Have a CPE get an address."""
    line.coming = [dhcp4(s, cpe, "offer", address)]
    load.step()
    line.coming = [dhcp4(s, cpe, "ack", address)]
    load.step()


def test_dhcpv4(scapy, line):
    """DISCOVER, REQUEST for what was offered to the server that offered it, and RELEASE of it."""
    cpe, = cpes(1, "ipoe", svlan=7)
    load = Load(line, [cpe], 1)
    load.step()
    asked = scapy["Ether"](line.take()[0])
    assert asked.dst == "ff:ff:ff:ff:ff:ff" and asked.src == "02:00:00:07:00:01" and asked.type == 0x88A8
    discover = seen(scapy, bytes(asked), scapy["DHCP"]).options
    assert dict(o for o in discover if isinstance(o, tuple) and len(o) == 2)["message-type"] == 1
    line.coming = [dhcp4(scapy, cpe, "offer", "10.64.0.9")]
    load.step()
    request = dict(o for o in seen(scapy, line.take()[0], scapy["DHCP"]).options if isinstance(o, tuple) and len(o) == 2)
    assert (request["message-type"], request["requested_addr"], request["server_id"]) == (3, "10.64.0.9", SERVER)
    assert load.up == 0 and cpe.state == "waits for ACK"
    line.coming = [dhcp4(scapy, cpe, "ack", "10.64.0.9", to="ff:ff:ff:ff:ff:ff")]
    load.step()
    assert load.done and load.up == 1 and cpe.state == "up" and not line.take()
    release = seen(scapy, cpe.protocols[0].end()[0], scapy["IP"])
    assert (release.src, release.dst, release[scapy["BOOTP"]].ciaddr) == ("10.64.0.9", SERVER, "10.64.0.9")
    assert cpe.sent == {4: release.len, 6: 0}


def test_dhcpv6(scapy, line):
    """Behind the address of IPv4: SOLICIT and REQUEST for an address and a prefix, RELEASE with both."""
    cpe, = cpes(1, "dual")
    load = Load(line, [cpe], 1)
    load.step()
    up4(scapy, line, load, cpe, "10.64.0.2")
    assert load.up == 0 and cpe.state == "waits for ADVERTISE"
    solicit = seen(scapy, line.take()[-1], scapy["DHCP6_Solicit"])
    assert solicit[scapy["DHCP6OptClientId"]].duid.lladdr == cpe.mac.hex(":") and solicit.haslayer(scapy["DHCP6OptIA_NA"])
    line.coming = [dhcp6(scapy, cpe, scapy["DHCP6_Advertise"])]
    load.step()
    request = seen(scapy, line.take()[0], scapy["DHCP6_Request"])
    assert request[scapy["DHCP6OptServerId"]].duid.lladdr == GATEWAY
    line.coming = [dhcp6(scapy, cpe, scapy["DHCP6_Reply"])]
    load.step()
    assert load.up == 1 and {name: len(took) for name, took in load.took.items()} == {"IPv4": 1, "IPv6": 1}
    assert cpe.source(6)[1] == socket.inet_pton(socket.AF_INET6, "2001:db8::1")
    release = seen(scapy, cpe.protocols[1].end()[0], scapy["DHCP6_Release"])
    assert release[scapy["DHCP6OptIAAddress"]].addr == "2001:db8::1" and release[scapy["DHCP6OptIAPrefix"]].prefix == "2001:db9::"


class Concentrator:
    """The other end of PPPoE: what Scapy makes of what it is told, and reads of what the CPE says."""

    def __init__(self, s, line, load, cpe):
        self.s, self.line, self.load, self.cpe = s, line, load, cpe

    def heard(self):
        """[Scapy's reading of what the CPE has said since, from the PPPoE header on]."""
        return [self.s["PPPoED" if f[20:22] == b"\x88\x63" else "PPPoE"](f[22:]) for f in self.line.take()]

    def tell(self, *frames):
        self.line.coming = [tagged(self.s, self.cpe, f) for f in frames]
        self.load.step()
        return self.heard()

    def discover(self, code, session=0, cookie=b"cookie", unique=None):
        unique = self.cpe.number.to_bytes(4, "big") if unique is None else unique
        tags = [self.s["PPPoETag"](tag_type=0x0103, tag_value=unique), self.s["PPPoETag"](tag_type=0x0104, tag_value=cookie)]
        return self.tell(self.s["PPPoED"](code=code, sessionid=session) / self.s["PPPoED_Tags"](tag_list=tags))

    def ppp(self, protocol, code, number, data=b"", session=7):
        """A packet in the session, padded as on a line; Scapy itself writes small protocol numbers in a byte."""
        packet = protocol.to_bytes(2, "big") + bytes((code, number)) + (4 + len(data)).to_bytes(2, "big") + data
        return self.s["PPPoE"](sessionid=session, len=len(packet)) / packet / bytes(20)

    def say(self, *words, **more):
        """What the CPE answers to that: (protocol, code, number, data) of each."""
        return [self.parts(h) for h in self.tell(self.ppp(*words, **more))]

    @staticmethod
    def parts(heard):
        raw = bytes(heard.payload)[:heard.len]
        assert heard.sessionid == 7 and (raw[0] < 0x80 or int.from_bytes(raw[4:6], "big") == len(raw) - 2)
        return int.from_bytes(raw[:2], "big"), raw[2], raw[3], raw[6:]

    def link(self, method):
        """Until the authentication. Returns what the CPE says in it."""
        self.load.step()
        padi, = self.heard()
        assert padi.code == 9 and padi.sessionid == 0
        padr, = self.discover(7)
        assert padr.code == 0x19 and b"cookie" in bytes(padr)
        asked, = self.discover(0x65, 7)
        lcp, code, number, data = self.parts(asked)
        assert (lcp, code, data[:4]) == (0xC021, 1, b"\1\4\x05\xd4")
        wanted = b"\1\4\x05\xd4\3" + bytes((2 + len(method),)) + method
        assert self.say(0xC021, 1, 9, wanted) == [(0xC021, 2, 9, wanted)]
        return self.say(0xC021, 2, number, data)

    def network(self, *ours):
        """Each (protocol, number, options) that the CPE asks for is acknowledged, and it acknowledges ours. Returns what it says last."""
        for protocol, number, data in ours:
            wanted = b"\3\6\x0a\x40\0\1" if protocol == 0x8021 else b"\1\x0a" + bytes(7) + b"\1"
            assert self.say(protocol, 1, 1, wanted) == [(protocol, 2, 1, wanted)]
            last = self.say(protocol, 2, number, data)
        return last


def test_pppoe_with_chap(scapy, line):
    """RFC 2516, 1661, 1994 and 1332 in their order: an address, echoes, and an end."""
    cpe, = cpes(1, "pppoe", user="alice", password="secret")
    ac = Concentrator(scapy, line, Load(line, [cpe], 1, again=60), cpe)
    assert ac.link(b"\xc2\x23\5") == [] and cpe.state == "waits for authentication"
    proof = hashlib.md5(b"\x11secret0123456789abcdef").digest()
    assert ac.say(0xC223, 1, 17, b"\x100123456789abcdefbng1") == [(0xC223, 2, 17, b"\x10" + proof + b"alice")]
    (ipcp, code, number, data), = ac.say(0xC223, 3, 17, b"welcome")
    assert (ipcp, code, data) == (0x8021, 1, b"\3\6\0\0\0\0")
    assert ac.say(0x8021, 3, number - 1, b"\3\6\x0a\x40\0\x08") == [], "an answer to another request"
    (_, code, number, data), = ac.say(0x8021, 3, number, b"\3\6\x0a\x40\0\x09")
    assert (code, data) == (1, b"\3\6\x0a\x40\0\x09") and ac.load.up == 0
    assert ac.network((0x8021, number, data)) == [] and ac.load.up == 1 and cpe.source(4)[1] == bytes((10, 64, 0, 9))
    (_, code, number, data), = ac.say(0xC021, 9, 5, b"\1\2\3\4data")
    assert (code, number, data[4:]) == (10, 5, b"data")
    assert ac.say(0xC021, 9, 5, bytes(4), session=8) == [], "another session's"
    assert ac.say(0x8057, 1, 1, b"")[0][:2] == (0xC021, 8), "who has no IPv6 rejects it"
    padt, = [scapy["Ether"](f)[scapy["PPPoED"]] for f in cpe.protocols[0].end()]
    assert (padt.code, padt.sessionid) == (0xA7, 7)
    assert ac.say(0xC021, 5, 6)[0][:3] == (0xC021, 6, 6) and cpe.state == "ended by the gateway" and not ac.load.wrong


def test_pppoe_with_pap_and_ipv6(scapy, line):
    """RFC 1334, 5072, and DHCPv6 in the session; pings are in it, too."""
    cpe, = cpes(1, "pppoe-dual")
    ac = Concentrator(scapy, line, Load(line, [cpe], 1, again=60), cpe)
    mac = cpe.mac.hex(":").encode()
    assert [p[:2] + p[3:] for p in ac.link(b"\xc0\x23")] == [(0xC023, 1, b"\x11" + mac + b"\4vbng")]
    four, six = ac.say(0xC023, 2, 2, b"\0")
    assert (four[0], six[0], six[3]) == (0x8021, 0x8057, b"\1\x0a\2\0" + cpe.mac)
    (_, _, number, data), = ac.say(0x8021, 3, four[2], b"\3\6\x0a\x40\0\2")
    solicit, = ac.network((0x8021, number, data), (0x8057, six[2], six[3]))
    assert cpe.state == "waits for ADVERTISE" and solicit[0] == 0x0057
    for kind, states in (("DHCP6_Advertise", "waits for REPLY"), ("DHCP6_Reply", "up")):
        packet = bytes(scapy["Ether"](dhcp6(scapy, cpe, scapy[kind]))[scapy["IPv6"]])
        line.coming = [tagged(scapy, cpe, scapy["PPPoE"](sessionid=7, len=2 + len(packet)) / (b"\0\x57" + packet))]
        ac.load.step()
        assert cpe.state == states
    line.take()
    for version, protocol in ((4, b"\0\x21"), (6, b"\0\x57")):
        holder, address = cpe.source(version)
        ping = packets.echo(address, bytes(4 if version == 4 else 16), 1, 1, b"data")
        raw = bytes(scapy["Ether"](holder.wrap(ping))[scapy["PPPoE"]].payload)
        assert raw == protocol + ping
        assert cpe.inside(0x8864, b"\x11\0\0\7" + (2 + len(ping)).to_bytes(2, "big") + protocol + ping + bytes(9))[1] == ping


@pytest.mark.parametrize("words", [(0xC223, 4, 1, b"no"), (0xC021, 5, 1), (0xC021, 8, 1, b"\x80\x21")], ids=["rejected", "ended", "protocol"])
def test_pppoe_refused(words, scapy, line):
    cpe, = cpes(1, "pppoe")
    ac = Concentrator(scapy, line, Load(line, [cpe], 1, again=60), cpe)
    ac.link(b"\xc2\x23\5")
    ac.say(*words)
    assert cpe.state == "refused"
    assert not ac.load.wrong
    ac.discover(7, unique=b"other")
    assert ac.load.wrong == ["an answer for another client is on line 1.1"]


def test_a_window_asks_at_a_time(scapy, line):
    """The next asks when one is up; who hears nothing begins anew."""
    load = Load(line, cpes(3, "ipoe"), 2, again=0.05)
    load.step()
    assert len(line.take()) == 2 and load.states() == {"waits for OFFER": 2, "not begun": 1}
    up4(scapy, line, load, load.cpes[0], "10.64.0.2")
    load.step()
    assert load.states() == {"waits for OFFER": 2, "up": 1}
    line.take()
    anew, waiting = set(), {load.cpes[1].number, load.cpes[2].number}
    while load.again < 2 or not anew >= waiting:
        load.step()
        anew |= {scapy["Ether"](f)[scapy["BOOTP"]].xid for f in line.take()}
    assert anew == waiting
    load.cease()
    load.step()
    assert not line.take()


def test_who_is_refused_begins_anew(scapy, line):
    """After a NAK, and where there is no address of IPv6."""
    load = Load(line, cpes(2, "ipoe"), 2, again=60)
    load.step()
    line.coming = [dhcp4(scapy, load.cpes[0], "offer"), dhcp4(scapy, load.cpes[0], "nak")]
    load.step()
    assert load.states() == {"refused": 1, "waits for OFFER": 1} and not load.wrong
    six = Load(line, cpes(1, "ipv6"), 1)
    six.step()
    line.coming = [dhcp6(scapy, six.cpes[0], scapy["DHCP6_Advertise"], link=None)]
    six.step()
    assert six.states() == {"refused": 1}


@pytest.mark.parametrize("fault, says", [
    (lambda s, a, b: [dhcp4(s, a, "offer"), dhcp4(s, a, "ack"), dhcp4(s, b, "offer"), dhcp4(s, b, "ack")], "10.64.0.2 was told to 1.2 and 1.1"),
    (lambda s, a, b: [dhcp4(s, a, "offer", xid=b.number)], "an answer for another client is on line 1.1"),
    (lambda s, a, b: [dhcp4(s, a, "offer", to=b.mac.hex(":"))], "a frame for 02:00:00:01:00:02 is on line 1.1"),
], ids=["twice", "transaction", "line"])  # fmt: skip
def test_wrong(fault, says, scapy, line):
    """What a gateway must not do ends the load."""
    load = Load(line, cpes(2, "ipoe"), 2)
    load.step()
    line.coming = fault(scapy, *load.cpes)
    load.step()
    assert load.wrong == [says] and load.done


@pytest.mark.parametrize("shares_link, host, says", [(False, "2", "2001:db8:: was told to 1.2 and 1.1"), (True, "2", ""), (True, "1", "2001:db8::1 was told to 1.2 and 1.1")],
                         ids=["own-link", "shared-link", "address"])
def test_addresses_of_a_link(shares_link, host, says, scapy, line):
    """Two CPEs have the same /64 only where they may share it, and then not the same address."""
    load = Load(line, cpes(2, "ipv6", shares_link=shares_link), 2)
    load.step()
    for cpe, last, prefix in zip(load.cpes, ("1", host), ("2001:db9::", "2001:db9:0:100::")):
        for message in ("Advertise", "Reply"):
            line.coming = [dhcp6(scapy, cpe, scapy[f"DHCP6_{message}"], host=last, prefix=prefix)]
            load.step()
    assert load.wrong == ([says] if says else []) and load.up == 2


@pytest.mark.parametrize("payload", [b"", b"\x45", bytes(20), b"\x45" + bytes(300), b"\x60" + bytes(60), b"\xff" * 400],
                         ids=["empty", "short", "zeros", "IPv4", "IPv6", "ones"])
def test_what_is_no_answer(payload, scapy, line):
    """Garbage changes nothing."""
    load = Load(line, cpes(2, "dual"), 2)
    load.step()
    cpe = load.cpes[0]
    for kind in (b"\x08\x00", b"\x86\xdd", b"\x88\x64"):
        line.coming = [cpe.mac + bytes(6) + cpe.tags + kind + payload, payload]
        load.step()
    whole = dhcp4(scapy, load.cpes[1], "offer")
    line.coming = [whole[:n] for n in range(len(whole) - 60)]
    load.step()
    assert load.states() == {"waits for OFFER": 2} and not load.wrong
    load = Load(line, cpes(2, "pppoe-dual"), 2)
    load.step()
    cpe = load.cpes[0]
    cpe.protocols[0].id = cpe.session = 7
    for kind in (b"\x88\x63", b"\x88\x64", b"\x86\xdd"):
        line.coming = [cpe.mac + bytes(6) + cpe.tags + kind + b"\x11\0\0\7" + n.to_bytes(2, "big") + payload for n in (0, 4, 30, 60, 65535)]
        load.step()
    assert load.states() == {"waits for PADO": 2} and not load.wrong


def test_pings(scapy, line):
    """Of both families; one that is not answered is lost, and the next follows. Only what is for the CPE's address counts as received."""
    cpe, = cpes(1, "dual")
    load = Load(line, [cpe], 4)
    load.step()
    up4(scapy, line, load, cpe, "10.64.0.2")
    for kind in ("DHCP6_Advertise", "DHCP6_Reply"):
        line.coming = [dhcp6(scapy, cpe, scapy[kind])]
        load.step()
    line.take()
    pings = Pings(load, ["192.0.2.2", "2001:db8:f::2"], 2)

    def answer(_seconds):
        found = []
        for frame in line.take():
            read = scapy["Ether"](frame)
            if "IPv6" in read:
                seen(scapy, frame, scapy["ICMPv6EchoRequest"])
                ip, echo = read[scapy["IPv6"]], read[scapy["ICMPv6EchoRequest"]]
                found.append(tagged(scapy, cpe, scapy["IPv6"](src=ip.dst, dst=ip.src) / scapy["ICMPv6EchoReply"](id=echo.id, seq=echo.seq, data=echo.data)))
                found.append(tagged(scapy, cpe, scapy["IPv6"](src=ip.dst, dst="ff02::1") / scapy["ICMPv6EchoReply"](id=1)))
            elif read[scapy["ICMP"]].seq == 2:
                seen(scapy, frame, scapy["ICMP"])
                ip, echo = read[scapy["IP"]], read[scapy["ICMP"]]
                found.append(tagged(scapy, cpe, scapy["IP"](src=ip.dst, dst=ip.src) / scapy["ICMP"](type=0, id=echo.id, seq=echo.seq) / bytes(echo.payload)))
        return found

    line.receive = answer
    pings.run(float("inf"))
    assert (pings.sent, pings.answered, pings.lost) == (4, 3, 1)
    assert cpe.sent == {4: 2 * 84, 6: 2 * 104} and cpe.received == {4: 84, 6: 2 * 104}
    found = outcome(load, pings)
    assert found["octets"] == {"sent": {"IPv4": 168, "IPv6": 208}, "received": {"IPv4": 84, "IPv6": 208}}
    assert "pings: 4 sent, 3 answered, 1 lost" in list(text(found)) and json.dumps(found)


def test_figures():
    ordered = list(range(1, 101))
    assert [percentile(ordered, p) for p in (50, 95, 99, 100)] == [50, 95, 99, 100] and percentile([7], 50) == 7
    assert [time_text(s) for s in (0.0000421, 0.0421, 4.21, 4210)] == ["42.1 us", "42.1 ms", "4.21 s", "4210 s"]
    assert packets.checksum(bytes.fromhex("4500003044224000800600008c7c19acae241e2b")) == 0x442E  # the example of many books


def test_nobody_answers(run, own_network):
    """It ends in its time, with the states that the CPEs are left in; also where there is no such interface."""
    for words in ("link add gw-line type veth peer name far-line", "link set gw-line up", "link set far-line up"):
        subprocess.run(["ip", *words.split()], check=True)
    done = run(LAB, "cpe", "far-line", "--lines", "5", "--window", "3", "--seconds", "0.3", "--again", "0.1", "--json", "--quiet")
    found = json.loads(done.stdout)
    assert done.returncode == 1 and found["states"] == {"waits for OFFER": 3, "not begun": 2} and found["up"] == 0, done.stderr
    assert found["asked_again"] >= 3 and found["latency"] == {}
    done = run(LAB, "cpe", "nowhere")
    assert done.returncode == 1 and done.stderr == "vbng-lab cpe: nowhere: No such device\n"
