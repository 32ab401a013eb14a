# SPDX-License-Identifier: BSD-3-Clause
"""Strings and sizes as the YAML forms write them."""

import json

MIB = 1 << 20


def quoted(text):
    """A string as JSON quotes it, which YAML reads as the same string."""
    return json.dumps(text, ensure_ascii=False)


def mebibytes(size):
    """Bytes in MiB, rounded up."""
    return -(-size // MIB)


def huge_bytes(memory):
    """Bytes of all huge pages of a description's memory; 0 without."""
    huge = memory["hugepages"]
    return huge["pages"] * huge["page_bytes"] if huge else 0
