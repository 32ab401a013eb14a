/* SPDX-License-Identifier: BSD-3-Clause */
/* Metrics of QoS: qos tasks, and each subscriber as the schedulers see him. */
#ifndef CONTROL_METRICS_QOS_H
#define CONTROL_METRICS_QOS_H

#include "control/control.h"

/** Offer them; c must live until metrics_close(). Returns 0 or -errno. */
int metrics_qos_add(const struct control *c);

#endif
