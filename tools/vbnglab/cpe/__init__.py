# SPDX-License-Identifier: BSD-3-Clause
"""vbng-lab cpe: many CPEs on the lines of one interface, which ask a gateway for sessions (doc/cpe.md)."""
