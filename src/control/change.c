/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/change.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "control/slices.h"

#define MIN_RATE 8000 /* bit/s; as in the configuration */

int refuse(struct refusal *why, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(why->text, sizeof(why->text), fmt, args);
    va_end(args);
    return -EINVAL;
}

static int check_profile(const struct control *c, const struct profile_change *ch,
                         struct refusal *why)
{
    const struct cfg_qos *qos = &control_model(c)->qos;
    unsigned shapers = 0;

    for (unsigned i = 0; i < c->n_shapers; i++) {
        const struct shaper *s = &c->shaper[i];

        if (shaper_pipe(c, s, ch->subscriber) == NULL)
            continue;
        shapers++;
        if (s->q->sched_profile[ch->profile] < 0)
            return refuse(why, "profile '%s' is beyond what scheduler '%s' can do",
                          qos->profiles[ch->profile].name, s->q->shape->name);
    }
    if (shapers == 0)
        return refuse(why, "subscriber %" PRIu32 " is not shaped: no qos task serves its port",
                      ch->subscriber);
    return 0;
}

struct changing {
    const struct control *c;
    const struct shaper *s;
    const struct profile_change *list;
};

/* On the core of the scheduler. */
static int change_one(struct task *t, uint32_t i, void *ctx)
{
    const struct changing *ch = ctx;
    const struct qos_pipe *p = shaper_pipe(ch->c, ch->s, ch->list[i].subscriber);

    return p != NULL ? qos_set_profile(t, (uint32_t)(p - ch->s->q->pipe), ch->list[i].profile) : 0;
}

int change_profiles(struct control *c, const struct profile_change *list, uint32_t n,
                    struct refusal *why)
{
    for (uint32_t i = 0; i < n; i++)
        if (check_profile(c, &list[i], why) != 0)
            return -EINVAL;
    for (unsigned i = 0; i < c->n_shapers; i++) {
        struct changing ch = {.c = c, .s = &c->shaper[i], .list = list};
        uint32_t done;
        int rc = in_slices(c->e, ch.s->instance, n, change_one, &ch, &done);

        for (uint32_t k = 0; k < done; k++)
            if (shaper_pipe(c, ch.s, list[k].subscriber) != NULL)
                c->model->subscribers[list[k].subscriber - 1].profile = list[k].profile;
        if (rc != 0) {
            refuse(why, "task %s: %s after %" PRIu32 " of %" PRIu32 " subscribers",
                   ch.s->task->cfg->name, strerror(-rc), done, n);
            return rc;
        }
    }
    return 0;
}

struct rate_change {
    uint32_t subport;
    uint64_t rate;
};

static int set_rate(struct task *t, void *arg)
{
    const struct rate_change *r = arg;

    return qos_set_subport_rate(t, r->subport, r->rate);
}

int change_subport_rate(struct control *c, unsigned scheduler, unsigned subport,
                        enum qos_direction direction, uint64_t rate, struct refusal *why)
{
    const struct cfg_scheduler *shape = &control_model(c)->qos.schedulers[scheduler];
    struct rate_change r = {.subport = subport, .rate = rate};
    unsigned changed = 0;

    if (rate < MIN_RATE || rate > shape->rate)
        return refuse(
            why, "rate %" PRIu64 ": expected %u to %" PRIu64 " bit/s, the rate of scheduler '%s'",
            rate, MIN_RATE, shape->rate, shape->name);
    for (unsigned i = 0; i < c->n_shapers; i++) {
        struct shaper *s = &c->shaper[i];
        int rc;

        if (s->q->shape != shape || s->q->direction != direction)
            continue;
        rc = engine_call(c->e, s->instance, set_rate, &r);
        if (rc != 0) {
            refuse(why, "task %s: %s", s->task->cfg->name,
                   rc == -ENOSPC   ? "its subports have had too many different rates"
                   : rc == -EINVAL ? "the scheduler cannot represent that rate"
                                   : strerror(-rc));
            return rc;
        }
        s->subport_rate[subport] = rate;
        changed++;
    }
    if (changed == 0)
        return refuse(why, "no qos task runs scheduler '%s' in direction '%s'", shape->name,
                      direction_name(direction));
    return 0;
}

int change_dscp(struct control *c, unsigned scheduler, enum qos_direction direction, unsigned dscp,
                unsigned queue, struct refusal *why)
{
    const struct cfg_scheduler *shape = &control_model(c)->qos.schedulers[scheduler];
    unsigned class = queue < QOS_BE ? queue : QOS_BE;

    if (shape->class[class].size == 0)
        return refuse(why, "class %s has no queues in scheduler '%s': expected one of its classes",
                      class_name(class), shape->name);
    __atomic_store_n(&c->tables->dscp[scheduler * QOS_DIRECTIONS + direction].queue[dscp],
                     (uint8_t)queue, __ATOMIC_RELAXED);
    return 0;
}
