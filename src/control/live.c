/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/live.h"

#include <stdlib.h>
#include <string.h>

/* A copy of n of them with room for more; never NULL but without memory. */
static void *copy(const void *from, size_t n, size_t room, size_t size)
{
    void *to = calloc(room + 1, size);

    if (to != NULL && n > 0)
        memcpy(to, from, n * size);
    return to;
}

struct cfg_model *live_open(const struct cfg_model *m)
{
    struct cfg_model *live = malloc(sizeof(*live));

    if (live == NULL)
        return NULL;
    *live = *m;
    live->max_subscribers = room_subscribers(m);
    live->max_routes = room_routes(m);
    live->subscribers =
        copy(m->subscribers, m->n_subscribers, live->max_subscribers, sizeof(*live->subscribers));
    live->routes = copy(m->routes, m->n_routes, live->max_routes, sizeof(*live->routes));
    live->nexthops = copy(m->nexthops, m->n_nexthops, room_nexthops(m), sizeof(*live->nexthops));
    live->qos.profiles =
        copy(m->qos.profiles, m->qos.n_profiles, QOS_MAX_PROFILES, sizeof(*live->qos.profiles));
    if (live->subscribers != NULL && live->routes != NULL && live->nexthops != NULL &&
        live->qos.profiles != NULL)
        return live;
    live_close(live);
    return NULL;
}

void live_close(struct cfg_model *live)
{
    if (live == NULL)
        return;
    free(live->subscribers);
    free(live->routes);
    free(live->nexthops);
    free(live->qos.profiles);
    free(live);
}
