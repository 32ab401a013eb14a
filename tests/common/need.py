# SPDX-License-Identifier: BSD-3-Clause
"""What a test needs of the machine. Each function skips the test, or the whole module at its import, with the reason and what mends it."""

import importlib
import os
import shutil

import pytest

from vbnglab.lab.failure import not_installed


def skip(why):
    __tracebackhide__ = True
    pytest.skip(why, allow_module_level=True)


def program(name, package=None):
    """The path of a program. Skips if it is not installed."""
    __tracebackhide__ = True
    path = shutil.which(name)
    if path is None:
        skip(f"{name} is not installed (Debian package {package or name})")
    return path


def module(name, package):
    """The Python module of that name. Skips if it is not installed."""
    __tracebackhide__ = True
    try:
        return importlib.import_module(name)
    except ImportError:
        skip(not_installed(f"Python's {name}", package))


def fetched(name):
    """A Python module that tests/requirements.txt brings. Skips if it could not be fetched."""
    __tracebackhide__ = True
    try:
        return importlib.import_module(name)
    except ImportError as e:
        skip(f"{e}: the build could not fetch tests/requirements.txt (ninja tries again)")


def root(what):
    """Skips unless the tests run as root."""
    __tracebackhide__ = True
    if os.geteuid() != 0:
        skip(f"{what} needs root: run the tests with sudo")


def no_sanitizer(binary, why):
    """Skips for a program that was built with AddressSanitizer."""
    __tracebackhide__ = True
    with open(binary, "rb") as f:
        if b"__asan_init" in f.read():
            skip(f"not with AddressSanitizer: {why}")
