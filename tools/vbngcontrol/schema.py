# SPDX-License-Identifier: BSD-3-Clause
"""The JSON schemas of what commands print with --json: files in the folder schema beside this one."""

import os

from .gateway import Refused

FOLDER = os.path.join(os.path.dirname(os.path.realpath(__file__)), "schema")
# Commands that print what they have changed share one.
DONE = ("add-subscriber", "add-subscribers", "remove-subscriber", "remove-subscribers", "set-mac", "set-name", "add-route", "add-routes",
        "change-route", "change-routes", "remove-route", "remove-routes", "set-profile", "set-profiles", "set-subport-rate", "set-dscp", "start-stream", "stop-stream", "set-rate", "stop-capture", "disconnect")
SHARED = {"capture": "show-capture"}


def path(words):
    """The file with the schema of a command. Raises Refused where there is none."""
    command = "-".join(words)
    name = "done" if command in DONE else SHARED.get(command, command)
    found = os.path.join(FOLDER, f"{name}.json")
    if command in ("done",) or not all(c.isalnum() or c == "-" for c in command) or not os.path.exists(found):
        raise Refused(f"there is no schema of '{' '.join(words)}': vbngctl schema lists them")
    return found


def commands():
    """All commands that have one."""
    own = [name[: -len(".json")] for name in os.listdir(FOLDER) if name.endswith(".json") and name != "done.json"]
    return sorted([c.replace("show-", "show ") for c in own] + [*DONE, *SHARED])


def schema(_, args):
    """Print a schema, or the commands that have one."""
    if not args.command:
        print("\n".join(commands()))
        return
    with open(path(args.command), encoding="utf-8") as f:
        print(f.read(), end="")
