#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs all unit tests of tools/vbnglab that tools/measure is made of; needs no vbng."""

import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "tools")]

if __name__ == "__main__":
    unittest.main(module=None, argv=["unit.py", "discover", "-s", HERE, "-p", "test_*.py", *sys.argv[1:]])
