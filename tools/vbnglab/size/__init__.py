# SPDX-License-Identifier: BSD-3-Clause
"""vbng-lab size: how large a machine so many subscribers need (doc/sizing.md)."""
