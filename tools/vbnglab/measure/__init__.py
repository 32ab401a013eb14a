# SPDX-License-Identifier: BSD-3-Clause
"""vbng-lab measure: throughput, loss and latency of a gateway (doc/measure.md)."""
