# SPDX-License-Identifier: BSD-3-Clause
"""IPv6 that a real FreeRADIUS grants, and sessions of both families that it lets in with one question."""

import time

import pytest

from tests.cp.client import ACK, Client, option
from tests.cp.client6 import DHCP6_Renew, DHCP6_Solicit, DHCP6OptIA_NA, DHCP6OptIA_PD, Client6, leases, link_of, status_of, with_ipv6
from tests.cp.test_radius import section
from tests.radius.freeradius import free_ports, freeradius, radclient

USERS = """
02:00:00:00:00:01 Cleartext-Password := "vbng"
    Framed-IPv6-Prefix = 2001:db8:100:66::/64,
    Delegated-IPv6-Prefix = 2001:db8:8000:ab00::/56,
    Framed-IPv6-Pool = "homes6"

02:00:00:00:00:02 Cleartext-Password := "vbng"
    Framed-IPv6-Address = 2001:db8:100:77::1234,
    Framed-IP-Address = 10.64.0.99

02:00:00:00:00:03 Cleartext-Password := "vbng"

02:00:00:00:00:04 Cleartext-Password := "vbng"
    Framed-IPv6-Pool = "others"

02:00:00:00:00:05 Cleartext-Password := "vbng"
    Delegated-IPv6-Prefix = 2001:db8:9999::/56

02:00:00:00:00:06 Cleartext-Password := "vbng"
    Framed-IPv6-Prefix = 2001:db8:999::/64

02:00:00:00:00:07 Cleartext-Password := "vbng"
    Delegated-IPv6-Prefix = 2001:db8:8000::/60

02:00:00:00:00:08 Cleartext-Password := "vbng"
    Session-Timeout = 60
"""


@pytest.fixture(scope="module")
def server(module_folder):
    with freeradius(module_folder / "radius", users=USERS) as s:
        yield s


@pytest.fixture
def coa():
    return free_ports(1)[0]


@pytest.fixture
def cp(control_plane, server, coa):
    values = with_ipv6(section(server, coa))
    values["ACCESS"] += ', { port = "cpe0"; svlan = "300"; pool = "homes"; profile = "home-50M"; }'
    return control_plane(**values)


def events(cp, line):
    found, = cp.ask(cmd="show-sessions", text=f"{line[0]} {line[1]}.{line[2]}")["sessions"]
    return [e["text"] for e in found["events"]]


def test_what_it_grants(cp):
    client = Client6(cp, 1)
    client.solicit(client.na("2001:db8:100:1::1"), client.pd("2001:db8:8000::/56"))
    client.get()
    assert client.row() == (None, "2001:db8:100:66::/64", "2001:db8:8000:ab00::/56")
    assert link_of(client.address) == "2001:db8:100:66::/64" and client.prefix == "2001:db8:8000:ab00::/56"
    cp.kill()
    cp.start()
    assert leases(client.ask(DHCP6_Renew, *client.own()), DHCP6OptIA_PD)[0][0] == client.prefix


def test_one_question_for_both_families(cp):
    """Whether one asks first, or both at once."""
    v4, v6 = Client(cp, 2), Client6(cp, 2)
    cp.up.send(v6.line, v6.frame(DHCP6_Solicit, v6.na(), v6.pd()), 2)
    v4.say("discover")
    for _ in range(2):
        cp.up.expect()
    assert v4.get() == "10.64.0.99"
    v6.get()
    assert v6.address == "2001:db8:100:77::1234" and v6.row() == ("10.64.0.99", "2001:db8:100:77::/64", v6.prefix)
    assert events(cp, v6.line).count("RADIUS is asked") == 1
    first, second = Client6(cp, 3), Client(cp, 3)
    first.get()
    second.get()
    assert first.row() == (second.address, link_of(first.address), first.prefix)
    assert events(cp, first.line).count("RADIUS is asked") == 1


@pytest.mark.parametrize("number, line, why", [
    (4, 100, "Framed-IPv6-Pool is not the pool6 of the line"), (5, 100, "Delegated-IPv6-Prefix is none of the pool6 of the line"),
    (6, 100, "Framed-IPv6-Prefix or -Address is not of the pool6 of the line"),
    (7, 100, "Delegated-IPv6-Prefix is none of the pool6 of the line"), (9, 100, "rejected"), (1, 300, "the line has no IPv6")])
def test_not_let_in(cp, number, line, why):
    v4, v6 = (c(cp, number, line=("cpe0", line, number)) for c in (Client, Client6))
    v4.say("discover") if line == 300 else v6.say(DHCP6_Solicit, v6.na(), v6.pd())
    cp.until(lambda: "refused: RADIUS" in cp.text())
    v6.hears_nothing()
    assert f"refused: RADIUS: {why}\n" in cp.text() and not cp.up.rows


def test_session_timeout_and_disconnect(cp, coa):
    client, v4 = Client6(cp, 8), Client(cp, 8)
    reply = client.get()
    v4.get()
    assert all(50 < leases(reply, kind)[0][2] <= 60 for kind in (DHCP6OptIA_NA, DHCP6OptIA_PD))
    named = {"Event-Timestamp": int(time.time()), "Calling-Station-Id": f'"{client.mac}"'}
    assert "Received Disconnect-NAK" in radclient(coa, "disconnect", named | {"Delegated-IPv6-Prefix": "2001:db8:8000:ee00::/56"})
    assert "Received Disconnect-ACK" in radclient(coa, "disconnect", named | {"Delegated-IPv6-Prefix": client.prefix})
    cp.until(lambda: not cp.up.rows)
    assert status_of(client.ask(DHCP6_Renew, *client.own()), DHCP6OptIA_PD) == 3
    assert option(v4.renew(), "message-type") != ACK


def test_what_names_a_session(cp, coa):
    """Its address and link of IPv6 do (RFC 5176 section 3, RFC 6911); all that is named has to be its own."""
    client, other = Client6(cp, 2), Client6(cp, 3)
    for c in (client, other):
        c.get()

    def change(profile, **named):
        text = radclient(coa, "coa", {"Event-Timestamp": int(time.time()), "Filter-Id": f'"{profile}"', **{k.replace("_", "-"): v for k, v in named.items()}})
        return "Received CoA-ACK" in text, text

    assert client.address == "2001:db8:100:77::1234"
    for n, named in enumerate(({"Framed_IPv6_Address": client.address}, {"Framed_IPv6_Prefix": "2001:db8:100:77::/64"},
                               {"Framed_IPv6_Address": client.address, "Framed_IPv6_Prefix": "2001:db8:100:77::/64"},
                               {"Delegated_IPv6_Prefix": client.prefix},
                               {"Framed_IPv6_Address": client.address, "Delegated_IPv6_Prefix": client.prefix})):
        assert change(f"p{n}", **named)[0] and cp.up.rows[client.line]["profile"] == f"p{n}"
    for named in ({"Framed_IPv6_Address": "2001:db8:100:77::1235"}, {"Framed_IPv6_Address": client.address, "Framed_IPv6_Prefix": link_of(other.address)},
                  {"Framed_IPv6_Address": other.address, "Calling_Station_Id": f'"{client.mac}"'}, {"Delegated_IPv6_Prefix": "2001:db8:8000:ee00::/56"}):
        assert "Session-Context-Not-Found" in change("lost", **named)[1]
    assert cp.up.rows[client.line]["profile"] == "p4"


def test_another_prefix_is_refused(cp, coa):
    """Of a session that is named by something else: nothing tells a CPE of another prefix before it renews, so the change is refused as a whole."""
    client = Client6(cp, 3)
    client.get()
    named = {"Event-Timestamp": int(time.time()), "Framed-IPv6-Address": client.address, "Delegated-IPv6-Prefix": "2001:db8:8000:ee00::/56"}
    said = radclient(coa, "coa", named | {"Filter-Id": '"silver"'})
    assert "Received CoA-NAK" in said and "Invalid-Attribute-Value" in said, said
    said = radclient(coa, "disconnect", named)
    assert "Received Disconnect-NAK" in said and "Session-Context-Not-Found" in said, said
    assert cp.up.rows[client.line]["profile"] == "home-50M" and client.row() == (None, link_of(client.address), client.prefix)
