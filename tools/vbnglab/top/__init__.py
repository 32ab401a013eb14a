# SPDX-License-Identifier: BSD-3-Clause
"""vbng-lab top: a running vbng in the terminal (doc/telemetry.md)."""
