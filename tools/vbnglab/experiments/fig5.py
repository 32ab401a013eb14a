# SPDX-License-Identifier: BSD-3-Clause
"""Fig. 5: one subscriber's tokens, queue and rates over time. The same as tools/fig5."""

import os
import subprocess
import sys

from ..run import TOP
from . import Refused

TITLE = "Fig. 5: tokens, queue and rates of one subscriber over time"


def run(lab):
    """Run tools/fig5 into the folder."""
    tool = os.path.join(TOP, "tools", "fig5")
    done = subprocess.run([sys.executable, tool, "--vbng", lab.vbng, "--out", lab.folder], check=False)
    if done.returncode != 0:
        raise Refused(f"tools/fig5 ended with status {done.returncode}, see above")
    return [f"{lab.folder}: fig5.csv, fig5.svg, fig5.png; what they show: doc/qos.md"]
