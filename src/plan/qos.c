/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Schedulers in the graph. A task that needs a scheduler path and names a scheduler is its shaper
 * (qos). One that gives a path because it names a scheduler chooses the queue there: a writer
 * (classify, gre_decap). Any other that names a scheduler drops by its classes under overload
 * (mpls_pop). The checks: a queue that a writer chose means the same to the shaper, a shaper gets
 * only packets of its own subscribers, and nothing drops packets of any class beside a scheduler
 * that drops by class.
 */

#include <string.h>

#include "plan/make.h"

/* --- tasks and the schedulers that they name --- */

enum role { ROLE_NONE, ROLE_SHAPES, ROLE_WRITES, ROLE_SHEDS };

const struct param_value *task_param(const struct cfg_task *t, const char *name)
{
    for (unsigned i = 0; i < t->schema->n_params; i++)
        if (strcmp(t->schema->params[i].name, name) == 0 && t->param[i].set)
            return &t->param[i];
    return NULL;
}

/* What a task does with the scheduler that it names, which is written to scheduler; untouched for
 * ROLE_NONE. */
static enum role role_of(const struct cfg_task *t, uint32_t *scheduler)
{
    for (unsigned i = 0; i < t->schema->n_params; i++) {
        const struct task_param *p = &t->schema->params[i];

        if (p->type != PARAM_SCHEDULER || !t->param[i].set)
            continue;
        *scheduler = (uint32_t)t->param[i].u;
        if ((t->schema->needs & FACT_PATH) != 0)
            return ROLE_SHAPES;
        return (p->set_gives & FACT_PATH) != 0 ? ROLE_WRITES : ROLE_SHEDS;
    }
    return ROLE_NONE;
}

uint32_t task_shapes(const struct cfg_task *t)
{
    uint32_t scheduler;

    return role_of(t, &scheduler) == ROLE_SHAPES ? scheduler : CFG_NONE;
}

uint32_t task_writes(const struct cfg_task *t)
{
    uint32_t scheduler;

    return role_of(t, &scheduler) == ROLE_WRITES ? scheduler : CFG_NONE;
}

uint32_t task_holds(const struct cfg_task *t)
{
    const struct param_value *v = task_param(t, "shed");
    uint32_t scheduler;

    return v != NULL && role_of(t, &scheduler) != ROLE_NONE ? (uint32_t)v->u : 0;
}

uint32_t scheduler_subscribers(const struct cfg_scheduler *s)
{
    uint32_t n = 0;

    for (unsigned i = 0; i < s->n_subports; i++)
        n += s->subports[i].n_pipes;
    return n;
}

static const char *const directions[QOS_DIRECTIONS] = {"upstream", "downstream"};

enum qos_direction shaped_direction(const struct cfg_task *t)
{
    const struct param_value *v = task_param(t, "direction");

    return v != NULL && v->u == QOS_DOWN ? QOS_DOWN : QOS_UP;
}

bool finds_anyone(const struct cfg_task *t)
{
    const struct param_value *match = task_param(t, "match");

    if (strcmp(t->schema->type, "gre_decap") == 0)
        return true;
    for (unsigned i = 0; match != NULL && i < t->schema->n_params; i++)
        if (&t->param[i] == match)
            return strcmp(t->schema->params[i].choices[match->u], "ipv4") == 0;
    return false;
}

/* --- which tasks follow --- */

/* Mark all tasks that packets of a task can come to over other outputs than "punt". A way ends with
 * the first task for which ends() gives a scheduler; that task is marked, too. */
static void follow(const struct cfg_model *m, unsigned from,
                   uint32_t (*ends)(const struct cfg_task *t), bool reached[CFG_MAX_TASKS])
{
    const struct cfg_task *t = &m->tasks[from];

    for (unsigned o = 0; t->schema->outputs[o].name != NULL; o++) {
        if (output_is_punt(t, o))
            continue;
        for (uint16_t k = 0; k < t->output[o].n_dests; k++) {
            unsigned next = t->output[o].dest[k].index;

            if (t->output[o].dest[k].is_port || reached[next])
                continue;
            reached[next] = true;
            if (ends(&m->tasks[next]) == CFG_NONE)
                follow(m, next, ends, reached);
        }
    }
}

/* --- writers --- */

/* Report a writer whose queues mean something else to the shapers that follow. */
static void check_writer(struct plan_build *b, unsigned writer)
{
    const struct cfg_model *m = b->m;
    const struct cfg_task *w = &m->tasks[writer];
    const struct cfg_scheduler *named = &m->qos.schedulers[task_writes(w)];
    enum qos_direction direction = finds_anyone(w) ? QOS_DOWN : QOS_UP;
    bool reached[CFG_MAX_TASKS] = {false}, own = false;
    unsigned other = CFG_NONE; /* a shaper by another scheduler */

    follow(m, writer, task_writes, reached); /* the next writer chooses anew */
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

/* --- shapers --- */

/* The origin of the packets that may come to a task. Both members only grow during the search. */
struct origin {
    uint64_t ports;    /* access ports of their subscribers, a bit each */
    bool other_egress; /* their egress port may differ from their subscriber's access port */
};

/* The access ports on which there are subscribers, or may be later. */
static uint64_t populated_ports(const struct cfg_model *m)
{
    uint64_t ports = 0;

    for (uint32_t i = 0; i < m->n_subscribers; i++)
        ports |= UINT64_C(1) << m->subscribers[i].port;
    if (room_subscribers(m) == m->n_subscribers)
        return ports;
    /* Subscribers may be added on all ports of a scheduler. */
    for (unsigned i = 0; i < m->qos.n_schedulers; i++)
        for (unsigned k = 0; k < m->qos.schedulers[i].n_subports; k++)
            ports |= UINT64_C(1) << m->qos.schedulers[i].subports[k].port;
    return ports;
}

/* The origin of the packets that leave a task. */
static struct origin origin_after(const struct cfg_task *t, struct origin in, uint64_t populated)
{
    if (finds_anyone(t))
        in.ports = populated;
    if (t->schema->egress == EGRESS_SUBSCRIBERS)
        in.other_egress = false;
    else if (t->schema->egress != EGRESS_NONE)
        in.other_egress = true;
    return in;
}

/* The ports of an origin whose packets go to one destination. An output that chooses by egress port
 * sends a subscriber's packets only where the access port is reached. */
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

/* Add what leaves a task to the origins of those that follow. Returns whether any origin grew. */
static bool pass_on(const struct plan_build *b, unsigned task, struct origin *origin,
                    uint64_t populated)
{
    const struct cfg_task *t = &b->m->tasks[task];
    struct origin out = origin_after(t, origin[task], populated);
    bool changed = false;

    for (unsigned o = 0; t->schema->outputs[o].name != NULL; o++) {
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

/* Find the origins of the packets of all tasks. */
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
            changed |= pass_on(b, i, origin, populated);
    }
}

/* Report a shaper without subscribers, with subscribers of another shaper of the scheduler, or with
 * packets of subscribers on ports outside the scheduler. The packets come from the access ports in
 * the set ports. */
static void check_shaper(struct plan_build *b, unsigned task, uint64_t ports)
{
    const struct cfg_model *m = b->m;
    const struct cfg_task *t = &m->tasks[task];
    const struct cfg_scheduler *s = &m->qos.schedulers[task_shapes(t)];
    bool nobody = scheduler_subscribers(s) == 0 && backed_subscribers(m) == m->n_subscribers;

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

/* Warn of what may drop packets behind a scheduler, because a packet that is dropped there has used
 * up credits of its subscriber. */
static void check_behind(struct plan_build *b, unsigned task)
{
    const struct cfg_model *m = b->m;
    bool reached[CFG_MAX_TASKS] = {false};

    follow(m, task, task_writes, reached);
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

/* --- overload before a scheduler --- */

/* Report a task that drops by other classes than the schedulers that follow. */
static void check_classes(struct plan_build *b, const struct cfg_task *t, uint32_t scheduler,
                          const bool reached[CFG_MAX_TASKS])
{
    const struct cfg_scheduler *all = b->m->qos.schedulers;
    bool none = true;

    for (unsigned i = 0; i < b->m->n_tasks; i++) {
        const struct cfg_task *next = &b->m->tasks[i];
        uint32_t theirs = task_shapes(next);

        if (!reached[i] || theirs == CFG_NONE)
            continue;
        none = false;
        if (all[theirs].dscp_map[QOS_DOWN] != all[scheduler].dscp_map[QOS_DOWN])
            diag_error(b->d, t->loc,
                       "task '%s' drops by the classes of scheduler '%s' when there is too much, "
                       "but its packets go to '%s', which runs scheduler '%s' with another DSCP "
                       "map: name that one",
                       t->name, all[scheduler].name, next->name, all[theirs].name);
    }
    if (none)
        diag_warning(b->d, t->loc,
                     "task '%s' drops by the classes of scheduler '%s' when there is too much, but "
                     "no task qos follows",
                     t->name, all[scheduler].name);
}

/* Warn of rings on the way to a scheduler that drop packets of any class. */
static void check_rings(struct plan_build *b, const struct cfg_task *t,
                        const bool reached[CFG_MAX_TASKS])
{
    for (unsigned i = 0; i < b->m->n_tasks; i++) {
        const struct cfg_task *next = &b->m->tasks[i];

        if (reached[i] && b->p->instances[b->of[i][0]].in_ring != CFG_NONE &&
            next->on_full == FULL_DROP)
            diag_warning(b->d, next->loc,
                         "the ring into '%s' drops packets of any class when it is full: say "
                         "on_full = \"wait\" there, and '%s' drops the lowest classes instead",
                         next->name, t->name);
    }
}

/* Is one of the marked tasks a shaper? */
static bool is_shaped(const struct cfg_model *m, const bool reached[CFG_MAX_TASKS])
{
    for (unsigned i = 0; i < m->n_tasks; i++)
        if (reached[i] && task_shapes(&m->tasks[i]) != CFG_NONE)
            return true;
    return false;
}

/* A task that reads a port and drops the lowest classes under overload should be the only place
 * where packets are lost, so nothing else may drop between it and the scheduler. */
static void check_overload(struct plan_build *b)
{
    for (unsigned i = 0; i < b->m->n_tasks; i++) {
        const struct cfg_task *t = &b->m->tasks[i];
        bool reached[CFG_MAX_TASKS] = {false};
        uint32_t scheduler;
        enum role role = role_of(t, &scheduler);

        if (role != ROLE_SHEDS && role != ROLE_WRITES)
            continue;
        follow(b->m, i, task_shapes, reached);
        if (role == ROLE_SHEDS)
            check_classes(b, t, scheduler, reached);
        if (t->n_from > 0 && task_holds(t) > 0 && is_shaped(b->m, reached))
            check_rings(b, t, reached);
    }
}

/* --- all checks --- */

static bool has_shaper(const struct cfg_model *m, unsigned scheduler)
{
    for (unsigned i = 0; i < m->n_tasks; i++)
        if (task_shapes(&m->tasks[i]) == scheduler)
            return true;
    return false;
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
            plan_check_shards(b, i);
            check_behind(b, i);
        } else if (task_writes(&m->tasks[i]) != CFG_NONE) {
            check_writer(b, i);
        }
    }
    check_overload(b);
    for (unsigned i = 0; i < m->qos.n_schedulers; i++)
        if (!has_shaper(m, i))
            diag_warning(b->d, m->qos.schedulers[i].loc,
                         "scheduler '%s' shapes nothing: no task of type qos names it",
                         m->qos.schedulers[i].name);
}
