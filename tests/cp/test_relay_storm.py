# SPDX-License-Identifier: BSD-3-Clause
"""Lines that get, renew and release the addresses of Kea while it and vbng-cp are killed: no session that was acknowledged is lost, and no address told twice."""

import time

import pytest

from tests.common.limits import limit
from tests.cp.client import GATEWAY, ControlPlane
from tests.cp.kea import Kea
from tests.cp.test_relay import CONFIG, DEFAULTS, SUBNET
from tests.cp.test_restarts import Storm, addresses

pytestmark = pytest.mark.long


@pytest.mark.limit(240)
def test_killed_at_random_moments(build, folder, relay_port):
    kea = Kea(str(folder), **{"valid-lifetime": 600, "subnet4": [SUBNET]})
    cp = ControlPlane(build, str(folder), CONFIG, KEAPORT=str(kea.port), OWNPORT=relay_port, **DEFAULTS)
    storm = Storm(cp, 60, 1)
    storm.start()
    for i in storm.kills(0.1, 0.5):
        victim = kea if i % 3 == 2 else cp
        victim.kill()
        victim.start()
    storm.ending.set()
    storm.join(limit(20))
    assert not storm.is_alive() and storm.acks > 100
    assert not storm.wrong, "\n".join(storm.wrong)
    end = time.monotonic() + limit(10)  # releases that are under way
    while time.monotonic() < end and any(addresses(cp).get(storm.clients[m].line) != a for m, a in storm.told.items()):
        time.sleep(0.05)
    for mac, address in storm.told.items():
        assert addresses(cp).get(storm.clients[mac].line) == address, mac
        assert kea.has(address) and address != GATEWAY
    cp.close()
    kea.close()
