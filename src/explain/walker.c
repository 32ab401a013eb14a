/* SPDX-License-Identifier: BSD-3-Clause */
/* A packet on its way from task to task: each step is a dry run. */
#include "explain/walker.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ether.h>

#include "engine/drops.h"
#include "packet/ethernet.h"
#include "packet/qinq.h"

#define MAX_STEPS 512 /* links may form a circle */

/** A packet that waits for the dry run of a task. */
struct waiting {
    struct rte_mbuf *m;
    struct walk_frame frame; /* as it arrives; owned by the step that sent it */
    unsigned instance, packet;
    uint16_t in_port; /* or PORT_IN_MBUF */
};

/** A walk under way. */
struct walker {
    struct explain *x;
    struct walk *w;
    struct waiting *queue;
    unsigned at, n; /* queue[at..n-1] wait */
    bool sent, punted;
    char *err;
    size_t err_len;
};

static int no_memory(struct walker *k)
{
    snprintf(k->err, k->err_len, "no memory for the packets of a walk");
    return -1;
}

static int add_waiting(struct walker *k, const struct waiting *next)
{
    struct waiting *more;

    if ((k->n & (k->n - 1)) == 0) { /* 0, or a power of two: full */
        more = realloc(k->queue, RTE_MAX(2 * k->n, 1u) * sizeof(*more));
        if (more == NULL) {
            rte_pktmbuf_free(next->m);
            return no_memory(k);
        }
        k->queue = more;
    }
    k->queue[k->n++] = *next;
    return 0;
}

static struct meta meta_of(const struct rte_mbuf *m)
{
    return (struct meta){.subscriber = meta_subscriber(m),
                         .path = meta_path(m),
                         .nexthop = meta_nexthop(m),
                         .punt = meta_punt_reason(m)};
}

/* Keep the first drop as the reason of the verdict. */
static void blame(struct walker *k, const struct walk_step *step, const char *reason)
{
    if (k->w->task != NULL)
        return;
    k->w->task = walk_task(k->w, step->instance)->name;
    k->w->reason = reason;
}

/* Follow a packet that the task sent: out of a port, or to the next task. */
static int follow(struct walker *k, struct walk_step *step, const struct caught *c,
                  const struct rte_mbuf *given)
{
    const struct plan *p = k->w->plan;
    const struct plan_output *output = &p->instances[step->instance].output[c->output];
    struct walk_end *end = walk_add_end(step, END_OUTPUT, 1);
    struct waiting next = {.m = c->m, .in_port = PORT_IN_MBUF};

    end->packet = c->m == given ? step->packet : ++k->w->n_packets;
    end->output = k->x->e->tasks[step->instance]->type->schema.outputs[c->output].name;
    end->punted = strcmp(end->output, "punt") == 0;
    k->punted |= end->punted;
    end->way = c->way;
    end->to = output->dest[c->way];
    end->frame = walk_copy(c->m);
    if (end->to.kind == DEST_PORT) {
        end->peer_gone = k->x->e->ports[end->to.index].peer_gone;
        if (end->peer_gone)
            blame(k, step,
                  drop_name(&k->x->e->tasks[step->instance]->type->schema, DROP_LINK_FULL));
        k->sent = true;
        rte_pktmbuf_free(c->m);
        return 0;
    }
    next.packet = end->packet;
    next.frame = end->frame;
    next.instance = walk_next(k->w, end);
    return add_waiting(k, &next);
}

/* Note the packets that ended in the task. */
static void note_ends(struct walker *k, struct walk_step *step, const struct task *t)
{
    for (unsigned i = 0; i < N_TASK_DROPS; i++) {
        const char *reason = drop_name(&t->type->schema, i);

        if (t->drops[i] == 0)
            continue;
        walk_add_end(step, END_DROP, t->drops[i])->reason = reason;
        blame(k, step, reason);
    }
    if (t->consumed > 0)
        walk_add_end(step, END_CONSUMED, t->consumed);
}

/* Check the ledger of the dry run: each packet has one end. */
static int check_dry_run(struct walker *k, const struct dry_run *s)
{
    const struct task *t = &s->task;
    uint64_t ended = t->consumed + s->n_caught;

    for (unsigned i = 0; i < N_TASK_DROPS; i++)
        ended += t->drops[i];
    if (s->n_lost == 0 && ended == t->in + t->created)
        return 0;
    snprintf(k->err, k->err_len, "task %s (%s): what it does with a packet cannot be shown",
             t->cfg->name, t->type->schema.type);
    return -1;
}

/* Do the dry run of one task. A second reference keeps the packet, so that its mbuf can be read
 * even where the task drops it. */
static int run_task(struct walker *k, struct walk_step *step, const struct waiting *in,
                    struct dry_run *s, struct rte_mempool *pool)
{
    struct meta before = meta_of(in->m), after;
    struct task_explain x = {.pool = pool};
    bool kept = false;
    size_t size;
    int rc;

    x.notes = open_memstream(&step->notes, &size);
    if (x.notes == NULL) {
        rte_pktmbuf_free(in->m);
        return no_memory(k);
    }
    rte_pktmbuf_refcnt_update(in->m, 1);
    dry_run_run(s, in->m, in->in_port, &x);
    after = meta_of(in->m);
    for (unsigned i = 0; i < s->n_caught; i++)
        kept |= s->caught[i].m == in->m;
    if (kept)
        rte_pktmbuf_refcnt_update(in->m, -1);
    else
        rte_pktmbuf_free(in->m);
    rc = check_dry_run(k, s);
    for (unsigned i = 0; i < s->n_caught; i++) {
        if (rc == 0)
            rc = follow(k, step, &s->caught[i], in->m);
        else
            rte_pktmbuf_free(s->caught[i].m);
    }
    note_ends(k, step, &s->task);
    notes_print(k->x, step, &before, &after, &in->frame, x.notes);
    fclose(x.notes);
    return rc;
}

static int take_step(struct walker *k, const struct waiting *in)
{
    const struct task *real = k->x->e->tasks[in->instance];
    const struct look_pool *pool = explain_pool(k->x, real->cfg->pool);
    struct walk_step *step = walk_add_step(k->w);
    struct dry_run *s;
    int rc;

    step->instance = in->instance;
    step->packet = in->packet;
    step->came = in->frame;
    if (real->type->schema.kind == TASK_SINK) {
        walk_add_end(step, END_CONSUMED, 1);
        rte_pktmbuf_free(in->m);
        return 0;
    }
    s = pool != NULL ? dry_run_open(k->x->e, k->x->tables, pool->mp, in->instance) : NULL;
    if (s == NULL) {
        rte_pktmbuf_free(in->m);
        return no_memory(k);
    }
    rc = run_task(k, step, in, s, pool->mp);
    dry_run_close(s);
    return rc;
}

static int walk_all(struct walker *k)
{
    int rc = 0;

    while (rc == 0 && k->at < k->n && k->w->n_steps < MAX_STEPS) {
        struct waiting in = k->queue[k->at++];

        rc = take_step(k, &in);
    }
    if (k->at < k->n)
        k->w->verdict = WALK_ENDLESS;
    else if (k->w->reason != NULL)
        k->w->verdict = WALK_DROPPED;
    else
        k->w->verdict = !k->sent ? WALK_CONSUMED : k->punted ? WALK_ANSWERED : WALK_SENT;
    while (k->at < k->n)
        rte_pktmbuf_free(k->queue[k->at++].m);
    return rc;
}

static bool is_tag(rte_be16_t type)
{
    return type == RTE_BE16(TPID_S) || type == RTE_BE16(TPID_C);
}

/* What the rules of a port look at: its S-VLAN, PCP or DSCP; or a number that no rule has. */
static unsigned rule_value(const struct plan *p, unsigned port, const uint8_t *f, uint32_t len)
{
    const enum receive_by by = p->cfg->ports[port].receive.by;
    const uint32_t ip = plan_port_has_tags(p, port) ? QINQ_LEN : ETH_LEN;
    rte_be16_t type;

    if (by != RECEIVE_DSCP) {
        if (len < QINQ_LEN || !is_tag(eth_type(f)))
            return UINT_MAX;
        return by == RECEIVE_PCP ? f[ETH_LEN] >> 5 : net16(load16(f + ETH_LEN)) & 0xfffu;
    }
    if (len < ip + 2 || (ip == QINQ_LEN && !qinq_is_double(qinq_tags(f))))
        return UINT_MAX;
    type = load16(f + ip - 2);
    if (type == RTE_BE16(RTE_ETHER_TYPE_IPV4))
        return f[ip + 1] >> 2;
    return type == RTE_BE16(RTE_ETHER_TYPE_IPV6) ? (f[ip] & 15u) << 2 | f[ip + 1] >> 6 : UINT_MAX;
}

/* The queue to which rules send a frame. The first one gets what no rule matches. */
static unsigned rule_queue(const struct plan *p, unsigned port, const uint8_t *frame, uint32_t len)
{
    const struct cfg_receive *r = &p->cfg->ports[port].receive;
    unsigned value = rule_value(p, port, frame, len);

    for (unsigned q = 0; q < r->n_queues; q++)
        for (unsigned i = 0; i < r->queues[q].n_ranges; i++)
            if (value >= r->queues[q].range[i].first && value <= r->queues[q].range[i].last)
                return q;
    return 0;
}

/* Find the instance that reads a frame; of a hash nobody but the device knows the queue, and the
 * first stands for all. */
static bool find_reader(const struct plan *p, unsigned port, const uint8_t *frame, uint32_t len,
                        unsigned *reader)
{
    bool rules = receive_by_rules(&p->cfg->ports[port].receive);

    *reader = plan_queue_reader(p, port, rules ? rule_queue(p, port, frame, len) : 0);
    return *reader < p->n_instances;
}

struct walk *explain_frame(struct explain *x, unsigned port, const uint8_t *frame, uint32_t len,
                           char *err, size_t err_len)
{
    const struct plan *p = x->e->plan;
    const struct cfg_port *cfg = &p->cfg->ports[port];
    const struct look_pool *pool = explain_pool(x, cfg->pool);
    struct walker k = {.x = x, .err = err, .err_len = err_len};
    struct waiting first = {.packet = 1, .in_port = (uint16_t)port};
    int rc;

    if (!find_reader(p, port, frame, len, &first.instance)) {
        snprintf(err, err_len, "port %s: no task reads it", cfg->name);
        return NULL;
    }
    first.m = pool != NULL ? look_pool_packet(pool, frame, len) : NULL;
    if (first.m == NULL) {
        no_memory(&k);
        return NULL;
    }
    first.m->port = x->e->ports[port].dpdk_id; /* as a device does */
    meta_set_path(first.m, UINT32_MAX);
    k.w = walk_new(p);
    k.w->port = port;
    k.w->reader = first.instance;
    k.w->n_packets = 1;
    first.frame = k.w->frame = walk_copy(first.m);
    rc = add_waiting(&k, &first);
    if (rc == 0)
        rc = walk_all(&k);
    free(k.queue);
    if (rc == 0)
        return k.w;
    walk_free(k.w);
    return NULL;
}
