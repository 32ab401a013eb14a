# SPDX-License-Identifier: BSD-3-Clause
"""vbng-lab exporter: the metrics of a running vbng for Prometheus (doc/telemetry.md)."""
