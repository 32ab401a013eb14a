/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Schedulers in the graph: a task that needs a path and names a scheduler is its shaper (qos); one
 * that gives a path where it names one writes it (classify, gre_decap); any other drops by its
 * classes under overload (mpls_pop). The queue that a writer chose must be what the shaper means by
 * it, and a shaper must get no packets of subscribers who are not its own.
 */
#include <string.h>

#include "config/plan_build.h"

static const char *const directions[QOS_DIRECTIONS] = {"upstream", "downstream"};

static enum qos_direction shaped_direction(const struct cfg_task *t)
{
    const struct param_value *v = task_param(t, "direction");

    return v != NULL && v->u == QOS_DOWN ? QOS_DOWN : QOS_UP;
}

/* Does it find the subscriber by GRE key or address, so that any of them may come? Then it works
 * downstream. */
static bool finds_anyone(const struct cfg_task *t)
{
    const struct param_value *match = task_param(t, "match");

    if (strcmp(t->schema->type, "gre_decap") == 0)
        return true;
    for (unsigned i = 0; match != NULL && t->schema->params[i].name != NULL; i++)
        if (&t->param[i] == match)
            return strcmp(t->schema->params[i].choices[match->u], "ipv4") == 0;
    return false;
}

/* --- writers and shapers --- */

/* Mark all tasks that packets of a task can come to; a writer ends the way, because it chooses
 * anew. */
static void follow(const struct cfg_model *m, unsigned from, bool reached[CFG_MAX_TASKS])
{
    const struct cfg_task *t = &m->tasks[from];

    for (unsigned o = 0; t->schema->outputs[o] != NULL; o++) {
        if (output_is_punt(t, o))
            continue;
        for (uint16_t k = 0; k < t->output[o].n_dests; k++) {
            unsigned next = t->output[o].dest[k].index;

            if (t->output[o].dest[k].is_port || reached[next])
                continue;
            reached[next] = true;
            if (task_writes(&m->tasks[next]) == CFG_NONE)
                follow(m, next, reached);
        }
    }
}

static void check_writer(struct plan_build *b, unsigned writer)
{
    const struct cfg_model *m = b->m;
    const struct cfg_task *w = &m->tasks[writer];
    const struct cfg_scheduler *named = &m->qos.schedulers[task_writes(w)];
    enum qos_direction direction = finds_anyone(w) ? QOS_DOWN : QOS_UP;
    bool reached[CFG_MAX_TASKS] = {false}, own = false;
    unsigned other = CFG_NONE; /* a task of another scheduler */

    follow(m, writer, reached);
    for (unsigned i = 0; i < m->n_tasks; i++) {
        if (!reached[i] || task_shapes(&m->tasks[i]) == CFG_NONE)
            continue;
        if (&m->qos.schedulers[task_shapes(&m->tasks[i])] == named)
            own = true;
        else
            other = i;
    }
    if (!own && other != CFG_NONE)
        diag_error(b->d, w->loc,
                   "task '%s' chooses queues of scheduler '%s', but its packets go to '%s', which "
                   "runs scheduler '%s': name that one",
                   w->name, named->name, m->tasks[other].name,
                   m->qos.schedulers[task_shapes(&m->tasks[other])].name);
    else if (!own)
        diag_warning(b->d, w->loc,
                     "task '%s' chooses queues of scheduler '%s', but no task qos follows", w->name,
                     named->name);
    for (unsigned i = 0; own && i < m->n_tasks; i++) {
        const struct cfg_task *t = &m->tasks[i];
        const struct cfg_scheduler *s;

        if (!reached[i] || task_shapes(t) == CFG_NONE)
            continue;
        s = &m->qos.schedulers[task_shapes(t)];
        if (s->dscp_map[shaped_direction(t)] != named->dscp_map[direction])
            diag_error(b->d, t->loc,
                       "task '%s' shapes %s by scheduler '%s', but '%s' chooses its queues by "
                       "another DSCP map, that of '%s' %s",
                       t->name, directions[shaped_direction(t)], s->name, w->name, named->name,
                       directions[direction]);
    }
}

/* --- whose packets come --- */

/* Of the packets that may come to each task. Both only grow. */
struct origin {
    uint64_t ports;    /* access ports of their subscribers, a bit each */
    bool other_egress; /* their egress port may be another than their subscriber's */
};

static uint64_t populated_ports(const struct cfg_model *m)
{
    uint64_t ports = 0;

    for (uint32_t i = 0; i < m->n_subscribers; i++)
        ports |= UINT64_C(1) << m->subscribers[i].port;
    if (room_subscribers(m) == m->n_subscribers)
        return ports;
    for (unsigned i = 0; i < m->qos.n_schedulers; i++) /* they may come to all of these */
        for (unsigned k = 0; k < m->qos.schedulers[i].n_subports; k++)
            ports |= UINT64_C(1) << m->qos.schedulers[i].subports[k].port;
    return ports;
}

static struct origin after(const struct cfg_task *t, struct origin in, uint64_t populated)
{
    if (finds_anyone(t))
        in.ports = populated;
    if (t->schema->egress == EGRESS_SUBSCRIBERS)
        in.other_egress = false;
    else if (t->schema->egress != EGRESS_NONE)
        in.other_egress = true;
    return in;
}

/* An output that chooses by egress port sends a subscriber's packets where that port is. */
static uint64_t ports_to(const struct plan_build *b, unsigned task, unsigned output, unsigned dest,
                         struct origin out)
{
    const struct cfg_task *t = &b->m->tasks[task];
    const uint8_t *by_port = b->p->instances[b->of[task][0]].output[output].by_port;
    uint64_t ports = 0;

    if (t->output[output].n_dests < 2 || output_spreads(t, output) || out.other_egress)
        return out.ports;
    for (unsigned i = 0; i < b->m->n_ports; i++)
        if (by_port[i] == dest)
            ports |= out.ports & UINT64_C(1) << i;
    return ports;
}

static bool spread(const struct plan_build *b, unsigned task, struct origin *origin,
                   uint64_t populated)
{
    const struct cfg_task *t = &b->m->tasks[task];
    struct origin out = after(t, origin[task], populated);
    bool changed = false;

    for (unsigned o = 0; t->schema->outputs[o] != NULL; o++) {
        if (output_is_punt(t, o))
            continue;
        for (uint16_t k = 0; k < t->output[o].n_dests; k++) {
            const struct cfg_dest *dest = &t->output[o].dest[k];
            struct origin *to = &origin[dest->index];
            struct origin old;

            if (dest->is_port)
                continue;
            old = *to;
            to->ports |= ports_to(b, task, o, k, out);
            to->other_egress |= out.other_egress;
            changed |= to->ports != old.ports || to->other_egress != old.other_egress;
        }
    }
    return changed;
}

static void find_origins(const struct plan_build *b, struct origin *origin)
{
    uint64_t populated = populated_ports(b->m);
    bool changed = true;

    for (unsigned i = 0; i < b->m->n_tasks; i++) {
        const struct cfg_task *t = &b->m->tasks[i];

        origin[i] = (struct origin){.other_egress = t->n_from > 0};
        for (uint16_t k = 0; k < t->n_from; k++)
            origin[i].ports |= UINT64_C(1) << t->from[k] & populated;
    }
    while (changed) {
        changed = false;
        for (unsigned i = 0; i < b->m->n_tasks; i++)
            changed |= spread(b, i, origin, populated);
    }
}

uint32_t scheduler_subscribers(const struct cfg_scheduler *s)
{
    uint32_t n = 0;

    for (unsigned i = 0; i < s->n_subports; i++)
        n += s->subports[i].n_pipes;
    return n;
}

static void check_shaper(struct plan_build *b, unsigned task, uint64_t ports)
{
    const struct cfg_model *m = b->m;
    const struct cfg_task *t = &m->tasks[task];
    const struct cfg_scheduler *s = &m->qos.schedulers[task_shapes(t)];
    bool nobody = scheduler_subscribers(s) == 0 && room_subscribers(m) == m->n_subscribers;

    if (b->n_of[task] > 1)
        diag_error(b->d, t->loc,
                   "task '%s' is on %u cores, but a scheduler runs on one: place it on one core, "
                   "before an lb if the tasks that follow need several, or make one scheduler and "
                   "one qos for each access port",
                   t->name, b->n_of[task]);
    for (unsigned i = 0; i < task; i++)
        if (task_shapes(&m->tasks[i]) == task_shapes(t) &&
            shaped_direction(&m->tasks[i]) == shaped_direction(t))
            diag_error(b->d, t->loc,
                       "tasks '%s' and '%s' both shape %s by scheduler '%s', so that a subscriber "
                       "would get its rate twice: expected one for each direction",
                       m->tasks[i].name, t->name, directions[shaped_direction(t)], s->name);
    if (nobody)
        diag_error(b->d, t->loc,
                   "task '%s' shapes nobody: scheduler '%s' has no subscribers on its ports",
                   t->name, s->name);
    for (unsigned i = 0; i < s->n_subports; i++)
        ports &= ~(UINT64_C(1) << s->subports[i].port);
    if (ports != 0 && !nobody)
        diag_error(b->d, t->loc,
                   "task '%s' gets packets of the subscribers on port '%s', which scheduler '%s' "
                   "does not have: add the port to it, or part the packets before, by an output "
                   "with a destination for each access port",
                   t->name, m->ports[__builtin_ctzll(ports)].name, s->name);
}

static bool has_shaper(const struct cfg_model *m, unsigned scheduler)
{
    for (unsigned i = 0; i < m->n_tasks; i++)
        if (task_shapes(&m->tasks[i]) == scheduler)
            return true;
    return false;
}

/* What is dropped behind a scheduler has used up its subscriber's credits. */
static void check_behind(struct plan_build *b, unsigned task)
{
    const struct cfg_model *m = b->m;
    bool reached[CFG_MAX_TASKS] = {false};

    follow(m, task, reached);
    reached[task] = true;
    for (unsigned i = 0; i < m->n_tasks; i++) {
        const struct cfg_task *t = &m->tasks[i];
        const struct plan_instance *inst = &b->p->instances[b->of[i][0]];

        if (!reached[i])
            continue;
        if (i != task && inst->in_ring != CFG_NONE && t->on_full == FULL_DROP)
            diag_warning(b->d, t->loc,
                         "the ring into '%s' drops packets that scheduling in '%s' has let pass: "
                         "say on_full = \"wait\" there",
                         t->name, m->tasks[task].name);
        for (uint16_t k = 0; k < t->output[0].n_dests; k++) {
            const struct cfg_dest *dest = &t->output[0].dest[k];

            if (dest->is_port && m->ports[dest->index].on_full == FULL_DROP)
                diag_warning(b->d, m->ports[dest->index].loc,
                             "port '%s' drops packets that scheduling in '%s' has let pass: say "
                             "on_full = \"wait\" there",
                             m->ports[dest->index].name, m->tasks[task].name);
        }
    }
}

void plan_check_qos(struct plan_build *b)
{
    const struct cfg_model *m = b->m;
    struct origin origin[CFG_MAX_TASKS];

    if (m->qos.n_schedulers == 0)
        return;
    find_origins(b, origin);
    for (unsigned i = 0; i < m->n_tasks; i++) {
        if (task_shapes(&m->tasks[i]) != CFG_NONE) {
            check_shaper(b, i, origin[i].ports);
            check_behind(b, i);
        } else if (task_writes(&m->tasks[i]) != CFG_NONE) {
            check_writer(b, i);
        }
    }
    plan_check_shed(b);
    for (unsigned i = 0; i < m->qos.n_schedulers; i++)
        if (!has_shaper(m, i))
            diag_warning(b->d, m->qos.schedulers[i].loc,
                         "scheduler '%s' shapes nothing: no task of type qos names it",
                         m->qos.schedulers[i].name);
}
