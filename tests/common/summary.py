# SPDX-License-Identifier: BSD-3-Clause
"""What came out of a run of Meson's tests: why some were skipped, which failed, the checks within them, and the tests themselves.

usage: summary.py TESTLOG.JSON...
"""

import collections
import fileinput
import json
import re
import sys

CLOSING = re.compile(r"^(?:=+ )?\d+ (?:passed|failed|skipped|error)")
COUNT = re.compile(r"\b(\d+) (passed|failed|skipped|error)")
SKIPPED = re.compile(r"^SKIP(?:PED)? (.*)")
FAILED = re.compile(r"^(?:FAILED|ERROR) (.*)|^ *(.*\S) *FAILED$")  # of pytest; of a program in C
PASSED = ("OK", "EXPECTEDFAIL")


def checks(stdout):
    """{outcome: count} as the last line tells that has counts; programs in C do not count there what they say to skip."""
    found = [COUNT.findall(line) for line in stdout.splitlines() if CLOSING.match(line)]
    told = collections.Counter({what: int(n) for n, what in found[-1]} if found else {})
    told["skipped"] = max(told["skipped"], sum(line.startswith("SKIP ") for line in stdout.splitlines()))
    return told


def main(paths):
    tests, within, failed = collections.Counter(), collections.Counter(), []
    with fileinput.input(paths, encoding="utf-8") as logs:
        for test in map(json.loads, logs):
            stdout = test.get("stdout") or ""
            tests[test["result"]] += 1
            within += checks(stdout)
            for line in stdout.splitlines():
                if match := SKIPPED.match(line):
                    print(f"skipped in {test['name'].split(' / ')[-1]}: {match[1]}")
            if test["result"] not in (*PASSED, "SKIP"):
                says = [(match[1] or match[2])[:200] for line in stdout.splitlines() if (match := FAILED.match(line))]
                failed.append("; ".join([f"failed: {test['name'].split(' / ')[-1]} ({test['result']})", *says[:3]]))
    print(*failed, sep="\n", end="\n" if failed else "")
    passed, skipped = sum(tests[result] for result in PASSED), tests["SKIP"]
    print(f"checks within the tests: {within['passed']} passed, {within['failed'] + within['error']} failed, {within['skipped']} skipped")
    print(f"{passed} passed, {sum(tests.values()) - passed - skipped} failed, {skipped} skipped")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1:])
