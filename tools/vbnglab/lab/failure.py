# SPDX-License-Identifier: BSD-3-Clause
"""Failures that a command reports in a line, without a traceback."""


class Failure(Exception):
    """The command cannot go on; the text says why and what to do. status: the exit status of the command."""

    status = 1
