# SPDX-License-Identifier: BSD-3-Clause
"""What vbng says on stderr of the machine, which gave a core's CPU to something else: no test may fail for that."""

import re

NO_CPU = r"vbng: warning: (nothing ran for .*|core .* has stalled: .* it does not get its CPU, .*)"
GOES_ON = r"vbng: warning: core .* goes on after .* s"  # why it had stalled was said before


def of_itself(text):
    """The lines of a text in which vbng does not speak of the machine."""
    return "".join(line for line in text.splitlines(keepends=True) if not re.fullmatch(f"({NO_CPU}|{GOES_ON})\n?", line))
