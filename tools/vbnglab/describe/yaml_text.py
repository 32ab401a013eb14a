# SPDX-License-Identifier: BSD-3-Clause
"""Strings and sizes as the YAML forms write them."""

import json

MIB = 1 << 20


def quoted(text):
    """A string as JSON quotes it, which YAML reads as the same string."""
    return json.dumps(text, ensure_ascii=False)


def block(text, indent):
    """A text of several lines as a literal block of YAML behind "key: ", at an indent of so many blanks, twice that of the key. Control characters,
    which no block may have, make it a quoted string."""
    if not text or any(not c.isprintable() and c not in "\n\t" for c in text):
        return quoted(text) + "\n"
    keep = "+" if text.endswith("\n\n") else "-" if not text.endswith("\n") else ""
    lines = text.removesuffix("\n").split("\n")
    return f"|{indent // 2}{keep}\n" + "".join(f"{' ' * indent}{line}\n" if line else "\n" for line in lines)


def mebibytes(size):
    """Bytes in MiB, rounded up."""
    return -(-size // MIB)


def huge_bytes(memory):
    """Bytes of all huge pages of a description's memory; 0 without."""
    huge = memory["hugepages"]
    return huge["pages"] * huge["page_bytes"] if huge else 0
