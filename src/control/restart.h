/* SPDX-License-Identifier: BSD-3-Clause */
/* What of another configuration cannot be had while this one runs: ports, pools, tasks, layout, and
 * the dimensions of schedulers and tables. */
#ifndef CONTROL_RESTART_H
#define CONTROL_RESTART_H

#include <jansson.h>

#include "config/model.h"

/** Add a string to restart for each thing that differs: "port 'cpe0': mtu 1500 -> 1600". */
void restart_needed(const struct cfg_model *now, const struct cfg_model *other, json_t *restart);

#endif
