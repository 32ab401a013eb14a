#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Must-fail configurations, and those that must not.

usage: run.py VBNG

Each bad/*.cfg says in its first lines what `VBNG --check` must print about it:

    # expect: :12: error: key 'mtu': value '99999': expected 68..9198
    # args: --topology 1x2x1          (optional: further options; paths start in bad/)

Each expected text must be in a line of its own, there must be no further line with an error, and
the exit status must be 1. Each ../../cfg/*.cfg must pass with exit status 0 and the word OK.
"""

import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
CFG = HERE.parent.parent / "cfg"
TIME_LIMIT = 30  # seconds for one file


def check(vbng, path, args=()):
    return subprocess.run([vbng, "--check", *args, str(path)], capture_output=True, text=True,
                          timeout=TIME_LIMIT, errors="replace", cwd=HERE / "bad")


def directives(path, word):
    """The texts after '# WORD: ' in the leading comment lines of a file."""
    found = []
    for line in path.read_text(errors="replace").splitlines():
        if not line.startswith("#"):
            break
        if line.startswith(f"# {word}: "):
            found.append(line[len(word) + 4:])
    return found


def bad(vbng, path):
    """What is wrong with the answer to a must-fail configuration: a list of texts."""
    expected = directives(path, "expect")
    args = " ".join(directives(path, "args")).split()
    answer = check(vbng, path, args)
    wrong = []
    if not expected:
        wrong.append("the file expects nothing")
    if answer.returncode != 1:
        wrong.append(f"exit status {answer.returncode} instead of 1")
    lines = [line for line in answer.stderr.splitlines() if "error:" in line]
    for text in expected:
        match = next((line for line in lines if text in line), None)
        if match is None:
            wrong.append(f"not printed: {text}")
        else:
            lines.remove(match)
    wrong += [f"unexpected: {line}" for line in lines]
    if wrong and "error:" not in answer.stderr:
        wrong.append(f"stderr: {answer.stderr.strip()[-400:]}")
    return wrong


def good(vbng, path):
    answer = check(vbng, path)
    wrong = []
    if answer.returncode != 0:
        wrong.append(f"exit status {answer.returncode} instead of 0")
    if "OK" not in answer.stdout:
        wrong.append("no OK")
    if wrong:
        wrong += answer.stderr.splitlines()[:10]
    return wrong


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    vbng = pathlib.Path(sys.argv[1]).resolve()
    cases = [(bad, p) for p in sorted((HERE / "bad").glob("*.cfg"))]
    cases += [(good, p) for p in sorted(CFG.glob("*.cfg"))]
    failed = 0
    for judge, path in cases:
        try:
            wrong = judge(vbng, path)
        except subprocess.TimeoutExpired:
            wrong = [f"took longer than {TIME_LIMIT} s"]
        if wrong:
            failed += 1
            print(f"FAIL {path.name}")
            for text in wrong:
                print(f"     {text}")
    print(f"{len(cases) - failed} passed, {failed} failed")
    return 1 if failed or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
