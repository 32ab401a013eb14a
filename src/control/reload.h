/* SPDX-License-Identifier: BSD-3-Clause */
/* Another configuration, or the same file as it is now, while it runs. */
#ifndef CONTROL_RELOAD_H
#define CONTROL_RELOAD_H

#include <jansson.h>

#include "control/change.h"

struct reload_options {
    const char *path; /* NULL: what vbng was started with, or what was read last */
    bool dry_run;     /* only say what would change */
    bool details;     /* with the requests that do it */
};

/**
 * Read a configuration, check it as at a start, and make what holds now what it says, as far as
 * that is possible without a restart. A file with an error changes nothing. Returns the answer to
 * the request, or NULL with the reason.
 */
json_t *reload(struct control *c, const struct reload_options *o, struct refusal *why);

#endif
