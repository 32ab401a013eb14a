# SPDX-License-Identifier: BSD-3-Clause
"""The paper's experiments. Each module has

    TITLE             what it shows, one line
    arguments(parser) its own options; may be missing
    run(experiment)   does it and returns the lines that the command prints; raises Refused where this machine cannot show it
"""

from ..lab.failure import Failure


class Refused(Failure):
    """This machine cannot show the experiment; the text says why."""

    status = 3
