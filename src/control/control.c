/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/control.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "capture/capture.h"
#include "control/routes.h"
#include "control/socket/punt.h"
#include "control/subscribers/octets.h"
#include "explain/explain.h"

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
        c->by_port[sub->port] != s->q->shape || qos_place(s->q, sub->pipe) == CFG_NONE)
        return NULL;
    return &s->q->pipe[qos_place(s->q, sub->pipe)];
}

const struct shaper *next_shaper(const struct control *c, const struct shaper *s)
{
    s = s == NULL ? c->shaper : s + s->n_shards;
    return s < c->shaper + c->n_shapers ? s : NULL;
}

const struct shaper *shard_of(const struct control *c, const struct shaper *s, uint32_t id,
                              const struct qos_pipe **pipe)
{
    for (unsigned i = 0; i < s->n_shards; i++) {
        *pipe = shaper_pipe(c, &s[i], id);
        if (*pipe != NULL)
            return &s[i];
    }
    return NULL;
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
    s->sampled = calloc(samples_slices(q->n_pipes), sizeof(*s->sampled));
    if (s->subscriber == NULL || s->before == NULL || s->sample == NULL || s->sampled == NULL)
        return -1;
    for (uint32_t i = 0; i < samples_slices(q->n_pipes); i++)
        s->sampled[i] = c->opened;
    for (uint32_t id = 1; id <= control_model(c)->n_subscribers; id++) {
        const struct qos_pipe *p = shaper_pipe(c, s, id);

        if (p != NULL)
            s->subscriber[p - q->pipe] = id;
    }
    return 0;
}

/* Open all instances of a qos task of which an instance is the first. Returns 0 or -1. */
static int open_shards(struct control *c, unsigned first)
{
    const struct plan *p = c->e->plan;
    struct shaper *s = &c->shaper[c->n_shapers];

    for (unsigned i = first; i < p->n_instances; i++) {
        if (p->instances[i].task != p->instances[first].task)
            continue;
        if (open_shaper(c, i, qos_state(c->e->tasks[i])) != 0)
            return -1;
        s->n_shards++;
    }
    return 0;
}

static int open_shapers(struct control *c)
{
    const struct cfg_qos *qos = &control_model(c)->qos;

    for (unsigned i = 0; i < qos->n_schedulers; i++)
        for (unsigned k = 0; k < qos->schedulers[i].n_subports; k++)
            c->by_port[qos->schedulers[i].subports[k].port] = &qos->schedulers[i];
    c->shaper = calloc(c->e->plan->n_instances + 1, sizeof(*c->shaper));
    if (c->shaper == NULL)
        return -1;
    for (unsigned i = 0; i < c->e->plan->n_instances; i++)
        if (qos_state(c->e->tasks[i]) != NULL && c->e->tasks[i]->worker == 0 &&
            open_shards(c, i) != 0)
            return -1;
    return samples_open(&c->samples);
}

struct control *control_open(struct engine *e, struct tables *tables)
{
    struct control *c = calloc(1, sizeof(*c));

    if (c == NULL)
        return NULL;
    c->e = e;
    c->tables = tables;
    c->opened = rte_rdtsc();
    c->configured = e->plan->cfg;
    c->profile_places = e->plan->cfg->qos.n_profiles;
    c->profile_room = room_profiles(&e->plan->cfg->qos);
    c->model = running_open(e->plan->cfg);
    if (c->model == NULL || open_shapers(c) != 0 || ids_open(c) != 0 || routes_open(c) != 0 ||
        accounts_open(c) != 0) {
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
    punt_close(c->punt);
    for (unsigned i = 0; i < c->n_shapers; i++) {
        free(c->shaper[i].subscriber);
        free(c->shaper[i].before);
        free(c->shaper[i].sample);
        free(c->shaper[i].sampled);
        free(c->shaper[i].counters);
    }
    free(c->shaper);
    samples_close(&c->samples);
    ids_close(c);
    routes_close(c);
    accounts_close(c);
    running_close(c->model);
    config_free(c->reloaded);
    for (unsigned i = 0; i < QOS_MAX_PROFILES; i++)
        free(c->profile_name[i]);
    explain_free(c->explain);
    free(c);
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
    running->max_routes6 = room_routes6(m);
    running->max_prefixes = room_prefixes(m);
    running->qos.max_profiles = room_profiles(&m->qos);
    running->subscribers = copy(m->subscribers, m->n_subscribers, subscriber_records(m),
                                sizeof(*running->subscribers));
    running->routes = copy(m->routes, m->n_routes, running->max_routes, sizeof(*running->routes));
    running->routes6 =
        copy(m->routes6, m->n_routes6, running->max_routes6, sizeof(*running->routes6));
    running->nexthops =
        copy(m->nexthops, m->n_nexthops, room_nexthops(m), sizeof(*running->nexthops));
    running->sets = copy(m->sets, m->n_sets, room_sets(m), sizeof(*running->sets));
    running->qos.profiles =
        copy(m->qos.profiles, m->qos.n_profiles, QOS_MAX_PROFILES, sizeof(*running->qos.profiles));
    if (running->subscribers != NULL && own_names(running) && running->routes != NULL &&
        running->routes6 != NULL && running->nexthops != NULL && running->sets != NULL &&
        running->qos.profiles != NULL)
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
    free(running->routes6);
    free(running->nexthops);
    free(running->sets);
    free(running->qos.profiles);
    free(running);
}
