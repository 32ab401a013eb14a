/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/rates.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_cycles.h>

#include "config/qos_profiles.h"
#include "control/request.h"
#include "sched/check.h"

/* --- core calls --- */

#define CALL_US 30
#define PAUSE_NS                                                                                   \
    250000 /* between two core calls; the kernel adds its timer slack of about 50 us               \
            */

/* What is left to be done of core_call_each(). */
struct work {
    int (*one)(struct task *t, uint32_t i, void *ctx);
    void *ctx;
    uint32_t next, n;
    uint64_t cycles;
};

static int some_of_it(struct task *t, void *arg)
{
    struct work *s = arg;
    uint64_t start = rte_rdtsc();

    while (s->next < s->n && rte_rdtsc() - start < s->cycles) {
        int rc = s->one(t, s->next, s->ctx);

        if (rc != 0)
            return rc;
        s->next++;
    }
    return 0;
}

static int do_rest(struct engine *e, unsigned instance, struct work *s)
{
    static const struct timespec pause = {.tv_nsec = PAUSE_NS};
    int rc = 0;

    s->cycles = rte_get_tsc_hz() / 1000000 * CALL_US;
    while (rc == 0 && s->next < s->n) {
        rc = engine_call(e, instance, some_of_it, s);
        if (e->running && s->next < s->n)
            nanosleep(&pause, NULL);
    }
    return rc;
}

int core_call_each(struct engine *e, unsigned instance, uint32_t n,
                   int (*one)(struct task *t, uint32_t i, void *ctx), void *ctx, uint32_t *done)
{
    struct work s = {.one = one, .ctx = ctx, .n = n};
    int rc = do_rest(e, instance, &s);

    if (done != NULL)
        *done = s.next;
    return rc;
}

int core_tell_each(struct engine *e, unsigned instance, uint32_t n, const struct news *news,
                   void *ctx)
{
    struct work s = {.one = news->call, .ctx = ctx, .n = n};

    while (e->running && s.next < n && news->tell(e->tasks[instance], s.next, ctx))
        s.next++;
    return do_rest(e, instance, &s);
}

/* --- profiles --- */

bool profile_fits(const struct control *c, const struct cfg_scheduler *shape, uint32_t profile)
{
    for (unsigned i = 0; i < c->n_shapers; i++)
        if (c->shaper[i].q->shape == shape && c->shaper[i].q->sched_profile[profile] < 0)
            return false;
    return true;
}

bool check_fit(const struct control *c, struct loader *l, struct loc loc,
               const struct cfg_scheduler *shape, uint32_t profile)
{
    const struct cfg_profile *p = &control_model(c)->qos.profiles[profile];
    uint64_t clock = qos_check_clock(shape, rte_get_tsc_hz(), NULL, 0);
    size_t errors = l->d->n_errors;

    if (profile_fits(c, shape, profile))
        return true;
    check_profile(l, loc, shape, p, (const uint64_t[QOS_DIRECTIONS]){clock, clock});
    if (l->d->n_errors == errors)
        diag_error(l->d, loc, "profile '%s' is beyond what scheduler '%s' can do", p->name,
                   shape->name);
    return false;
}

struct changing {
    const struct control *c;
    const struct shaper *s;
    const struct profile_change *list;
};

/* A core call. */
static int change_one(struct task *t, uint32_t i, void *ctx)
{
    const struct changing *ch = ctx;
    const struct qos_pipe *p = shaper_pipe(ch->c, ch->s, ch->list[i].subscriber);

    return p != NULL ? qos_set_profile(t, (uint32_t)(p - ch->s->q->pipe), ch->list[i].profile) : 0;
}

int change_profiles(struct control *c, const struct profile_change *list, uint32_t n,
                    struct refusal *why)
{
    for (unsigned i = 0; i < c->n_shapers; i++) {
        struct changing ch = {.c = c, .s = &c->shaper[i], .list = list};
        uint32_t done;
        int rc = core_call_each(c->e, ch.s->instance, n, change_one, &ch, &done);

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

/* --- rates of subports --- */

struct rate_change {
    uint32_t subport;
    uint64_t rate;
};

static int set_rate(struct task *t, void *arg)
{
    const struct rate_change *r = arg;

    return qos_set_subport_rate(t, r->subport, r->rate);
}

/* Change a subport's rate (bit/s) in all qos tasks of a direction; there must be one. */
static int change_subport_rate(struct control *c, const struct cfg_scheduler *shape,
                               unsigned subport, enum qos_direction direction, uint64_t rate,
                               struct refusal *why)
{
    struct rate_change r = {.subport = subport, .rate = rate};
    unsigned changed = 0;

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

/* --- requests --- */

static const char *const directions[] = {[QOS_UP] = "up", [QOS_DOWN] = "down", NULL};

enum { PROFILE_SUBSCRIBER, PROFILE_PROFILE, N_PROFILE_KEYS };

static const struct key profile_keys[N_PROFILE_KEYS] = {
    [PROFILE_SUBSCRIBER] = {"subscriber", KEY_SUBSCRIBER, .required = true, .help = "whose"},
    [PROFILE_PROFILE] = {"profile", KEY_PROFILE, .required = true,
                         .help = "one of the configuration's profiles"},
};

static const struct key change_keys[] = {
    {"changes", KEY_LIST, .help = "pairs [SUBSCRIBER, PROFILE]"}};

/* Values that are right one by one, of the entry at r->l.at, may be wrong together. */
static bool want_change(const struct control *c, struct request *r, const struct value *v,
                        struct profile_change *out)
{
    const struct cfg_subscriber *s;
    bool shaped = false;

    if (!want_subscriber(c, &r->l, &v[PROFILE_SUBSCRIBER], &out->subscriber))
        return false;
    out->profile = (uint32_t)v[PROFILE_PROFILE].v.u;
    for (unsigned i = 0; i < c->n_shapers; i++)
        shaped |= shaper_pipe(c, &c->shaper[i], out->subscriber) != NULL;
    if (!shaped) {
        diag_error(r->l.d, r->l.at,
                   "subscriber %" PRIu32 " is not shaped: no qos task serves its port",
                   out->subscriber);
        return false;
    }
    s = &control_model(c)->subscribers[out->subscriber - 1];
    return check_fit(c, &r->l, r->l.at, c->by_port[s->port], out->profile);
}

static json_t *set_profile(struct control *c, struct request *r, struct refusal *why)
{
    struct profile_change change;

    return want_change(c, r, r->v, &change) && change_profiles(c, &change, 1, why) == 0
               ? answer_changed(1)
               : NULL;
}

static bool want_pair(const struct control *c, struct request *r, size_t i,
                      struct profile_change *out)
{
    const json_t *pair = json_array_get(r->v[0].json, i);
    struct value v[N_PROFILE_KEYS] = {{.json = json_array_get(pair, PROFILE_SUBSCRIBER)},
                                      {.json = json_array_get(pair, PROFILE_PROFILE)}};

    r->l.at = entry_loc(r, i);
    if (json_array_size(pair) != N_PROFILE_KEYS) {
        diag_error(r->l.d, r->l.at, "expected [SUBSCRIBER, PROFILE]");
        return false;
    }
    return read_value(&r->l, &profile_keys[PROFILE_SUBSCRIBER], &v[PROFILE_SUBSCRIBER]) &&
           read_value(&r->l, &profile_keys[PROFILE_PROFILE], &v[PROFILE_PROFILE]) &&
           want_change(c, r, v, out);
}

static json_t *set_profiles(struct control *c, struct request *r, struct refusal *why)
{
    size_t n =
        want_list(r, &r->v[0], "changes", REQUEST_MAX_PROFILES, "pairs [SUBSCRIBER, PROFILE]");
    struct profile_change *list = calloc(n + 1, sizeof(*list));
    bool ok = n > 0 && list != NULL;

    for (size_t i = 0; ok && i < n; i++)
        ok = want_pair(c, r, i, &list[i]);
    ok = ok && change_profiles(c, list, (uint32_t)n, why) == 0;
    free(list);
    return ok ? answer_changed(n) : NULL;
}

/* Returns the index of the scheduler that a value names, or CFG_NONE after an error. */
static uint32_t want_scheduler(struct request *r, const struct value *v)
{
    uint32_t scheduler = find_scheduler(&r->l, v->v.s);

    if (scheduler == CFG_NONE)
        no_such_name(&r->l, v, "scheduler", "scheduler", nearest_scheduler(&r->l, v->v.s));
    return scheduler;
}

/* Returns the index of the subport that a value names, or CFG_NONE after an error. */
static uint32_t want_subport(struct request *r, const struct value *v,
                             const struct cfg_scheduler *shape)
{
    const char *names[QOS_MAX_SUBPORTS];

    for (uint32_t i = 0; i < shape->n_subports; i++) {
        names[i] = shape->subports[i].name;
        if (strcmp(names[i], v->v.s) == 0)
            return i;
    }
    no_such_name(&r->l, v, "subport", "subport", nearest_name(v->v.s, names, shape->n_subports));
    return CFG_NONE;
}

enum { RATE_SCHEDULER, RATE_SUBPORT, RATE_DIRECTION, RATE_RATE, N_RATE_KEYS };

static const struct key rate_keys[N_RATE_KEYS] = {
    [RATE_SCHEDULER] = {"scheduler", KEY_SCHEDULER, .required = true, .help = "a scheduler"},
    [RATE_SUBPORT] = {"subport", KEY_STRING, .required = true, .help = "one of its subports"},
    [RATE_DIRECTION] = {"direction", KEY_ENUM, .choices = directions, .required = true,
                        .help = "upstream or downstream"},
    [RATE_RATE] = KEY_SUBPORT_RATE("rate", true),
};

static json_t *set_subport_rate(struct control *c, struct request *r, struct refusal *why)
{
    const struct value *rate = &r->v[RATE_RATE];
    uint32_t scheduler = want_scheduler(r, &r->v[RATE_SCHEDULER]), subport;
    const struct cfg_scheduler *shape;

    if (scheduler == CFG_NONE)
        return NULL;
    shape = &control_model(c)->qos.schedulers[scheduler];
    subport = want_subport(r, &r->v[RATE_SUBPORT], shape);
    if (subport == CFG_NONE || !check_subport_rate(&r->l, rate, "rate", shape) ||
        change_subport_rate(c, shape, subport, (enum qos_direction)r->v[RATE_DIRECTION].v.u,
                            rate->v.u, why) != 0)
        return NULL;
    return answer_changed(1);
}

enum { DSCP_SCHEDULER, DSCP_DIRECTION, DSCP_DSCP, DSCP_CLASS, DSCP_QUEUE, N_DSCP_KEYS };

static const struct key dscp_keys[N_DSCP_KEYS] = {
    [DSCP_SCHEDULER] = {"scheduler", KEY_SCHEDULER, .required = true, .help = "a scheduler"},
    [DSCP_DIRECTION] = {"direction", KEY_ENUM, .choices = directions, .required = true,
                        .help = "upstream or downstream"},
    [DSCP_DSCP] = KEY_DSCP,
    [DSCP_CLASS] = KEY_CLASS,
    [DSCP_QUEUE] = KEY_QUEUE,
};

/* A DSCP map is a table of bytes: one store sends the next packet to another queue. */
static json_t *set_dscp(struct control *c, struct request *r, struct refusal *why)
{
    uint32_t scheduler = want_scheduler(r, &r->v[DSCP_SCHEDULER]);
    uint8_t queue = take_queue(&r->l, &r->v[DSCP_CLASS], &r->v[DSCP_QUEUE]);
    unsigned class = (unsigned)r->v[DSCP_CLASS].v.u;
    const struct cfg_scheduler *shape;

    if (r->l.d->n_errors > 0)
        return NULL;
    shape = &control_model(c)->qos.schedulers[scheduler];
    if (shape->class[class].size == 0) {
        refuse(why, "class %s has no queues in scheduler '%s': expected one of its classes",
               class_name(class), shape->name);
        return NULL;
    }
    __atomic_store_n(&c->tables->dscp[scheduler * QOS_DIRECTIONS + r->v[DSCP_DIRECTION].v.u]
                          .queue[r->v[DSCP_DSCP].v.u],
                     queue, __ATOMIC_RELAXED);
    return answer_changed(1);
}

const struct command rate_commands[] = {
    {"set-profile", KEYS(profile_keys), set_profile, "gives a subscriber another profile", true},
    {"set-profiles", KEYS(change_keys), set_profiles, "the same for many", true},
    {"set-subport-rate", KEYS(rate_keys), set_subport_rate,
     "changes the rate of a group of subscribers", true},
    {"set-dscp", KEYS(dscp_keys), set_dscp, "puts what comes with a DSCP into another queue", true},
    {NULL},
};
