# SPDX-License-Identifier: BSD-3-Clause
"""vbngctl: what it asks a running vbng, and how it shows the answers (doc/control.md)."""
