# SPDX-License-Identifier: BSD-3-Clause
"""Subscribers as the command line names them."""


def subscriber(words):
    """An id, or PORT SVLAN.CVLAN, as the requests want it."""
    if len(words) == 1 and words[0].isdigit():
        return int(words[0])
    return " ".join(words)


def given(args, *names):
    """The optional keys of a request that were given."""
    return {name: getattr(args, name) for name in names if getattr(args, name) is not None}
