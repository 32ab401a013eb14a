# SPDX-License-Identifier: BSD-3-Clause
"""The command lines of the programs, as parsers of argparse."""

import argparse
import json
import os
import re
import subprocess

from vbngcontrol import parser
from vbnglab import cli

TOOLS = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
OPTION = re.compile(r"^ +(?:-(\w), )?--([\w-]+)(\[?)([= ]?)([A-Z]\S*)?")


def lab():
    """vbng-lab, with the options of all its commands."""
    return cli.whole_parser()


def ctl():
    """vbngctl, with the options of all its commands."""
    return parser.parser()


def _printed(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def gateway(path):
    """vbng, whose options are read from what the program at path prints as its --help."""
    text, words = _printed(path, "--help"), json.loads(_printed(path, "--help", "json"))
    drops = words["drops"] + [d for task in words["tasks"] for d in task["drops"]]
    words = ["tasks", "drops", "json", *(task["type"] for task in words["tasks"]), *sorted({d["name"] for d in drops})]
    p = argparse.ArgumentParser(prog="vbng", add_help=False)
    for line in text.splitlines():
        for one in re.split(r"(?<=[A-Z]{2}), (?=--)", line):  # "--a GROUP, --b MODE"
            if match := OPTION.match(one if one is line else f" {one.strip()}"):
                short, name, optional, _, value = match.groups()
                names = [f"--{name}"] + ([f"-{short}"] if short else [])
                if name == "help":
                    p.add_argument(*names, nargs="?", choices=words)
                elif value and not optional:
                    p.add_argument(*names, metavar=value)
                else:
                    p.add_argument(*names, action="store_true")
    p.add_argument("file", metavar="FILE")
    return p


def subcommands(parser):
    """The action of argparse that holds the commands of a parser; None where it has none."""
    return next((a for a in parser._actions if isinstance(a, argparse._SubParsersAction)), None)
