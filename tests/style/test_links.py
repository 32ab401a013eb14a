# SPDX-License-Identifier: BSD-3-Clause
"""Every link of the documentation to a file, a folder or a heading of this repository leads somewhere."""

import pathlib
import re

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
PAGES = sorted([*TOP.glob("*.md"), *TOP.glob("doc/**/*.md"), *TOP.glob("tests/*.md")])
LINK = re.compile(r"\]\(([^)\s]+)\)")


def anchors(page):
    """The anchors that a forge makes of the headings."""
    heads = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in heads}


def dead(page):
    for target in LINK.findall(re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path) if path else page
        if not there.exists() or anchor and anchor not in anchors(there):
            yield target


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(TOP)))
def test_links(page):
    assert list(dead(page)) == []
