/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/ids.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_pause.h>

#include "config/subscribers.h"
#include "control/control.h"
#include "control/rates.h"
#include "tasks/arp/arp.h"

#define WAIT_NS   1000000000
#define NAP_NS    20000
#define SPINS     1000 /* pauses before the first nap, some 40 us: cores end their rounds meanwhile */
#define MOST_FREE 1024 /* numbers that one core call frees */
#define FEW_FREE  64   /* fewer wait for more of them, up to */
#define FREE_NS   10000000

uint32_t arp_instance(const struct control *c)
{
    for (uint32_t i = 0; i < c->e->plan->n_instances; i++)
        if (c->e->tasks[i]->type == &task_arp)
            return i;
    return CFG_NONE;
}

static int take_news(struct task *t, void *arg)
{
    (void)arg;
    arp_take_news(t);
    return 0;
}

struct task *arp_settled(const struct control *c)
{
    uint32_t arp = arp_instance(c);

    if (arp == CFG_NONE)
        return NULL;
    engine_call(c->e, arp, take_news, NULL);
    return c->e->tasks[arp];
}

static int take_news_of_pipes(struct task *t, void *arg)
{
    (void)arg;
    qos_take_news(t);
    return 0;
}

void shapers_settled(const struct control *c)
{
    for (unsigned i = 0; i < c->n_shapers; i++)
        engine_call(c->e, c->shaper[i].instance, take_news_of_pipes, NULL);
}

/* May subscribers of a subport be on a shard? */
static bool may_lie_on(const struct cfg_scheduler *s, uint32_t subport, unsigned shard)
{
    return !s->subports[subport].whole || s->subports[subport].shard == shard;
}

/* The stack of a subport on a shard, of which one is at a place of free_pipes.n: its first place.
 */
static uint32_t *stack_at(const struct free_pipes *f, const struct cfg_scheduler *s, uint32_t place)
{
    return f->free + place / s->n_subports * s->pipes.n + s->subports[place % s->n_subports].first;
}

static void push(struct free_pipes *f, const struct cfg_scheduler *s, uint32_t pipe)
{
    uint32_t place = qos_shard_of(s, pipe) * s->n_subports + qos_subport_of(s, pipe);

    stack_at(f, s, place)[f->n[place]++] = pipe;
}

/* Pipes are stacked from the highest down, so that the lowest is taken first. */
static int open_pipes(const struct control *c, struct free_pipes *f, unsigned scheduler)
{
    const struct cfg_scheduler *s = &c->model->qos.schedulers[scheduler];
    uint32_t pipes = qos_shards(s) * s->pipes.n;
    uint8_t *used = calloc(pipes + 1, 1);

    f->free = calloc(pipes + 1, sizeof(*f->free));
    f->n = calloc((size_t)qos_shards(s) * s->n_subports + 1, sizeof(*f->n));
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
        if (!used[pipe] && may_lie_on(s, qos_subport_of(s, pipe), qos_shard_of(s, pipe)))
            push(f, s, pipe);
    free(used);
    return 0;
}

/* Count who leads to each next hop and set. */
static void count_routes(struct ids *k, const struct cfg_model *m)
{
    for (uint32_t i = 0; i < m->n_sets; i++)
        for (uint32_t h = 0; h < m->sets[i].n; h++)
            k->routes_to[m->sets[i].nexthop[h] + 1]++;
    for (uint32_t i = 0; i < m->n_routes + m->n_routes6; i++) {
        uint32_t to =
            i < m->n_routes ? m->routes[i].nexthop : m->routes6[i - m->n_routes].way.nexthop;

        if ((to & CFG_SET) != 0)
            k->routes_to_set[to & ~CFG_SET]++;
        else
            k->routes_to[to + 1]++;
    }
}

int ids_open(struct control *c)
{
    const struct cfg_model *m = c->model;
    uint32_t nexthops = c->tables->routes->capacity, sets = c->tables->routes->set_capacity;
    struct ids *k = &c->ids;

    c->e->readers = c->tables->readers;
    k->n_subscribers = m->n_subscribers;
    k->room = c->tables->subscribers->capacity + nexthops + sets + 1;
    k->retired = calloc(k->room, sizeof(*k->retired));
    k->pipes = calloc(m->qos.n_schedulers + 1, sizeof(*k->pipes));
    k->routes_to = calloc(nexthops + 2, sizeof(*k->routes_to));
    k->routes_to_set = calloc(sets + 1, sizeof(*k->routes_to_set));
    if (quiesce_open(&k->grace, c->e) != 0 || k->retired == NULL || k->pipes == NULL ||
        k->routes_to == NULL || k->routes_to_set == NULL)
        return -1;
    for (unsigned i = 0; i < m->qos.n_schedulers; i++)
        if (open_pipes(c, &k->pipes[i], i) != 0)
            return -1;
    count_routes(k, m);
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
    free(k->retired);
    free(k->routes_to);
    free(k->routes_to_set);
    quiesce_close(&k->grace);
}

/* --- pipes --- */

/* The shard on which a subport has the most free pipes, as a place in free_pipes.n. */
static uint32_t emptiest(const struct cfg_scheduler *shape, const struct free_pipes *f,
                         uint32_t subport)
{
    uint32_t best = subport;

    for (unsigned i = 1; i < qos_shards(shape); i++)
        if (f->n[i * shape->n_subports + subport] > f->n[best])
            best = i * shape->n_subports + subport;
    return best;
}

uint32_t ids_take_pipe(struct control *c, const struct cfg_subscriber *s)
{
    const struct cfg_scheduler *shape = c->by_port[s->port];
    uint32_t place;
    struct free_pipes *f;

    if (shape == NULL)
        return CFG_NONE;
    f = &c->ids.pipes[shape - c->model->qos.schedulers];
    place = emptiest(shape, f, subport_of(shape, s));
    return stack_at(f, shape, place)[--f->n[place]];
}

uint32_t ids_free_pipes(const struct control *c, unsigned scheduler, uint32_t subport)
{
    const struct cfg_scheduler *shape = &c->model->qos.schedulers[scheduler];
    uint32_t n = 0;

    for (unsigned i = 0; i < qos_shards(shape); i++)
        n += c->ids.pipes[scheduler].n[i * shape->n_subports + subport];
    return n;
}

void ids_return_pipe(struct control *c, uint32_t port, uint32_t pipe)
{
    const struct cfg_scheduler *shape = c->by_port[port];

    if (shape != NULL && pipe != CFG_NONE)
        push(&c->ids.pipes[shape - c->model->qos.schedulers], shape, pipe);
}

uint32_t ids_free_subscribers(const struct control *c)
{
    return c->tables->subscribers->capacity - c->ids.n_subscribers - c->ids.retired_subscribers;
}

/* --- retiring --- */

static void retire(struct ids *k, struct retired r)
{
    if (!r.waits)
        r.period = quiesce_begin(&k->grace);
    k->retired[(k->first + k->n++) % k->room] = r;
    k->retired_subscribers += r.kind == RETIRED_SUBSCRIBER;
}

void ids_retire_subscriber(struct control *c, uint32_t id, bool waits)
{
    retire(&c->ids, (struct retired){.id = id, .kind = RETIRED_SUBSCRIBER, .waits = waits});
}

void ids_retire_nexthop(struct control *c, uint32_t id)
{
    retire(&c->ids, (struct retired){.id = id, .kind = RETIRED_NEXTHOP});
}

void ids_retire_set(struct control *c, uint32_t number)
{
    retire(&c->ids, (struct retired){.id = number, .kind = RETIRED_SET});
}

/* --- freeing --- */

static int read_held(struct task *t, void *pipe)
{
    return (int)qos_pipe_held(t, *(const uint32_t *)pipe);
}

/* A scheduler that cannot drop packets of a removed subscriber may still hold some. */
static bool still_waits(const struct control *c, const struct shaper *s, uint32_t place)
{
    return engine_call(c->e, s->instance, read_held, &place) != 0;
}

/* A scheduler has not taken yet that the pipe of a removed subscriber is closed. */
static bool still_open(const struct control *c, const struct shaper *s, uint32_t place)
{
    (void)c;
    return !qos_is_free(s->q, place);
}

/* Is something so of the pipe of a removed subscriber in any scheduler? */
static bool any_pipe(const struct control *c, uint32_t id,
                     bool (*is)(const struct control *c, const struct shaper *s, uint32_t place))
{
    const struct subscriber *s = &c->tables->subscribers->record[id];

    for (unsigned i = 0; i < c->n_shapers; i++) {
        uint32_t place = qos_place(c->shaper[i].q, s->path / QOS_QUEUES);

        if (c->shaper[i].q->shape == c->by_port[s->port] && place != CFG_NONE &&
            is(c, &c->shaper[i], place))
            return true;
    }
    return false;
}

static bool is_over(struct control *c, struct retired *r, uint64_t over)
{
    if (r->waits && !any_pipe(c, r->id, still_waits)) {
        r->waits = false;
        r->period = quiesce_begin(&c->ids.grace);
    }
    return !r->waits && r->period <= over &&
           (r->kind != RETIRED_SUBSCRIBER || !any_pipe(c, r->id, still_open));
}

static void free_pipe(struct control *c, uint32_t id)
{
    const struct subscriber *s = &c->tables->subscribers->record[id];

    if (s->path != SUBSCRIBER_NO_PATH)
        ids_return_pipe(c, s->port, s->path / QOS_QUEUES);
}

static const struct retired *nth_retired(const struct ids *k, uint32_t i)
{
    return &k->retired[(k->first + i) % k->room];
}

static int forget(struct task *t, uint32_t i, void *ctx)
{
    const struct retired *r = nth_retired(ctx, i);

    if (r->kind == RETIRED_SUBSCRIBER)
        arp_forget_subscriber(t, r->id);
    else if (r->kind == RETIRED_NEXTHOP)
        arp_forget_nexthop(t, r->id);
    return 0;
}

/* The arp task forgets them first: it must not refresh a MAC that is nobody's. */
static int forget_oldest(struct control *c, uint32_t n)
{
    uint32_t arp = arp_instance(c);

    return arp != CFG_NONE ? core_call_each(c->e, arp, n, forget, &c->ids, NULL) : 0;
}

static void free_number(struct control *c, const struct retired *r)
{
    switch (r->kind) {
    case RETIRED_SUBSCRIBER:
        free_pipe(c, r->id);
        subscriber_release(c->tables->subscribers, r->id);
        c->ids.retired_subscribers--;
        break;
    case RETIRED_NEXTHOP:
        route_release_nexthop(c->tables->routes, r->id);
        break;
    case RETIRED_SET:
        route_release_set(c->tables->routes, r->id);
        break;
    }
}

/* Is it worth a core call to free n numbers that nobody waits for? One in a change of a route, or
 * of a subscriber, was as much as all else in it. */
static bool is_worth_it(const struct control *c, uint32_t n)
{
    return n >= FEW_FREE || !c->e->running ||
           rte_rdtsc() - c->ids.freed > rte_get_tsc_hz() / (1000000000 / FREE_NS);
}

/* Free numbers from the oldest on, up to the first whose grace period is not over; wanted: however
 * few they are. Returns how many were freed. */
static uint32_t free_oldest(struct control *c, uint64_t over, bool wanted)
{
    struct ids *k = &c->ids;
    uint32_t n = 0;

    while (n < k->n && n < MOST_FREE && is_over(c, &k->retired[(k->first + n) % k->room], over))
        n++;
    if (n == 0 || (!wanted && !is_worth_it(c, n)) || forget_oldest(c, n) != 0)
        return 0;
    k->freed = rte_rdtsc();
    for (uint32_t i = 0; i < n; i++)
        free_number(c, nth_retired(k, i));
    k->first = (k->first + n) % k->room;
    k->n -= n;
    return n;
}

static void free_all(struct control *c, bool wanted)
{
    if (c->ids.n == 0)
        return;
    while (free_oldest(c, quiesce_poll(&c->ids.grace), wanted) == MOST_FREE)
        ;
}

void ids_poll(struct control *c)
{
    free_all(c, false);
}

/* The i-th pause of waiting. */
static void pause_once(unsigned i)
{
    static const struct timespec nap = {.tv_nsec = NAP_NS};

    if (i < SPINS)
        rte_pause();
    else
        nanosleep(&nap, NULL);
}

bool ids_wait(struct control *c, bool (*ready)(const struct control *c, const void *ctx),
              const void *ctx)
{
    for (unsigned i = 0; i < SPINS + WAIT_NS / NAP_NS; i++) {
        free_all(c, true);
        if (ready(c, ctx))
            return true;
        if (c->ids.n == 0)
            break;
        if (i == SPINS) /* where an output is blocked, a scheduler is not asked for packets */
            shapers_settled(c);
        pause_once(i);
    }
    return ready(c, ctx);
}

void ids_wait_grace(struct control *c)
{
    uint64_t period = quiesce_begin(&c->ids.grace);

    for (unsigned i = 0; i < SPINS + WAIT_NS / NAP_NS && quiesce_poll(&c->ids.grace) < period; i++)
        pause_once(i);
}

/* --- finding subscribers --- */

uint32_t port_named(const struct cfg_model *m, const char *text, size_t len)
{
    for (uint32_t i = 0; i < m->n_ports; i++)
        if (strlen(m->ports[i].name) == len && memcmp(m->ports[i].name, text, len) == 0)
            return i;
    return CFG_NONE;
}

int circuit_key(const struct control *c, const char *circuit, uint32_t *key)
{
    static const struct key notation = {.type = KEY_SUBSCRIBER};
    const char *space = strchr(circuit, ' ');
    struct param_value v = {0};
    uint32_t port;

    if (space == NULL || key_parse(&notation, circuit, &v) != 0)
        return -EINVAL;
    port = port_named(control_model(c), circuit, (size_t)(space - circuit));
    if (port == CFG_NONE)
        return -ENODEV;
    *key = subscriber_vlan_key((uint8_t)port, (uint16_t)v.u, (uint16_t)v.u2);
    return 0;
}

int subscriber_on(const struct control *c, const char *circuit, uint32_t *id)
{
    uint32_t key;
    int rc = circuit_key(c, circuit, &key);

    if (rc != 0)
        return rc;
    *id = idmap_get(c->tables->subscribers->by_vlan, key);
    return *id != 0 ? 0 : -ENOENT;
}

static bool want_id(const struct control *c, struct loader *l, const struct value *v, uint32_t *id)
{
    uint32_t last = control_model(c)->n_subscribers;

    if (v->v.u < 1 || v->v.u > last) {
        value_error(l, v, "subscriber", "expected 1 to %" PRIu32, last);
        return false;
    }
    *id = (uint32_t)v->v.u;
    if (!running_has(control_model(c), *id))
        value_error(l, v, "subscriber", "there is none now");
    return running_has(control_model(c), *id);
}

bool want_subscriber(const struct control *c, struct loader *l, const struct value *v, uint32_t *id)
{
    int rc;

    if (v->v.s == NULL)
        return want_id(c, l, v, id);
    rc = subscriber_on(c, v->v.s, id);
    if (rc == -ENODEV)
        value_error(l, v, "subscriber", "there is no port '%.*s'", (int)strcspn(v->v.s, " "),
                    v->v.s);
    else if (rc != 0)
        value_error(l, v, "subscriber", "there is none");
    return rc == 0;
}
