#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The pictures of plans in doc/plan.md.

usage: pictures.py VBNG     write them anew
"""

import pathlib
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE = TOP / "doc/plan.md"
FENCE = "```\n"


def picture(plan):
    """The text of a plan without its tables."""
    return plan.split("\ncores\n")[0]


def pictures(blocks):
    """(index, configuration) of each plan among the parts of a page between its fences."""
    for i in range(1, len(blocks), 2):
        path = TOP / f"cfg/{blocks[i].split(':')[0]}.cfg"
        if path.exists():
            yield i, path


def main(vbng):
    blocks = PAGE.read_text().split(FENCE)
    for i, path in pictures(blocks):
        blocks[i] = picture(subprocess.run([vbng, "--plan=text", str(path)], capture_output=True, text=True, timeout=60,
                                           check=True).stdout)
    PAGE.write_text(FENCE.join(blocks))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
