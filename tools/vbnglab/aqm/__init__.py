# SPDX-License-Identifier: BSD-3-Clause
"""vbng-lab aqm: delay and goodput of a subscriber's line under load, by the kernel's own TCP (doc/aqm.md)."""
