/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters summed over instances; bytes of wires, which no device counts; and the audit, which adds
 * up one sum of each kind and checks tasks, links and ports one by one. */
#include "engine/ledger.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ring.h>

#include "engine/backlog.h"

#define READ(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)

struct audit {
    const struct engine *e;
    FILE *faults;
    struct ledger l;
};

static void check(struct audit *a, uint64_t left, uint64_t right, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

static void check(struct audit *a, uint64_t left, uint64_t right, const char *fmt, ...)
{
    va_list args;

    if (left == right)
        return;
    a->l.n_faults++;
    if (a->faults == NULL)
        return;
    fprintf(a->faults, "ledger: ");
    va_start(args, fmt);
    vfprintf(a->faults, fmt, args);
    va_end(args);
    fprintf(a->faults, ": %" PRIu64 " against %" PRIu64 " (%+" PRId64 ")\n", left, right,
            (int64_t)(left - right));
}

uint64_t task_dropped(const struct task *t)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < N_TASK_DROPS; i++)
        sum += READ(t->drops[i]);
    for (uint16_t i = 0; i < t->n_outs; i++)
        sum += READ(t->outs[i].full);
    return sum;
}

uint64_t task_held(const struct task *t)
{
    uint64_t sum = t->type->held != NULL ? t->type->held(t) : 0;

    for (uint16_t i = 0; i < t->n_outs; i++)
        sum += READ(t->outs[i].n_held);
    return sum;
}

static void audit_task(struct audit *a, const struct task *t, uint64_t fed)
{
    uint64_t sent = 0, dropped = task_dropped(t), held = task_held(t);

    for (uint16_t i = 0; i < t->n_outs; i++)
        sent += READ(t->outs[i].sent);
    check(a, fed, READ(t->in), "task %s.%u: given to it against taken", t->cfg->name, t->worker);
    check(a, READ(t->in) + READ(t->created), sent + dropped + READ(t->consumed) + held,
          "task %s.%u: in + created against sent + dropped + consumed + held", t->cfg->name,
          t->worker);
    a->l.created += READ(t->created);
    a->l.consumed += READ(t->consumed);
    a->l.dropped += dropped;
    a->l.held += held;
}

/* Add what an output sent to the sums of the instances, rings and ports that it leads to. */
static void audit_output(const struct plan_output *po, const struct out *outs, uint64_t *fed,
                         uint64_t *ring, uint64_t *port)
{
    for (uint16_t k = 0; k < po->n_dests; k++) {
        uint64_t sent = READ(outs[k].sent);

        switch (po->dest[k].kind) {
        case DEST_CALL:
            fed[po->dest[k].index] += sent;
            break;
        case DEST_RING:
            ring[po->dest[k].index] += sent;
            break;
        case DEST_PORT:
            port[po->dest[k].index] += sent;
            break;
        }
    }
}

static void audit_inputs(struct audit *a, uint64_t *fed, const uint64_t *ring, uint64_t *polled)
{
    for (unsigned c = 0; c < a->e->plan->n_cores; c++) {
        const struct core *core = a->e->cores[c];

        for (unsigned i = 0; i < core->n_inputs; i++) {
            const struct input *in = &core->inputs[i];

            uint32_t waiting = backlog_count(in->backlog);

            fed[in->task->instance] += READ(in->polled) - waiting;
            a->l.held += waiting;
            if (in->kind == INPUT_PORT)
                polled[in->in_port] += READ(in->polled);
        }
    }
    for (unsigned r = 0; r < a->e->plan->n_rings; r++) {
        uint64_t waiting = rte_ring_count(a->e->rings[r]);

        check(a, ring[r], READ(a->e->ring_input[r]->polled) + waiting,
              "link to %s.%u: put against taken + waiting", a->e->ring_input[r]->task->cfg->name,
              a->e->ring_input[r]->task->worker);
        a->l.held += waiting;
    }
}

/* Packets that have arrived and that no core has polled yet: a wire has them in its ring, a NIC has
 * counted them already. */
static uint64_t not_taken(const struct port *p, const struct port_counters *c, uint64_t polled)
{
    if (p->is_wire)
        return p->up ? rte_ring_count(p->wire_rx) : 0;
    return !p->is_virtual && c->rx_packets > polled ? c->rx_packets - polled : 0;
}

/* Packets that a device took and did not send: counted as failed, as by net_af_packet while its
 * interface is down, or left in the transmit descriptors of a NIC whose link is down. Packets that
 * a device refused, and counts as failed, are not among them. */
static uint64_t lost_by_device(const struct port *p, const struct port_counters *c, uint64_t given)
{
    uint64_t missing = given > c->tx_packets ? given - c->tx_packets : 0;

    if (missing <= c->tx_errors)
        return missing;
    return missing <= c->tx_errors + p->tx_room && !port_link_up(p) ? missing : 0;
}

/* Has the device reset its counters, or does it hide them? */
static bool lacks_counters(const struct port *p, const struct port_counters *c, uint64_t given,
                           uint64_t polled)
{
    return p->resets > 0 ||
           (port_hides_counters(p) && (c->rx_packets != polled || c->tx_packets != given));
}

static void audit_ports(struct audit *a, const uint64_t *port, const uint64_t *polled)
{
    for (unsigned i = 0; i < a->e->plan->cfg->n_ports; i++) {
        const struct port *p = &a->e->ports[i];
        struct port_counters c;
        uint64_t waiting, lost;

        port_read(p, &c);
        if (lacks_counters(p, &c, port[i], polled[i])) {
            c.rx_packets = polled[i];
            c.tx_packets = port[i];
            a->l.n_unaudited++;
            if (a->faults != NULL)
                fprintf(a->faults,
                        "ledger: port %s: its device forgot its counters %u times (peer gone): not "
                        "audited\n",
                        p->cfg->name, p->resets);
        }
        waiting = not_taken(p, &c, polled[i]);
        if (p->is_wire)
            c.rx_packets += waiting; /* a wire's device counts packets when they are polled */
        lost = lost_by_device(p, &c, port[i]);
        check(a, c.rx_packets, polled[i] + waiting, "port %s: received by the device against taken",
              p->cfg->name);
        check(a, port[i], c.tx_packets + lost, "port %s: handed to the device against sent by it",
              p->cfg->name);
        a->l.received += c.rx_packets;
        a->l.sent += c.tx_packets;
        a->l.held += waiting;
        a->l.dropped += lost;
        a->l.lost[i] = lost;
    }
}

struct ledger ledger_read(const struct engine *e, FILE *faults)
{
    const struct plan *p = e->plan;
    struct audit a = {.e = e, .faults = faults};
    uint64_t *fed = calloc(p->n_instances + 1, sizeof(*fed));
    uint64_t *ring = calloc(p->n_rings + 1, sizeof(*ring));
    uint64_t port[CFG_MAX_PORTS] = {0}, polled[CFG_MAX_PORTS] = {0};

    if (fed == NULL || ring == NULL)
        abort();
    for (unsigned i = 0; i < p->n_instances; i++)
        for (unsigned o = 0; o < TASK_MAX_OUTPUTS; o++)
            audit_output(&p->instances[i].output[o], e->tasks[i]->output[o], fed, ring, port);
    audit_inputs(&a, fed, ring, polled);
    for (unsigned i = 0; i < p->n_instances; i++)
        audit_task(&a, e->tasks[i], fed[i]);
    audit_ports(&a, port, polled);
    a.l.unexplained =
        (int64_t)(a.l.received + a.l.created - a.l.sent - a.l.consumed - a.l.dropped - a.l.held);
    free(fed);
    free(ring);
    return a.l;
}

static void add_instance(const struct task *t, struct task_stats *s)
{
    s->in += READ(t->in);
    s->created += READ(t->created);
    s->consumed += READ(t->consumed);
    s->held += task_held(t);
    for (unsigned i = 0; i < N_TASK_DROPS; i++)
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

struct traffic stats_traffic(const struct engine *e, enum direction direction, enum family family)
{
    struct traffic sum = {0};

    for (unsigned k = 0; k < e->plan->n_instances; k++)
        if (e->tasks[k]->direction == direction) {
            sum.packets += READ(e->tasks[k]->traffic[family].packets);
            sum.bytes += READ(e->tasks[k]->traffic[family].bytes);
        }
    return sum;
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
