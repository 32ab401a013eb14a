# SPDX-License-Identifier: BSD-3-Clause
"""Verdicts of tests that look for all that is wrong, instead of ending with the first fault."""

import re

import pytest


def nothing(wrong):
    """Fails with each text of a list, a line each; passes for an empty one."""
    __tracebackhide__ = True
    assert not wrong, "\n".join(["", *wrong])


def judge(found):
    """Skips if a case returned a text, which says why it could not run; a list is what is wrong, as for nothing()."""
    __tracebackhide__ = True
    if isinstance(found, str):
        pytest.skip(found)
    nothing(found)


def params(cases):
    """Parameters of a test from tuples that begin with a title: one test each, whose id is the title with hyphens."""
    return [pytest.param(*case, id="-".join(re.findall(r"[\w.]+", case[0]))) for case in cases]
