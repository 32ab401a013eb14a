# SPDX-License-Identifier: BSD-3-Clause
"""vbng-lab switch: vbng behind software switches (doc/switches.md)."""
