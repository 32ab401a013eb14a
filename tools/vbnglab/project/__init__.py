# SPDX-License-Identifier: BSD-3-Clause
"""vbng-lab project: what a gateway would forward on a larger machine (doc/project.md)."""
