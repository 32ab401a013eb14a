# SPDX-License-Identifier: BSD-3-Clause
"""What all commands share: runs of vbng and of chains of processes, its telemetry, the machine, statistics, journals."""
