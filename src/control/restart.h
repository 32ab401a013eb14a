/* SPDX-License-Identifier: BSD-3-Clause */
/* Differences of two configurations that need a restart: ports, pools, tasks, the layout, and the
 * dimensions of schedulers and tables. */
#ifndef CONTROL_RESTART_H
#define CONTROL_RESTART_H

#include <jansson.h>

#include "config/model.h"

/** Append a string to restart for each difference: "port 'cpe0': mtu 1500 -> 1600". */
void restart_needed(const struct cfg_model *now, const struct cfg_model *other, json_t *restart);

#endif
