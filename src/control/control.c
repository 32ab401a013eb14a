/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/control.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "capture/capture.h"
#include "control/routes.h"
#include "explain/explain.h"

#define TOLERANCE 0.01 /* of the shaping error */
#define PPM       1e6

int refuse(struct refusal *why, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(why->text, sizeof(why->text), fmt, args);
    va_end(args);
    return -EINVAL;
}

const char *queue_name(unsigned queue)
{
    static const char *const names[QOS_QUEUES] = {"0", "1", "2",  "3",  "4",   "5",   "6",   "7",
                                                  "8", "9", "10", "11", "be0", "be1", "be2", "be3"};

    return names[queue];
}

const char *class_name(unsigned class)
{
    return class == QOS_BE ? "be" : queue_name(class);
}

const char *direction_name(enum qos_direction d)
{
    return d == QOS_UP ? "up" : "down";
}

const struct qos_pipe *shaper_pipe(const struct control *c, const struct shaper *s, uint32_t id)
{
    const struct cfg_subscriber *sub = &control_model(c)->subscribers[id - 1];

    if (!running_has(control_model(c), id) || sub->pipe == CFG_NONE ||
        c->by_port[sub->port] != s->q->shape)
        return NULL;
    return &s->q->pipe[sub->pipe];
}

static int open_shaper(struct control *c, unsigned instance, const struct qos *q)
{
    struct shaper *s = &c->shaper[c->n_shapers++];

    s->instance = instance;
    s->task = c->e->tasks[instance];
    s->q = q;
    qos_use(c->e->tasks[instance], &c->model->qos);
    for (unsigned i = 0; i < q->shape->n_subports; i++)
        s->subport_rate[i] = q->shape->subports[i].rate[q->direction];
    for (unsigned i = 0; i < QOS_QUEUES; i++)
        if (q->shape->class[i < QOS_BE ? i : QOS_BE].size > 0)
            s->queue[s->n_queues++] = (uint8_t)i;
    s->subscriber = calloc(q->n_pipes, sizeof(*s->subscriber));
    s->before = calloc(q->n_pipes, sizeof(*s->before));
    s->sample = calloc(q->n_pipes, sizeof(*s->sample));
    if (s->subscriber == NULL || s->before == NULL || s->sample == NULL)
        return -1;
    for (uint32_t id = 1; id <= control_model(c)->n_subscribers; id++) {
        const struct qos_pipe *p = shaper_pipe(c, s, id);

        if (p != NULL)
            s->subscriber[p - q->pipe] = id;
    }
    return 0;
}

static int open_shapers(struct control *c)
{
    const struct cfg_qos *qos = &control_model(c)->qos;
    uint32_t most = 1;

    for (unsigned i = 0; i < qos->n_schedulers; i++)
        for (unsigned k = 0; k < qos->schedulers[i].n_subports; k++)
            c->by_port[qos->schedulers[i].subports[k].port] = &qos->schedulers[i];
    c->shaper = calloc(c->e->plan->n_instances + 1, sizeof(*c->shaper));
    if (c->shaper == NULL)
        return -1;
    for (unsigned i = 0; i < c->e->plan->n_instances; i++) {
        const struct qos *q = qos_state(c->e->tasks[i]);

        if (q == NULL)
            continue;
        if (open_shaper(c, i, q) != 0)
            return -1;
        most = RTE_MAX(most, q->n_pipes);
    }
    c->errors = calloc(most, sizeof(*c->errors));
    return c->errors != NULL ? 0 : -1;
}

struct control *control_open(struct engine *e, struct tables *tables)
{
    struct control *c = calloc(1, sizeof(*c));

    if (c == NULL)
        return NULL;
    c->e = e;
    c->tables = tables;
    c->opened = c->sampled = rte_rdtsc();
    c->client = -1;
    c->configured = e->plan->cfg;
    c->profile_places = e->plan->cfg->qos.n_profiles;
    c->profile_room = room_profiles(&e->plan->cfg->qos);
    c->model = running_open(e->plan->cfg);
    if (c->model == NULL || open_shapers(c) != 0 || ids_open(c) != 0 || routes_open(c) != 0) {
        control_free(c);
        return NULL;
    }
    control_sample(c); /* a reader may ask before the first interval has ended */
    return c;
}

void control_free(struct control *c)
{
    if (c == NULL)
        return;
    capture_close(c->capture);
    for (unsigned i = 0; i < c->n_shapers; i++) {
        free(c->shaper[i].subscriber);
        free(c->shaper[i].before);
        free(c->shaper[i].sample);
        free(c->shaper[i].counters);
    }
    free(c->shaper);
    free(c->errors);
    ids_close(c);
    free(c->route_key);
    running_close(c->model);
    config_free(c->reloaded);
    for (unsigned i = 0; i < QOS_MAX_PROFILES; i++)
        free(c->profile_name[i]);
    explain_free(c->explain);
    free(c);
}

/* The shaping error of a pipe since the last sample. Returns whether the pipe was limited. */
static bool pipe_error(struct shaper *s, uint32_t pipe, uint64_t interval, double *error)
{
    const struct qos_pipe *p = &s->q->pipe[pipe];
    uint32_t profile = __atomic_load_n(&p->profile, __ATOMIC_RELAXED);
    struct qos_run was = s->before[pipe], now = qos_run(p);
    uint64_t cycles = now.to - was.to;

    s->before[pipe] = now;
    if (was.to == 0 || now.from > was.to || cycles < interval / 2 ||
        __atomic_load_n(&p->profile, __ATOMIC_RELAXED) != profile)
        return false;
    *error = (double)(now.bytes - was.bytes) * 8 * (double)s->q->tsc_hz / (double)cycles /
                 (double)s->q->cfg->profiles[profile].shape[s->q->direction].rate -
             1;
    return true;
}

/* A counter modulo 2^32, which has counted on since it was so much. */
static uint64_t widened(uint64_t was, uint32_t now)
{
    return was + (uint32_t)(now - (uint32_t)was);
}

uint64_t shaper_packets(const struct shaper *s, uint32_t pipe)
{
    const struct sched_pipe_counters *n = sched_pipe_counters(s->q->sched, pipe);

    return widened(s->sample[pipe].packets, __atomic_load_n(&n->packets, __ATOMIC_RELAXED));
}

static void sample_pipe(struct shaper *s, uint32_t pipe, double seconds)
{
    const struct sched_pipe_counters *n = sched_pipe_counters(s->q->sched, pipe);
    const struct qos_pipe *p = &s->q->pipe[pipe];
    struct pipe_sample was = s->sample[pipe], *now = &s->sample[pipe];

    *now = (struct pipe_sample){
        .bytes = __atomic_load_n(&n->bytes, __ATOMIC_RELAXED),
        .packets = shaper_packets(s, pipe),
        .drops = widened(was.drops, __atomic_load_n(&n->dropped, __ATOMIC_RELAXED)),
        .sojourn_ns = (uint32_t)fmin(1e9 * qos_sojourn(s->q, p), UINT32_MAX),
        .profile = __atomic_load_n(&p->profile, __ATOMIC_RELAXED),
    };
    now->bps = (uint64_t)((double)(now->bytes - was.bytes) * 8 / seconds);
    now->drop_pps = (uint32_t)((double)(now->drops - was.drops) / seconds + 0.5);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void sample_errors(struct control *c, struct shaper *s, uint64_t interval)
{
    struct shaping_error e = {.seconds = (double)interval / (double)s->q->tsc_hz};
    double error;

    for (uint32_t pipe = 0; pipe < s->q->n_pipes; pipe++) {
        if (s->subscriber[pipe] == 0)
            continue;
        sample_pipe(s, pipe, e.seconds);
        if (!pipe_error(s, pipe, interval, &error))
            continue;
        s->sample[pipe].shaped_ppm = (uint32_t)((1 + error) * PPM + 0.5);
        c->errors[e.limited++] = error;
        e.under += error < -TOLERANCE;
        e.over += error > TOLERANCE;
        if (e.worst_subscriber == 0 || fabs(error) > fabs(e.worst)) {
            e.worst = error;
            e.worst_subscriber = s->subscriber[pipe];
        }
    }
    if (e.limited > 0) {
        qsort(c->errors, e.limited, sizeof(c->errors[0]), by_value);
        e.median = c->errors[e.limited / 2];
    }
    s->error = e;
}

/* The histogram of an interval is the difference of two; its maximum is as exact as the buckets. */
static void hist_since(const struct hist *now, struct hist *before, struct hist *interval)
{
    interval->count = 0;
    interval->max = now->max;
    for (unsigned i = 0; i < HIST_BUCKETS; i++) {
        uint64_t n = __atomic_load_n(&now->bucket[i], __ATOMIC_RELAXED);

        interval->bucket[i] = n - before->bucket[i];
        interval->count += interval->bucket[i];
        before->bucket[i] = n;
    }
    interval->max = hist_percentile(interval, 1);
}

void control_sample(struct control *c)
{
    uint64_t now = rte_rdtsc(), interval = now - c->sampled;

    c->sampled = now;
    for (unsigned i = 0; i < c->n_shapers; i++) {
        struct shaper *s = &c->shaper[i];

        struct hist times;

        sample_errors(c, s, interval);
        qos_lag(s->q, &times);
        hist_since(&times, &s->lag_before, &s->lag);
        for (unsigned k = 0; k < QOS_CLASSES; k++) {
            qos_sojourn_times(s->q, k, &times);
            hist_since(&times, &s->sojourn_before[k], &s->sojourn[k]);
        }
    }
}

/* A copy of an array of n, with room for more, which is never empty: NULL means no memory. */
static void *copy(const void *from, size_t n, size_t room, size_t size)
{
    void *to = calloc(room + 1, size);

    if (to != NULL && n > 0)
        memcpy(to, from, n * size);
    return to;
}

/* The names of the running config are its own, as they come and go with subscribers. Returns false
 * without memory. */
static bool own_names(struct cfg_model *running)
{
    bool ok = true;

    for (uint32_t i = 0; i < running->n_subscribers; i++) {
        const char *name = running->subscribers[i].name;

        running->subscribers[i].name = ok && name != NULL ? strdup(name) : NULL;
        ok &= name == NULL || running->subscribers[i].name != NULL;
    }
    return ok;
}

struct cfg_model *running_open(const struct cfg_model *m)
{
    struct cfg_model *running = malloc(sizeof(*running));

    if (running == NULL)
        return NULL;
    *running = *m;
    running->max_subscribers = room_subscribers(m);
    running->max_routes = room_routes(m);
    running->qos.max_profiles = room_profiles(&m->qos);
    running->subscribers = copy(m->subscribers, m->n_subscribers, running->max_subscribers,
                                sizeof(*running->subscribers));
    running->routes = copy(m->routes, m->n_routes, running->max_routes, sizeof(*running->routes));
    running->nexthops =
        copy(m->nexthops, m->n_nexthops, room_nexthops(m), sizeof(*running->nexthops));
    running->qos.profiles =
        copy(m->qos.profiles, m->qos.n_profiles, QOS_MAX_PROFILES, sizeof(*running->qos.profiles));
    if (running->subscribers != NULL && own_names(running) && running->routes != NULL &&
        running->nexthops != NULL && running->qos.profiles != NULL)
        return running;
    running_close(running);
    return NULL;
}

void running_close(struct cfg_model *running)
{
    if (running == NULL)
        return;
    for (uint32_t i = 0; running->subscribers != NULL && i < running->n_subscribers; i++)
        free((char *)(uintptr_t)running->subscribers[i].name);
    free(running->subscribers);
    free(running->routes);
    free(running->nexthops);
    free(running->qos.profiles);
    free(running);
}
