# SPDX-License-Identifier: BSD-3-Clause
"""vbng-cp beside a user plane, for each test anew."""

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
