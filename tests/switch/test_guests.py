# SPDX-License-Identifier: BSD-3-Clause
"""The VNFs of a switch in guests, as in the papers: each packet is found again on its way through switch and guests."""

import pytest

from tests.common import guests
from tests.switch import bed
from vbnglab.switches import adapters, bench
from vbnglab.switches.guests import Guests

# switch, scenario, number, mode
GUESTS = (
    ("testpmd", "loopback", 4, "patch"),
    ("testpmd", "bng", 1, "patch"),
    ("testpmd", "chain", 1, "patch"),
    ("basicfwd", "loopback", 1, "patch"),
    ("ovs-dpdk", "loopback", 2, "patch"),
    ("ovs-dpdk", "loopback", 3, "patch"),
    ("ovs-dpdk", "loopback", 4, "patch"),
    ("ovs-dpdk", "bng", 1, "patch"),
    ("linux-bridge", "loopback", 2, "patch"),
    ("linux-bridge", "loopback", 3, "patch"),
    ("linux-bridge", "loopback", 4, "patch"),
    ("linux-bridge", "bng", 1, "learn"),
    ("ip-forward", "loopback", 1, "learn"),
    ("ip-forward", "loopback", 4, "learn"),
    ("vpp", "bng", 1, "patch"),  # these where someone has brought them
    ("vpp", "loopback", 2, "learn"),
    ("bess", "bng", 1, "patch"),
    ("bess", "loopback", 2, "patch"),
    ("snabb", "loopback", 1, "patch"),
    ("snabb", "bng", 1, "patch"),
    ("fastclick", "loopback", 1, "patch"),
    ("fastclick", "bng", 1, "patch"),
    ("t4p4s", "bng", 1, "learn"),
)
SETTLE = 2.0  # an emulated CPU may be away for longer than a process
pytestmark = [pytest.mark.limit(400), pytest.mark.long]


@pytest.fixture(scope="module")
def program(build):
    """The program for guests. Asked for before own_network, from which no mirror is in reach: the guests' kernel is fetched where it is absent."""
    path = guests.program(build)
    guests.needed(path)
    return path


@pytest.mark.parametrize("name, scenario, number, mode", [pytest.param(*case, id=": ".join(map(str, case))) for case in GUESTS])
def test_guests(program, own_network, vbng, folder, name, scenario, number, mode):
    bed.installed(adapters.ALL[name])
    bed.all_found_again(bench.make(adapters.ALL[name], bench.Setup(scenario, number, mode, vnf_in="guest"), str(folder), bed.cpus(), vbng,
                                   places=Guests(program)), SETTLE)
