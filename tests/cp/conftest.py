# SPDX-License-Identifier: BSD-3-Clause
"""vbng-cp beside a user plane, for each test anew."""

import subprocess

import pytest


@pytest.fixture
def control_plane(build, folder):
    """A function: start vbng-cp with values of its configuration. It ends well at the end of the test."""
    from tests.cp.client import ControlPlane  # needs Scapy

    started = []

    def start(**values):
        started.append(ControlPlane(build, str(folder), **values))
        return started[-1]

    yield start
    for cp in started:
        cp.close()


@pytest.fixture
def cp(control_plane):
    return control_plane()


@pytest.fixture(scope="module")
def relay_port(request):
    """The port of a relay of DHCPv4 to Kea: its own, or 67 where Kea answers to no other, in a network namespace, where nobody else has that. Whatever
    talks to either has to come after it."""
    from tests.cp.kea import answers_any_port, free_port

    if answers_any_port():
        return str(free_port())
    request.getfixturevalue("own_network")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    return "67"
