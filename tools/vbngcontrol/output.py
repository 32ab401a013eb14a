# SPDX-License-Identifier: BSD-3-Clause
"""Answers as text for people, or as JSON for programs."""

import json
import unicodedata


def show_json(answer):
    """An answer as JSON, of which a schema says the form (vbngctl schema)."""
    print(json.dumps(answer, indent=2))


def safe(text):
    """A text without what would control a terminal; vbng lets no such names in, whoever else may."""
    return "".join(c if c.isprintable() else "?" for c in str(text))


def _width(text):
    """The columns that a text takes in a terminal."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def table(head, rows):
    """Print rows below a line of names. A column of numbers, of which some may be missing, stands to the right."""
    cells = [[safe("-" if cell is None or cell == "" else cell) for cell in row] for row in rows]
    widths = [max(map(_width, column)) for column in zip(head, *cells)]
    kinds = [{isinstance(row[i], (int, float)) for row in rows if row[i] is not None} for i in range(len(head))]
    right = [kind == {True} for kind in kinds]
    for row in [list(head), *cells]:
        padded = ((" " * (w - _width(c)) + c) if r else (c + " " * (w - _width(c))) for c, w, r in zip(row, widths, right))
        print("  ".join(padded).rstrip())


def fields(pairs):
    """Print names with their values, a line each."""
    width = max(len(name) for name, _ in pairs)
    for name, value in pairs:
        print(f"{name:<{width}}  {safe('-' if value in (None, '') else value)}")
