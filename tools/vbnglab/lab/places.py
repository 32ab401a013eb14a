# SPDX-License-Identifier: BSD-3-Clause
"""Where the files are that commands need beside their code.

The package lies in tools/ of a checkout, or in share/vbng/lab where meson install puts it; in the folder above are cfg and
pkt_templates, in both. Installed by pip it lies elsewhere: then an installed vbng's folder is taken.
"""

import os
import shutil

BESIDE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # tools of a checkout, or share/vbng/lab
INSTALLED = ("/usr/local/share/vbng", "/usr/share/vbng")


def _top():
    above = os.path.dirname(BESIDE)
    return next((folder for folder in (above, *INSTALLED) if os.path.isdir(os.path.join(folder, "cfg"))), above)


TOP = _top()
CONFIGURATIONS = os.path.join(TOP, "cfg")
TEMPLATES = os.path.join(TOP, "pkt_templates")


def program(name, built):
    """The path of a program: built, a path in a checkout, if it is there, else from $PATH; the former, if there is neither."""
    path = os.path.join(TOP, built)
    return path if os.access(path, os.X_OK) else shutil.which(name) or path
