# SPDX-License-Identifier: BSD-3-Clause
"""The gateway in one network namespace, its tester in another, by each kind of device that a container can have."""

import pytest

from tests.common.verdict import params
from tests.container.inside import KINDS
from tests.container.namespaces import judge_inside


@pytest.mark.parametrize("kind", params(((kind,) for kind in KINDS), short=("memif", "af_packet on veth", "af_packet that overflows").__contains__))
def test_container(vbng, folder, kind):
    judge_inside("tests.container.inside", vbng, kind, folder)
