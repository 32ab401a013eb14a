# SPDX-License-Identifier: BSD-3-Clause
"""vbng-lab sessions: vbng, vbng-cp, FreeRADIUS and many CPEs on one machine (doc/cpe.md)."""
