# SPDX-License-Identifier: BSD-3-Clause
"""Signals that end a command."""

import signal


def _interrupt(number, _frame):
    raise KeyboardInterrupt(signal.Signals(number).name)


def stop_cleanly():
    """From now on SIGINT and SIGTERM both raise KeyboardInterrupt, whose argument is the name of the signal."""
    signal.signal(signal.SIGINT, _interrupt)
    signal.signal(signal.SIGTERM, _interrupt)
