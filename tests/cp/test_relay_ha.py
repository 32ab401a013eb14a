# SPDX-License-Identifier: BSD-3-Clause
"""Two ISC Kea behind vbng-cp that know each other's leases (hot standby): either is killed while lines get, renew and release addresses."""

import re
import subprocess
import time

import pytest

from tests.common.limits import limit
from tests.cp.client import ControlPlane
from tests.cp.kea import Kea, hooks, need_kea
from tests.cp.test_relay import CONFIG, SUBNET
from tests.cp.test_restarts import Storm, addresses

PORTS = {4: 67, 6: 547}  # in a network namespace of our own


def state(kea):
    """What the server says of itself last: hot-standby, partner-down and others."""
    found = re.findall(r"server transitions from \S+ to (\S+) state", kea.text())
    return found[-1].lower() if found else None


def pair(folder, family, addresses, **config):
    """{name: Kea} of two that compare their leases, at these addresses of lo; config: of each, by its name. One gives addresses; the other does when that is
    dead for a second."""
    need_kea(family)
    loopback = dict(zip(addresses, ("127.0.0.1", "127.0.0.5")))  # where they speak with each other
    for words in ("link set lo up", "addr add 127.0.0.5/8 dev lo"):
        subprocess.run(["ip", *words.split()], check=True)
    peers = [{"name": name, "url": f"http://{loopback[name]}:8000/", "role": role} for name, role in zip(addresses, ("primary", "standby"))]
    found = {}
    for name, address in addresses.items():
        ha = {"this-server-name": name, "mode": "hot-standby", "heartbeat-delay": 300, "max-response-delay": 1000, "max-ack-delay": 300,
              "max-unacked-clients": 0, "multi-threading": {"enable-multi-threading": True, "http-dedicated-listener": True}, "peers": peers}
        found[name] = Kea(str(folder), family, PORTS[family], address, name=name, **{
            "valid-lifetime": 600, "multi-threading": {"enable-multi-threading": True, "thread-pool-size": 1},
            "hooks-libraries": hooks(("lease_cmds", None), ("ha", {"high-availability": [ha]})), **config[name]})
    return found


@pytest.fixture
def keas(folder, own_network):
    config = {"subnet4": [SUBNET]}
    found = pair(folder, 4, {"one": "127.0.0.1", "two": "127.0.0.5"}, one=config, two=config)
    yield found
    for kea in found.values():
        kea.close()


def until(condition, said):
    end = time.monotonic() + limit(20)
    while not condition():
        assert time.monotonic() < end, said()
        time.sleep(0.02)


def in_step(keas):
    """Wait until each knows what the other does."""
    until(lambda: [state(kea) for kea in keas] == ["hot-standby"] * 2, lambda: [state(kea) for kea in keas])


def kill_each(both, storm):
    """Kill either, and start it again, while lines get, renew and release addresses; the other one takes over."""
    storm.start()
    try:
        for victim, other in (both, both[::-1]):
            acks = storm.acks
            until(lambda n=acks: storm.acks > n + 50, lambda: storm.wrong)
            victim.kill()
            until(lambda kea=other: state(kea) == "partner-down", other.text)
            acks = storm.acks
            until(lambda n=acks: storm.acks > n + 50, lambda: (storm.wrong, storm.cp.text()[-3000:]))
            victim.start()
            in_step(both)
    finally:
        storm.ending.set()
        storm.join(limit(20))


@pytest.mark.long
@pytest.mark.limit(120)
def test_either_is_killed(build, folder, keas):
    """No address is told twice, no session lost; who renews is answered by the one that lives."""
    both = [keas["one"], keas["two"]]
    text = CONFIG.replace('"127.0.0.1"', '["127.0.0.1", "127.0.0.5"]')
    in_step(both)
    cp = ControlPlane(build, str(folder), text, KEAPORT=str(PORTS[4]), OWNPORT=str(PORTS[4]), RELAY='timeout = "100ms"; dead_time = "300ms";', EXTRA="")
    storm = Storm(cp, 30, 1)
    kill_each(both, storm)
    assert not storm.wrong, "\n".join(storm.wrong)
    until(lambda: all(addresses(cp).get(storm.clients[m].line) == a for m, a in storm.told.items()), lambda: (storm.told, addresses(cp)))
    until(lambda: all(set(storm.told.values()) <= set(kea.held()) for kea in both), lambda: [sorted(kea.held()) for kea in both])
    cp.close()
