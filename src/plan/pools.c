/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mbufs: the sets of them, each on the socket of the cores that take from it; and which of them get
 * where, from the queues and tasks that take them, over links and wires, to transmit queues.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/make.h"

/* --- the sets --- */

static uint16_t socket_of(const struct plan *p, unsigned instance)
{
    return p->cores[p->instances[instance].core].socket;
}

static bool makes_packets(const struct cfg_task *t)
{
    return t->schema->kind == TASK_SOURCE || t->schema->makes;
}

static bool is_source(const struct plan *p, unsigned instance)
{
    return p->cfg->tasks[p->instances[instance].task].schema->kind == TASK_SOURCE;
}

/* The set that a pool of the configuration has on a socket; else its first; n_pools: it has none.
 */
static unsigned find_set(const struct plan *p, unsigned cfg, unsigned socket)
{
    unsigned first = p->n_pools;

    for (unsigned i = 0; i < p->n_pools; i++) {
        if (p->pools[i].cfg == cfg && p->pools[i].socket == socket)
            return i;
        if (p->pools[i].cfg == cfg && first == p->n_pools)
            first = i;
    }
    return first;
}

/* Add a set, whose name is that of the pool and a suffix. Returns its index. */
static uint16_t add_set(struct plan_build *b, unsigned cfg, unsigned socket, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

static uint16_t add_set(struct plan_build *b, unsigned cfg, unsigned socket, const char *fmt, ...)
{
    const struct cfg_pool *pool = &b->m->pools[cfg];
    struct plan *p = b->p;
    struct plan_pool *set;
    size_t used;
    va_list ap;

    if (p->n_pools == PLAN_MAX_POOLS) {
        if (!b->pools_full)
            diag_error(
                b->d, pool->loc,
                "pool '%s': all pools together are more than %u, one for each %s here: expected "
                "fewer receive queues or cores, or per = \"gateway\"",
                pool->name, PLAN_MAX_POOLS, pool->per == POOL_PER_QUEUE ? "queue" : "socket");
        b->pools_full = true;
        return 0;
    }
    set = &p->pools[p->n_pools];
    *set = (struct plan_pool){.cfg = (uint16_t)cfg,
                              .socket =
                                  (uint16_t)(pool->socket >= 0 ? (unsigned)pool->socket : socket)};
    used = (size_t)snprintf(set->name, sizeof(set->name), "%s", pool->name);
    va_start(ap, fmt);
    vsnprintf(set->name + used, sizeof(set->name) - used, fmt, ap);
    va_end(ap);
    return (uint16_t)p->n_pools++;
}

/* The set for a user on a socket, made where there is none. */
static uint16_t take_set(struct plan_build *b, unsigned cfg, unsigned socket)
{
    const struct cfg_pool *pool = &b->m->pools[cfg];
    unsigned found = find_set(b->p, cfg, pool->socket >= 0 ? (unsigned)pool->socket : socket);

    if (found < b->p->n_pools &&
        (pool->per == POOL_PER_GATEWAY || pool->socket >= 0 || b->p->pools[found].socket == socket))
        return (uint16_t)found;
    return add_set(b, cfg, socket, ".s%u", socket);
}

/* Give the receive queues of an instance their sets. */
static void give_queues(struct plan_build *b, unsigned instance, unsigned cfg)
{
    struct plan_instance *inst = &b->p->instances[instance];
    bool each = b->m->pools[cfg].per == POOL_PER_QUEUE;
    unsigned socket = socket_of(b->p, instance);

    for (uint16_t r = 0; r < inst->n_rx; r++) {
        struct plan_rx *rx = &inst->rx[r];
        const struct cfg_port *port = &b->m->ports[rx->port];

        if (port->pool == cfg && !port_is_wire(port))
            rx->pool = each ? add_set(b, cfg, socket, ".%s.rx%u", port->name, rx->queue)
                            : take_set(b, cfg, socket);
    }
}

static void give_source(struct plan_build *b, unsigned instance, unsigned cfg)
{
    char name[64];
    unsigned socket = socket_of(b->p, instance);

    if (b->m->tasks[b->p->instances[instance].task].pool == cfg && is_source(b->p, instance))
        b->p->instances[instance].pool =
            b->m->pools[cfg].per == POOL_PER_QUEUE
                ? add_set(b, cfg, socket, ".%s", instance_name(b->p, instance, name, sizeof(name)))
                : take_set(b, cfg, socket);
}

/* Give a pool's set to who makes few packets, and to queues that take none, or of which nobody
 * takes any. They share what others have on their socket. */
static void share_sets(struct plan_build *b, unsigned cfg)
{
    struct plan *p = b->p;

    for (unsigned i = 0; i < p->n_instances; i++) {
        struct plan_instance *inst = &p->instances[i];

        if (b->m->tasks[inst->task].pool == cfg && !is_source(p, i))
            inst->pool = (uint16_t)find_set(p, cfg, socket_of(p, i));
        for (uint16_t r = 0; r < inst->n_rx; r++)
            if (b->m->ports[inst->rx[r].port].pool == cfg &&
                port_is_wire(&b->m->ports[inst->rx[r].port]))
                inst->rx[r].pool = (uint16_t)find_set(p, cfg, socket_of(p, i));
    }
    for (unsigned i = 0; i < b->m->n_ports; i++)
        if (b->m->ports[i].pool == cfg)
            p->unread_pool[i] = (uint16_t)find_set(p, cfg, 0);
}

/* The socket of the first who makes packets of a pool which nobody receives into. */
static unsigned socket_of_maker(const struct plan *p, unsigned cfg)
{
    for (unsigned i = 0; i < p->n_instances; i++) {
        const struct cfg_task *t = &p->cfg->tasks[p->instances[i].task];

        if (t->pool == cfg && makes_packets(t))
            return socket_of(p, i);
    }
    return 0;
}

static void make_sets(struct plan_build *b, unsigned cfg)
{
    struct plan *p = b->p;
    unsigned before = p->n_pools;

    for (unsigned i = 0; i < p->n_instances; i++) {
        give_queues(b, i, cfg);
        give_source(b, i, cfg);
    }
    if (p->n_pools == before)
        add_set(b, cfg, socket_of_maker(p, cfg), "%s", "");
    else if (p->n_pools == before + 1 && b->m->pools[cfg].per != POOL_PER_QUEUE)
        snprintf(p->pools[before].name, sizeof(p->pools[before].name), "%s", b->m->pools[cfg].name);
    share_sets(b, cfg);
}

void plan_make_pools(struct plan_build *b)
{
    for (unsigned i = 0; i < b->m->n_pools && !b->pools_full; i++)
        make_sets(b, i);
}

unsigned plan_queue_pool(const struct plan *p, unsigned port, unsigned queue)
{
    for (unsigned i = 0; i < p->n_instances; i++)
        for (uint16_t r = 0; r < p->instances[i].n_rx; r++)
            if (p->instances[i].rx[r].port == port && p->instances[i].rx[r].queue == queue)
                return p->instances[i].rx[r].pool;
    return p->unread_pool[port];
}

/* --- which mbufs get where --- */

/* Does a device give packets in buffers of its own, which it attaches to mbufs? */
static bool attaches(const struct cfg_port *port)
{
    return strstr(port->device, "mprq_en=1") != NULL || strstr(port->device, "ext-buf=1") != NULL;
}

/* Does a device give each packet in one mbuf, whatever its length? It sends no others, either. */
static bool is_whole(const struct cfg_port *port)
{
    return strncmp(port->device, "net_af_xdp", 10) == 0;
}

/* Does a task drop packets of several mbufs? */
static bool drops_chained(const struct task_schema *s)
{
    for (unsigned i = 0; i < s->n_drops; i++)
        if (s->drops[i].name != NULL && strcmp(s->drops[i].name, "segmented") == 0)
            return true;
    return false;
}

/* What a queue takes: a wire hands over the sender's mbufs, any other port has its own. */
static uint64_t received(const struct plan *p, const struct mbuf_flow *f, const struct plan_rx *rx)
{
    const struct cfg_port *port = &p->cfg->ports[rx->port];

    if (port_is_wire(port))
        return f->sent[wire_peer(p->cfg, rx->port)];
    return UINT64_C(1) << rx->pool | (is_whole(port) ? 0 : PLAN_MBUFS_CHAINED) |
           (attaches(port) ? PLAN_MBUFS_ATTACHED : 0);
}

static bool add(uint64_t *set, uint64_t more)
{
    bool changed = (more & ~*set) != 0;

    *set |= more;
    return changed;
}

static bool follow_dest(const struct plan *p, const struct plan_dest *d, uint64_t mbufs,
                        struct mbuf_flow *f)
{
    switch (d->kind) {
    case DEST_PORT:
        add(&p->tx[d->index][d->queue].mbufs, mbufs);
        return add(&f->sent[d->index], mbufs);
    case DEST_CALL:
        return add(&f->arrives[d->index], mbufs);
    case DEST_RING:
        return add(&f->arrives[p->rings[d->index].consumer], mbufs);
    }
    return false;
}

static bool follow_instance(const struct plan *p, unsigned i, struct mbuf_flow *f)
{
    const struct plan_instance *inst = &p->instances[i];
    const struct cfg_task *t = &p->cfg->tasks[inst->task];
    bool changed = false;
    uint64_t out;

    for (uint16_t r = 0; r < inst->n_rx; r++)
        changed |= add(&f->arrives[i], received(p, f, &inst->rx[r]));
    f->instance[i] = f->arrives[i] | (makes_packets(t) ? UINT64_C(1) << inst->pool : 0);
    out = f->instance[i] & ~(drops_chained(t->schema) ? PLAN_MBUFS_CHAINED : 0);
    for (unsigned o = 0; o < TASK_MAX_OUTPUTS; o++)
        for (uint16_t k = 0; k < inst->output[o].n_dests; k++)
            changed |= follow_dest(p, &inst->output[o].dest[k], out, f);
    return changed;
}

/* Does a device only read the frames that it is given? Of other software devices some hand mbufs on
 * to who may write into them, as net_ring, or write themselves, as net_bonding. */
static bool only_reads(const struct cfg_port *port)
{
    static const char *const drivers[] = {"net_af_packet",  "net_memif", "net_null",
                                          "net_pcap",       "net_tap",   "net_vhost",
                                          "net_virtio_user"};

    for (unsigned i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++)
        if (strncmp(port->device, drivers[i], strlen(drivers[i])) == 0)
            return true;
    return plan_port_is_pci(port);
}

/* Do all outputs of an instance lead into devices that only read? */
static bool only_read(const struct plan *p, const struct plan_instance *inst)
{
    for (unsigned o = 0; o < TASK_MAX_OUTPUTS; o++)
        for (uint16_t k = 0; k < inst->output[o].n_dests; k++) {
            const struct plan_dest *d = &inst->output[o].dest[k];

            if (d->kind != DEST_PORT || !only_reads(&p->cfg->ports[d->index]))
                return false;
        }
    return true;
}

/* Does a port that is no wire receive into mbufs of a set? */
static bool received_into(const struct plan *p, unsigned pool)
{
    for (unsigned i = 0; i < p->cfg->n_ports; i++) {
        if (port_is_wire(&p->cfg->ports[i]))
            continue;
        if (p->rx_queues[i] == 0 && p->unread_pool[i] == pool)
            return true;
        for (unsigned q = 0; q < p->rx_queues[i]; q++)
            if (plan_queue_pool(p, i, q) == pool)
                return true;
    }
    return false;
}

static bool keeps_frames(const struct plan *p, unsigned instance)
{
    const struct plan_instance *inst = &p->instances[instance];

    if (!is_source(p, instance) || !only_read(p, inst) || received_into(p, inst->pool))
        return false;
    for (unsigned i = 0; i < p->n_instances; i++)
        if (i != instance && p->instances[i].pool == inst->pool &&
            makes_packets(&p->cfg->tasks[p->instances[i].task]))
            return false;
    return true;
}

/* Make the transmit queues. Returns 0, or -ENOMEM. */
static int make_tx(struct plan_build *b)
{
    for (unsigned i = 0; i < b->m->n_ports; i++) {
        b->p->tx[i] = calloc(b->p->tx_queues[i] + 1u, sizeof(b->p->tx[i][0]));
        if (b->p->tx[i] == NULL)
            return -ENOMEM;
        for (uint16_t core = 0; core < b->p->n_cores; core++)
            if (b->txq[i][core] != PLAN_NONE)
                b->p->tx[i][b->txq[i][core]].core = core;
    }
    return 0;
}

/* Report a task that sends packets to a device which would send more than is in them. */
static void check_whole(struct plan_build *b, const struct plan_instance *inst)
{
    const struct cfg_task *t = &b->m->tasks[inst->task];
    bool chained =
        (b->flow.task[inst->task] & PLAN_MBUFS_CHAINED) != 0 && !drops_chained(t->schema);

    for (unsigned o = 0; chained && inst->worker == 0 && o < TASK_MAX_OUTPUTS; o++)
        for (uint16_t k = 0; k < inst->output[o].n_dests; k++) {
            const struct plan_dest *d = &inst->output[o].dest[k];

            if (d->kind == DEST_PORT && is_whole(&b->m->ports[d->index]))
                diag_error(b->d, t->loc,
                           "task '%s' sends to port '%s' what may lie in several mbufs, but "
                           "net_af_xdp sends only what lies in one: expected a task before it that "
                           "drops the others (classify, gre_decap or mpls_pop), or net_af_packet",
                           t->name, b->m->ports[d->index].name);
        }
}

int plan_follow_mbufs(struct plan_build *b)
{
    struct plan *p = b->p;
    bool changed = true;

    b->flow.instance = calloc(p->n_instances + 1, sizeof(b->flow.instance[0]));
    b->flow.arrives = calloc(p->n_instances + 1, sizeof(b->flow.arrives[0]));
    if (b->flow.instance == NULL || b->flow.arrives == NULL || make_tx(b) != 0)
        return -ENOMEM;
    while (changed) { /* the sets grow until none changes */
        changed = false;
        for (unsigned i = 0; i < p->n_instances; i++)
            changed |= follow_instance(p, i, &b->flow);
    }
    for (unsigned i = 0; i < p->n_instances; i++) {
        b->flow.task[p->instances[i].task] |= b->flow.instance[i];
        p->instances[i].keeps_frames = keeps_frames(p, i);
    }
    for (unsigned i = 0; i < p->n_instances; i++)
        check_whole(b, &p->instances[i]);
    return 0;
}

/* --- what follows for transmission --- */

/* Write the names of pools, with commas between. */
static void list_pools(const struct plan *p, uint64_t pools, char *buf, size_t len)
{
    size_t used = 0;

    for (unsigned i = 0; i < p->n_pools && used < len; i++)
        if ((pools >> i & 1) != 0)
            used += (size_t)snprintf(buf + used, len - used, "%s%s", used > 0 ? ", " : "",
                                     p->pools[i].name);
}

bool plan_fast_free(const struct plan *p, unsigned port, unsigned queue, char *why, size_t len)
{
    uint64_t mbufs = p->tx[port][queue].mbufs, pools = mbufs & ~PLAN_MBUFS_ANY;
    static const char several[] = "mbufs of several pools: ";

    if ((mbufs & PLAN_MBUFS_ANY) == 0 && (pools & (pools - 1)) == 0) {
        snprintf(why, len, "%s", "");
        return true;
    }
    if ((mbufs & PLAN_MBUFS_ATTACHED) != 0)
        snprintf(why, len, "a device attaches buffers of its own");
    else if ((mbufs & PLAN_MBUFS_CHAINED) != 0)
        snprintf(why, len, "no task before it drops packets of several mbufs");
    else if (snprintf(why, len, "%s", several) < (int)len)
        list_pools(p, pools, why + sizeof(several) - 1, len - (sizeof(several) - 1));
    return false;
}
