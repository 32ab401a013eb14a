# SPDX-License-Identifier: BSD-3-Clause
"""Options that several commands take."""

import argparse

# Metavariables of paths: completion offers files or folders for them.
FILES = ("FILE", "CONFIG", "CONFIG2", "RESULT")
FOLDERS = ("DIR",)


def setting(text):
    """The pair (KEY, VALUE) of a KEY=VALUE. Raises argparse.ArgumentTypeError where either is missing."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise argparse.ArgumentTypeError(f"{text!r}: expected TASK.PARAM=VALUE")
    return key, value


def between(low, high, number=float):
    """A type of argparse: a number from low to high, both included. number: float, or int for whole numbers."""

    def convert(text):
        try:
            value = number(text)
        except ValueError:
            value = None
        if value is None or not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{text!r}: expected {low:g} to {high:g}")
        return value

    return convert


def add_vbng(parser):
    """Add --vbng, which lab.run.binary() resolves."""
    parser.add_argument("--vbng", metavar="FILE", help="the program vbng (default: $VBNG, else build/vbng, else that of $PATH)")


def add_settings(parser):
    """Add --set, which may be repeated: a list of pairs."""
    parser.add_argument("--set", type=setting, action="append", default=[], metavar="TASK.PARAM=VALUE", help="as for vbng; may be repeated")


def add_telemetry(parser):
    """Add --telemetry, the path of a telemetry socket; None stands for that of the only vbng that runs."""
    parser.add_argument("--telemetry", dest="socket", metavar="FILE", help="telemetry socket of the vbng (default: of the only one that runs)")
