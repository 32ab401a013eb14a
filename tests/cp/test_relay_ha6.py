# SPDX-License-Identifier: BSD-3-Clause
"""Two ISC Kea of DHCPv6 behind vbng-cp that know each other's leases (hot standby), each with a DUID of its own: either is killed while lines get, renew and
release addresses and prefixes."""

import queue
import random
import subprocess
import threading
import time

import pytest

from tests.cp.client import ControlPlane, Ether
from tests.cp.client6 import (
    DHCP6_Advertise, DHCP6_Rebind, DHCP6_Release, DHCP6_Renew, DHCP6_Reply, DHCP6_Request, DHCP6_Solicit, DHCP6OptServerId, Client6, address_of, prefix_of)
from tests.cp.kea import free_port
from tests.cp.test_relay6 import CONFIG, SUBNET
from tests.cp.test_relay_ha import PORTS, in_step, kill_each, pair, until

ADDRESSES = {"one": "2001:db8:2::1", "two": "2001:db8:2::2"}


@pytest.fixture
def keas(folder, own_network):
    for address in ADDRESSES.values():
        subprocess.run(["ip", "addr", "add", f"{address}/128", "dev", "lo"], check=True)
    config = {name: {"subnet6": [SUBNET], "server-id": {"type": "EN", "enterprise-id": 1, "identifier": f"0{n}" * 8, "persist": False}}
              for n, name in enumerate(ADDRESSES)}
    found = pair(folder, 6, ADDRESSES, **config)
    yield found
    for kea in found.values():
        kea.close()


class Storm6(threading.Thread):
    """Clients that get an address and a prefix, renew and release them, all at once, whoever is killed meanwhile. What a client was told is in
    `told`, until it has said that it gives that back."""

    def __init__(self, cp, n, seed):
        super().__init__(daemon=True)
        self.cp, self.clients = cp, {c.mac: c for c in (Client6(cp, i) for i in range(1, n + 1))}
        self.told, self.acks, self.by = {}, 0, set()  # by: the servers that have given something
        self.random = random.Random(seed)
        self.wrong, self.ending = [], threading.Event()

    def run(self):
        while not self.ending.is_set():
            self.step()

    def say(self, client, kind, *options, **fields):
        try:
            client.say(kind, *options, **fields)
        except (OSError, AttributeError):  # nobody is there: as a frame that is lost
            time.sleep(0.01)

    def step(self):
        client = self.random.choice(list(self.clients.values()))
        chance = self.random.random()
        if client.mac not in self.told:
            self.say(client, DHCP6_Solicit, client.na(), client.pd())
        elif chance < 0.2:
            del self.told[client.mac]
            self.say(client, DHCP6_Release, *client.own(), server=client.server)
        elif chance < 0.6:
            self.say(client, DHCP6_Renew, *client.own(), server=client.server)
        else:  # as when its server does not answer
            self.say(client, DHCP6_Rebind, *client.own())
        self.hear()

    def hear(self):
        while True:
            try:
                _, frame = self.cp.up.frames.get(timeout=0.002)
            except queue.Empty:
                return
            got = Ether(frame)
            client, is_offer = self.clients[got.dst], DHCP6_Advertise in got
            reply = got[DHCP6_Advertise if is_offer else DHCP6_Reply]
            if reply.trid != client.xid:
                continue
            if is_offer and address_of(reply) and prefix_of(reply):
                self.say(client, DHCP6_Request, client.na(), client.pd(), server=reply[DHCP6OptServerId].duid)
            elif not is_offer and address_of(reply) and prefix_of(reply):
                self.take(client, reply)
            elif not is_offer and client.mac in self.told:
                self.wrong.append(f"{client.mac} lost {self.told[client.mac]}: {reply.show(dump=True)}")

    def take(self, client, reply):
        client.take(reply)
        given = (client.address, client.prefix)
        others = [mac for mac, had in self.told.items() if set(had) & set(given) and mac != client.mac]
        if others:
            self.wrong.append(f"{given} is {client.mac}'s and {others}'s")
        if client.row() != (None, *given):
            self.wrong.append(f"{client.mac} was told {given}, and the user plane has {client.row()}")
        if self.told.get(client.mac, given) != given:
            self.wrong.append(f"{client.mac} had {self.told[client.mac]}, and has {given}")
        self.told[client.mac] = given
        self.by.add(bytes(client.server))
        self.acks += 1


@pytest.mark.long
@pytest.mark.limit(120)
def test_either_is_killed(build, folder, keas):
    """No address or prefix is told twice, no session lost; who asks all servers is answered by the one that lives."""
    both = [keas["one"], keas["two"]]
    in_step(both)
    cp = ControlPlane(build, str(folder), CONFIG, KEAPORT=str(PORTS[6]), OWNPORT=str(free_port("::1")), RELAY='timeout = "100ms"; dead_time = "300ms";',
                      SERVERS=str(list(ADDRESSES.values())).replace("'", '"'))
    storm = Storm6(cp, 30, 1)
    kill_each(both, storm)
    assert not storm.wrong, "\n".join(storm.wrong)
    assert len(storm.by) == 2, "each server has given something"
    until(lambda: all(storm.clients[mac].row() == (None, *had) for mac, had in storm.told.items()), lambda: (storm.told, cp.up.rows))
    wanted = {block.split("/")[0] for had in storm.told.values() for block in had}
    until(lambda: all(wanted <= set(kea.held()) for kea in both), lambda: [sorted(wanted - set(kea.held())) for kea in both])
    cp.close()
