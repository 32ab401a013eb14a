/* SPDX-License-Identifier: BSD-3-Clause */
/* A pipe for each subscriber, and a check of each shape against what its scheduler can do. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sched/check.h"
#include "config/qos_profiles.h"
#include "config/subscribers.h"

#define MAX_FINDINGS 64
#define FRAME_HEADER 22u /* Ethernet with two tags, without FCS */
#define MANY_CLASSES 8   /* from so many on, rings are a 32nd of a scheduler */
#define MAX_PIPES    (UINT32_MAX / QOS_QUEUES) /* a path is pipe * QOS_QUEUES + queue */

/* The subports of all schedulers, by access port and S-VLAN. */
struct subport_index {
    uint16_t scheduler[CFG_MAX_PORTS]; /* index + 1; 0: the port has none */
    uint16_t *subport[CFG_MAX_PORTS];  /* index + 1, by S-VLAN; 0: the S-VLAN has none */
};

/* Give a port to the scheduler of a subport; report a port that has another scheduler. */
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

/* Count the shards of each scheduler: the cores of the task that shapes by it. The plan reports
 * numbers that cannot be. */
static void count_shards(struct cfg_model *m)
{
    for (unsigned i = 0; i < m->n_tasks; i++) {
        const struct cfg_task *t = &m->tasks[i];
        unsigned cores = cores_of(m, i);

        if (t->schema == NULL || (t->schema->needs & FACT_PATH) == 0) /* NULL: of no type */
            continue;
        for (unsigned p = 0; p < t->schema->n_params; p++) {
            struct cfg_scheduler *s;

            if (t->schema->params[p].type != PARAM_SCHEDULER || !t->param[p].set ||
                t->param[p].u >= m->qos.n_schedulers)
                continue;
            s = &m->qos.schedulers[t->param[p].u];
            if (s->backend == QOS_WHEEL && cores > qos_shards(s))
                s->n_shards = cores < QOS_MAX_SHARDS ? cores : QOS_MAX_SHARDS;
        }
    }
}

/* Count the pipes of each subport, and number each subscriber's pipe within its subport. Report a
 * subscriber without subport or profile, the first of each kind. */
static void count_pipes(struct loader *l, const struct subport_index *ix)
{
    unsigned told = 0;

    for (uint32_t i = 0; i < l->m->n_subscribers; i++) {
        struct cfg_subscriber *sub = &l->m->subscribers[i];
        unsigned scheduler = ix->scheduler[sub->port], subport;

        sub->pipe = CFG_NONE;
        if (scheduler == 0)
            continue;
        subport = ix->subport[sub->port][sub->svlan];
        if (subport == 0 || sub->profile == CFG_NONE)
            told |=
                check_shaping(l, subscriber_loc(l, sub), sub, &l->m->qos.schedulers[scheduler - 1],
                              subport > 0 ? subport - 1 : CFG_NONE, told);
        if (subport != 0)
            sub->pipe = l->m->qos.schedulers[scheduler - 1].subports[subport - 1].n_pipes++;
    }
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The pipes that a subport needs where the configuration has room for so many subscribers in all.
 * New subscribers may join any subport: without max_subscribers, a subport gets a share of the room
 * in proportion to its size or an equal share, whichever is more, and a minimum in any case. */
static uint64_t pipes_wanted(const struct cfg_model *m, const struct cfg_scheduler *s,
                             const struct cfg_subport *sp, uint64_t room)
{
    uint64_t n_pipes = sp->n_pipes, n = m->n_subscribers, more = room - n,
             even = n_pipes + (more + s->n_subports - 1) / s->n_subports,
             few = n_pipes + (more < CFG_SPARE_LEAST ? more : CFG_SPARE_LEAST),
             by_size = n > 0 ? (n_pipes * room + n - 1) / n : 0;

    if (more > 0 && sp->max_subscribers != 0)
        return larger(sp->max_subscribers, n_pipes);
    return larger(larger(even, few), by_size);
}

/* Pipes for those who have just been removed from so many. The rings of a subport have a power of
 * two of places in each class; where classes are many, these are not doubled for that. */
static uint64_t resting_pipes(const struct cfg_scheduler *s, uint64_t wanted)
{
    uint64_t rest = resting_room((uint32_t)wanted), places = 1;
    unsigned classes = 0;

    for (unsigned c = 0; c < QOS_CLASSES; c++)
        classes += qos_class_used(s, c);
    while (places < wanted)
        places *= 2;
    return classes < MANY_CLASSES || wanted + rest <= places ? rest : places - wanted;
}

/* Share out pipes for so many subscribers among subports; with shards, what is on one of them.
 * rests: and for those who have just been removed. */
static struct cfg_pipes pipes_for(const struct cfg_model *m, struct cfg_scheduler *s, uint64_t room,
                                  bool rests)
{
    uint64_t wanted[QOS_MAX_SUBPORTS], resting[QOS_MAX_SUBPORTS];

    for (unsigned k = 0; k < s->n_subports; k++) {
        unsigned parts = s->subports[k].whole ? 1 : qos_shards(s);

        wanted[k] = (pipes_wanted(m, s, &s->subports[k], room) + parts - 1) / parts;
        resting[k] = resting_pipes(s, wanted[k]);
    }
    return qos_lay_pipes(s, wanted, rests ? resting : NULL);
}

/* Can the scheduler have as many pipes as it was given? */
static bool pipes_fit(const struct cfg_scheduler *s)
{
    struct qos_finding f[MAX_FINDINGS];
    unsigned n = qos_scheduler_check(s, QOS_UP, f, MAX_FINDINGS);
    bool fit = (uint64_t)qos_shards(s) * s->pipes.n < MAX_PIPES;

    for (unsigned i = 0; i < n; i++)
        fit = fit && f[i].problem != QOS_MEMORY_WRAPS;
    return fit;
}

/* Size the subports of a scheduler. Room that nobody has asked for is left out where it would make
 * the scheduler too large. */
static void size_subports(const struct cfg_model *m, struct cfg_scheduler *s)
{
    s->configured = pipes_for(m, s, m->n_subscribers, false);
    s->pipes = pipes_for(m, s, room_subscribers(m), m->max_subscribers != 0);
    if (m->max_subscribers == 0 && !pipes_fit(s))
        s->pipes = pipes_for(m, s, m->n_subscribers, false);
}

/* Report a subport in which more subscribers are configured than it says to have room for. */
static void check_rooms(struct loader *l, const struct cfg_scheduler *s)
{
    for (unsigned k = 0; k < s->n_subports; k++) {
        const struct cfg_subport *sp = &s->subports[k];

        if (sp->max_subscribers != 0 && sp->n_pipes > sp->max_subscribers)
            diag_error(l->d, sp->loc,
                       "subport '%s' has max_subscribers = %u, and %u are configured: expected at "
                       "least as many",
                       sp->name, sp->max_subscribers, sp->n_pipes);
    }
}

/* Shards share rates by one clock, which does not wait for a core that was away. */
static void drop_catch_up(struct loader *l, struct cfg_scheduler *s)
{
    if (qos_shards(s) == 1)
        return;
    if (s->catch_up_at.line != 0 && s->catch_up_ns != 0)
        diag_error(l->d, s->catch_up_at,
                   "scheduler '%s' is on %u cores, which share rates by one clock and do not make "
                   "up for one that was away: expected catch_up = \"0s\", or none",
                   s->name, qos_shards(s));
    s->catch_up_ns = 0;
}

/* Put each subport that is to lie whole on one shard where the fewest subscribers of such subports
 * are so far; those of all others are on all shards alike. */
static void place_whole(struct cfg_scheduler *s)
{
    uint64_t load[QOS_MAX_SHARDS] = {0};

    for (unsigned k = 0; k < s->n_subports; k++) {
        unsigned best = 0;

        if (!s->subports[k].whole)
            continue;
        for (unsigned i = 1; i < qos_shards(s); i++)
            if (load[i] < load[best])
                best = i;
        s->subports[k].shard = (uint8_t)best;
        load[best] += s->subports[k].n_pipes + UINT64_C(1);
    }
}

/* The pipe of a subscriber, counted through all subports and shards of its scheduler; place: among
 * the subscribers of the subport. Those of a subport across shards take shards in turn. */
static uint32_t pipe_at(const struct cfg_scheduler *s, uint32_t subport, uint32_t place)
{
    const struct cfg_subport *sp = &s->subports[subport];
    unsigned n = sp->whole ? 1 : qos_shards(s), shard = sp->whole ? sp->shard : place % n;

    return shard * s->pipes.n + sp->first + place / n;
}

/* Number each subscriber's pipe through all subports of its scheduler. */
static void number_pipes(struct loader *l, const struct subport_index *ix)
{
    for (unsigned i = 0; i < l->m->qos.n_schedulers; i++) {
        check_rooms(l, &l->m->qos.schedulers[i]);
        drop_catch_up(l, &l->m->qos.schedulers[i]);
        place_whole(&l->m->qos.schedulers[i]);
        size_subports(l->m, &l->m->qos.schedulers[i]);
    }
    for (uint32_t i = 0; i < l->m->n_subscribers; i++) {
        struct cfg_subscriber *sub = &l->m->subscribers[i];

        if (sub->pipe != CFG_NONE)
            sub->pipe = pipe_at(&l->m->qos.schedulers[ix->scheduler[sub->port] - 1],
                                ix->subport[sub->port][sub->svlan] - 1u, sub->pipe);
    }
}

/* Write the numbers of a finding, among them one that would be right. */
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
    case QOS_WEIGHTS_TOO_DIFFERENT:
        snprintf(buf, len, ": %.0f times the least weight, expected at most %.0f", f->wanted,
                 f->achieved);
        break;
    case QOS_SIZE_INVALID:
    case QOS_RED_INVALID:
    case QOS_PIE_INVALID:
    case QOS_CODEL_INVALID:
    case QOS_L4S_INVALID:
    case QOS_AQM_UNKNOWN:
        snprintf(buf, len, " (class %s)", qos_class_names[f->class]);
        break;
    default:
        buf[0] = '\0';
    }
}

/* Report findings about a scheduler, or about a profile on one. */
static void report(struct loader *l, struct loc loc, const char *what, const char *name,
                   const char *direction, const struct cfg_scheduler *on,
                   const struct qos_finding *f, unsigned n)
{
    char numbers[128];

    for (unsigned i = 0; i < n; i++) {
        finding_numbers(&f[i], numbers, sizeof(numbers));
        if (on != NULL && f[i].problem == QOS_RATE_ABOVE_PORT)
            snprintf(numbers + strlen(numbers), sizeof(numbers) - strlen(numbers),
                     " of scheduler '%s': lower the one, or raise the other", on->name);
        (f[i].error ? diag_error : diag_warning)(l->d, loc, "%s '%s'%s: %s%s", what, name,
                                                 direction, qos_problem_text(f[i].problem),
                                                 numbers);
    }
}

/* Check what takes more than the scheduler's parameters: paths are numbered in 32 bits, and no
 * frame of its ports may be larger than the mtu for which bursts are checked. */
static void check_size(struct loader *l, const struct cfg_scheduler *s)
{
    if ((uint64_t)qos_shards(s) * s->pipes.n >= MAX_PIPES)
        diag_error(l->d, s->loc,
                   "scheduler '%s': %u subports of %u pipes, as many as librte_sched needs for the "
                   "largest one, are more than %u: make the subports more alike in size",
                   s->name, s->n_subports, s->pipes.block, MAX_PIPES - 1);
    for (unsigned i = 0; i < s->n_subports; i++) {
        const struct cfg_port *port = &l->m->ports[s->subports[i].port];

        if (s->mtu >= port->mtu + FRAME_HEADER)
            continue;
        diag_error(l->d, s->loc,
                   "scheduler '%s' has mtu = %u, but frames of port '%s' have up to %u bytes (its "
                   "mtu and %u of header and tags), and one larger than a burst would never leave: "
                   "expected at least that",
                   s->name, s->mtu, port->name, port->mtu + FRAME_HEADER, FRAME_HEADER);
        return;
    }
}

/* The clock on which the scheduler of a direction will run, chosen for the rates that are used: on
 * a nominal TSC, so that a check says the same on every machine. */
static uint64_t nominal_clock(const struct cfg_qos *q, const struct cfg_scheduler *s, unsigned d,
                              const bool *used)
{
    uint64_t rates[QOS_MAX_PROFILES + QOS_MAX_SUBPORTS];
    unsigned n = 0;

    for (unsigned k = 0; k < q->n_profiles; k++)
        if (used[k])
            rates[n++] = q->profiles[k].shape[d].rate;
    for (unsigned k = 0; k < s->n_subports; k++)
        rates[n++] = s->subports[k].rate[d];
    return qos_check_clock(s, QOS_NOMINAL_HZ, rates, n);
}

static bool same_findings(const struct qos_finding *a, unsigned n_a, const struct qos_finding *b,
                          unsigned n_b)
{
    bool same = n_a == n_b;

    for (unsigned i = 0; same && i < n_a; i++)
        same =
            a[i].problem == b[i].problem && a[i].class == b[i].class && a[i].wanted == b[i].wanted;
    return same;
}

/* Check a profile on a scheduler. Findings that are the same in both directions are reported once.
 */
void check_profile(struct loader *l, struct loc loc, const struct cfg_scheduler *s,
                   const struct cfg_profile *p, const uint64_t clock[QOS_DIRECTIONS])
{
    struct qos_finding up[MAX_FINDINGS], down[MAX_FINDINGS];
    unsigned n_up, n_down;

    if (p->shape[QOS_UP].rate == 0 || p->shape[QOS_DOWN].rate == 0)
        return; /* reported as an error already */
    n_up = qos_shape_check(s, clock[QOS_UP], &p->shape[QOS_UP], up, MAX_FINDINGS);
    n_down = qos_shape_check(s, clock[QOS_DOWN], &p->shape[QOS_DOWN], down, MAX_FINDINGS);
    if (same_findings(up, n_up, down, n_down)) {
        report(l, loc, "profile", p->name, "", s, up, n_up);
        return;
    }
    report(l, loc, "profile", p->name, " upstream", s, up, n_up);
    report(l, loc, "profile", p->name, " downstream", s, down, n_down);
}

/* Check a scheduler, and each profile that one of its subscribers uses. */
static void check_scheduler(struct loader *l, const struct subport_index *ix, unsigned i)
{
    struct cfg_qos *q = &l->m->qos;
    const struct cfg_scheduler *s = &q->schedulers[i];
    bool used[QOS_MAX_PROFILES] = {false};
    struct qos_finding f[MAX_FINDINGS];
    unsigned n = qos_scheduler_check(s, QOS_UP, f, MAX_FINDINGS);
    uint64_t clock[QOS_DIRECTIONS];

    report(l, s->loc, "scheduler", s->name, "", NULL, f, n);
    if (n > 0)
        return; /* rate and classes, by which shapes are judged, may be wrong */
    for (uint32_t k = 0; k < l->m->n_subscribers; k++)
        if (ix->scheduler[l->m->subscribers[k].port] == i + 1 &&
            l->m->subscribers[k].profile != CFG_NONE)
            used[l->m->subscribers[k].profile] = true;
    for (unsigned d = 0; d < QOS_DIRECTIONS; d++)
        clock[d] = nominal_clock(q, s, d, used);
    for (unsigned k = 0; k < q->n_profiles; k++)
        if (used[k])
            check_profile(l, q->profiles[k].loc, s, &q->profiles[k], clock);
}

void load_pipes(struct loader *l)
{
    struct subport_index ix = {0};

    if (l->m->qos.n_schedulers == 0)
        return;
    count_shards(l->m);
    index_subports(l, &ix);
    count_pipes(l, &ix);
    number_pipes(l, &ix);
    for (unsigned i = 0; i < l->m->qos.n_schedulers; i++) {
        if (l->m->qos.schedulers[i].n_subports == 0)
            continue; /* its ports are wrong, which is reported already */
        check_size(l, &l->m->qos.schedulers[i]);
        check_scheduler(l, &ix, i);
    }
    for (unsigned i = 0; i < CFG_MAX_PORTS; i++)
        free(ix.subport[i]);
}
