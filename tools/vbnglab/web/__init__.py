# SPDX-License-Identifier: BSD-3-Clause
"""vbng-lab web: the live page of a running vbng (doc/web.md)."""
