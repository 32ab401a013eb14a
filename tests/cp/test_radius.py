# SPDX-License-Identifier: BSD-3-Clause
"""Sessions that a real FreeRADIUS lets in, changes and ends."""

import contextlib
import json
import sqlite3
import time

import pytest

from tests.common import need
from tests.common.small_disk import small_disk
from tests.cp.client import ACK, BOOTP, NAK, OFFER, Client, option
from tests.cp.test_pppoe import ctl
from tests.radius.freeradius import COA_SECRET, SECRET, free_ports, freeradius, radclient

USERS = """
02:00:00:00:00:01 Cleartext-Password := "vbng"
    Filter-Id = "gold",
    Framed-IP-Address = 10.64.0.77,
    Class = "class"

02:00:00:00:00:02 Cleartext-Password := "vbng"

02:00:00:00:00:03 Cleartext-Password := "vbng"
    Session-Timeout = 60

02:00:00:00:00:04 Cleartext-Password := "vbng"
    Framed-Pool = "others"

02:00:00:00:00:05 Cleartext-Password := "vbng"
    Framed-IP-Address = 192.0.2.1

02:00:00:00:00:06 Cleartext-Password := "vbng"
    Framed-Pool = "homes",
    Filter-Id = "no profile"

02:00:00:00:00:07 Cleartext-Password := "vbng"
    Filter-Id = "unknown"

02:00:00:00:00:0a Cleartext-Password := "vbng"
    Framed-IP-Address = 10.64.0.77

02:00:00:00:00:0b Cleartext-Password := "vbng"
    User-Name = "customer-1"

02:00:00:00:00:0c Cleartext-Password := "vbng"
    User-Name = "customer-2"

02:00:00:00:00:0d Cleartext-Password := "vbng"
    User-Name = "customer-2"

02:00:00:00:00:08 Cleartext-Password := "other"
    Reply-Message = "bill"
"""

RADIUS = """
radius = {
    nas_identifier = "bng1";
    timeout = "TIMEOUT"; retries = 2; dead_time = "500ms"; password = "vbng";
    servers = ( { address = "127.0.0.1"; secret = "SECRET"; authentication_port = AUTHENTICATION; accounting_port = ACCOUNTING; } );
    coa = { address = "127.0.0.1"; port = COA; clients = ( { address = "127.0.0.1"; secret = "ANOTHER"; } ); };
};
"""


def kind(reply):
    return option(reply, "message-type")


def row(cp, client):
    return cp.up.rows.get(client.line)


@pytest.fixture(scope="module")
def server(module_folder):
    with freeradius(module_folder / "radius", users=USERS) as s:
        yield s


@pytest.fixture
def coa():
    return free_ports(1)[0]


def section(server, coa, timeout="1s"):
    text = RADIUS
    for key, value in {"TIMEOUT": timeout, "SECRET": SECRET, "AUTHENTICATION": server.authentication, "ACCOUNTING": server.accounting,
                       "COA": coa, "ANOTHER": COA_SECRET}.items():
        text = text.replace(key, str(value))
    return text


@pytest.fixture
def cp(control_plane, server, coa):
    return control_plane(EXTRA=section(server, coa))


def change(coa, command, client, **attributes):
    """What a server of changes hears of a client's session."""
    return radclient(coa, command, {"Event-Timestamp": int(time.time()), "Calling-Station-Id": f'"{client.mac}"',
                                    **{name.replace("_", "-"): f'"{value}"' for name, value in attributes.items()}})


def test_let_in_with_profile_and_address(cp):
    client = Client(cp, 1)
    offer = client.discover(("requested_addr", "10.64.0.9"))
    assert kind(offer) == OFFER and offer[BOOTP].yiaddr == "10.64.0.77"
    assert not cp.up.rows, "an offer is no session"
    assert kind(client.request(offer)) == ACK
    assert (row(cp, client)["ipv4"], row(cp, client)["profile"]) == ("10.64.0.77", "gold")


def test_let_in_with_what_the_line_has(cp):
    client = Client(cp, 2)
    client.get()
    assert row(cp, client)["profile"] == "home-50M"


@pytest.mark.parametrize("number, why", [
    (4, "Framed-Pool is not the pool of the line"), (5, "Framed-IP-Address is not of the pool of the line"),
    (6, "Filter-Id is no name of a profile"), (8, "rejected: bill"), (9, "rejected")])
def test_not_let_in(cp, number, why):
    client = Client(cp, number)
    client.say("discover")
    cp.until(lambda: "refused: RADIUS" in cp.text())
    client.hears_nothing()
    assert f"{client.mac}: refused: RADIUS: {why}\n" in cp.text()
    assert not cp.up.rows


def test_named_by_each_alone(cp, coa):
    """A session is found by whatever it is named by, the name that RADIUS has given its user as well, also after a kill."""
    first, second, third = (Client(cp, n) for n in (11, 12, 13))
    for client in (first, second, third):
        client.get()
    cp.kill()
    with contextlib.closing(sqlite3.connect(f"file:{cp.folder}/store.db?mode=ro", uri=True)) as store:
        [(service,)] = store.execute("SELECT service FROM session WHERE cvlan = ?", first.line[2:]).fetchall()
    cp.start()

    def asks(**attributes):
        at = {"Event-Timestamp": int(time.time()), "Filter-Id": f'"p{len(cp.up.requests)}"'}
        said = radclient(coa, "coa", at | {name.replace("_", "-"): value for name, value in attributes.items()})
        return "Received CoA-ACK" in said and f'"{row(cp, first)["profile"]}"' == at["Filter-Id"], said

    for attributes in ({"Acct_Session_Id": '"{}"'.format(json.loads(service)["id"])}, {"User_Name": '"customer-1"'},
                       {"Framed_IP_Address": first.address}, {"NAS_Port_Id": '"cpe0 100.12"'}, {"Calling_Station_Id": f'"{first.mac}"'}):
        done, said = asks(**attributes)
        assert done, (attributes, said)
    assert "Multiple-Session-Selection" in asks(User_Name='"customer-2"')[1]
    for attributes in ({"User_Name": f'"{first.mac}"'}, {"NAS_Port_Id": '"cpe0 100.999"'}, {"NAS_Port_Id": '"nowhere"'}, {"Acct_Session_Id": '"0"'},
                       {"Framed_IP_Address": "10.64.0.200"}, {"User_Name": '"customer-1"', "Framed_IP_Address": second.address}):
        assert "Session-Context-Not-Found" in asks(**attributes)[1], attributes
    assert first.mac in ctl(cp, "sessions", "customer-1") and second.mac not in ctl(cp, "sessions", "customer-1")
    client = third
    client.say("release", ("server_id", client.server), ciaddr=client.address)
    cp.until(lambda: not row(cp, third))
    assert "Multiple-Session-Selection" not in asks(User_Name='"customer-2"')[1]


def test_a_profile_that_the_userplane_does_not_know(cp):
    cp.up.refuse = lambda r: "no profile of that name" if r["profile"] == "unknown" else None
    client = Client(cp, 7)
    offer = client.discover()
    client.say("request", ("requested_addr", offer[BOOTP].yiaddr), ("server_id", option(offer, "server_id")))
    cp.until(lambda: "no profile of that name" in cp.text())
    assert not cp.up.rows


def test_an_address_that_another_has(cp):
    first, second = Client(cp, 1), Client(cp, 10)
    first.get()
    second.say("discover")
    cp.until(lambda: "refused: 10.64.0.77, which RADIUS says, is another's" in cp.text())
    second.hears_nothing()
    assert list(cp.up.rows) == [first.line]


def test_no_two_sessions_have_one_name(cp):
    """Acct-Session-Id, also when vbng-cp is started again at once."""
    for n in (1, 2, 3):
        Client(cp, n).get()
        cp.kill()
        if n < 3:
            cp.start()
    with contextlib.closing(sqlite3.connect(f"file:{cp.folder}/store.db?mode=ro", uri=True)) as store:
        names = {json.loads(text)["id"] for text, in store.execute("SELECT service FROM session")}
    cp.start()
    assert len(names) == 3


def test_repeated_messages_are_one_question(cp, server):
    """While RADIUS is asked, and with an offer, a client that repeats its DISCOVER is not asked for again."""
    asked = (server.folder / "log").read_text(errors="replace").count("Received Access-Request")
    client = Client(cp, 2)
    for _ in range(3):
        client.discover()
    client.get()
    assert kind(client.renew()) == ACK
    assert (server.folder / "log").read_text(errors="replace").count("Received Access-Request") == asked + 1


def test_an_offer_to_another_client_of_the_line(cp):
    """Who was let in is the client, not the line."""
    first = Client(cp, 2)
    first.discover()
    stranger = Client(cp, 9, line=first.line)
    stranger.say("discover")
    cp.until(lambda: f"{stranger.mac}: refused" in cp.text())
    stranger.hears_nothing()


def test_session_timeout(cp):
    ack = Client(cp, 3)
    answer = ack.request(ack.discover())
    assert 50 <= option(answer, "lease_time") <= 60


def test_no_server_answers(control_plane, folder, coa):
    """Sessions that are up go on; who is new waits until a server lives again."""
    with freeradius(folder / "radius", users=USERS) as s:
        cp = control_plane(EXTRA=section(s, coa, "300ms"))
        old, new = Client(cp, 1), Client(cp, 2)
        assert old.get() == "10.64.0.77"
        s.stop()
        new.say("discover")
        cp.until(lambda: f"{new.mac}: refused: RADIUS: no server answers" in cp.text())
        new.hears_nothing()
        assert kind(old.renew()) == ACK and row(cp, old)
        s.start()
        time.sleep(0.6)
        assert new.get()


def test_changed_profile(cp, coa):
    """A new profile is a set-profile: nothing else happens to the session, and it survives a kill."""
    client = Client(cp, 1)
    client.get()
    said = change(coa, "coa", client, Filter_Id="silver")
    assert "Received CoA-ACK" in said, said
    assert row(cp, client)["profile"] == "silver"
    assert [r["cmd"] for r, _ in cp.up.requests if r["cmd"] != "list-subscribers"] == ["put-subscribers", "set-profile"]
    asked = len(cp.up.requests)
    cp.kill()
    cp.start()
    assert kind(client.renew()) == ACK
    assert [r["cmd"] for r, _ in cp.up.requests[asked:]] == ["list-subscribers"], "nothing was to be done"
    assert row(cp, client)["profile"] == "silver"


def test_changes_that_are_refused(cp, coa):
    client, other = Client(cp, 1), Client(cp, 2)
    client.get()
    assert "Session-Context-Not-Found" in change(coa, "coa", other, Filter_Id="silver")
    assert "Unsupported-Attribute" in change(coa, "coa", client, Session_Timeout="99")
    assert "Invalid-Attribute-Value" in change(coa, "coa", client, Filter_Id="no profile")
    cp.up.refuse = lambda r: "no profile of that name"
    assert "Invalid-Attribute-Value" in change(coa, "coa", client, Filter_Id="silver")
    other_nas = change(coa, "coa", client, Filter_Id="silver", NAS_Identifier="bng2")
    assert "NAS-Identification-Mismatch" in other_nas
    assert row(cp, client)["profile"] == "gold" and kind(client.renew()) == ACK


def test_disconnected(cp, coa):
    client = Client(cp, 1)
    client.get()
    said = change(coa, "disconnect", client, User_Name=client.mac)
    assert "Received Disconnect-ACK" in said, said
    cp.until(lambda: not cp.up.rows)
    assert kind(client.renew()) == NAK
    assert client.get() == "10.64.0.77"


@pytest.fixture
def disk():
    with small_disk("1m") as disk:
        yield disk or need.skip("needs root, to mount a file system")


def test_what_the_store_does_not_take_is_not_acknowledged(disk, control_plane, server, coa):
    cp = control_plane(EXTRA=section(server, coa), STORE=f"{disk.folder}/store.db")
    client = Client(cp, 1)
    client.get()
    disk.fill()
    said = change(coa, "coa", client, Filter_Id="silver")
    assert "Received CoA-NAK" in said and "Resources-Unavailable" in said, said
    disk.make_room()
    said = change(coa, "coa", client, Filter_Id="silver")
    assert "Received CoA-ACK" in said, said
    cp.kill()
    cp.start()
    assert row(cp, client)["profile"] == "silver"
    disk.fill()
    said = change(coa, "disconnect", client)
    assert "Received Disconnect-NAK" in said and "Resources-Unavailable" in said, said
    cp.until(lambda: not cp.up.rows)


def test_one_request_names_one_session(cp, coa):
    a, b = Client(cp, 1), Client(cp, 2)
    a.get()
    b.get()
    at = {"Event-Timestamp": int(time.time())}
    assert "Missing-Attribute" in radclient(coa, "disconnect", at)
    said = radclient(coa, "disconnect", {**at, "NAS-Port-Id": f'"cpe0 100.{a.line[2]}"', "Framed-IP-Address": b.address})
    assert "Session-Context-Not-Found" in said
    said = radclient(coa, "disconnect", {**at, "NAS-Port-Id": f'"cpe0 100.{a.line[2]}"', "Framed-IP-Address": a.address})
    assert "Received Disconnect-ACK" in said
    cp.until(lambda: list(cp.up.rows) == [b.line])


def test_a_store_of_before(control_plane, server, folder, coa):
    """The first format had nothing of RADIUS: its sessions go on."""
    with contextlib.closing(sqlite3.connect(folder / "store.db")) as store:
        store.executescript(f"""
            CREATE TABLE session (port TEXT, svlan INTEGER, cvlan INTEGER, mac TEXT, address TEXT UNIQUE, expires INTEGER,
                                  PRIMARY KEY (port, svlan, cvlan)) WITHOUT ROWID;
            PRAGMA user_version = 1;
            INSERT INTO session VALUES ('cpe0', 100, 10, '02:00:00:00:00:09', '10.64.0.9', {int(time.time()) + 3600});""")
    cp = control_plane(EXTRA=section(server, coa))
    client = Client(cp, 9)
    client.address, client.server = "10.64.0.9", "10.64.0.1"
    cp.until(lambda: row(cp, client))
    assert kind(client.renew()) == ACK and row(cp, client)["profile"] == "home-50M"
    cp.kill()
    cp.start()
    assert kind(client.renew()) == ACK


def test_killed_while_radius_is_asked(control_plane, folder, coa):
    """The client asks again, as if its message had been lost."""
    with freeradius(folder / "radius", users=USERS) as s:
        s.stop()
        cp = control_plane(EXTRA=section(s, coa))
        client = Client(cp, 1)
        client.say("discover")
        client.hears_nothing()
        cp.kill()
        s.start()
        cp.start()
        assert client.get() == "10.64.0.77"
