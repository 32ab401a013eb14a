# SPDX-License-Identifier: BSD-3-Clause
"""python3 -m vbnglab is vbng-lab."""

import sys

from .cli import main

sys.exit(main())
