# SPDX-License-Identifier: BSD-3-Clause
"""Sessions of PPPoE that a real FreeRADIUS lets in, changes and ends."""

import time

import pytest

from tests.cp.client import PORT_MAC
from tests.cp.cpe import CHAP, LCP, PADT, PAP, VENDOR, Cpe
from tests.cp.test_radius import section
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
"""
PPPOE = 'pppoe = { ac_name = "bng1"; };'


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
