# SPDX-License-Identifier: BSD-3-Clause
"""What the laboratory commands in tools/ share: runs, statistics, the machine, results and pictures.

    run       one run of vbng, bounded in time, that never raises for a dead run
    stats     median, its confidence interval, comparison of two samples, bounds of a loss ratio
    machine   what the machine is, without naming it
"""
