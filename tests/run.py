#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs one suite for Meson: pytest with what tests/meson.build knows of the build.

usage: run.py VBNG BUILD [PYTEST OPTION...] FILE...

Exit status: 0 passed, 77 if all tests were skipped or pytest is not installed, else failed.
"""

import os
import pathlib
import sys

try:
    import pytest
except ImportError:
    print("SKIP all: pytest is not installed (Debian package python3-pytest)")
    sys.exit(77)

HERE = pathlib.Path(__file__).resolve().parent

if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    os.environ["VBNG"], os.environ["VBNG_BUILD"] = map(os.path.abspath, sys.argv[1:3])
    # Meson names files by way of the build folder, where pytest would not look for conftest.py.
    given = [os.path.realpath(a) if a.endswith(".py") else a for a in sys.argv[3:]]
    sys.exit(pytest.main(["-c", str(HERE / "pytest.ini"), "--rootdir", str(HERE), "-v", "--meson", *given]))
