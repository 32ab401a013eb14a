/* SPDX-License-Identifier: BSD-3-Clause */
/* Metrics of the qos tasks and of each subscriber, on the telemetry socket. */
#ifndef CONTROL_VIEW_METRICS_H
#define CONTROL_VIEW_METRICS_H

#include "control/control.h"

/** Offer the metrics; c must live until metrics_close(). Returns 0 or -errno. */
int metrics_qos_add(const struct control *c);

#endif
