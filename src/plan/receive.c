/* SPDX-License-Identifier: BSD-3-Clause */
/* Receive queues: which instance reads which queue of each port, and what comes to it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan/make.h"

/* The queues that a task reads of the k-th of its ports, in ascending order. A port with rules has
 * the queues that they name; any other has one for each instance of the task. Returns how many. */
static unsigned queues_of(const struct plan_build *b, unsigned task, uint16_t k,
                          uint16_t queues[PLAN_MAX_CORES])
{
    const struct cfg_task *t = &b->m->tasks[task];
    bool named = receive_by_rules(&b->m->ports[t->from[k]].receive);
    unsigned n = 0;

    for (uint16_t q = 0; q < (named ? CFG_MAX_QUEUES : b->n_of[task]); q++)
        if (!named || (t->from_queues[k] >> q & 1) != 0)
            queues[n++] = q;
    return n;
}

/* Deal the queues of a port out to the instances of the task, in turn. */
static void deal(struct plan_build *b, unsigned task, uint16_t port, const uint16_t *queues,
                 unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        struct plan_instance *inst = &b->p->instances[b->of[task][i % b->n_of[task]]];

        inst->rx[inst->n_rx++] = (struct plan_rx){.port = port, .queue = queues[i]};
    }
}

static void check_port(struct plan_build *b, unsigned task, uint16_t port, unsigned queues)
{
    const struct cfg_task *t = &b->m->tasks[task];
    const struct cfg_port *p = &b->m->ports[port];
    const struct cfg_receive *r = &p->receive;

    if (port_is_wire(p) && queues > 1)
        diag_error(b->d, t->loc,
                   "task '%s' reads port '%s' on %u cores, but a wire has one receive queue: "
                   "read it on one core and put an lb behind",
                   t->name, p->name, queues);
    if (queues < b->n_of[task])
        diag_error(b->d, t->loc,
                   "task '%s' reads %u queue%s of port '%s' on %u cores: expected as many cores at "
                   "most, or more queues at %s:%u",
                   t->name, queues, queues == 1 ? "" : "s", p->name, b->n_of[task], r->loc.file,
                   r->loc.line);
    if (r->given && r->by == RECEIVE_RSS && queues == 1)
        diag_warning(b->d, r->loc,
                     "port '%s': one core reads it, so that there is nothing to spread: RSS is not "
                     "set up",
                     p->name);
}

static int read_ports(struct plan_build *b, unsigned task)
{
    const struct cfg_task *t = &b->m->tasks[task];
    uint16_t queues[PLAN_MAX_CORES];
    unsigned most = 1;

    if (b->n_of[task] == 0)
        return 0; /* an error has been reported: the task is on no core */
    for (uint16_t k = 0; k < t->n_from; k++)
        most += queues_of(b, task, k, queues) / b->n_of[task] + 1;
    for (uint16_t w = 0; w < b->n_of[task]; w++) {
        struct plan_instance *inst = &b->p->instances[b->of[task][w]];

        inst->rx = calloc(most, sizeof(inst->rx[0]));
        if (inst->rx == NULL)
            return -ENOMEM;
    }
    for (uint16_t k = 0; k < t->n_from; k++) {
        unsigned n = queues_of(b, task, k, queues);

        b->p->rx_queues[t->from[k]] = (uint16_t)(b->p->rx_queues[t->from[k]] + n);
        check_port(b, task, t->from[k], n);
        deal(b, task, t->from[k], queues, n);
    }
    return 0;
}

int plan_give_queues(struct plan_build *b)
{
    int rc = 0;

    for (unsigned t = 0; rc == 0 && t < b->m->n_tasks; t++)
        rc = read_ports(b, t);
    return rc;
}

unsigned plan_queue_reader(const struct plan *p, unsigned port, unsigned queue)
{
    for (unsigned i = 0; i < p->n_instances; i++)
        for (uint16_t r = 0; r < p->instances[i].n_rx; r++)
            if (p->instances[i].rx[r].port == port && p->instances[i].rx[r].queue == queue)
                return i;
    return p->n_instances;
}

char *plan_queue_text(const struct plan *p, unsigned port, unsigned queue, char *buf, size_t len)
{
    const struct cfg_receive *r = &p->cfg->ports[port].receive;

    if (p->rx_queues[port] > 1)
        return receive_text(r, queue, buf, len);
    snprintf(buf, len, "all");
    return buf;
}

bool plan_port_has_tags(const struct plan *p, unsigned port)
{
    for (uint32_t i = 0; i < p->cfg->n_subscribers; i++)
        if (p->cfg->subscribers[i].port == port)
            return true;
    return p->subscriber_ports != UINT64_MAX && (p->subscriber_ports >> port & 1) != 0;
}
