/* SPDX-License-Identifier: BSD-3-Clause */
/* Each subscriber gets its pipe, and each shape is held against what the scheduler can do. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "config/load_qos.h"
#include "config/qos_fit.h"

#define MAX_FINDINGS 64

/* Where the subscribers of a VLAN go: for a scheduler's subports, by access port and S-VLAN. */
struct subport_index {
    uint16_t scheduler[CFG_MAX_PORTS]; /* + 1; 0: the port has none */
    uint16_t *subport[CFG_MAX_PORTS];  /* + 1, by S-VLAN */
};

static void claim_port(struct loader *l, struct subport_index *ix, unsigned scheduler,
                       const struct cfg_subport *sp)
{
    const struct cfg_qos *q = &l->m->qos;

    if (ix->scheduler[sp->port] == scheduler + 1)
        return;
    if (ix->scheduler[sp->port] != 0)
        diag_error(l->d, sp->loc,
                   "port '%s' belongs to scheduler '%s' already: expected one scheduler for each "
                   "access port",
                   l->m->ports[sp->port].name, q->schedulers[ix->scheduler[sp->port] - 1].name);
    ix->scheduler[sp->port] = (uint16_t)(scheduler + 1);
    ix->subport[sp->port] = grow(ix->subport[sp->port], 4096, sizeof(uint16_t));
    memset(ix->subport[sp->port], 0, 4096 * sizeof(uint16_t));
}

static void index_subports(struct loader *l, struct subport_index *ix)
{
    for (unsigned i = 0; i < l->m->qos.n_schedulers; i++) {
        const struct cfg_scheduler *s = &l->m->qos.schedulers[i];

        for (unsigned k = 0; k < s->n_subports; k++) {
            claim_port(l, ix, i, &s->subports[k]);
            for (unsigned vlan = s->subports[k].svlan_first; vlan <= s->subports[k].svlan_last;
                 vlan++)
                ix->subport[s->subports[k].port][vlan] = (uint16_t)(k + 1);
        }
    }
}

static struct loc subscriber_loc(const struct loader *l, const struct cfg_subscriber *s)
{
    return (struct loc){l->m->files[s->file], s->line};
}

/* Count the pipes of each subport; subscriber.pipe is its place in its subport for now. */
static void count_pipes(struct loader *l, const struct subport_index *ix)
{
    unsigned no_subport = 0, no_profile = 0;

    for (uint32_t i = 0; i < l->m->n_subscribers; i++) {
        struct cfg_subscriber *sub = &l->m->subscribers[i];
        unsigned scheduler = ix->scheduler[sub->port], subport;

        sub->pipe = CFG_NONE;
        if (scheduler == 0)
            continue;
        subport = ix->subport[sub->port][sub->svlan];
        if (subport == 0) {
            if (no_subport++ == 0)
                diag_error(l->d, subscriber_loc(l, sub),
                           "S-VLAN %u on port '%s' is in no subport of scheduler '%s'", sub->svlan,
                           l->m->ports[sub->port].name, l->m->qos.schedulers[scheduler - 1].name);
            continue;
        }
        if (sub->profile == CFG_NONE && no_profile++ == 0)
            diag_error(l->d, subscriber_loc(l, sub),
                       "key 'profile': missing: port '%s' is shaped by scheduler '%s'",
                       l->m->ports[sub->port].name, l->m->qos.schedulers[scheduler - 1].name);
        sub->pipe = l->m->qos.schedulers[scheduler - 1].subports[subport - 1].n_pipes++;
    }
}

static void size_subports(struct cfg_scheduler *s)
{
    s->pipes_per_subport = 1;
    for (unsigned k = 0; k < s->n_subports; k++)
        while (s->pipes_per_subport < s->subports[k].n_pipes)
            s->pipes_per_subport *= 2;
}

static void number_pipes(struct loader *l, const struct subport_index *ix)
{
    for (unsigned i = 0; i < l->m->qos.n_schedulers; i++)
        size_subports(&l->m->qos.schedulers[i]);
    for (uint32_t i = 0; i < l->m->n_subscribers; i++) {
        struct cfg_subscriber *sub = &l->m->subscribers[i];

        if (sub->pipe != CFG_NONE)
            sub->pipe += (ix->subport[sub->port][sub->svlan] - 1u) *
                         l->m->qos.schedulers[ix->scheduler[sub->port] - 1].pipes_per_subport;
    }
}

/* What is wrong, in numbers that say what would be right. */
static void finding_numbers(const struct qos_finding *f, char *buf, size_t len)
{
    switch (f->problem) {
    case QOS_RATE_DEVIATES:
        snprintf(buf, len, ": %.0f bit/s become %.0f (%+.2f %%)", f->wanted, f->achieved,
                 (f->achieved / f->wanted - 1) * 100);
        break;
    case QOS_CLASS_BELOW_FRAME:
    case QOS_CLASS_DEVIATES:
    case QOS_UNCAPPED_DEVIATES:
        snprintf(buf, len, " (class %s gets at least %.0f bit/s; a tc_period of %.0f ms would do)",
                 qos_class_names[f->class], f->achieved, f->wanted);
        break;
    case QOS_BURST_BELOW_FRAME:
    case QOS_BURST_SHORT:
        snprintf(buf, len, ": %.0f bytes, expected at least %.0f", f->wanted, f->achieved);
        break;
    case QOS_RATE_ABOVE_PORT:
    case QOS_RATE_TOO_LOW:
        snprintf(buf, len, ": %.0f bit/s against %.0f", f->wanted, f->achieved);
        break;
    default:
        buf[0] = '\0';
    }
}

static void report(struct loader *l, struct loc loc, const char *what, const char *name,
                   const char *direction, const struct qos_finding *f, unsigned n)
{
    char numbers[128];

    for (unsigned i = 0; i < n; i++) {
        finding_numbers(&f[i], numbers, sizeof(numbers));
        (f[i].error ? diag_error : diag_warning)(l->d, loc, "%s '%s'%s: %s%s", what, name,
                                                 direction, qos_problem_text(f[i].problem),
                                                 numbers);
    }
}

/* The shapes that subscribers of a scheduler use, each once. */
static void check_scheduler(struct loader *l, const struct subport_index *ix, unsigned i)
{
    static const char *const directions[QOS_DIRECTIONS] = {" upstream", " downstream"};
    struct cfg_qos *q = &l->m->qos;
    const struct cfg_scheduler *s = &q->schedulers[i];
    bool *used = grow(NULL, q->n_profiles + 1, sizeof(*used));
    struct qos_finding f[MAX_FINDINGS];

    memset(used, 0, (q->n_profiles + 1) * sizeof(*used));
    for (uint32_t k = 0; k < l->m->n_subscribers; k++)
        if (ix->scheduler[l->m->subscribers[k].port] == i + 1 &&
            l->m->subscribers[k].profile != CFG_NONE)
            used[l->m->subscribers[k].profile] = true;
    for (unsigned d = 0; d < QOS_DIRECTIONS; d++) {
        uint64_t rates[QOS_MAX_PROFILES + QOS_MAX_SUBPORTS], clock;
        unsigned n = 0;

        for (unsigned k = 0; k < q->n_profiles; k++)
            if (used[k])
                rates[n++] = q->profiles[k].shape[d].rate;
        for (unsigned k = 0; k < s->n_subports; k++)
            rates[n++] = s->subports[k].rate[d];
        clock = qos_fit_clock(QOS_NOMINAL_HZ, s->rate, rates, n);
        n = qos_scheduler_check(s, (enum qos_direction)d, f, MAX_FINDINGS);
        report(l, s->loc, "scheduler", s->name, "", f, n);
        if (n > 0)
            break; /* the other direction has the same queues */
        for (unsigned k = 0; k < q->n_profiles; k++)
            if (used[k])
                report(l, q->profiles[k].loc, "profile", q->profiles[k].name, directions[d], f,
                       qos_shape_check(s, clock, &q->profiles[k].shape[d], f, MAX_FINDINGS));
    }
    free(used);
}

void load_pipes(struct loader *l)
{
    struct subport_index ix = {0};

    if (l->m->qos.n_schedulers == 0)
        return;
    index_subports(l, &ix);
    count_pipes(l, &ix);
    number_pipes(l, &ix);
    for (unsigned i = 0; i < l->m->qos.n_schedulers; i++)
        check_scheduler(l, &ix, i);
    for (unsigned i = 0; i < CFG_MAX_PORTS; i++)
        free(ix.subport[i]);
}
