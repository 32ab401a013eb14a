# SPDX-License-Identifier: BSD-3-Clause
"""The documents that repeat what vbng says of its types of task are as tools/manual writes them, and CONTRIBUTING.md has the diff that
test_add_task.py applies."""


def test_the_man_page_and_the_list_of_drops_are_up_to_date(vbng, run, top):
    answer = run(top / "tools/manual", "--check", "--vbng", vbng)
    assert answer.returncode == 0, answer.stdout + answer.stderr


def test_contributing_has_the_diff_that_adds_a_task(top):
    diff = (top / "tests/schema/example-task.diff").read_text(encoding="utf-8")
    assert f"```diff\n{diff}```\n" in (top / "CONTRIBUTING.md").read_text(encoding="utf-8")
