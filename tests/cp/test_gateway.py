# SPDX-License-Identifier: BSD-3-Clause
"""vbng-cp beside vbng itself, with clients of others."""

import pytest

from tests.common import need
from tests.container.namespaces import judge_inside


@pytest.mark.limit(200)
def test_dhclient(vbng, build, folder):
    from tests.cp.client import program  # needs Scapy

    need.program("dhclient", "isc-dhcp-client")
    judge_inside("tests.cp.dhclient", vbng, program(build), folder, seconds=180)


@pytest.mark.long
@pytest.mark.limit(200)
def test_dhclient_and_kea(vbng, build, folder):
    """The same, where both families are relayed."""
    from tests.cp.client import program  # needs Scapy

    need.program("dhclient", "isc-dhcp-client")
    need.program("kea-dhcp4", "kea-dhcp4-server")
    need.program("kea-dhcp6", "kea-dhcp6-server")
    judge_inside("tests.cp.dhclient", vbng, program(build), folder, "relay", seconds=180)
