# SPDX-License-Identifier: BSD-3-Clause
"""Configurations that `vbng --check` must refuse, each with the errors that it must tell; those of cfg/ must pass.

A case of bad/*.suite is one test; its name is the test's. Each expected text is in a line of its own, no other line has an error,
and the exit status is 1.
"""

import pathlib
import shutil

import pytest

from tests.config import suite

HERE = pathlib.Path(__file__).resolve().parent
CFG = HERE.parent.parent / "cfg"
PARTS = HERE / "bad/parts"  # which every case may include
CASES = [case for path in sorted((HERE / "bad").glob("*.suite")) for case in suite.read(path)]


def judge(case, status, stderr):
    """What is wrong with the answer to a case: a list of texts."""
    wrong = [] if status == 1 else [f"exit status {status} instead of 1"]
    lines = [line for line in stderr.splitlines() if "error:" in line]
    for expected in case.expected:
        # one that begins with a line number is about the configuration itself
        text = case.config + expected if expected.startswith(":") else expected
        match = next((line for line in lines if text in line), None)
        if match is None:
            wrong.append(f"not printed: {expected}")
        else:
            lines.remove(match)
    wrong += [f"unexpected: {line}" for line in lines]
    if wrong and "error:" not in stderr:
        wrong.append(f"stderr: {stderr.strip()[-400:]}")
    return wrong


def test_names_are_unique():
    names = [case.name for case in CASES]
    assert sorted(set(names)) == sorted(names)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_refused(vbng, run, folder, case):
    shutil.copytree(PARTS, folder / "parts")
    case.write(folder)
    answer = run(vbng, "--check", *case.args, folder / case.config, cwd=folder)
    wrong = judge(case, answer.returncode, answer.stderr)
    assert not wrong, "\n".join([f"{case.source}:", *wrong])


@pytest.mark.parametrize("path", sorted(CFG.glob("*.cfg")), ids=lambda path: path.stem)
def test_accepted(vbng, run, path):
    answer = run(vbng, "--check", path)
    assert (answer.returncode, "OK" in answer.stdout) == (0, True), answer.stderr[:2000]
