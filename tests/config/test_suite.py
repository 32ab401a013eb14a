# SPDX-License-Identifier: BSD-3-Clause
"""The reader of bad/*.suite, and the judge of what vbng says about a case: both must be able to find something wrong."""

import pytest

from tests.config import suite
from tests.config.test_check import judge

GOOD = """# comment

=== one
# about it
expect: :2: error: x
expect: other.csv:1: error: y
args: --set a.b=1
--- config
first

third

--- file other.csv escaped
a\\0b\\n
\\xff

=== two
expect: :1: error: z
--- config
# a comment of the configuration
"""


def read(folder, text):
    path = folder / "x.suite"
    path.write_text(text)
    return suite.read(path)


def test_cases_are_read(folder):
    one, two = read(folder, GOOD)
    assert (one.name, one.expected, one.args) == ("one", [":2: error: x", "other.csv:1: error: y"], ["--set", "a.b=1"])
    assert one.files == {"one.cfg": b"first\n\nthird\n", "other.csv": b"a\0b\n\xff"}
    assert (two.name, two.files, two.source) == ("two", {"two.cfg": b"# a comment of the configuration\n"}, f"{folder}/x.suite:17")


@pytest.mark.parametrize("change, says", [
    (("=== two", "=== one"), ":17: there are two cases 'one'"),
    (("expect: :1: error: z\n", ""), "'two' expects nothing"),
    (("--- config\nfirst", "--- file x"), ":16: case 'one' has no part"),
    (("--- file other.csv escaped", "--- file other.csv quoted"), ":13: expected '--- config'"),
    (("--- file other.csv escaped", "--- config"), ":13: expected '--- config'"),
    (("args: ", "arg: "), ":7: expected 'expect: TEXT'"),
    (("# comment", "comment"), ":1: expected"),
])
def test_mistakes_are_told(folder, change, says):
    assert change[0] in GOOD
    with pytest.raises(ValueError, match="x.suite:") as e:
        read(folder, GOOD.replace(*change, 1))
    assert says in str(e.value)


@pytest.mark.parametrize("status, stderr, says", [
    (1, "/x/one.cfg:2: error: x\nother.csv:1: error: y\nwarning", []),
    (0, "/x/one.cfg:2: error: x\nother.csv:1: error: y", ["exit status 0 instead of 1"]),
    (1, "/x/one.cfg:3: error: x\nother.csv:1: error: y", ["not printed: :2: error: x", "unexpected: /x/one.cfg:3: error: x"]),
    (1, "other.csv:2: error: x\nother.csv:1: error: y", ["not printed: :2: error: x", "unexpected: other.csv:2: error: x"]),
    (1, "/x/one.cfg:2: error: x", ["not printed: other.csv:1: error: y"]),
    (1, "/x/one.cfg:2: error: x\nother.csv:1: error: y\none.cfg:9: error: z", ["unexpected: one.cfg:9: error: z"]),
    (1, "killed", ["not printed: :2: error: x", "not printed: other.csv:1: error: y", "stderr: killed"]),
])
def test_answers_are_judged(folder, status, stderr, says):
    assert judge(read(folder, GOOD)[0], status, stderr) == says
