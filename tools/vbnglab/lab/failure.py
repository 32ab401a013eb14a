# SPDX-License-Identifier: BSD-3-Clause
"""Failures that a command reports in a line, without a traceback."""

import os
import sys

DEBIANS = "/usr/bin/python3"  # the Python to which Debian's packages belong


class Failure(Exception):
    """The command cannot go on; the text says why and what to do. status: the exit status of the command."""

    status = 1


def not_installed(module, package):
    """The words for a Python module that is absent, and for what brings it. A Python other than Debian's, or an environment of its own, is named: the
    package would bring it nothing."""
    if sys.prefix == sys.base_prefix and os.path.realpath(sys.executable) == os.path.realpath(DEBIANS):
        return f"{module} is not installed (Debian package {package})"
    return f"{module} is not installed for {sys.executable} (Debian package {package} is for {DEBIANS})"
