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

#endif
