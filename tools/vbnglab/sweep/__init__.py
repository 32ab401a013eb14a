# SPDX-License-Identifier: BSD-3-Clause
"""vbng-lab sweep: layouts and mbufs, run and compared (doc/sweep.md)."""
