# SPDX-License-Identifier: BSD-3-Clause
"""Lines that a real FreeRADIUS lets in, to leases that two real Kea give: relayed, by proxies, and accounted for."""

import signal
import time

import pytest

from tests.cp.client import ACK, Client, ControlPlane, option
from tests.cp.client6 import (
    DHCP6_Advertise, DHCP6_InfoRequest, DHCP6_Renew, DHCP6_Request, DHCP6_Solicit, DHCP6OptIA_NA, DHCP6OptIA_PD, DHCP6OptServerId,
    Client6, leases)
from tests.cp.kea import Kea, free_port
from tests.cp.test_accounting import of
from tests.cp.test_relay6 import has
from tests.radius.freeradius import COA_SECRET, SECRET, free_ports, freeradius, radclient

USERS = """
"cpe0 100.2" Cleartext-Password := "vbng"
    Filter-Id = "gold",
    Class = "class"

"cpe0 100.3" Cleartext-Password := "vbng"
    Framed-IP-Address = 10.64.0.99,
    Framed-IPv6-Address = 2001:db8:100::9999

"cpe0 100.4" Cleartext-Password := "vbng"
    Session-Timeout = 2
"""
CONFIG = """
control_socket = "CONTROL";
punt_socket = "PUNT";
store = "STORE";
offer_time = "OFFER";
relays = ( { name = "kea4"; servers = "127.0.0.1"; port = KEA4; giaddr = "127.0.0.2"; source_port = OWN4; node = "bng1"; },
           { name = "kea6"; servers = "::1"; port = KEA6; source = "::1"; source_port = OWN6; node = "bng1"; client_lease = "1min"; } );
pools = ( { name = "homes"; prefix = "10.64.0.0/24"; gateway = "10.64.0.1"; relay = "kea4"; } );
pools6 = ( { name = "homes6"; wan = "2001:db8:100::/48"; delegated = "2001:db8:8000::/48"; relay = "kea6"; } );
access = ( { port = "cpe0"; svlan = 100; pool = "homes"; pool6 = "homes6"; profile = "home-50M"; } );
radius = {
    nas_identifier = "bng1"; timeout = "1s"; retries = 2; dead_time = "500ms"; password = "vbng"; user_name = "line";
    accounting = true; interim_interval = "0s"; count_interval = "100ms";
    servers = ( { address = "127.0.0.1"; secret = "SECRET"; authentication_port = AUTHENTICATION; accounting_port = ACCOUNTING; } );
    coa = { address = "127.0.0.1"; port = COA; clients = ( { address = "127.0.0.1"; secret = "ANOTHER"; } ); };
};
"""

REFUSED = "cpe0 100.9 02:00:00:00:00:08: refused: RADIUS: rejected"


@pytest.fixture(scope="module")
def place(module_folder):
    return str(module_folder)


@pytest.fixture(scope="module")
def keas(place, relay_port):
    """{4 and 6: Kea}: leases of 10 minutes."""
    subnet4 = {"id": 1, "subnet": "10.64.0.0/24", "pools": [{"pool": "10.64.0.10 - 10.64.0.40"}]}
    subnet6 = {"id": 1, "subnet": "2001:db8:100::/48", "pools": [{"pool": "2001:db8:100::10-2001:db8:100::ffff"}],
               "pd-pools": [{"prefix": "2001:db8:8000::", "prefix-len": 48, "delegated-len": 56}]}
    found = {4: Kea(place, 4, **{"valid-lifetime": 600, "subnet4": [subnet4]}),
             6: Kea(place, 6, **{"valid-lifetime": 600, "preferred-lifetime": 500, "subnet6": [subnet6]})}
    yield found
    for kea in found.values():
        kea.close()


@pytest.fixture(scope="module")
def server(module_folder, relay_port):
    with freeradius(module_folder / "radius", users=USERS) as s:
        yield s


@pytest.fixture(scope="module")
def coa(relay_port):
    return free_ports(1)[0]


@pytest.fixture(scope="module")
def cp(build, place, keas, server, coa, relay_port):
    values = {"KEA4": keas[4].port, "KEA6": keas[6].port, "OWN4": relay_port, "OWN6": free_port("::1"), "AUTHENTICATION": server.authentication,
              "ACCOUNTING": server.accounting, "COA": coa, "SECRET": SECRET, "ANOTHER": COA_SECRET}
    plane = ControlPlane(build, place, CONFIG, **{key: str(value) for key, value in values.items()})
    yield plane
    plane.close()


def events(cp, client):
    found, = cp.ask(cmd="show-sessions", text=f"{client.line[0]} {client.line[1]}.{client.line[2]}")["sessions"]
    return [e["text"] for e in found["events"]]


def test_both_families(cp, keas, server, coa):
    """RADIUS is asked once, by the line, before any server is; its profile is the session's, and its records have what the servers gave."""
    four, six = Client(cp, 1), Client6(cp, 1)
    four.get()
    six.get()
    assert events(cp, four)[:2] == ["RADIUS is asked", "DISCOVER relayed"] and events(cp, four).count("RADIUS is asked") == 1
    assert six.row() == (four.address, six.address, six.prefix) and cp.up.rows[six.line]["profile"] == "gold"
    assert keas[4].has(four.address) and has(keas[6], six.address) and has(keas[6], six.prefix)
    assert {valid for ia in (DHCP6OptIA_NA, DHCP6OptIA_PD) for _, _, valid in leases(six.ask(DHCP6_Renew, *six.own()), ia)} == {60}
    cp.kill()
    cp.start()
    assert option(four.renew(), "message-type") == ACK
    six.ask(DHCP6_Renew, *six.own())
    cp.until(lambda: of(server, "Start"))
    named = {"Event-Timestamp": int(time.time()), "NAS-Port-Id": '"cpe0 100.2"', "Delegated-IPv6-Prefix": six.prefix}
    assert "Received Disconnect-ACK" in radclient(coa, "disconnect", named)
    cp.until(lambda: of(server, "Stop"))
    [start], [stop] = of(server, "Start"), of(server, "Stop")
    assert start["Acct-Session-Id"] == stop["Acct-Session-Id"]
    for record in (start, stop):
        assert (record["User-Name"], record["NAS-Port-Id"], record["Framed-IP-Address"]) == ("cpe0 100.2", "cpe0 100.2", four.address)
    assert (stop["Framed-IPv6-Address"], stop["Delegated-IPv6-Prefix"]) == (six.address, six.prefix)
    cp.until(lambda: not keas[4].has(four.address) and not has(keas[6], six.address) and not has(keas[6], six.prefix))


def test_who_is_not_let_in(cp, keas):
    """The servers hear nothing of him."""
    four, six = Client(cp, 8), Client6(cp, 8)
    before = [kea.text() for kea in keas.values()]
    four.say("discover")
    four.say("request", ("requested_addr", "10.64.0.10"))
    for kind, server in ((DHCP6_Solicit, None), (DHCP6_Request, b"\0\2\0\0\0\1kea"), (DHCP6_Renew, b"\0\2\0\0\0\1kea")):
        refused = cp.text().count(REFUSED)
        six.say(kind, six.na("2001:db8:100::10"), server=server)
        cp.until(lambda n=refused: cp.text().count(REFUSED) > n)
    six.hears_nothing(0.1)
    assert [kea.text() for kea in keas.values()] == before and six.line not in cp.up.rows


def test_another_address_than_radius_says(cp, keas):
    """What Kea gives then no line has; nothing of it is told."""
    four, six = Client(cp, 2), Client6(cp, 2)
    four.say("discover")
    cp.until(lambda: "is not what RADIUS says" in cp.text())
    six.server = six.solicit(six.na())[DHCP6OptServerId].duid
    six.say(DHCP6_Request, six.na(), server=six.server)
    cp.until(lambda: "of the server is another's, or not of the pool or of RADIUS" in cp.text())
    six.hears_nothing(0.1)
    assert six.line not in cp.up.rows


def test_session_timeout(cp, keas):
    """Ends a session before the leases do: the servers are told."""
    four, six = Client(cp, 3), Client6(cp, 3)
    assert option(four.request(four.discover()), "lease_time") <= 2
    six.get()
    cp.until(lambda: six.line not in cp.up.rows)
    cp.until(lambda: not keas[4].has(four.address) and not has(keas[6], six.address) and not has(keas[6], six.prefix))


def test_information_is_asked_for_meanwhile(cp, keas, server):
    """While RADIUS is asked: it is answered at once, and the SOLICIT before it when RADIUS has let it in."""
    six = Client6(cp, 1)
    server.process.send_signal(signal.SIGSTOP)
    try:
        six.say(DHCP6_Solicit, six.na(), six.pd())
        solicited = six.xid
        six.say(DHCP6_InfoRequest)
        six.hear()
    finally:
        server.process.send_signal(signal.SIGCONT)
    six.xid = solicited
    six.hear(DHCP6_Advertise)
