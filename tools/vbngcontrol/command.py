# SPDX-License-Identifier: BSD-3-Clause
"""The program vbngctl."""

import os
import sys

from . import sessions
from .gateway import Gateway, Refused
from .parser import parser
from .shell import shell


def main():
    """Run a command. Returns the exit status."""
    top = parser()
    args = top.parse_args()
    if not hasattr(args, "run"):
        if not sys.stdin.isatty():
            top.error("expected a COMMAND")
        args.run = shell
    try:
        if getattr(args, "alone", False):
            return args.run(None, args) or 0
        if getattr(args, "cp", False):
            return args.run(sessions.connect(args, args.socket), args) or 0
        args.socket = args.socket or os.environ.get("VBNG_SOCKET")
        if args.socket is None:
            print("vbngctl: which vbng? expected --socket PATH or $VBNG_SOCKET", file=sys.stderr)
            return 2
        return args.run(Gateway(args.socket, args.timeout), args) or 0
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (Refused, OSError) as e:
        print(f"vbngctl: {e}", file=sys.stderr)
        return 1
