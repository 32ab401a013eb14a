/* SPDX-License-Identifier: BSD-3-Clause */
/* Rates of subports, and DSCP maps. */
#include <string.h>

#include "control/delta.h"

static const struct cfg_scheduler *scheduler_named(const struct cfg_qos *q, const char *name)
{
    for (unsigned i = 0; i < q->n_schedulers; i++)
        if (strcmp(q->schedulers[i].name, name) == 0)
            return &q->schedulers[i];
    return NULL;
}

static const struct cfg_subport *subport_named(const struct cfg_scheduler *s, const char *name)
{
    for (unsigned i = 0; i < s->n_subports; i++)
        if (strcmp(s->subports[i].name, name) == 0)
            return &s->subports[i];
    return NULL;
}

static void rates(struct delta *d, const struct shaper *s)
{
    const struct cfg_scheduler *now = s->q->shape,
                               *other = scheduler_named(&d->other->qos, now->name);

    for (unsigned k = 0; other != NULL && k < now->n_subports; k++) {
        const struct cfg_subport *sp = subport_named(other, now->subports[k].name);
        uint64_t rate = sp != NULL ? sp->rate[s->q->direction] : s->subport_rate[k];

        if (rate == s->subport_rate[k])
            continue;
        d->n_rates++;
        json_array_append_new(d->requests,
                              json_pack("{s:s, s:s, s:s, s:s, s:I}", "cmd", "set-subport-rate",
                                        "scheduler", now->name, "subport", now->subports[k].name,
                                        "direction", direction_name(s->q->direction), "rate",
                                        (json_int_t)(d->reload ? rate : s->subport_rate[k])));
    }
}

static void map(struct delta *d, unsigned scheduler, enum qos_direction dir)
{
    const struct cfg_scheduler *now = &control_model(d->c)->qos.schedulers[scheduler],
                               *other = scheduler_named(&d->other->qos, now->name);
    const uint8_t *queue_now = d->c->tables->dscp[scheduler * QOS_DIRECTIONS + dir].queue, *queue;

    if (other == NULL)
        return;
    queue = d->other->qos.dscp_maps[other->dscp_map[dir]].queue;
    for (unsigned i = 0; i < 64; i++) {
        unsigned to = d->reload ? queue[i] : queue_now[i];

        if (queue[i] == queue_now[i])
            continue;
        d->n_dscp++;
        json_array_append_new(
            d->requests, json_pack("{s:s, s:s, s:s, s:i, s:s, s:i}", "cmd", "set-dscp", "scheduler",
                                   now->name, "direction", direction_name(dir), "dscp", (int)i,
                                   "class", class_name(to < QOS_BE ? to : QOS_BE), "queue",
                                   to < QOS_BE ? 0 : (int)to - QOS_BE));
    }
}

void delta_schedulers(struct delta *d)
{
    for (unsigned i = 0; i < d->c->n_shapers; i++)
        rates(d, &d->c->shaper[i]);
    for (unsigned i = 0; i < control_model(d->c)->qos.n_schedulers; i++) {
        map(d, i, QOS_UP);
        map(d, i, QOS_DOWN);
    }
}
