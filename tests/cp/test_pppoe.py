# SPDX-License-Identifier: BSD-3-Clause
"""Sessions of PPPoE: a CPE made with Scapy dials in, and nothing of a stranger does harm. Beside a user plane of ours."""

import contextlib
import json
import os
import socket
import sqlite3
import subprocess
import sys
import types

import pytest

from tests.common.limits import limit
from tests.cp.client import Client, PORT_MAC
from tests.cp.client6 import Client6, DHCP6_Solicit, with_ipv6
from tests.cp.cpe import (AC_NAME, ACK, CHAP, CODE_REJECT, COOKIE, ECHO, HOST_UNIQ, IPCP, IPV6CP, LCP, MAX_PAYLOAD, NAK, PADI, PADO, PADR, PADS, PADT, PAP,
                          PROTOCOL_REJECT, RELAY, REQUEST, SERVICE, SERVICE_ERROR, TERMINATE, TERMINATED, Cpe, option, options, packet)
from tests.cp.userplane import DISCOVERY, PPP, split

PPPOE = """pppoe = { ac_name = "bng1"; SERVICES authentication = [METHODS]; MORE
    users = ( { name = "alice"; password = "secret"; }, { name = "bob"; password = "other"; } ); };"""


def section(services="", methods='"chap", "pap"', more=""):
    return PPPOE.replace("SERVICES", services).replace("METHODS", methods).replace("MORE", more)


@pytest.fixture
def cp(control_plane):
    return control_plane(EXTRA=section())


def row(cp, cpe):
    return cp.up.rows.get(cpe.line)


def ended(cp, cpe, why):
    """Its session has ended for a reason, and the user plane has forgotten it."""
    cp.until(lambda: f"{cpe.mac}: ends, {cpe.address}: {why}\n" in cp.text() and not row(cp, cpe))


@pytest.mark.parametrize("methods", [(CHAP,), (PAP,)], ids=["chap", "pap"])
def test_dials_in(cp, methods):
    cpe = Cpe(cp, 1, methods=methods)
    assert cpe.dial().startswith("10.64.0.")
    assert (cpe.dns, cpe.gateway, cpe.their_mru) == (["192.0.2.53", "192.0.2.54"], "10.64.0.1", 1492)
    pppoe = {"session": cpe.session, "mac": cpe.mac, "mtu": 1492, "magic": cpe.their_magic}
    assert row(cp, cpe) == {"port": "cpe0", "svlan": 100, "cvlan": 2, "name": "pppoe cpe0 100.2", "ipv4": cpe.address, "pppoe": pppoe,
                            "profile": "home-50M"}
    assert cpe.echoes()
    assert f"{cpe.mac}: up, {cpe.address}\n" in cp.text()


def test_told_when_it_is_forwarded(cp):
    """When the user plane is asked for the subscriber, his Configure-Request has not been acknowledged, and the store has him."""
    cpe, early = Cpe(cp, 1), []

    def put(_):
        with contextlib.suppress(BlockingIOError):
            while data := cp.up.punt.recv(4096, socket.MSG_DONTWAIT):
                cp.up.frames.put(split(data))
        early.extend(frame[20:23] for _, frame in cp.up.frames.queue)
        early.extend(cpe.was_acked - {LCP})

    cp.up.refuse = put
    cpe.dial()
    assert bytes.fromhex("802102") not in early and IPCP not in early and IPCP in cpe.was_acked
    cp.kill()
    with contextlib.closing(sqlite3.connect(f"file:{cp.folder}/store.db?mode=ro", uri=True)) as store:
        assert json.loads(store.execute("SELECT ppp FROM session").fetchone()[0])["id"] == cpe.session
    cp.start()


def test_refused_by_the_userplane(cp):
    cpe = Cpe(cp, 1)
    cp.up.refuse = lambda _: "no profile of that name"
    assert cpe.link()
    cpe.address = "10.64.0.2"
    cpe.dns = ["192.0.2.53", "192.0.2.54"]
    cpe.ask(IPCP)
    while (heard := cpe.hear())[:2] != (LCP, TERMINATE):
        assert heard[:2] == (IPCP, REQUEST)
    assert cpe.hear()[:2] == (PADT, cpe.session)
    assert "no profile of that name" in cp.text()


def test_not_let_in(cp):
    cases = [(method, *who) for method in (CHAP, PAP) for who in (("alice", "guess"), ("mallory", "secret"), ("", "secret"), ("al\tice", "secret"))]
    for n, (method, user, password) in enumerate(cases):
        cpe = Cpe(cp, n, user, password, methods=(method,))
        assert not cpe.link()
        cpe.hears_end()
        why = f"{user}: wrong name or password" if user.isalpha() else "?: the user's name is not printable, empty or too long"
        assert f"{cpe.mac}: {'PAP' if method == PAP else 'CHAP'}: {why}\n" in cp.text()
    assert not cp.up.rows
    assert Cpe(cp, 1).dial()


def test_discovery(control_plane):
    cp = control_plane(EXTRA=section('service_names = ["home", "office"];'))
    cpe = Cpe(cp, 1)
    repeated = ((HOST_UNIQ, b"\0\1unique"), (RELAY, b"relay"))
    offer = cpe.padi(*repeated, (0x7777, b"?"))
    assert offer == {HOST_UNIQ: [b"\0\1unique"], RELAY: [b"relay"], SERVICE: [b"", b"home", b"office"], AC_NAME: [b"bng1"], COOKIE: offer[COOKIE]}
    assert cpe.padi(service=b"office")[SERVICE] == [b"office", b"home"]
    assert MAX_PAYLOAD not in cpe.padi((MAX_PAYLOAD, (1500).to_bytes(2, "big"))), "the port carries no more than 1492"
    cpe.discover(PADI, (SERVICE, b"garage"))
    cpe.discover(PADI)
    cpe.discover(PADI, (SERVICE, b""), (SERVICE, b""))
    cpe.discover(PADI, (SERVICE, b""), to="02:00:00:00:00:99")
    cpe.discover(PADI, (SERVICE, b""), session=1)
    cpe.discover(0x55, (SERVICE, b""))
    cpe.hears_nothing(0.1)
    # a PADR without the cookie, with another's, and with one that was changed
    stranger = Cpe(cp, 2).padi()[COOKIE][0]
    for cookie in (b"", stranger, offer[COOKIE][0][:-1] + bytes([offer[COOKIE][0][-1] ^ 1])):
        cpe.discover(PADR, (SERVICE, b""), (COOKIE, cookie), to=PORT_MAC)
    cpe.discover(PADR, (SERVICE, b""), to=PORT_MAC)
    cpe.hears_nothing(0.1)
    # no such service
    answer = cpe.padr(offer, *repeated, service=b"garage")
    assert cpe.session == 0 and answer[SERVICE] == [b"garage"] and SERVICE_ERROR in answer and answer[HOST_UNIQ] == [b"\0\1unique"]
    answer = cpe.padr(offer, *repeated, service=b"home")
    assert cpe.session and answer == {HOST_UNIQ: [b"\0\1unique"], RELAY: [b"relay"], SERVICE: [b"home"]}
    # the PADS was lost
    assert cpe.hear()[:2] == (LCP, REQUEST)
    session = cpe.session
    cpe.padr(offer, service=b"home")
    assert cpe.session == session
    assert not cp.up.rows


def test_a_session_is_a_macs_and_a_lines(cp):
    cpe, other = Cpe(cp, 1), Cpe(cp, 2, line=Cpe(cp, 1).line)
    cpe.dial()
    other.discover(PADI, (SERVICE, b""))
    other.session = cpe.session
    other.hears_nothing(0.1)
    other.say(LCP, ECHO, bytes(4))  # in his session
    assert other.hear()[:2] == (PADT, cpe.session)
    dhcp = Client(cp, 1)
    dhcp.say("discover")
    dhcp.hears_nothing(0.1)
    assert cpe.echoes() and row(cp, cpe)
    lease = Client(cp, 3)
    lease.get()
    third = Cpe(cp, 3)
    third.discover(PADI, (SERVICE, b""))
    third.hears_nothing(0.1)
    events = json.loads(ctl(cp, "--json", "sessions", "100.2"))[0]["events"], json.loads(ctl(cp, "--json", "sessions", "100.4"))[0]["events"]
    assert any(f"PADI of {other.mac} ignored: another MAC has the line's session" in e["text"] for e in events[0])
    assert any("ignored: the line has a PPPoE session" in e["text"] for e in events[0])
    assert any("ignored: the line has an IPoE session" in e["text"] for e in events[1])


def test_begins_anew(cp):
    """A CPE that has lost its session gets another one, with another id and the same address."""
    cpe = Cpe(cp, 1)
    cpe.dial()
    old, before = cpe.session, cpe.address
    again = Cpe(cp, 1)
    again.session = 0
    assert again.dial() == before and again.session not in (0, old)
    assert row(cp, again)["pppoe"]["session"] == again.session
    assert "ends, " + before + ": the CPE begins anew" in cp.text()
    again.say(LCP, ECHO, bytes(4), session=old)
    again.session = old
    assert again.hear()[:2] == (PADT, old)
    # in the midst of the negotiation
    third = Cpe(cp, 1)
    offer = third.padi()
    third.padr(offer)
    assert third.hear()[:2] == (LCP, REQUEST)
    third.ask(LCP)
    assert third.hear()[:2] == (LCP, ACK)
    last = third.session
    third.session = 0
    third.padr(offer)
    assert third.session not in (0, last)


def test_ends(cp, run):
    cpe = Cpe(cp, 1)
    cpe.dial()
    cpe.say(LCP, TERMINATE)
    assert cpe.hear()[:2] == (LCP, TERMINATED)
    assert cpe.hear()[:2] == (PADT, cpe.session)
    ended(cp, cpe, "the peer terminates")
    cpe = Cpe(cp, 1)
    cpe.dial()
    cpe.discover(PADT, to=PORT_MAC, session=cpe.session + 1)
    assert cpe.echoes()
    cpe.discover(PADT, to=PORT_MAC, session=cpe.session)
    ended(cp, cpe, "PADT of the CPE")
    cpe.hears_nothing(0.1)
    cpe = Cpe(cp, 1)
    cpe.dial()
    echo = bytes.fromhex((cpe.mac + PORT_MAC).replace(":", "")) + cpe.frame(LCP, b"\x09\x01\0\x08" + bytes(4))[12:]
    cpe.send(echo, PPP)  # of the user plane, which nobody has answered
    cpe.hears_end()
    ended(cp, cpe, "the CPE does not answer LCP's echo")
    cpe = Cpe(cp, 1)
    cpe.dial()
    ctl(cp, "disconnect", "cpe0", "100.2")
    cpe.hears_end()
    ended(cp, cpe, "disconnected by an operator")
    cpe = Cpe(cp, 1)
    cpe.dial()
    cpe.say(LCP, REQUEST, cpe.own_options(LCP))
    assert cpe.hear()[:2] == (PADT, cpe.session)
    ended(cp, cpe, "LCP was negotiated again")


def test_an_end_without_the_punt_socket(cp):
    """A restarted vbng opens its sockets one after the other: who is ended between, or while it has no time, hears it all the same."""
    cpe = Cpe(cp, 1)
    cpe.dial()
    cp.up.cut()
    ctl(cp, "disconnect", "cpe0", "100.2")
    ended(cp, cpe, "disconnected by an operator")
    cp.up.turns_away = False
    cpe.hears_end()
    cpe = Cpe(cp, 1)
    cpe.dial()
    cp.up.read_frames(False)
    padi = bytes.fromhex("ff" * 6 + cpe.mac.replace(":", "")) + b"\x88\x63\x11" + bytes([PADI, 0, 0, 0, 4, 1, 1, 0, 0])
    for _ in range(500):
        cp.up.send(cpe.line, padi, DISCOVERY)
    ctl(cp, "disconnect", "cpe0", "100.2")
    ended(cp, cpe, "disconnected by an operator")
    cp.up.read_frames(True)
    heard = [cpe.hear()[:2] for _ in range(502)]
    assert [h for h in heard if h != (PADO, 0)] == [(LCP, TERMINATE), (PADT, cpe.session)]


def test_survives_vbng_cp(cp):
    """The CPE notices nothing when vbng-cp is killed, and the user plane is asked for nothing."""
    cpe, half = Cpe(cp, 1), Cpe(cp, 2)
    cpe.dial()
    half.padr(half.padi())
    assert half.hear()[:2] == (LCP, REQUEST)
    asked = len(cp.up.requests)
    cp.kill()
    cp.start()
    assert cpe.echoes()
    assert [r["cmd"] for r, _ in cp.up.requests[asked:]] == ["list-subscribers"]
    half.say(LCP, REQUEST, half.own_options(LCP))
    assert half.hear()[:2] == (PADT, half.session), "what was not up is gone, and it learns that"
    # a Configure-Ack that was lost with vbng-cp
    cpe.ask(IPCP)
    cpe.acked.discard(IPCP)
    cpe.was_acked.discard(IPCP)
    while IPCP not in cpe.acked & cpe.was_acked:
        cpe.take(*cpe.hear())
    assert Cpe(cp, 2).dial()
    ctl(cp, "disconnect", "cpe0", "100.2")
    cpe.hears_end()


def test_survives_the_userplane(cp):
    cpe = Cpe(cp, 1)
    cpe.dial()
    before = row(cp, cpe)
    cp.restart_userplane(keeps=False)
    cp.until(lambda: row(cp, cpe) == before)
    assert cpe.echoes()


def test_negotiation(cp):
    """What RFC 1661 has for both ends, once with a CPE that wants everything."""
    cpe = Cpe(cp, 1)
    cpe.padr(cpe.padi())
    protocol, code, number, data = cpe.hear()
    assert (protocol, code) == (LCP, REQUEST) and options(data)[3] == b"\xc2\x23\5"
    cpe.say(IPCP, REQUEST, b"")
    cpe.say(0x80FD, REQUEST, b"")
    cpe.hears_nothing(0.1)
    cpe.say(LCP, REQUEST, option(1, b"\x05\xdc") + option(2, bytes(4)) + option(7, b""))
    assert cpe.hear()[1:] == (4, cpe.number, option(2, bytes(4)) + option(7, b""))
    cpe.say(LCP, REQUEST, option(1, b"\x05\xdc"))
    assert cpe.hear()[1:] == (NAK, cpe.number, option(1, b"\x05\xd4"))
    cpe.say(LCP, REQUEST, option(1, b"\x05\x78"))
    assert cpe.hear()[1:] == (ACK, cpe.number, option(1, b"\x05\x78"))
    cpe.judge(LCP, number, data)
    protocol, code, number, data = cpe.hear()
    assert (protocol, code) == (CHAP, 1)
    cpe.say(0x80FD, REQUEST, b"x")
    assert cpe.hear()[:2] == (LCP, PROTOCOL_REJECT)
    cpe.say(LCP, 0x55, b"x")
    assert cpe.hear()[:2] == (LCP, CODE_REJECT)
    cpe.take_proof(protocol, code, number, data)
    assert cpe.hear()[:2] == (CHAP, 3)
    cpe.say(IPV6CP, REQUEST, cpe.own_options(IPV6CP))
    heard = [cpe.hear(), cpe.hear()]
    assert {h[:2] for h in heard} == {(IPCP, REQUEST), (LCP, PROTOCOL_REJECT)}
    request = next(h for h in heard if h[0] == IPCP)
    cpe.judge(IPCP, *request[2:])
    cpe.network()
    assert row(cp, cpe)["pppoe"]["mtu"] == 1400


def test_ipv6(control_plane):
    """IPV6CP opens, and a prefix is delegated by DHCPv6 in the session, which survives a kill and ends with it."""
    cp = control_plane(**with_ipv6(extra=section()))
    cpe = Cpe(cp, 1)
    address = cpe.dial()
    assert cpe.ask_all(IPV6CP) == {1: bytes.fromhex("00b000fffe000000")}
    client = Client6(types.SimpleNamespace(up=types.SimpleNamespace(
        expect=cp.up.expect, send=lambda line, frame, kind: cp.up.send(line, frame, kind, cpe.session))), 1)
    outside = Client6(cp, 1)
    outside.say(DHCP6_Solicit, outside.pd())
    outside.hears_nothing()
    client.get(client.pd())
    before = row(cp, cpe)
    assert before["ipv4"] == address and before["delegated"] == client.prefix and before["ipv6"].endswith("/64") and before["pppoe"]
    cp.kill()
    cp.start()
    assert cpe.echoes() and cpe.ask_all(IPV6CP) and row(cp, cpe) == before
    cpe.discover(PADT, to=PORT_MAC, session=cpe.session)
    cp.until(lambda: not cp.up.rows)
    assert f"ends, {address}, " in cp.text()
    narrow = Cpe(cp, 2, mru=1200)
    narrow.dial()
    narrow.say(IPV6CP, REQUEST, narrow.own_options(IPV6CP))
    assert narrow.hear()[:2] == (LCP, PROTOCOL_REJECT), "IPv6 needs 1280 bytes"


def test_limits(control_plane):
    """Half-open sessions are bounded in number and time, and nothing is kept of who only asks."""
    cp = control_plane(EXTRA=section(more='max_negotiating = 2; negotiation_time = "1s";'))
    for n in range(3, 40):
        Cpe(cp, n).padi()
    half = [Cpe(cp, n) for n in (1, 2)]
    offers = [cpe.padi() for cpe in half]
    third = Cpe(cp, 50)
    offer = third.padi()
    for cpe, known in zip(half, offers):
        cpe.padr(known)
        assert cpe.hear()[:2] == (LCP, REQUEST)
    third.discover(PADR, (SERVICE, b""), (COOKIE, offer[COOKIE][0]), to=PORT_MAC)
    third.discover(PADI, (SERVICE, b""))
    third.hears_nothing(0.1)
    for cpe in half:  # nobody has answered
        line, frame = cp.up.expect(limit(5))
        cp.up.frames.put((line, frame))
        while True:
            line, frame = cp.up.expect(limit(5))
            if line == cpe.line and frame[15] == PADT:
                break
    assert "it was not up in time" in cp.text()
    while not cp.up.frames.empty():
        cp.up.frames.get()
    assert third.dial()


def written(cpe, cookie, session):
    """A frame of discovery of each kind, and a packet of each protocol, of a CPE: (frame, kind) and (protocol, packet)."""
    frames, said = [], []
    cpe.cp = types.SimpleNamespace(up=types.SimpleNamespace(send=lambda line, frame, kind: frames.append((frame, kind))))
    cpe.discover(PADI, (SERVICE, b""), (HOST_UNIQ, b"unique"), (0x0105, bytes.fromhex("00000de90104") + b"line" + b"\2\6remote"))
    cpe.discover(PADR, (SERVICE, b""), (COOKIE, cookie), to=PORT_MAC)
    cpe.discover(PADT, to=PORT_MAC, session=session + 1)
    said += [(LCP, packet(REQUEST, 1, cpe.own_options(LCP) + option(3, b"\xc0\x23"))), (LCP, packet(NAK, 1, option(3, b"\xc0\x23"))),
             (LCP, packet(ECHO, 1, bytes(8))), (LCP, packet(PROTOCOL_REJECT, 1, b"\x80\x57\1")),
             (PAP, packet(1, 1, b"\5alice\6secret")), (CHAP, packet(2, 1, b"\x10" + bytes(16) + b"alice")),
             (IPCP, packet(REQUEST, 1, option(3, bytes(4)) + option(129, bytes(4)))), (IPV6CP, packet(REQUEST, 1, option(1, bytes(8))))]
    return frames, said


def test_malformed(cp):
    """Frames and packets of each protocol, cut at each byte and changed at each: no more answers than of right ones, and who is up stays."""
    cpe, other = Cpe(cp, 1), Cpe(cp, 2, methods=(PAP,))
    cpe.dial()
    offer = other.padi()
    other.padr(offer)
    frames, packets = written(Cpe(None, 2), offer[COOKIE][0][:-1] + b"\0", other.session)
    sent = 0
    for whole, kind in frames:
        for n in range(12, len(whole)):
            for part in (whole[:n], whole[:n] + b"\xff" + whole[n + 1:]):
                cp.up.send(other.line, part, kind)
                sent += 1
    for protocol, whole in packets:
        for n in range(len(whole)):
            for part in (whole[:n], whole[:n] + b"\xff" + whole[n + 1:]):
                cp.up.send(other.line, other.frame(protocol, part), PPP)
                sent += 1
    cpe.say(LCP, ECHO, bytes(4))
    answers = 0
    while (heard := cp.up.expect(limit(5)))[0] != cpe.line:
        answers += 1
    assert heard[1][22] == 10 and answers <= 2 * sent
    assert list(cp.up.rows) == [cpe.line]
    last = Cpe(cp, 3)
    assert last.dial()


def ctl(cp, *words):
    """What vbngctl prints."""
    top = os.path.join(os.path.dirname(__file__), "../..")
    done = subprocess.run([sys.executable, os.path.join(top, "tools/vbngctl"), *words], env={**os.environ, "VBNG_CP_SOCKET": cp.socket},
                          capture_output=True, text=True, timeout=limit(30), check=False)
    assert not done.stderr
    return done.stdout


def test_operator(cp):
    cpe, other = Cpe(cp, 1), Cpe(cp, 2, password="guess")
    cpe.dial()
    other.link()
    for text in ("alice", cpe.mac, "pppoe"):
        found = json.loads(ctl(cp, "--json", "sessions", text))
        assert [(s["cvlan"], s["kind"], s["session"], s["user"]) for s in found] == [(2, "pppoe", cpe.session, "alice")], text
    shown = ctl(cp, "sessions", "100.2")
    assert "pppoe" in shown and str(cpe.session) in shown and "CHAP: alice is let in" in shown
    assert "CHAP: alice: wrong name or password" in ctl(cp, "sessions", "100.3")
