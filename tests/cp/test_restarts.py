# SPDX-License-Identifier: BSD-3-Clause
"""What survives when vbng-cp, the user plane or both are killed: every session that was acknowledged, and no address is given twice."""

import contextlib
import queue
import random
import sqlite3
import threading
import time

import pytest

from tests.common.limits import limit
from tests.cp.client import ACK, BOOTP, GATEWAY, NAK, Client, Ether, option


def kind(reply):
    return option(reply, "message-type")


def addresses(cp):
    return {line: row["ipv4"] for line, row in cp.up.rows.items()}


def test_the_control_plane_is_killed(cp):
    clients = [Client(cp, n) for n in range(1, 31)]
    for client in clients:
        client.get()
    before, asked = addresses(cp), len(cp.up.requests)
    cp.kill()
    assert addresses(cp) == before, "sessions go on"
    cp.start()
    assert addresses(cp) == before
    assert [r["cmd"] for r, _ in cp.up.requests[asked:]] == ["list-subscribers"], "nothing was to be done"
    assert all(kind(c.renew()) == ACK for c in clients)
    assert Client(cp, 50).get() not in before.values()


@pytest.mark.parametrize("keeps", [True, False])
def test_the_userplane_is_killed(cp, keeps):
    """It comes back with all of its subscribers (--state), or with none."""
    clients = [Client(cp, n) for n in range(1, 31)]
    for client in clients:
        client.get()
    before = addresses(cp)
    cp.restart_userplane(keeps)
    cp.until(lambda: addresses(cp) == before)
    assert kind(clients[0].renew()) == ACK
    assert Client(cp, 50).get() not in before.values()


def test_both_were_away(cp):
    """What is not as the store says is mended, and static subscribers are left alone."""
    a, b, c = (Client(cp, n) for n in (1, 2, 3))
    for client in (a, b, c):
        client.get()
    before = addresses(cp)
    cp.kill()
    static = {"port": "cpe0", "svlan": 100, "cvlan": 900, "ipv4": "10.64.0.250", "name": "Smith & Sons"}
    nameless = {"port": "cpe0", "svlan": 100, "cvlan": 901, "ipv4": "10.64.0.251", "name": None}
    stale = {"port": "cpe0", "svlan": 100, "cvlan": 902, "ipv4": "10.64.0.252", "mac": "02:00:00:00:99:99", "name": "ipoe x"}
    for row in (static, nameless, stale):
        cp.up.rows[row["port"], row["svlan"], row["cvlan"]] = row
    del cp.up.rows[a.line]
    cp.up.rows[b.line] = cp.up.rows[b.line] | {"ipv4": "10.64.0.99"}
    cp.up.rows[c.line] = cp.up.rows[c.line] | {"mac": "02:00:00:00:99:98"}
    cp.up.fixed.add(c.line)  # he has to be removed for it
    cp.start()
    wanted = before | {("cpe0", 100, 900): static["ipv4"], ("cpe0", 100, 901): nameless["ipv4"]}
    cp.until(lambda: addresses(cp) == wanted and cp.up.rows[c.line]["mac"] == c.mac)


def test_a_lease_that_ended_meanwhile(control_plane):
    cp = control_plane(LEASE="2s")
    client = Client(cp, 1)
    client.get()
    cp.kill()
    time.sleep(2.2)
    cp.start()
    cp.until(lambda: not cp.up.rows)
    assert kind(client.renew()) == NAK


def test_killed_between_offer_and_request(cp):
    client = Client(cp, 1)
    offer = client.discover()
    cp.kill()
    cp.start()
    assert kind(client.request(offer)) == ACK


def test_an_acknowledgement_waits_for_both(cp):
    """Killed before the user plane has answered: the client was told nothing, and nothing is there twice."""
    client = Client(cp, 1)
    offer = client.discover()
    cp.up.hold.clear()
    client.say("request", ("requested_addr", offer[BOOTP].yiaddr), ("server_id", GATEWAY))
    client.hears_nothing()
    cp.kill()
    with contextlib.closing(sqlite3.connect(f"file:{cp.folder}/store.db?mode=ro", uri=True)) as store:
        assert store.execute("SELECT address FROM session").fetchall() == [(offer[BOOTP].yiaddr,)], "it was in the store before"
    cp.up.hold.set()
    cp.start()
    cp.until(lambda: addresses(cp) == {client.line: offer[BOOTP].yiaddr})
    assert kind(client.request(offer)) == ACK


def test_one_store_has_one_process(cp, run):
    second = run(cp.program, cp.config)
    assert second.returncode == 3 and "another process has it open" in second.stderr


class Storm(threading.Thread):
    """Clients that get addresses, renew and release them, all at once, whoever is killed meanwhile. What a client was told is in
    `told`: its address, or None once it has said that it gives the address back."""

    def __init__(self, cp, n, seed):
        super().__init__(daemon=True)
        self.cp, self.clients = cp, {c.mac: c for c in (Client(cp, i) for i in range(1, n + 1))}
        self.told, self.acks = {}, 0
        for client in self.clients.values():
            client.xid = 0
        self.seed, self.random = seed, random.Random(seed)
        self.wrong, self.ending = [], threading.Event()

    def run(self):
        while not self.ending.is_set():
            self.step()

    def kills(self, shortest, longest):
        """Sleep for a random time between these, in seconds, and yield the number of the kill that is due: twelve, and on a machine so slow that clients
        were told little before each up to sixty."""
        moments, n = random.Random(self.seed), 0
        while n < 12 or (n < 60 and self.acks <= 100):
            time.sleep(moments.uniform(shortest, longest))
            yield n
            n += 1

    def say(self, client, *what, **fields):
        client.xid += 1  # an answer to what it said before is none any more: it may have released since
        try:
            client.say(*what, xid=client.xid, **fields)
        except (OSError, AttributeError):  # nobody is there: as a frame that is lost
            time.sleep(0.01)

    def step(self):
        client = self.random.choice(list(self.clients.values()))
        address = self.told.get(client.mac)
        if address is None:
            self.say(client, "discover")
        elif self.random.random() < 0.2:
            del self.told[client.mac]
            self.say(client, "release", ("server_id", GATEWAY), ciaddr=address)
        else:
            self.say(client, "request", ciaddr=address, to=GATEWAY)
        self.hear()

    def hear(self):
        while True:
            try:
                _, frame = self.cp.up.frames.get(timeout=0.002)
            except queue.Empty:
                return
            reply = Ether(frame)
            client = self.clients[reply[BOOTP].chaddr[:6].hex(":")]
            if reply[BOOTP].xid != client.xid:
                continue
            if kind(reply) == ACK:
                self.take(client, reply[BOOTP].yiaddr)
            elif kind(reply) == NAK and client.mac in self.told:
                self.wrong.append(f"{client.mac} lost {self.told[client.mac]}")
            elif kind(reply) != ACK and client.mac not in self.told:
                self.say(client, "request", ("requested_addr", reply[BOOTP].yiaddr), ("server_id", GATEWAY))

    def take(self, client, address):
        row = self.cp.up.rows.get(client.line)
        others = [mac for mac, a in self.told.items() if a == address and mac != client.mac]
        if others:
            self.wrong.append(f"{address} is {client.mac}'s and {others}'s")
        if row is None or row["ipv4"] != address:
            self.wrong.append(f"{client.mac} was told {address}, and the user plane has {row}")
        self.told[client.mac] = address
        self.acks += 1


@pytest.mark.limit(240)
@pytest.mark.parametrize("seed", [1, 2])
def test_killed_at_random_moments(control_plane, seed):
    """A pool that is scarcely larger than what is in use, so that addresses change hands at once."""
    cp = control_plane(LAST="10.64.0.52")
    storm = Storm(cp, 60, seed)
    storm.start()
    for _ in storm.kills(0.05, 0.4):
        cp.kill()
        cp.start()
    storm.ending.set()
    storm.join(limit(20))
    assert not storm.is_alive() and storm.acks > 100
    assert not storm.wrong, "\n".join(storm.wrong)
    end = time.monotonic() + limit(10)  # releases that are under way
    while time.monotonic() < end and not all(addresses(cp).get(storm.clients[m].line) == a for m, a in storm.told.items()):
        time.sleep(0.05)
    for mac, address in storm.told.items():
        assert addresses(cp).get(storm.clients[mac].line) == address, mac
