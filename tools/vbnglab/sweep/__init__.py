# SPDX-License-Identifier: BSD-3-Clause
"""vbng-lab sweep: layouts and mbufs, run and compared (doc/sweep.md)."""

INCOMPLETE = 4  # exit status: what was to be measured has no figure, as it was disturbed or died
