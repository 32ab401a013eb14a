/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/live_changes.h"

#include "control/delta.h"

json_t *live_changes(const struct control *c)
{
    struct delta d;
    json_t *requests;

    delta_make(&d, c, c->configured, false);
    requests = json_incref(d.requests);
    delta_free(&d);
    return requests;
}
