/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums over instances; bytes of wires, which no device counts. */
#include "engine/stats.h"

#include <string.h>

#include "engine/ledger.h"

#define READ(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)

static void add_instance(const struct task *t, struct task_stats *s)
{
    s->in += READ(t->in);
    s->created += READ(t->created);
    s->consumed += READ(t->consumed);
    s->held += task_held(t);
    for (unsigned i = 0; i <= TASK_MAX_DROPS; i++)
        s->drops[i] += READ(t->drops[i]);
    for (uint16_t i = 0; i < t->n_outs; i++) {
        s->sent += READ(t->outs[i].sent);
        s->full += READ(t->outs[i].full);
    }
}

void stats_task(const struct engine *e, unsigned i, struct task_stats *out)
{
    memset(out, 0, sizeof(*out));
    for (unsigned k = 0; k < e->plan->n_instances; k++)
        if (e->plan->instances[k].task == i)
            add_instance(e->tasks[k], out);
    for (unsigned c = 0; c < e->plan->n_cores; c++)
        for (unsigned k = 0; k < e->cores[c]->n_inputs; k++)
            if (e->plan->instances[e->cores[c]->inputs[k].task->instance].task == i)
                out->stalled += READ(e->cores[c]->inputs[k].stalled);
}

const char *const *stats_figure_names(const struct engine *e, unsigned i)
{
    for (unsigned k = 0; k < e->plan->n_instances; k++)
        if (e->plan->instances[k].task == i)
            return e->tasks[k]->type->stat_names;
    return NULL;
}

uint64_t stats_figure(const struct engine *e, unsigned i, unsigned k)
{
    uint64_t sum = 0;

    for (unsigned n = 0; n < e->plan->n_instances; n++)
        if (e->plan->instances[n].task == i)
            sum += e->tasks[n]->type->stat(e->tasks[n], k);
    return sum;
}

/* Bytes that the tasks sent to a wire. */
static uint64_t wire_bytes(const struct engine *e, unsigned port)
{
    uint64_t bytes = 0;

    for (unsigned k = 0; k < e->plan->n_instances; k++)
        for (uint16_t i = 0; i < e->tasks[k]->n_outs; i++) {
            const struct out *o = &e->tasks[k]->outs[i];

            if (o->count_bytes && o->tx.port == e->ports[port].dpdk_id)
                bytes += READ(o->bytes);
        }
    return bytes;
}

void stats_port(const struct engine *e, unsigned i, struct port_counters *out)
{
    const struct cfg_model *m = e->plan->cfg;
    struct port_counters peer;

    port_read(&e->ports[i], out);
    if (!e->ports[i].is_wire)
        return;
    out->tx_bytes = wire_bytes(e, i);
    for (unsigned k = 0; k < m->n_ports; k++) {
        if (k == i || strcmp(m->ports[k].device, m->ports[i].device) != 0)
            continue;
        port_read(&e->ports[k], &peer);
        /* packets still on the wire are taken to have the mean size of those sent */
        if (peer.tx_packets > 0)
            out->rx_bytes = (uint64_t)((double)wire_bytes(e, k) * (double)out->rx_packets /
                                       (double)peer.tx_packets);
    }
}

double stats_busy(const struct core *c)
{
    uint64_t busy = READ(c->busy), idle = READ(c->idle_cycles);

    return busy + idle > 0 ? (double)busy / (double)(busy + idle) : 0;
}
