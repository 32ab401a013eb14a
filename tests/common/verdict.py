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


def params(cases, short=lambda title: True):
    """Parameters of a test from tuples that begin with a title: one test each, whose id is the title with hyphens. Those of whose
    titles short() is true are in the short run."""
    return [pytest.param(*case, id="-".join(re.findall(r"[\w.]+", case[0])), marks=unless(short(case[0]))) for case in cases]


def unless(short):
    """The marks of a test that is in the short run, or is not."""
    return () if short else pytest.mark.long
