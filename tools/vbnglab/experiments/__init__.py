# SPDX-License-Identifier: BSD-3-Clause
"""The paper's experiments. Each module has

    TITLE             what it shows, one line
    arguments(parser) its own options; may be missing
    run(lab)          does it and returns what the command prints; raises Refused where this machine cannot show it
"""


class Refused(Exception):
    """This machine cannot show it; says why."""
