# SPDX-License-Identifier: BSD-3-Clause
"""vbng-lab benchmark: the gateway's figures on one page, with their trend (doc/benchmark.md)."""
