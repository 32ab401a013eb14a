/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads a configuration again, or another one, and makes the running config what it says. */
#ifndef CONTROL_RELOAD_H
#define CONTROL_RELOAD_H

#include <jansson.h>

#include "control/control.h"

struct reload_options {
    const char *path; /* NULL: the file that was read last */
    bool dry_run;     /* only report what would change */
    bool details;     /* the answer has the requests that make the change, too */
};

/**
 * Read a configuration, check it as at a start, and make the running config what it says, as far as
 * that is possible without a restart. A file with an error changes nothing. Returns the answer to
 * the request, or NULL with the reason.
 */
json_t *reload(struct control *c, const struct reload_options *o, struct refusal *why);

/** Append a string to restart for each difference that needs a restart (ports, pools, tasks, the
 * layout, the dimensions of schedulers and tables): "port 'cpe0': mtu 1500 -> 1600". */
void restart_needed(const struct cfg_model *now, const struct cfg_model *other, json_t *restart);

#endif
