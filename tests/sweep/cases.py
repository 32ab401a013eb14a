# SPDX-License-Identifier: BSD-3-Clause
"""Runs the functions test_... of a file, and says what became of each."""

import traceback


def run(names):
    """names: globals() of the file. Returns its exit status."""
    failed = 0
    for name, test in [(n, t) for n, t in names.items() if n.startswith("test_")]:
        try:
            test()
            print(f"ok   {name[5:]}: {test.__doc__}")
        except Exception:  # any of them fails the test, and the others still run
            failed += 1
            print(f"FAIL {name[5:]}: {test.__doc__}\n{traceback.format_exc()}")
    return failed != 0
