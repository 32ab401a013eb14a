# SPDX-License-Identifier: BSD-3-Clause
"""Subscribers as the command line names them, and next hops."""

import argparse


def subscriber(words):
    """An id, or PORT SVLAN.CVLAN, as the requests want it."""
    if len(words) == 1 and words[0].isdigit():
        return int(words[0])
    return " ".join(words)


def given(args, *names):
    """The optional keys of a request that were given."""
    return {name: getattr(args, name) for name in names if getattr(args, name) is not None}


def next_hop(text):
    """KEY=VALUE,... as an object of the list "nexthops"; the gateway says what is wrong with keys and values."""
    pairs = [part.partition("=") for part in text.split(",")]
    if not all(equals and value for _, equals, value in pairs):
        raise argparse.ArgumentTypeError("expected KEY=VALUE,KEY=VALUE")
    return {key.strip(): value.strip() for key, _, value in pairs}
