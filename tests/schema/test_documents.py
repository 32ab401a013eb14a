# SPDX-License-Identifier: BSD-3-Clause
"""The documents that repeat what vbng says of its types of task are as tools/manual writes them, and CONTRIBUTING.md has the diff that
test_add_task.py applies."""

import re


def test_the_man_page_and_the_list_of_drops_are_up_to_date(vbng, run, top):
    answer = run(top / "tools/manual", "--check", "--vbng", vbng)
    assert answer.returncode == 0, answer.stdout + answer.stderr


def test_every_document_is_linked(top):
    """The README leads to all of them, and no link leads nowhere."""
    readme = (top / "README.md").read_text(encoding="utf-8")
    assert [d.name for d in (top / "doc").glob("*.md") if f"(doc/{d.name})" not in readme] == []
    for document in (top / "README.md", *(top / "doc").glob("*.md")):
        for link in re.findall(r"\]\((?!https?:|#)([^)#]+)", document.read_text(encoding="utf-8")):
            assert (document.parent / link).exists(), f"{document.name}: {link}"


def test_contributing_has_the_diff_that_adds_a_task(top):
    diff = (top / "tests/schema/example-task.diff").read_text(encoding="utf-8")
    assert f"```diff\n{diff}```\n" in (top / "CONTRIBUTING.md").read_text(encoding="utf-8")
