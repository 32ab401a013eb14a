# SPDX-License-Identifier: BSD-3-Clause
"""Sessions of PPPoE that a real FreeRADIUS lets in, changes and ends."""

import signal
import time
import types

import pytest

from tests.cp.client import PORT_MAC
from tests.cp.client6 import Client6, with_ipv6
from tests.cp.cpe import CHAP, ECHO, IPV6CP, LCP, PADT, PAP, REQUEST, TERMINATE, VENDOR, Cpe
from tests.cp.test_accounting import count, of, until, volume
from tests.cp.test_pppoe import ctl
from tests.cp.test_radius import section
from tests.cp.userplane import PPP, UserPlane
from tests.radius.freeradius import free_ports, freeradius, radclient

USERS = """
alice Cleartext-Password := "secret"
    Filter-Id = "gold",
    Framed-IP-Address = 10.64.0.77,
    Reply-Message = "welcome"

bob Cleartext-Password := "other"
    Session-Timeout = 1

carol Cleartext-Password := "third"
    Framed-IP-Address = 192.0.2.1

dora Cleartext-Password := "fourth"
"""
PPPOE = 'pppoe = { ac_name = "bng1"; };'
ACCOUNTING = 'accounting = true; count_interval = "100ms"; interim_interval = "1s";'


@pytest.fixture(scope="module")
def server(module_folder):
    with freeradius(module_folder / "radius", users=USERS) as s:
        yield s


@pytest.fixture
def coa():
    return free_ports(1)[0]


@pytest.fixture
def cp(control_plane, server, coa):
    return control_plane(EXTRA=section(server, coa) + PPPOE)


def row(cp, cpe):
    return cp.up.rows.get(cpe.line)


def requests(server):
    return (server.folder / "log").read_text(errors="replace").split("Received Access-Request")[1:]


@pytest.mark.parametrize("methods", [(CHAP,), (PAP,)], ids=["CHAP", "PAP"])
def test_let_in(cp, server, coa, methods):
    cpe = Cpe(cp, 1, methods=methods)
    cpe.padr(cpe.padi(), (VENDOR, bytes.fromhex("00000de9") + b"\1\x0baccess 1/1/" + b"\2\4c-17"))
    cpe.ask(LCP)
    while not cpe.message:
        heard = cpe.hear()
        (cpe.take if heard[0] == LCP else cpe.take_proof)(*heard)
    assert cpe.message == "welcome"
    assert cpe.network() == "10.64.0.77"
    assert (row(cp, cpe)["ipv4"], row(cp, cpe)["profile"], row(cp, cpe)["pppoe"]["session"]) == ("10.64.0.77", "gold", cpe.session)
    asked = requests(server)[-1]
    for text in ('User-Name = "alice"', "Framed-Protocol = PPP", 'NAS-Port-Id = "cpe0 100.2"', f'Calling-Station-Id = "{cpe.mac}"',
                 'ADSL-Agent-Circuit-Id = 0x61636365737320312f312f', 'ADSL-Agent-Remote-Id = 0x632d3137'):
        assert text in asked, asked[:3000]
    at = {"Event-Timestamp": int(time.time()), "User-Name": '"alice"'}
    said = radclient(coa, "coa", {**at, "Filter-Id": '"silver"'})
    assert "Received CoA-ACK" in said and row(cp, cpe)["profile"] == "silver", said
    assert "Session-Context-Not-Found" in radclient(coa, "disconnect", {**at, "User-Name": f'"{cpe.mac}"'})
    cp.kill()
    cp.start()
    assert cpe.echoes() and row(cp, cpe)["profile"] == "silver"
    said = radclient(coa, "disconnect", {**at, "Event-Timestamp": int(time.time())})
    assert "Received Disconnect-ACK" in said, said
    cpe.hears_end("RADIUS: Disconnect-Request")
    cp.until(lambda: not cp.up.rows)


def test_not_let_in(cp):
    cases = [(method, *who) for method in (CHAP, PAP)
             for who in (("alice", "guess", "rejected"), ("carol", "third", "Framed-IP-Address is not of the pool of the line"))]
    for n, (method, user, password, why) in enumerate(cases):
        cpe = Cpe(cp, n, user, password, methods=(method,))
        assert not cpe.link()
        cpe.hears_end()
        assert f"{cpe.mac}: {'PAP' if method == PAP else 'CHAP'}: {user}: RADIUS: {why}" in cp.text()
    assert not cp.up.rows


def test_session_timeout(cp):
    cpe = Cpe(cp, 1, "bob", "other")
    cpe.dial()
    cpe.hears_end("Session-Timeout")


def ends(cp, coa):
    """What ends sessions, as their CPEs see it: the cause (RFC 2866 section 5.10), user and password, and a function of the CPE."""
    def unanswered(cpe):
        echo = cpe.frame(LCP, bytes([ECHO, 1, 0, 8, 0, 0, 0, 0]))
        cpe.send(bytes.fromhex((cpe.mac + PORT_MAC).replace(":", "")) + echo[12:], PPP)

    def disconnect(cpe):
        said = radclient(coa, "disconnect", {"Event-Timestamp": int(time.time()), "Framed-IP-Address": cpe.address})
        assert "Received Disconnect-ACK" in said, said

    dora = ("dora", "fourth")
    yield "User-Request", dora, lambda cpe: cpe.say(LCP, TERMINATE)
    yield "User-Request", dora, lambda cpe: cpe.discover(PADT, to=PORT_MAC, session=cpe.session)
    yield "User-Request", dora, lambda cpe: cpe.say(LCP, REQUEST, cpe.own_options(LCP))
    yield "Lost-Carrier", dora, unanswered
    yield "Admin-Reset", dora, lambda cpe: ctl(cp, "disconnect", cpe.line[0], "{}.{}".format(*cpe.line[1:]))
    yield "Admin-Reset", dora, disconnect
    yield "Session-Timeout", ("bob", "other"), lambda cpe: None


def test_accounting(control_plane, server, coa):
    """Each end has its cause, and the octets of both families as of when the user plane removed it."""
    cp = control_plane(**with_ipv6(extra=section(server, coa).replace("radius = {", "radius = {" + ACCOUNTING) + PPPOE))
    first = Cpe(cp, 1)
    first.dial()
    client = Client6(types.SimpleNamespace(up=types.SimpleNamespace(
        expect=cp.up.expect, send=lambda line, frame, kind: cp.up.send(line, frame, kind, first.session))), 1)
    client.get(client.pd())
    count(cp, first, 5, (700, 200, 100, 900))
    expected, gone = {}, {first.line}
    for n, (cause, who, end) in enumerate(ends(cp, coa), 10):
        cpe = Cpe(cp, n, *who)
        cpe.gone = gone.copy()
        cpe.dial()
        count(cp, cpe, 5, (1000 * n, 100, 2000, 300))
        end(cpe)
        cp.until(lambda cpe=cpe: not row(cp, cpe))
        gone.add(cpe.line)
        expected[cpe.mac] = (cause, who[0], cpe.address, (1000 * n + 100, 10 * n + 1, 100), (2300, 23, 300))
    [interim, *_] = until(cp, server, "Interim-Update", 1)
    stops = {r["Calling-Station-Id"]: (r["Acct-Terminate-Cause"], r["User-Name"], r["Framed-IP-Address"], volume(r, "Input"), volume(r, "Output"))
             for r in until(cp, server, "Stop", len(expected))}
    assert stops == expected
    [start] = [r for r in of(server, "Start") if r["Acct-Session-Id"] == interim["Acct-Session-Id"]]
    for record in start, interim:
        assert (record["User-Name"], record["Framed-Protocol"], record["NAS-Port-Id"]) == ("alice", "PPP", "cpe0 100.2")
    assert interim["Delegated-IPv6-Prefix"] == client.prefix
    assert (volume(interim, "Input"), volume(interim, "Output")) == ((900, 9, 200), (1000, 10, 900))


def test_nobody_answers(control_plane, folder, coa):
    """Who gives up while RADIUS is asked leaves nothing; nobody is let in until a server lives again."""
    with freeradius(folder / "radius", users=USERS) as s:
        cp = control_plane(EXTRA=section(s, coa, "300ms") + PPPOE)
        s.stop()
        cpe = Cpe(cp, 1, methods=(PAP,))
        cpe.padr(cpe.padi())
        cpe.ask(LCP)
        while LCP not in cpe.acked & cpe.was_acked:
            cpe.take(*cpe.hear())
        cpe.discover(PADT, to=PORT_MAC, session=cpe.session)
        cp.until(lambda: "PADT of the CPE" in cp.text())
        cpe = Cpe(cp, 1, methods=(PAP,))
        assert not cpe.link()
        cpe.hears_end("PAP: alice: RADIUS: no server answers")
        s.start()
        time.sleep(0.6)
        assert Cpe(cp, 1).dial() == "10.64.0.77"


def test_the_user_plane_is_away_when_radius_answers(control_plane, server, coa):
    """Who is let in then has IPv6, too, when it is back."""
    cp = control_plane(**with_ipv6(section(server, coa) + PPPOE))
    cpe = Cpe(cp, 1, methods=(PAP,))
    cpe.padr(cpe.padi())
    server.process.send_signal(signal.SIGSTOP)
    try:
        cpe.ask(LCP)
        while LCP not in cpe.acked & cpe.was_acked:
            cpe.take(*cpe.hear())
        cp.until(lambda: cp.ask(cmd="show-sessions", text="cpe0 100.2")["sessions"][0]["user"] == "alice")
        cp.up.stop()
    finally:
        server.process.send_signal(signal.SIGCONT)
    cp.until(lambda: "alice is let in" in str(cp.ask(cmd="show-sessions", text="cpe0 100.2")))
    cp.up = UserPlane(cp.folder, {"cpe0": PORT_MAC})
    cp.ready(0)
    cpe.prove_by_pap()
    while (heard := cpe.hear())[0] != PAP:
        cpe.take(*heard)
    assert cpe.take_proof(*heard) and cpe.network() == "10.64.0.77"
    assert cpe.ask_all(IPV6CP) == {1: bytes.fromhex("00b000fffe000000")}
