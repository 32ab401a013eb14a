/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/ids.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "control/control.h"
#include "control/slices.h"
#include "tasks/arp.h"
#include "tasks/arp_live.h"

#define WAIT_NS   1000000000
#define NAP_NS    20000
#define MOST_FREE 1024 /* given back at once */

uint32_t arp_instance(const struct control *c)
{
    for (uint32_t i = 0; i < c->e->plan->n_instances; i++)
        if (c->e->tasks[i]->type == &task_arp)
            return i;
    return CFG_NONE;
}

/* The lowest places are given out first. */
static int open_pipes(const struct control *c, struct free_pipes *f, unsigned scheduler)
{
    const struct cfg_scheduler *s = &c->model->qos.schedulers[scheduler];
    uint32_t size = s->pipes_per_subport, pipes = s->n_subports * size;
    uint8_t *used = calloc(pipes + 1, 1);

    f->free = calloc(pipes + 1, sizeof(*f->free));
    f->n = calloc(s->n_subports + 1, sizeof(*f->n));
    if (used == NULL || f->free == NULL || f->n == NULL) {
        free(used);
        return -1;
    }
    for (uint32_t i = 0; i < c->model->n_subscribers; i++) {
        const struct cfg_subscriber *sub = &c->model->subscribers[i];

        if (sub->pipe != CFG_NONE && c->by_port[sub->port] == s)
            used[sub->pipe] = 1;
    }
    for (uint32_t pipe = pipes; pipe-- > 0;)
        if (!used[pipe])
            f->free[pipe / size * size + f->n[pipe / size]++] = pipe;
    free(used);
    return 0;
}

int ids_open(struct control *c)
{
    const struct cfg_model *m = c->model;
    uint32_t nexthops = c->tables->routes->capacity;
    struct ids *k = &c->ids;

    c->e->readers = c->tables->readers;
    k->n_subscribers = m->n_subscribers;
    k->room = c->tables->subscribers->capacity + nexthops + 1;
    k->resting = calloc(k->room, sizeof(*k->resting));
    k->pipes = calloc(m->qos.n_schedulers + 1, sizeof(*k->pipes));
    k->routes_to = calloc(nexthops + 2, sizeof(*k->routes_to));
    if (grace_open(&k->grace, c->e) != 0 || k->resting == NULL || k->pipes == NULL ||
        k->routes_to == NULL)
        return -1;
    for (unsigned i = 0; i < m->qos.n_schedulers; i++)
        if (open_pipes(c, &k->pipes[i], i) != 0)
            return -1;
    for (uint32_t i = 0; i < m->n_routes; i++)
        k->routes_to[m->routes[i].nexthop + 1]++;
    return 0;
}

void ids_close(struct control *c)
{
    struct ids *k = &c->ids;

    for (unsigned i = 0; k->pipes != NULL && i < c->model->qos.n_schedulers; i++) {
        free(k->pipes[i].free);
        free(k->pipes[i].n);
    }
    free(k->pipes);
    free(k->resting);
    free(k->routes_to);
    grace_close(&k->grace);
}

static void rest(struct ids *k, struct resting r)
{
    if (!r.waits)
        r.period = grace_begin(&k->grace);
    k->resting[(k->first + k->n++) % k->room] = r;
    k->resting_subscribers += !r.nexthop;
}

void ids_rest_subscriber(struct control *c, uint32_t id, bool waits)
{
    rest(&c->ids, (struct resting){.id = id, .waits = waits});
}

void ids_rest_nexthop(struct control *c, uint32_t id)
{
    rest(&c->ids, (struct resting){.id = id, .nexthop = true});
}

/* --- what has rested --- */

static int read_held(struct task *t, void *pipe)
{
    return (int)qos_pipe_held(t, *(const uint32_t *)pipe);
}

/* Has a scheduler that cannot drop them still packets of a removed subscriber? */
static bool still_waits(const struct control *c, uint32_t id)
{
    uint32_t path = c->tables->subscribers->record[id].path, pipe = path / QOS_QUEUES;
    uint8_t port = c->tables->subscribers->record[id].port;

    for (unsigned i = 0; i < c->n_shapers; i++)
        if (c->shaper[i].q->shape == c->by_port[port] &&
            engine_call(c->e, c->shaper[i].instance, read_held, &pipe) != 0)
            return true;
    return false;
}

static bool is_over(struct control *c, struct resting *r, uint64_t over)
{
    if (r->waits && !still_waits(c, r->id)) {
        r->waits = false;
        r->period = grace_begin(&c->ids.grace);
    }
    return !r->waits && r->period <= over;
}

static void free_pipe(struct control *c, uint32_t id)
{
    const struct subscriber *s = &c->tables->subscribers->record[id];
    const struct cfg_scheduler *shape = c->by_port[s->port];
    uint32_t pipe = s->path / QOS_QUEUES, subport;
    struct free_pipes *f;

    if (s->path == SUBSCRIBER_NO_PATH || shape == NULL)
        return;
    f = &c->ids.pipes[shape - c->model->qos.schedulers];
    subport = pipe / shape->pipes_per_subport;
    f->free[subport * shape->pipes_per_subport + f->n[subport]++] = pipe;
}

struct freed {
    uint32_t id[MOST_FREE];
};

static int forget(struct task *t, uint32_t i, void *ctx)
{
    arp_forget_subscriber(t, ((const struct freed *)ctx)->id[i]);
    return 0;
}

/* The arp task must not look after a record that is nobody's. */
static int free_subscribers(struct control *c, const struct freed *f, uint32_t n)
{
    uint32_t arp = arp_instance(c);
    int rc = arp != CFG_NONE ? in_slices(c->e, arp, n, forget, (void *)f, NULL) : 0;

    for (uint32_t i = 0; rc == 0 && i < n; i++) {
        free_pipe(c, f->id[i]);
        subscriber_release(c->tables->subscribers, f->id[i]);
    }
    return rc;
}

/* As many as have rested, from the oldest on. Returns how many were given back. */
static uint32_t give_back(struct control *c, uint64_t over)
{
    struct ids *k = &c->ids;
    struct freed freed;
    uint32_t n = 0, subscribers = 0;

    for (; n < k->n && n < MOST_FREE; n++) {
        struct resting *r = &k->resting[(k->first + n) % k->room];

        if (!is_over(c, r, over))
            break;
        if (!r->nexthop)
            freed.id[subscribers++] = r->id;
    }
    if (subscribers > 0 && free_subscribers(c, &freed, subscribers) != 0)
        return 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct resting *r = &k->resting[(k->first + i) % k->room];

        if (r->nexthop)
            route_release_nexthop(c->tables->routes, r->id);
    }
    k->first = (k->first + n) % k->room;
    k->n -= n;
    k->resting_subscribers -= subscribers;
    return n;
}

void ids_poll(struct control *c)
{
    if (c->ids.n == 0)
        return;
    while (give_back(c, grace_poll(&c->ids.grace)) == MOST_FREE)
        ;
}

bool ids_wait(struct control *c, bool (*ready)(const struct control *c, const void *ctx),
              const void *ctx)
{
    static const struct timespec nap = {.tv_nsec = NAP_NS};

    for (unsigned i = 0; i < WAIT_NS / NAP_NS; i++) {
        ids_poll(c);
        if (ready(c, ctx))
            return true;
        if (c->ids.n == 0)
            break;
        nanosleep(&nap, NULL);
    }
    return ready(c, ctx);
}
