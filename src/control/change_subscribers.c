/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/change_subscribers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "control/check_subscribers.h"
#include "control/slices.h"
#include "control/specs.h"
#include "telemetry/metrics.h"

/* --- pipes --- */

static struct free_pipes *pipes_of(struct control *c, const struct cfg_subscriber *s)
{
    const struct cfg_scheduler *shape = c->by_port[s->port];

    return shape != NULL ? &c->ids.pipes[shape - c->model->qos.schedulers] : NULL;
}

static void take_pipe(struct control *c, struct cfg_subscriber *s)
{
    struct free_pipes *f = pipes_of(c, s);
    uint32_t subport = f != NULL ? subport_of(c->by_port[s->port], s) : 0;

    s->pipe = f == NULL
                  ? CFG_NONE
                  : f->free[subport * c->by_port[s->port]->pipes_per_subport + --f->n[subport]];
}

static void return_pipe(struct control *c, const struct cfg_subscriber *s)
{
    struct free_pipes *f = pipes_of(c, s);
    uint32_t size;

    if (s->pipe == CFG_NONE)
        return;
    size = c->by_port[s->port]->pipes_per_subport;
    f->free[s->pipe / size * size + f->n[s->pipe / size]++] = s->pipe;
}

struct pipe_work {
    const struct control *c;
    const struct shaper *s;
    const struct cfg_subscriber *list;
    bool *waits; /* of those that are closed: some still wait */
};

static bool shapes(const struct pipe_work *w, uint32_t i)
{
    return w->list[i].pipe != CFG_NONE && w->c->by_port[w->list[i].port] == w->s->q->shape;
}

/* Both on the core of the scheduler. */
static int open_one(struct task *t, uint32_t i, void *ctx)
{
    const struct pipe_work *w = ctx;

    return shapes(w, i) ? qos_open_pipe(t, w->list[i].pipe, w->list[i].profile) : 0;
}

static int close_one(struct task *t, uint32_t i, void *ctx)
{
    const struct pipe_work *w = ctx;

    if (shapes(w, i) && qos_close_pipe(t, w->list[i].pipe) > 0)
        w->waits[i] = true;
    return 0;
}

/* In all schedulers that shape some of them. */
static int work_on_pipes(struct control *c, const struct cfg_subscriber *list, uint32_t n,
                         int (*one)(struct task *t, uint32_t i, void *ctx), bool *waits,
                         struct refusal *why)
{
    for (unsigned i = 0; i < c->n_shapers; i++) {
        struct pipe_work w = {.c = c, .s = &c->shaper[i], .list = list, .waits = waits};
        bool any = false;
        int rc;

        for (uint32_t k = 0; !any && k < n; k++)
            any = shapes(&w, k);
        rc = any ? in_slices(c->e, w.s->instance, n, one, &w, NULL) : 0;
        if (rc != 0) {
            refuse(why, "task %s: %s", w.s->task->cfg->name, strerror(-rc));
            return rc;
        }
    }
    return 0;
}

/* --- the model, and what is kept of each pipe --- */

static void set_pipe_owner(struct control *c, const struct cfg_subscriber *s, uint32_t id)
{
    for (unsigned i = 0; s->pipe != CFG_NONE && i < c->n_shapers; i++) {
        struct shaper *sh = &c->shaper[i];

        if (sh->q->shape != c->by_port[s->port])
            continue;
        sh->subscriber[s->pipe] = id;
        memset(&sh->before[s->pipe], 0, sizeof(sh->before[0]));
        memset(&sh->sample[s->pipe], 0, sizeof(sh->sample[0]));
        if (sh->counters != NULL)
            memset(&sh->counters[(size_t)s->pipe * sh->n_queues], 0,
                   sh->n_queues * sizeof(sh->counters[0]));
    }
}

static void enter(struct control *c, const struct cfg_subscriber *s, uint32_t id)
{
    metrics_hold();
    c->model->subscribers[id - 1] = *s;
    if (id > c->model->n_subscribers)
        c->model->n_subscribers = id;
    set_pipe_owner(c, s, id);
    metrics_release();
    c->ids.n_subscribers++;
}

static void leave(struct control *c, uint32_t id)
{
    struct cfg_subscriber *s = &c->model->subscribers[id - 1];

    metrics_hold();
    set_pipe_owner(c, s, 0);
    s->port = CFG_NONE;
    metrics_release();
    c->ids.n_subscribers--;
}

/* --- add --- */

static int publish(struct control *c, const struct cfg_subscriber *s, uint32_t *id)
{
    struct subscriber_spec spec = subscriber_spec_of(c->model, s, c->tables->port_mac[s->port]);
    int64_t rc = subscriber_add(c->tables->subscribers, &spec);

    if (rc < 0)
        return (int)rc;
    *id = (uint32_t)rc;
    enter(c, s, *id);
    return 0;
}

/* Their pipes are open. Those that were published are taken back when one cannot be. */
static int publish_all(struct control *c, const struct cfg_subscriber *list, uint32_t n,
                       uint32_t *id, uint32_t *which, struct refusal *why)
{
    for (uint32_t i = 0; i < n; i++) {
        int rc = publish(c, &list[i], &id[i]);
        struct refusal other;

        if (rc == 0)
            continue;
        *which = i;
        refuse(why, "%s",
               rc == -ENOMEM ? "no memory for its indices: VLANs, keys and addresses near those "
                               "of others take less"
                             : strerror(-rc));
        if (i > 0)
            remove_subscribers(c, id, i, &other);
        for (uint32_t k = i; k < n; k++)
            return_pipe(c, &list[k]);
        return rc;
    }
    return 0;
}

int add_subscribers(struct control *c, const struct cfg_subscriber *list, uint32_t n, uint32_t *id,
                    uint32_t *which, struct refusal *why)
{
    struct cfg_subscriber *new;
    int rc = check_subscribers(c, list, n, which, why);

    if (rc != 0)
        return rc;
    new = malloc(n * sizeof(*new));
    if (new == NULL)
        return -ENOMEM;
    memcpy(new, list, n * sizeof(*new));
    for (uint32_t i = 0; i < n; i++)
        take_pipe(c, &new[i]);
    rc = work_on_pipes(c, new, n, open_one, NULL, why);
    if (rc == 0)
        rc = publish_all(c, new, n, id, which, why);
    else
        for (uint32_t i = 0; i < n; i++)
            return_pipe(c, &new[i]);
    free(new);
    return rc;
}

/* --- remove --- */

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* None may be named twice. */
static int check_ids(const uint32_t *id, uint32_t n, struct refusal *why)
{
    uint32_t *sorted = malloc(n * sizeof(*sorted));
    int rc = 0;

    if (sorted == NULL)
        return -ENOMEM;
    memcpy(sorted, id, n * sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), by_number);
    for (uint32_t i = 1; rc == 0 && i < n; i++)
        if (sorted[i] == sorted[i - 1])
            rc = refuse(why, "subscriber %" PRIu32 " is named twice", sorted[i]);
    free(sorted);
    return rc;
}

int remove_subscribers(struct control *c, const uint32_t *id, uint32_t n, struct refusal *why)
{
    struct cfg_subscriber *gone = malloc(n * sizeof(*gone));
    bool *waits = calloc(n, sizeof(*waits));
    int rc = gone == NULL || waits == NULL ? -ENOMEM : check_ids(id, n, why);

    if (rc != 0)
        goto out;
    for (uint32_t i = 0; i < n; i++) {
        gone[i] = c->model->subscribers[id[i] - 1];
        subscriber_unpublish(c->tables->subscribers, id[i]);
        leave(c, id[i]);
    }
    rc = work_on_pipes(c, gone, n, close_one, waits, why);
    /* where a core does not answer, nobody knows what still waits there: nobody gets these ids */
    for (uint32_t i = 0; rc == 0 && i < n; i++)
        ids_rest_subscriber(c, id[i], waits[i]);
out:
    free(gone);
    free(waits);
    return rc;
}

/* --- MAC --- */

struct mac_change {
    struct subscriber *s;
    const uint8_t *mac;
};

static int set_mac(struct task *t, void *arg)
{
    const struct mac_change *m = arg;

    (void)t;
    subscriber_set_static_mac(m->s, m->mac);
    return 0;
}

int change_mac(struct control *c, uint32_t id, const uint8_t *mac, struct refusal *why)
{
    struct mac_change m = {&c->tables->subscribers->record[id], mac};
    uint32_t arp = arp_instance(c);
    int rc;

    if (arp == CFG_NONE && mac == NULL)
        return refuse(why, "nobody learns MACs here: no task of type arp runs");
    /* MACs have one writer */
    rc = arp != CFG_NONE ? engine_call(c->e, arp, set_mac, &m) : set_mac(NULL, &m);
    if (rc != 0) {
        refuse(why, "task arp: %s", strerror(-rc));
        return rc;
    }
    c->model->subscribers[id - 1].has_mac = mac != NULL;
    if (mac != NULL)
        memcpy(c->model->subscribers[id - 1].mac, mac, 6);
    return 0;
}
