/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Egress ports: the ports that each task reaches over its output "to", the destination of an output
 * for each port, and a check that a task reaches every egress port that it writes into packets. All
 * workers of a task reach the same ports, so these steps look at tasks.
 */
#include <assert.h>
#include <string.h>

#include "plan/make.h"

static_assert(CFG_MAX_PORTS <= 64, "a set of ports is one word");

/* reach[task]: the ports that a task reaches over "to", a bit each. The sets grow until none
 * changes. */
static void find_reach(const struct cfg_model *m, uint64_t reach[CFG_MAX_TASKS])
{
    bool changed = true;

    while (changed) {
        changed = false;
        for (unsigned t = 0; t < m->n_tasks; t++) {
            const struct cfg_output *out = &m->tasks[t].output[0];
            uint64_t set = reach[t];

            for (uint16_t k = 0; k < out->n_dests; k++)
                set |= out->dest[k].is_port ? UINT64_C(1) << out->dest[k].index
                                            : reach[out->dest[k].index];
            changed |= set != reach[t];
            reach[t] = set;
        }
    }
}

static const char *dest_name(const struct cfg_model *m, const struct cfg_dest *dest)
{
    return dest->is_port ? m->ports[dest->index].name : m->tasks[dest->index].name;
}

/* Fill by_port of an output that does not spread, for all workers of the task. */
static void map_output(struct plan_build *b, unsigned task, unsigned output, const uint64_t *reach)
{
    const struct cfg_model *m = b->m;
    const struct cfg_task *t = &m->tasks[task];
    const struct cfg_output *out = &t->output[output];
    uint8_t by_port[256];

    memset(by_port, NO_WAY, sizeof(by_port));
    for (unsigned port = 0; port < m->n_ports; port++) {
        for (uint16_t k = 0; k < out->n_dests; k++) {
            const struct cfg_dest *dest = &out->dest[k];
            bool leads =
                dest->is_port ? dest->index == port : (reach[dest->index] >> port & 1) != 0;

            if (!leads)
                continue;
            if (by_port[port] != NO_WAY) {
                diag_error(b->d, out->loc,
                           "task '%s' sends each packet the way that leads to its egress port, but "
                           "both '%s' and '%s' lead to port '%s'",
                           t->name, dest_name(m, &out->dest[by_port[port]]), dest_name(m, dest),
                           m->ports[port].name);
                return;
            }
            by_port[port] = (uint8_t)k;
        }
    }
    for (uint16_t w = 0; w < b->n_of[task]; w++)
        memcpy(b->p->instances[b->of[task][w]].output[output].by_port, by_port, sizeof(by_port));
}

/* Report that what leaves by a port cannot get there from a task. */
static void report_unreachable(struct plan_build *b, struct loc loc, const char *what,
                               unsigned port, const struct cfg_task *t)
{
    diag_error(b->d, loc, "%s leaves by port '%s', but nothing leads there from task '%s'", what,
               b->m->ports[port].name, t->name);
}

/* Report routes by ports that a task does not reach. One error for each port is enough, at the
 * first route that leaves by it. */
static void check_routes(struct plan_build *b, const struct cfg_task *t, uint64_t known)
{
    for (uint32_t i = 0; i < b->m->n_routes + b->m->n_routes6; i++) {
        const struct cfg_route *r =
            i < b->m->n_routes ? &b->m->routes[i] : &b->m->routes6[i - b->m->n_routes].way;
        const uint32_t *list;
        uint32_t n = route_nexthops(b->m, r, &list);

        for (uint32_t k = 0; k < n; k++) {
            uint32_t port = b->m->nexthops[list[k]].port;

            if ((known >> port & 1) == 0)
                report_unreachable(b, r->loc, "route", port, t);
            known |= UINT64_C(1) << port;
        }
    }
}

/* Report subscribers on ports that a task does not reach, once for each port. */
static void check_subscribers(struct plan_build *b, const struct cfg_task *t, uint64_t known)
{
    for (uint32_t i = 0; i < b->m->n_subscribers; i++) {
        const struct cfg_subscriber *s = &b->m->subscribers[i];

        if ((known >> s->port & 1) == 0)
            report_unreachable(b, (struct loc){b->m->files[s->file], s->line}, "subscriber",
                               s->port, t);
        known |= UINT64_C(1) << s->port;
    }
}

/* Ports on which the gateway itself answers: those with an address, subscribers or next hops. */
static uint64_t gateway_ports(const struct cfg_model *m)
{
    uint64_t set = 0;

    for (unsigned i = 0; i < m->n_ports && i < CFG_MAX_PORTS; i++)
        set |= (uint64_t)(m->ports[i].n_addresses > 0) << i;
    for (uint32_t i = 0; i < m->n_nexthops; i++)
        set |= UINT64_C(1) << m->nexthops[i].port;
    for (uint32_t i = 0; i < m->n_subscribers; i++)
        set |= UINT64_C(1) << m->subscribers[i].port;
    return set;
}

/* Warn of ports on which the gateway answers and which a task that answers does not reach. */
static void check_all_ports(struct plan_build *b, const struct cfg_task *t, uint64_t known)
{
    uint64_t missing = gateway_ports(b->m) & ~known;

    for (unsigned port = 0; port < b->m->n_ports; port++)
        if (missing >> port & 1)
            diag_warning(b->d, t->loc,
                         "task '%s' cannot answer on port '%s': nothing leads there from it",
                         t->name, b->m->ports[port].name);
}

void plan_make_egress(struct plan_build *b)
{
    uint64_t reach[CFG_MAX_TASKS] = {0};

    find_reach(b->m, reach);
    b->p->subscriber_ports = b->p->nexthop_ports = UINT64_MAX;
    for (unsigned i = 0; i < b->m->n_tasks; i++) {
        const struct cfg_task *t = &b->m->tasks[i];

        for (unsigned o = 0; o < TASK_MAX_OUTPUTS; o++)
            if (t->output[o].n_dests > 0 && !output_spreads(t, o))
                map_output(b, i, o, reach);
        switch (t->schema->egress) {
        case EGRESS_NONE:
            break;
        case EGRESS_NEXTHOPS:
            check_routes(b, t, reach[i]);
            b->p->nexthop_ports &= reach[i];
            break;
        case EGRESS_SUBSCRIBERS:
            check_subscribers(b, t, reach[i]);
            b->p->subscriber_ports &= reach[i];
            break;
        case EGRESS_ALL_PORTS:
            check_all_ports(b, t, reach[i]);
            break;
        }
    }
}
